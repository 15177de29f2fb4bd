"""`gpuorch sandbox`: the simulated clouds."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.commands.status import complete_names
from orchestrator.cli.options import DURATION, common_options, listing_options
from orchestrator.cli.result import Result
from orchestrator.cli.session import Session

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["sandbox"]


@click.group()
@common_options
def sandbox() -> None:
    """Look at the simulated clouds, and give them trouble."""


def _said(command: str, text: str, **data: Any) -> Result:
    return Result(
        command=f"sandbox {command}",
        data={"message": text, **data},
        human=lambda console: console.print(text, markup=False, soft_wrap=True),
    )


@sandbox.command()
@listing_options
@click.pass_obj
def status(session: Session) -> Result:
    """Show what exists in the simulated clouds, what is short and what is ordered to fail."""
    from orchestrator.model.codec import iso
    from orchestrator.operations.simulation import simulated_cloud

    cloud = simulated_cloud(session.world)
    now = cloud.now()
    resources = [
        {
            "cloud": resource.cloud,
            "region": resource.region,
            "type": resource.type,
            "id": resource.id,
            "deployment": resource.deployment,
            "zone": resource.machine.zone if resource.machine else "",
            "market": resource.machine.market if resource.machine else "",
        }
        for resource in cloud.resources()
    ]
    shortages = [
        {
            "cloud": shortage.cloud,
            "place": shortage.place,
            "instance_type": shortage.instance_type,
            "market": shortage.market,
            "machines": shortage.machines,
        }
        for shortage in cloud.shortages()
    ]

    def human(console: Console) -> None:
        from orchestrator.cli.tables import draw

        console.print(f"simulated time {iso(now)}", markup=False)
        columns = ("CLOUD", "REGION", "TYPE", "ID", "DEPLOYMENT", "ZONE", "MARKET")
        draw(console, columns, [[str(value) for value in row.values()] for row in resources])
        for shortage in shortages:
            kind = f"{shortage['instance_type']} {shortage['market']}"
            text = f"short: {shortage['cloud']} {shortage['place']} {kind}: at most {shortage['machines']}"
            console.print(text, markup=False)

    data = {"time": iso(now), "resources": resources, "shortages": shortages}
    return Result(command="sandbox status", data=data, human=human, rows=resources)


@sandbox.command()
@click.argument("place", default="*")
@click.option("--cloud", default="*", metavar="GLOB", help="Which clouds; default all.")
@click.option("--type", "instance_type", default="*", metavar="GLOB", help="Which instance types; default all.")
@click.option("--market", default="*", metavar="GLOB", help="spot, on-demand …; default all.")
@click.option("--machines", default=0, type=click.IntRange(min=0), help="How many may still run. Default: none.")
@common_options
@click.pass_obj
def exhaust(session: Session, place: str, cloud: str, instance_type: str, market: str, machines: int) -> Result:
    """Let a zone or region (a glob) run out of machines."""
    from orchestrator.operations.simulation import simulated_cloud

    simulated_cloud(session.world).exhaust(cloud, place, instance_type, market, machines)
    return _said("exhaust", f"{cloud} {place}: at most {machines} machines of {instance_type} {market}")


@sandbox.command()
@click.argument("name", shell_complete=complete_names)
@common_options
@click.pass_obj
def preempt(session: Session, name: str) -> Result:
    """Take a simulated deployment's machine back, as a cloud does with spot machines."""
    from orchestrator.operations.down import named
    from orchestrator.operations.simulation import take_back

    world = session.world
    taken = take_back(world, named(world, name))
    return _said("preempt", f"{name} lost {', '.join(taken)}", machines=list(taken))


@sandbox.command()
@click.argument("time", type=DURATION)
@common_options
@click.pass_obj
def advance(session: Session, time: timedelta) -> Result:
    """Let simulated time pass at once, e.g. 8h."""
    from orchestrator.model.codec import iso
    from orchestrator.operations.simulation import simulated_cloud

    cloud = simulated_cloud(session.world)
    cloud.advance(time)
    return _said("advance", f"simulated time is now {iso(cloud.now())}", time=iso(cloud.now()))


@sandbox.command()
@click.argument("error")
@click.option("--operation", type=click.Choice(["create", "update", "delete", "read"]), default="create")
@click.option("--cloud", default="*", metavar="GLOB", help="Which clouds; default all.")
@click.option("--type", "type_", default="*", metavar="GLOB", help="Which resource types; default all.")
@click.option("--times", type=click.IntRange(min=1), help="How often; default always.")
@click.option("--delay", default=0.0, type=click.FloatRange(min=0), metavar="SECONDS", help="Before the answer.")
@common_options
@click.pass_obj
def fault(
    session: Session, error: str, operation: str, cloud: str, type_: str, times: int | None, delay: float
) -> Result:
    """Let calls to the simulated clouds fail with the text ERROR."""
    from orchestrator.operations.simulation import simulated_cloud
    from orchestrator.sandbox.faults import Fault

    ordered = Fault(operation=operation, cloud=cloud, type=type_, error=error, times=times, delay_before=delay)
    simulated_cloud(session.world).order_fault(ordered)
    often = f"{times} times" if times else "always"
    return _said("fault", f"{operation} of {cloud} {type_} fails {often}: {error}")


@sandbox.command()
@common_options
@click.pass_obj
def reset(session: Session) -> Result:
    """Take all shortages, faults and remembered simulated failures back. Machines stay."""
    from orchestrator.operations import simulation

    simulation.reset(session.world)
    return _said("reset", "stock is without limit, and nothing is ordered to fail")
