"""Whole price files that are wrong: they never win, never crash, are named, and change nothing where refused."""

from __future__ import annotations

import gzip
import lzma
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from orchestrator.catalog.report import BookRefused, Reason
from orchestrator.catalog.store import PriceBook
from orchestrator.errors import ConfigInvalid
from orchestrator.model.offer import Market
from tests.build import NOW, an_offer
from tests.catalog.build_catalog import a_row, contents, imported, many_rows, neutral, prices

GOOD = neutral(*many_rows(30))
PACKED = gzip.compress(GOOD.encode())


@pytest.fixture
def book(tmp_path: Path) -> PriceBook:
    book = PriceBook.open(tmp_path / "cache" / "prices.db")
    book.replace([an_offer("12", zone="known")], now=NOW)
    return book


@dataclass(frozen=True)
class Refused:
    content: str | bytes
    message: str
    options: dict[str, Any] = field(default_factory=dict)


REFUSED = {
    "every price zero": Refused(
        neutral(*many_rows(3, usd_per_hour="0.0")), r"no usable price in 3 rows \(3 zero-price\)"
    ),
    "every price negative": Refused(neutral(*many_rows(3, usd_per_hour="-5")), "3 negative-price"),
    "every price NaN": Refused(neutral(*many_rows(3, usd_per_hour="NaN")), "3 not-a-number"),
    "every price times a hundred": Refused(neutral(*many_rows(3, usd_per_hour="1250")), "3 absurd-price"),
    "a price without unit": Refused(GOOD.replace("usd_per_hour", "price_per_hour"), "price_per_hour has no unit"),
    "a price without unit or meaning": Refused(GOOD.replace("usd_per_hour", "price"), "price has no unit"),
    "no price": Refused(GOOD.replace("usd_per_hour", "colour"), "no price column"),
    "conflicting pairs only": Refused(neutral(a_row(), a_row(usd_per_hour="11")), "2 conflict"),
    "truncated gzip": Refused(PACKED[: len(PACKED) // 2], "damaged or cut off"),
    "gzip with a wrong checksum": Refused(PACKED[:-8] + b"\0\0\0\0" + PACKED[-4:], "damaged or cut off"),
    "truncated xz": Refused(lzma.compress(GOOD.encode())[:-20], "damaged or cut off"),
    "half a zip": Refused(b"PK\x03\x04" + b"\x14\0" * 40, "damaged archive"),
    "cut in the middle of a line": Refused(GOOD[:-40], "ends in the middle of line 31"),
    "wrong columns": Refused("name,colour,size\nsofa,red,3\n", "not a price file that is known"),
    "columns missing": Refused(neutral(a_row(gpu="-", market="-")), "lacks gpu, market"),
    "a column twice": Refused(GOOD.replace("gpu_memory_gib", "gpu"), "'gpu' stands twice"),
    "every line too short": Refused("\n".join([GOOD.splitlines()[0], "aws,p4d", "aws,p4de", ""]), "2 column-count"),
    "a picture": Refused(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)) * 8, "is not a text file"),
    "empty": Refused("", "is empty"),
    "empty gzip": Refused(gzip.compress(b""), "is empty"),
    "only a header": Refused(GOOD.splitlines()[0] + "\n", "a header and no prices"),
    "UTF-16": Refused(GOOD.encode("utf-16"), "is UTF-16 text"),
    "Latin-1": Refused(GOOD.replace("zone-7", "zürich").encode("latin-1"), "is not UTF-8 text"),
    "quotes that do not match": Refused(GOOD.replace("zone-7", '"zone-7'), "cannot be read from line"),
    "one endless line": Refused(GOOD + "x" * 200_000, "more than 100,000 characters in line"),
    "JSON": Refused('{"offers": [1, 2]}\n', "not a price file that is known"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_bad_book_is_refused_in_one_sentence_and_changes_nothing(book: PriceBook, tmp_path: Path, name: str) -> None:
    before = contents(book)
    bad = REFUSED[name]
    with pytest.raises(ConfigInvalid, match=bad.message) as caught:
        imported(book, tmp_path / "prices.csv", bad.content, **bad.options)
    assert caught.value.exit_code == 78
    assert "prices.csv" in caught.value.message
    assert "\n" not in caught.value.message + caught.value.hint
    assert contents(book) == before
    assert imported(book, tmp_path / "good.csv", GOOD).merged.new == 30


MIXED = {
    "a zero price": (a_row(zone="bad", usd_per_hour="0.0"), Reason.ZERO_PRICE),
    "a negative price": (a_row(zone="bad", usd_per_hour="-5.0"), Reason.NEGATIVE_PRICE),
    "a NaN": (a_row(zone="bad", usd_per_hour="nan"), Reason.NOT_A_NUMBER),
    "a price in cents": (a_row(zone="bad", usd_per_hour="0.12"), Reason.ABSURD_PRICE),
    "a slice of a GPU": (a_row(zone="bad", gpu_memory_gib="10"), Reason.GPU_MEMORY),
    "a price of tomorrow": (a_row(zone="bad", observed_at="2027-01-01"), Reason.FUTURE_TIME),
    "a name with escapes": (a_row(zone="\x1b[31mbad", usd_per_hour="4"), Reason.BAD_TEXT),
    "an unknown market": (a_row(zone="bad", market="gift", usd_per_hour="4"), Reason.MARKET),
}


@pytest.mark.parametrize("name", MIXED)
def test_one_bad_row_never_wins_and_costs_only_itself(book: PriceBook, tmp_path: Path, name: str) -> None:
    bad, reason = MIXED[name]
    report = imported(book, tmp_path / "prices.csv", neutral(*many_rows(20, usd_per_hour="13"), bad))
    assert report.quarantined == {reason: 1}
    assert (report.examples[0].line, report.examples[0].reason) == (22, reason)
    assert prices(book.offers())[0] == "12"
    assert len(book.offers()) == 21


def test_a_line_with_too_few_or_too_many_columns_costs_only_itself(book: PriceBook, tmp_path: Path) -> None:
    lines = GOOD.splitlines()
    lines[4], lines[8] = lines[4].rpartition(",")[0], lines[8] + ",extra"
    report = imported(book, tmp_path / "prices.csv", "\n".join(lines) + "\n")
    assert report.quarantined == {Reason.COLUMN_COUNT: 2}
    assert [row.line for row in report.examples] == [5, 9]
    assert report.merged.new == 28


def test_a_duplicate_is_dropped_and_named(book: PriceBook, tmp_path: Path) -> None:
    report = imported(book, tmp_path / "prices.csv", neutral(a_row(), a_row(zone="b"), a_row(usd_per_hour="12.50")))
    assert (report.merged.new, report.quarantined) == (2, {Reason.DUPLICATE: 1})
    assert (report.examples[0].line, report.examples[0].sentence[-6:]) == (4, "line 2")


@pytest.mark.parametrize("order", [("9", "11"), ("11", "9"), ("9", "11", "9")])
def test_of_a_conflicting_pair_neither_wins(book: PriceBook, tmp_path: Path, order: tuple[str, ...]) -> None:
    rows = [a_row(usd_per_hour=price) for price in order]
    report = imported(book, tmp_path / "prices.csv", neutral(a_row(zone="b"), *rows))
    assert report.quarantined == {Reason.CONFLICT: len(order)}
    assert prices(book.offers()) == ["12", "12.5"]


def test_the_same_machine_with_two_accelerators_is_a_conflict(book: PriceBook, tmp_path: Path) -> None:
    content = neutral(a_row(zone="b"), a_row(), a_row(gpu_memory_gib="80"))
    assert imported(book, tmp_path / "prices.csv", content).quarantined == {Reason.CONFLICT: 2}


def test_rows_of_other_times_are_a_history_of_which_the_newest_counts(book: PriceBook, tmp_path: Path) -> None:
    rows = [
        a_row(usd_per_hour=price, observed_at=f"2026-11-{day}") for price, day in (("9", 20), ("14", 29), ("8", 25))
    ]
    report = imported(book, tmp_path / "prices.csv", neutral(*rows))
    assert (report.merged.new, report.merged.kept_newer, report.quarantined) == (1, 2, {})
    assert prices(book.find(region="us-east-1", instance_type="p4d*")) == ["12", "14"]


def test_a_spot_price_far_above_on_demand_is_kept_out(book: PriceBook, tmp_path: Path) -> None:
    rows = [
        a_row(market="on-demand", usd_per_hour="22"),
        a_row(market="spot", usd_per_hour="33.1"),
        a_row(zone="b", market="spot", usd_per_hour="22"),
        a_row(zone="", market="on-demand", usd_per_hour="20"),
        a_row(zone="c", market="spot", usd_per_hour="31"),
        a_row(zone="d", region="elsewhere", market="spot", usd_per_hour="90"),
    ]
    report = imported(book, tmp_path / "prices.csv", neutral(*rows))
    assert report.quarantined == {Reason.SPOT_ABOVE_ON_DEMAND: 2}
    assert [row.line for row in report.examples] == [3, 6]
    assert {offer.zone for offer in book.offers(markets={Market.SPOT})} == {"known", "b", "d"}


def test_a_last_line_without_end_is_not_believed(book: PriceBook, tmp_path: Path) -> None:
    columns = dict(sorted(a_row(zone="last").items(), key=lambda item: item[0] == "usd_per_hour"))
    whole = neutral(dict.fromkeys(columns, "") | a_row(zone="b"), columns, end="")
    content = neutral({name: a_row(zone="b")[name] for name in columns}, columns, end="")[:-3]
    assert content.endswith(",1")
    assert len(whole) > len(content)
    report = imported(book, tmp_path / "prices.csv", content)
    assert report.quarantined == {Reason.CUT_LINE: 1}
    assert [offer.zone for offer in book.offers()] == ["known", "b"]


def test_a_cut_file_is_taken_as_far_as_it_goes_by_force(book: PriceBook, tmp_path: Path) -> None:
    content = gzip.compress(neutral(*many_rows(20_000)).encode())
    report = imported(book, tmp_path / "prices.csv.gz", content[: len(content) // 2], force=True)
    assert 1000 < report.merged.new < 20_000
    assert len(report.warnings) == 1
    assert "cut off" in report.warnings[0]


def test_a_shrunk_file_is_refused_with_a_report_unless_forced(book: PriceBook, tmp_path: Path) -> None:
    path = tmp_path / "prices.csv"
    imported(book, path, neutral(*many_rows(30)))
    before = contents(book)
    with pytest.raises(BookRefused, match=r"14 rows, but file prices\.csv had 30 before") as caught:
        imported(book, path, neutral(*many_rows(14)))
    assert caught.value.report
    assert caught.value.report.rows == 14
    assert "--force" in caught.value.hint
    assert contents(book) == before
    assert imported(book, path, neutral(*many_rows(15))).rows == 15
    assert imported(book, path, neutral(*many_rows(2)), force=True).rows == 2


def test_a_file_of_few_rows_may_shrink(book: PriceBook, tmp_path: Path) -> None:
    path = tmp_path / "prices.csv"
    imported(book, path, neutral(*many_rows(9)))
    assert imported(book, path, neutral(*many_rows(1))).rows == 1


def test_a_book_can_be_used_on_after_a_refusal(book: PriceBook, tmp_path: Path) -> None:
    for number in range(3):
        with pytest.raises(ConfigInvalid):
            imported(book, tmp_path / "bad.csv", GOOD[:-40])
        imported(book, tmp_path / "good.csv", neutral(a_row(zone=f"after-{number}")))
    assert {offer.zone for offer in book.offers()} == {"known", "after-0", "after-1", "after-2"}
