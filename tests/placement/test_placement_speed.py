"""Time limits, several times what is needed, on a book of the size of a real one."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from orchestrator.model.demand import Where
from orchestrator.model.failure import CoolDown, Failure, FailureKind, Scope
from orchestrator.model.offer import Market, Offer
from orchestrator.placement.choose import CoolDownIndex, place, rank, still_fits
from tests.build import NOW, a_demand, an_offer
from tests.placement.build_placement import a_context

FAILED = Failure(
    kind=FailureKind.CAPACITY, scope=Scope.OFFER, cool_down=timedelta(minutes=30), reason="InsufficientInstanceCapacity"
)


def a_book(size: int) -> list[Offer]:
    """Machines in 20 regions of 5 zones; every fourth has the accelerators."""
    template = an_offer()
    return [
        replace(
            template,
            region=f"region-{number % 20}",
            zone=f"region-{number % 20}{'abcde'[number % 5]}",
            instance_type=f"type-{number // 100}",
            accelerator=("", "A100-40GB", "T4", "V100-16GB")[number % 4],
            market=Market.SPOT if number % 3 else Market.ON_DEMAND,
            price_per_hour=Decimal(number * 7919 % 9973 + 1) / 100,
        )
        for number in range(size)
    ]


def seconds(work: object) -> float:
    assert callable(work)
    started = time.process_time()
    work()
    return time.process_time() - started


def test_ranking_five_thousand_offers() -> None:
    book = a_book(5_000)
    demand = a_demand(max_price_per_hour=Decimal(60), where=Where(regions=("region-1*",), denied_regions=("*e",)))
    cool_downs = tuple(filter(None, (CoolDown.after(FAILED, offer, NOW) for offer in book[:1_000])))
    context = a_context(cool_downs=cool_downs)
    assert rank(demand, book, context).fitting
    assert min(seconds(lambda: rank(demand, book, context)) for _ in range(3)) < 0.2


@pytest.mark.slow
def test_ranking_a_whole_book() -> None:
    book = a_book(110_000)
    assert seconds(lambda: place(a_demand(), book, a_context())) < 4


def test_a_walk_down_a_thousand_failing_candidates() -> None:
    book = [replace(offer, instance_type=f"type-{number}") for number, offer in enumerate(a_book(1_000))]
    index = CoolDownIndex()

    def walk() -> None:
        for offer in book:
            assert still_fits(offer, index, NOW) is None
            cool_down = CoolDown.after(FAILED, offer, NOW)
            assert cool_down is not None
            index.add(cool_down)

    assert seconds(walk) < 0.5
    assert all(still_fits(offer, index, NOW) for offer in book)
