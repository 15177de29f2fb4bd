"""`gpuorch status`: what there is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.options import listing_options
from orchestrator.cli.result import Result
from orchestrator.cli.session import Session

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["status"]


def complete_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Names of living deployments, for the shell."""
    session = ctx.find_object(Session)
    if session is None:
        return []
    return [item.name for item in session.world.inventory.deployments() if item.name.startswith(incomplete)]


@click.command()
@click.argument("names", nargs=-1, shell_complete=complete_names)
@click.option("--all", "all_states", is_flag=True, help="Also those that are gone.")
@click.option("--events", is_flag=True, help="Also attempts and events.")
@click.option("--offline", is_flag=True, help="Only read the records; ask no cloud, repair nothing.")
@listing_options
@click.pass_obj
def status(session: Session, names: tuple[str, ...], all_states: bool, events: bool, offline: bool) -> Result:
    """Show deployments, after asking the clouds.

    What a killed gpuorch or terraform left unfinished is finished or undone on the way.
    """
    from orchestrator.cli.deployments import attempt_record, deployment_record, status_columns, status_row
    from orchestrator.model.codec import iso
    from orchestrator.operations.down import named
    from orchestrator.operations.status import survey

    world = session.world
    wanted = [named(world, name) for name in names] or world.inventory.deployments(all_states=all_states)
    seen = survey(world, wanted, offline=offline)
    now = world.clock.now()
    records: list[dict[str, Any]] = []
    for item in seen:
        record = deployment_record(item.deployment, now)
        if events:
            identity = item.deployment.id
            record["attempts"] = [attempt_record(attempt) for attempt in world.inventory.attempts(identity)]
            record["events"] = [
                {"at": iso(event.at), "kind": event.kind, "data": dict(event.data)}
                for event in world.inventory.events(identity)
            ]
        records.append(record)

    def human(console: Console) -> None:
        from orchestrator.cli.tables import draw

        if not seen:
            console.print("no deployments; gpuorch up --profile t4x1 --sandbox makes a simulated one")
            return
        draw(console, status_columns, [status_row(item.deployment, now) for item in seen], right=("$/H", "AGE"))
        for record in records if events else []:
            for attempt in record["attempts"]:
                offer = attempt["offer"]
                place = (
                    f"{offer['cloud']} {offer['zone'] or offer['region']} {offer['instance_type']} {offer['market']}"
                )
                line = (
                    f"  {record['name']} attempt {attempt['number']}: {place} {attempt['result']} {attempt['reason']}"
                )
                console.print(line.rstrip(), markup=False, soft_wrap=True)
            for event in record["events"]:
                told = " ".join(f"{key}={value}" for key, value in event["data"].items())
                console.print(f"  {event['at']} {event['kind']} {told}".rstrip(), markup=False, soft_wrap=True)

    errors = [item.error for item in seen if item.error is not None]
    flat = [{key: value for key, value in record.items() if key not in ("attempts", "events")} for record in records]
    return Result(
        command="status",
        data={"deployments": records},
        human=human,
        rows=flat,
        errors=errors,
        partial=len(errors) < len(seen),
    )
