"""Rank all offers for a demand, and place it: the cheapest that fits, and all others that fit as its fallbacks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from orchestrator.model.demand import Demand
from orchestrator.model.offer import Offer, Rejected
from orchestrator.model.placement import Placement, PriceBookId
from orchestrator.placement.context import Context
from orchestrator.placement.cooldowns import CoolDownIndex, still_fits
from orchestrator.placement.explain import no_offer, reasons
from orchestrator.placement.filters import prepared
from orchestrator.placement.on_demand import share_of_on_demand
from orchestrator.placement.score import scorer

__all__ = ["Context", "CoolDownIndex", "Ranking", "place", "rank", "share_of_on_demand", "still_fits"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Every offer exactly once: ``fitting`` cheapest first, ``rejected`` as they came."""

    fitting: tuple[Offer, ...]
    rejected: tuple[Rejected, ...]


def rank(demand: Demand, offers: Iterable[Offer], context: Context) -> Ranking:
    """Split offers into those that fit, best first, and those that do not, each with the filter that dropped it."""
    checks = prepared(demand, context)
    fitting: list[Offer] = []
    rejected: list[Rejected] = []
    for offer in offers:
        for name, check in checks:
            reason = check(offer)
            if reason is not None:
                rejected.append(Rejected(offer=offer, filter=name, reason=reason))
                break
        else:
            fitting.append(offer)
    fitting.sort(key=scorer(demand, context))
    return Ranking(fitting=tuple(fitting), rejected=tuple(rejected))


def place(demand: Demand, offers: Sequence[Offer], context: Context) -> Placement:
    """Decide: the best offer that fits and all others that do as fallbacks, in other zones, types, regions and markets.

    Offers of clouds without a module are never taken, whatever ``context.include_foreign`` says. Raises
    :class:`~orchestrator.errors.NoOffer`, which says what came nearest and carries the rejected offers.
    """
    context = replace(context, include_foreign=False)
    ranking = rank(demand, offers, context)
    if not ranking.fitting:
        raise no_offer(demand, context, ranking.rejected)
    observed = [offer.observed_at for offer in ranking.fitting]
    return Placement(
        chosen=ranking.fitting[0],
        fallbacks=ranking.fitting[1:],
        rejected=ranking.rejected,
        reasons=reasons(demand, context, ranking.fitting, ranking.rejected),
        price_book=PriceBookId(revision=context.book.revision, oldest=min(observed), newest=max(observed)),
        decided_at=context.now,
    )
