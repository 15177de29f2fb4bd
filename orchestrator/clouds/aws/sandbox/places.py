"""The simulated regions' zones."""

from __future__ import annotations

import re

__all__ = ["zone_id", "zone_name", "zone_names"]

_LETTERS = "abcdef"
_WORDS = {"northeast": "ne", "northwest": "nw", "southeast": "se", "southwest": "sw"}
_LOCAL_ZONE = re.compile(r"-[a-z]+-\d[a-z]")


def zone_names(region: str) -> list[str]:
    """Six zones in every region: as many as the largest real one has, so that every real zone's name is known."""
    return [region + letter for letter in _LETTERS]


def zone_id(zone: str) -> str:
    """``us-east-1a`` → ``use1-az1``. AWS shuffles the mapping for every account; here it is in order."""
    region, letter = zone[:-1], zone[-1]
    return f"{_short(region)}-az{_LETTERS.index(letter) + 1}" if letter in _LETTERS else ""


def zone_name(region: str, said: str) -> str:
    """The zone that a name or an id means in the region, ``""`` where it means none."""
    if said in zone_names(region) or (said.startswith(region) and _LOCAL_ZONE.fullmatch(said[len(region) :])):
        return said
    return next((zone for zone in zone_names(region) if zone_id(zone) == said), "")


def _short(region: str) -> str:
    """AWS's abbreviation in zone ids: ``ap-northeast-1`` → ``apne1``."""
    first, *middle, number = region.split("-")
    return first + "".join(_WORDS.get(word, word[:1]) for word in middle) + number
