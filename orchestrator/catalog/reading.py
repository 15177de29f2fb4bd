"""One pass over one price file: the good offers one by one, the rest collected with the reasons."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from orchestrator.catalog.files import Lines, Truncated, open_parts
from orchestrator.catalog.formats import EXPECTED, FORMATS, Layout, columns_of
from orchestrator.catalog.merge import Staged, Staging
from orchestrator.catalog.providers import provider
from orchestrator.catalog.report import Fault, ImportReport, Quarantine, QuarantinedRow, Reason
from orchestrator.catalog.sanity import Misfit, RawRow, judge
from orchestrator.errors import ConfigInvalid
from orchestrator.model.offer import Offer

__all__ = ["Reading"]

SHOWN_TEXT = 200


class Reading:
    """Reads ``path`` once. ``complete`` says, after the last offer, whether the file lists all that its clouds sell."""

    def __init__(
        self, path: Path, *, cloud: str | None, observed_at: datetime | None, now: datetime, force: bool
    ) -> None:
        self.quarantine = Quarantine()
        self.complete = True
        self._path = path
        self._cloud = cloud
        self._time = observed_at
        self._now = now
        self._force = force
        self._rows = 0
        self._rows_have_time = False
        self._format = ""
        self._sources: list[str] = []
        self._warnings: list[str] = []

    def report(self) -> ImportReport:
        """What was found; complete after the last offer was read."""
        one = len(self._sources) == 1
        return ImportReport(
            file=str(self._path),
            format=self._format,
            source=self._sources[0] if one else f"file {self._path.name}",
            time_basis="row" if self._rows_have_time else "argument" if self._time else "file",
            rows=self._rows,
            quarantined=dict(self.quarantine.counts.most_common()),
            examples=tuple(self.quarantine.rows),
            warnings=tuple(self._warnings),
        )

    def offers(self, staging: Staging) -> Iterator[Staged]:
        """The offers that passed, to be put into ``staging``, which is told of the others' keys."""
        with open_parts(self._path) as parts:
            default_time = self._time or _modified_at(self._path)
            for lines in parts:
                staging.parts.append(lines.name)
                for found in self._lines(lines):
                    outcome = found.fault if isinstance(found, Misfit) else None
                    if isinstance(found, RawRow):
                        judged = judge(found, observed_at=default_time, now=self._now)
                        if isinstance(judged, Offer):
                            yield Staged(judged, found.line, len(staging.parts) - 1)
                            continue
                        staging.keep_out([_key(found)])
                        outcome = judged
                    assert outcome is not None
                    self.quarantine.add(_quarantined(lines.name, found, outcome))

    def _lines(self, lines: Lines) -> Iterator[RawRow | Misfit]:
        reader = csv.reader(lines, strict=True)
        layout: Layout | None = None
        try:
            header = next(reader, None)
            if header is None:
                raise ConfigInvalid(f"{lines.name} is empty", hint=EXPECTED)
            layout = self._layout(lines.name, header)
            for cells in reader:
                if cells:
                    self._rows += 1
                    yield from self._row(lines, layout, reader.line_num, cells, len(header))
        except csv.Error as error:
            self._cut(
                Truncated(
                    f"{lines.name} cannot be read from line {reader.line_num} on: {error}",
                    hint="get the file again; --force takes the lines before it",
                )
            )
        except Truncated as error:
            self._cut(error)
        if layout:
            yield from layout.rest()

    def _cut(self, error: Truncated) -> None:
        if not self._force:
            raise error
        self.complete = False
        self._warnings.append(error.message)

    def _layout(self, name: str, header: Sequence[str]) -> Layout:
        columns = columns_of(header, name)
        for one in FORMATS:
            if one.matches(columns):
                layout = one.layout(header, file=name, cloud=self._cloud)
                self._format = one.name
                self._sources.append(layout.source)
                self.complete &= one.complete
                self._rows_have_time |= layout.has_time
                return layout
        shown = ", ".join(list(columns)[:4])[:100]
        raise ConfigInvalid(f"{name} is not a price file that is known: its header is {shown!r}", hint=EXPECTED)

    def _row(
        self, lines: Lines, layout: Layout, line: int, cells: Sequence[str], width: int
    ) -> Iterator[RawRow | Misfit]:
        if len(cells) != width:
            if lines.cut:
                raise Truncated(
                    f"{lines.name} ends in the middle of line {line}",
                    hint="get the file again; --force takes the lines before it",
                )
            yield Misfit(line, cells, Fault(Reason.COLUMN_COUNT, f"{len(cells)} columns, but the header has {width}"))
        elif lines.cut and not lines.packed:
            # A last price may have lost its last digits, which makes it cheap.
            sentence = "the last line has no line end, so it may be cut off; end the file with a line end"
            yield Misfit(line, cells, Fault(Reason.CUT_LINE, sentence))
        else:
            yield from layout.rows(line, cells)


def _modified_at(path: Path) -> datetime:
    try:
        return datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except (OverflowError, ValueError, OSError) as error:
        raise ConfigInvalid(
            f"{path.name} has no usable modification time", hint="say when its prices were true: --observed-at TIME"
        ) from error


def _key(row: RawRow) -> tuple[str, str, str, str, str]:
    return (_cloud(row.cloud), row.region.strip(), row.zone.strip(), row.instance_type.strip(), row.market)


def _cloud(name: str) -> str:
    known = provider(name)
    return known.cloud if known else name.strip().lower()


def _quarantined(file: str, found: RawRow | Misfit, fault: Fault) -> QuarantinedRow:
    text = ",".join(found.cells)[:SHOWN_TEXT]
    return QuarantinedRow(
        file=file,
        line=found.line,
        reason=fault.reason,
        sentence=fault.sentence,
        cloud=_cloud(found.cloud) if isinstance(found, RawRow) else "",
        source=found.source.strip() if isinstance(found, RawRow) else "",
        text="".join(char if char.isprintable() else "?" for char in text),
    )
