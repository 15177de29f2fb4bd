"""One way to call Google Cloud: short time limits, few retries, and every failure as one sentence with its fix.

Compute Engine is called by google-cloud-compute, IAM and Cloud Storage by their JSON APIs with google-auth alone. Both
find credentials as every tool of Google's does; ``GOOGLE_OAUTH_ACCESS_TOKEN`` and the ``GOOGLE_…_CUSTOM_ENDPOINT``
variables of the Terraform provider count here as well, so that both look at the same place.
"""

from __future__ import annotations

import os
import re
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from orchestrator.errors import CloudCallFailed, NotSetUp, UsageError

__all__ = ["PROJECT_VARIABLES", "Clients", "Limits", "google_call", "quietly"]

_SCOPE: Final = "https://www.googleapis.com/auth/cloud-platform"
# In the order in which the Terraform provider looks: its configuration reference, project.
PROJECT_VARIABLES: Final = ("GOOGLE_PROJECT", "GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT", "CLOUDSDK_CORE_PROJECT")
# Custom endpoints, and what they are without: the provider's configuration reference, {{service}}_custom_endpoint.
_ENDPOINTS: Final = {
    "compute": ("GOOGLE_COMPUTE_CUSTOM_ENDPOINT", "https://compute.googleapis.com/compute/v1/"),
    "iam": ("GOOGLE_IAM_CUSTOM_ENDPOINT", "https://iam.googleapis.com/v1/"),
    "storage": ("GOOGLE_STORAGE_CUSTOM_ENDPOINT", "https://storage.googleapis.com/storage/v1/"),
    "resourcemanager": ("GOOGLE_RESOURCE_MANAGER_CUSTOM_ENDPOINT", "https://cloudresourcemanager.googleapis.com/v1/"),
}
# What google-api-core writes before the words of the cloud.
_CALLED: Final = re.compile(r"^(?:GET|POST|DELETE) \S+: ")
_LOG_IN: Final = "gcloud auth application-default login, or set GOOGLE_APPLICATION_CREDENTIALS"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Seconds for one answer, and for a call with all its repeats."""

    answer_seconds: float = 20
    call_seconds: float = 45


@contextmanager
def quietly() -> Iterator[None]:
    """Importing Google's libraries warns of Python versions that they will leave one day: no business of a user's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        try:
            yield
        except ImportError as error:
            raise UsageError(
                f"Google Cloud needs the Python package google-cloud-compute: {error}",
                hint='pip install "google-cloud-compute>=1.19"',
            ) from error


