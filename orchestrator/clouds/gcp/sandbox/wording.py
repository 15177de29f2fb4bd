"""How the genuine provider words a refused call.

Forms: ``googleapi.Error`` of the Go client that the provider stands on, ``compute_operation.go`` and
``common_operation.go`` of hashicorp/google 6.50. Messages: Compute Engine's, as people have posted them.
"""

from __future__ import annotations

from orchestrator.clouds.rules import CallRefused, CloudView, Values

__all__ = ["API", "link", "not_found", "operation_failed", "project_of", "refused"]

API = "https://www.googleapis.com/compute/v1/"


def refused(doing: str, code: int, message: str, reason: str) -> CallRefused:
    """The call itself is refused: ``doing`` is the provider's own beginning, ``Error creating instance``."""
    return CallRefused(f"{doing}: googleapi: Error {code}: {message}, {reason}")


def not_found(doing: str, path: str) -> CallRefused:
    return refused(doing, 404, f"The resource '{path}' was not found", "notFound")


def operation_failed(activity: str, message: str) -> CallRefused:
    """The call was taken, and what it began has failed: ``activity`` is the provider's word for waiting for it."""
    return CallRefused(f"Error waiting for {activity}: {message}\n")


def link(path: str) -> str:
    """The self link of a resource of Compute Engine."""
    return API + path


def project_of(values: Values, view: CloudView) -> str:
    """The resource's project, or else the provider's."""
    project = values.get("project") or view.provider.get("project")
    if not project:
        raise CallRefused("project: required field is not set")
    return str(project)
