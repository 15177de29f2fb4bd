"""The simulated clouds of this state folder, to look at and to trouble."""

from __future__ import annotations

from orchestrator.errors import UsageError
from orchestrator.model.deployment import Deployment
from orchestrator.operations.world import World
from orchestrator.sandbox.cloud import SimulatedCloud
from orchestrator.sandbox.install import database_in
from orchestrator.sandbox.machines import preempt

__all__ = ["reset", "simulated_cloud", "take_back"]


def simulated_cloud(world: World) -> SimulatedCloud:
    """The simulated clouds, made where they are not there yet."""
    return SimulatedCloud(database_in(world.sandbox_folder))


def take_back(world: World, deployment: Deployment) -> tuple[str, ...]:
    """Let the cloud take a simulated deployment's machines back, as it would spot machines; their ids."""
    if not deployment.sandbox:
        raise UsageError(
            f"{deployment.name} is a real deployment: only simulated ones can be taken back here",
            hint="gpuorch status shows which are simulated",
        )
    taken = preempt(database_in(world.sandbox_folder), world.cloud(deployment.offer.cloud), deployment.id)
    if not taken:
        raise UsageError(f"{deployment.name} has no machine to take back", hint="see gpuorch status")
    return taken


def reset(world: World) -> None:
    """Stock without limit, no faults, no remembered simulated failures. Machines stay."""
    cloud = simulated_cloud(world)
    cloud.restock()
    cloud.clear_faults()
    world.inventory.forget_cool_downs(sandbox=True)
