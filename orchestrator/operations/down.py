"""`gpuorch down`: remove a deployment, and say so only when the cloud does."""

from __future__ import annotations

import shutil
from dataclasses import replace

from orchestrator.errors import GpuorchError, UsageError
from orchestrator.model.deployment import Deployment, DeploymentState
from orchestrator.operations.locks import deployment_lock
from orchestrator.operations.recover import remove_everything
from orchestrator.operations.world import World

__all__ = ["named", "take_down"]

# Somebody's terraform may be in its last seconds.
_LOCK_WAIT_SECONDS = 10.0


def named(world: World, name: str) -> Deployment:
    """The deployment of that name; :class:`UsageError` with the names there are."""
    deployment = world.inventory.get(name)
    if deployment is None:
        names = ", ".join(other.name for other in world.inventory.deployments()) or "none"
        raise UsageError(f"no deployment is called {name!r}", hint=f"deployments: {names}")
    return deployment


def take_down(world: World, deployment: Deployment) -> Deployment:
    """Remove everything of ``deployment``. Asking for one that is gone already is no error.

    When anything fails, the record stays, in state ``deleting`` with the reason, and the error is raised.
    """
    with deployment_lock(world, deployment, wait_seconds=_LOCK_WAIT_SECONDS) as descriptor:
        deployment = named(world, deployment.id)
        if not deployment.state.final:
            deployment = _remove(world, deployment, descriptor)
    # Only now, when nothing exists any more, is its Terraform state of no use. (The lock makes the folder again.)
    shutil.rmtree(world.folder(deployment), ignore_errors=True)
    return deployment


def _remove(world: World, deployment: Deployment, descriptor: int) -> Deployment:
    deployment = world.inventory.save(
        replace(deployment, state=DeploymentState.DELETING, problem=""), world.clock.now(), "deletion-asked"
    )
    runner = world.open_runner(deployment.sandbox, (descriptor,))
    try:
        return remove_everything(world, deployment, runner)
    except GpuorchError as error:
        failed = replace(deployment, problem=error.message)
        world.inventory.save(failed, world.clock.now(), "deletion-failed", {"reason": error.message})
        raise
