from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

from orchestrator.catalog.report import Quarantine
from orchestrator.catalog.sanity import price_fault
from orchestrator.catalog.shipped import shipped_offers
from orchestrator.catalog.store import PriceBook
from orchestrator.model.offer import Market, Offer
from orchestrator.profiles.accelerators import canonical
from tests.build import NOW

PUBLISHED = datetime(2026, 11, 30, tzinfo=UTC)


def some(accelerator: str, count: int, **wanted: str) -> list[Offer]:
    return [
        offer
        for offer in shipped_offers()
        if offer.accelerator == accelerator
        and offer.gpu_count == count
        and all(getattr(offer, name) == value for name, value in wanted.items())
    ]


def test_it_is_about_a_hundred_prices_over_six_clouds() -> None:
    clouds = Counter(offer.cloud for offer in shipped_offers())
    assert clouds.keys() == {"aws", "gcp", "azure", "oci", "alibaba", "tencent"}
    assert 100 <= clouds.total() <= 250


def test_every_row_has_a_price_a_date_and_a_source_that_can_be_checked() -> None:
    for offer in shipped_offers():
        assert offer.seed
        assert offer.price_per_hour
        assert "https://" in offer.source
        assert datetime(2022, 1, 1, tzinfo=UTC) <= offer.observed_at <= PUBLISHED
        assert price_fault(offer, PUBLISHED) is None


def test_every_accelerator_is_known_and_every_offer_stands_once() -> None:
    offers = shipped_offers()
    assert all(canonical(offer.accelerator) == offer.accelerator for offer in offers)
    assert len({offer.key for offer in offers}) == len(offers)


def test_it_passes_the_checks_over_the_whole_set(tmp_path: Path) -> None:
    with PriceBook.open(tmp_path / "prices.db") as book:
        report = book.replace(shipped_offers(), now=NOW)
        assert (report.quarantined, report.new) == ({}, len(shipped_offers()))
    assert Quarantine().total == 0


def test_all_profiles_of_accelerators_have_prices() -> None:
    found = {offer.accelerator for offer in shipped_offers()}
    assert found >= {
        "T4",
        "V100-16GB",
        "V100-32GB",
        "A10",
        "A10G",
        "L4",
        "L40S",
        "A100-40GB",
        "A100-80GB",
        "H100-SXM",
        "H100-NVL",
        "H200",
        "B200",
        "MI300X",
    }


def test_a_first_run_has_candidates_and_fallbacks() -> None:
    spot = some("A100-40GB", 8, cloud="aws", market=Market.SPOT)
    assert len({offer.zone for offer in spot}) >= 4
    assert len({offer.region for offer in spot}) >= 3
    for accelerator in ("T4", "L4", "V100-16GB"):
        assert len(some(accelerator, 1, cloud="aws", market=Market.SPOT)) >= 2
    assert len(some("H100-SXM", 8, cloud="aws", market=Market.SPOT)) >= 2
    assert len(some("H100-SXM", 8, cloud="gcp", market=Market.ON_DEMAND)) >= 1


def test_prices_in_yuan_stay_in_yuan() -> None:
    assert {offer.currency for offer in shipped_offers() if offer.cloud == "alibaba"} == {"CNY"}


def test_list_prices_per_gpu_are_taken_times_the_count() -> None:
    [offer] = some("MI300X", 8, cloud="oci", region="us-ashburn-1")
    assert offer.price_per_hour == 6 * 8
    assert offer.price_per_gpu_hour == Decimal(6)
