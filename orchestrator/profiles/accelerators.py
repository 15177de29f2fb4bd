"""What is known of each accelerator: its vendor's figures, the names it goes by, and what an hour of it may cost.

The table is ``accelerators.csv`` beside this file, one row a canonical name. Compute figures are *dense* peaks of the
tensor or matrix cores (FP32: of the vector units); vendors print twice as much for 2:4 sparse matrices. A cell is empty
where the vendor states no figure or has no such unit. ``sources`` of a row are the vendor's pages its figures are from.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, lru_cache
from pathlib import Path

from orchestrator.profiles.spelling import Spelling, squash, tpu_slice

__all__ = ["Accelerator", "accelerator", "accelerators", "canonical", "family_names", "members", "price_band"]

_TABLE = Path(__file__).parent / "accelerators.csv"

USABLE = Decimal("0.85")
"""Price books state the memory that a program may use: down to 0.93 of nominal. Below this it is a share of a card."""
OVERSTATED = Decimal("1.1")
"""Some books state the chips on the board: 192 for 180 usable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accelerator:
    """One kind of accelerator, in the unit in which price books count it.

    ``memory_gib`` is nominal. ``link_gb_s`` is the direct link to other cards, both directions together. ``capability``
    is the CUDA compute capability (``9.0``) or the ROCm target (``gfx942``), ``""`` for none. ``devices_per_card`` is
    how many devices the system sees for one. ``form`` is ``unknown`` for the name that stands for any form.
    ``price_band`` is what one may cost in USD an hour, from the deepest spot price to the dearest region and host.
    """

    name: str
    family: str
    vendor: str
    form: str
    memory_gib: Decimal
    bandwidth_gb_s: Decimal | None = None
    fp32_tflops: Decimal | None = None
    tf32_tflops: Decimal | None = None
    fp16_tflops: Decimal | None = None
    bf16_tflops: Decimal | None = None
    fp8_tflops: Decimal | None = None
    int8_tops: Decimal | None = None
    link_gb_s: Decimal | None = None
    capability: str = ""
    devices_per_card: int = 1
    price_band: tuple[Decimal, Decimal]
    aliases: tuple[str, ...] = ()
    sources: tuple[str, ...]
    note: str = ""

    @property
    def device_memory_gib(self) -> Decimal:
        """What one device, and so one program's allocation, can have at most."""
        return self.memory_gib / self.devices_per_card

    @property
    def is_gpu(self) -> bool:
        return bool(self.capability)


@cache
def _by_name() -> dict[str, Accelerator]:
    with _TABLE.open(encoding="utf-8", newline="") as stream:
        return {row["name"]: _accelerator(row) for row in csv.DictReader(stream)}


def _accelerator(row: dict[str, str]) -> Accelerator:
    def figure(column: str) -> Decimal | None:
        return Decimal(row[column]) if row[column] else None

    return Accelerator(
        name=row["name"],
        family=row["family"],
        vendor=row["vendor"],
        form=row["form"],
        memory_gib=Decimal(row["memory_gib"]),
        bandwidth_gb_s=figure("bandwidth_gb_s"),
        fp32_tflops=figure("fp32_tflops"),
        tf32_tflops=figure("tf32_tflops"),
        fp16_tflops=figure("fp16_tflops"),
        bf16_tflops=figure("bf16_tflops"),
        fp8_tflops=figure("fp8_tflops"),
        int8_tops=figure("int8_tops"),
        link_gb_s=figure("link_gb_s"),
        capability=row["capability"],
        devices_per_card=int(row["devices_per_card"]),
        price_band=(Decimal(row["usd_low"]), Decimal(row["usd_high"])),
        aliases=tuple(filter(None, row["aliases"].split("|"))),
        sources=tuple(row["sources"].split("|")),
        note=row["note"],
    )


