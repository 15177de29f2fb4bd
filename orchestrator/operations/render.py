"""`gpuorch render`: a root to keep, without a deployment."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from orchestrator.errors import NotSetUp
from orchestrator.model.launch import Stack
from orchestrator.model.placement import Placement
from orchestrator.operations.cloud_settings import unset_settings
from orchestrator.operations.order import Order, launch_for
from orchestrator.operations.up import propose, with_caller
from orchestrator.operations.world import World
from orchestrator.stack.render import render
from orchestrator.stack.write import write

__all__ = ["Rendered", "render_to"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    placement: Placement
    stack: Stack


def render_to(
    world: World, order: Order, folder: Path, *, ignore_failures: bool = False, max_price_age: timedelta | None = None
) -> Rendered:
    """Decide and write the root of the chosen offer into ``folder``. Nothing is applied and nothing recorded.

    The deployment's id is made from its name, so that the same request renders to the same bytes.
    """
    proposal = propose(world, order, ignore_failures=ignore_failures, max_price_age=max_price_age)
    offer = proposal.placement.chosen
    cloud = world.cloud(offer.cloud)
    if not order.sandbox and (lacking := unset_settings(world, cloud)):
        raise NotSetUp(
            lacking, hint=f"set it under [cloud_settings.{cloud.name}], or leave the cloud out: --deny-cloud"
        )
    proposal = with_caller(world, proposal)
    name = order.name or proposal.demand.gpu.label.lower()
    identity = f"r{hashlib.sha256(name.encode()).hexdigest()[:12]}"
    stack = render(launch_for(proposal.spec, offer, cloud, deployment_id=identity, name=name), cloud)
    write(stack, folder)
    return Rendered(placement=proposal.placement, stack=stack)
