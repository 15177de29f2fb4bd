"""The choice, its fallbacks and its reasons, case by case."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from orchestrator.errors import NoOffer
from orchestrator.model.demand import Demand, Request, Where
from orchestrator.model.failure import FailureKind
from orchestrator.model.offer import Market, Offer
from orchestrator.placement.choose import Context, CoolDownIndex, place, rank, share_of_on_demand, still_fits
from orchestrator.profiles.resolve import resolve
from tests.build import NOW, a_demand, an_offer
from tests.placement.build_placement import a_context, a_cool_down


def why_not(offer: Offer, context: Context | None = None, **asked: Any) -> str:
    (only,) = rank(a_demand(**asked), [offer], context or a_context()).rejected
    return only.reason


def forty(price: str, **changes: Any) -> Offer:
    return an_offer(price, **changes)


def eighty(price: str, **changes: Any) -> Offer:
    values: dict[str, Any] = {
        "instance_type": "p4de.24xlarge",
        "accelerator": "A100-80GB",
        "gpu_memory_gib": Decimal(80),
    }
    return an_offer(price, **(values | changes))


def demand_of(**request: Any) -> Demand:
    return resolve(Request(**request))


def test_a_family_takes_the_cheaper_member() -> None:
    demand = demand_of(profile="a100x8", market="spot")
    assert place(demand, [forty("12.50"), eighty("12.40")], a_context()).chosen.accelerator == "A100-80GB"
    assert place(demand, [forty("12.50"), eighty("12.60")], a_context()).chosen.accelerator == "A100-40GB"


def test_a_full_name_takes_only_itself() -> None:
    placement = place(demand_of(profile="a100-80x8"), [forty("1"), eighty("20")], a_context())
    assert [offer.accelerator for offer in placement.candidates] == ["A100-80GB"]


def test_an_unstated_form_is_no_stated_one() -> None:
    plain, sxm = an_offer("30", accelerator="H100-80GB"), an_offer("31", accelerator="H100-SXM", instance_type="x")
    assert place(demand_of(profile="h100x8"), [sxm, plain], a_context()).candidates == (plain, sxm)
    assert place(demand_of(profile="h100-sxmx8"), [sxm, plain], a_context()).candidates == (sxm,)


def test_ties_go_to_gpu_memory_then_memory_then_vcpus_then_the_fixed_order() -> None:
    same = "12.50"
    in_order = [
        eighty("12.5", memory_gib=Decimal(1), vcpus=Decimal(1), zone="us-east-1z"),
        forty(same, memory_gib=Decimal(2000), vcpus=Decimal(1), zone="us-east-1y"),
        forty("12.500", memory_gib=Decimal(1000), vcpus=Decimal(128), zone="us-east-1x"),
        forty(same, memory_gib=Decimal(1000), vcpus=Decimal(96), region="ap-south-1", zone="ap-south-1a"),
        forty(same, memory_gib=Decimal(1000), vcpus=Decimal(96), zone="us-east-1a"),
        forty(same, memory_gib=Decimal(1000), vcpus=Decimal(96), zone="us-east-1b", instance_type="a"),
        forty(same, memory_gib=Decimal(1000), vcpus=Decimal(96), zone="us-east-1b", instance_type="b"),
        forty(same, memory_gib=Decimal(1000), vcpus=None, zone="us-east-1c"),
        forty(same, memory_gib=None, vcpus=Decimal(512), zone="us-east-1c", instance_type="x"),
    ]
    assert list(rank(a_demand(), reversed(in_order), a_context()).fitting) == in_order


def test_fallbacks_are_other_zones_types_regions_and_markets() -> None:
    offers = [
        forty("12.50"),
        forty("13", zone="us-east-1b"),
        eighty("14"),
        forty("15", cloud="gcp", region="us-central1", zone="us-central1-a", instance_type="a2-highgpu-8g"),
        forty("32.77", market=Market.ON_DEMAND),
    ]
    placement = place(demand_of(profile="a100x8"), list(reversed(offers)), a_context())
    assert list(placement.candidates) == offers


def test_a_region_glob_is_held_against_region_and_zone() -> None:
    zonal, other = forty("10"), forty("11", region="eu-west-1", zone="eu-west-1a")
    for globs, left in [
        (("US-EAST-1a",), [zonal]),
        (("us-*",), [zonal]),
        (("*west-*",), [other]),
        (("*1a",), [zonal, other]),
    ]:
        ranking = rank(a_demand(where=Where(regions=globs)), [zonal, other], a_context())
        assert list(ranking.fitting) == left
    assert not rank(a_demand(where=Where(denied_regions=("*a",))), [zonal, other], a_context()).fitting


def test_a_denial_beats_an_allowance() -> None:
    where = Where(clouds=("aws",), denied_clouds=("a*",))
    assert "denied (by a*)" in why_not(forty("10"), where=where)


def test_foreign_clouds_are_listed_on_demand_and_never_taken() -> None:
    foreign, own = forty("1", cloud="elsewhere"), forty("20")
    assert rank(a_demand(), [foreign, own], a_context()).fitting == (own,)
    assert rank(a_demand(), [foreign, own], a_context(include_foreign=True)).fitting == (foreign, own)
    assert place(a_demand(), [foreign, own], a_context(include_foreign=True)).candidates == (own,)


def test_prices_of_other_currencies_are_compared_at_the_rate() -> None:
    yuan, dollars = forty("80", currency="CNY", zone="us-east-1b"), forty("12.50")
    rates = {"CNY": Decimal("0.14")}
    assert rank(a_demand(), [dollars, yuan], a_context(rates=rates)).fitting == (yuan, dollars)
    assert rank(a_demand(), [dollars, yuan], a_context()).fitting == (dollars,)
    assert "exchange_rates.CNY" in why_not(yuan)
    capped = why_not(yuan, a_context(rates=rates), max_price_per_hour=Decimal(10))
    assert capped == "$11.20/h (80 CNY/h) is over the cap of $10.00/h"


@pytest.mark.parametrize("price", ["0", "-1", "NaN", "Infinity"])
def test_a_price_that_is_none_never_wins(price: str) -> None:
    assert "which is no price" in why_not(forty(price))


@pytest.mark.parametrize(
    ("changes", "asked", "reason"),
    [
        ({"accelerator": "T4"}, {}, "it has T4; a100x8 takes A100-40GB or A100-80GB"),
        ({"accelerator": ""}, {}, "it has no accelerator; a100x8 takes A100-40GB or A100-80GB"),
        ({"gpu_count": Decimal(4)}, {}, "it has 4 GPU(s); 8 are asked for"),
        ({"vcpus": Decimal(8)}, {"min_vcpus": Decimal(16)}, "it has 8 vCPU; at least 16 are asked for"),
        ({"vcpus": None}, {"min_vcpus": Decimal(16)}, "how many vCPU it has is not known; at least 16 are asked for"),
        ({}, {"min_memory_gib": Decimal(2000)}, "it has 1,152 GiB of memory; at least 2,000 are asked for"),
        ({"market": Market.ON_DEMAND}, {}, "it is on-demand; only spot is asked for"),
        (
            {},
            {"where": Where(clouds=("gcp", "oci"))},
            "cloud aws is not among the allowed ones (gcp, oci)",
        ),
        (
            {},
            {"where": Where(regions=("eu-*",))},
            "zone us-east-1a of us-east-1 is not among the allowed regions (eu-*)",
        ),
        ({"zone": ""}, {"where": Where(denied_regions=("us-*",))}, "region us-east-1 is denied (by us-*)"),
        ({"available": False}, {}, "test said at 11:00 UTC that it is not available"),
        ({"price_per_hour": None}, {}, "test states no price for it"),
        ({}, {"max_price_per_hour": Decimal(10)}, "$12.50/h is over the cap of $10.00/h"),
        (
            {"price_per_hour": Decimal("10.00001")},
            {"max_price_per_hour": Decimal(10)},
            "10.00001 USD/h is over the cap of 10 USD/h",
        ),
        (
            {"observed_at": NOW - timedelta(days=9, hours=4)},
            {"max_price_age": timedelta(days=7)},
            "its price is 9 d 4 h old; 7 d is the most that is allowed",
        ),
        (
            {"cloud": "elsewhere"},
            {},
            "gpuorch has no Terraform module for elsewhere: it can be listed (--all-providers) but not chosen",
        ),
    ],
)
def test_reasons_are_sentences_with_figures(changes: dict[str, Any], asked: dict[str, Any], reason: str) -> None:
    assert why_not(an_offer(**changes), **asked) == reason


def test_a_price_at_the_cap_and_an_age_at_the_limit_fit() -> None:
    demand = a_demand(max_price_per_hour=Decimal("12.50"), max_price_age=timedelta(hours=1))
    assert rank(demand, [an_offer("12.5")], a_context()).fitting


def test_a_cool_down_says_what_happened_and_until_when() -> None:
    context = a_context(cool_downs=(a_cool_down(),))
    assert why_not(an_offer(), context) == (
        "no capacity here at 11:58 UTC (InsufficientInstanceCapacity); tried again after 12:28 UTC"
    )
    long = a_cool_down(kind=FailureKind.QUOTA, reason="a\n b" + "c" * 500, until=NOW + timedelta(days=1))
    said = why_not(an_offer(), a_context(cool_downs=(a_cool_down(), long)))
    assert said.startswith("no quota for it at 11:58 UTC (a bccc") and said.endswith("after 2026-12-01 12:00 UTC")
    assert len(said) < 220 and "\n" not in said


def test_a_cool_down_ends_and_reaches_no_further_than_it_says() -> None:
    over = a_context(now=NOW + timedelta(minutes=28), cool_downs=(a_cool_down(),))
    assert rank(a_demand(), [an_offer()], over).fitting
    now = a_context(cool_downs=(a_cool_down(),))
    assert rank(a_demand(), [an_offer(zone="us-east-1b")], now).fitting


def test_still_fits_learns_on_the_way() -> None:
    index = CoolDownIndex()
    offer, sibling = an_offer(), an_offer(zone="us-east-1b")
    assert still_fits(offer, index, NOW) is None
    shorter = a_cool_down(until=NOW + timedelta(minutes=1))
    for cool_down in (a_cool_down(), shorter):
        index.add(cool_down)
    assert still_fits(offer, index, NOW) == a_cool_down()
    assert still_fits(offer, [a_cool_down()], NOW) == a_cool_down()
    assert still_fits(sibling, index, NOW) is None
    wide = a_cool_down(zone=None, instance_type=None, until=NOW + timedelta(hours=2))
    index.add(wide)
    assert still_fits(sibling, index, NOW) == still_fits(offer, index, NOW) == wide
    assert still_fits(offer, index, NOW + timedelta(hours=3)) is None


def test_the_choice_is_explained() -> None:
    offers = [
        forty("12.50"),
        forty("13.00", zone="us-east-1b"),
        forty("32.7726", market=Market.ON_DEMAND),
        forty("11", zone="us-east-1c", available=False),
        forty("10", zone="us-east-1d", available=False),
        an_offer("3", accelerator="T4"),
    ]
    assert place(a_demand(), offers, a_context()).reasons == (
        "aws us-east-1a p4d.24xlarge spot at $12.50/h is the cheapest of 2 offers that fit a100x8; "
        "the next, aws us-east-1b p4d.24xlarge spot, is $0.50/h (4 %) dearer",
        "its price is 62 % below the on-demand price of the same machine there, $32.7726/h",
        "2 cheaper offers were left out, the cheapest being aws us-east-1d p4d.24xlarge spot at $10.00/h: "
        "test said at 11:00 UTC that it is not available",
        "4 other offers were dropped: 1 by accelerator, 1 by market, 2 by unavailable",
    )


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"gpu_memory_gib": Decimal(20)},
            "more GPU memory than aws us-east-1b p4d.24xlarge spot (320 against 160 GiB)",
        ),
        ({"memory_gib": None}, "more memory than aws us-east-1b p4d.24xlarge spot (1,152 against 0 GiB)"),
        ({"vcpus": Decimal(64)}, "more vCPU than aws us-east-1b p4d.24xlarge spot (96 against 64)"),
        ({}, "the fixed order of cloud, region, zone, type and market, being equal in all else"),
    ],
)
def test_a_tie_is_explained(changes: dict[str, Any], said: str) -> None:
    placement = place(a_demand(), [forty("12.50"), forty("12.50", zone="us-east-1b", **changes)], a_context())
    assert placement.reasons[0].endswith(f"2 cost the same, and it was put first for {said}")


def test_the_only_offer_is_said_to_be_the_only_one() -> None:
    (reason,) = place(a_demand(), [forty("12.50")], a_context()).reasons
    assert "is the only offer that fits a100x8; there is no fallback" in reason


@pytest.mark.parametrize(
    ("offers", "asked", "said", "hint"),
    [
        ([], {}, "the price book has none with A100-40GB or A100-80GB", "prices import"),
        ([an_offer(accelerator="T4")], {}, "it has T4", "gpuorch profiles"),
        ([an_offer(gpu_count=Decimal(4)), an_offer(gpu_count=Decimal(1))], {}, "8 are asked", "come with 1, 4"),
        ([an_offer(market=Market.ON_DEMAND)], {}, "it is on-demand", "--market auto"),
        (
            [an_offer("14", zone="us-east-1b"), an_offer("12.5011"), an_offer(accelerator="T4")],
            {"max_price_per_hour": Decimal(10)},
            "the nearest of 3 offers is aws us-east-1a p4d.24xlarge spot, but $12.5011/h is over the cap of $10.00/h "
            "(dropped: 1 by accelerator, 2 by price-cap)",
            "--max-price 12.51 would take it",
        ),
        ([an_offer(currency="CNY")], {}, "no exchange rate", "set exchange_rates.CNY"),
        ([an_offer(cloud="elsewhere")], {}, "no Terraform module", "made in: aws, gcp"),
        ([an_offer(None)], {}, "states no price", "prices import"),
        ([an_offer()], {"where": Where(denied_regions=("us-*",))}, "is denied", "denial"),
    ],
)
def test_nothing_fits(offers: list[Offer], asked: dict[str, Any], said: str, hint: str) -> None:
    with pytest.raises(NoOffer) as caught:
        place(a_demand(**asked), offers, a_context())
    assert said in str(caught.value) and "no offer fits a100x8 (spot)" in str(caught.value)
    assert hint in caught.value.hint
    assert [one.offer for one in caught.value.rejected] == offers
    assert caught.value.exit_code == 3


def test_when_all_cool_down_the_first_end_is_told() -> None:
    offers = [an_offer(), an_offer(zone="us-east-1b")]
    soon = a_cool_down(zone="us-east-1b", until=NOW + timedelta(minutes=5))
    with pytest.raises(NoOffer) as caught:
        place(a_demand(), offers, a_context(cool_downs=(a_cool_down(), soon)))
    assert "no capacity here" in str(caught.value)
    assert "after 12:05 UTC" in caught.value.hint


def test_the_same_inputs_give_the_same_placement() -> None:
    offers = [forty("12.50", zone=f"us-east-1{letter}") for letter in "fbdace"]
    first = place(a_demand(), offers, a_context())
    again = place(a_demand(), sorted(offers, key=lambda offer: offer.zone), a_context())
    assert first == again
    assert first.price_book == replace(a_context().book, oldest=offers[0].observed_at, newest=offers[0].observed_at)


def test_share_of_on_demand() -> None:
    spot = forty("10")
    region_wide, in_zone = (
        forty("30", zone="", market=Market.ON_DEMAND),
        forty("40", market=Market.ON_DEMAND),
    )
    elsewhere = forty("20", zone="us-east-1c", market=Market.ON_DEMAND)
    unrelated = [
        forty("5", region="eu-west-1", market=Market.ON_DEMAND),
        forty("5", instance_type="other", market=Market.ON_DEMAND),
        forty("5", currency="CNY", market=Market.ON_DEMAND),
        forty("5", cloud="gcp", market=Market.ON_DEMAND),
    ]
    assert share_of_on_demand([spot, in_zone, region_wide, elsewhere, *unrelated]) == {spot.key: Decimal("0.25")}
    assert share_of_on_demand([spot, region_wide, elsewhere]) == {spot.key: Decimal(10) / Decimal(30)}
    assert share_of_on_demand([spot, elsewhere]) == {spot.key: Decimal("0.5")}
    assert share_of_on_demand([spot, forty("1", price_per_hour=None), *unrelated]) == {}
