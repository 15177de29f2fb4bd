"""One way to call Azure: short time limits, few retries, and every failure as one sentence with its fix."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from orchestrator.clouds.azure.signin import credential
from orchestrator.errors import CloudCallFailed, UsageError

if TYPE_CHECKING:
    from azure.core.credentials import TokenCredential
    from azure.core.pipeline.transport import HttpTransport
    from azure.mgmt.compute import ComputeManagementClient

__all__ = ["Connection", "Limits", "azure_call", "error_code", "failure"]

ARM = "https://management.azure.com"
_STORAGE_SCOPE = "https://storage.azure.com/.default"
_LOG_IN = "sign in again: az login, or set ARM_CLIENT_ID, ARM_TENANT_ID and ARM_CLIENT_SECRET"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Seconds to connect and between two answers' bytes, and how often a failed call is made again."""

    connect_seconds: float = 5
    read_seconds: float = 20
    retries: int = 2

    @property
    def options(self) -> dict[str, Any]:
        """As the SDK's pipelines take them."""
        return {
            "connection_timeout": self.connect_seconds,
            "read_timeout": self.read_seconds,
            "retry_total": self.retries,
            "retry_backoff_factor": 0.4,
        }


class Connection:
    """Azure in one subscription, by the SDK's own pipelines; clients are made when first used.

    ``signed_in`` and ``transport`` replace the credential and the wire, which tests do. Every method raises
    :class:`CloudCallFailed`, and :class:`UsageError` where the SDK is not installed.
    """

    def __init__(
        self,
        subscription: str,
        limits: Limits | None = None,
        *,
        signed_in: TokenCredential | None = None,
        transport: HttpTransport[Any, Any] | None = None,
    ) -> None:
        if not subscription:
            raise UsageError(
                "no Azure subscription is named",
                hint="az account show --query id, then ARM_SUBSCRIPTION_ID or cloud_settings.azure.subscription_id",
            )
        self.subscription = subscription
        self._limits = limits or Limits()
        self._signed_in = signed_in
        self._transport = transport

    @property
    def root(self) -> str:
        return f"/subscriptions/{self.subscription}"

    @cached_property
    def compute(self) -> ComputeManagementClient:
        from azure.mgmt.compute import ComputeManagementClient

        return ComputeManagementClient(self._credential, self.subscription, **self._options)

    def get(self, path: str, api_version: str, **query: str) -> Mapping[str, Any] | None:
        """What Azure Resource Manager has at ``path``, ``None`` for 404."""
        from azure.core.exceptions import HttpResponseError
        from azure.core.rest import HttpRequest

        request = HttpRequest("GET", f"{ARM}{path}", params={"api-version": api_version, **query})
        with azure_call(f"GET {path}"):
            answer = self._arm.send_request(request)
            if answer.status_code == 404:
                return None
            if answer.status_code != 200:
                raise HttpResponseError(response=answer)
            found: Mapping[str, Any] = answer.json()
        return found

    def pages(self, path: str, api_version: str, **query: str) -> Iterator[Mapping[str, Any]]:
        """The rows of a list, over all its pages; none for 404."""
        answer = self.get(path, api_version, **query)
        while answer:
            yield from answer.get("value", ())
            following = answer.get("nextLink")
            answer = self._following(following) if following else None

    def blob(self, uri: str, most: int, *, signed: bool = True) -> bytes | None:
        """At most ``most`` bytes and one more of a blob, ``None`` where there is none.

        ``signed=False``: the URI carries its own permission.
        """
        from azure.core.exceptions import HttpResponseError
        from azure.core.rest import HttpRequest

        headers = {"x-ms-version": "2021-12-02", "x-ms-range": f"bytes=0-{most}"}
        shown = uri.partition("?")[0]
        with azure_call(f"GET {shown}"):
            answer = (self._storage if signed else self._plain).send_request(HttpRequest("GET", uri, headers=headers))
            if answer.status_code == 404 and answer.headers.get("x-ms-error-code") in (None, "BlobNotFound"):
                return None
            if answer.status_code == 416:  # an empty blob has no first byte
                return b""
            if answer.status_code not in (200, 206):
                raise HttpResponseError(response=answer)
            content: bytes = answer.content
        return content

    def _following(self, url: str) -> Mapping[str, Any]:
        from azure.core.exceptions import HttpResponseError
        from azure.core.rest import HttpRequest

        with azure_call("the next page of a list"):
            if not url.startswith(f"{ARM}/"):  # the token goes nowhere else
                raise CloudCallFailed(f"Azure's list goes on at {url.partition('?')[0]}, which is not Azure's")
            answer = self._arm.send_request(HttpRequest("GET", url))
            if answer.status_code != 200:
                raise HttpResponseError(response=answer)
            found: Mapping[str, Any] = answer.json()
        return found

    @cached_property
    def _credential(self) -> TokenCredential:
        return self._signed_in or credential()

    @property
    def _options(self) -> dict[str, Any]:
        options = self._limits.options | {"user_agent": "gpuorch"}
        return options if self._transport is None else {**options, "transport": self._transport}

    @cached_property
    def _arm(self) -> Any:
        from azure.core.pipeline.policies import BearerTokenCredentialPolicy

        return self._client(ARM, BearerTokenCredentialPolicy(self._credential, f"{ARM}/.default"))

    @cached_property
    def _storage(self) -> Any:
        from azure.core.pipeline.policies import BearerTokenCredentialPolicy

        return self._client(
            "https://blob.core.windows.net", BearerTokenCredentialPolicy(self._credential, _STORAGE_SCOPE)
        )

    @cached_property
    def _plain(self) -> Any:
        return self._client("https://blob.core.windows.net", None)

    def _client(self, base: str, authentication: Any) -> Any:
        from azure.core import PipelineClient
        from azure.core.pipeline.policies import RetryPolicy, UserAgentPolicy

        options = self._options
        policies = [UserAgentPolicy(**options), RetryPolicy(**options), *([authentication] if authentication else [])]
        return PipelineClient(base_url=base, policies=policies, **options)


