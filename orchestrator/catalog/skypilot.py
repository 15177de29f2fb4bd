"""Lines of SkyPilot's catalog as raw rows.

A line is a machine in a zone with its on-demand and its spot price. Where a cloud prices them apart, the catalog has
the machines (without accelerators) and the accelerators (without a machine) in lines of their own; an offer is then a
machine's price plus that of its accelerators in the same zone, for the pairs in ``data/machines.csv``. Neither part is
an offer by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import NamedTuple

from orchestrator.catalog.providers import Provider, machine_parts
from orchestrator.catalog.report import Fault, Reason
from orchestrator.catalog.sanity import Misfit, RawRow
from orchestrator.profiles.accelerators import canonical
from orchestrator.profiles.spelling import tpu_slice

__all__ = ["SkypilotLayout"]

_COLUMNS = (
    "instancetype",
    "vcpus",
    "memorygib",
    "acceleratorname",
    "acceleratorcount",
    "gpuinfo",
    "region",
    "availabilityzone",
    "price",
    "spotprice",
)
_MEMORY = re.compile(r"'SizeInMiB': *(\d{1,9})", re.ASCII)


class _Line(NamedTuple):
    number: int
    cells: Sequence[str]
    machine: str
    vcpus: str
    memory: str
    gpu: str
    gpu_count: str
    gpu_memory: str
    region: str
    zone: str
    price: str
    spot_price: str


class SkypilotLayout:
    """One file of the catalog. Keeps the lines that are priced apart until the end, those of known machines only."""

    has_time = False

    def __init__(self, columns: Mapping[str, int], own: Provider) -> None:
        self._places = tuple(columns.get(name, -1) for name in _COLUMNS)
        self._own = own
        self.source = f"skypilot-catalog {own.cloud}"
        self._parts = machine_parts(own.cloud)
        self._wanted = {part for parts in self._parts.values() for part in parts}
        self._machines: list[_Line] = []
        self._accelerators: dict[tuple[str, str, str, str], _Line] = {}

    def rows(self, line: int, cells: Sequence[str]) -> Iterator[RawRow | Misfit]:
        padded = [*cells, ""]
        machine, vcpus, memory, gpu, count, info, region, zone, price, spot = [
            padded[place].strip() for place in self._places
        ]
        found = _Line(
            line, cells, machine, vcpus, memory, gpu, count, _memory_gib(gpu, info), region, zone, price, spot
        )
        if machine and not gpu and machine in self._parts:
            self._machines.append(found)
            if self._own.attaches_to(machine):
                yield from self._offers(found)
        elif machine:
            yield from self._offers(found)
        elif tpu_slice(gpu):
            yield from self._offers(found._replace(machine=gpu.lower().removeprefix("tpu-")))
        elif (gpu, _plain(count)) in self._wanted:
            yield from self._keep(found)
        else:
            yield _apart(found, "accelerators without the machine they go into")

    def _keep(self, found: _Line) -> Iterator[Misfit]:
        key = (found.gpu, _plain(found.gpu_count), found.region, found.zone)
        other = self._accelerators.setdefault(key, found)
        if other is not found and (other.price, other.spot_price) != (found.price, found.spot_price):
            # Which of the two is true is not known, so neither is used.
            self._accelerators[key] = other._replace(price="conflict", spot_price="conflict")
            yield Misfit(
                found.number, found.cells, Fault(Reason.CONFLICT, f"line {other.number} has other prices for the same")
            )

    def rest(self) -> Iterator[RawRow | Misfit]:
        for machine in self._machines:
            pairs = [
                self._accelerators[key]
                for gpu, count in self._parts[machine.machine]
                if (key := (gpu, count, machine.region, machine.zone)) in self._accelerators
            ]
            for accelerators in pairs:
                yield from self._offers(_together(machine, accelerators))
            if not pairs and not self._own.attaches_to(machine.machine):
                yield _apart(machine, f"the machine {machine.machine} without its accelerators")

    def _offers(self, found: _Line) -> Iterator[RawRow]:
        for market, price in (("on-demand", found.price), ("spot", found.spot_price)):
            if price:
                yield RawRow(
                    found.number, found.cells, self._own.cloud, found.region, found.zone, found.machine, found.gpu,
                    found.gpu_count, found.gpu_memory, found.vcpus, found.memory, market, price, "USD", "", self.source,
                )  # fmt: skip


def _together(machine: _Line, accelerators: _Line) -> _Line:
    return machine._replace(
        gpu=accelerators.gpu,
        gpu_count=accelerators.gpu_count,
        gpu_memory=accelerators.gpu_memory,
        price=_sum(machine.price, accelerators.price),
        spot_price=_sum(machine.spot_price, accelerators.spot_price),
    )


def _sum(one: str, other: str) -> str:
    """The sum; empty where a part is; a part that cannot be a price, so that it is judged, not hidden by the other."""
    if not one or not other:
        return ""
    for part in (one, other):
        try:
            if not Decimal(part) > 0:
                return part
        except InvalidOperation:
            return part
    return format(Decimal(one) + Decimal(other), "f")


def _apart(found: _Line, what: str) -> Misfit:
    return Misfit(found.number, found.cells, Fault(Reason.PRICED_APART, f"the price is of {what}"))


def _plain(count: str) -> str:
    return count.removesuffix(".0")


@lru_cache(maxsize=1024)
def _memory_gib(gpu: str, info: str) -> str:
    """An accelerator's memory as the line states it, empty where it states none.

    The catalog passes on what a cloud's API says, which for some types is many times too much; the name then stands.
    """
    match = _MEMORY.search(info)
    if not match:
        return ""
    memory = Decimal(match.group(1)) / 1024
    if canonical(gpu) and not canonical(gpu, memory) and memory > 100:
        return ""
    return format(memory.quantize(Decimal("0.01")), "f")
