"""`gpuorch up`: from a profile to a running machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.options import DURATION, common_options, request_options
from orchestrator.cli.result import Result
from orchestrator.cli.session import Session
from orchestrator.errors import GpuorchError, Interrupted, Refused, UsageError

if TYPE_CHECKING:
    from datetime import timedelta

    from rich.console import Console

    from orchestrator.model.deployment import Deployment
    from orchestrator.operations.up import Proposal

__all__ = ["order_options", "up"]


def order_options(function: Any) -> Any:
    """The options that say what is made around the machine; shared by ``up`` and ``render``."""
    for option in (
        click.option("--label", "labels", multiple=True, metavar="KEY=VALUE", help="A further tag; repeatable."),
        click.option(
            "--checkpoint", metavar="URI", help="Object store prefix the machine may use, e.g. s3://bucket/run."
        ),
        click.option("--disk-gib", type=click.IntRange(min=8, max=16384), help="Root disk. Default: 200."),
        click.option("--subnet", metavar="ID", help="Existing subnet. Default: an own network is made."),
        click.option("--image", help="Machine image. Default: the cloud's deep learning image."),
        click.option("--ssh-from", multiple=True, metavar="CIDR", help="Who may reach SSH. Default: your address."),
        click.option("--ssh-key", type=click.Path(dir_okay=False, path_type=Path), help="Public key file."),
        click.option("--access", type=click.Choice(["ssh", "session", "none"]), help="How to reach the machine."),
        click.option("--owner", help="Stands in tags. Default: your login name."),
        click.option("--ttl", type=DURATION, help="The machine ends itself after this time, e.g. 8h."),
        click.option("--nodes", type=int, default=None, help="Machines; only 1 for now."),
        click.option("--name", help="Name of the deployment. Default: made from the profile."),
        click.option(
            "-f",
            "--file",
            type=click.Path(dir_okay=False, path_type=Path),
            help="Specification as YAML; options beat it.",
        ),
    ):
        function = option(function)
    return function


@click.command()
@order_options
@request_options
@click.option("--dry-run", is_flag=True, help="Decide and show; change nothing.")
@click.option("--no-wait", is_flag=True, help="Do not wait for the machine to report itself ready.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@common_options
@click.pass_obj
def up(session: Session, /, dry_run: bool, no_wait: bool, yes: bool, **typed: Any) -> Result:
    """Bring up the cheapest machine that fits.

    Shows what it will cost and why it was chosen, asks, renders Terraform, applies it and waits until the machine
    reports itself ready. When an offer cannot be had, the next one is tried.

    \b
    gpuorch up --profile a100x8 --spot --sandbox
    gpuorch up --gpu A100-80GB:8 --market auto --region 'us-*' --max-price 15 --ttl 8h
    gpuorch up -f job.yaml --yes -o json
    """
    from orchestrator.cli.ordering import order_from
    from orchestrator.operations.up import bring_up, propose

    if not dry_run:
        session.conversation.require_consent(yes=yes)
    world = session.world
    order = order_from(typed, session.settings)
    existing = world.inventory.get(order.name) if order.name else None
    wait: timedelta | None = None if no_wait else session.settings["ready_timeout"]
    if existing is not None and not existing.state.final:
        return _again(session, existing, order, wait, dry_run=dry_run, yes=yes)
    proposal = propose(
        world,
        order,
        ignore_failures=typed["ignore_failures"],
        max_price_age=typed["max_price_age"],
        to_make=not dry_run,
    )
    if dry_run:
        return _result(session, proposal, None, None)
    if session.output == "table" and not session.conversation.quiet:
        _explain(session, proposal)
    if not session.conversation.confirm(_question(proposal), yes=yes):
        raise Refused("nothing was made", hint="answer y, or give --yes")
    try:
        deployment = bring_up(world, proposal, wait=wait)
    except (GpuorchError, KeyboardInterrupt) as error:
        return _result(session, proposal, world.inventory.get(proposal.name), _told(error, proposal.name))
    return _result(session, proposal, deployment, None)


def _again(session: Session, existing: Deployment, order: Any, wait: Any, *, dry_run: bool, yes: bool) -> Result:
    """`up` with the name of a deployment that lives: finish what was interrupted, or say that it is there."""
    from orchestrator.model.deployment import DeploymentState
    from orchestrator.operations.up import resume
    from orchestrator.profiles.resolve import resolve

    name = existing.name
    label = resolve(order.request).gpu.label
    if label != existing.spec["profile"] or order.sandbox != existing.sandbox:
        raise UsageError(
            f"a deployment called {name!r} exists with profile {existing.spec['profile']}"
            f"{' in the sandbox' if existing.sandbox else ''}, and this asks for another",
            hint=f"choose another --name, or remove it first: gpuorch down {name}",
        )
    if existing.state in (DeploymentState.DELETING, DeploymentState.LOST):
        raise UsageError(f"{name} is {existing.state}", hint=f"finish its removal first: gpuorch down {name}")
    if dry_run:
        return _result(session, None, existing, None)
    if existing.state.unfinished:
        session.conversation.say(f"{name} was interrupted in state {existing.state}: going on")
        if not session.conversation.confirm(f"Go on with {name}?", yes=yes):
            raise Refused("nothing was changed", hint=f"gpuorch down {name} removes it")
    try:
        return _result(session, None, resume(session.world, existing, wait=wait), None)
    except (GpuorchError, KeyboardInterrupt) as error:
        return _result(session, None, session.world.inventory.get(existing.id), _told(error, name))


def _told(error: BaseException, name: str) -> GpuorchError:
    if isinstance(error, GpuorchError):
        return error
    return Interrupted("interrupted", hint=f"gpuorch status {name} shows how far it is, gpuorch down {name} removes it")


def _question(proposal: Proposal) -> str:
    from orchestrator.cli.figures import money_text

    chosen = proposal.placement.chosen
    price = money_text(chosen.price_per_hour, chosen.currency)
    return f"Bring up {proposal.name} at {price}/h{' (simulated)' if proposal.sandbox else ''}?"


def _explain(session: Session, proposal: Proposal) -> None:
    for line in proposal_lines(session, proposal):
        session.conversation.say(line)


def proposal_lines(session: Session, proposal: Proposal) -> list[str]:
    """What a proposal means, in lines: the offer, its price per hour and month, why, what next, what limits hold."""
    from orchestrator.cli.figures import age_text, duration_text, money_text, offer_text

    chosen = proposal.placement.chosen
    now = session.world.clock.now()
    spec = proposal.spec
    month = money_text(proposal.price_per_month, chosen.currency)
    ttl = f"ends itself after {duration_text(spec['ttl_seconds'])}" if spec["ttl_seconds"] else "no time limit (--ttl)"
    cap = f"at most ${spec['max_price_per_hour']}/h" if spec["max_price_per_hour"] else "no price limit (--max-price)"
    fallbacks = proposal.placement.fallbacks
    lines = [
        f"{proposal.name}: {offer_text(chosen)}{' — simulated' if proposal.sandbox else ''}",
        f"  cost      {money_text(chosen.price_per_hour, chosen.currency)}/h, {month} for a month of 730 h;"
        f" disk, traffic and addresses not included",
        f"  price     observed {age_text(chosen.age_seconds(now))} ago, {chosen.source}",
        f"  limits    {cap}; {ttl}",
        *(f"  why       {reason}" for reason in proposal.placement.reasons),
    ]
    if fallbacks:
        lines.append(f"  if not    {len(fallbacks)} more, next {offer_text(fallbacks[0])}")
    return lines


def _result(
    session: Session, proposal: Proposal | None, deployment: Deployment | None, error: GpuorchError | None
) -> Result:
    from orchestrator.cli.deployments import attempt_record, deployment_record, machine_lines
    from orchestrator.model.codec import money, placement_record
    from orchestrator.operations.up import HOURS_PER_MONTH

    world = session.world
    now = world.clock.now()
    placement = proposal.placement if proposal else None
    if placement is None and deployment is not None:
        placement = world.inventory.placement(deployment.id)
    attempts = world.inventory.attempts(deployment.id) if deployment else []
    # Of what was had in the end, which after a failed attempt is dearer than what was chosen.
    offer = deployment.offer if deployment else placement.chosen if placement else None
    month = offer.price_per_hour * HOURS_PER_MONTH if offer and offer.price_per_hour is not None else None
    data = {
        "placement": placement_record(placement, now=now) if placement else None,
        "attempts": [attempt_record(attempt) for attempt in attempts],
        "deployment": deployment_record(deployment, now) if deployment else None,
        "name": deployment.name if deployment else proposal.name if proposal else None,
        "price_per_month": money(month),
        "dry_run": deployment is None,
    }

    def human(console: Console) -> None:
        if deployment is not None:
            lines = machine_lines(deployment)
        else:
            lines = [*proposal_lines(session, proposal), "dry run: nothing was made"] if proposal else []
        console.print("\n".join(lines), markup=False, soft_wrap=True)

    return Result(command="up", data=data, human=None if error else human, errors=[error] if error else [])
