"""The decision: which offer, what next if it fails, what was dropped and why."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from orchestrator.model.offer import Offer, Rejected

__all__ = ["Placement", "PriceBookId"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceBookId:
    """Which book a decision was taken on: its revision, and the oldest and newest observation of the fitting offers."""

    revision: str
    oldest: datetime | None
    newest: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Data, decided once: reviewed, stored, applied, and never decided again at apply.

    ``fallbacks`` are in the order in which they will be tried; every one meets the demand as strictly as ``chosen``.
    """

    chosen: Offer
    fallbacks: tuple[Offer, ...]
    rejected: tuple[Rejected, ...]
    reasons: tuple[str, ...]
    price_book: PriceBookId
    decided_at: datetime

    @property
    def candidates(self) -> tuple[Offer, ...]:
        return (self.chosen, *self.fallbacks)
