"""`kill -9` between any two effects of up and down: no orphan, no lost record; the next command finishes or undoes."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.errors import GpuorchError
from orchestrator.model.deployment import DeploymentState
from orchestrator.operations.down import take_down
from orchestrator.operations.status import survey
from orchestrator.operations.up import resume
from orchestrator.operations.world import World
from tests.build import NOW
from tests.operations.build_world import FakeCloud, a_deployment, a_world, offers_over, placed

CAPACITY = "api error InsufficientInstanceCapacity: We currently do not have sufficient p4d.24xlarge capacity"


def _fails_in(*zones: str) -> Callable[[object], str | None]:
    def failing(values: object) -> str | None:
        assert isinstance(values, dict)
        return CAPACITY if values["zone"] in zones else None

    return failing


def _up(world: World) -> None:
    deployment = world.inventory.get("train")
    if deployment is None:
        # Two zones of one region without capacity, then another region: every kind of step is passed.
        offers = offers_over(["us-east-1", "us-west-2"])
        deployment = a_deployment(offer=offers[0])
        world.inventory.create(deployment, placed(*offers))
    resume(world, deployment, wait=NOW - NOW)


def _down(world: World) -> None:
    take_down(world, a_deployment())


def _run_and_kill(folder: Path, work: Callable[[World], None], at: int) -> bool:
    """Run ``work`` in a child that kills itself at its ``at``-th step. Whether it came to its end instead."""
    child = os.fork()
    if child == 0:
        count = 0

        def tick(name: str) -> None:
            nonlocal count
            count += 1
            if count == at:
                os.kill(os.getpid(), signal.SIGKILL)

        code = 1
        try:
            work(a_world(folder, _cloud(folder), tick=tick))
            code = 0
        except GpuorchError:
            code = 2
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return False
    assert os.WEXITSTATUS(status) == 0
    return True


def _cloud(folder: Path) -> FakeCloud:
    return FakeCloud(folder / "cloud.json", failing=_fails_in("us-east-1a", "us-east-1b"))


def _steps(tmp_path: Path, work: Callable[[World], None], before: Callable[[World], None] | None) -> list[Path]:
    """A folder for each step of ``work``, killed there."""
    folders: list[Path] = []
    for at in range(1, 500):
        folder = tmp_path / str(at)
        folder.mkdir()
        if before is not None:
            before(a_world(folder, _cloud(folder)))
        if _run_and_kill(folder, work, at):
            return folders
        folders.append(folder)
    raise AssertionError("the work never ends")


@pytest.mark.slow
def test_up_killed_anywhere_is_finished_or_undone_by_status(tmp_path: Path) -> None:
    folders = _steps(tmp_path, _up, None)
    assert len(folders) >= 40
    ends = set()
    for folder in folders:
        world = a_world(folder, _cloud(folder))
        living = world.inventory.deployments()
        seen = survey(world, living)
        assert all(item.error is None for item in seen), (folder, seen)
        left = _cloud(folder).read()
        if not living:
            # Nothing was written down, so nothing may exist.
            assert not left
            continue
        state = seen[0].deployment.state
        ends.add(state)
        if state is DeploymentState.FAILED:
            assert not left, folder
        else:
            assert state in (DeploymentState.BOOTSTRAPPING, DeploymentState.READY)
            assert sorted(item["type"] for item in left.values()) == ["aws_instance", "aws_vpc"], folder
    assert ends >= {DeploymentState.FAILED, DeploymentState.READY}


@pytest.mark.slow
def test_up_killed_anywhere_is_finished_by_up(tmp_path: Path) -> None:
    for folder in _steps(tmp_path, _up, None):
        _up(a_world(folder, _cloud(folder)))
        world = a_world(folder, _cloud(folder))
        assert [item.state for item in world.inventory.deployments()] == [DeploymentState.READY]
        left = _cloud(folder).read()
        assert sorted(item["type"] for item in left.values()) == ["aws_instance", "aws_vpc"], folder
        assert {item["zone"] for item in left.values()} == {"us-west-2a"}


@pytest.mark.slow
def test_up_killed_anywhere_is_undone_by_down(tmp_path: Path) -> None:
    for folder in _steps(tmp_path, _up, None):
        world = a_world(folder, _cloud(folder))
        if world.inventory.get("train") is not None:
            assert take_down(world, a_deployment()).state is DeploymentState.GONE
        assert not _cloud(folder).read(), folder


@pytest.mark.slow
@pytest.mark.parametrize("repair", ["status", "down"])
def test_down_killed_anywhere_is_finished(tmp_path: Path, repair: str) -> None:
    folders = _steps(tmp_path, _down, _up)
    assert len(folders) > 5
    for folder in folders:
        world = a_world(folder, _cloud(folder))
        if repair == "down":
            take_down(world, a_deployment())
        else:
            survey(world, world.inventory.deployments())
        record = world.inventory.get("train")
        assert record is not None
        if record.state is DeploymentState.GONE:
            assert not _cloud(folder).read(), folder
        else:
            # Killed before it was written down that deletion is wanted: everything is as it was.
            assert record.state is DeploymentState.READY
            assert repair == "status"
            assert len(_cloud(folder).read()) == 2
