"""A request resolved into a demand."""

from __future__ import annotations

from dataclasses import fields
from decimal import Decimal
from typing import Any

import pytest

from orchestrator.errors import UsageError
from orchestrator.model.demand import Request, Where
from orchestrator.model.offer import Market
from orchestrator.profiles.resolve import resolve

BOTH = frozenset({Market.SPOT, Market.ON_DEMAND})


def a_request(**changes: Any) -> Request:
    values: dict[str, Any] = {"profile": "a100x8"}
    return Request(**(values | changes))


def test_everything_said_is_in_the_demand() -> None:
    demand = resolve(
        a_request(
            market="Spot",
            clouds=("One", " two* "),
            denied_clouds=("THREE",),
            regions=("US-*", "us-*", ""),
            denied_regions=("*-Gov-*",),
            max_price_per_hour=Decimal("12.50"),
            min_vcpus=Decimal(16),
            min_memory_gib=Decimal(64),
        )
    )
    assert demand.gpu.label == "a100x8"
    assert demand.markets == {Market.SPOT}
    assert demand.where == Where(
        clouds=("one", "two*"), denied_clouds=("three",), regions=("us-*",), denied_regions=("*-gov-*",)
    )
    assert demand.max_price_per_hour == Decimal("12.5")
    assert (demand.min_vcpus, demand.min_memory_gib) == (Decimal(16), Decimal(64))
    assert demand.currency == "USD"


@pytest.mark.parametrize(
    ("word", "markets"),
    [(None, BOTH), ("auto", BOTH), ("spot", {Market.SPOT}), ("on-demand", {Market.ON_DEMAND}), (" AUTO ", BOTH)],
)
def test_market(word: str | None, markets: frozenset[Market]) -> None:
    assert resolve(a_request(market=word)).markets == markets


def test_a_gpu_expression_in_place_of_a_profile() -> None:
    demand = resolve(Request(gpu="A100-80GB:8"))
    assert demand.gpu.accelerators == ("A100-80GB",)


def test_each_value_knows_where_it_came_from() -> None:
    demand = resolve(a_request(market="spot", regions=("us-*",), origins={"market": "--spot", "profile": "job.yaml:3"}))
    assert demand.origins["market"] == "--spot"
    assert demand.origins["profile"] == "job.yaml:3"
    assert demand.origins["regions"] == "request"
    assert demand.origins["max_price_per_hour"] == "default"
    assert set(demand.origins) == {field.name for field in fields(Request)} - {"origins"}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"profile": None}, "no GPU was asked for"),
        ({"profile": "  "}, "no GPU was asked for"),
        ({"gpu": "T4"}, "both"),
        ({"market": "cheap"}, "'cheap' is no market"),
        ({"market": ""}, "is no market"),
        ({"nodes": 2}, "one machine per deployment for now"),
        ({"nodes": 0}, "one machine per deployment for now"),
        ({"max_price_per_hour": Decimal(0)}, "0 is no price cap"),
        ({"max_price_per_hour": Decimal("-1")}, "-1 is no price cap"),
        ({"max_price_per_hour": Decimal("NaN")}, "NaN is no price cap"),
        ({"max_price_per_hour": Decimal("sNaN")}, "sNaN is no price cap"),
        ({"max_price_per_hour": Decimal("Infinity")}, "Infinity is no price cap"),
        ({"min_vcpus": Decimal(-4)}, "-4 is no number of vCPU"),
        ({"min_memory_gib": Decimal(0)}, "0 is no memory in GiB"),
        ({"profile": "a100x80"}, "80 accelerators"),
    ],
)
def test_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        resolve(a_request(**changes))
    assert said in str(caught.value)
    assert caught.value.hint


def test_a_refusal_names_the_origin() -> None:
    with pytest.raises(UsageError, match=r"\(job\.yaml:7\)"):
        resolve(a_request(max_price_per_hour=Decimal(-3), origins={"max_price_per_hour": "job.yaml:7"}))
