"""What is said about rows that did not get into the book, and about those that did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from orchestrator.errors import ConfigInvalid

__all__ = [
    "BookRefused",
    "Fault",
    "Feed",
    "ImportReport",
    "MergeReport",
    "Quarantine",
    "QuarantinedRow",
    "Reason",
    "SourceStatus",
]

KEPT_PER_REASON = 100
"""So many rows of one reason are kept with their text in one import; the rest are counted only."""


class Reason(StrEnum):
    """Why a row may not enter the book. Stable, for scripts."""

    ZERO_PRICE = "zero-price"
    NEGATIVE_PRICE = "negative-price"
    NOT_A_NUMBER = "not-a-number"
    NO_PRICE = "no-price"
    NO_CURRENCY = "no-currency"
    UNKNOWN_CURRENCY = "unknown-currency"
    ABSURD_PRICE = "absurd-price"
    SPOT_ABOVE_ON_DEMAND = "spot-above-on-demand"
    DUPLICATE = "duplicate"
    CONFLICT = "conflict"
    GPU_COUNT = "gpu-count"
    GPU_NAME = "gpu-name"
    GPU_MEMORY = "gpu-memory"
    MACHINE_SIZE = "machine-size"
    MISSING_FIELD = "missing-field"
    MARKET = "market"
    TIME = "time"
    FUTURE_TIME = "future-time"
    BAD_TEXT = "bad-text"
    COLUMN_COUNT = "column-count"
    CUT_LINE = "cut-line"
    PRICED_APART = "priced-apart"


@dataclass(frozen=True, slots=True)
class Fault:
    """The judgement on one row: why, as a code and as a sentence."""

    reason: Reason
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantinedRow:
    """A row that was kept out: where it stands (``line`` 0: not in a file), why, and its text, shortened."""

    file: str
    line: int
    reason: Reason
    sentence: str
    cloud: str = ""
    source: str = ""
    text: str = ""


class Quarantine:
    """Collects the rows of one import that are kept out: all counted, the first of each reason kept whole.

    ``by_origin`` counts by (cloud, source).
    """

    def __init__(self) -> None:
        self.counts: Counter[Reason] = Counter()
        self.by_origin: Counter[tuple[str, str]] = Counter()
        self.rows: list[QuarantinedRow] = []

    def add(self, row: QuarantinedRow) -> None:
        self.counts[row.reason] += 1
        self.by_origin[row.cloud, row.source] += 1
        if self.counts[row.reason] <= KEPT_PER_REASON:
            self.rows.append(row)

    @property
    def total(self) -> int:
        return self.counts.total()

    def summary(self) -> str:
        """``3 zero-price, 1 conflict``: most frequent first."""
        return ", ".join(f"{count} {reason}" for reason, count in self.counts.most_common())


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeReport:
    """What a merge did to the book.

    ``new`` offers were not there, ``changed`` have another price or description, ``same`` were confirmed (their time
    moves on), ``kept_newer`` lost against a newer row of the book or of the same file, ``gone`` were in the source's
    last complete list and are not in this one, ``shipped_dropped`` are rows of the shipped book that gave way.
    """

    new: int = 0
    changed: int = 0
    same: int = 0
    kept_newer: int = 0
    gone: int = 0
    shipped_dropped: int = 0
    revision: str = ""
    quarantined: Mapping[Reason, int] = field(default_factory=dict)
    examples: tuple[QuarantinedRow, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What an import read and did.

    ``rows`` are the file's lines after the header, ``source`` is what ``prices status`` calls it, ``time_basis`` says
    where the observation times came from: ``row``, ``argument`` or ``file`` (the file's modification time).
    ``warnings`` are things that a user should know although the import went through.
    """

    file: str
    format: str
    source: str
    time_basis: str
    rows: int
    merged: MergeReport = field(default_factory=MergeReport)
    quarantined: Mapping[Reason, int] = field(default_factory=dict)
    examples: tuple[QuarantinedRow, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceStatus:
    """One source of one cloud's prices. ``last_import`` is ``None`` for the shipped book."""

    cloud: str
    source: str
    seed: bool
    offers: int
    oldest: datetime | None
    newest: datetime | None
    last_import: datetime | None
    quarantined: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """What a set of rows was read from: a name that stays the same from one import to the next, and its file."""

    name: str
    file: str = ""
    rows: int
    quarantine: Quarantine = field(default_factory=Quarantine)


class BookRefused(ConfigInvalid):
    """A price file was refused as a whole; the book is as it was. ``report`` says what was found."""

    def __init__(self, message: str, *, report: ImportReport | None = None, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.report = report
