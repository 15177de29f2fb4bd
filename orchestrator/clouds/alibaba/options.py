"""The settings that only Alibaba Cloud has, and what they become in the module."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from orchestrator.clouds.contract import CloudSetting
from orchestrator.model.launch import Launch

__all__ = ["OPTIONS", "SETTINGS", "module_variables"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """A setting that is a number: which ones fit, and the words for the others."""

    help: str
    default: str
    fits: Callable[[Decimal], bool]
    hint: str


OPTIONS: Mapping[str, Option] = {
    "price_limit_rate": Option(
        help="what --max-price (in USD) is multiplied by, to be in the currency that the account pays in: about 7 for "
        "CNY, on the site for mainland China; 1 on the international site",
        default="1",
        fits=lambda number: number.is_finite() and number > 0,
        hint="units of the account's currency for one USD, such as 7.1",
    ),
    "spot_protected_hours": Option(
        help="hours in which a spot machine is not taken back: 1, or 0 for a lower price and no protection at all",
        default="1",
        fits=lambda number: number in (0, 1),
        hint="0 or 1",
    ),
    "internet_mbps": Option(
        help="bandwidth to the internet in Mbps, paid by traffic; 0: no public address; -1: 100 in a network of the "
        "machine's own and 0 in a given one",
        default="-1",
        fits=lambda number: number.is_finite() and number == int(number) and -1 <= number <= 100,
        hint="a whole number from 0 to 100, or -1",
    ),
}

SETTINGS: Mapping[str, CloudSetting] = {
    key: CloudSetting(help=option.help, default=option.default) for key, option in OPTIONS.items()
}


def module_variables(launch: Launch) -> Mapping[str, Any]:
    """The module's own variables, for settings that :func:`~orchestrator.clouds.alibaba.check.check` has passed."""
    said = {key: Decimal(launch.cloud_settings.get(key) or option.default) for key, option in OPTIONS.items()}
    bandwidth = int(said["internet_mbps"])
    return {
        "price_limit_rate": float(said["price_limit_rate"]),
        "spot_protected_hours": int(said["spot_protected_hours"]),
        "internet_mbps": None if bandwidth < 0 else bandwidth,
    }
