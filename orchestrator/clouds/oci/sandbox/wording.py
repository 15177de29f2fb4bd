"""How the genuine provider words a refused call.

The lines and suggestions are those of the provider's internal/tfresource/errors.go and suggestions.go (oracle/oci
7.19), without the one that leads to the provider's own documentation.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass

from orchestrator.clouds.rules import CallRefused, Problem

__all__ = ["Operation", "not_found", "refusal", "refused"]

_POLICIES = "https://docs.oracle.com/en-us/iaas/Content/Identity/Reference/policyreference.htm"

_SUGGESTIONS: Mapping[tuple[int, str], str] = {
    (400, "InvalidParameter"): "Please update the parameter(s) in the Terraform config as per error message {message}",
    (400, "LimitExceeded"): "Request a service limit increase for this resource {service}",
    (400, "QuotaExceeded"): "Contact your administrator to increase limit for your account or compartment for this "
    "service: {service}",
    (404, "NotAuthorizedOrNotFound"): "Either the resource has been deleted or service {service} need policy to access "
    f"this resource. Policy reference: {_POLICIES}",
    (409, "Conflict"): "The resource is in a conflicted state. Please retry again or contact support for help with "
    "service: {service}",
    (500, "InternalError"): "The service for this resource encountered an error. Please contact support for help with "
    "service: {service}",
}
_ELSE = "Please retry or contact support for help with service: {service}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A call of OCI's API as the provider names it: ``Core Instance``, ``LaunchInstance``, ``POST``, ``instances``."""

    service: str
    name: str
    method: str
    path: str
    host: str = "iaas"


def refusal(operation: Operation, region: str, status: int, code: str, message: str) -> Problem:
    """What the provider prints for OCI's answer ``status`` ``code``: ``message``."""
    suggestion = _SUGGESTIONS.get((status, code), _ELSE).format(message=message, service=operation.service)
    api = f"{operation.service.split(' ', 1)[-1].replace(' ', '')}/{operation.name}"
    target = f"{operation.method} https://{operation.host}.{region}.oraclecloud.com/20160918/{operation.path}"
    lines = (
        f"{status}-{code}, {message}",
        f"Suggestion: {suggestion}",
        f"API Reference: https://docs.oracle.com/iaas/api/#/en/{operation.host}/20160918/{api} ",
        f"Request Target: {target} ",
        "Provider version: 7.19.0, released on 2025-09-17.  ",
        f"Service: {operation.service} ",
        f"Operation Name: {operation.name} ",
        f"OPC request ID: {'/'.join(secrets.token_hex(16).upper() for _ in range(3))} ",
    )
    return Problem(summary="\n".join(lines))


def refused(operation: Operation, region: str, status: int, code: str, message: str) -> CallRefused:
    problem = refusal(operation, region, status, code, message)
    return CallRefused(problem.summary, problem.detail)


def not_found(operation: Operation, region: str, message: str = "") -> CallRefused:
    """OCI's one answer for what is not there and for what may not be seen."""
    words = message or "Authorization failed or requested resource not found."
    return refused(operation, region, 404, "NotAuthorizedOrNotFound", words)
