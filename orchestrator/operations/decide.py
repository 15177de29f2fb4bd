"""From a request to ranked offers and a placement: reads the book and the remembered failures, changes nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from orchestrator.catalog.query import book_id
from orchestrator.model.demand import Demand, Request
from orchestrator.model.offer import Offer
from orchestrator.model.placement import Placement
from orchestrator.operations.cloud_settings import not_set_up
from orchestrator.operations.world import World
from orchestrator.placement.choose import Context, Ranking, place, rank
from orchestrator.profiles.resolve import resolve

__all__ = ["View", "view"]


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What the book holds for a demand. ``offers`` are all with one of its accelerators, fitting or not."""

    demand: Demand
    offers: tuple[Offer, ...]
    context: Context
    without_accelerator: int

    def ranking(self) -> Ranking:
        return rank(self.demand, self.offers, self.context)

    def placement(self) -> Placement:
        return place(self.demand, self.offers, self.context)


def view(
    world: World,
    request: Request,
    *,
    sandbox: bool,
    foreign: bool = False,
    ignore_failures: bool = False,
    everything: bool = False,
    max_price_age: timedelta | None = None,
    to_make: bool = False,
) -> View:
    """Read what a decision needs.

    ``everything``: all machines with an accelerator, to say why each dropped out. ``to_make``: a machine is to be made
    by it, so clouds that cannot be used here are left out.
    """
    demand = replace(resolve(request), max_price_age=max_price_age or world.settings["max_price_age"])
    now = world.clock.now()
    offers = tuple(world.book.offers(None if everything else demand.gpu.accelerators))
    cool_downs = () if ignore_failures else world.inventory.cool_downs(now, sandbox=sandbox)
    modules = world.modules(sandbox)
    world.tell_broken_clouds()
    usable = {offer.cloud for offer in offers} & modules if to_make and not sandbox else ()
    context = Context(
        now=now,
        book=book_id(offers, world.book.revision),
        cool_downs=cool_downs,
        modules=modules,
        rates=world.rates,
        include_foreign=foreign,
        not_set_up=not_set_up(world, sorted(usable)),
    )
    return View(
        demand=demand,
        offers=offers,
        context=context,
        without_accelerator=world.book.without_accelerator() if everything else 0,
    )
