"""Builders for the nouns: sensible defaults, everything overridable."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from orchestrator.model.demand import Demand, GpuNeed
from orchestrator.model.launch import Image, Launch
from orchestrator.model.offer import Market, Offer
from orchestrator.model.placement import Placement, PriceBookId

SSH_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPnXn2qX3rZxqgJ8Jm0rT1y2Z3a4B5c6D7e8F9g0H1i2 ada@example"
NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def an_offer(price: str | None = "12.50", **changes: Any) -> Offer:
    """A p4d spot offer, an hour old, unless told otherwise."""
    values: dict[str, Any] = {
        "cloud": "aws",
        "region": "us-east-1",
        "zone": "us-east-1a",
        "instance_type": "p4d.24xlarge",
        "accelerator": "A100-40GB",
        "gpu_count": Decimal(8),
        "gpu_memory_gib": Decimal(40),
        "vcpus": Decimal(96),
        "memory_gib": Decimal(1152),
        "market": Market.SPOT,
        "price_per_hour": None if price is None else Decimal(price),
        "observed_at": NOW - timedelta(hours=1),
        "source": "test",
    }
    return Offer(**(values | changes))


def a_need(**changes: Any) -> GpuNeed:
    values: dict[str, Any] = {"label": "a100x8", "accelerators": ("A100-40GB", "A100-80GB"), "count": Decimal(8)}
    return GpuNeed(**(values | changes))


def a_demand(**changes: Any) -> Demand:
    values: dict[str, Any] = {"gpu": a_need(), "markets": frozenset({Market.SPOT})}
    return Demand(**(values | changes))


def a_book_id() -> PriceBookId:
    return PriceBookId(revision="r1", oldest=NOW - timedelta(hours=1), newest=NOW - timedelta(hours=1))


def a_placement(**changes: Any) -> Placement:
    values: dict[str, Any] = {
        "chosen": an_offer(),
        "fallbacks": (an_offer("13.00", zone="us-east-1b"),),
        "rejected": (),
        "reasons": ("cheapest of 2 offers",),
        "price_book": a_book_id(),
        "decided_at": NOW,
    }
    return Placement(**(values | changes))


def an_image(**changes: Any) -> Image:
    values: dict[str, Any] = {"reference": "ami-0123456789abcdef0", "ssh_user": "ubuntu"}
    return Image(**(values | changes))


def a_launch(**changes: Any) -> Launch:
    values: dict[str, Any] = {
        "deployment_id": "g0123456789ab",
        "name": "train",
        "owner": "ada",
        "profile": "a100x8",
        "offer": an_offer(),
        "image": an_image(),
        "ttl": timedelta(hours=8),
        "ssh_public_key": SSH_KEY,
        "ssh_allowed_cidrs": ("203.0.113.7/32",),
    }
    return Launch(**(values | changes))
