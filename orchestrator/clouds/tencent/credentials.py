"""Where Tencent Cloud's credentials are: the places, in the order of its Terraform provider.

Source: the provider's documentation, "Authentication": static, environment, assumed roles, shared credentials
(``tccli configure``), pod identity, CAM role. An assumed role is the provider's affair; it needs one of the others.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from http.client import HTTPException
from pathlib import Path
from typing import Final

from orchestrator.errors import CloudCallFailed, UsageError

__all__ = ["METADATA", "Found", "find_credentials", "no_credentials", "role_credentials", "shared_file"]

# www.tencentcloud.com/document/product/598/85616: temporary credentials of a machine's role.
METADATA: Final = "http://metadata.tencentyun.com/latest/meta-data/"

_ID, _KEY, _TOKEN = "TENCENTCLOUD_SECRET_ID", "TENCENTCLOUD_SECRET_KEY", "TENCENTCLOUD_SECURITY_TOKEN"
_ROLE = "TENCENTCLOUD_CAM_ROLE_NAME"
_POD = "TKE_WEB_IDENTITY_TOKEN_FILE"
_HINT = "set TENCENTCLOUD_SECRET_ID and TENCENTCLOUD_SECRET_KEY, or run tccli configure"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Credentials, or the ``role`` of this machine that gives them; ``source`` says where they were, for people."""

    source: str
    secret_id: str = ""
    secret_key: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    role: str = ""


def shared_file(environ: Mapping[str, str]) -> Path:
    """The file of ``tccli configure`` for the profile in use, which need not be there."""
    folder = environ.get("TENCENTCLOUD_SHARED_CREDENTIALS_DIR")
    home = Path(environ.get("HOME") or Path.home())
    # The provider takes ~ for the home folder here.
    base = home / ".tccli" if not folder else Path(folder.replace("~", str(home), 1) if folder[0] == "~" else folder)
    return base / f"{environ.get('TENCENTCLOUD_PROFILE') or 'default'}.credential"


def no_credentials(environ: Mapping[str, str]) -> str:
    """``""`` where there may be credentials, else a sentence."""
    if any(environ.get(name) for name in (_ID, _ROLE, _POD)) or shared_file(environ).is_file():
        return ""
    return f"there are no Tencent Cloud credentials here ({_HINT})"


def find_credentials(environ: Mapping[str, str]) -> Found | None:
    """The first credentials of the chain, ``None`` where there are none that we can use ourselves.

    Raises :class:`UsageError` for a file that cannot be read.
    """
    if environ.get(_ID) and environ.get(_KEY):
        return Found(
            source=f"{_ID} and {_KEY}",
            secret_id=environ[_ID],
            secret_key=environ[_KEY],
            token=environ.get(_TOKEN, ""),
        )
    path = shared_file(environ)
    if path.is_file():
        return _read(path)
    if environ.get(_ROLE):
        return Found(source=f"the role {environ[_ROLE]} of this machine", role=environ[_ROLE])
    return None


def _read(path: Path) -> Found:
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        return Found(
            source=str(path),
            secret_id=str(values["secretId"]),
            secret_key=str(values["secretKey"]),
            token=str(values.get("token") or ""),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"the credentials in {path} cannot be read: {error!r}", hint="run tccli configure") from error


def role_credentials(found: Found, *, timeout_seconds: float, metadata: str = METADATA) -> Found:
    """The temporary credentials of this machine's role. Raises :class:`CloudCallFailed` where it gives none."""
    try:
        url = f"{metadata}cam/security-credentials/{found.role}"
        with urllib.request.urlopen(url, timeout=timeout_seconds) as answer:
            values = json.loads(answer.read(65536))
        return replace(
            found,
            secret_id=str(values["TmpSecretId"]),
            secret_key=str(values["TmpSecretKey"]),
            token=str(values["Token"]),
        )
    except (OSError, HTTPException, ValueError, KeyError, TypeError) as error:
        raise CloudCallFailed(
            f"this machine gives no credentials of the role {found.role}: {error!r}",
            hint="TENCENTCLOUD_CAM_ROLE_NAME works on a machine of Tencent Cloud that has that role",
        ) from error
