"""One way to call Tencent Cloud: its official SDK's common client, short time limits, every failure one sentence.

The common client (``tencentcloud-sdk-python-common``) signs and sends any action of any service; the services' own
packages would add some ten megabytes of models and nothing that is needed here.
"""

from __future__ import annotations

import importlib
import os
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from orchestrator.clouds.tencent.credentials import Found, find_credentials, role_credentials
from orchestrator.errors import CloudCallFailed, UsageError

__all__ = ["Clients", "Limits", "Refusal", "failure"]

# Service → version of its API.
_VERSIONS: Final = {
    "cam": "2019-01-16",
    "cvm": "2017-03-12",
    "sts": "2018-08-13",
    "vpc": "2017-03-12",
}
PAGE: Final = 100  # what each of the lists allows

# Common error codes: www.tencentcloud.com/document/product/213/33281
_EXPIRED = ("AuthFailure.TokenFailure", "AuthFailure.SignatureExpire", "UnauthorizedOperation.InvalidToken")
_UNKNOWN_KEY = ("AuthFailure.SecretIdNotFound", "AuthFailure.SignatureFailure", "AuthFailure.InvalidSecretId")
_FORBIDDEN = ("AuthFailure", "UnauthorizedOperation")
_NO_REGION = ("UnsupportedRegion", "InvalidRegion")
_THROTTLED = ("RequestLimitExceeded",)
# The SDK's own word for what came before an answer, or for an answer that was none.
_NO_ANSWER = ("ClientNetworkError", "ServerNetworkError", "ClientError", "ClientParamsError")

_SIGN_IN = "set TENCENTCLOUD_SECRET_ID and TENCENTCLOUD_SECRET_KEY, or run tccli configure"
_MISSING_EXTRA = 'pip install "gpuorch[tencent]"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Seconds that one call may take."""

    seconds: float = 20


class Refusal(Exception):
    """The cloud refuses a call, or does not answer: its code (or the SDK's), such as ``InvalidInstanceId.NotFound``."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


class Clients:
    """Calls in one region; safe to use from several threads.

    The credentials are those of Terraform's provider, found at the first call. ``TENCENTCLOUD_DOMAIN`` and
    ``TENCENTCLOUD_PROTOCOL`` count as for the provider; ``endpoint`` (``http://host:port``) takes all calls instead.
    """

    def __init__(
        self, region: str, limits: Limits | None = None, *, environ: Mapping[str, str] | None = None, endpoint: str = ""
    ) -> None:
        self.region = region
        self.endpoint = endpoint
        self.limits = limits or Limits()
        self._environ = os.environ if environ is None else environ
        self._found: Found | None = None
        self._lock = threading.Lock()

    def credentials(self) -> Found:
        """The credentials in use; :class:`CloudCallFailed` where there are none."""
        with self._lock:
            if self._found is None:
                found = find_credentials(self._environ)
                if found is None:
                    raise CloudCallFailed("there are no Tencent Cloud credentials", hint=_SIGN_IN)
                self._found = role_credentials(found, timeout_seconds=self.limits.seconds) if found.role else found
            return self._found

    def call(self, service: str, action: str, **parameters: Any) -> Mapping[str, Any]:
        """The answer of one action. Raises :class:`CloudCallFailed` when it is refused or does not come."""
        try:
            return self.ask(service, action, **parameters)
        except Refusal as refusal:
            raise failure(refusal, f"{service}:{action}", self.region) from refusal

    def ask(self, service: str, action: str, **parameters: Any) -> Mapping[str, Any]:
        """As :meth:`call`, with :class:`Refusal`, whose ``code`` some callers look at."""
        client = self._client(service)
        try:
            answer = client.call_json(action, parameters)
        except _sdk("exception.tencent_cloud_sdk_exception").TencentCloudSDKException as error:
            code, message = str(error.code or ""), " ".join(str(error.message or "").split())
            raise Refusal(code, message) from error
        except ValueError as error:
            raise Refusal("ServerNetworkError", f"the answer is no JSON: {error}") from error
        found: Mapping[str, Any] = answer["Response"]
        return found

    def pages(self, service: str, action: str, rows: str, **parameters: Any) -> Iterator[Mapping[str, Any]]:
        """All rows of a list. The VPC API wants the page's numbers as text, the CVM API as numbers."""
        kind = str if service == "vpc" else int
        offset = 0
        while True:
            answer = self.call(service, action, Offset=kind(offset), Limit=kind(PAGE), **parameters)
            found = answer.get(rows) or []
            yield from found
            offset += len(found)
            if not found or offset >= int(answer.get("TotalCount") or 0):
                return

    def _client(self, service: str) -> Any:
        found = self.credentials()
        http = _sdk("profile.http_profile").HttpProfile(reqTimeout=self.limits.seconds)
        if self.endpoint:
            parts = urlsplit(self.endpoint)
            http.scheme, http.endpoint = parts.scheme, parts.netloc
        else:
            http.scheme = (self._environ.get("TENCENTCLOUD_PROTOCOL") or "https").lower()
            http.rootDomain = self._environ.get("TENCENTCLOUD_DOMAIN") or http.rootDomain
        return _sdk("common_client").CommonClient(
            service,
            _VERSIONS[service],
            _sdk("credential").Credential(found.secret_id, found.secret_key, found.token or None),
            self.region,
            _sdk("profile.client_profile").ClientProfile(httpProfile=http),
        )


def _sdk(name: str) -> Any:
    """A module of the SDK, which brings no types; :class:`UsageError` where the extra is not installed."""
    try:
        return importlib.import_module(f"tencentcloud.common.{name}")
    except ImportError as error:
        raise UsageError("the SDK of Tencent Cloud is not installed", hint=_MISSING_EXTRA) from error


def failure(refusal: Refusal, action: str, region: str) -> CloudCallFailed:
    """What a refusal means, in one sentence, and what to do about it."""
    code, message = refusal.code, refusal.message
    where = f"{action} in {region}" if region else action
    if code.startswith(_NO_ANSWER):
        return CloudCallFailed(
            f"Tencent Cloud could not be asked for {where}: {message}",
            hint="check the network, the proxy settings and TENCENTCLOUD_DOMAIN, then try again",
        )
    return CloudCallFailed(f"Tencent Cloud refused {where}: {code}: {message}", hint=_hint(code, action, region))


def _hint(code: str, action: str, region: str) -> str:
    rows = (
        (_EXPIRED, f"the credentials have expired, or the clock is off; {_SIGN_IN}"),
        (_UNKNOWN_KEY, f"Tencent Cloud does not know these credentials (its two sites have separate ones); {_SIGN_IN}"),
        (
            _FORBIDDEN,
            f"let the user or role you are logged in as do {action} (an administrator can add it to a policy)",
        ),
        (_NO_REGION, f"leave {region} out, or give a region that Tencent Cloud has, such as ap-guangzhou"),
        (_THROTTLED, "Tencent Cloud limits how often an account may call; try again in a minute"),
        (
            ("UnsupportedOperation.InstancesProtected", "InvalidInstance.NotSupported"),
            "termination protection is on; take it off in the console, or with "
            "tccli cvm ModifyInstancesAttribute --DisableApiTermination false",
        ),
    )
    return next((hint for codes, hint in rows if code.startswith(codes)), "")
