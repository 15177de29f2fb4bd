from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest

from orchestrator.catalog.report import Fault, Reason
from orchestrator.catalog.sanity import RawRow, judge, price_fault
from orchestrator.model.offer import Market, Offer
from tests.build import NOW, an_offer
from tests.catalog.build_catalog import a_raw_row


def judged(row: RawRow) -> Offer | Fault:
    return judge(row, observed_at=NOW - timedelta(hours=1), now=NOW)


def test_a_good_row_becomes_the_offer_that_it_describes() -> None:
    assert judged(a_raw_row()) == an_offer("12.5", zone="use1-az1")


CORRUPTIONS = {
    "zero price": ({"price": "0.0"}, Reason.ZERO_PRICE),
    "zero with exponent": ({"price": "0e5"}, Reason.ZERO_PRICE),
    "negative price": ({"price": "-5.0"}, Reason.NEGATIVE_PRICE),
    "NaN": ({"price": "NaN"}, Reason.NOT_A_NUMBER),
    "infinite": ({"price": "inf"}, Reason.NOT_A_NUMBER),
    "words": ({"price": "cheap"}, Reason.NOT_A_NUMBER),
    "thousands separator": ({"price": "1,250.0"}, Reason.NOT_A_NUMBER),
    "dollar sign": ({"price": "$12.5"}, Reason.NOT_A_NUMBER),
    "underscore": ({"price": "1_2.5"}, Reason.NOT_A_NUMBER),
    "other digits": ({"price": "١٢"}, Reason.NOT_A_NUMBER),
    "exponent bomb": ({"price": "1e999999999"}, Reason.NOT_A_NUMBER),
    "endless number": ({"price": "1" * 500}, Reason.NOT_A_NUMBER),
    "no currency": ({"currency": " "}, Reason.NO_CURRENCY),
    "unknown currency": ({"currency": "XYZ"}, Reason.UNKNOWN_CURRENCY),
    "currency sign": ({"currency": "$"}, Reason.UNKNOWN_CURRENCY),
    "a hundred times too dear": ({"price": "1250"}, Reason.ABSURD_PRICE),
    "a hundred times too cheap": ({"price": "0.125"}, Reason.ABSURD_PRICE),
    "per GPU instead of per machine, in cents": ({"price": "0.02"}, Reason.ABSURD_PRICE),
    "absurd in any currency": ({"price": "9e12", "currency": "VND"}, Reason.ABSURD_PRICE),
    "accelerator but count 0": ({"gpu_count": "0"}, Reason.GPU_COUNT),
    "accelerator but no count": ({"gpu_count": ""}, Reason.GPU_COUNT),
    "negative count": ({"gpu_count": "-8"}, Reason.GPU_COUNT),
    "count NaN": ({"gpu_count": "nan"}, Reason.NOT_A_NUMBER),
    "count 17": ({"gpu_count": "17"}, Reason.GPU_COUNT),
    "one and a half accelerators": ({"gpu_count": "1.5"}, Reason.GPU_COUNT),
    "accelerators without a name": ({"gpu": ""}, Reason.GPU_NAME),
    "a slice sold as a whole": (
        {"gpu": "A10", "gpu_count": "1", "gpu_memory_gib": "4", "price": "1"},
        Reason.GPU_MEMORY,
    ),
    "name contradicts memory": ({"gpu": "A100-80GB", "gpu_memory_gib": "40"}, Reason.GPU_MEMORY),
    "no cloud": ({"cloud": ""}, Reason.MISSING_FIELD),
    "no region": ({"region": "  "}, Reason.MISSING_FIELD),
    "no instance type": ({"instance_type": ""}, Reason.MISSING_FIELD),
    "unknown market": ({"market": "maybe"}, Reason.MARKET),
    "no market": ({"market": ""}, Reason.MARKET),
    "negative memory": ({"memory_gib": "-4"}, Reason.MACHINE_SIZE),
    "memory in words": ({"memory_gib": "lots"}, Reason.NOT_A_NUMBER),
    "observed tomorrow": ({"observed_at": "2026-12-02T00:00:00Z"}, Reason.FUTURE_TIME),
    "time in words": ({"observed_at": "yesterday"}, Reason.TIME),
    "31 February": ({"observed_at": "2026-02-31"}, Reason.TIME),
    "time at the edge of the calendar": ({"observed_at": "0001-01-01T00:00:00+14:00"}, Reason.TIME),
    "control characters": ({"region": "us-\x1b[31meast"}, Reason.BAD_TEXT),
    "line break in a name": ({"instance_type": "p4d\n24xlarge"}, Reason.BAD_TEXT),
    "right-to-left override": ({"zone": "use1\u202eaz1"}, Reason.BAD_TEXT),
    "over-long name": ({"instance_type": "p" * 101}, Reason.BAD_TEXT),
    "cloud's name with a slash": ({"cloud": "../aws"}, Reason.BAD_TEXT),
}


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_a_corrupt_row_is_kept_out_for_its_reason(name: str) -> None:
    changes, reason = CORRUPTIONS[name]
    outcome = judged(a_raw_row(**changes))
    assert isinstance(outcome, Fault)
    assert outcome.reason is reason
    assert outcome.sentence.isprintable()
    assert len(outcome.sentence) < 300


