"""What an offer must meet, one small filter a rule.

A filter is prepared once for a demand and a context and then asked about each offer: it answers ``None``, or the reason
why the offer is out. ``None`` in place of a prepared filter means that the demand does not ask for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable
from decimal import Decimal
from fnmatch import translate
from typing import TypeVar

from orchestrator.model.demand import Demand
from orchestrator.model.offer import Offer
from orchestrator.placement.context import Context, price_in
from orchestrator.placement.cooldowns import CoolDownIndex
from orchestrator.placement.wording import amount, clock, failed, money, span

__all__ = ["FILTERS", "Check", "prepared"]

_Key = TypeVar("_Key", bound=Hashable)

Check = Callable[[Offer], str | None]
Filter = Callable[[Demand, Context], Check | None]


def accelerator(demand: Demand, context: Context) -> Check | None:
    wanted = frozenset(demand.gpu.accelerators)
    if not wanted:
        return None

    def reason(name: str) -> str | None:
        if name in wanted:
            return None
        names = sorted(wanted)
        listed = " or ".join(names) if len(names) <= 4 else f"one of {len(names)} accelerators"
        return f"it has {name or 'no accelerator'}; {demand.gpu.label} takes {listed}"

    return _remembered(lambda offer: offer.accelerator, reason)


def gpu_count(demand: Demand, context: Context) -> Check:
    wanted = demand.gpu.count

    def reason(count: Decimal) -> str | None:
        return None if count == wanted else f"it has {amount(count)} GPU(s); {amount(wanted)} are asked for"

    return _remembered(lambda offer: offer.gpu_count, reason)


def gpu_memory(demand: Demand, context: Context) -> Check | None:
    return _at_least(demand.gpu.min_memory_gib, lambda offer: offer.gpu_memory_gib, "GiB of memory per GPU")


def vcpus(demand: Demand, context: Context) -> Check | None:
    return _at_least(demand.min_vcpus, lambda offer: offer.vcpus, "vCPU")


def memory(demand: Demand, context: Context) -> Check | None:
    return _at_least(demand.min_memory_gib, lambda offer: offer.memory_gib, "GiB of memory")


def market(demand: Demand, context: Context) -> Check:
    wanted = " or ".join(sorted(demand.markets))

    def check(offer: Offer) -> str | None:
        return None if offer.market in demand.markets else f"it is {offer.market}; only {wanted} is asked for"

    return check


def cloud(demand: Demand, context: Context) -> Check | None:
    allowed = demand.where.clouds
    if not allowed:
        return None
    matches = _globs(allowed)
    listed = ", ".join(allowed)
    return _remembered(
        lambda offer: offer.cloud,
        lambda name: None if matches(name) else f"cloud {name} is not among the allowed ones ({listed})",
    )


def denied_cloud(demand: Demand, context: Context) -> Check | None:
    if not demand.where.denied_clouds:
        return None
    matches = _globs(demand.where.denied_clouds)
    return _remembered(
        lambda offer: offer.cloud,
        lambda name: f"cloud {name} is denied (by {glob})" if (glob := matches(name)) else None,
    )


def region(demand: Demand, context: Context) -> Check | None:
    allowed = demand.where.regions
    if not allowed:
        return None
    matches = _globs(allowed)
    listed = ", ".join(allowed)

    def reason(place: tuple[str, str]) -> str | None:
        return None if matches(*place) else f"{_place(*place)} is not among the allowed regions ({listed})"

    return _remembered(lambda offer: (offer.region, offer.zone), reason)


def denied_region(demand: Demand, context: Context) -> Check | None:
    if not demand.where.denied_regions:
        return None
    matches = _globs(demand.where.denied_regions)

    def reason(place: tuple[str, str]) -> str | None:
        if glob := matches(*place):
            return f"{_place(*place)} is denied (by {glob})"
        region, zone = place
        # The cloud chooses the zone of such an offer, and it could choose the denied one.
        of_it = [glob for glob in demand.where.denied_regions if glob.startswith(region.lower()) and not zone]
        return f"it names no zone of {region}, and {of_it[0]} is denied" if of_it else None

    return _remembered(lambda offer: (offer.region, offer.zone), reason)


def no_module(demand: Demand, context: Context) -> Check | None:
    if context.include_foreign:
        return None

    def check(offer: Offer) -> str | None:
        if offer.cloud in context.modules:
            return None
        return f"gpuorch has no Terraform module for {offer.cloud}: it can be listed (--all-providers) but not chosen"

    return check


def not_set_up(demand: Demand, context: Context) -> Check | None:
    return (lambda offer: context.not_set_up.get(offer.cloud)) if context.not_set_up else None


def unavailable(demand: Demand, context: Context) -> Check:
    def check(offer: Offer) -> str | None:
        if offer.available is not False:
            return None
        return f"{offer.source} said at {clock(offer.observed_at, context.now)} that it is not available"

    return check


def unknown_price(demand: Demand, context: Context) -> Check:
    def check(offer: Offer) -> str | None:
        price = offer.price_per_hour
        if price is None:
            return f"{offer.source} states no price for it"
        # The price book lets none of these in; here they would win every comparison, or break it.
        return None if price.is_finite() and price > 0 else f"{offer.source} states {price}, which is no price"

    return check


def currency(demand: Demand, context: Context) -> Check:
    known = {demand.currency, *context.rates}

    def check(offer: Offer) -> str | None:
        code = offer.currency
        if code in known:
            return None
        return (
            f"its price is in {code} and no exchange rate to {demand.currency} is set (setting exchange_rates.{code})"
        )

    return check


def price_cap(demand: Demand, context: Context) -> Check | None:
    cap = demand.max_price_per_hour
    if cap is None:
        return None

    def check(offer: Offer) -> str | None:
        price = price_in(demand, context, offer)
        if price is None or price <= cap:
            return None
        said, limit = money(price, demand.currency), money(cap, demand.currency)
        if said == limit:
            said, limit = f"{price} {demand.currency}", f"{cap} {demand.currency}"
        listed = "" if offer.currency == demand.currency else f" ({offer.price_per_hour} {offer.currency}/h)"
        return f"{said}/h{listed} is over the cap of {limit}/h"

    return check


def price_age(demand: Demand, context: Context) -> Check | None:
    limit = demand.max_price_age
    if limit is None:
        return None
    oldest = context.now - limit

    def check(offer: Offer) -> str | None:
        if offer.observed_at >= oldest:
            return None
        return f"its price is {span(context.now - offer.observed_at)} old; {span(limit)} is the most that is allowed"

    return check


def cool_down(demand: Demand, context: Context) -> Check | None:
    if not context.cool_downs:
        return None
    index = CoolDownIndex(context.cool_downs)

    def check(offer: Offer) -> str | None:
        found = index.covering(offer, context.now)
        return failed(found, context.now) if found else None

    return check


# From what a machine is to what holds only now: the filter that drops an offer tells how near a miss it was.
FILTERS: dict[str, Filter] = {
    "accelerator": accelerator,
    "gpu-count": gpu_count,
    "gpu-memory": gpu_memory,
    "vcpus": vcpus,
    "memory": memory,
    "market": market,
    "cloud": cloud,
    "denied-cloud": denied_cloud,
    "region": region,
    "denied-region": denied_region,
    "no-module": no_module,
    "unknown-price": unknown_price,
    "currency": currency,
    "price-cap": price_cap,
    "unavailable": unavailable,
    "price-age": price_age,
    "cool-down": cool_down,
    "not-set-up": not_set_up,
}
"""Every filter by its stable name, in the order in which they are asked: the first that drops an offer names itself."""


def prepared(demand: Demand, context: Context) -> list[tuple[str, Check]]:
    """The filters that apply, ready to be asked about offers, in order."""
    return [(name, check) for name, prepare in FILTERS.items() if (check := prepare(demand, context)) is not None]


def _remembered(key: Callable[[Offer], _Key], reason: Callable[[_Key], str | None]) -> Check:
    """A filter that depends on ``key`` of an offer only: each distinct value is judged once."""
    known: dict[_Key, str | None] = {}

    def check(offer: Offer) -> str | None:
        value = key(offer)
        if value not in known:
            known[value] = reason(value)
        return known[value]

    return check


def _at_least(least: Decimal | None, size: Callable[[Offer], Decimal | None], what: str) -> Check | None:
    if least is None:
        return None

    def check(offer: Offer) -> str | None:
        has = size(offer)
        if has is None:
            return f"how many {what} it has is not known; at least {amount(least)} are asked for"
        return None if has >= least else f"it has {amount(has)} {what}; at least {amount(least)} are asked for"

    return check


def _globs(globs: Iterable[str]) -> Callable[..., str | None]:
    """A function of names that returns the first glob that matches one of them, in any case."""
    patterns = [(glob, re.compile(translate(glob.lower())).match) for glob in globs]

    def matches(*names: str) -> str | None:
        lowered = [name.lower() for name in names if name]
        return next((glob for glob, match in patterns if any(match(name) for name in lowered)), None)

    return matches


def _place(region: str, zone: str) -> str:
    return f"zone {zone} of {region}" if zone else f"region {region}"
