"""Builders for placement tests: a context, and a brute-force oracle written apart from the code it judges."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any

from orchestrator.model.demand import Demand
from orchestrator.model.failure import CoolDown, FailureKind
from orchestrator.model.offer import Offer
from orchestrator.placement.choose import Context
from tests.build import NOW, a_book_id

CLOUDS = frozenset({"aws", "gcp"})


def a_context(**changes: Any) -> Context:
    values: dict[str, Any] = {"now": NOW, "book": a_book_id(), "modules": CLOUDS}
    return Context(**(values | changes))


def a_cool_down(**changes: Any) -> CoolDown:
    """No capacity for p4d.24xlarge spot in us-east-1a, two minutes ago, for half an hour."""
    values: dict[str, Any] = {
        "cloud": "aws",
        "region": "us-east-1",
        "zone": "us-east-1a",
        "instance_type": "p4d.24xlarge",
        "kind": FailureKind.CAPACITY,
        "reason": "InsufficientInstanceCapacity",
        "since": NOW - timedelta(minutes=2),
        "until": NOW + timedelta(minutes=28),
    }
    return CoolDown(**(values | changes))


def oracle(demand: Demand, offers: Sequence[Offer], context: Context) -> list[Offer]:
    """What fits, in order, by trying every offer against every rule and by selecting the minimum again and again."""
    left = [offer for offer in offers if fits(demand, offer, context)]
    order = []
    while left:
        best = left[0]
        for offer in left[1:]:
            if before(demand, context, offer, best):
                best = offer
        order.append(best)
        left.remove(best)
    return order


def fits(demand: Demand, offer: Offer, context: Context) -> bool:
    price = converted(demand, context, offer)
    rules = [
        offer.accelerator in demand.gpu.accelerators,
        offer.gpu_count == demand.gpu.count,
        enough(offer.gpu_memory_gib, demand.gpu.min_memory_gib),
        enough(offer.vcpus, demand.min_vcpus),
        enough(offer.memory_gib, demand.min_memory_gib),
        offer.market in demand.markets,
        not demand.where.clouds or globbed(offer.cloud, demand.where.clouds),
        not globbed(offer.cloud, demand.where.denied_clouds),
        not demand.where.regions
        or globbed(offer.region, demand.where.regions)
        or globbed(offer.zone, demand.where.regions),
        not globbed(offer.region, demand.where.denied_regions),
        not globbed(offer.zone, demand.where.denied_regions),
        # The cloud chooses the zone of an offer without one, and might choose a denied one.
        bool(offer.zone) or not any(glob.startswith(offer.region) for glob in demand.where.denied_regions),
        offer.cloud in context.modules or context.include_foreign,
        offer.available in (True, None),
        price is not None,
        price is None or demand.max_price_per_hour is None or not price > demand.max_price_per_hour,
        demand.max_price_age is None or context.now - offer.observed_at <= demand.max_price_age,
        offer.cloud not in context.not_set_up,
        not any(held.covers(offer) and held.until > context.now for held in context.cool_downs),
    ]
    return all(rules)


def globbed(name: str, globs: Sequence[str]) -> bool:
    """Globs of the kinds ``word``, ``*``, ``word*`` and ``*word``, by hand."""
    for glob in globs:
        if glob == "*" and name:
            return True
        if glob.endswith("*") and len(glob) > 1 and name.startswith(glob[:-1]):
            return True
        if glob.startswith("*") and len(glob) > 1 and name.endswith(glob[1:]):
            return True
        if glob == name:
            return True
    return False


def enough(has: Decimal | None, least: Decimal | None) -> bool:
    return least is None or (has is not None and has >= least)


def converted(demand: Demand, context: Context, offer: Offer) -> Decimal | None:
    if offer.price_per_hour is None:
        return None
    if offer.currency == demand.currency:
        return offer.price_per_hour
    return offer.price_per_hour * context.rates[offer.currency] if offer.currency in context.rates else None


def before(demand: Demand, context: Context, one: Offer, other: Offer) -> bool:
    """Whether ``one`` is to be tried strictly before ``other``."""
    price, other_price = converted(demand, context, one), converted(demand, context, other)
    assert price is not None and other_price is not None
    if price != other_price:
        return price < other_price
    for mine, theirs in (
        ((one.gpu_memory_gib or 0) * one.gpu_count, (other.gpu_memory_gib or 0) * other.gpu_count),
        (one.memory_gib or 0, other.memory_gib or 0),
        (one.vcpus or 0, other.vcpus or 0),
    ):
        if mine != theirs:
            return mine > theirs
    names = [(offer.cloud, offer.region, offer.zone, offer.instance_type, str(offer.market)) for offer in (one, other)]
    return names[0] < names[1]
