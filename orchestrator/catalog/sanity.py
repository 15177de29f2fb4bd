"""Judge raw rows of price files: an :class:`Offer`, or the reason why not. Pure.

A row in doubt is kept out, because a price that is wrongly low wins every comparison.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from orchestrator.catalog.providers import provider
from orchestrator.catalog.report import Fault, Reason
from orchestrator.model.offer import Market, Offer
from orchestrator.profiles.accelerators import accelerator, canonical, price_band
from orchestrator.profiles.spelling import tpu_slice

__all__ = ["SPOT_OVER_ON_DEMAND", "Misfit", "RawRow", "judge", "price_fault"]

SPOT_OVER_ON_DEMAND = Decimal("1.5")
"""A spot price above this multiple of the same machine's on-demand price is a mistake: clouds cap spot at on-demand,
and the margin leaves room for the two having been read at different times."""

MAX_GPU_COUNT = 16
MAX_NAME = 100
MAX_PRICE = Decimal(10) ** 9
CLOCK_ERROR = timedelta(days=1)
PARTIAL_GPU = Decimal("0.8")
"""A stated memory under this part of the accelerator's nominal memory is a slice of one. APIs report usable memory,
which is down to 0.93 of nominal."""

_NUMBER = re.compile(r"[+-]?(?:\d{1,20}(?:\.\d{0,20})?|\.\d{1,20})(?:[eE][+-]?\d{1,2})?", re.ASCII)
_CLOUD = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}")
_MARKETS = {
    "on-demand": Market.ON_DEMAND,
    "on_demand": Market.ON_DEMAND,
    "ondemand": Market.ON_DEMAND,
    "spot": Market.SPOT,
    "preemptible": Market.SPOT,
    "subscription-monthly": Market.SUBSCRIPTION_MONTHLY,
}
# ISO 4217
_CURRENCIES = frozenset(
    re.findall(
        "[A-Z]{3}",
        "AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD "
        "CAD CDF CHF CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD "
        "GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT "
        "LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR "
        "NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP "
        "STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VES VND VUV WST XAF XCD XOF "
        "XPF YER ZAR ZMW ZWL ",
    )
)


class RawRow(NamedTuple):
    """One would-be offer as text. ``price`` is for the whole machine and hour; ``cells`` is the line it was read from.

    ``gpu_memory_gib``, ``vcpus``, ``memory_gib``, ``zone`` and ``observed_at`` may be empty: not stated.
    """

    line: int
    cells: Sequence[str]
    cloud: str
    region: str
    zone: str
    instance_type: str
    gpu: str
    gpu_count: str
    gpu_memory_gib: str
    vcpus: str
    memory_gib: str
    market: str
    price: str
    currency: str
    observed_at: str
    source: str
    available: str = ""
    price_required: bool = True


class Misfit(NamedTuple):
    """A line that cannot even become a raw row, and why."""

    line: int
    cells: Sequence[str]
    fault: Fault


class _Kept(Exception):
    def __init__(self, reason: Reason, sentence: str) -> None:
        self.fault = Fault(reason, sentence)


def judge(row: RawRow, *, observed_at: datetime, now: datetime) -> Offer | Fault:
    """The offer that ``row`` describes, or why it may not enter the book.

    ``observed_at`` is the time of rows that carry none. Never raises.
    """
    try:
        return _offer(row, observed_at, now)
    except _Kept as kept:
        return kept.fault


def price_fault(offer: Offer, now: datetime) -> Fault | None:
    """What is wrong with an offer that did not come from a file (a cloud's API): its price or its time."""
    try:
        if offer.price_per_hour is not None:
            _check_price(offer.price_per_hour, offer.currency, offer.accelerator, offer.gpu_count)
        _check_not_future(offer.observed_at, now)
    except _Kept as kept:
        return kept.fault
    return None


def _offer(row: RawRow, default_time: datetime, now: datetime) -> Offer:
    cloud = _cloud(row.cloud)
    region, zone = _name("region", row.region), _name("zone", row.zone, required=False)
    name, count, gpu_memory = _gpu(row.gpu, row.gpu_count, row.gpu_memory_gib)
    market = _MARKETS.get(row.market.strip().lower())
    if market is None:
        raise _Kept(
            Reason.MARKET, f"the market is {_quoted(row.market)}; it must be on-demand, spot or subscription-monthly"
        )
    price, currency = _price(row, name, count)
    when = _time(row.observed_at) if row.observed_at else default_time
    _check_not_future(when, now)
    return Offer(
        cloud=cloud,
        region=region,
        zone=zone,
        instance_type=_machine(cloud, _name("instance type", row.instance_type), name, count),
        accelerator=name,
        gpu_count=count,
        gpu_memory_gib=gpu_memory,
        vcpus=_size("vcpus", row.vcpus),
        memory_gib=_size("memory", row.memory_gib),
        market=market,
        price_per_hour=price,
        currency=currency,
        available=_available(row.available),
        observed_at=when,
        source=_name("source", row.source),
    )


@lru_cache(maxsize=1024)
def _cloud(text: str) -> str:
    known = provider(text)
    if known:
        return known.cloud
    name = text.strip().lower()
    if not name:
        raise _Kept(Reason.MISSING_FIELD, "no cloud is named")
    if not _CLOUD.fullmatch(name):
        raise _Kept(Reason.BAD_TEXT, f"{_quoted(text)} cannot be a cloud's name")
    return name


@lru_cache(maxsize=16384)
def _name(what: str, text: str, required: bool = True) -> str:
    name = text.strip()
    if required and not name:
        raise _Kept(Reason.MISSING_FIELD, f"the {what} is empty")
    if len(name) > MAX_NAME * (3 if what == "source" else 1):
        raise _Kept(Reason.BAD_TEXT, f"the {what} is {len(name)} characters long")
    if not name.isprintable():
        raise _Kept(Reason.BAD_TEXT, f"the {what} {_quoted(name)} holds control characters")
    return name


def _machine(cloud: str, machine: str, accelerator_name: str, count: Decimal) -> str:
    """The machine type, made unique where the type alone does not say which accelerators it carries."""
    known = provider(cloud)
    if not (known and accelerator_name and known.attaches_to(machine)) or "+" in machine:
        return machine
    return f"{machine}+{accelerator_name}x{count.normalize():f}"


def _number(what: str, text: str) -> Decimal:
    text = text.strip()
    if not _NUMBER.fullmatch(text):
        raise _Kept(Reason.NOT_A_NUMBER, f"the {what} is {_quoted(text)}, which is not a number")
    return Decimal(text)


@lru_cache(maxsize=8192)
def _size(what: str, text: str) -> Decimal | None:
    if not text.strip():
        return None
    size = _number(what, text)
    if size < 0 or size > 10**6:
        raise _Kept(Reason.MACHINE_SIZE, f"the {what} is {text.strip()}")
    return size or None


@lru_cache(maxsize=8192)
def _gpu(name: str, count_text: str, memory_text: str) -> tuple[str, Decimal, Decimal | None]:
    name = _name("accelerator's name", name, required=False)
    count = _number("accelerator count", count_text) if count_text.strip() else Decimal(0)
    if not name and not count:
        return "", Decimal(0), None
    chips = tpu_slice(name)
    if chips:
        count *= chips.chips
    if not name:
        raise _Kept(Reason.GPU_NAME, f"{count_text} accelerators without a name")
    if count <= 0:
        raise _Kept(Reason.GPU_COUNT, f"it names {name} but counts {count_text.strip() or 'none'}")
    if count > MAX_GPU_COUNT or (count > 1 and count != count.to_integral_value()):
        raise _Kept(
            Reason.GPU_COUNT, f"{count_text} accelerators in one machine: 1 to {MAX_GPU_COUNT}, or a fraction of one"
        )
    return _accelerator(name, count, _size("accelerator's memory", memory_text))


def _accelerator(name: str, count: Decimal, memory: Decimal | None) -> tuple[str, Decimal, Decimal | None]:
    full = canonical(name, memory)
    known = accelerator(full) if full else None
    if known is None:
        # An unknown name stays as it is and is never asked for; a known one must not slip in with the wrong memory.
        if memory is not None and canonical(name):
            raise _Kept(Reason.GPU_MEMORY, f"it names {name} with {memory:f} GiB, which no {name} has")
        return name, count, memory
    full, nominal, share = known.name, known.memory_gib, min(count, Decimal(1))
    if memory is not None and memory < nominal * share * PARTIAL_GPU:
        raise _Kept(
            Reason.GPU_MEMORY, f"it names {name} with {memory.normalize():f} GiB; a whole {full} has {nominal:f}"
        )
    return full, count, nominal


def _price(row: RawRow, accelerator_name: str, count: Decimal) -> tuple[Decimal | None, str]:
    currency = row.currency.strip().upper()
    if not currency:
        raise _Kept(Reason.NO_CURRENCY, "the price has no currency")
    if currency not in _CURRENCIES:
        raise _Kept(Reason.UNKNOWN_CURRENCY, f"{_quoted(row.currency)} is not a currency code such as USD")
    if not row.price.strip():
        if row.price_required:
            raise _Kept(Reason.NO_PRICE, "the price is empty")
        return None, currency
    price = _number("price", row.price)
    _check_price(price, currency, accelerator_name, count)
    return price, currency


def _check_price(price: Decimal, currency: str, accelerator_name: str, count: Decimal) -> None:
    if not price.is_finite():
        raise _Kept(Reason.NOT_A_NUMBER, f"the price is {price}")
    if price == 0:
        raise _Kept(Reason.ZERO_PRICE, "the price is 0; nothing is free, so it is not known")
    if price < 0:
        raise _Kept(Reason.NEGATIVE_PRICE, f"the price is {price:f}")
    if price > MAX_PRICE:
        raise _Kept(Reason.ABSURD_PRICE, f"the price is {price:.0f} {currency} an hour")
    band = price_band(accelerator_name) if accelerator_name and currency == "USD" else None
    if band is None:
        return
    low, high = band
    if not low * count <= price <= high * count:
        raise _Kept(
            Reason.ABSURD_PRICE,
            f"{price / count:.4g} USD an hour for one {accelerator_name} is outside {low:f} to {high:f}: "
            "its unit or its machine is wrong",
        )


@lru_cache(maxsize=4096)
def _time(text: str) -> datetime:
    try:
        when = datetime.fromisoformat(text.strip())
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise _Kept(Reason.TIME, f"{_quoted(text)} is not a time such as 2026-01-31T12:00:00Z") from None


def _check_not_future(when: datetime, now: datetime) -> None:
    if when - now > CLOCK_ERROR:
        raise _Kept(Reason.FUTURE_TIME, f"it was observed at {when.isoformat()}, which is in the future")


def _available(text: str) -> bool | None:
    return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}.get(text.strip().lower())


def _quoted(text: str) -> str:
    shown = text if len(text) <= 40 else text[:37] + "..."
    return repr(shown)
