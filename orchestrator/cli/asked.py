"""From words typed, a file and settings to one request; each value keeps where it came from."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from orchestrator.cli.options import words
from orchestrator.errors import UsageError
from orchestrator.model.demand import Request
from orchestrator.settings import Settings

__all__ = ["request_from"]

# Request field → setting that stands in when neither the command line nor the file says anything.
_FROM_SETTINGS = {
    "market": "market",
    "clouds": "clouds",
    "denied_clouds": "denied_clouds",
    "regions": "regions",
    "denied_regions": "denied_regions",
    "max_price_per_hour": "max_price",
}


def request_from(
    typed: Mapping[str, Any],
    settings: Settings,
    *,
    file: Mapping[str, tuple[Any, str]] | None = None,
    any_market: bool = False,
) -> Request:
    """The request. ``typed`` are the values of ``request_options``; ``file`` maps fields to (value, origin).

    A denial is never loosened: denied clouds and regions of all sources add up. ``any_market`` leaves the market open
    where nobody named one (listing offers shows all). :class:`UsageError` for options that contradict each other.
    """
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for field, value, origin in _typed(typed):
        values[field], origins[field] = value, origin
    for field, (value, origin) in (file or {}).items():
        if field in ("profile", "gpu") and ("profile" in values or "gpu" in values):
            continue
        if field not in values:
            values[field], origins[field] = value, origin
        elif field.startswith("denied_"):
            values[field] = tuple(dict.fromkeys((*values[field], *value)))
    for field, key in _FROM_SETTINGS.items():
        setting = settings.value(key)
        if setting.value in (None, ()) or (field == "market" and any_market and setting.origin == "default"):
            continue
        if field not in values:
            values[field], origins[field] = setting.value, setting.origin
        elif field.startswith("denied_"):
            values[field] = tuple(dict.fromkeys((*values[field], *setting.value)))
        elif field == "max_price_per_hour" and setting.value < values[field] and origins[field] != "--max-price":
            values[field], origins[field] = setting.value, setting.origin
    return Request(**values, origins=origins)


def _typed(typed: Mapping[str, Any]) -> list[tuple[str, Any, str]]:
    market = _market(typed)
    found: list[tuple[str, Any, str]] = [("market", market[0], market[1])] if market else []
    plain = {
        "profile": "profile",
        "gpu": "gpu",
        "max_price": "max_price_per_hour",
        "min_vcpus": "min_vcpus",
        "min_memory": "min_memory_gib",
    }
    lists = {
        "cloud": "clouds",
        "deny_cloud": "denied_clouds",
        "region": "regions",
        "deny_region": "denied_regions",
    }
    for option, field in plain.items():
        value: str | Decimal | None = typed.get(option)
        if value is not None:
            found.append((field, value, f"--{option.replace('_', '-')}"))
    for option, field in lists.items():
        given = words(typed.get(option) or ())
        if given:
            found.append((field, given, f"--{option.replace('_', '-')}"))
    return found


def _market(typed: Mapping[str, Any]) -> tuple[str, str] | None:
    said = [
        (word, origin)
        for word, origin, given in (
            ("spot", "--spot", typed.get("spot")),
            ("on-demand", "--on-demand", typed.get("on_demand")),
            (typed.get("market"), "--market", typed.get("market")),
        )
        if given and word
    ]
    if len({word for word, _ in said}) > 1:
        options = " and ".join(origin for _, origin in said)
        raise UsageError(f"{options} contradict each other", hint="give one of them; --market auto allows both markets")
    return said[0] if said else None
