"""Zones, regions and types without capacity: the next offer wins, and what failed is remembered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.build_cli_runs import Gpuorch, a_gpuorch

pytestmark = [pytest.mark.terraform, pytest.mark.slow]

SPOT = ("--profile", "a100x8", "--spot", "--sandbox")
UP = ("up", *SPOT, "--yes", "--name", "train")


def _zones(offers: list[dict[str, Any]]) -> list[str]:
    return [offer["zone"] for offer in offers]


def _launched_in(gpuorch: Gpuorch) -> list[str]:
    """The regions in which a machine was asked for, in order, refused or not."""
    return [call.region for call in gpuorch.cloud.calls() if (call.operation, call.type) == ("create", "aws_instance")]


def test_zones_and_a_region_sold_out(tmp_path: Path) -> None:
    gpuorch = a_gpuorch(tmp_path)
    gpuorch.cloud.exhaust("aws", "us-east-1a")
    gpuorch.cloud.exhaust("aws", "us-west-2")
    gpuorch.cloud.exhaust("aws", "us-east-1b")
    envelope = gpuorch.json(*UP).envelope
    data = envelope["data"]
    assert [(one["offer"]["zone"], one["result"], one["kind"]) for one in data["attempts"]] == [
        ("us-east-1a", "failed", "capacity"),
        ("us-east-1b", "failed", "capacity"),
        ("us-west-2a", "failed", "capacity"),
        ("us-west-2b", "failed", "capacity"),
        ("eu-west-1a", "created", ""),
    ]
    for attempt in data["attempts"][:-1]:
        assert "InsufficientInstanceCapacity: There is no Spot capacity available" in attempt["reason"]
    assert (data["placement"]["chosen"]["zone"], data["deployment"]["zone"]) == ("us-east-1a", "eu-west-1a")
    assert (data["deployment"]["state"], data["deployment"]["price_per_hour"]) == ("ready", "12.00")
    assert data["price_per_month"] == "8760.00"
    assert gpuorch.machines() == [("eu-west-1a", "spot")]
    assert {resource.region for resource in gpuorch.cloud.resources()} == {"eu-west-1"}

    # Another process, another deployment: what failed is left out, until somebody wants it.
    left = gpuorch.json("offers", *SPOT, "--explain").data
    assert _zones(left["offers"]) == ["eu-west-1a"]
    cooling = [rejected for rejected in left["rejected"] if rejected["filter"] == "cool-down"]
    assert sorted(_zones(cooling)) == ["us-east-1a", "us-east-1b", "us-west-2a", "us-west-2b"]
    assert all(rejected["reason"].startswith("no capacity here at ") for rejected in cooling)
    dry = gpuorch.json("up", *SPOT, "--dry-run").data["placement"]
    assert (dry["chosen"]["zone"], dry["fallbacks"]) == ("eu-west-1a", [])
    assert dry["rejected_by_filter"]["cool-down"] == 4
    everything = gpuorch.json("offers", *SPOT, "--ignore-failures").data
    assert len(everything["offers"]) == 5
    again = gpuorch.json("up", *SPOT, "--dry-run", "--ignore-failures").data["placement"]
    assert (again["chosen"]["zone"], len(again["fallbacks"])) == ("us-east-1a", 4)
    # A simulated shortage says nothing about the real clouds.
    assert len(gpuorch.json("offers", *SPOT[:-1]).data["offers"]) == 5

    gpuorch("down", "train", "--yes")
    assert gpuorch.existing() == []


def test_everything_sold_out_leaves_nothing(tmp_path: Path) -> None:
    gpuorch = a_gpuorch(tmp_path)
    gpuorch.cloud.exhaust("aws")
    envelope = gpuorch.json(*UP, code=4).envelope
    (error,) = envelope["errors"]
    assert (envelope["status"], error["code"]) == ("error", "no-capacity")
    assert error["message"].startswith("none of 5 offers could be had; ")
    assert "InsufficientInstanceCapacity" in error["message"]
    assert [one["result"] for one in envelope["data"]["attempts"]] == ["failed"] * 5
    assert envelope["data"]["deployment"]["state"] == "failed"
    assert gpuorch.existing() == []
    assert gpuorch.json("status").data["deployments"] == []

    # Everything cools down now: no offer is left to try, and the name is free again.
    refused = gpuorch.json(*UP, code=3).envelope
    assert refused["errors"][0]["code"] == "no-offer"
    gpuorch.cloud.restock()
    made = gpuorch.json(*UP, "--ignore-failures").data
    assert (made["deployment"]["state"], made["deployment"]["zone"]) == ("ready", "us-east-1a")
    assert len(gpuorch.machines()) == 1


def test_another_instance_type_in_the_same_zone(tmp_path: Path) -> None:
    gpuorch = a_gpuorch(tmp_path)
    gpuorch.cloud.exhaust("aws", instance_type="g4dn.xlarge")
    data = gpuorch.json("up", "--profile", "t4x1", "--spot", "--sandbox", "--yes", "--name", "small").data
    assert [(one["offer"]["instance_type"], one["result"]) for one in data["attempts"]] == [
        ("g4dn.xlarge", "failed"),
        ("g4dn.2xlarge", "created"),
    ]
    assert (data["deployment"]["instance_type"], data["deployment"]["price_per_hour"]) == ("g4dn.2xlarge", "0.23")
    (root,) = gpuorch.roots()
    gpuorch.terraform(root, "plan", "-detailed-exitcode", "-input=false")
    # The other type of the zone was not the trouble.
    left = gpuorch.json("offers", "--profile", "t4x1", "--spot", "--sandbox").data["offers"]
    assert [offer["instance_type"] for offer in left] == ["g4dn.2xlarge"]


def test_on_demand_where_spot_is_sold_out_and_both_are_allowed(tmp_path: Path) -> None:
    gpuorch = a_gpuorch(tmp_path)
    gpuorch.cloud.exhaust("aws", market="spot")
    words = ("up", "--profile", "a100x8", "--market", "auto", "--region", "us-east-1", "--sandbox", "--yes")
    data = gpuorch.json(*words, "--name", "train").data
    results = [(one["offer"]["market"], one["result"]) for one in data["attempts"]]
    assert results == [("spot", "failed"), ("spot", "failed"), ("on-demand", "created")]
    assert [market for _, market in gpuorch.machines()] == ["on-demand"]


@pytest.mark.parametrize(
    ("limits", "regions"),
    [
        (("--max-price", "10.75"), ["us-east-1", "us-east-1"]),
        (("--deny-region", "us-*"), ["eu-west-1"]),
    ],
)
def test_limits_hold_over_the_fallbacks(tmp_path: Path, limits: tuple[str, ...], regions: list[str]) -> None:
    gpuorch = a_gpuorch(tmp_path)
    gpuorch.cloud.exhaust("aws")
    data = gpuorch.json(*UP, *limits, code=4).data
    assert len(data["attempts"]) == len(regions)
    assert _launched_in(gpuorch) == regions
    assert gpuorch.existing() == []
