"""Whether there can be AWS credentials here, told from environment and files alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

__all__ = ["no_credentials"]

# Each of these leads somewhere in the chain of SDK and provider:
# docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html
_VARIABLES = (
    "AWS_ACCESS_KEY_ID",
    "AWS_PROFILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
)
_FILES = (("AWS_SHARED_CREDENTIALS_FILE", "credentials"), ("AWS_CONFIG_FILE", "config"))
# How a machine knows that it is an EC2 instance, and so may have a role:
# docs.aws.amazon.com/AWSEC2/latest/UserGuide/identify_ec2_instances.html
_VENDOR = Path("/sys/devices/virtual/dmi/id/sys_vendor")


def no_credentials(environ: Mapping[str, str], *, vendor: Path = _VENDOR) -> str:
    """``""`` where there may be credentials, else a sentence."""
    if any(environ.get(name) for name in _VARIABLES):
        return ""
    folder = Path(environ.get("HOME") or Path.home()) / ".aws"
    if any(Path(environ.get(variable) or folder / name).is_file() for variable, name in _FILES):
        return ""
    try:
        if "Amazon" in vendor.read_text(encoding="utf-8", errors="replace"):
            return ""
    except OSError:
        pass  # No such file: not a machine of that kind.
    return "there are no AWS credentials here (aws configure, aws sso login, or AWS_PROFILE)"
