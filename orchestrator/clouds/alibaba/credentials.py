"""Whether there can be credentials of Alibaba Cloud here, told from environment and files alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

__all__ = ["no_credentials"]

# Each of these leads somewhere in the chain of the provider or of the SDK. The first of a pair is the provider's name:
# registry.terraform.io/providers/aliyun/alicloud/latest/docs#authentication, and the alibabacloud_credentials package.
_VARIABLES = (
    "ALICLOUD_ACCESS_KEY",
    "ALIBABA_CLOUD_ACCESS_KEY_ID",
    "ALICLOUD_PROFILE",
    "ALIBABA_CLOUD_PROFILE",
    "ALICLOUD_ECS_ROLE_NAME",
    "ALIBABA_CLOUD_ECS_METADATA",
    "ALICLOUD_CREDENTIALS_URI",
    "ALIBABA_CLOUD_CREDENTIALS_URI",
    "ALIBABA_CLOUD_OIDC_TOKEN_FILE",
)
_FILE_VARIABLES = ("ALICLOUD_SHARED_CREDENTIALS_FILE", "ALIBABA_CLOUD_CREDENTIALS_FILE")
_FILES = (".aliyun/config.json", ".alibabacloud/credentials", ".alibabacloud/credentials.ini")
# The vendor that an ECS instance's firmware names; such a machine may have a role.
_VENDOR = Path("/sys/devices/virtual/dmi/id/sys_vendor")


def no_credentials(environ: Mapping[str, str], *, vendor: Path = _VENDOR) -> str:
    """``""`` where there may be credentials, else a sentence."""
    if any(environ.get(name) for name in _VARIABLES):
        return ""
    home = Path(environ.get("HOME") or Path.home())
    files = [Path(environ[name]) for name in _FILE_VARIABLES if environ.get(name)] + [home / name for name in _FILES]
    if any(file.is_file() for file in files):
        return ""
    try:
        if "Alibaba" in vendor.read_text(encoding="utf-8", errors="replace"):
            return ""
    except OSError:
        pass  # No such file: not a machine of that kind.
    return (
        "there are no Alibaba Cloud credentials here (aliyun configure, or ALIBABA_CLOUD_ACCESS_KEY_ID with its secret)"
    )
