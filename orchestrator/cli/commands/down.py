"""`gpuorch down`: remove deployments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.commands.status import complete_names
from orchestrator.cli.options import listing_options
from orchestrator.cli.result import Result
from orchestrator.cli.session import Session
from orchestrator.errors import GpuorchError, Refused, UsageError

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["down"]


@click.command()
@click.argument("names", nargs=-1, shell_complete=complete_names)
@click.option("--all", "every", is_flag=True, help="Every living deployment.")
@click.option("--sandbox", is_flag=True, help="With --all: only simulated ones.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@listing_options
@click.pass_obj
def down(session: Session, names: tuple[str, ...], every: bool, sandbox: bool, yes: bool) -> Result:
    """Remove deployments, on the cloud's word.

    A deployment is gone when the cloud confirms it. Until then it stays listed, and the exit code is 1.
    """
    from orchestrator.cli.deployments import deployment_record
    from orchestrator.operations.down import named, take_down

    if bool(names) == every:
        raise UsageError("name deployments, or give --all (not both)", hint="gpuorch status lists them")
    world = session.world
    wanted = [named(world, name) for name in dict.fromkeys(names)]
    if every:
        wanted = [item for item in world.inventory.deployments() if item.sandbox or not sandbox]
    living = [item for item in wanted if not item.state.final]
    if living:
        listed = ", ".join(item.name for item in living)
        # Removing several at once is confirmed by their number: a y out of habit must not do it.
        expect = str(len(living)) if every else ""
        if not session.conversation.confirm(f"Remove {listed}?", yes=yes, expect=expect):
            raise Refused("nothing was removed", hint="answer as asked, or give --yes")
    done: list[dict[str, Any]] = []
    errors: list[GpuorchError] = []
    for item in wanted:
        try:
            item = take_down(world, item)
        except GpuorchError as error:
            errors.append(error)
            item = world.inventory.get(item.id) or item
        done.append(deployment_record(item, world.clock.now()))

    def human(console: Console) -> None:
        for record in done:
            console.print(f"{record['name']} is {record['state']}", markup=False)
        if not done:
            console.print("nothing to remove")

    partial = 0 < len(errors) < len(done)
    return Result(command="down", data={"deployments": done}, human=human, rows=done, errors=errors, partial=partial)
