"""Names of providers and what is peculiar to their price files, from the tables in ``data/``.

``providers.csv``: every spelling (``alias``) of a provider's name and ours (``cloud``); on the row where both are
equal, ``zone_pattern`` (a regular expression for a zone's name, its first group the region) and ``attaches`` (the
prefix of machine types to which accelerators are attached freely, so that the type alone does not say which).
``machines.csv``: machine types with the accelerators they carry, for price files that price the two apart.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

__all__ = ["Provider", "machine_parts", "provider"]

_DATA = Path(__file__).parent / "data"


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A provider by our name. ``zone_pattern`` and ``attaches`` are empty for most."""

    cloud: str
    zone_pattern: re.Pattern[str] | None = None
    attaches: str = ""

    def attaches_to(self, machine: str) -> bool:
        """Whether this machine type is also sold without accelerators, and with several kinds."""
        return bool(self.attaches) and machine.startswith(self.attaches)

    def region_and_zone(self, location: str) -> tuple[str, str]:
        """Split a location that may be a region or a zone: ``us-central1-a`` → (``us-central1``, ``us-central1-a``)."""
        match = self.zone_pattern.fullmatch(location) if self.zone_pattern else None
        return (match.group(1), location) if match else (location, "")


def _rows(name: str) -> Iterator[dict[str, str]]:
    with (_DATA / name).open(encoding="utf-8", newline="") as stream:
        yield from csv.DictReader(stream)


@cache
def _providers() -> dict[str, Provider]:
    rows = list(_rows("providers.csv"))
    own = {
        row["cloud"]: Provider(
            cloud=row["cloud"],
            zone_pattern=re.compile(row["zone_pattern"]) if row["zone_pattern"] else None,
            attaches=row["attaches"],
        )
        for row in rows
        if row["alias"] == row["cloud"]
    }
    return {row["alias"]: own.get(row["cloud"], Provider(cloud=row["cloud"])) for row in rows}


def provider(name: str) -> Provider | None:
    """The provider that ``name`` spells, in any case; ``None`` for one that is not in the table."""
    return _providers().get(name.strip().lower())


@cache
def machine_parts(cloud: str) -> dict[str, tuple[tuple[str, str], ...]]:
    """Machine type → the (accelerator as price files spell it, count) pairs that it is sold with."""
    parts: dict[str, list[tuple[str, str]]] = {}
    for row in _rows("machines.csv"):
        if row["cloud"] == cloud:
            parts.setdefault(row["machine"], []).append((row["gpu"], row["gpu_count"]))
    return {machine: tuple(pairs) for machine, pairs in parts.items()}
