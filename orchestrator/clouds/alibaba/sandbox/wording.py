"""How the genuine provider words a refused call.

From reports of users who show their output, such as ``[ERROR] terraform-provider-alicloud/alicloud/`` and
``resource_alicloud_vpc.go:255: Resource alicloud_vpc CreateVpc Failed!!!`` with the SDK's error text (its function
WrapErrorf); the line in the provider's file differs between versions and is left out. Codes and messages are those of
the API reference of ECS, VPC and RAM.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass

from orchestrator.clouds.rules import CallRefused

__all__ = ["Refusal", "refused", "wrapped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """What the cloud answers: its error code, its message and the HTTP status."""

    code: str
    message: str
    status: int = 400


def refused(type_: str, action: str, refusal: Refusal, *, resource: str = "", product: str = "ecs") -> CallRefused:
    """``action`` on a resource of ``type_`` fails; ``resource`` is its id where it has one already."""
    request = _request_id()
    answer = {
        "Code": refusal.code,
        "HostId": f"{product}.aliyuncs.com",
        "Message": refusal.message,
        "RequestId": request,
        "statusCode": refusal.status,
    }
    return CallRefused(
        f"[ERROR] terraform-provider-alicloud/alicloud/resource_{type_}.go: "
        f"Resource {resource or type_} {action} Failed!!! [SDK alibaba-cloud-sdk-go ERROR]:\n"
        f"SDKError:\n   StatusCode: {refusal.status}\n   Code: {refusal.code}\n"
        f"   Message: code: {refusal.status}, {refusal.message} request id: {request}\n"
        f"   Data: {json.dumps(answer, separators=(',', ':'))}\n"
    )


def wrapped(type_: str, message: str) -> CallRefused:
    """The provider itself refuses, in the words of its function WrapError."""
    return CallRefused(f"[ERROR] terraform-provider-alicloud/alicloud/resource_{type_}.go: {message}")


def _request_id() -> str:
    digits = secrets.token_hex(16).upper()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
