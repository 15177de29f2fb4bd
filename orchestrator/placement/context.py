"""What a decision depends on besides the demand and the offers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from orchestrator.model.demand import Demand
from orchestrator.model.failure import CoolDown
from orchestrator.model.offer import Offer
from orchestrator.model.placement import PriceBookId

__all__ = ["Context", "price_in"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The world at the time of a decision.

    ``modules`` are the clouds that we can make machines in. ``rates`` is, for each currency, how much of the demand's
    currency one unit of it is; a demand's own currency needs none. ``include_foreign`` lets :func:`rank` also list
    offers of clouds without a module; :func:`place` never takes one. ``not_set_up`` says, for each cloud that cannot
    be used by whoever asks, what is missing.
    """

    now: datetime
    book: PriceBookId
    cool_downs: tuple[CoolDown, ...] = ()
    modules: frozenset[str]
    rates: Mapping[str, Decimal] = field(default_factory=dict)
    include_foreign: bool = False
    not_set_up: Mapping[str, str] = field(default_factory=dict)


def price_in(demand: Demand, context: Context, offer: Offer) -> Decimal | None:
    """The offer's price per hour in the demand's currency; ``None`` where it or the exchange rate is not known."""
    price = offer.price_per_hour
    if price is None or offer.currency == demand.currency:
        return price
    rate = context.rates.get(offer.currency)
    return None if rate is None else price * rate
