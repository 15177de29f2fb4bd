"""One way to call OCI: short time limits, few retries, and every failure as one sentence with its fix."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from orchestrator.clouds.oci.credentials import auth_kind, config_file, profile
from orchestrator.errors import CloudCallFailed, UsageError

__all__ = ["Clients", "Limits", "every", "failure", "is_gone", "oci_call", "sdk"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Seconds to connect and between two answers' bytes, and how often a call is tried in all."""

    connect_seconds: float = 5
    read_seconds: float = 20
    attempts: int = 3


# Class and module of each service's client, and its place in a loopback double.
_CLIENTS: Mapping[str, tuple[str, str]] = {
    "compute": ("core", "ComputeClient"),
    "network": ("core", "VirtualNetworkClient"),
    "identity": ("identity", "IdentityClient"),
    "limits": ("limits", "LimitsClient"),
    "objects": ("object_storage", "ObjectStorageClient"),
    "search": ("resource_search", "ResourceSearchClient"),
}
_LOG_IN = "set up credentials: oci setup config, or oci session authenticate (with OCI_AUTH=SecurityToken)"


class Clients:
    """The SDK's clients, made when first used; safe to use from several threads.

    Credentials are those that Terraform's provider would use: an API key of a profile or of the environment, a session
    (``OCI_AUTH=SecurityToken``), or the machine's own. ``endpoint`` leads all services to another address.
    """

    def __init__(
        self,
        region: str,
        *,
        limits: Limits | None = None,
        environ: Mapping[str, str] | None = None,
        endpoint: str = "",
    ) -> None:
        self.region = region
        self._limits = limits or Limits()
        self._environ = os.environ if environ is None else environ
        self._endpoint = endpoint
        self._made: dict[tuple[str, str], Any] = {}
        self._identity: tuple[dict[str, Any], Any] | None = None
        self._lock = threading.Lock()

    def client(self, service: str, region: str = "") -> Any:
        """The client of a service (``compute``, ``network`` …), in another region where one is named."""
        place = region or self.region
        with self._lock:
            if (service, place) not in self._made:
                self._made[service, place] = self._make(service, place)
            return self._made[service, place]

    def tenancy(self) -> str:
        """The tenancy's OCID, ``""`` where the credentials do not tell it."""
        with self._lock:
            config, signer = self._credentials()
        return str(config.get("tenancy") or getattr(signer, "tenancy_id", "") or "")

    def _make(self, service: str, region: str) -> Any:
        oci = sdk()
        config, signer = self._credentials()
        limits = self._limits
        more: dict[str, Any] = {"signer": signer} if signer is not None else {}
        if self._endpoint:
            more["service_endpoint"] = self._endpoint
        retries = oci.retry.RetryStrategyBuilder(
            max_attempts_check=True,
            max_attempts=limits.attempts,
            total_elapsed_time_check=True,
            total_elapsed_time_seconds=60,
            service_error_check=True,
            service_error_retry_on_any_5xx=True,
            retry_base_sleep_time_seconds=0.5,
            retry_max_wait_between_calls_seconds=4,
            backoff_type=oci.retry.BACKOFF_FULL_JITTER_VALUE,
        ).get_retry_strategy()
        module, name = _CLIENTS[service]
        return getattr(getattr(oci, module), name)(
            {**config, "region": region},
            timeout=(limits.connect_seconds, limits.read_seconds),
            retry_strategy=retries,
            circuit_breaker_strategy=oci.circuit_breaker.NoCircuitBreakerStrategy(),
            **more,
        )

    def _credentials(self) -> tuple[dict[str, Any], Any]:
        """What the SDK wants: a configuration, and a signer where there is no API key."""
        if self._identity is None:
            self._identity = _found(self._environ, self.region)
        return self._identity


def sdk() -> Any:
    """The SDK, imported late: it is large."""
    try:
        return import_module("oci")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "oci":
            raise
        raise UsageError("the SDK for OCI is not installed", hint='pip install "gpuorch[oci]"') from error


def _found(environ: Mapping[str, str], region: str) -> tuple[dict[str, Any], Any]:
    oci = sdk()
    kind = auth_kind(environ)
    if kind == "instance_principal":
        return {}, oci.auth.signers.InstancePrincipalsSecurityTokenSigner()
    if kind == "resource_principal":
        return {}, oci.auth.signers.get_resource_principals_signer()
    own = _from_environment(environ, region)
    if own and kind == "api_key":
        oci.config.validate_config(own)
        return own, None
    config: dict[str, Any] = oci.config.from_file(str(config_file(environ)), profile(environ))
    if kind == "security_token":
        return config, _session(oci, config)
    oci.config.validate_config({**config, "region": region})
    return config, None


