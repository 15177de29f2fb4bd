"""``prices import``: read a price file of a known format, keep out what is wrong, merge the rest, and report."""

from __future__ import annotations

from dataclasses import replace as with_changes
from datetime import datetime
from pathlib import Path

from orchestrator.catalog.merge import Staging
from orchestrator.catalog.providers import provider
from orchestrator.catalog.reading import Reading
from orchestrator.catalog.report import BookRefused, Feed, ImportReport
from orchestrator.catalog.schema import guarded
from orchestrator.catalog.store import PriceBook
from orchestrator.errors import ConfigInvalid, UsageError

__all__ = ["import_file"]

SHRUNK_FROM = 10
"""A source that had this many rows and now has fewer than half is taken for cut off."""


def import_file(
    book: PriceBook,
    path: Path,
    *,
    now: datetime,
    cloud: str | None = None,
    observed_at: datetime | None = None,
    force: bool = False,
    replace: bool = False,
) -> ImportReport:
    """Merge the prices in ``path`` into the book, all or (where it is refused) nothing.

    ``cloud`` names the cloud of a file that does not; ``observed_at`` is when prices without a time of their own were
    true (default: the file's modification time). ``force`` takes what can be read of a cut or shrunk file. ``replace``
    empties the book first. Raises ``UsageError`` (no such file, a cloud that is not named), ``ConfigInvalid`` (not a
    price file, or cut off) and :class:`BookRefused` (shrunk, or no usable row), each with the book unchanged.
    """
    if observed_at is not None and observed_at > now:
        raise UsageError(f"the prices cannot have been observed at {observed_at.isoformat()}, which is in the future")
    if cloud is not None and provider(cloud) is None and not cloud.replace("-", "").isalnum():
        raise UsageError(f"{cloud!r} cannot be a cloud's name")
    reading = Reading(path, cloud=cloud, observed_at=observed_at, now=now, force=force)
    staging = book.stage()
    with guarded(book.path):
        staging.add(reading.offers(staging))
        older = staging.settle(reading.quarantine)
    report = reading.report()
    _refuse_useless(staging, report)
    _refuse_shrunk(book, report, force)
    feed = Feed(name=report.source, file=report.file, rows=report.rows, quarantine=reading.quarantine)
    merged = book.commit(staging, feed=feed, now=now, complete=reading.complete, clear=replace)
    return with_changes(report, merged=with_changes(merged, kept_newer=merged.kept_newer + older))


def _refuse_useless(staging: Staging, report: ImportReport) -> None:
    if not report.rows:
        raise ConfigInvalid(f"{report.file} has a header and no prices under it")
    if not staging.count():
        counts = ", ".join(f"{count} {reason}" for reason, count in report.quarantined.items())
        raise BookRefused(
            f"{report.file} has no usable price in {report.rows} rows ({counts})",
            report=report,
            hint=f"for example line {report.examples[0].line}: {report.examples[0].sentence}"
            if report.examples
            else "",
        )


def _refuse_shrunk(book: PriceBook, report: ImportReport, force: bool) -> None:
    before = book.feed_rows(report.source)
    if before is not None and before >= SHRUNK_FROM and report.rows * 2 < before and not force:
        raise BookRefused(
            f"{report.file} has {report.rows} rows, but {report.source} had {before} before: it looks cut off",
            report=report,
            hint="get the file again, or take it as it is with --force",
        )
