"""The public address that AWS sees us come from."""

from __future__ import annotations

import ipaddress
import urllib.error
import urllib.request
from http.client import HTTPException
from typing import Final

from orchestrator.errors import CloudCallFailed

__all__ = ["CHECK_ADDRESS_URL", "caller_address"]

# AWS's own service for this. HTTPS, so that nobody on the way can have port 22 opened to himself.
CHECK_ADDRESS_URL: Final = "https://checkip.amazonaws.com"
_LIMIT_BYTES: Final = 64
_HINT: Final = "say from where SSH is allowed: --ssh-from CIDR"


def caller_address(url: str = CHECK_ADDRESS_URL, *, timeout_seconds: float = 3) -> str:
    """Our public IPv4 address, such as ``203.0.113.7``.

    Raises :class:`CloudCallFailed` when the service does not answer in time, or with something else than an address.
    """
    try:
        with urllib.request.urlopen(url, timeout=timeout_seconds) as answer:
            text = answer.read(_LIMIT_BYTES).decode("ascii", "replace").strip()
    except (OSError, HTTPException) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise CloudCallFailed(f"our public address is unknown: {url} did not tell it ({reason})", hint=_HINT) from error
    try:
        return str(ipaddress.IPv4Address(text))
    except ValueError as error:
        raise CloudCallFailed(
            f"our public address is unknown: {url} answered {text!r}, which is no IPv4 address", hint=_HINT
        ) from error
