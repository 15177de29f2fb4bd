"""Whether there can be Google Cloud credentials here, told from environment and files alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

__all__ = ["no_credentials"]

# cloud.google.com/docs/authentication/application-default-credentials, and what the Terraform provider reads besides:
# its guide "Google Provider Configuration Reference", credentials and access_token.
_VARIABLES = (
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GOOGLE_CREDENTIALS",
    "GOOGLE_CLOUD_KEYFILE_JSON",
    "GCLOUD_KEYFILE_JSON",
    "GOOGLE_OAUTH_ACCESS_TOKEN",
)
_FILE = "application_default_credentials.json"
# How a machine knows that it is a Compute Engine instance, and so may have a service account:
# cloud.google.com/compute/docs/instances/detect-compute-engine
_PRODUCT = Path("/sys/class/dmi/id/product_name")


def no_credentials(environ: Mapping[str, str], *, product: Path = _PRODUCT) -> str:
    """``""`` where there may be credentials, else a sentence."""
    if any(environ.get(name) for name in _VARIABLES):
        return ""
    home = Path(environ.get("HOME") or Path.home())
    folder = Path(environ["CLOUDSDK_CONFIG"]) if environ.get("CLOUDSDK_CONFIG") else home / ".config" / "gcloud"
    if (folder / _FILE).is_file():
        return ""
    try:
        if "Google" in product.read_text(encoding="utf-8", errors="replace"):
            return ""
    except OSError:
        pass  # No such file: not a machine of that kind.
    return (
        "there are no Google Cloud credentials here (gcloud auth application-default login, or "
        "GOOGLE_APPLICATION_CREDENTIALS)"
    )
