"""The one order of offers: cheapest first, then what is worth more at the same price."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from orchestrator.model.demand import Demand
from orchestrator.model.offer import Offer
from orchestrator.placement.context import Context, price_in

__all__ = ["fixed_order", "scorer", "total_gpu_memory"]

_NOTHING = Decimal(0)


def total_gpu_memory(offer: Offer) -> Decimal:
    """GiB over all its GPUs; 0 where not known."""
    return (offer.gpu_memory_gib or _NOTHING) * offer.gpu_count


def fixed_order(offer: Offer) -> tuple[str, str, str, str, str]:
    """What decides between offers that are equal in all that counts, so that the same book gives the same choice."""
    return (offer.cloud, offer.region, offer.zone, offer.instance_type, offer.market)


def scorer(demand: Demand, context: Context) -> Callable[[Offer], tuple[Any, ...]]:
    """A sort key: price in the demand's currency, most GPU memory, most memory, most vCPU, then the fixed order.

    Between rows of the same offer the newer one comes first. Only for offers whose price is known.
    """

    def score(offer: Offer) -> tuple[Any, ...]:
        return (
            price_in(demand, context, offer),
            -total_gpu_memory(offer),
            -(offer.memory_gib or _NOTHING),
            -(offer.vcpus or _NOTHING),
            fixed_order(offer),
            -offer.observed_at.timestamp(),
            offer.source,
        )

    return score
