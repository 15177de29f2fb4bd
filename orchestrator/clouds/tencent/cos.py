"""Reading a small object from COS over plain HTTPS: its signature, and its answers.

Sources: "Request signature", www.tencentcloud.com/document/product/436/7778; "Error codes", product/436/7730.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import urllib.error
import urllib.request
from collections.abc import Mapping
from http.client import HTTPException
from typing import Final
from urllib.parse import quote

from orchestrator.clouds.tencent.credentials import Found
from orchestrator.errors import CloudCallFailed, UsageError

__all__ = ["OBJECT_LIMIT_BYTES", "authorization", "read_object"]

OBJECT_LIMIT_BYTES: Final = 1 << 20

_URI = re.compile(r"cos://([a-z0-9][a-z0-9-]*-[0-9]{8,12})/(.+)")
_CODE = re.compile(r"<Code>([^<]*)</Code>")
_VALID_SECONDS: Final = 600


def authorization(method: str, path: str, host: str, credentials: Found, now: int) -> str:
    """The ``Authorization`` header of a request without a query; ``path`` begins with ``/`` and is not encoded."""
    times = f"{now - 60};{now + _VALID_SECONDS}"
    request = f"{method.lower()}\n{path}\n\nhost={host}\n"
    to_sign = f"sha1\n{times}\n{hashlib.sha1(request.encode(), usedforsecurity=False).hexdigest()}\n"
    signature = _hmac(_hmac(credentials.secret_key, times), to_sign)
    return (
        f"q-sign-algorithm=sha1&q-ak={credentials.secret_id}&q-sign-time={times}&q-key-time={times}"
        f"&q-header-list=host&q-url-param-list=&q-signature={signature}"
    )


def read_object(
    uri: str, region: str, credentials: Found, *, now: int, timeout_seconds: float, endpoint: str = ""
) -> str | None:
    """The text at ``cos://bucket/key``, at most 1 MiB of UTF-8, ``None`` where there is none.

    The bucket must lie in ``region``. ``endpoint`` is a server to ask in its place. Raises :class:`UsageError` for what
    is no such address, :class:`CloudCallFailed` when COS refuses, does not answer, or has something larger.
    """
    match = _URI.fullmatch(uri)
    if match is None:
        raise UsageError(f"{uri!r} is no COS object", hint="write it as cos://BUCKET-APPID/KEY")
    bucket, key = match.groups()
    host = f"{bucket}.cos.{region}.myqcloud.com"
    headers = {"Host": host, "Authorization": authorization("get", f"/{key}", host, credentials, now)}
    if credentials.token:
        headers["x-cos-security-token"] = credentials.token
    content = _get(f"{endpoint or f'https://{host}'}/{quote(key)}", headers, uri, timeout_seconds)
    if content is not None and len(content) > OBJECT_LIMIT_BYTES:
        raise CloudCallFailed(
            f"{uri} is larger than {OBJECT_LIMIT_BYTES} bytes, so it is no report of a machine",
            hint="check that the checkpoint prefix is used by gpuorch only",
        )
    return None if content is None else content.decode("utf-8", "replace")


def _get(url: str, headers: Mapping[str, str], uri: str, timeout_seconds: float) -> bytes | None:
    request = urllib.request.Request(url, headers=dict(headers))
    try:
        with urllib.request.urlopen(request, timeout=timeout_seconds) as answer:
            content: bytes = answer.read(OBJECT_LIMIT_BYTES + 1)
            return content
    except urllib.error.HTTPError as error:
        found = _CODE.search(error.read(4096).decode("utf-8", "replace"))
        code = found[1] if found else f"HTTP {error.code}"
        if code in ("NoSuchKey", "HTTP 404"):
            return None
        raise CloudCallFailed(f"Tencent Cloud refused to read {uri}: {code}", hint=_hint(code)) from error
    except (OSError, HTTPException) as error:
        raise CloudCallFailed(
            f"Tencent Cloud could not be asked for {uri}: {error}", hint="check the network and the proxy settings"
        ) from error


def _hint(code: str) -> str:
    return {
        "AccessDenied": "let the user or role you are logged in as do cos:GetObject under the checkpoint prefix",
        "NoSuchBucket": "the bucket must lie in the region of the machine",
        "InvalidAccessKeyId": "Tencent Cloud does not know these credentials: run gpuorch doctor",
        "SignatureDoesNotMatch": "the secret key does not belong to the secret id: run gpuorch doctor",
        "RequestTimeTooSkewed": "set this machine's clock",
    }.get(code, "")


def _hmac(key: str, text: str) -> str:
    return hmac.new(key.encode(), text.encode(), hashlib.sha1).hexdigest()
