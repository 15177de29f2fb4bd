"""The decision in sentences: why this offer, why not the others, and what came nearest where nothing fits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from decimal import ROUND_UP, Decimal

from orchestrator.errors import NoOffer
from orchestrator.model.demand import Demand
from orchestrator.model.offer import Market, Offer, Rejected
from orchestrator.placement.context import Context, price_in
from orchestrator.placement.cooldowns import CoolDownIndex
from orchestrator.placement.filters import FILTERS
from orchestrator.placement.on_demand import OnDemandPrices
from orchestrator.placement.score import total_gpu_memory
from orchestrator.placement.wording import amount, clock, counted, money

__all__ = ["no_offer", "reasons"]

_FOR_NOW = frozenset({"unavailable", "price-age", "cool-down"})
_ORDER = {name: place for place, name in enumerate(FILTERS)}


def reasons(
    demand: Demand, context: Context, fitting: Sequence[Offer], rejected: Sequence[Rejected]
) -> tuple[str, ...]:
    """Why the first of ``fitting`` (best first, at least one) was chosen, a sentence each."""
    said = [
        _cheapest(demand, context, fitting),
        *_against_on_demand(fitting[0], (*fitting, *(one.offer for one in rejected))),
        *_cheaper_but(demand, context, fitting[0], rejected),
    ]
    if rejected:
        verb = "was" if len(rejected) == 1 else "were"
        said.append(f"{counted(len(rejected), 'other offer')} {verb} dropped: {_by_filter(rejected)}")
    return tuple(said)


def _cheapest(demand: Demand, context: Context, fitting: Sequence[Offer]) -> str:
    chosen = fitting[0]
    price = _price(demand, context, chosen)
    what = f"{chosen.key} at {money(price, demand.currency)}/h"
    if len(fitting) == 1:
        return f"{what} is the only offer that fits {demand.gpu.label}; there is no fallback"
    head = f"{what} is the cheapest of {counted(len(fitting))} that fit {demand.gpu.label}"
    following = fitting[1]
    equal = sum(_price(demand, context, offer) == price for offer in fitting)
    if equal > 1:
        return f"{head}; {equal} cost the same, and it was put first for {_tie_break(chosen, following)}"
    more = _price(demand, context, following) - price
    return f"{head}; the next, {following.key}, is {money(more, demand.currency)}/h ({_percent(more / price)}) dearer"


def _tie_break(chosen: Offer, following: Offer) -> str:
    sizes: tuple[tuple[str, Callable[[Offer], Decimal], str], ...] = (
        ("more GPU memory", total_gpu_memory, " GiB"),
        ("more memory", lambda offer: offer.memory_gib or Decimal(0), " GiB"),
        ("more vCPU", lambda offer: offer.vcpus or Decimal(0), ""),
    )
    for what, size, unit in sizes:
        if size(chosen) != size(following):
            return f"{what} than {following.key} ({amount(size(chosen))} against {amount(size(following))}{unit})"
    return "the fixed order of cloud, region, zone, type and market, being equal in all else"


def _against_on_demand(chosen: Offer, offers: Iterable[Offer]) -> list[str]:
    if chosen.market is not Market.SPOT or chosen.price_per_hour is None:
        return []
    full = OnDemandPrices(one for one in offers if one.instance_type == chosen.instance_type).price_of(chosen)
    if not full:
        return []
    share = chosen.price_per_hour / full
    listed = f"the on-demand price of the same machine there, {money(full, chosen.currency)}/h"
    if share > 1:
        return [f"its price is {_percent(share - 1)} above {listed}"]
    return [f"its price is {_percent(1 - share)} below {listed}" if share < 1 else f"its price is {listed}"]


def _cheaper_but(demand: Demand, context: Context, chosen: Offer, rejected: Sequence[Rejected]) -> list[str]:
    limit = _price(demand, context, chosen)
    cheaper = [
        (price, one)
        for one in rejected
        if one.filter in _FOR_NOW and (price := price_in(demand, context, one.offer)) is not None and price < limit
    ]
    if not cheaper:
        return []
    price, one = min(cheaper, key=lambda pair: (pair[0], pair[1].offer.key))
    example = f"{one.offer.key} at {money(price, demand.currency)}/h: {one.reason}"
    if len(cheaper) == 1:
        return [f"1 cheaper offer was left out: {example}"]
    return [f"{counted(len(cheaper), 'cheaper offer')} were left out, the cheapest being {example}"]


def no_offer(demand: Demand, context: Context, rejected: tuple[Rejected, ...]) -> NoOffer:
    """The error for a demand that nothing meets: the nearest miss, the count by filter, and what would help."""
    label, market = demand.gpu.label, " or ".join(sorted(demand.markets))
    if not rejected:
        return NoOffer(
            f"no offer fits {label} ({market}): the price book has none with {_either(demand.gpu.accelerators)}",
            hint="import prices that have it (gpuorch prices import FILE), or ask for another accelerator",
        )
    last = max((one.filter for one in rejected), key=_ORDER.__getitem__)
    near = [one for one in rejected if one.filter == last]
    nearest = min(near, key=lambda one: _nearness(demand, context, one))
    return NoOffer(
        f"no offer fits {label} ({market}); the nearest of {counted(len(rejected))} is {nearest.offer.key}, but "
        f"{nearest.reason} (dropped: {_by_filter(rejected)})",
        hint=_hint(demand, context, last, near, nearest),
        rejected=rejected,
    )


def _nearness(demand: Demand, context: Context, one: Rejected) -> tuple[bool, Decimal, str]:
    price = price_in(demand, context, one.offer)
    return (price is None, price or Decimal(0), str(one.offer.key))


def _hint(demand: Demand, context: Context, last: str, near: Sequence[Rejected], nearest: Rejected) -> str:
    if last == "price-cap":
        price = _price(demand, context, nearest.offer).quantize(Decimal("0.01"), ROUND_UP)
        return f"--max-price {price} would take it"
    if last == "gpu-count":
        counts = sorted({one.offer.gpu_count for one in near})
        return f"these machines come with {', '.join(amount(count) for count in counts)}: ask for one of these counts"
    if last == "cool-down":
        index = CoolDownIndex(context.cool_downs)
        until = min(found.until for one in near if (found := index.covering(one.offer, context.now)))
        return f"the first can be tried again after {clock(until, context.now)}; or allow more regions or --market auto"
    if last == "currency":
        codes = sorted({one.offer.currency for one in near})
        return f"set {', '.join(f'exchange_rates.{code}' for code in codes)} in the settings"
    if last == "no-module":
        return f"machines can be made in: {', '.join(sorted(context.modules)) or 'no cloud'}"
    return _HINTS[last]


_HINTS = {
    "accelerator": "ask for another accelerator: `gpuorch profiles` lists them",
    "gpu-memory": "ask for less memory per GPU",
    "vcpus": "ask for fewer vCPU",
    "memory": "ask for less memory",
    "market": "--market auto takes spot and on-demand",
    "cloud": "allow more clouds (--cloud)",
    "denied-cloud": "take back the denial of that cloud, or ask for another machine",
    "region": "allow more regions (--region)",
    "denied-region": "take back the denial of that region, or ask for another machine",
    "unknown-price": "import a price for it: gpuorch prices import FILE",
    "unavailable": "try again later, or allow more regions",
    "not-set-up": "gpuorch doctor says what each cloud needs",
    "price-age": "import newer prices (gpuorch prices import FILE), or allow older ones",
}


def _by_filter(rejected: Iterable[Rejected]) -> str:
    counts = Counter(one.filter for one in rejected)
    return ", ".join(f"{counts[name]:,} by {name}" for name in sorted(counts, key=_ORDER.__getitem__))


def _price(demand: Demand, context: Context, offer: Offer) -> Decimal:
    price = price_in(demand, context, offer)
    if price is None:
        raise AssertionError(f"the price of {offer.key} was held to be known")
    return price


def _percent(share: Decimal) -> str:
    part = share * 100
    return "under 1 %" if 0 < part < 1 else f"{part:.0f} %"


def _either(names: Sequence[str]) -> str:
    return " or ".join(names) if len(names) <= 4 else f"any of {len(names)} accelerators"
