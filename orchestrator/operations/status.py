"""`gpuorch status`: what there is, after asking the clouds, and after taking up what was interrupted."""

from __future__ import annotations

from dataclasses import dataclass, replace

from orchestrator.errors import Busy, GpuorchError
from orchestrator.model.deployment import Deployment, DeploymentState
from orchestrator.operations.locks import deployment_lock
from orchestrator.operations.ready import look
from orchestrator.operations.recover import recover
from orchestrator.operations.world import World

__all__ = ["Seen", "survey"]

_ALIVE = (DeploymentState.BOOTSTRAPPING, DeploymentState.READY, DeploymentState.DEGRADED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A deployment as it is now; ``error`` where the cloud could not be asked or a repair failed."""

    deployment: Deployment
    error: GpuorchError | None = None


def survey(world: World, deployments: list[Deployment], *, offline: bool = False) -> list[Seen]:
    """Look at each deployment; ``offline`` only reads the records. One that fails does not hide the others."""
    return [Seen(deployment=deployment) if offline else _look(world, deployment) for deployment in deployments]


def _look(world: World, deployment: Deployment) -> Seen:
    try:
        if deployment.state.unfinished:
            deployment = _take_up(world, deployment)
        if deployment.state in _ALIVE:
            deployment, _ = look(world, deployment)
    except Busy:
        return Seen(deployment=replace(deployment, problem="being worked on by another process"))
    except GpuorchError as error:
        return Seen(deployment=replace(deployment, problem=error.message), error=error)
    return Seen(deployment=deployment)


def _take_up(world: World, deployment: Deployment) -> Deployment:
    with deployment_lock(world, deployment) as descriptor:
        # It may have been finished while this process waited for nothing: read it again under the lock.
        current = world.inventory.get(deployment.id) or deployment
        if not current.state.unfinished:
            return current
        return recover(world, current, world.open_runner(current.sandbox, (descriptor,)))
