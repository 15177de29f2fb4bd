"""Calls to the machine room, see "The API" in README.md: short time limits, and every failure as one sentence."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from orchestrator.errors import CloudCallFailed
from orchestrator.model.machine import Finding, Level

__all__ = ["call", "caller_address", "findings", "no_credentials"]

_LIMIT_SECONDS = 10
_LIMIT_BYTES = 1 << 20
_HINT = "check HOMELAB_URL, HOMELAB_TOKEN and the network"


def no_credentials(environ: Mapping[str, str]) -> str:
    """``""``, or a sentence where it is certain that the API cannot be called from here."""
    missing = [name for name in ("HOMELAB_URL", "HOMELAB_TOKEN") if not environ.get(name)]
    return f"Homelab needs {' and '.join(missing)} in the environment" if missing else ""


def call(method: str, path: str, key: str) -> Any:
    """What stands under ``key`` in the answer to one call. Raises :class:`CloudCallFailed`."""
    what = f"{method} {path}"
    if missing := no_credentials(os.environ):
        raise CloudCallFailed(f"{what} is not possible: {missing}", hint="the machine room's page shows both")
    url = os.environ["HOMELAB_URL"].rstrip("/") + path
    try:
        request = Request(url, method=method, headers={"Authorization": f"Bearer {os.environ['HOMELAB_TOKEN']}"})
        with urlopen(request, timeout=_LIMIT_SECONDS) as answer:
            return json.loads(answer.read(_LIMIT_BYTES))[key]
    except HTTPError as error:
        said = " ".join(error.read(500).decode(errors="replace").split())
        raise CloudCallFailed(f"Homelab refused {what} with {error.code}: {said}", hint=_HINT) from error
    except (OSError, HTTPException) as error:
        raise CloudCallFailed(f"Homelab did not answer {what}: {error}", hint=_HINT) from error
    except (ValueError, LookupError, TypeError) as error:
        raise CloudCallFailed(f"Homelab's answer to {what} has no {key}", hint=_HINT) from error


def caller_address() -> str:
    """The address that the machine room sees us come from."""
    return str(call("GET", "/me", "address"))


def findings() -> list[Finding]:
    """Homelab's part of ``gpuorch doctor``."""
    try:
        message = f"logged in as {call('GET', '/me', 'user')}"
    except CloudCallFailed as error:
        return [Finding(check="homelab credentials", level=Level.ERROR, message=error.message, fix=error.hint)]
    return [Finding(check="homelab credentials", level=Level.OK, message=message)]