class Clients:
    """Clients of one project, made when first used; safe to use from several threads."""

    def __init__(self, project: str = "", limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self._project = project
        self._made: dict[str, Any] = {}
        self._session: Any = None
        self._credentials: Any = None
        self._lock = threading.RLock()

    @property
    def project(self) -> str:
        """The given project, the environment's, or that of the credentials; :class:`NotSetUp` where there is none."""
        found = self._project or next((os.environ[name] for name in PROJECT_VARIABLES if os.environ.get(name)), "")
        if not found:
            self.credentials()
            found = self._project
        if not found:
            raise NotSetUp(
                "it is not known in which Google Cloud project to look",
                hint="set GOOGLE_CLOUD_PROJECT, or project in [cloud_settings.gcp], to the project's id",
            )
        return found

    def credentials(self) -> Any:
        """Google's own chain; raises google-auth's ``DefaultCredentialsError`` where it finds none."""
        with self._lock:
            if self._credentials is None:
                with quietly():
                    import google.auth
                    import google.oauth2.credentials

                token = os.environ.get("GOOGLE_OAUTH_ACCESS_TOKEN")
                if token:
                    self._credentials = google.oauth2.credentials.Credentials(token)  # type: ignore[no-untyped-call]
                else:
                    self._credentials, project = google.auth.default(scopes=[_SCOPE])
                    self._project = self._project or project or ""
            return self._credentials

    def compute(self, name: str) -> Any:
        """A client of google-cloud-compute by the first part of its class's name, such as ``Instances``."""
        with self._lock:
            if name not in self._made:
                with quietly():
                    from google.cloud import compute_v1

                client = getattr(compute_v1, f"{name}Client")
                place = urlsplit(endpoint("compute"))
                transport = client.get_transport_class("rest")(
                    host=place.netloc, url_scheme=place.scheme, credentials=self.credentials()
                )
                self._made[name] = client(transport=transport)
            return self._made[name]

    def options(self) -> dict[str, Any]:
        """Keyword arguments that bound a call of google-cloud-compute."""
        with quietly():
            from google.api_core import exceptions
            from google.api_core.retry import Retry, if_exception_type

        passing = if_exception_type(
            exceptions.ServiceUnavailable, exceptions.TooManyRequests, exceptions.GatewayTimeout, exceptions.BadGateway
        )
        retry = Retry(predicate=passing, initial=0.5, maximum=5, timeout=self.limits.call_seconds)
        return {"retry": retry, "timeout": self.limits.answer_seconds}

    def request(self, service: str, path: str, *, method: str = "GET", body: Mapping[str, Any] | None = None) -> Any:
        """One call of a JSON API; the answer of ``requests``, its body not read yet, also where it is a refusal."""
        with self._lock:
            if self._session is None:
                with quietly():
                    from google.auth.transport.requests import AuthorizedSession

                self._session = AuthorizedSession(self.credentials())  # type: ignore[no-untyped-call]
        url = endpoint(service) + path
        return self._session.request(method, url, json=body, timeout=self.limits.answer_seconds, stream=True)


def endpoint(service: str) -> str:
    """Where a service is, with a slash at the end."""
    variable, usual = _ENDPOINTS[service]
    return (os.environ.get(variable) or usual).rstrip("/") + "/"


@contextmanager
def google_call(permission: str, where: str) -> Iterator[None]:
    """Turn whatever Google's libraries raise inside into :class:`CloudCallFailed`.

    ``permission`` is the IAM permission of the call (``compute.instances.list``): it names the call and, where Google
    refuses it, the right that is missing. ``where`` is the project.
    """
    with quietly():
        import google.api_core.exceptions
        import google.auth.exceptions
        import requests.exceptions
        import urllib3.exceptions

    lost = (requests.exceptions.RequestException, urllib3.exceptions.HTTPError, google.api_core.exceptions.RetryError)
    try:
        yield
    except google.api_core.exceptions.GoogleAPICallError as error:
        raise refusal(permission, where, int(error.code or 0), str(error.message)) from error
    except google.auth.exceptions.GoogleAuthError as error:
        said = _one_line(str(error.args[0] if error.args else error))
        if isinstance(error, google.auth.exceptions.TransportError):
            raise _unreachable(permission, where, said) from error
        missing = isinstance(error, google.auth.exceptions.DefaultCredentialsError)
        what = "there are no Google Cloud credentials" if missing else "Google Cloud does not accept the credentials"
        raise CloudCallFailed(f"{what} for {permission}: {said}", hint=_LOG_IN) from error
    except lost as error:
        raise _unreachable(permission, where, _one_line(str(error))) from error


def refusal(permission: str, where: str, status: int, message: str) -> CloudCallFailed:
    """What a refused call means, in one sentence, and what to do about it."""
    words = _CALLED.sub("", _one_line(message))
    return CloudCallFailed(
        f"Google Cloud refused {permission} in {where}: {status} {words}".rstrip(),
        hint=_hint(permission, where, status, words),
    )


def _hint(permission: str, where: str, status: int, words: str) -> str:
    if status == 401:
        return f"the credentials are not accepted; log in again: {_LOG_IN}"
    if "has not been used in project" in words or "SERVICE_DISABLED" in words:
        service = permission.partition(".")[0]
        return f"switch the API on: gcloud services enable {service}.googleapis.com --project={where}"
    if status == 403:
        return f"let the account you are logged in as do {permission} in {where}: docs/clouds/gcp.md has the roles"
    if status == 429:
        return "Google Cloud limits how often the project may call; try again in a minute"
    if status == 404 and permission.startswith("compute."):
        return f"check that the project {where} exists: gcloud projects describe {where}"
    return ""


def _unreachable(permission: str, where: str, words: str) -> CloudCallFailed:
    return CloudCallFailed(
        f"Google Cloud could not be asked for {permission} in {where}: {words}",
        hint="check the network and the proxy settings, then try again",
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())
