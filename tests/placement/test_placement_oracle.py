"""Placement against brute force, over random books, demands, caps, denials, currencies and cool-downs."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import NoOffer
from orchestrator.model.demand import Demand, Where
from orchestrator.model.failure import CoolDown, FailureKind
from orchestrator.model.offer import Market, Offer
from orchestrator.placement.choose import Context, place, rank
from orchestrator.placement.filters import FILTERS
from tests.build import NOW, a_demand, a_need, an_offer
from tests.placement.build_placement import a_context, fits, oracle

PLACES = (
    ("aws", "us-east-1", "us-east-1a"),
    ("aws", "us-east-1", "us-east-1b"),
    ("aws", "eu-west-1", ""),
    ("gcp", "us-central1", "us-central1-a"),
    ("gcp", "europe-west4", "europe-west4-b"),
    ("elsewhere", "us-east", ""),
)
REGION_GLOBS = ("us-east-1", "us-*", "*1a", "*-1", "europe-west4-b", "*", "us-east-1a")
# Few prices and sizes, so that ties of every depth come up; what drops an offer is rare, so that several are left.
PRICES = ("1", "1.00", "2", "2.5", "2.5", "7", "7.00001", "19", None)
SIZES = (None, Decimal(32), Decimal(64))
KINDS = (*(("A100-40GB", 40), ("A100-80GB", 80)) * 4, ("A100-80GB", None), ("T4", 16), ("", None))
Case = tuple[Demand, list[Offer], Context]


def a_random_case(seed: int) -> Case:
    """Everything from one number: Hypothesis draws numbers, a plain generator keeps the books large and varied."""
    chance = random.Random(seed)
    offers = {offer.key: offer for offer in (_offer(chance) for _ in range(chance.randrange(150)))}
    return _demand(chance), list(offers.values()), _context(chance)


def _offer(chance: random.Random) -> Offer:
    cloud, region, zone = chance.choice(PLACES)
    name, memory = chance.choice(KINDS)
    return an_offer(
        chance.choice(PRICES),
        cloud=cloud,
        region=region,
        zone=zone,
        instance_type=chance.choice(("big", "small", "wide", "flat", "tall", "long")),
        accelerator=name,
        gpu_count=chance.choice((Decimal(8), Decimal("8.0"), Decimal(8), Decimal(4))),
        gpu_memory_gib=None if memory is None else Decimal(memory),
        vcpus=chance.choice(SIZES),
        memory_gib=chance.choice(SIZES),
        market=chance.choice((*(Market.SPOT, Market.ON_DEMAND) * 5, Market.SUBSCRIPTION_MONTHLY)),
        currency=chance.choice((*("USD",) * 6, "CNY", "JPY")),
        available=chance.choice((True, None, None, None, False)),
        observed_at=NOW - timedelta(hours=chance.randint(-1, 5)),
    )


def _demand(chance: random.Random) -> Demand:
    def rarely(value: Any) -> Any:
        return value if chance.random() < 0.1 else None

    def some(*globs: str) -> tuple[str, ...]:
        return tuple(chance.sample(globs, chance.randint(1, 2))) if chance.random() < 0.12 else ()

    both = ("A100-40GB", "A100-80GB")
    return a_demand(
        gpu=a_need(accelerators=chance.choice((both, both, both, ("A100-80GB",))), min_memory_gib=rarely(Decimal(80))),
        markets=frozenset(chance.choice(((Market.SPOT,), (Market.ON_DEMAND,), tuple(Market)))),
        where=Where(
            clouds=some("aws", "gcp", "*", "a*", "*p"),
            denied_clouds=some("aws", "a*", "nowhere"),
            regions=some(*REGION_GLOBS),
            denied_regions=some(*REGION_GLOBS),
        ),
        max_price_per_hour=chance.choice((None, None, Decimal(1), Decimal("2.5"), Decimal(7))),
        min_vcpus=rarely(Decimal(64)),
        min_memory_gib=rarely(Decimal(33)),
        max_price_age=rarely(timedelta(hours=3)),
    )


def _context(chance: random.Random) -> Context:
    return a_context(
        cool_downs=tuple(_cool_down(chance) for _ in range(chance.randrange(4))),
        rates=chance.choice(({}, {"CNY": Decimal("0.14")}, {"CNY": Decimal("0.5"), "JPY": Decimal("0.0067")})),
        include_foreign=chance.random() < 0.5,
        not_set_up={"gcp": "no credentials"} if chance.random() < 0.1 else {},
    )


def _cool_down(chance: random.Random) -> CoolDown:
    cloud, region, zone = chance.choice(PLACES)
    return CoolDown(
        cloud=cloud,
        region=chance.choice((None, region, region, region)),
        zone=chance.choice((None, zone)),
        instance_type=chance.choice((None, "big", "small", "tall")),
        market=chance.choice((None, *Market)),
        kind=chance.choice(list(FailureKind)),
        reason="told so",
        since=NOW - timedelta(hours=1),
        until=NOW + timedelta(minutes=chance.choice((-5, 0, 5, 30))),
    )


cases = st.integers(0, 2**32 - 1).map(a_random_case)


def test_the_random_cases_are_worth_the_name() -> None:
    """Most leave several offers to order, many leave none, and every filter bites."""
    rankings = [rank(*a_random_case(seed)) for seed in range(400)]
    assert sum(len(ranking.fitting) > 2 for ranking in rankings) > 120
    assert sum(not ranking.fitting for ranking in rankings) > 60
    assert {one.filter for ranking in rankings for one in ranking.rejected} == set(FILTERS)
    ties = sum(
        one.price_per_hour == other.price_per_hour
        for ranking in rankings
        for one, other in zip(ranking.fitting, ranking.fitting[1:], strict=False)
    )
    assert ties > 200


@given(case=cases)
def test_rank_is_what_brute_force_finds(case: Case) -> None:
    demand, book, context = case
    assert list(rank(demand, book, context).fitting) == oracle(demand, book, context)


@given(case=cases)
def test_every_offer_is_fitting_or_rejected_once(case: Case) -> None:
    demand, book, context = case
    ranking = rank(demand, book, context)
    assert Counter([*ranking.fitting, *(one.offer for one in ranking.rejected)]) == Counter(book)
    assert all(one.filter in FILTERS and one.reason for one in ranking.rejected)


@given(case=cases)
def test_place_takes_the_best_and_keeps_the_rest_as_fallbacks(case: Case) -> None:
    demand, book, context = case
    expected = oracle(demand, book, replace(context, include_foreign=False))
    try:
        placement = place(demand, book, context)
    except NoOffer as error:
        assert not expected
        assert len(error.rejected) == len(book)
        assert str(error) and error.hint and "\n" not in str(error)
        return
    assert list(placement.candidates) == expected
    assert all(offer.cloud in context.modules for offer in placement.candidates)
    assert placement.reasons and all(placement.reasons)
    assert placement.price_book.oldest == min(offer.observed_at for offer in expected)
    assert placement.price_book.newest == max(offer.observed_at for offer in expected)
    assert placement.decided_at == context.now


@given(case=cases, seed=st.integers(0, 9))
def test_the_order_of_the_book_changes_nothing(case: Case, seed: int) -> None:
    demand, book, context = case
    shuffled = list(book)
    random.Random(seed).shuffle(shuffled)
    assert rank(demand, shuffled, context).fitting == rank(demand, book, context).fitting


@given(case=cases, cap=st.sampled_from((Decimal(1), Decimal("2.5"), Decimal(7))))
def test_cap_and_sort_hold_for_every_fallback(case: Case, cap: Decimal) -> None:
    _, book, context = case
    rates = {"USD": Decimal(1), **context.rates}
    demand = a_demand(markets=frozenset(Market), max_price_per_hour=cap)
    prices = [
        offer.price_per_hour * rates[offer.currency]
        for offer in rank(demand, book, context).fitting
        if offer.price_per_hour is not None
    ]
    assert prices == sorted(prices)
    assert all(price <= cap for price in prices)


@pytest.mark.parametrize("name", sorted(FILTERS))
def test_the_oracle_knows_every_filter(name: str) -> None:
    by_filter: dict[str, tuple[Offer, dict[str, Any]]] = {
        "accelerator": (an_offer(accelerator="T4"), {}),
        "gpu-count": (an_offer(gpu_count=Decimal(4)), {}),
        "gpu-memory": (an_offer(), {"gpu": a_need(min_memory_gib=Decimal(80))}),
        "vcpus": (an_offer(vcpus=None), {"min_vcpus": Decimal(1)}),
        "memory": (an_offer(memory_gib=Decimal(1)), {"min_memory_gib": Decimal(2)}),
        "market": (an_offer(market=Market.ON_DEMAND), {}),
        "cloud": (an_offer(), {"where": Where(clouds=("gcp",))}),
        "denied-cloud": (an_offer(), {"where": Where(denied_clouds=("a*",))}),
        "region": (an_offer(), {"where": Where(regions=("eu-*",))}),
        "denied-region": (an_offer(), {"where": Where(denied_regions=("us-east-1a",))}),
        "no-module": (an_offer(cloud="elsewhere"), {}),
        "unknown-price": (an_offer(None), {}),
        "currency": (an_offer(currency="CNY"), {}),
        "price-cap": (an_offer("12.50"), {"max_price_per_hour": Decimal("12.49")}),
        "unavailable": (an_offer(available=False), {}),
        "price-age": (an_offer(observed_at=NOW - timedelta(days=9)), {"max_price_age": timedelta(days=7)}),
        "cool-down": (an_offer(), {}),
        "not-set-up": (an_offer(cloud="gcp"), {}),
    }
    offer, asked = by_filter[name]
    cool_downs = (
        (CoolDown(cloud="aws", kind=FailureKind.QUOTA, reason="x", since=NOW, until=NOW + timedelta(hours=1)),)
        if name == "cool-down"
        else ()
    )
    demand, context = a_demand(**asked), a_context(cool_downs=cool_downs, not_set_up={"gcp": "no credentials"})
    assert [one.filter for one in rank(demand, [offer], context).rejected] == [name]
    assert not fits(demand, offer, context)