GOOD = {
    "scientific notation": {"price": "1.25e1"},
    "usable memory below nominal": {"gpu": "A10G", "gpu_count": "1", "gpu_memory_gib": "22.35", "price": "1"},
    "lower-case currency": {"currency": "usd"},
    "another currency is not held to the band": {"price": "280", "currency": "CNY"},
    "a sixth of an accelerator": {"gpu": "A10", "gpu_count": "0.167", "gpu_memory_gib": "4", "price": "0.454"},
    "no zone": {"zone": ""},
    "no sizes": {"vcpus": "", "memory_gib": "", "gpu_memory_gib": ""},
    "a slow clock": {"observed_at": "2026-12-01T06:00:00Z"},
    "a day as time": {"observed_at": "2026-01-05"},
    "underscored market": {"market": "On_Demand"},
}


@pytest.mark.parametrize("name", GOOD)
def test_an_unusual_but_good_row_passes(name: str) -> None:
    assert isinstance(judged(a_raw_row(**GOOD[name])), Offer)


def test_a_machine_without_accelerator_is_kept() -> None:
    offer = judged(a_raw_row(gpu="", gpu_count="", gpu_memory_gib="", price="0.002"))
    assert isinstance(offer, Offer)
    assert (offer.accelerator, offer.gpu_count, offer.gpu_memory_gib) == ("", Decimal(0), None)


def test_an_unknown_accelerator_keeps_its_own_name() -> None:
    offer = judged(a_raw_row(gpu="Wonder 9000", gpu_count="1", gpu_memory_gib="640", price="0.0001"))
    assert isinstance(offer, Offer)
    assert (offer.accelerator, offer.gpu_memory_gib) == ("Wonder 9000", Decimal(640))


def test_the_memory_settles_which_member_of_a_family_it_is() -> None:
    offer = judged(a_raw_row(gpu="A100", gpu_memory_gib="80"))
    assert isinstance(offer, Offer)
    assert offer.accelerator == "A100-80GB"


def test_a_tpu_type_counts_its_chips() -> None:
    offer = judged(a_raw_row(cloud="gcp", gpu="tpu-v3-8", gpu_count="1", gpu_memory_gib="", price="8"))
    assert isinstance(offer, Offer)
    assert (offer.accelerator, offer.gpu_count) == ("TPU-v3", Decimal(4))


def test_a_machine_type_with_accelerators_attached_is_told_from_the_bare_one() -> None:
    changes = {"cloud": "gcp", "instance_type": "n1-standard-8", "price": "1"}
    bare = judged(a_raw_row(gpu="", gpu_count="", gpu_memory_gib="", **changes))
    attached = judged(a_raw_row(gpu="T4", gpu_count="1.0", gpu_memory_gib="16", **changes))
    assert isinstance(bare, Offer)
    assert isinstance(attached, Offer)
    assert (bare.instance_type, attached.instance_type) == ("n1-standard-8", "n1-standard-8+T4x1")


def test_an_empty_price_is_unknown_only_where_the_format_says_so() -> None:
    unknown = judged(a_raw_row(price="", price_required=False))
    assert isinstance(unknown, Offer)
    assert unknown.price_per_hour is None
    refused = judged(a_raw_row(price="", price_required=True))
    assert isinstance(refused, Fault)
    assert refused.reason is Reason.NO_PRICE


def test_clouds_go_by_our_names() -> None:
    names = [
        judged(a_raw_row(cloud=name)) for name in ("AWS", "aliyun", "alicloud", "tencentcloud", "lambdalabs", "newco")
    ]
    assert [offer.cloud for offer in names if isinstance(offer, Offer)] == [
        "aws",
        "alibaba",
        "alibaba",
        "tencent",
        "lambda",
        "newco",
    ]


@pytest.mark.parametrize(
    ("offer", "reason"),
    [
        (an_offer("0"), Reason.ZERO_PRICE),
        (an_offer("-1"), Reason.NEGATIVE_PRICE),
        (an_offer("NaN"), Reason.NOT_A_NUMBER),
        (an_offer("Infinity"), Reason.NOT_A_NUMBER),
        (an_offer("0.01"), Reason.ABSURD_PRICE),
        (an_offer("12", observed_at=NOW + timedelta(days=2)), Reason.FUTURE_TIME),
    ],
)
def test_offers_that_come_from_an_api_are_held_to_the_same(offer: Offer, reason: Reason) -> None:
    fault = price_fault(offer, NOW)
    assert fault
    assert fault.reason is reason
    assert price_fault(an_offer(None), NOW) is None
    assert offer.market is Market.SPOT
