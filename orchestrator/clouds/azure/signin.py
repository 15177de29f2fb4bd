"""Azure's credentials for our own calls: first those that the Terraform provider would take, then the SDK's chain."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from orchestrator.errors import UsageError

if TYPE_CHECKING:
    from azure.core.credentials import TokenCredential

__all__ = ["credential", "subscription_of_environment"]

_EXTRA = 'pip install "gpuorch[azure]"'


def subscription_of_environment(environ: Mapping[str, str] = os.environ) -> str:
    """The subscription where nobody passes the settings: the same variables, in the same order."""
    names = ("GPUORCH_AZURE_SUBSCRIPTION_ID", "ARM_SUBSCRIPTION_ID", "AZURE_SUBSCRIPTION_ID")
    return next((environ[name] for name in names if environ.get(name)), "")


def credential(environ: Mapping[str, str] = os.environ) -> TokenCredential:
    """A credential; nobody is asked for a token yet.

    Variables as in the provider's guides on authenticating (registry documentation of hashicorp/azurerm). Raises
    :class:`UsageError` where the SDK is not installed.
    """
    try:
        import azure.identity as identity
    except ImportError as error:
        raise UsageError("gpuorch lacks Azure's SDK for signing in (azure-identity)", hint=_EXTRA) from error

    tenant, client = environ.get("ARM_TENANT_ID", ""), environ.get("ARM_CLIENT_ID", "")
    if tenant and client and environ.get("ARM_CLIENT_SECRET"):
        return identity.ClientSecretCredential(tenant, client, environ["ARM_CLIENT_SECRET"])
    if tenant and client and environ.get("ARM_CLIENT_CERTIFICATE_PATH"):
        password = environ.get("ARM_CLIENT_CERTIFICATE_PASSWORD")
        return identity.CertificateCredential(tenant, client, environ["ARM_CLIENT_CERTIFICATE_PATH"], password=password)
    if tenant and client and environ.get("ARM_OIDC_TOKEN_FILE_PATH"):
        return identity.WorkloadIdentityCredential(
            tenant_id=tenant, client_id=client, token_file_path=environ["ARM_OIDC_TOKEN_FILE_PATH"]
        )
    if environ.get("ARM_USE_MSI", "").lower() == "true":
        return identity.ManagedIdentityCredential(client_id=client or None)
    return identity.DefaultAzureCredential(exclude_interactive_browser_credential=True, process_timeout=20)
