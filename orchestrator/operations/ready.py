"""Waiting for a machine to say that it is ready, by whichever of its ways of speaking we can hear."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

from orchestrator.errors import CloudCallFailed, NotReady
from orchestrator.model.demand import Access
from orchestrator.model.deployment import Deployment, DeploymentState
from orchestrator.model.machine import MachineState, ReadyReport
from orchestrator.operations.ssh import ssh_command
from orchestrator.operations.world import World
from orchestrator.stack.readiness import from_console, from_status_json, status_uri

__all__ = ["look", "wait_until_ready"]

_PAUSE_SECONDS = 10.0
_SANDBOX_PAUSE_SECONDS = 0.25
# A wait goes on over so many calls in a row that fail: a minute's trouble at the cloud must not end it.
_UNANSWERED = 6
# A cloud's lists lag behind what it has just made; missing from one means gone only after this time.
_VISIBLE_WITHIN = timedelta(minutes=1)
_STATUS_FILE = "/var/lib/gpuorch/status.json"


def wait_until_ready(world: World, deployment: Deployment, timeout: timedelta) -> Deployment:
    """Wait until the machine reports itself ready and record it.

    Raises :class:`NotReady` when a bootstrap step failed, the machine went away, or the time is over; the machine
    then stays, recorded as degraded (or lost).
    """
    deadline = world.clock.now() + timeout
    pause = _SANDBOX_PAUSE_SECONDS if deployment.sandbox else _PAUSE_SECONDS
    # Whatever it was called before: this is another try at hearing it.
    deployment = replace(deployment, state=DeploymentState.BOOTSTRAPPING)
    unanswered = 0
    with world.progress.stage("bootstrap") as stage:
        while True:
            try:
                deployment, report = look(world, deployment)
                unanswered = 0
            except CloudCallFailed as error:
                unanswered += 1
                if unanswered == _UNANSWERED:
                    raise
                report = None
                stage.detail(error.message)
            if deployment.state is DeploymentState.READY:
                stage.detail(f"ready, by its {deployment.ready_source}")
                return deployment
            if deployment.state in (DeploymentState.LOST, DeploymentState.DEGRADED):
                reachable = deployment.state is DeploymentState.DEGRADED and deployment.spec["access"] != Access.NONE
                look_at_it = f"look at it with gpuorch ssh {deployment.name}, or " if reachable else ""
                raise NotReady(
                    f"{deployment.name}: {deployment.problem}",
                    hint=f"{look_at_it}remove what there is: gpuorch down {deployment.name}",
                )
            if report:
                stage.detail(f"{report.step} ({report.number} of {report.total}, by its {report.source})")
            if world.clock.now() >= deadline:
                break
            world.clock.sleep(pause)
    problem = f"did not report itself ready within {timeout}"
    deployment = replace(deployment, state=DeploymentState.DEGRADED, problem=problem)
    world.inventory.save(deployment, world.clock.now(), "not-ready", {"reason": problem})
    raise NotReady(
        f"{deployment.name} {problem}",
        hint=f"it exists and costs money: gpuorch status looks again, gpuorch down {deployment.name} removes it",
    )


def look(world: World, deployment: Deployment) -> tuple[Deployment, ReadyReport | None]:
    """Ask the cloud and the machine once, and record what changed: ready, degraded, or lost.

    Raises :class:`CloudCallFailed` when the cloud does not answer.
    """
    offer = deployment.offer
    api = world.machines(deployment, offer)
    machines = api.find(deployment.id)
    now = world.clock.now()
    if not machines and now - deployment.updated_at < _VISIBLE_WITHIN:
        return deployment, None
    if not any(machine.state.billed and machine.state is not MachineState.TERMINATING for machine in machines):
        over = deployment.expires_at is not None and deployment.expires_at <= now
        reason = next((machine.state_reason for machine in machines if machine.state_reason), "")
        problem = (
            "ended itself: its time was over" if over else f"the machine is gone{f' ({reason})' if reason else ''}"
        )
        lost = replace(deployment, state=DeploymentState.LOST, problem=problem)
        return world.inventory.save(lost, now, "machine-gone", {"reason": problem}), None
    if deployment.state is DeploymentState.READY:
        return deployment, None
    report = next(iter(_reports(world, deployment)), None)
    if report is None:
        return deployment, None
    if report.ready:
        ready = replace(deployment, state=DeploymentState.READY, ready_source=report.source, problem="")
        return world.inventory.save(ready, now, "ready", {"source": report.source}), report
    if report.failed:
        problem = f"bootstrap step {report.step} failed: {report.failed}"
        failed = replace(deployment, state=DeploymentState.DEGRADED, problem=problem)
        return world.inventory.save(failed, now, "bootstrap-failed", {"reason": problem}), report
    return deployment, report


def _reports(world: World, deployment: Deployment) -> Iterator[ReadyReport]:
    """What each way of speaking says, in the order of trust; those that say nothing are left out."""
    offer = deployment.offer
    api = world.machines(deployment, offer)
    checkpoint = deployment.spec["checkpoint_uri"]
    if checkpoint:
        text = api.read_object(status_uri(checkpoint, deployment.id))
        if text and (report := from_status_json(text, "marker", deployment.id)):
            yield report
    if deployment.spec["access"] == Access.SSH and not deployment.sandbox:
        text = _over_ssh(world, deployment)
        if text and (report := from_status_json(text, "ssh", deployment.id)):
            yield report
    try:
        console = api.console(str(deployment.outputs.get("machine_id", "")))
    except CloudCallFailed:
        # Not every account may read consoles, and not every machine has one; the time limit of the wait still holds.
        return
    if report := from_console(console, deployment.id):
        yield report


def _over_ssh(world: World, deployment: Deployment) -> str | None:
    command = ssh_command(world, deployment, ("cat", _STATUS_FILE), batch=True)
    try:
        ended = subprocess.run(
            command, capture_output=True, text=True, timeout=20, stdin=subprocess.DEVNULL, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return ended.stdout if ended.returncode == 0 else None
