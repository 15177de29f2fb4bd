"""Which remembered failure covers an offer, looked up in constant time."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from orchestrator.model.failure import CoolDown
from orchestrator.model.offer import Market, Offer

__all__ = ["CoolDownIndex", "still_fits"]

_Key = tuple[str, str | None, str | None, str | None, Market | None]
_Shape = tuple[bool, bool, bool, bool]


class CoolDownIndex:
    """Remembered failures by what they cover. ``add`` those learnt on the way; of two alike, the longer one holds."""

    __slots__ = ("_by_shape",)

    def __init__(self, cool_downs: Iterable[CoolDown] = ()) -> None:
        # A shape says which fields are set: there are few, and each needs one look-up for an offer.
        self._by_shape: dict[_Shape, dict[_Key, CoolDown]] = {}
        for cool_down in cool_downs:
            self.add(cool_down)

    def add(self, cool_down: CoolDown) -> None:
        place = (cool_down.region, cool_down.zone, cool_down.instance_type, cool_down.market)
        shape = (place[0] is not None, place[1] is not None, place[2] is not None, place[3] is not None)
        known = self._by_shape.setdefault(shape, {})
        key = (cool_down.cloud, *place)
        if key not in known or known[key].until < cool_down.until:
            known[key] = cool_down

    def covering(self, offer: Offer, now: datetime) -> CoolDown | None:
        """The failure that still holds against ``offer``, of several the one that lasts longest."""
        found: CoolDown | None = None
        for (region, zone, instance_type, market), known in self._by_shape.items():
            one = known.get(
                (
                    offer.cloud,
                    offer.region if region else None,
                    offer.zone if zone else None,
                    offer.instance_type if instance_type else None,
                    offer.market if market else None,
                )
            )
            if one is not None and one.until > now and (found is None or one.until > found.until):
                found = one
        return found


def still_fits(offer: Offer, cool_downs: CoolDownIndex | Iterable[CoolDown], now: datetime) -> CoolDown | None:
    """What stands against trying ``offer`` now: the cool-down that covers it, or ``None``.

    Give it a :class:`CoolDownIndex`, kept up with ``add``, when walking down many candidates.
    """
    index = cool_downs if isinstance(cool_downs, CoolDownIndex) else CoolDownIndex(cool_downs)
    return index.covering(offer, now)
