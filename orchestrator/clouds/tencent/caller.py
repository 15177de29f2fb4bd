"""The public address that we come from."""

from __future__ import annotations

from orchestrator.errors import UsageError

__all__ = ["caller_address"]


def caller_address() -> str:
    """Raises :class:`UsageError`: Tencent Cloud documents no service that tells it."""
    raise UsageError(
        "Tencent Cloud has no service that tells our public address",
        hint="say from where SSH is allowed: --ssh-from CIDR",
    )
