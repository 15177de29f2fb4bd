"""One way to call Alibaba Cloud: short time limits, few retries, and every failure as one sentence with its fix.

The calls go through the SDK's generic client and not through its client of each product: those are 20 MB of code for
what is one signed form. Names and forms are those of the API reference of ECS (2014-05-26), VPC (2016-04-28), RAM
(2015-05-01) and STS (2015-04-01).
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.errors import CloudCallFailed, UsageError

__all__ = ["INSTALL", "Clients", "Keys", "Limits", "Refusal", "failure"]

Row = Mapping[str, Any]

INSTALL = 'pip install "gpuorch[alibaba]"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Seconds to connect and between two answers' bytes, and how often a call is tried in all."""

    connect_seconds: float = 5
    read_seconds: float = 20
    attempts: int = 3
    pause_seconds: float = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """What signs a call. ``origin`` says where it was found, ``token`` is ``""`` for keys that do not expire."""

    id: str
    secret: str
    token: str
    origin: str


class Refusal(Exception):
    """Alibaba Cloud's answer is an error: its own code (``Forbidden.RAM``) and its message."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


# help.aliyun.com/zh/openapi/endpoints: PRODUCT.REGION.aliyuncs.com for what is regional, PRODUCT.aliyuncs.com else.
_PRODUCTS = {
    "ecs": ("2014-05-26", "ecs.{region}.aliyuncs.com"),
    "vpc": ("2016-04-28", "vpc.{region}.aliyuncs.com"),
    "ram": ("2015-05-01", "ram.aliyuncs.com"),
    "sts": ("2015-04-01", "sts.{region}.aliyuncs.com"),
}

# Codes of OpenAPI's error centre, the same for all products.
_AGAIN = ("Throttling", "ServiceUnavailable", "InternalError", "OperationConflict", "UnknownError")
_EXPIRED = ("InvalidSecurityToken", "SecurityTokenExpired")
_UNKNOWN_KEY = ("InvalidAccessKeyId", "SignatureDoesNotMatch", "IncompleteSignature", "MissingAccessKeyId")
_FORBIDDEN = ("Forbidden", "NoPermission", "AccessDenied", "Unauthorized")
_NOT_YOURS = ("RegionUnauthorized", "InvalidRegionId", "Zone.NotOpen")

_LOG_IN = "run aliyun configure, or set ALIBABA_CLOUD_ACCESS_KEY_ID and ALIBABA_CLOUD_ACCESS_KEY_SECRET"
_NETWORK = "check the network and the proxy settings (HTTPS_PROXY), then try again"


class Clients:
    """The products' endpoints in one region; safe to use from several threads.

    Credentials are looked for as the provider does: ``ALICLOUD_…``, then the SDK's own chain. ``endpoints`` puts
    another one in the place of a product's, with its scheme (``http://127.0.0.1:8080``).
    """

    def __init__(
        self, region: str, limits: Limits | None = None, *, endpoints: Mapping[str, str] | None = None
    ) -> None:
        self.region = region
        self.limits = limits or Limits()
        self.endpoints = endpoints or {}
        self._made: dict[str, Any] = {}
        self._chain: Any = None
        self._lock = threading.Lock()

    def keys(self) -> Keys:
        """The credentials. Raises :class:`CloudCallFailed` where there are none or they cannot be had."""
        chain = self._credentials()
        try:
            found = chain.get_credential()
        except Exception as error:  # the chain raises whatever its files and its calls raise
            raise CloudCallFailed(
                f"there are no usable credentials of Alibaba Cloud: {_one_line(str(error))}", hint=_LOG_IN
            ) from error
        if not found.access_key_id or not found.access_key_secret:
            raise CloudCallFailed("the credentials of Alibaba Cloud are empty", hint=_LOG_IN)
        return Keys(
            id=found.access_key_id,
            secret=found.access_key_secret,
            token=found.security_token or "",
            origin=str(found.provider_name or found.type or ""),
        )

    def call(self, product: str, action: str, **parameters: Any) -> Row:
        """The answer of one call. Raises :class:`Refusal`, or :class:`CloudCallFailed` where none came."""
        self.keys()
        for attempt in range(1, self.limits.attempts + 1):
            try:
                return self._once(product, action, parameters)
            except Refusal as refusal:
                if attempt == self.limits.attempts or not refusal.code.startswith(_AGAIN):
                    raise
            except CloudCallFailed:
                if attempt == self.limits.attempts:
                    raise
            time.sleep(self.limits.pause_seconds * attempt)
        raise AssertionError("a call is tried at least once")

    def asked(self, product: str, action: str, **parameters: Any) -> Row:
        """The same, with every refusal as :class:`CloudCallFailed`."""
        try:
            return self.call(product, action, **parameters)
        except Refusal as refusal:
            raise failure(refusal, f"{product}:{action}", self.region) from refusal

    def pages(self, product: str, action: str, *path: str, **parameters: Any) -> Iterator[Row]:
        """All rows of a list, which stand at ``path`` in each answer; by token, or by number where there is none."""
        page, token = 1, ""
        while True:
            numbered = {"PageNumber": page, "PageSize": 50}
            paging = {"MaxResults": 100, **({"NextToken": token} if token else {})} if product == "ecs" else numbered
            if action == "DescribeKeyPairs":
                paging = numbered
            answer = self.asked(product, action, RegionId=self.region, **paging, **parameters)
            rows = _at(answer, path)
            yield from rows
            token, page = str(answer.get("NextToken") or ""), page + 1
            if not token and ("PageNumber" not in paging or len(rows) < 50):
                return

    def _once(self, product: str, action: str, parameters: Mapping[str, Any]) -> Row:
        from alibabacloud_tea_openapi.exceptions import AlibabaCloudException
        from alibabacloud_tea_openapi.utils_models import OpenApiRequest, Params
        from darabonba.runtime import RuntimeOptions

        version, _ = _PRODUCTS[product]
        endpoint = self._endpoint(product)
        params = Params(
            action=action,
            version=version,
            protocol="HTTP" if endpoint.startswith("http://") else "HTTPS",
            pathname="/",
            method="POST",
            auth_type="AK",
            style="RPC",
            req_body_type="formData",
            body_type="json",
        )
        runtime = RuntimeOptions(
            connect_timeout=int(self.limits.connect_seconds * 1000), read_timeout=int(self.limits.read_seconds * 1000)
        )
        query = {name: _text(value) for name, value in parameters.items()}
        try:
            answer = self._client(product).call_api(params, OpenApiRequest(query=query), runtime)
        except AlibabaCloudException as error:
            data = error.data or {}
            raise Refusal(str(error.code or ""), _one_line(str(data.get("Message") or error.message or ""))) from error
        except Exception as error:  # the SDK has no common class for what is not an answer
            said = getattr(error, "message", "") or str(error)
            raise CloudCallFailed(
                f"Alibaba Cloud could not be asked for {product}:{action} in {self.region}: {_one_line(str(said))}",
                hint=_NETWORK,
            ) from error
        return dict(answer.get("body") or {})

    def _endpoint(self, product: str) -> str:
        return self.endpoints.get(product) or "https://" + _PRODUCTS[product][1].format(region=self.region)

    def _client(self, product: str) -> Any:
        from alibabacloud_tea_openapi.client import Client
        from alibabacloud_tea_openapi.utils_models import Config

        chain = self._credentials()
        with self._lock:
            if product not in self._made:
                scheme, _, host = self._endpoint(product).partition("://")
                self._made[product] = Client(
                    Config(
                        credential=chain,
                        region_id=self.region,
                        endpoint=host,
                        protocol=scheme.upper(),
                        user_agent="gpuorch",
                    )
                )
            return self._made[product]

    def _credentials(self) -> Any:
        with self._lock:
            if self._chain is None:
                try:
                    self._chain = _chain(os.environ)
                except ImportError as error:
                    raise UsageError(
                        f"the packages for Alibaba Cloud are not installed ({error.name})", hint=INSTALL
                    ) from error
            return self._chain


def failure(refusal: Refusal, action: str, region: str) -> CloudCallFailed:
    """What a refusal of an action such as ``ecs:DescribeInstances`` means, in one sentence, and what to do about it."""
    said = f"{refusal.code}: {refusal.message}" if refusal.message else refusal.code
    return CloudCallFailed(
        f"Alibaba Cloud refused {action} in {region}: {said}", hint=_hint(refusal.code, action, region)
    )


def _hint(code: str, action: str, region: str) -> str:
    if code.startswith(_EXPIRED):
        return f"the credentials have expired; {_LOG_IN}"
    if code.startswith(_UNKNOWN_KEY):
        return f"Alibaba Cloud does not know these credentials; {_LOG_IN}"
    if code.startswith(_NOT_YOURS):
        return f"the account may not use {region}: leave it out with --deny-region"
    if code.startswith(_FORBIDDEN):
        return f"let the RAM user or role you are do {action} (an administrator can add it to its policy)"
    if code.startswith("Throttling"):
        return "Alibaba Cloud limits how often the account may call; try again in a minute"
    return ""


def _chain(environ: Mapping[str, str]) -> Any:
    """The SDK's chain, behind the names that only the Terraform provider reads."""
    from alibabacloud_credentials.client import Client
    from alibabacloud_credentials.models import Config
    from alibabacloud_credentials.provider import CLIProfileCredentialsProvider

    for key, secret, token in (
        ("ALICLOUD_ACCESS_KEY", "ALICLOUD_SECRET_KEY", "ALICLOUD_SECURITY_TOKEN"),
        ("ALIBABA_CLOUD_ACCESS_KEY_ID", "ALIBABA_CLOUD_ACCESS_KEY_SECRET", "ALIBABA_CLOUD_SECURITY_TOKEN"),
    ):
        if environ.get(key) and environ.get(secret):
            kept = environ.get(token, "")
            return Client(
                Config(
                    type="sts" if kept else "access_key",
                    access_key_id=environ[key],
                    access_key_secret=environ[secret],
                    security_token=kept or None,
                )
            )
    profile, file = environ.get("ALICLOUD_PROFILE", ""), environ.get("ALICLOUD_SHARED_CREDENTIALS_FILE", "")
    if profile or (file and Path(file).is_file()):
        return Client(provider=CLIProfileCredentialsProvider(profile_name=profile or None, profile_file=file or None))
    return Client()


def _at(answer: Row, path: tuple[str, ...]) -> list[Row]:
    found: Any = answer
    for name in path:
        found = (found or {}).get(name)
    return list(found or ())


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _one_line(text: str) -> str:
    return " ".join(text.split())
