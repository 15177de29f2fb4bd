"""How amounts, times and failures read in a sentence."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal

from orchestrator.model.failure import CoolDown, FailureKind

__all__ = ["amount", "clock", "counted", "failed", "money", "span"]

_CENT = Decimal("0.01")
_FINE = Decimal("0.0001")
_REASON_LENGTH = 120

_FAILED = {
    FailureKind.CAPACITY: "no capacity here",
    FailureKind.QUOTA: "no quota for it",
    FailureKind.PRICE: "the market price was above the limit",
    FailureKind.UNSUPPORTED: "this type is not sold here",
    FailureKind.REGION_DISABLED: "the account has not enabled the region",
    FailureKind.IMAGE: "the image cannot be used here",
    FailureKind.THROTTLED: "too many calls",
    FailureKind.AUTH: "the credentials were refused",
    FailureKind.INVALID: "the configuration was refused",
    FailureKind.UNKNOWN: "it failed",
}


def money(value: Decimal, currency: str) -> str:
    """``$12.50`` or ``12.50 CNY``, with up to four decimals where they say something."""
    fine = value.quantize(_FINE, ROUND_HALF_UP)
    cents = fine.quantize(_CENT, ROUND_HALF_UP)
    text = f"{cents:,f}" if cents == fine else f"{fine:,f}".rstrip("0")
    return f"${text}" if currency == "USD" else f"{text} {currency}"


def amount(value: Decimal) -> str:
    """A count or size without needless zeros: ``8``, ``0.25``, ``1,152``."""
    return f"{value.normalize():,f}"


def counted(number: int, noun: str = "offer") -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def clock(time: datetime, now: datetime) -> str:
    """``11:58 UTC``, with the date where it is another day."""
    return f"{time:%H:%M} UTC" if time.date() == now.date() else f"{time:%Y-%m-%d %H:%M} UTC"


def span(time: timedelta) -> str:
    """``9 d 4 h``, ``3 h 5 min``, ``12 min``."""
    minutes = max(0, int(time.total_seconds())) // 60
    days, hours, rest = minutes // 1440, minutes // 60 % 24, minutes % 60
    if days:
        return f"{days} d {hours} h" if hours else f"{days} d"
    if hours:
        return f"{hours} h {rest} min" if rest else f"{hours} h"
    return f"{rest} min"


def failed(cool_down: CoolDown, now: datetime) -> str:
    """``no capacity here at 11:58 UTC (InsufficientInstanceCapacity); tried again after 12:28 UTC``."""
    said = " ".join(cool_down.reason.split())
    if len(said) > _REASON_LENGTH:
        said = f"{said[:_REASON_LENGTH].rstrip()}…"
    words = f" ({said})" if said else ""
    since, until = clock(cool_down.since, now), clock(cool_down.until, now)
    return f"{_FAILED[cool_down.kind]} at {since}{words}; tried again after {until}"
