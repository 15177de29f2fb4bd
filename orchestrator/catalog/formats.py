"""The price files that are understood, told apart by their header, and how their lines become raw rows.

- ``neutral``: our own, one offer a line: ``cloud`` (or ``provider``), ``instance_type``, ``region``, ``zone``, ``gpu``,
  ``gpu_count``, ``gpu_memory_gib`` (or ``gpu_mem_gib``), ``vcpus``, ``memory_gib`` (or ``ram_gib``), ``market``,
  ``usd_per_hour`` or else ``price_per_hour`` with ``currency``; if known ``observed_at``, ``source``, ``available``.
- ``skypilot``: SkyPilot's catalog, version 5 to 8, a file a cloud (``<cloud>/vms.csv``); a line gives an on-demand and
  a spot offer; an empty price means that it is not sold. Where machines and accelerators are priced apart they are put
  together.
- ``gpuhunt``: gpuhunt's catalog, a file a provider (``<provider>.csv``), one offer a line; ``location`` is a region or
  a zone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Protocol

from orchestrator.catalog.providers import Provider, provider
from orchestrator.catalog.sanity import Misfit, RawRow
from orchestrator.catalog.skypilot import SkypilotLayout
from orchestrator.errors import ConfigInvalid, UsageError

__all__ = ["FORMATS", "NEUTRAL", "Format", "Layout", "columns_of"]


class Layout(Protocol):
    """How the lines of one file are read. Lines have the header's width."""

    @property
    def has_time(self) -> bool:
        """Whether lines carry the time of their observation."""
        ...

    @property
    def source(self) -> str:
        """Names the feed, the same from one file to the next."""
        ...

    def rows(self, line: int, cells: Sequence[str]) -> Iterator[RawRow | Misfit]:
        """The offers of one line."""
        ...

    def rest(self) -> Iterator[RawRow | Misfit]:
        """What can be told only after the last line."""
        ...


class Format(Protocol):
    """A kind of price file. ``complete``: a file lists all that its cloud sells, so what it lacks is gone."""

    @property
    def name(self) -> str: ...

    @property
    def complete(self) -> bool: ...

    def matches(self, columns: Mapping[str, int]) -> bool: ...

    def layout(self, header: Sequence[str], *, file: str = "", cloud: str | None = None) -> Layout:
        """Raises ``ConfigInvalid`` for a useless header, ``UsageError`` where ``cloud`` is wanted or wrong."""
        ...


def columns_of(header: Sequence[str], file: str) -> dict[str, int]:
    """Column name in lower case → its place."""
    columns: dict[str, int] = {}
    for place, name in enumerate(header):
        name = name.strip().lower()
        if name and name in columns:
            raise ConfigInvalid(f"{file}: the column {name[:40]!r} stands twice in the header")
        columns[name] = place
    return columns


def _place(columns: Mapping[str, int], *names: str) -> int:
    """The place of the first of these columns that is there; -1, where an empty cell is put, for none."""
    return next((columns[name] for name in names if name in columns), -1)


def _first_known(*places: str) -> Provider | None:
    return next((known for place in places if (known := provider(place))), None)


@dataclass(frozen=True, slots=True)
class _NeutralLayout:
    places: tuple[int, ...]
    cloud: str
    currency: str
    has_time: bool
    source: str

    def rows(self, line: int, cells: Sequence[str]) -> Iterator[RawRow]:
        padded = [*cells, ""]
        row = RawRow._make((line, cells, *[padded[place] for place in self.places], False))
        yield row._replace(
            cloud=row.cloud or self.cloud,
            currency=row.currency or self.currency,
            source=row.source.strip() or self.source,
        )

    def rest(self) -> Iterator[RawRow]:
        return iter(())


