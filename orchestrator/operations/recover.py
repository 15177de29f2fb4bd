"""Taking up what a killed process left: finish it when the machine exists, undo it when it does not."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.model.deployment import Deployment, DeploymentState
from orchestrator.operations.places import current_place, places_of
from orchestrator.operations.provision import finish
from orchestrator.operations.world import World
from orchestrator.runner.contract import Runner

__all__ = ["recover", "remove_everything"]


def recover(world: World, deployment: Deployment, runner: Runner) -> Deployment:
    """Bring an unfinished deployment to a state that holds. Its lock must be held, so nobody else is at work on it.

    Never makes a machine that was not there: that needs somebody's word (``gpuorch up NAME``).
    """
    if deployment.state is DeploymentState.DELETING:
        return remove_everything(world, deployment, runner)
    if deployment.state is DeploymentState.PLANNED:
        return _failed(world, deployment, "interrupted before anything was begun")
    with world.progress.stage(f"take up {deployment.name}, which was interrupted") as stage:
        place = current_place(world, deployment, runner)
        if place is not None and place.adopt_strays() and place.machines():
            place.keep_machine()
            stage.detail("its machine exists: finishing")
            return finish(world, deployment, runner)
        stage.detail("its machine does not exist: undoing")
        return _undo(world, deployment, runner)


def remove_everything(world: World, deployment: Deployment, runner: Runner) -> Deployment:
    """Remove the deployment in every place an attempt was begun; ``gone`` only on the cloud's word."""
    for place in places_of(world, deployment, runner):
        with world.progress.stage(f"remove {place.offer.cloud} {place.offer.region}"):
            place.destroy()
    return world.inventory.save(replace(deployment, state=DeploymentState.GONE, problem=""), world.clock.now(), "gone")


def _undo(world: World, deployment: Deployment, runner: Runner) -> Deployment:
    for place in places_of(world, deployment, runner):
        place.destroy()
    return _failed(world, deployment, "interrupted before the machine existed; what had been made is removed")


def _failed(world: World, deployment: Deployment, problem: str) -> Deployment:
    failed = replace(deployment, state=DeploymentState.FAILED, problem=problem)
    return world.inventory.save(failed, world.clock.now(), "undone", {"reason": problem})
