"""The price book's SQLite file: tables, connection, rows to offers and back, and SQLite's errors as ours."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

from orchestrator.errors import Busy, Failure, StoreDamaged
from orchestrator.model.offer import Market, Offer

__all__ = ["Unwritable", "connect", "create_tables", "guarded", "micros", "moment", "offer_from_row", "row_from_offer"]

SCHEMA_VERSION = 1
BUSY_SECONDS = 30.0
KEY = ("cloud", "region", "zone", "instance_type", "market")
DESCRIPTION = (
    "accelerator",
    "gpu_count",
    "gpu_memory_gib",
    "vcpus",
    "memory_gib",
    "price",
    "price_sort",
    "currency",
    "available",
    "observed_at",
    "seed",
)
"""Columns of an offer beside its key and its source. Decimals are TEXT, so that they come back as they went in;
``price_sort`` is the price as REAL, ``observed_at`` microseconds since 1970."""

_TABLES = f"""
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE sources (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE offers (
  cloud TEXT NOT NULL, region TEXT NOT NULL, zone TEXT NOT NULL, instance_type TEXT NOT NULL, market TEXT NOT NULL,
  accelerator TEXT NOT NULL, gpu_count TEXT NOT NULL, gpu_memory_gib TEXT, vcpus TEXT, memory_gib TEXT,
  price TEXT, price_sort REAL, currency TEXT NOT NULL, available INTEGER, observed_at INTEGER NOT NULL,
  seed INTEGER NOT NULL, source_id INTEGER NOT NULL REFERENCES sources (id),
  PRIMARY KEY (cloud, region, zone, instance_type, market)
) WITHOUT ROWID;
CREATE INDEX offers_by_accelerator ON offers (accelerator, market) WHERE accelerator <> '';
CREATE TABLE feeds (name TEXT PRIMARY KEY, file TEXT NOT NULL, rows INTEGER NOT NULL, imported_at INTEGER NOT NULL);
CREATE TABLE imports (
  cloud TEXT NOT NULL, source TEXT NOT NULL, imported_at INTEGER NOT NULL, quarantined INTEGER NOT NULL,
  PRIMARY KEY (cloud, source)
) WITHOUT ROWID;
CREATE TABLE quarantine (
  feed TEXT NOT NULL, file TEXT NOT NULL, line INTEGER NOT NULL, reason TEXT NOT NULL, sentence TEXT NOT NULL,
  cloud TEXT NOT NULL, source TEXT NOT NULL, text TEXT NOT NULL
);
PRAGMA user_version = {SCHEMA_VERSION};
"""


class Unwritable(Failure):
    """The book cannot be made or changed where it is: a read-only folder or file, or a full disk."""


def connect(path: Path | None) -> sqlite3.Connection:
    """Open the file (``None``: a book in memory); every transaction is begun by hand."""
    return sqlite3.connect(str(path) if path else ":memory:", timeout=BUSY_SECONDS, isolation_level=None)


def create_tables(connection: sqlite3.Connection) -> None:
    """Make the tables, inside the caller's transaction."""
    for statement in _TABLES.split(";"):
        if statement.strip():
            connection.execute(statement)


def version_of(connection: sqlite3.Connection) -> int:
    """The schema version: 0 for an empty file, -1 for a database that is not ours."""
    found = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if found == 0 and connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        return -1
    return found


_WRITING = ("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_FULL", "SQLITE_PERM", "SQLITE_AUTH")


@contextmanager
def guarded(path: Path | None) -> Iterator[None]:
    """SQLite's errors inside it become :class:`Busy`, :class:`Unwritable` or :class:`StoreDamaged`."""
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "") or ""
        if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            raise Busy(
                f"the price book {path} is in use by another process",
                hint="wait until its import is done, then try again",
            ) from error
        if name.startswith(_WRITING):
            raise Unwritable(
                f"the price book {path} cannot be written: {error}",
                hint="make the folder writable, or name another one with --cache-dir",
            ) from error
        raise damaged(path, str(error)) from error


def damaged(path: Path | None, why: str) -> StoreDamaged:
    """The error for a book that cannot be read, with the way out."""
    return StoreDamaged(
        f"the price book {path} cannot be read: {why}",
        hint=f"delete it (rm {path}); the next command makes a new one, and gpuorch prices import fills it again",
    )


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def micros(when: datetime) -> int:
    return (when - _EPOCH) // _MICROSECOND


@lru_cache(maxsize=4096)
def moment(value: int) -> datetime:
    return _EPOCH + timedelta(microseconds=value)


@lru_cache(maxsize=8192)
def _decimal(text: str | None) -> Decimal | None:
    return None if text is None else Decimal(text)


def _text(value: Decimal | None) -> str | None:
    return None if value is None else format(value, "f")


def row_from_offer(offer: Offer) -> tuple[Any, ...]:
    """The values of KEY + DESCRIPTION + the source's name."""
    price = offer.price_per_hour
    return (
        offer.cloud,
        offer.region,
        offer.zone,
        offer.instance_type,
        offer.market.value,
        offer.accelerator,
        _text(offer.gpu_count),
        _text(offer.gpu_memory_gib),
        _text(offer.vcpus),
        _text(offer.memory_gib),
        _text(price),
        None if price is None else float(price),
        offer.currency,
        None if offer.available is None else int(offer.available),
        micros(offer.observed_at),
        int(offer.seed),
        offer.source,
    )


def offer_from_row(row: tuple[Any, ...]) -> Offer:
    """The offer of a row with the columns KEY + DESCRIPTION + the source's name."""
    count = _decimal(row[6])
    assert count is not None  # NOT NULL in the table
    return Offer(
        cloud=row[0],
        region=row[1],
        zone=row[2],
        instance_type=row[3],
        market=Market(row[4]),
        accelerator=row[5],
        gpu_count=count,
        gpu_memory_gib=_decimal(row[7]),
        vcpus=_decimal(row[8]),
        memory_gib=_decimal(row[9]),
        price_per_hour=_decimal(row[10]),
        currency=row[12],
        available=None if row[13] is None else bool(row[13]),
        observed_at=moment(row[14]),
        seed=bool(row[15]),
        source=row[16],
    )
