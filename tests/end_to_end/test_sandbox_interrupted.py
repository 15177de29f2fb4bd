"""Ctrl-C, SIGTERM, and several commands at once on one deployment."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from orchestrator.sandbox.faults import Fault
from tests.end_to_end.build_cli_runs import a_gpuorch, children_of, until

pytestmark = [pytest.mark.terraform, pytest.mark.slow]

UP = ("up", "--profile", "a100x8", "--spot", "--sandbox", "--yes", "--name", "train")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_during_apply_and_taken_down(tmp_path: Path, number: signal.Signals) -> None:
    gpuorch = a_gpuorch(tmp_path)
    gpuorch.cloud.order_fault(Fault(type="aws_instance", times=1, delay_after=60))
    process = gpuorch.start(*UP, "-o", "json")
    until(gpuorch.machines, process=process)
    process.send_signal(number)
    envelope = gpuorch.end(process, code=130).envelope
    (error,) = envelope["errors"]
    assert (envelope["command"], error["code"]) == ("up", "interrupted")
    assert error["message"] == "terraform apply was interrupted"
    assert error["hint"] == "terraform has ended by itself and written its state"
    assert envelope["data"]["deployment"]["state"] == "creating"
    # Asked gently, terraform has written down what it had begun.
    (root,) = gpuorch.roots()
    assert "aws_instance" in gpuorch.terraform(root, "state", "list")

    gpuorch("down", "train", "--yes")
    assert gpuorch.existing() == []


@pytest.mark.parametrize("repair", ["up", "status"])
def test_interrupted_during_apply_and_gone_on_with(tmp_path: Path, repair: str) -> None:
    gpuorch = a_gpuorch(tmp_path)
    gpuorch.cloud.order_fault(Fault(type="aws_instance", times=1, delay_after=60))
    process = gpuorch.start(*UP)
    until(gpuorch.machines, process=process)
    process.send_signal(signal.SIGINT)
    gpuorch.end(process, code=130)
    (machine,) = [each.id for each in gpuorch.cloud.resources() if each.machine is not None]
    if repair == "up":
        assert gpuorch.json(*UP).data["deployment"]["state"] == "ready"
    else:
        assert gpuorch.deployment()["state"] == "ready"
    # The very machine: to end it and to ask for another could lose it for good.
    assert [each.id for each in gpuorch.cloud.resources() if each.machine is not None] == [machine]
    assert gpuorch.machines() == [("us-east-1a", "spot")]
    (root,) = gpuorch.roots()
    gpuorch.terraform(root, "plan", "-detailed-exitcode", "-input=false")


def test_asked_twice_terraform_is_ended_at_once(tmp_path: Path) -> None:
    """While the cloud does not even answer to a request to stop."""
    gpuorch = a_gpuorch(tmp_path)
    gpuorch.cloud.order_fault(Fault(type="aws_instance", times=1, delay_after=60))
    process = gpuorch.start(*UP)
    until(gpuorch.machines, process=process)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)
    gpuorch.end(process, code=130)
    gpuorch("down", "train", "--yes")
    assert gpuorch.existing() == []


def test_interrupted_while_waiting_for_the_machine(tmp_path: Path) -> None:
    gpuorch = a_gpuorch(tmp_path, boot_seconds=3600)
    process = gpuorch.start(*UP, "-o", "json")
    until(lambda: gpuorch.state_of() == "bootstrapping", process=process)
    process.send_signal(signal.SIGINT)
    envelope = gpuorch.end(process, code=130).envelope
    (error,) = envelope["errors"]
    assert (error["code"], error["message"]) == ("interrupted", "interrupted")
    assert "gpuorch down train" in error["hint"]
    assert (envelope["command"], envelope["data"]["deployment"]["name"]) == ("up", "train")
    assert len(gpuorch.machines()) == 1
    gpuorch.cloud.boot_seconds = 0
    assert gpuorch.deployment()["state"] == "ready"
    gpuorch("down", "train", "--yes")
    assert gpuorch.existing() == []


def test_two_at_once_with_the_same_name(tmp_path: Path) -> None:
    gpuorch = a_gpuorch(tmp_path)
    runs = [gpuorch.end(process, code=None) for process in [gpuorch.start(*UP) for _ in range(3)]]
    assert sorted(run.code for run in runs) in ([0, 64, 64], [0, 64, 75], [0, 75, 75])
    for run in runs:
        if run.code == 64:
            assert "gpuorch: a deployment called 'train' exists already" in run.err
        if run.code == 75:
            assert "gpuorch: deployment train is being worked on by another gpuorch or terraform" in run.err
    assert gpuorch.machines() == [("us-east-1a", "spot")]
    assert gpuorch.deployment()["state"] == "ready"
    assert len(gpuorch.json("status", "--all").data["deployments"]) == 1
    gpuorch("down", "train", "--yes")
    assert gpuorch.existing() == []


def test_two_at_once_with_different_names(tmp_path: Path) -> None:
    gpuorch = a_gpuorch(tmp_path)
    for process in [gpuorch.start(*UP[:-1], name) for name in ("one", "two")]:
        gpuorch.end(process)
    assert len(gpuorch.machines()) == 2
    for process in [gpuorch.start("down", name, "--yes") for name in ("one", "two")]:
        gpuorch.end(process)
    assert gpuorch.existing() == []


def test_down_while_up_is_running(tmp_path: Path) -> None:
    gpuorch = a_gpuorch(tmp_path)
    gpuorch.cloud.order_fault(Fault(type="aws_vpc", times=1, delay_after=60))
    process = gpuorch.start(*UP)
    until(lambda: "aws_vpc" in gpuorch.existing(), process=process)
    assert len(children_of(process.pid)) == 1
    refused = gpuorch.json("down", "train", "--yes", code=75).envelope
    assert refused["errors"] == [
        {
            "code": "busy",
            "message": "deployment train is being worked on by another gpuorch or terraform",
            "hint": "try again when it has ended",
        }
    ]
    assert refused["data"]["deployments"][0]["state"] == "creating"
    assert gpuorch.existing() == ["aws_vpc"]
    process.send_signal(signal.SIGINT)
    gpuorch.end(process, code=130)
    gpuorch("down", "train", "--yes")
    assert gpuorch.existing() == []
