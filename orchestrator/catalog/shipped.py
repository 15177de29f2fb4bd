"""The book that comes with the program: published prices, each with its date and source, in ``seed/*.csv``."""

from __future__ import annotations

import csv
import hashlib
import sqlite3
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from orchestrator.catalog.formats import NEUTRAL
from orchestrator.catalog.report import Fault
from orchestrator.catalog.sanity import RawRow, judge
from orchestrator.catalog.schema import DESCRIPTION, KEY, row_from_offer
from orchestrator.errors import StoreDamaged
from orchestrator.model.offer import Offer

__all__ = ["fill_shipped", "shipped_digest", "shipped_offers"]

_FOLDER = Path(__file__).parent / "seed"
_ANY_TIME = datetime.max.replace(tzinfo=UTC)


@cache
def _files() -> tuple[tuple[str, bytes], ...]:
    return tuple((path.name, path.read_bytes()) for path in sorted(_FOLDER.glob("*.csv")))


@cache
def shipped_digest() -> str:
    """Changes with every change of the shipped rows."""
    digest = hashlib.sha256()
    for name, content in _files():
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:12]


def shipped_offers() -> list[Offer]:
    """All shipped rows, marked as such. Raises :class:`StoreDamaged` where the installation's files are broken."""
    offers: list[Offer] = []
    for name, content in _files():
        lines = csv.reader(content.decode().splitlines())
        layout = NEUTRAL.layout(next(lines))
        for number, cells in enumerate(lines, start=2):
            for row in layout.rows(number, cells):
                found = judge(row, observed_at=_ANY_TIME, now=_ANY_TIME) if isinstance(row, RawRow) else row.fault
                if isinstance(found, Fault):
                    raise StoreDamaged(
                        f"the shipped price file {name} is broken in line {number}: {found.sentence}",
                        hint="install gpuorch again: pip install --force-reinstall gpuorch",
                    )
                offers.append(replace(found, seed=True))
    return offers


def fill_shipped(connection: sqlite3.Connection) -> None:
    """Put the shipped rows into the book in the place of older ones, inside the caller's transaction.

    Left out are those for which the book has a price from elsewhere, by the same rule as in a merge.
    """
    connection.execute("DELETE FROM offers WHERE seed = 1")
    covered = {
        row
        for column in ("accelerator", "instance_type")
        for row in connection.execute(f"SELECT DISTINCT cloud, {column}, market FROM offers WHERE price IS NOT NULL")
    }
    rows = [
        row_from_offer(one)
        for one in shipped_offers()
        if not covered & {(one.cloud, one.accelerator, one.market), (one.cloud, one.instance_type, one.market)}
    ]
    connection.executemany("INSERT OR IGNORE INTO sources (name) VALUES (?)", [(row[-1],) for row in rows])
    columns = (*KEY, *DESCRIPTION)
    connection.executemany(
        f"""INSERT OR IGNORE INTO offers ({", ".join(columns)}, source_id)
            VALUES ({", ".join("?" * len(columns))}, (SELECT id FROM sources WHERE name = ?))""",
        rows,
    )
