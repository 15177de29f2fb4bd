"""Whether there can be OCI credentials here, told from environment and files alone; and which the SDK is to use."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

__all__ = ["auth_kind", "config_file", "no_credentials", "profile"]

# What Terraform's provider reads (docs.oracle.com/iaas/Content/dev/terraform/configuring.htm) stands before what only
# the command line reads (docs.oracle.com/iaas/Content/API/SDKDocs/clienvironmentvariables.htm).
_AUTH = ("OCI_AUTH", "OCI_CLI_AUTH")
_PROFILE = ("OCI_CONFIG_FILE_PROFILE", "OCI_CLI_PROFILE")
_FILE = ("OCI_CONFIG_FILE", "OCI_CLI_CONFIG_FILE")
# A machine of OCI knows itself by this: docs.oracle.com/iaas/Content/Compute/Tasks/gettingmetadata.htm
_ASSET_TAG = Path("/sys/class/dmi/id/chassis_asset_tag")


def auth_kind(environ: Mapping[str, str]) -> str:
    """``api_key``, ``security_token``, ``instance_principal`` or ``resource_principal``."""
    said = _first(environ, _AUTH).replace("_", "").lower()
    kinds = {
        "securitytoken": "security_token",
        "instanceprincipal": "instance_principal",
        "instanceprincipalwithcerts": "instance_principal",
        "resourceprincipal": "resource_principal",
    }
    return kinds.get(said, "api_key")


def profile(environ: Mapping[str, str]) -> str:
    return _first(environ, _PROFILE) or "DEFAULT"


def config_file(environ: Mapping[str, str]) -> Path:
    said = _first(environ, _FILE)
    return Path(said).expanduser() if said else Path(environ.get("HOME") or Path.home()) / ".oci" / "config"


def no_credentials(environ: Mapping[str, str], *, asset_tag: Path = _ASSET_TAG) -> str:
    """``""`` where there may be credentials, else a sentence."""
    if auth_kind(environ) in ("instance_principal", "resource_principal"):
        return ""
    if all(environ.get(name) for name in ("OCI_TENANCY_OCID", "OCI_USER_OCID", "OCI_FINGERPRINT")):
        return ""
    if config_file(environ).is_file():
        return ""
    try:
        on_a_machine = "OracleCloud" in asset_tag.read_text(encoding="utf-8", errors="replace")
    except OSError:
        on_a_machine = False  # No such file: not a machine of that kind.
    way = "OCI_AUTH=InstancePrincipal, or " if on_a_machine else ""
    return f"there are no OCI credentials here ({way}oci setup config, or oci session authenticate)"


def _first(environ: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((environ[name] for name in names if environ.get(name)), "")
