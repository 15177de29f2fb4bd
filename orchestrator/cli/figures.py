"""Figures as people read them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal

from orchestrator.model.offer import Offer, OfferKey

__all__ = ["age_text", "duration_text", "gpus_text", "money_text", "offer_columns", "offer_row", "offer_text"]


def money_text(amount: Decimal | None, currency: str = "USD") -> str:
    """``$12.50``, ``CNY 12.50``, ``$0.2345`` below a dollar, ``unknown``."""
    if amount is None:
        return "unknown"
    sign = "$" if currency == "USD" else f"{currency} "
    return f"{sign}{amount:,.4f}" if amount < 1 else f"{sign}{amount:,.2f}"


def age_text(seconds: int) -> str:
    """``45s``, ``12m``, ``7h``, ``3d``, ``14mo``."""
    for limit, unit, size in ((120, "s", 1), (7200, "m", 60), (172800, "h", 3600), (5184000, "d", 86400)):
        if seconds < limit:
            return f"{seconds // size}{unit}"
    return f"{seconds // 2629800}mo"


def duration_text(seconds: int) -> str:
    """``1d 12h``, ``8h``, ``30m``, ``1m 30s``: whole, nothing rounded off."""
    parts = []
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        if seconds >= size:
            parts.append(f"{seconds // size}{unit}")
            seconds %= size
    return " ".join(parts)


def plain(number: Decimal | None) -> str:
    """A count without trailing zeros; ``?`` where unknown."""
    return "?" if number is None else f"{number.normalize():f}"


def gpus_text(offer: Offer) -> str:
    """``8 × A100-40GB``."""
    return f"{plain(offer.gpu_count)} × {offer.accelerator}" if offer.accelerator else "none"


def offer_text(offer: Offer) -> str:
    """One offer in a line."""
    price = money_text(offer.price_per_hour, offer.currency)
    return f"{offer.cloud} {offer.location} {offer.instance_type} ({gpus_text(offer)}) {offer.market} at {price}/h"


offer_columns = (
    "CLOUD", "REGION/ZONE", "TYPE", "GPUS", "GPU MEM", "VCPU", "MEMORY", "MARKET", "$/H", "$/GPU-H", "OF OD", "AGE",
)  # fmt: skip


def offer_row(offer: Offer, now: datetime, shares: Mapping[OfferKey, Decimal]) -> tuple[str, ...]:
    """The cells of :data:`offer_columns`."""
    share = shares.get(offer.key)
    return (
        offer.cloud,
        offer.location,
        offer.instance_type,
        gpus_text(offer),
        f"{plain(offer.gpu_memory_gib)} GB",
        plain(offer.vcpus),
        f"{plain(offer.memory_gib)} GB",
        str(offer.market),
        money_text(offer.price_per_hour, offer.currency),
        money_text(offer.price_per_gpu_hour, offer.currency),
        "" if share is None else f"{share * 100:.0f} %",
        age_text(offer.age_seconds(now)),
    )