class _Neutral:
    name = "neutral"
    complete = False

    def matches(self, columns: Mapping[str, int]) -> bool:
        return {"instance_type", "region"} <= columns.keys()

    def layout(self, header: Sequence[str], *, file: str = "", cloud: str | None = None) -> _NeutralLayout:
        columns = columns_of(header, file)
        missing = [name for name in ("gpu", "gpu_count", "market") if name not in columns]
        if missing:
            raise ConfigInvalid(f"{file}: the header lacks {', '.join(missing)}", hint=EXPECTED)
        names_cloud = _place(columns, "cloud", "provider")
        if names_cloud < 0 and not cloud:
            raise UsageError(f"{file} does not say which cloud its prices are of", hint="name it: --cloud CLOUD")
        if names_cloud >= 0 and cloud:
            raise UsageError(f"{file} names a cloud in each line, so --cloud does not fit", hint="leave --cloud out")
        in_usd = "usd_per_hour" in columns
        if not in_usd and not {"price_per_hour", "currency"} <= columns.keys():
            found = next((name for name in ("price_per_hour", "price") if name in columns), "")
            what = f"the price in column {found} has no unit" if found else "the header has no price column"
            raise ConfigInvalid(
                f"{file}: {what}", hint="name the column usd_per_hour, or price_per_hour beside a column currency"
            )
        places = (
            names_cloud,
            columns["region"],
            _place(columns, "zone"),
            columns["instance_type"],
            columns["gpu"],
            columns["gpu_count"],
            _place(columns, "gpu_memory_gib", "gpu_mem_gib"),
            _place(columns, "vcpus"),
            _place(columns, "memory_gib", "ram_gib"),
            columns["market"],
            columns["usd_per_hour"] if in_usd else columns["price_per_hour"],
            -1 if in_usd else columns["currency"],
            _place(columns, "observed_at"),
            _place(columns, "source"),
            _place(columns, "available"),
        )
        return _NeutralLayout(
            places, cloud or "", "USD" if in_usd else "", "observed_at" in columns, f"file {_base(file)}"
        )


class _GpuhuntLayout:
    has_time = False

    def __init__(self, columns: Mapping[str, int], own: Provider | None, names_cloud: int) -> None:
        self._own = own
        self._names_cloud = names_cloud
        self._places = tuple(
            _place(columns, name)
            for name in (
                "instance_name",
                "gpu_name",
                "gpu_count",
                "gpu_memory",
                "cpu",
                "memory",
                "price",
                "location",
                "spot",
            )
        )
        self.source = f"gpuhunt {own.cloud}" if own else "gpuhunt"

    def rows(self, line: int, cells: Sequence[str]) -> Iterator[RawRow]:
        padded = [*cells, ""]
        machine, gpu, count, gpu_memory, vcpus, memory, price, location, spot = [
            padded[place] for place in self._places
        ]
        name = padded[self._names_cloud]
        own = self._own or provider(name) or Provider(cloud=name)
        region, zone = own.region_and_zone(location.strip())
        market = {"true": "spot", "false": "on-demand"}.get(spot.strip().lower(), spot)
        yield RawRow(
            line, cells, own.cloud, region, zone, machine, gpu, count, gpu_memory, vcpus, memory, market, price, "USD",
            "", f"gpuhunt {own.cloud}",
        )  # fmt: skip

    def rest(self) -> Iterator[RawRow]:
        return iter(())


class _Gpuhunt:
    name = "gpuhunt"
    complete = True

    def matches(self, columns: Mapping[str, int]) -> bool:
        return {"instance_name", "location", "price", "gpu_count", "gpu_name", "spot"} <= columns.keys()

    def layout(self, header: Sequence[str], *, file: str = "", cloud: str | None = None) -> _GpuhuntLayout:
        columns = columns_of(header, file)
        names_cloud = _place(columns, "provider")
        own = (
            Provider(cloud=cloud)
            if cloud and not provider(cloud)
            else _first_known(cloud or "", _base(file).split(".")[0])
        )
        if names_cloud < 0 and own is None:
            raise UsageError(f"{file} does not say which provider its prices are of", hint="name it: --cloud CLOUD")
        return _GpuhuntLayout(columns, None if names_cloud >= 0 and not cloud else own, names_cloud)


class _Skypilot:
    name = "skypilot"
    complete = True

    def matches(self, columns: Mapping[str, int]) -> bool:
        return {"instancetype", "acceleratorname", "acceleratorcount", "price", "region"} <= columns.keys()

    def layout(self, header: Sequence[str], *, file: str = "", cloud: str | None = None) -> Layout:
        own = (
            provider(cloud) or Provider(cloud=cloud)
            if cloud
            else _first_known(_folder(file), _base(file).split(".")[0])
        )
        if own is None:
            raise UsageError(
                f"{file} does not say which cloud its prices are of",
                hint="name it: --cloud CLOUD, or keep the catalog's folders: <cloud>/vms.csv",
            )
        return SkypilotLayout(columns_of(header, file), own)


def _base(file: str) -> str:
    return PurePath(file.rpartition(":")[2]).name


def _folder(file: str) -> str:
    return PurePath(file.rpartition(":")[2]).parent.name


EXPECTED = (
    "a price file is a CSV with the columns cloud, instance_type, region, zone, gpu, gpu_count, market, usd_per_hour, "
    "or SkyPilot's vms.csv, or gpuhunt's CSV"
)

NEUTRAL: Format = _Neutral()
FORMATS: tuple[Format, ...] = (_Skypilot(), _Gpuhunt(), NEUTRAL)
