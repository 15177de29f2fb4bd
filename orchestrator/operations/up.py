"""`gpuorch up`: decide, write down, provision, wait."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

from orchestrator.errors import GpuorchError, NoOffer, NotSetUp, Refused, UsageError
from orchestrator.model.demand import Access, Demand
from orchestrator.model.deployment import Deployment, DeploymentState, valid_name
from orchestrator.model.offer import OfferKey, Rejected
from orchestrator.model.placement import Placement
from orchestrator.operations.cloud_settings import cloud_settings
from orchestrator.operations.decide import View, view
from orchestrator.operations.locks import deployment_lock
from orchestrator.operations.order import Order, caller, launch_for, specification
from orchestrator.operations.places import current_place
from orchestrator.operations.provision import provision
from orchestrator.operations.ready import wait_until_ready
from orchestrator.operations.world import World

__all__ = ["HOURS_PER_MONTH", "Proposal", "bring_up", "propose", "resume", "with_caller"]

# The month of cloud price lists: 365 days × 24 hours / 12.
HOURS_PER_MONTH = Decimal(730)

_NAME_TRIES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A decision before anything is done: shown, confirmed, and then brought up as it stands."""

    name: str
    demand: Demand
    placement: Placement
    spec: dict[str, Any]
    sandbox: bool

    @property
    def price_per_month(self) -> Decimal | None:
        price = self.placement.chosen.price_per_hour
        return None if price is None else price * HOURS_PER_MONTH


def propose(
    world: World,
    order: Order,
    *,
    ignore_failures: bool = False,
    max_price_age: timedelta | None = None,
    to_make: bool = False,
) -> Proposal:
    """Decide what ``order`` would give. Changes nothing and asks no network.

    ``to_make``: leave out clouds that cannot be used here; :class:`NotSetUp` when that leaves none.

    Raises :class:`NoOffer`, and :class:`UsageError` or :class:`Refused` for what no cloud that is left can do.
    """
    if order.name is not None and not valid_name(order.name):
        raise UsageError(
            f"--name {order.name!r} is not usable",
            hint="use 2 to 40 lower-case letters, digits and dashes, beginning with a letter",
        )
    seen = view(
        world,
        order.request,
        sandbox=order.sandbox,
        ignore_failures=ignore_failures,
        max_price_age=max_price_age,
        to_make=to_make,
    )
    placement = _placement(seen)
    label = seen.demand.gpu.label
    spec = specification(world, order, label)
    for each in sorted({offer.cloud for offer in placement.candidates}):
        spec["cloud_settings"][each] = cloud_settings(
            world, world.cloud(each), sandbox=order.sandbox, looking=not to_make
        )
    name = order.name or _free_name(world, label)
    if refused := _refusals(world, placement, spec, name):
        placement = _without(seen, placement, refused)
    return Proposal(name=name, demand=seen.demand, placement=placement, spec=spec, sandbox=order.sandbox)


def _placement(seen: View) -> Placement:
    try:
        return seen.placement()
    except NoOffer as error:
        if any(rejected.filter == "not-set-up" for rejected in error.rejected):
            missing = "; ".join(sorted(set(seen.context.not_set_up.values())))
            raise NotSetUp(f"offers fit, but their clouds cannot be used here: {missing}", hint=error.hint) from error
        raise


def bring_up(world: World, proposal: Proposal, *, wait: timedelta | None) -> Deployment:
    """Make the proposal real: the record first, then the machine, then (``wait``) its readiness."""
    proposal = with_caller(world, proposal)
    now = world.clock.now()
    ttl = proposal.spec["ttl_seconds"]
    deployment = Deployment(
        # Begins with a letter and has no dash, so that every cloud takes it in a name.
        id=f"g{secrets.token_hex(6)}",
        name=proposal.name,
        owner=proposal.spec["owner"],
        state=DeploymentState.PLANNED,
        created_at=now,
        updated_at=now,
        expires_at=now + timedelta(seconds=ttl) if ttl else None,
        sandbox=proposal.sandbox,
        spec=proposal.spec,
        offer=proposal.placement.chosen,
    )
    world.inventory.create(deployment, proposal.placement)
    return resume(world, deployment, wait=wait)


def with_caller(world: World, proposal: Proposal) -> Proposal:
    """The proposal with the caller's own address allowed, where SSH was asked for and nobody named one."""
    if proposal.spec["access"] != Access.SSH or proposal.spec["ssh_allowed_cidrs"]:
        return proposal
    chosen = proposal.placement.chosen.cloud
    names = (chosen, *sorted(world.modules(proposal.sandbox) - {chosen}))
    cidrs = caller((world.cloud(name) for name in names), sandbox=proposal.sandbox)
    return replace(proposal, spec={**proposal.spec, "ssh_allowed_cidrs": cidrs})


def resume(world: World, deployment: Deployment, *, wait: timedelta | None) -> Deployment:
    """Go on with a deployment from where its record stands, as often as it takes.

    What was interrupted is repaired first. A machine that is ready already is returned as it is.
    """
    if deployment.state in (DeploymentState.PLANNED, DeploymentState.CREATING):
        with deployment_lock(world, deployment) as descriptor:
            deployment = world.inventory.get(deployment.id) or deployment
            runner = world.open_runner(deployment.sandbox, (descriptor,))
            if deployment.state is DeploymentState.CREATING:
                place = current_place(world, deployment, runner)
                if place is not None:
                    place.adopt_strays()
                    place.keep_machine()
            if deployment.state in (DeploymentState.PLANNED, DeploymentState.CREATING):
                deployment = provision(world, deployment, runner)
    if deployment.state in (DeploymentState.BOOTSTRAPPING, DeploymentState.DEGRADED) and wait is not None:
        return wait_until_ready(world, deployment, wait)
    return deployment


def _refusals(world: World, placement: Placement, spec: dict[str, Any], name: str) -> dict[OfferKey, GpuorchError]:
    """The candidates that cannot be as it is asked (an image, a subnet, a label that their cloud does not take)."""
    refused: dict[OfferKey, GpuorchError] = {}
    for offer in placement.candidates:
        cloud = world.cloud(offer.cloud)
        try:
            cloud.check(launch_for(spec, offer, cloud, deployment_id="g000000000000", name=name))
        except (UsageError, Refused) as error:
            refused[offer.key] = error
    return refused


def _without(seen: View, placement: Placement, refused: Mapping[OfferKey, GpuorchError]) -> Placement:
    """The placement over the candidates that are left; with none left, the first one's refusal is raised."""
    if all(offer.key in refused for offer in placement.candidates):
        raise refused[placement.chosen.key]
    left = replace(seen, offers=tuple(offer for offer in seen.offers if offer.key not in refused)).placement()
    unsuited = tuple(
        Rejected(offer=offer, filter="unsuited", reason=refused[offer.key].message)
        for offer in placement.candidates
        if offer.key in refused
    )
    return replace(left, rejected=(*left.rejected, *unsuited))


def _free_name(world: World, label: str) -> str:
    """The profile's label and four random letters, so that several of one profile can be told apart."""
    base = "".join(letter if letter.isalnum() else "-" for letter in label.lower()).strip("-")[:30].strip("-")
    base = base if base[:1].isalpha() else f"gpu-{base}".strip("-")
    for _ in range(_NAME_TRIES):
        name = f"{base}-{secrets.token_hex(2)}"
        if world.inventory.get(name) is None:
            return name
    raise Refused(f"{_NAME_TRIES} names beginning with {base} are taken", hint="choose one with --name")
