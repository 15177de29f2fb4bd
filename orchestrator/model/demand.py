"""What is wanted: as typed (:class:`Request`) and resolved (:class:`Demand`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from enum import StrEnum

from orchestrator.model.offer import Market

__all__ = ["Access", "Demand", "GpuNeed", "Request", "Where"]


class Access(StrEnum):
    """How people reach the machine."""

    SSH = "ssh"  # port 22, open to stated addresses only
    SESSION = "session"  # the cloud's own session service; no open port
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What was typed, on the command line or in a file: unresolved words, ``None`` where nothing was said.

    Exactly one of ``profile`` (``a100x8``) and ``gpu`` (``A100-80GB:8``) is needed. ``market`` is a
    :class:`~orchestrator.model.offer.Market`'s value or ``auto``. The name lists hold globs. ``origins`` maps a field's
    name to where its value came from (``--max-price``, ``job.yaml:7``, ``GPUORCH_MARKET``, ``default`` …).
    """

    profile: str | None = None
    gpu: str | None = None
    market: str | None = None
    clouds: tuple[str, ...] = ()
    denied_clouds: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    denied_regions: tuple[str, ...] = ()
    max_price_per_hour: Decimal | None = None
    min_vcpus: Decimal | None = None
    min_memory_gib: Decimal | None = None
    nodes: int = 1
    origins: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuNeed:
    """Which accelerators serve, by full canonical name, and how many a machine must have (exactly)."""

    label: str
    accelerators: tuple[str, ...]
    count: Decimal
    min_memory_gib: Decimal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """Globs over cloud and region names; an empty allow list allows all; a denial beats an allowance."""

    clouds: tuple[str, ...] = ()
    denied_clouds: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    denied_regions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """A resolved request: what an offer must meet. ``max_price_per_hour`` is in ``currency`` for the whole machine."""

    gpu: GpuNeed
    markets: frozenset[Market]
    where: Where = field(default_factory=Where)
    max_price_per_hour: Decimal | None = None
    currency: str = "USD"
    min_vcpus: Decimal | None = None
    min_memory_gib: Decimal | None = None
    max_price_age: timedelta | None = None
    origins: Mapping[str, str] = field(default_factory=dict)