def _from_environment(environ: Mapping[str, str], region: str) -> dict[str, Any]:
    """The API key that the provider's variables name; empty where they do not name one whole."""
    words = {
        "tenancy": "OCI_TENANCY_OCID",
        "user": "OCI_USER_OCID",
        "fingerprint": "OCI_FINGERPRINT",
        "key_file": "OCI_PRIVATE_KEY_PATH",
        "key_content": "OCI_PRIVATE_KEY",
        "pass_phrase": "OCI_PRIVATE_KEY_PASSWORD",
    }
    found = {key: environ[name] for key, name in words.items() if environ.get(name)}
    whole = {"tenancy", "user", "fingerprint"} <= found.keys() and bool({"key_file", "key_content"} & found.keys())
    return {**found, "region": region} if whole else {}


def _session(oci: Any, config: Mapping[str, Any]) -> Any:
    """The signer of a session that ``oci session authenticate`` began."""
    try:
        token = Path(config.get("security_token_file", "")).expanduser().read_text(encoding="utf-8").strip()
    except OSError as error:
        raise CloudCallFailed(
            "the profile of OCI has no session (security_token_file)", hint="begin one: oci session authenticate"
        ) from error
    key = oci.signer.load_private_key_from_file(config["key_file"], config.get("pass_phrase"))
    return oci.auth.signers.SecurityTokenSigner(token, key)


@contextmanager
def oci_call(action: str, region: str) -> Iterator[None]:
    """Turn whatever the SDK raises inside into :class:`CloudCallFailed`. ``action`` is the API's name of the call."""
    oci = sdk()
    kinds = (
        oci.exceptions.ServiceError,
        oci.exceptions.ClientError,
        oci.exceptions.RequestException,
        oci.exceptions.ConnectTimeout,
        oci.exceptions.MissingEndpointForNonRegionalServiceClientError,
        oci._vendor.requests.exceptions.RequestException,
    )
    try:
        yield
    except kinds as error:
        raise failure(error, action, region) from error
    except (OSError, ValueError) as error:  # a key file that cannot be read, or that is none
        raise CloudCallFailed(f"OCI could not be asked for {action}: {_one_line(str(error))}", hint=_LOG_IN) from error


def every(operation: Callable[..., Any], *arguments: Any, **more: Any) -> list[Any]:
    """All rows of a list, over all its pages."""
    rows: list[Any] = []
    page: str | None = None
    while True:
        answer = operation(*arguments, **more, **({"page": page} if page else {}))
        data = answer.data
        rows += data if isinstance(data, list) else data.items
        page = answer.headers.get("opc-next-page") if answer.headers else None
        if not page:
            return rows


def is_gone(error: Any) -> bool:
    """Whether OCI does not have the thing; it says the same of what may not be seen."""
    return bool(error.status == 404)


def failure(error: Exception, action: str, region: str) -> CloudCallFailed:
    """What the SDK's error means, in one sentence, and what to do about it."""
    oci = sdk()
    where = f"{action} in {region}" if region else action
    if isinstance(error, oci.exceptions.ServiceError):
        said = f"{error.status} {error.code}: {_one_line(str(error.message))}"
        return CloudCallFailed(f"OCI refused {where}: {said}", hint=_hint_for_answer(error, action, region))
    return CloudCallFailed(f"OCI could not be asked for {where}: {_one_line(str(error))}", hint=_hint_for_kind(error))


def _hint_for_answer(error: Any, action: str, region: str) -> str:
    if error.status == 401:
        return (
            f"OCI does not accept these credentials in {region}, or the tenancy is not subscribed to that region: "
            "gpuorch doctor tells which"
        )
    if error.status in (403, 404):
        return (
            f"let the user or group you are logged in as do {action} in the compartment "
            "(docs/clouds/oci.md has the policy), and check the setting cloud_settings.oci.compartment_id"
        )
    if error.status == 429:
        return "OCI limits how often a tenancy may call; try again in a minute"
    return ""


def _hint_for_kind(error: Exception) -> str:
    """The fix for an error that came before, or instead of, an answer of OCI."""
    oci = sdk()
    kinds: tuple[tuple[tuple[type[Exception], ...], str], ...] = (
        ((oci.exceptions.ConfigFileNotFound,), _LOG_IN),
        ((oci.exceptions.ProfileNotFound,), "OCI_CONFIG_FILE_PROFILE must name a profile of ~/.oci/config"),
        (
            (oci.exceptions.InvalidConfig, oci.exceptions.InvalidKeyFilePath),
            "mend ~/.oci/config (a session's profile needs OCI_AUTH=SecurityToken), or make it again: oci setup config",
        ),
        (
            (oci.exceptions.InvalidPrivateKey,),
            "the key file must hold an RSA key as PEM; its pass phrase stands in the profile, or in "
            "OCI_PRIVATE_KEY_PASSWORD",
        ),
        (
            (oci.exceptions.RequestException, oci.exceptions.ConnectTimeout),
            "check the network and the proxy settings, and that the region exists, then try again",
        ),
    )
    return next((hint for types, hint in kinds if isinstance(error, types)), "")


def _one_line(text: str) -> str:
    return " ".join(text.split())
