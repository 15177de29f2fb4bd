"""The public address that Azure sees us come from."""

from __future__ import annotations

from orchestrator.errors import UsageError

__all__ = ["caller_address"]


def caller_address() -> str:
    """Azure documents no service that tells a caller's address, and a stranger's word must not open a port."""
    raise UsageError(
        "Azure has no service that tells your public address",
        hint="say from where SSH is allowed: --ssh-from CIDR, such as --ssh-from 203.0.113.7/32",
    )
