"""gpuorch and terraform killed for real, in the middle: nothing is forgotten, the next command finishes or undoes."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from orchestrator.sandbox.faults import Fault
from tests.end_to_end.build_cli_runs import Gpuorch, a_gpuorch, children_of, kill_group, until

pytestmark = [pytest.mark.terraform, pytest.mark.slow]

UP = ("up", "--profile", "a100x8", "--spot", "--sandbox", "--yes", "--name", "train")
SMALL = ("up", "--profile", "t4x1", "--spot", "--sandbox", "--yes", "--name", "train")


def _slow_answer(gpuorch: Gpuorch, type_: str = "aws_instance", *, seconds: float = 60.0) -> None:
    """The next thing of this type is made, but the cloud takes its time to say so."""
    gpuorch.cloud.order_fault(Fault(operation="create", type=type_, times=1, delay_after=seconds))


def _made(gpuorch: Gpuorch, type_: str) -> bool:
    return type_ in gpuorch.existing()


def _in_the_middle(gpuorch: Gpuorch, *words: str, type_: str = "aws_instance") -> tuple[subprocess.Popen[str], int]:
    """`up` as it waits for the cloud's answer, and the pid of its terraform."""
    process = gpuorch.start(*words)
    until(lambda: _made(gpuorch, type_), process=process)
    (terraform,) = children_of(process.pid)
    return process, terraform


def _kill_both(process: subprocess.Popen[str], terraform: int) -> None:
    process.kill()
    kill_group(terraform)
    process.communicate()


def test_terraform_alone_killed_leaves_no_second_machine(tmp_path: Path) -> None:
    """gpuorch goes on to the next offer, here in the same zone, and the machine that terraform forgot goes away."""
    gpuorch = a_gpuorch(tmp_path)
    _slow_answer(gpuorch)
    process, terraform = _in_the_middle(gpuorch, *SMALL)
    kill_group(terraform)
    run = gpuorch.end(process)
    assert "terraform was killed by signal 9" in run.err
    assert len(gpuorch.machines()) == 1
    assert gpuorch.deployment()["machine_id"] in {resource.id for resource in gpuorch.cloud.resources()}
    gpuorch("down", "train", "--yes")
    assert gpuorch.existing() == []


def test_both_killed_and_status_adopts_the_machine(tmp_path: Path) -> None:
    gpuorch = a_gpuorch(tmp_path)
    _slow_answer(gpuorch)
    _kill_both(*_in_the_middle(gpuorch, *UP))
    (before,) = [each.id for each in gpuorch.cloud.resources() if each.machine is not None]
    (root,) = gpuorch.roots()
    assert "aws_instance" not in gpuorch.terraform(root, "state", "list")
    assert gpuorch.state_of() == "creating"

    found = gpuorch.deployment()
    assert (found["state"], found["machine_id"], found["zone"]) == ("ready", before, "us-east-1a")
    assert gpuorch.machines() == [("us-east-1a", "spot")]
    gpuorch.terraform(root, "plan", "-detailed-exitcode", "-input=false")
    gpuorch("down", "train", "--yes")
    assert gpuorch.existing() == []


def test_both_killed_before_there_is_a_machine_and_status_undoes(tmp_path: Path) -> None:
    gpuorch = a_gpuorch(tmp_path)
    _slow_answer(gpuorch, "aws_vpc")
    _kill_both(*_in_the_middle(gpuorch, *UP, type_="aws_vpc"))
    assert gpuorch.existing() == ["aws_vpc"]
    found = gpuorch.deployment()
    assert (found["state"], found["problem"]) == (
        "failed",
        "interrupted before the machine existed; what had been made is removed",
    )
    assert gpuorch.existing() == []
    assert gpuorch.json("status").data["deployments"] == []


def test_both_killed_and_up_goes_on(tmp_path: Path) -> None:
    gpuorch = a_gpuorch(tmp_path)
    _slow_answer(gpuorch, "aws_route_table_association")
    _kill_both(*_in_the_middle(gpuorch, *UP, type_="aws_route_table_association"))
    run = gpuorch(*UP)
    assert "train was interrupted in state creating: going on" in run.err
    assert gpuorch.machines() == [("us-east-1a", "spot")]
    (root,) = gpuorch.roots()
    gpuorch.terraform(root, "plan", "-detailed-exitcode", "-input=false")
    gpuorch("down", "train", "--yes")
    assert gpuorch.existing() == []


def test_both_killed_and_down_finds_the_machine_by_its_tags(tmp_path: Path) -> None:
    gpuorch = a_gpuorch(tmp_path)
    _slow_answer(gpuorch)
    _kill_both(*_in_the_middle(gpuorch, *UP))
    assert len(gpuorch.machines()) == 1
    assert gpuorch("down", "train", "--yes").out == "train is gone\n"
    assert gpuorch.existing() == []


def test_state_lost_and_down_finds_everything_by_its_tags(tmp_path: Path) -> None:
    gpuorch = a_gpuorch(tmp_path)
    gpuorch(*UP)
    (root,) = gpuorch.roots()
    for path in root.glob("terraform.tfstate*"):
        path.unlink()
    gpuorch("down", "train", "--yes")
    assert gpuorch.existing() == []


def test_gpuorch_killed_while_terraform_goes_on(tmp_path: Path) -> None:
    """The deployment is busy until terraform has ended, and then complete."""
    gpuorch = a_gpuorch(tmp_path)
    _slow_answer(gpuorch, seconds=4)
    process, terraform = _in_the_middle(gpuorch, *UP)
    process.kill()
    process.communicate()
    assert os.getpgid(terraform) == terraform

    refused = gpuorch(*UP, code=75)
    assert "deployment train is being worked on by another gpuorch or terraform" in refused.err
    seen = gpuorch.deployment()
    assert (seen["state"], seen["problem"]) == ("creating", "being worked on by another process")

    until(lambda: gpuorch.deployment()["state"] == "ready")
    assert gpuorch.machines() == [("us-east-1a", "spot")]
    assert gpuorch.attempts()[0]["result"] == "created"
    (root,) = gpuorch.roots()
    gpuorch.terraform(root, "plan", "-detailed-exitcode", "-input=false")
    # Nobody made anything twice, and nothing was adopted: terraform had written its state.
    created = [call.type for call in gpuorch.cloud.calls() if call.operation == "create"]
    assert sorted(created) == gpuorch.existing()
    gpuorch("down", "train", "--yes")
    assert gpuorch.existing() == []


@pytest.mark.parametrize("repair", ["status", "down"])
def test_both_killed_in_the_middle_of_down(tmp_path: Path, repair: str) -> None:
    gpuorch = a_gpuorch(tmp_path)
    gpuorch(*UP)
    gpuorch.cloud.order_fault(Fault(operation="delete", type="aws_instance", times=1, delay_after=60))
    process = gpuorch.start("down", "train", "--yes")
    until(lambda: not gpuorch.machines(), process=process)
    (terraform,) = children_of(process.pid)
    _kill_both(process, terraform)
    assert gpuorch.existing() != []
    assert gpuorch.state_of() == "deleting"
    gpuorch(*(("status",) if repair == "status" else ("down", "train", "--yes")))
    assert gpuorch.existing() == []
    (record,) = gpuorch.json("status", "--all").data["deployments"]
    assert record["state"] == "gone"
