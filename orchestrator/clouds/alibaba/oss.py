"""Reading one small object of OSS, with nothing but HTTPS and OSS's signature.

Source: help.aliyun.com/zh/oss/developer-reference/recommend-to-use-signature-version-4 (the header Authorization), and
the error codes under the same address (an object in another region: AccessDenied, with the right endpoint).
"""

from __future__ import annotations

import hashlib
import hmac
import re
import urllib.error
import urllib.request
from datetime import UTC, datetime
from http.client import HTTPException
from typing import Final
from urllib.parse import quote

from orchestrator.clouds.alibaba.calls import Clients, Keys
from orchestrator.errors import CloudCallFailed, UsageError

__all__ = ["OBJECT_LIMIT_BYTES", "authorization", "read_object"]

OBJECT_LIMIT_BYTES: Final = 1 << 20
_URI = re.compile(r"oss://([a-z0-9][a-z0-9-]{1,61}[a-z0-9])/(.+)")
_CODE = re.compile(r"<Code>([A-Za-z0-9.]+)</Code>")
_MESSAGE = re.compile(r"<Message>([^<]*)</Message>")
_ENDPOINT = re.compile(r"<Endpoint>oss-([a-z]{2}-[a-z0-9-]+)\.aliyuncs\.com</Endpoint>")


def read_object(clients: Clients, uri: str) -> str | None:
    """The object at ``oss://bucket/key`` as text, at most 1 MiB of UTF-8 (bad bytes become U+FFFD)."""
    match = _URI.fullmatch(uri)
    if match is None:
        raise UsageError(f"{uri!r} is no object of OSS", hint="write it as oss://BUCKET/KEY")
    bucket, key = match.groups()
    region = clients.region
    for _ in range(2):
        status, content = _get(clients, region, bucket, key)
        if status == 200:
            break
        text = content.decode("utf-8", "replace")
        code = next(iter(_CODE.findall(text)), str(status))
        if code == "NoSuchKey":
            return None
        elsewhere = _ENDPOINT.search(text)
        if elsewhere is None or elsewhere[1] == region:
            said = next(iter(_MESSAGE.findall(text)), "")
            raise CloudCallFailed(
                f"Alibaba Cloud refused oss:GetObject of {uri}: {code}{': ' + said if said else ''}",
                hint="let the RAM user or role you are do oss:GetObject and oss:ListObjects on the bucket "
                "(without the second, OSS answers so for objects that are not there, too)",
            )
        region = elsewhere[1]
    if len(content) > OBJECT_LIMIT_BYTES:
        raise CloudCallFailed(
            f"{uri} is larger than {OBJECT_LIMIT_BYTES} bytes, so it is no report of a machine",
            hint="check that the checkpoint prefix is used by gpuorch only",
        )
    return content.decode("utf-8", "replace")


def authorization(keys: Keys, region: str, path: str, headers: dict[str, str], *, method: str = "GET") -> str:
    """The header of that name. ``path`` is /bucket/key, percent-encoded; ``headers`` are all that begin with x-oss-."""
    moment = headers["x-oss-date"]
    signed = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
    canonical = f"{method}\n{path}\n\n{signed}\n\nUNSIGNED-PAYLOAD"
    scope = [moment[:8], region, "oss", "aliyun_v4_request"]
    text = "\n".join(("OSS4-HMAC-SHA256", moment, "/".join(scope), hashlib.sha256(canonical.encode()).hexdigest()))
    key = f"aliyun_v4{keys.secret}".encode()
    for word in scope:
        key = hmac.digest(key, word.encode(), "sha256")
    signature = hmac.new(key, text.encode(), "sha256").hexdigest()
    return f"OSS4-HMAC-SHA256 Credential={'/'.join([keys.id, *scope])},Signature={signature}"


def _get(clients: Clients, region: str, bucket: str, key: str) -> tuple[int, bytes]:
    keys = clients.keys()
    path = quote(key)
    headers = {
        "x-oss-content-sha256": "UNSIGNED-PAYLOAD",
        "x-oss-date": f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}",
        **({"x-oss-security-token": keys.token} if keys.token else {}),
    }
    headers["Authorization"] = authorization(keys, region, f"/{bucket}/{path}", headers)
    # The bucket is in the host's name; a given endpoint is a single host, which takes it in the path.
    given = clients.endpoints.get("oss")
    url = f"{given}/{bucket}/{path}" if given else f"https://{bucket}.oss-{region}.aliyuncs.com/{path}"
    try:
        try:
            with urllib.request.urlopen(
                urllib.request.Request(url, headers=headers), timeout=clients.limits.read_seconds
            ) as answer:
                return int(answer.status), answer.read(OBJECT_LIMIT_BYTES + 1)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read(OBJECT_LIMIT_BYTES)
    except (OSError, HTTPException) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise CloudCallFailed(
            f"Alibaba Cloud could not be asked for oss:GetObject in {region}: {reason}",
            hint="check the network and the proxy settings (HTTPS_PROXY), then try again",
        ) from error