@cache
def _families() -> dict[str, tuple[Accelerator, ...]]:
    """Squashed family name → its members, least memory first."""
    families: dict[str, list[Accelerator]] = {}
    for one in _by_name().values():
        families.setdefault(squash(one.family), []).append(one)
    return {key: tuple(sorted(rows, key=lambda one: one.memory_gib)) for key, rows in families.items()}


@cache
def _spellings() -> dict[str, Accelerator]:
    """Squashed canonical names and aliases, family names excepted."""
    found: dict[str, Accelerator] = {}
    for one in _by_name().values():
        for spelling in (squash(one.name), *one.aliases):
            if len(_families().get(spelling, ())) < 2:
                found[spelling] = one
    return found


def accelerators() -> tuple[Accelerator, ...]:
    """All that are known, in the table's order."""
    return tuple(_by_name().values())


def accelerator(name: str) -> Accelerator | None:
    """The accelerator of that canonical name, ``None`` where there is none."""
    return _by_name().get(name)


def family_names() -> tuple[str, ...]:
    """Every family, in the table's order; most have one member of the same name."""
    return tuple(dict.fromkeys(one.family for one in _by_name().values()))


@lru_cache(maxsize=512)
def members(word: str) -> tuple[str, ...]:
    """Canonical names that a user's word accepts, in any case: all of a family's, or the one of a full name; else none.

    ``a100`` → both sizes; ``A100-80GB`` or ``a100-80`` → that one; ``h100`` → all four, of stated and unstated form.
    """
    key = squash(word)
    if key in _families():
        return tuple(one.name for one in _families()[key])
    one = _spellings().get(key)
    return (one.name,) if one else ()


def price_band(name: str) -> tuple[Decimal, Decimal] | None:
    """Lowest and highest believable price in USD an hour of one ``name`` with its host; ``None`` for an unknown name.

    It catches misplaced points and mixed-up units, not bargains: prices seen in the market lie well inside.
    """
    one = _by_name().get(name)
    return one.price_band if one else None


@lru_cache(maxsize=4096)
def canonical(name: str, memory_gib: Decimal | None = None) -> str | None:
    """The canonical name of what a price book calls ``name``, with ``memory_gib`` of one card where it is stated.

    ``None`` where the name is unknown, or contradicts the memory. A name that leaves a family's size open is settled by
    the memory, and stands for the smallest member without it, as the books mean it. A memory *below* nominal is taken
    for a share of the card.
    """
    tpu = tpu_slice(name)
    if tpu:
        return tpu.name if tpu.name in _by_name() else None
    exact = _spellings().get(squash(name))
    if exact:
        return exact.name if _plausible(exact, memory_gib) else None
    spelling = Spelling.of(name)
    known = _spellings().get(spelling.key)
    found = (known,) if known else _families().get(spelling.key, ())
    candidates = [one for one in found if not spelling.form or one.form.startswith(spelling.form)] or list(found)
    for size in (spelling.memory_gib, memory_gib):
        if size is not None:
            candidates = [one for one in candidates if _plausible(one, size)]
    if not candidates:
        return None
    stated = memory_gib or spelling.memory_gib
    if stated is None:
        return candidates[0].name
    if len(found) > 1 and all(stated < one.memory_gib * USABLE for one in candidates):
        return None
    return min(candidates, key=lambda one: abs(one.memory_gib - stated)).name


def _plausible(one: Accelerator, memory_gib: Decimal | None) -> bool:
    """Whether a card with ``memory_gib`` can be ``one`` or a share of it, and is not another member of its family."""
    if memory_gib is None:
        return True
    if not memory_gib.is_finite() or memory_gib <= 0 or memory_gib > one.memory_gib * OVERSTATED:
        return False
    if memory_gib >= one.memory_gib * USABLE:
        return True
    siblings = _families()[squash(one.family)]
    return not any(sibling.memory_gib * USABLE <= memory_gib <= sibling.memory_gib * OVERSTATED for sibling in siblings)
