"""How the genuine provider words a refused call.

Seen with hashicorp/aws 5.100.0 against an endpoint that answered every call with an error.
"""

from __future__ import annotations

import secrets

from orchestrator.clouds.rules import CallRefused

__all__ = ["ACCOUNT", "REQUEST", "ec2_refused", "iam_refused"]

# The account number that AWS's own documentation uses.
ACCOUNT = "123456789012"

REQUEST = "https response error StatusCode: {status}, RequestID: {request}"


def ec2_refused(doing: str, operation: str, code: str, message: str) -> CallRefused:
    """EC2 says ``code``: ``doing`` is the provider's own beginning, ``creating EC2 Subnet``."""
    request = REQUEST.format(status=400, request=request_id())
    return CallRefused(f"{doing}: operation error EC2: {operation}, {request}, api error {code}: {message}")


def iam_refused(doing: str, operation: str, code: str, message: str, status: int) -> CallRefused:
    """IAM's errors are modelled in the SDK, so ``api error`` is missing from their text."""
    request = REQUEST.format(status=status, request=request_id())
    return CallRefused(f"{doing}: operation error IAM: {operation}, {request}, {code}: {message}")


def request_id() -> str:
    digits = secrets.token_hex(16)
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
