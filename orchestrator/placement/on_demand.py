"""The on-demand price that a spot offer is held against."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal

from orchestrator.model.offer import Market, Offer, OfferKey

__all__ = ["OnDemandPrices", "share_of_on_demand"]

_Machine = tuple[str, str, str, str]


class OnDemandPrices:
    """On-demand prices of machines by zone and by region, the cheapest of each."""

    __slots__ = ("_anywhere", "_exact")

    def __init__(self, offers: Iterable[Offer]) -> None:
        self._exact: dict[tuple[_Machine, str], Decimal] = {}
        self._anywhere: dict[_Machine, Decimal] = {}
        for offer in offers:
            price = offer.price_per_hour
            if offer.market is not Market.ON_DEMAND or price is None:
                continue
            machine = _machine(offer)
            exact = (machine, offer.zone)
            self._exact[exact] = min(price, self._exact.get(exact, price))
            self._anywhere[machine] = min(price, self._anywhere.get(machine, price))

    def price_of(self, offer: Offer) -> Decimal | None:
        """The price of the zone, else of the whole region, else the cheapest of its zones; in the offer's currency."""
        machine = _machine(offer)
        for found in (self._exact.get((machine, offer.zone)), self._exact.get((machine, ""))):
            if found is not None:
                return found
        return self._anywhere.get(machine)


def _machine(offer: Offer) -> _Machine:
    return (offer.cloud, offer.region, offer.instance_type, offer.currency)


def share_of_on_demand(offers: Iterable[Offer]) -> Mapping[OfferKey, Decimal]:
    """For each spot offer with a price, what part of the on-demand price of the same machine in the same place it is.

    An offer without an on-demand price to hold it against has no entry. ``offers`` must hold those of both markets.
    """
    offers = list(offers)
    prices = OnDemandPrices(offers)
    shares: dict[OfferKey, Decimal] = {}
    for offer in offers:
        if offer.market is Market.SPOT and offer.price_per_hour is not None:
            full = prices.price_of(offer)
            if full:
                shares[offer.key] = offer.price_per_hour / full
    return shares
