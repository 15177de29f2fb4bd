"""Builders for price files and books: sensible defaults, everything overridable."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from orchestrator.catalog.importers import import_file
from orchestrator.catalog.report import ImportReport
from orchestrator.catalog.sanity import RawRow
from orchestrator.catalog.store import PriceBook
from tests.build import NOW

NEUTRAL_COLUMNS = (
    "cloud",
    "instance_type",
    "region",
    "zone",
    "gpu",
    "gpu_count",
    "gpu_memory_gib",
    "vcpus",
    "memory_gib",
    "market",
    "usd_per_hour",
    "observed_at",
)
SKYPILOT_HEADER = (
    "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,GpuInfo,Price,SpotPrice,Region,AvailabilityZone,Arch"
)
GPUHUNT_HEADER = (
    "instance_name,location,price,cpu,memory,gpu_count,gpu_name,gpu_memory,spot,"
    "disk_size,gpu_vendor,flags,cpu_arch,provider_data"
)


def a_row(**changes: str) -> dict[str, str]:
    """A neutral row: a p4d spot offer, observed an hour ago. ``"-"`` for a value leaves its column out."""
    values = {
        "cloud": "aws",
        "instance_type": "p4d.24xlarge",
        "region": "us-east-1",
        "zone": "use1-az1",
        "gpu": "A100",
        "gpu_count": "8",
        "gpu_memory_gib": "40",
        "vcpus": "96",
        "memory_gib": "1152",
        "market": "spot",
        "usd_per_hour": "12.5",
        "observed_at": "2026-11-30T11:00:00Z",
    } | changes
    return {column: value for column, value in values.items() if value != "-"}


def neutral(*rows: Mapping[str, str], end: str = "\n") -> str:
    """The text of a neutral price file with these rows; the first decides the columns."""
    columns = list(rows[0])
    lines = [",".join(columns), *(",".join(row.get(column, "") for column in columns) for row in rows)]
    return "\n".join(lines) + end


def a_file(path: Path, content: str | bytes, *, modified: datetime = NOW) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    os.utime(path, (modified.timestamp(), modified.timestamp()))
    return path


def many_rows(count: int, **changes: str) -> list[dict[str, str]]:
    """So many offers that differ in zone."""
    return [a_row(zone=f"zone-{number}", **changes) for number in range(count)]


def imported(book: PriceBook, path: Path, content: str | bytes | None = None, **options: Any) -> ImportReport:
    """Import ``path`` (written first where ``content`` is given) as of NOW."""
    if content is not None:
        a_file(path, content)
    return import_file(book, path, **({"now": NOW} | options))


def contents(book: PriceBook) -> list[Any]:
    """All that a reader can see in the book, to compare before and after."""
    return [book.revision, book.find(), book.sources(), book.quarantined()]


def a_raw_row(**changes: Any) -> RawRow:
    values: dict[str, Any] = {
        "line": 2,
        "cells": [],
        "cloud": "aws",
        "region": "us-east-1",
        "zone": "use1-az1",
        "instance_type": "p4d.24xlarge",
        "gpu": "A100",
        "gpu_count": "8",
        "gpu_memory_gib": "40",
        "vcpus": "96",
        "memory_gib": "1152",
        "market": "spot",
        "price": "12.5",
        "currency": "USD",
        "observed_at": "",
        "source": "test",
    }
    return RawRow(**(values | changes))


def prices(offers: Iterable[Any]) -> list[str]:
    return [str(offer.price_per_hour) for offer in offers]
