"""The price book: offers in one SQLite file, safe between processes, each with its age and its source.

Rules: a newer observation wins, at the same time the later import; an older row never overwrites a newer one; rows of
the shipped book give way to any price from elsewhere for the same cloud, accelerator (or machine type) and market.
Times are never set by us.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from orchestrator.catalog import schema
from orchestrator.catalog.merge import Staging, judged
from orchestrator.catalog.report import Feed, MergeReport, Quarantine, QuarantinedRow, Reason, SourceStatus
from orchestrator.catalog.schema import Unwritable, guarded
from orchestrator.catalog.shipped import fill_shipped, shipped_digest
from orchestrator.model.offer import Market, Offer

__all__ = ["PriceBook"]

_COLUMNS = ", ".join(f"o.{column}" for column in (*schema.KEY, *schema.DESCRIPTION)) + ", s.name"
_SELECT = f"SELECT {_COLUMNS} FROM offers o JOIN sources s ON s.id = o.source_id"
_ORDER = "ORDER BY o.price_sort IS NULL, o.price_sort, o.cloud, o.region, o.zone, o.instance_type, o.market"
_NO_SHIPPED_ROWS = "replaced"


class PriceBook:
    """A price book, opened by :meth:`open`; a context manager.

    ``notice`` is a sentence for the user when the book is not the one on disk (``""``: it is).
    """

    def __init__(self, connection: sqlite3.Connection, path: Path, notice: str = "") -> None:
        self._db = connection
        self.path = path
        self.notice = notice

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open the book at ``path``; one that does not exist is made and filled with the shipped rows.

        Where the folder cannot be written and there is no book in it, a book in memory with the shipped rows serves
        for reading (see ``notice``). Raises ``StoreDamaged`` for a file that is no price book, ``Busy`` for a long
        import elsewhere.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            return cls._in_memory(path, error.strerror or str(error))
        try:
            with guarded(path):
                connection = schema.connect(path)
        except Unwritable as error:
            return cls._in_memory(path, str(error.__cause__))
        book = cls(connection, path)
        try:
            book._prepare()
        except Unwritable as error:
            book.close()
            return cls._in_memory(path, str(error.__cause__))
        except BaseException:
            book.close()
            raise
        return book

    @classmethod
    def _in_memory(cls, path: Path, why: str) -> Self:
        notice = f"the price book {path} cannot be made ({why}): showing the shipped prices only"
        book = cls(schema.connect(None), path, notice)
        book._prepare()
        return book

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._db.close()

    # reading

    @property
    def revision(self) -> str:
        """Changes with every merge; the same for every fresh book of the same program."""
        return self._meta("revision")

    def offers(
        self, accelerators: Collection[str] | None = None, *, markets: Collection[Market] | None = None
    ) -> list[Offer]:
        """All offers with one of these accelerators (``None``: with any), any count; by price, unknown prices last."""
        where, values = ["o.accelerator <> ''"], list[str]()
        for column, wanted in (("accelerator", accelerators), ("market", markets)):
            if wanted is not None:
                where.append(f"o.{column} IN ({', '.join('?' * len(wanted))})")
                values.extend(str(value) for value in wanted)
        return self._offers(where, values)

    def find(
        self,
        *,
        cloud: str = "*",
        region: str = "*",
        instance_type: str = "*",
        market: Market | None = None,
    ) -> list[Offer]:
        """Offers by name, machines without accelerator included. Names may hold ``*`` and ``?``; case counts."""
        globs = {"cloud": cloud, "region": region, "instance_type": instance_type, "market": market or "*"}
        wanted = {column: str(glob) for column, glob in globs.items() if glob != "*"}
        return self._offers([f"o.{column} GLOB ?" for column in wanted] or ["true"], list(wanted.values()))

    def _offers(self, where: list[str], values: list[str]) -> list[Offer]:
        with guarded(self.path):
            rows = self._db.execute(f"{_SELECT} WHERE {' AND '.join(where)} {_ORDER}", values).fetchall()
        return [schema.offer_from_row(row) for row in rows]

    def without_accelerator(self) -> int:
        """How many offers are machines without accelerator."""
        return int(self._meta("without_accelerator") or 0)

    def quarantined(self, limit: int | None = None) -> list[QuarantinedRow]:
        """Rows that the last import of each source kept out, newest import first (the first hundred of each reason)."""
        with guarded(self.path):
            rows = self._db.execute(
                """SELECT q.file, q.line, q.reason, q.sentence, q.cloud, q.source, q.text FROM quarantine q
                   JOIN feeds f ON f.name = q.feed ORDER BY f.imported_at DESC, q.rowid LIMIT ?""",
                (-1 if limit is None else limit,),
            ).fetchall()
        names = ("file", "line", "reason", "sentence", "cloud", "source", "text")
        return [QuarantinedRow(**(dict(zip(names, row, strict=True)) | {"reason": Reason(row[2])})) for row in rows]

    def sources(self) -> list[SourceStatus]:
        """Every source of every cloud, with the age of its prices."""
        with guarded(self.path):
            rows = self._db.execute(
                """SELECT o.cloud, s.name, max(o.seed), count(*), min(o.observed_at), max(o.observed_at),
                   max(i.imported_at), coalesce(max(i.quarantined), 0)
                   FROM offers o JOIN sources s ON s.id = o.source_id
                   LEFT JOIN imports i ON i.cloud = o.cloud AND i.source = s.name
                   GROUP BY o.cloud, s.name ORDER BY o.cloud, s.name"""
            ).fetchall()
        return [
            SourceStatus(
                cloud=cloud,
                source=source,
                seed=bool(seed),
                offers=offers,
                oldest=schema.moment(oldest),
                newest=schema.moment(newest),
                last_import=None if imported is None else schema.moment(imported),
                quarantined=quarantined,
            )
            for cloud, source, seed, offers, oldest, newest, imported, quarantined in rows
        ]

    def feed_rows(self, name: str) -> int | None:
        """How many rows a feed had at its last import; ``None`` for one that was never imported."""
        with guarded(self.path):
            row = self._db.execute("SELECT rows FROM feeds WHERE name = ?", (name,)).fetchone()
        return int(row[0]) if row else None

    # writing

    def merge(self, rows: Iterable[Offer], *, now: datetime, complete: bool = False) -> MergeReport:
        """Put offers into the book, in one transaction.

        ``complete``: the rows are all that their sources offer in their clouds; what those sources offered before is
        gone. Bad prices are kept out and named in the report. Raises ``Busy``, or ``Failure`` where the book cannot be
        written.
        """
        return self._merge(rows, now, complete=complete, clear=False)

    def replace(self, rows: Iterable[Offer], *, now: datetime) -> MergeReport:
        """Like :meth:`merge` into an empty book; the shipped rows do not come back."""
        return self._merge(rows, now, complete=False, clear=True)

    def _merge(self, rows: Iterable[Offer], now: datetime, *, complete: bool, clear: bool) -> MergeReport:
        quarantine = Quarantine()
        staging = self.stage()
        with guarded(self.path):
            staging.add(judged(rows, now, quarantine))
            older = staging.settle(quarantine)
        report = self.commit(staging, now=now, complete=complete, clear=clear)
        return replace(
            report,
            kept_newer=report.kept_newer + older,
            quarantined=dict(quarantine.counts),
            examples=tuple(quarantine.rows),
        )

    def stage(self) -> Staging:
        """An empty staging place beside this book, for :meth:`commit`."""
        if self.notice:
            raise Unwritable(self.notice, hint="make the folder writable, or name another one with --cache-dir")
        with guarded(self.path):
            return Staging(self._db)

    def commit(
        self, staging: Staging, *, now: datetime, feed: Feed | None = None, complete: bool = False, clear: bool = False
    ) -> MergeReport:
        """Write what was staged and settled; all or nothing. ``feed`` is remembered with its quarantine."""
        with self._transaction():
            report = staging.apply(complete=complete, clear=clear)
            if feed:
                staging.remember(feed, schema.micros(now))
            return self._stamped(report, shipped=_NO_SHIPPED_ROWS if clear else None)

    def _stamped(self, report: MergeReport, *, shipped: str | None = None) -> MergeReport:
        revision = f"r{os.urandom(6).hex()}"
        plain = self._db.execute("SELECT count(*) FROM offers WHERE accelerator = ''").fetchone()[0]
        self._set_meta(revision=revision, without_accelerator=str(plain))
        if shipped is not None:
            self._set_meta(shipped=shipped)
        return replace(report, revision=revision)

    # the file

    def _prepare(self) -> None:
        """Make the tables of a new file, refuse a foreign one, bring the shipped rows up to date."""
        with guarded(self.path):
            version = schema.version_of(self._db)
            if version == 0:
                self._create()
            elif version != schema.SCHEMA_VERSION:
                why = "it is not a price book" if version < 0 else f"it has version {version} of the tables"
                raise schema.damaged(self.path, why)
        if self._meta("shipped") not in (shipped_digest(), _NO_SHIPPED_ROWS):
            try:
                with self._transaction():
                    self._fill(first=False)
            except Unwritable:
                return  # an older shipped book can still be read

    def _create(self) -> None:
        with self._transaction():
            if schema.version_of(self._db) == 0:  # else another process was faster
                schema.create_tables(self._db)
                self._fill(first=True)

    def _fill(self, *, first: bool) -> None:
        fill_shipped(self._db)
        self._stamped(MergeReport(), shipped=shipped_digest())
        if first:
            self._set_meta(revision=f"shipped-{shipped_digest()}")

    def _meta(self, name: str) -> str:
        with guarded(self.path):
            row = self._db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return str(row[0]) if row else ""

    def _set_meta(self, **values: str) -> None:
        self._db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", list(values.items()))

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with guarded(self.path):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                _rollback(self._db)
                raise


def _rollback(connection: sqlite3.Connection) -> None:
    if connection.in_transaction:
        connection.execute("ROLLBACK")
