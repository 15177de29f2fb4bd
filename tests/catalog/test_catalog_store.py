from __future__ import annotations

import sqlite3
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from orchestrator.catalog.query import book_id
from orchestrator.catalog.report import Reason
from orchestrator.catalog.shipped import shipped_offers
from orchestrator.catalog.store import PriceBook
from orchestrator.errors import Failure, StoreDamaged
from orchestrator.model.offer import Market
from tests.build import NOW, an_offer
from tests.catalog.build_catalog import prices

A100 = ("A100-40GB", "A100-80GB")


@pytest.fixture
def book(tmp_path: Path) -> PriceBook:
    return PriceBook.open(tmp_path / "cache" / "prices.db")


def test_a_new_book_holds_the_shipped_rows(book: PriceBook) -> None:
    assert book.find() != []
    assert all(offer.seed for offer in book.find())
    assert book.revision.startswith("shipped-")
    assert book.notice == ""


def test_two_new_books_are_the_same_book(tmp_path: Path) -> None:
    with PriceBook.open(tmp_path / "one.db") as one, PriceBook.open(tmp_path / "two.db") as two:
        assert (one.revision, one.find()) == (two.revision, two.find())


def test_offers_come_back_as_they_went_in(book: PriceBook) -> None:
    offers = [
        an_offer("12.50", zone="a", available=True),
        an_offer("0.30000000000000004", zone="b", accelerator="L4", gpu_count=Decimal("0.125"), available=False),
        an_offer(None, zone="c", vcpus=None, memory_gib=None, gpu_memory_gib=None, currency="CNY"),
    ]
    book.replace(offers, now=NOW)
    found = sorted(book.find(), key=lambda offer: offer.zone)
    assert found == offers
    assert [str(offer.price_per_hour) for offer in found] == ["12.50", "0.30000000000000004", "None"]


def test_offers_are_found_by_accelerator_and_market_cheapest_first(book: PriceBook) -> None:
    book.replace(
        [
            an_offer("9", zone="a"),
            an_offer(None, zone="b"),
            an_offer("8", zone="c", accelerator="A100-80GB"),
            an_offer("30", zone="d", market=Market.ON_DEMAND),
            an_offer("1", zone="e", accelerator="T4", gpu_count=Decimal(1)),
            an_offer("0.1", zone="f", accelerator="", gpu_count=Decimal(0)),
        ],
        now=NOW,
    )
    assert prices(book.offers(A100)) == ["8", "9", "30", "None"]
    assert prices(book.offers(A100, markets={Market.SPOT})) == ["8", "9", "None"]
    assert prices(book.offers()) == ["1", "8", "9", "30", "None"]
    assert book.offers(()) == []
    assert book.without_accelerator() == 1
    assert len(book.find()) == 6


def test_find_takes_globs(book: PriceBook) -> None:
    book.replace([an_offer(zone="a"), an_offer(zone="b", region="eu-west-1", instance_type="g5.xlarge")], now=NOW)
    assert len(book.find(cloud="aws")) == 2
    assert [offer.region for offer in book.find(region="eu-*")] == ["eu-west-1"]
    assert [offer.zone for offer in book.find(instance_type="p4?.24xlarge", market=Market.SPOT)] == ["a"]
    assert book.find(market=Market.ON_DEMAND) == []


def test_a_newer_row_wins_and_keeps_its_own_time(book: PriceBook) -> None:
    newer = an_offer("13", observed_at=NOW - timedelta(minutes=5))
    book.replace([an_offer("12")], now=NOW)
    report = book.merge([newer], now=NOW)
    assert (report.new, report.changed, report.same, report.kept_newer) == (0, 1, 0, 0)
    assert book.find() == [newer]


def test_an_older_row_never_overwrites_a_newer_one(book: PriceBook) -> None:
    newer = an_offer("13")
    book.replace([newer], now=NOW)
    report = book.merge([an_offer("2.5", observed_at=NOW - timedelta(days=30))], now=NOW)
    assert (report.new, report.changed, report.same, report.kept_newer) == (0, 0, 0, 1)
    assert book.find() == [newer]


def test_at_the_same_time_the_later_import_wins(book: PriceBook) -> None:
    book.replace([an_offer("13")], now=NOW)
    assert book.merge([an_offer("14")], now=NOW).changed == 1
    assert prices(book.find()) == ["14"]


def test_a_confirmed_price_gets_its_new_time(book: PriceBook) -> None:
    book.replace([an_offer("13", observed_at=NOW - timedelta(days=9))], now=NOW)
    report = book.merge([an_offer("13.0")], now=NOW)
    assert (report.same, report.changed) == (1, 0)
    assert book.find()[0].observed_at == NOW - timedelta(hours=1)


def test_every_merge_changes_the_revision(book: PriceBook) -> None:
    revisions = {book.revision}
    for _ in range(3):
        revisions.add(book.merge([an_offer()], now=NOW).revision)
    assert len(revisions) == 4
    assert book.revision in revisions


def test_shipped_rows_give_way_to_prices_from_elsewhere(book: PriceBook) -> None:
    def shipped(cloud: str, instance_type: str = "*") -> int:
        return sum(offer.seed for offer in book.find(cloud=cloud, instance_type=instance_type))

    others = shipped(cloud="gcp"), shipped(cloud="aws", instance_type="g*")
    assert [offer.market for offer in book.offers(A100) if offer.cloud == "aws" and offer.seed].count(Market.SPOT) > 3
    report = book.merge([an_offer("20", zone="use1-az9")], now=NOW)
    assert report.shipped_dropped > 3
    spot = [offer for offer in book.offers(("A100-40GB",), markets={Market.SPOT}) if offer.cloud == "aws"]
    assert prices(spot) == ["20"]
    assert (shipped(cloud="gcp"), shipped(cloud="aws", instance_type="g*")) == others