@contextmanager
def azure_call(what: str) -> Iterator[None]:
    """Turn whatever the SDK raises inside into :class:`CloudCallFailed`; ``what`` names the call."""
    try:
        from azure.core.exceptions import AzureError
    except ImportError as error:
        raise UsageError("gpuorch lacks Azure's SDK", hint='pip install "gpuorch[azure]"') from error
    try:
        yield
    except AzureError as error:
        raise failure(error, what) from error
    except ValueError as error:  # an answer that is not JSON, from something between us and Azure
        raise CloudCallFailed(f"Azure's answer to {what} cannot be read: {_one_line(str(error))}") from error


def error_code(error: Any) -> str:
    """Azure's own code, such as ``AuthorizationFailed``, ``""`` where the answer has none."""
    found = getattr(getattr(error, "error", None), "code", None)
    if not found and getattr(error, "response", None) is not None:
        found = error.response.headers.get("x-ms-error-code")
    return str(found or "")


def failure(error: Any, what: str) -> CloudCallFailed:
    """What the SDK's error means, in one sentence, and what to do about it."""
    from azure.core.exceptions import (
        ClientAuthenticationError,
        HttpResponseError,
        ServiceRequestError,
        ServiceResponseError,
    )

    words = _one_line(getattr(getattr(error, "error", None), "message", None) or str(getattr(error, "message", error)))
    status = getattr(error, "status_code", None)
    code = error_code(error)
    said = f"{code}: {words}" if code and not words.startswith(code) else words
    if isinstance(error, ClientAuthenticationError) and status is None:
        return CloudCallFailed(f"nobody is signed in to Azure for {what}: {words[:300]}", hint=_LOG_IN)
    if isinstance(error, HttpResponseError) and status is not None:
        return CloudCallFailed(f"Azure refused {what}: {said or status}", hint=_hint(status, code, what))
    if isinstance(error, (ServiceRequestError, ServiceResponseError)):
        return CloudCallFailed(
            f"Azure could not be asked for {what}: {words}",
            hint="check the network and the proxy settings (HTTPS_PROXY), then try again",
        )
    return CloudCallFailed(f"Azure could not be asked for {what}: {words}")


def _hint(status: int, code: str, what: str) -> str:
    if status == 401:
        return f"Azure does not accept the token; {_LOG_IN}"
    if status == 403 and ".blob." in what:
        return "let whoever is signed in read the container: the role Storage Blob Data Reader"
    if status == 403:
        return "let whoever is signed in do this; docs/clouds/azure.md has the role that gpuorch needs"
    if code in ("SubscriptionNotFound", "InvalidSubscriptionId"):
        return "name a subscription that you may use: az account list, then ARM_SUBSCRIPTION_ID"
    if status == 429:
        return "Azure limits how often a subscription may be asked; try again in a minute"
    return "try again; if it stays, look at the status page of Azure" if status >= 500 else ""


def _one_line(text: str) -> str:
    return " ".join(text.split())
