"""The simulated regions' zones."""

from __future__ import annotations

__all__ = ["zone_names"]

# As many as the largest real region has (cn-beijing), so that every real zone's name is known.
_LETTERS = "abcdefghijkl"


def zone_names(region: str) -> list[str]:
    """``cn-beijing`` → ``cn-beijing-a`` …; ``us-east-1`` → ``us-east-1a`` …"""
    between = "" if region[-1:].isdigit() else "-"
    return [f"{region}{between}{letter}" for letter in _LETTERS]
