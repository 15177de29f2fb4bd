"""The public address that a cloud would see us come from: OCI has no service that tells it."""

from __future__ import annotations

from orchestrator.errors import UsageError

__all__ = ["caller_address"]


def caller_address() -> str:
    """Always raises :class:`UsageError`: no service of OCI's is documented to tell a caller's address."""
    raise UsageError(
        "OCI has no service that tells from which address you would reach the machine",
        hint="say from where SSH is allowed: --ssh-from CIDR (your public address and /32), or --access none",
    )
