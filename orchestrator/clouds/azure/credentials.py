"""Whether there can be Azure credentials here, told from environment and files alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

__all__ = ["no_credentials"]

# Each of these leads somewhere in the chain of the provider (registry documentation of hashicorp/azurerm, guides on
# authenticating) or of the SDK (learn.microsoft.com/python/api/overview/azure/identity-readme).
_VARIABLES = (
    "ARM_CLIENT_ID",
    "ARM_USE_MSI",
    "ARM_USE_OIDC",
    "ARM_USE_AKS_WORKLOAD_IDENTITY",
    "AZURE_CLIENT_ID",
    "AZURE_FEDERATED_TOKEN_FILE",
    "IDENTITY_ENDPOINT",
    "MSI_ENDPOINT",
)
# What `az login` writes: learn.microsoft.com/cli/azure/msal-based-azure-cli.
_FILES = ("azureProfile.json", "msal_token_cache.json", "msal_token_cache.bin")
# How a machine knows that it is one of Azure's, and so may have an identity:
# learn.microsoft.com/azure/virtual-machines/instance-metadata-service, "Windows Azure asset tag".
_ASSET_TAG = Path("/sys/devices/virtual/dmi/id/chassis_asset_tag")
_AZURES_TAG = "7783-7084-3265-9085-8269-3286-77"


def no_credentials(environ: Mapping[str, str], *, asset_tag: Path = _ASSET_TAG) -> str:
    """``""`` where there may be credentials, else a sentence."""
    if any(environ.get(name) for name in _VARIABLES):
        return ""
    folder = Path(environ.get("AZURE_CONFIG_DIR") or Path(environ.get("HOME") or Path.home()) / ".azure")
    if any((folder / name).is_file() for name in _FILES):
        return ""
    try:
        if asset_tag.read_text(encoding="ascii", errors="replace").strip() == _AZURES_TAG:
            return ""
    except OSError:
        pass  # No such file: not a machine of that kind.
    return "there are no Azure credentials here (az login, or ARM_CLIENT_ID and what belongs to it)"
