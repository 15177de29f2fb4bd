"""Why a machine could not be had, and how long and how widely that is remembered."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from orchestrator.model.offer import Market, Offer

__all__ = ["CoolDown", "Diagnostic", "Failure", "FailureKind", "FailureRule", "Scope"]


class FailureKind(StrEnum):
    """The classes into which a cloud's error texts fall."""

    CAPACITY = "capacity"  # the place has no such machine now
    QUOTA = "quota"  # the account may not have (more of) it
    PRICE = "price"  # the price limit is under the market price
    UNSUPPORTED = "unsupported"  # the place does not offer this type at all
    REGION_DISABLED = "region-disabled"  # the account has not enabled the region
    IMAGE = "image"  # the image is not there or may not be used
    THROTTLED = "throttled"  # too many calls: the same again, later
    AUTH = "auth"  # credentials missing, expired or not permitted
    INVALID = "invalid"  # our configuration is wrong: another offer will not help
    UNKNOWN = "unknown"  # none of the table's texts: go on, and say so

    @property
    def try_next(self) -> bool:
        """Whether another offer of the same cloud may succeed where this one failed."""
        return self not in (FailureKind.AUTH, FailureKind.INVALID)


class Scope(StrEnum):
    """How wide a failure reaches: which other offers share it."""

    OFFER = "offer"  # this type, in this zone, in this market
    ZONE = "zone"  # everything of this market in the zone
    TYPE_IN_REGION = "type-in-region"  # this type and market in the whole region
    MARKET_IN_REGION = "market-in-region"  # this market in the region (a spot quota)
    REGION = "region"
    CLOUD = "cloud"


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """One of terraform's diagnostics, in its own words."""

    severity: str
    summary: str
    detail: str = ""
    address: str = ""

    @property
    def text(self) -> str:
        return f"{self.summary}\n{self.detail}".strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureRule:
    """One row of a cloud's failure table: a regular expression over a diagnostic's text, what it means, for how long.

    ``source`` says where the text was read (a documentation page, the provider's code, a recorded answer).
    ``leftovers``: the call may leave behind what it began to make, unknown to terraform, in the next attempt's way.
    """

    pattern: str
    kind: FailureKind
    scope: Scope
    cool_down: timedelta
    hint: str = ""
    source: str
    leftovers: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A classified failure of one attempt: ``reason`` in the provider's words, ``hint`` for what the user can do."""

    kind: FailureKind
    scope: Scope
    cool_down: timedelta
    reason: str
    hint: str = ""
    leftovers: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CoolDown:
    """A remembered failure. Fields that are ``None`` match everything: it covers every offer that equals the rest."""

    cloud: str
    region: str | None = None
    zone: str | None = None
    instance_type: str | None = None
    market: Market | None = None
    kind: FailureKind
    reason: str
    since: datetime
    until: datetime

    def covers(self, offer: Offer) -> bool:
        """Whether ``offer`` is of the kind that failed (the time is the caller's to check)."""
        return (
            self.cloud == offer.cloud
            and self.region in (None, offer.region)
            and self.zone in (None, offer.zone)
            and self.instance_type in (None, offer.instance_type)
            and self.market in (None, offer.market)
        )

    @classmethod
    def after(cls, failure: Failure, offer: Offer, now: datetime) -> CoolDown | None:
        """The cool-down that ``failure`` of ``offer`` leaves behind; ``None`` where nothing is to be remembered."""
        if failure.cool_down <= timedelta(0):
            return None
        scope = failure.scope
        narrow = scope in (Scope.OFFER, Scope.TYPE_IN_REGION)
        by_market = narrow or scope in (Scope.ZONE, Scope.MARKET_IN_REGION)
        return cls(
            cloud=offer.cloud,
            region=None if scope is Scope.CLOUD else offer.region,
            zone=offer.zone if scope in (Scope.OFFER, Scope.ZONE) else None,
            instance_type=offer.instance_type if narrow else None,
            market=offer.market if by_market else None,
            kind=failure.kind,
            reason=failure.reason,
            since=now,
            until=now + failure.cool_down,
        )
