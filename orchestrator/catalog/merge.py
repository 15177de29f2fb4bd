"""Put judged offers into the book: first beside it, where the set is checked as a whole, then in by one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Any

from orchestrator.catalog.report import Feed, MergeReport, Quarantine, QuarantinedRow, Reason
from orchestrator.catalog.sanity import SPOT_OVER_ON_DEMAND, price_fault
from orchestrator.catalog.schema import DESCRIPTION, KEY, row_from_offer
from orchestrator.model.offer import Offer

__all__ = ["Staged", "Staging", "judged"]

BATCH = 2000
_KEY = ", ".join(KEY)
_COLUMNS = ", ".join((*KEY, *DESCRIPTION))


def _same_key(left: str, right: str) -> str:
    return " AND ".join(f"{left}.{column} = {right}.{column}" for column in KEY)


@dataclass(frozen=True, slots=True)
class Staged:
    """An offer and where it stands: ``part`` counts the files of an archive."""

    offer: Offer
    line: int = 0
    part: int = 0


class Staging:
    """Offers waiting beside the book, in temporary tables of the same connection.

    ``parts`` are the names of the files by their number. Nothing of it touches the book before :meth:`apply`.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection
        self.parts: list[str] = []
        for table in ("staged", "kept_out"):
            connection.execute(f"DROP TABLE IF EXISTS temp.{table}")
        connection.execute(f"CREATE TEMP TABLE staged ({_COLUMNS}, source TEXT, line INTEGER, part INTEGER)")
        connection.execute(f"CREATE TEMP TABLE kept_out ({_KEY}, PRIMARY KEY ({_KEY})) WITHOUT ROWID")

    def add(self, offers: Iterable[Staged]) -> int:
        """Take them in, in batches; how many."""
        marks = ", ".join("?" * (len(KEY) + len(DESCRIPTION) + 3))
        stream = iter(offers)
        count = 0
        self._db.execute("BEGIN")
        try:
            while batch := [(*row_from_offer(one.offer), one.line, one.part) for one in islice(stream, BATCH)]:
                self._db.executemany(f"INSERT INTO temp.staged VALUES ({marks})", batch)
                count += len(batch)
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")
        return count

    def keep_out(self, keys: Iterable[Sequence[str]]) -> None:
        """Keys of rows that were quarantined: the book's own row of that key is not taken for gone."""
        self._db.executemany(f"INSERT OR IGNORE INTO temp.kept_out VALUES ({', '.join('?' * len(KEY))})", keys)

    def settle(self, quarantine: Quarantine) -> int:
        """Take out what only shows over the whole set; how many rows lost against a newer one of the same set.

        Of a key that stands several times at the newest time, equal rows are reduced to one. Where they differ in price
        or machine all are kept out: which one is true is not known, and the wrong one would win whenever it is lower.
        """
        self._db.execute(f"CREATE INDEX temp.staged_key ON staged ({_KEY}, observed_at)")
        older = self._db.execute(
            f"""DELETE FROM temp.staged WHERE EXISTS
                (SELECT 1 FROM temp.staged t WHERE {_same_key("t", "staged")} AND t.observed_at > staged.observed_at)"""
        ).rowcount
        self._conflicts(quarantine)
        self._duplicates(quarantine)
        self._dear_spot(quarantine)
        return older

    def _conflicts(self, quarantine: Quarantine) -> None:
        def sentence(row: tuple[Any, ...]) -> str:
            return f"the same offer stands {row[0]} times, with prices from {row[1]} to {row[2]} or unlike machines"

        self._take_out(
            f"""SELECT s.rowid, r.times, r.low, r.high FROM temp.staged s JOIN
                (SELECT {_KEY}, count(*) AS times, min(price_sort) AS low, max(price_sort) AS high FROM temp.staged
                 GROUP BY {_KEY} HAVING count(*) > 1 AND count(DISTINCT
                 coalesce(price_sort, -1) || ' ' || currency || ' ' || accelerator || ' ' || gpu_count) > 1
                ) r ON {_same_key("r", "s")}""",
            Reason.CONFLICT,
            sentence,
            quarantine,
            remember=True,
        )

    def _duplicates(self, quarantine: Quarantine) -> None:
        self._take_out(
            f"""SELECT s.rowid, r.line FROM temp.staged s JOIN
                (SELECT {_KEY}, min(rowid) AS first, line FROM temp.staged GROUP BY {_KEY} HAVING count(*) > 1) r
                ON {_same_key("r", "s")} AND s.rowid > r.first""",
            Reason.DUPLICATE,
            lambda row: f"the same offer at the same price stands on line {row[0]}",
            quarantine,
        )

    def _dear_spot(self, quarantine: Quarantine) -> None:
        self._take_out(
            f"""SELECT s.rowid, s.price, min(o.price_sort), s.currency FROM temp.staged s JOIN temp.staged o
                ON o.cloud = s.cloud AND o.region = s.region AND o.zone IN (s.zone, '')
                AND o.instance_type = s.instance_type AND o.market = 'on-demand' AND o.currency = s.currency
                WHERE s.market = 'spot' AND s.price_sort > {SPOT_OVER_ON_DEMAND} * o.price_sort GROUP BY s.rowid""",
            Reason.SPOT_ABOVE_ON_DEMAND,
            lambda row: (
                f"the spot price {row[0]} is far above the on-demand price {row[1]} {row[2]} of the same machine"
            ),
            quarantine,
            remember=True,
        )

    def _take_out(
        self,
        select: str,
        reason: Reason,
        sentence: Callable[[tuple[Any, ...]], str],
        quarantine: Quarantine,
        *,
        remember: bool = False,
    ) -> None:
        """Move the rows that ``select`` names (rowid first, then what ``sentence`` needs) into quarantine."""
        self._db.execute("DROP TABLE IF EXISTS temp.out")
        self._db.execute(f"CREATE TEMP TABLE out AS {select}")
        found = self._db.execute(
            """SELECT s.part, s.line, s.cloud, s.region, s.zone, s.instance_type, s.market, s.price, s.source, o.*
                FROM temp.out o JOIN temp.staged s ON s.rowid = o.rowid ORDER BY s.part, s.line"""
        )
        for part, line, cloud, region, zone, machine, market, price, source, _, *details in found:
            quarantine.add(
                QuarantinedRow(
                    file=self.parts[part] if self.parts else "",
                    line=line,
                    reason=reason,
                    sentence=sentence(tuple(details)),
                    cloud=cloud,
                    source=source,
                    text=f"{cloud} {zone or region} {machine} {market} {price}",
                )
            )
        if remember:
            self._db.execute(
                f"""INSERT OR IGNORE INTO temp.kept_out
                    SELECT {_KEY} FROM temp.staged WHERE rowid IN (SELECT rowid FROM temp.out)"""
            )
        self._db.execute("DELETE FROM temp.staged WHERE rowid IN (SELECT rowid FROM temp.out)")

    def remember(self, feed: Feed, at: int) -> None:
        """Write down, inside the caller's transaction, that ``feed`` was imported at ``at`` and what was kept out."""
        self._db.execute("INSERT OR REPLACE INTO feeds VALUES (?, ?, ?, ?)", (feed.name, feed.file, feed.rows, at))
        origins = self._db.execute("SELECT DISTINCT cloud, source FROM temp.staged").fetchall()
        self._db.executemany(
            "INSERT OR REPLACE INTO imports VALUES (?, ?, ?, ?)",
            [(cloud, source, at, feed.quarantine.by_origin[cloud, source]) for cloud, source in origins],
        )
        self._db.execute("DELETE FROM quarantine WHERE feed = ?", (feed.name,))
        self._db.executemany(
            "INSERT INTO quarantine VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (feed.name, row.file, row.line, row.reason, row.sentence, row.cloud, row.source, row.text)
                for row in feed.quarantine.rows
            ],
        )

    def count(self) -> int:
        return int(self._db.execute("SELECT count(*) FROM temp.staged").fetchone()[0])

    def apply(self, *, complete: bool = False, clear: bool = False) -> MergeReport:
        """Write into the book, inside the caller's transaction.

        ``complete``: the set is all that its sources offer, so their other rows in the same clouds are gone. ``clear``:
        empty the book first. The revision in the report is still to be set.
        """
        if clear:
            self._db.execute("DELETE FROM offers")
        self._db.execute("INSERT OR IGNORE INTO sources (name) SELECT DISTINCT source FROM temp.staged")
        dropped = self._shipped_rows_give_way()
        report = replace(self._compare(), shipped_dropped=dropped)
        updates = ", ".join(f"{column} = excluded.{column}" for column in (*DESCRIPTION, "source_id"))
        self._db.execute(
            f"""INSERT INTO offers ({_COLUMNS}, source_id)
                SELECT {_COLUMNS}, sources.id FROM temp.staged s JOIN sources ON sources.name = s.source WHERE true
                ON CONFLICT ({_KEY}) DO UPDATE SET {updates} WHERE excluded.observed_at >= offers.observed_at"""
        )
        return replace(report, gone=self._drop_gone() if complete else 0)

    def _shipped_rows_give_way(self) -> int:
        """A shipped row goes when the cloud has a price from elsewhere for its accelerator or machine type and market.

        So the two never mix, also where they name the accelerator differently.
        """
        return sum(
            self._db.execute(
                f"""DELETE FROM offers WHERE seed = 1 AND (cloud, {column}, market) IN
                    (SELECT DISTINCT cloud, {column}, market FROM temp.staged WHERE price IS NOT NULL)"""
            ).rowcount
            for column in ("accelerator", "instance_type")
        )

    def _compare(self) -> MergeReport:
        unlike = " OR ".join(
            f"o.{column} IS NOT s.{column}" for column in DESCRIPTION if column not in ("observed_at", "price", "seed")
        )
        new, kept, changed, total = self._db.execute(
            f"""SELECT total(o.cloud IS NULL), total(o.observed_at > s.observed_at),
                total(o.observed_at <= s.observed_at AND ({unlike})), count(*)
                FROM temp.staged s LEFT JOIN offers o ON {_same_key("o", "s")}"""
        ).fetchone()
        return MergeReport(
            new=int(new), kept_newer=int(kept), changed=int(changed), same=int(total - new - kept - changed)
        )

    def _drop_gone(self) -> int:
        return self._db.execute(
            f"""DELETE FROM offers WHERE seed = 0
                AND cloud IN (SELECT DISTINCT cloud FROM temp.staged)
                AND source_id IN (SELECT id FROM sources WHERE name IN (SELECT DISTINCT source FROM temp.staged))
                AND observed_at <= (SELECT max(observed_at) FROM temp.staged)
                AND NOT EXISTS (SELECT 1 FROM temp.staged s WHERE {_same_key("s", "offers")})
                AND NOT EXISTS (SELECT 1 FROM temp.kept_out k WHERE {_same_key("k", "offers")})"""
        ).rowcount


def judged(offers: Iterable[Offer], now: datetime, quarantine: Quarantine) -> Iterator[Staged]:
    """The offers whose price and time can be true, ready for staging; the others go into quarantine."""
    for offer in offers:
        fault = price_fault(offer, now)
        if fault is None:
            yield Staged(offer)
        else:
            quarantine.add(
                QuarantinedRow(
                    file="",
                    line=0,
                    reason=fault.reason,
                    sentence=fault.sentence,
                    cloud=offer.cloud,
                    source=offer.source,
                    text=f"{offer.key} {offer.price_per_hour}",
                )
            )