def test_shipped_rows_give_way_also_where_the_accelerator_has_another_name(book: PriceBook) -> None:
    imported = an_offer("98", instance_type="p5.48xlarge", accelerator="H100-80GB", market=Market.ON_DEMAND, zone="z")
    book.merge([imported], now=NOW)
    assert [o.accelerator for o in book.find(instance_type="p5.48xlarge", market=Market.ON_DEMAND)] == ["H100-80GB"]


def test_an_unknown_price_does_not_drive_out_shipped_rows(book: PriceBook) -> None:
    assert book.merge([an_offer(None, zone="use1-az9")], now=NOW).shipped_dropped == 0


def test_a_new_release_brings_its_shipped_rows_but_not_into_imported_prices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "prices.db"
    with PriceBook.open(path) as book:
        book.merge([an_offer("20", zone="use1-az9")], now=NOW)
        before = book.revision
    monkeypatch.setattr("orchestrator.catalog.store.shipped_digest", lambda: "next-release")
    with PriceBook.open(path) as book:
        assert book.revision != before
        spot = book.offers(("A100-40GB",), markets={Market.SPOT})
        assert prices(offer for offer in spot if offer.cloud == "aws") == ["20"]
        assert any(offer.seed for offer in spot if offer.cloud == "azure")


def test_a_replaced_book_stays_without_shipped_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "prices.db"
    with PriceBook.open(path) as book:
        book.replace([an_offer()], now=NOW)
    monkeypatch.setattr("orchestrator.catalog.store.shipped_digest", lambda: "next-release")
    with PriceBook.open(path) as book:
        assert book.find() == [an_offer()]


def test_a_complete_list_removes_what_is_no_longer_sold(book: PriceBook) -> None:
    other = an_offer(zone="c", source="another")
    book.replace([an_offer(zone="a"), an_offer(zone="b"), other], now=NOW)
    assert book.merge([an_offer(zone="a")], now=NOW).gone == 0
    assert book.merge([an_offer(zone="a")], now=NOW, complete=True).gone == 1
    assert {offer.zone for offer in book.find()} == {"a", "c"}


def test_bad_prices_of_an_api_are_kept_out(book: PriceBook) -> None:
    report = book.merge([an_offer("0", zone="a"), an_offer("0.01", zone="b"), an_offer("12", zone="c")], now=NOW)
    assert report.quarantined == {Reason.ZERO_PRICE: 1, Reason.ABSURD_PRICE: 1}
    assert report.new == 1
    assert book.find(region="us-east-1", instance_type="p4d*", market=Market.SPOT)[0].zone == "c"


def test_a_conflicting_pair_of_an_api_is_kept_out(book: PriceBook) -> None:
    book.replace([an_offer("12")], now=NOW)
    report = book.merge([an_offer("11"), an_offer("13")], now=NOW)
    assert report.quarantined == {Reason.CONFLICT: 2}
    assert prices(book.find()) == ["12"]


def test_sources_tell_age_and_kind(book: PriceBook) -> None:
    offers = [an_offer(zone="a"), an_offer(zone="b", observed_at=NOW - timedelta(days=2))]
    book.replace(offers, now=NOW)
    [status] = book.sources()
    assert (status.cloud, status.source, status.seed, status.offers) == ("aws", "test", False, 2)
    assert (status.oldest, status.newest) == (NOW - timedelta(days=2), NOW - timedelta(hours=1))


def test_a_book_id_spans_the_fitting_offers() -> None:
    early, late = NOW - timedelta(days=3), NOW - timedelta(hours=1)
    found = book_id([an_offer(observed_at=late), an_offer(observed_at=early)], "r7")
    assert (found.revision, found.oldest, found.newest) == ("r7", early, late)
    assert book_id([], "r7").oldest is None


def _foreign_database(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")


def _of_the_future(path: Path) -> None:
    PriceBook.open(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")


def _torn(path: Path) -> None:
    PriceBook.open(path).close()
    content = path.read_bytes()
    path.write_bytes(content[:8192] + b"\xaa" * (len(content) - 8192))


def _shortened(path: Path) -> None:
    PriceBook.open(path).close()
    path.write_bytes(path.read_bytes()[:6000])


def _text(path: Path) -> None:
    path.write_text("these are not the prices you are looking for\n" * 100)


@pytest.mark.parametrize("damage", [_foreign_database, _of_the_future, _torn, _shortened, _text])
def test_a_damaged_book_is_one_sentence_and_a_way_out(tmp_path: Path, damage: object) -> None:
    path = tmp_path / "prices.db"
    assert callable(damage)
    damage(path)
    with pytest.raises(StoreDamaged) as caught, PriceBook.open(path) as book:
        book.find()
    assert str(path) in caught.value.message
    assert "\n" not in caught.value.message
    assert f"rm {path}" in caught.value.hint


def test_an_empty_file_becomes_a_book(tmp_path: Path) -> None:
    path = tmp_path / "prices.db"
    path.touch()
    with PriceBook.open(path) as book:
        assert len(book.find()) == len(shipped_offers())


def test_where_no_book_can_be_made_the_shipped_prices_are_shown(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with PriceBook.open(tmp_path / "file" / "prices.db") as book:
        assert book.offers(A100) != []
        assert "shipped prices only" in book.notice
        with pytest.raises(Failure, match="cannot be made"):
            book.merge([an_offer()], now=NOW)


def test_a_folder_in_the_place_of_the_book(tmp_path: Path) -> None:
    (tmp_path / "prices.db").mkdir()
    with PriceBook.open(tmp_path / "prices.db") as book:
        assert book.offers(A100) != []
        assert book.notice
