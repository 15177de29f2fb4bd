"""The simulated regions' zones."""

from __future__ import annotations

import re

__all__ = ["is_region", "region_of", "zone_names"]

_REGION = re.compile(r"[a-z]+-[a-z]+\d+")


def is_region(text: str) -> bool:
    return _REGION.fullmatch(text) is not None


def zone_names(region: str) -> list[str]:
    """Six zones in every region: as many letters as any real one uses, so that every real zone's name is known."""
    return [f"{region}-{letter}" for letter in "abcdef"]


def region_of(zone: str) -> str:
    """``us-central1-a`` → ``us-central1``."""
    return zone.rpartition("-")[0]
