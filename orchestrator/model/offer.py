"""What a cloud sells: one machine type, in one place, in one market, at a price of a known age."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

__all__ = ["Market", "Offer", "OfferKey", "Rejected"]


class Market(StrEnum):
    """How the machine is paid for."""

    ON_DEMAND = "on-demand"
    SPOT = "spot"
    SUBSCRIPTION_MONTHLY = "subscription-monthly"  # paid a month ahead; its price is the month's, by the hour


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class OfferKey:
    """What makes two rows the same offer. ``zone`` is ``""`` where the price holds for the whole region."""

    cloud: str
    region: str
    zone: str
    instance_type: str
    market: Market

    def __str__(self) -> str:
        return f"{self.cloud} {self.zone or self.region} {self.instance_type} {self.market}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """One row of the price book, for the *whole machine*.

    ``accelerator`` is a full canonical name (``A100-80GB``, ``""`` for a machine without one); ``gpu_count`` may be a
    fraction; ``gpu_memory_gib`` is nominal, per GPU; ``price_per_hour`` is in ``currency`` and ``None`` where unknown
    (never 0). ``source`` names who said so, ``observed_at`` when it was true. ``seed`` marks a row of the shipped book.
    """

    cloud: str
    region: str
    zone: str = ""
    instance_type: str
    accelerator: str
    gpu_count: Decimal
    gpu_memory_gib: Decimal | None = None
    vcpus: Decimal | None = None
    memory_gib: Decimal | None = None
    market: Market
    price_per_hour: Decimal | None
    currency: str = "USD"
    available: bool | None = None
    observed_at: datetime
    source: str
    seed: bool = False

    @property
    def key(self) -> OfferKey:
        return OfferKey(
            cloud=self.cloud, region=self.region, zone=self.zone, instance_type=self.instance_type, market=self.market
        )

    @property
    def location(self) -> str:
        """The zone, or the region where the offer names none."""
        return self.zone or self.region

    @property
    def price_per_gpu_hour(self) -> Decimal | None:
        if self.price_per_hour is None or not self.gpu_count:
            return None
        return self.price_per_hour / self.gpu_count

    def age_seconds(self, now: datetime) -> int:
        """Seconds since the price was observed; 0 for a time in the future (a clock that is off)."""
        return max(0, int((now - self.observed_at).total_seconds()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """An offer that was dropped, by which filter (``price-cap``, ``region`` …) and why, in a sentence."""

    offer: Offer
    filter: str
    reason: str
