"""Questions about a list of offers. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.model.offer import Offer
from orchestrator.model.placement import PriceBookId

__all__ = ["book_id"]


def book_id(offers: Iterable[Offer], revision: str) -> PriceBookId:
    """Which book these offers are from: its revision, and the oldest and newest observation among them."""
    times = [offer.observed_at for offer in offers]
    return PriceBookId(revision=revision, oldest=min(times, default=None), newest=max(times, default=None))
