"""The bootstrap, really run as a process under a root of its own, on a simulated machine."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest

from orchestrator.stack.readiness import STEPS, from_console, from_status_json
from tests.stack.build_bootstrap import Machine, a_machine_launch

ID = "g0123456789ab"


def test_a_machine_becomes_ready_and_says_each_step(tmp_path: Path) -> None:
    machine = Machine(tmp_path).set("unit.nvidia-persistenced")
    ended = machine.run()
    assert ended.returncode == 0, ended.stdout
    assert machine.steps_told() == list(STEPS)
    assert machine.console.splitlines()[-1] == f"gpuorch-ready {ID}"
    status = machine.status
    assert list(status) == ["deployment", "step", "number", "total", "since", "ready", "failed"]
    assert (status["deployment"], status["step"], status["number"], status["total"]) == (ID, "ready", 7, 7)
    assert status["ready"] is True
    assert status["failed"] == ""
    assert machine.path("/var/lib/gpuorch/bootstrap.done").exists()
    assert "systemctl enable --now nvidia-persistenced" in machine.calls
    assert "nvidia-smi -pm 1" not in machine.calls
    report = from_console(machine.console, ID)
    assert report == from_status_json(json.dumps(status), "console")
    assert report is not None
    assert report.ready


def test_people_who_log_in_find_the_interpreter(tmp_path: Path) -> None:
    machine = Machine(tmp_path).disk("nvme1n1")
    machine.run()
    profile = machine.path("/etc/profile.d/gpuorch.sh").read_text()
    assert f"GPUORCH_PYTHON={tmp_path / 'python'}" in profile
    assert f"GPUORCH_SCRATCH={machine.path('/mnt/scratch')}" in profile
    assert f"PATH={tmp_path}:$PATH" in profile


def test_a_second_run_does_nothing(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.run()
    before = (machine.calls, machine.console)
    assert machine.run().returncode == 0
    assert (machine.calls, machine.console) == before


def test_a_driver_that_comes_late_is_waited_for(tmp_path: Path) -> None:
    machine = Machine(tmp_path, waits={"GPUORCH_POLL": "0.1"}).unset("driver")
    threading.Timer(0.6, machine.set, ["driver"]).start()
    assert machine.run().returncode == 0
    assert machine.status["ready"] is True
    assert machine.calls[:3] == ["nvidia-smi -L"] * 3


def test_a_driver_that_never_comes_is_driver_missing(tmp_path: Path) -> None:
    machine = Machine(tmp_path, waits={"GPUORCH_POLL": "0.2", "GPUORCH_DRIVER_WAIT": "1"}).unset("driver")
    assert machine.run().returncode == 2
    assert machine.status["failed"] == "DriverMissing: no nvidia driver after 1 seconds"
    assert machine.status["step"] == "driver"


def test_too_few_gpus_fail_with_kind_and_numbers(tmp_path: Path) -> None:
    machine = Machine(tmp_path, waits={"GPUORCH_COUNT_WAIT": "0"}).set("gpus", "7")
    assert machine.run().returncode == 2
    failed = next(line for line in machine.console.splitlines() if line.startswith("gpuorch-failed "))
    assert json.loads(failed.split(" ", 1)[1]) == {
        "deployment": ID,
        "step": "gpus",
        "kind": "GpuCountShort",
        "reason": "the driver shows 7 of 8 GPUs",
    }
    report = from_console(machine.console, ID)
    assert report is not None
    assert (report.step, report.number, report.ready) == ("gpus", 2, False)
    assert report.failed == "GpuCountShort: the driver shows 7 of 8 GPUs"
    assert report == from_status_json(json.dumps(machine.status), "console")
    assert not machine.path("/var/lib/gpuorch/bootstrap.done").exists()


@pytest.mark.parametrize(("count", "shown", "code"), [("0.5", "1", 0), ("0.125", "0", 2), ("8", "9", 0)])
def test_a_share_of_a_gpu_shows_as_one(tmp_path: Path, count: str, shown: str, code: int) -> None:
    launch = a_machine_launch(offer={"gpu_count": Decimal(count)})
    machine = Machine(tmp_path, launch, waits={"GPUORCH_COUNT_WAIT": "0"}).set("gpus", shown)
    assert machine.run().returncode == code


def test_a_failed_smoke_test_is_tried_twice_and_then_final(tmp_path: Path) -> None:
    machine = Machine(tmp_path).set("smoke-fails")
    assert machine.run().returncode == 2
    assert machine.status["failed"] == "SmokeFailed: cuda:3 computes wrong results"
    assert sum("smoke.py" in call for call in machine.calls) == 2


def test_a_repaired_machine_goes_on_at_the_failed_step(tmp_path: Path) -> None:
    machine = Machine(tmp_path).set("smoke-fails")
    machine.run()
    assert machine.unset("smoke-fails").boot().run().returncode == 0
    assert machine.steps_told() == [*STEPS[:6], "smoke", "smoke", "ready"]
    report = from_console(machine.console, ID)
    assert report is not None
    assert report.ready


@pytest.mark.slow
def test_killed_at_any_call_it_goes_on_where_it_was(tmp_path: Path) -> None:
    whole = Machine(tmp_path / "whole").disk("nvme1n1").disk("nvme2n1")
    whole.run()
    assert len(whole.calls) > 15
    for call in range(1, len(whole.calls) + 1):
        machine = Machine(tmp_path / str(call)).disk("nvme1n1").disk("nvme2n1")
        assert machine.kill_at(call)
        done = {path.name for path in machine.path("/var/lib/gpuorch").glob("*.done")}
        told = machine.steps_told()
        assert machine.status["ready"] is False
        ended = machine.run()
        assert ended.returncode == 0, (call, machine.calls[call - 1], ended.stdout)
        # The killed step is told again, and no other.
        assert machine.steps_told() == [*told, *STEPS[len(told) - 1 :]], call
        assert done == {f"{step}.done" for step in STEPS[: len(told) - 1]}
        assert machine.status["ready"] is True
        counted = Counter(call.split(" ")[0] for call in machine.calls)
        assert counted["mount"] <= 2
        assert counted["mkfs.ext4"] <= 2


def test_a_step_that_is_killed_each_time_is_given_up(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    for _ in range(4):
        assert machine.kill_at(len(machine.calls) + 1)
    assert machine.run().returncode == 2
    assert machine.status["failed"] == "Unexpected: step driver was killed 4 times"


def test_a_mishap_is_tried_again_and_then_told(tmp_path: Path) -> None:
    machine = Machine(tmp_path).set("no-torch").set("pip-fails")
    for number in (1, 2, 3):
        ended = machine.run()
        assert ended.returncode == 1
        assert f"(try {number} of 4)" in ended.stdout
        assert machine.status["failed"] == ""
    assert machine.run().returncode == 2
    assert machine.status["failed"] == "PythonFailed: torch 2.9.1 for cu126: ERROR: no route to the index"


def test_an_error_that_nobody_foresaw_is_told_too(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.path("/etc/profile.d/gpuorch.sh").mkdir(parents=True)  # where a file is to be written
    assert [machine.run().returncode for _ in range(4)] == [1, 1, 1, 2]
    assert machine.status["failed"] == "Unexpected: step python ended with status 1"


def test_an_error_that_only_ends_the_loop_is_no_success(tmp_path: Path) -> None:
    machine = Machine(tmp_path, waits={"GPUORCH_COUNT_WAIT": "1.5"})  # no number for bash's arithmetic
    assert [machine.run().returncode for _ in range(4)] == [1, 1, 1, 2]
    assert machine.status["failed"].startswith("Unexpected: step gpus ended with status ")


def test_without_a_fitting_torch_an_environment_is_built(tmp_path: Path) -> None:
    machine = Machine(tmp_path).set("no-torch").set("no-ensurepip")
    ended = machine.run()
    assert ended.returncode == 0, ended.stdout
    install = next(call for call in machine.calls if "pip install" in call)
    assert "torch==2.9.1 numpy --index-url" in install
    assert install.endswith("/whl/cu126")
    assert any(call.startswith("apt-get") and call.endswith("install python3-venv") for call in machine.calls)
    assert machine.path("/var/lib/gpuorch/python").read_text().strip() == str(
        machine.path("/opt/gpuorch/venv/bin/python")
    )


@pytest.mark.parametrize(
    ("facts", "outcome"),
    [
        ("7.0, 525.60.13", "cu126"),
        ("9.0, 580.95.05", "cu126"),
        ("10.0, 570.133.20", "cu128"),
        ("12.0, 580.95.05", "cu128"),
        ("8.0, 515.105.01", "DriverOld: driver 515.105.01: torch for cu126 needs 525"),
        ("10.0, 565.57.01", "DriverOld: driver 565.57.01: torch for cu128 needs 570"),
    ],
)
def test_the_build_of_torch_fits_gpu_and_driver(tmp_path: Path, facts: str, outcome: str) -> None:
    machine = Machine(tmp_path).set("no-torch").set("gpu-facts", f"{facts}\n" * 8)
    machine.run()
    if outcome.startswith("cu"):
        assert any(call.endswith(f"/whl/{outcome}") for call in machine.calls)
    else:
        assert machine.status["failed"] == outcome
        assert not any("pip" in call for call in machine.calls)


def test_a_stopped_fabric_manager_matters_only_with_nvswitches(tmp_path: Path) -> None:
    plain = Machine(tmp_path / "plain").set("unit.nvidia-fabricmanager")
    assert plain.run().returncode == 0
    switched = Machine(tmp_path / "switched").set("unit.nvidia-fabricmanager")
    switched.path("/dev/nvidia-nvswitchctl").touch()
    assert [switched.run().returncode for _ in range(4)] == [1, 1, 1, 2]
    assert switched.status["failed"].startswith("FabricDown: ")
    running = Machine(tmp_path / "running").set("unit.nvidia-fabricmanager").set("active.nvidia-fabricmanager")
    running.path("/dev/nvidia-nvswitchctl").touch()
    assert running.run().returncode == 0


def test_a_machine_without_gpus_asks_no_driver(tmp_path: Path) -> None:
    launch = a_machine_launch(offer={"accelerator": "", "gpu_count": Decimal(0)})
    machine = Machine(tmp_path, launch).unset("driver")
    assert machine.run().returncode == 0
    assert not any(call.startswith("nvidia-smi") for call in machine.calls)
    assert any("smoke.py 0 " in call for call in machine.calls)


@pytest.mark.parametrize("tool", ["amd-smi", "rocm-smi"])
def test_amd_gpus_are_counted_by_either_tool(tmp_path: Path, tool: str) -> None:
    outputs = {
        "amd-smi": "GPU: 0\n    BDF: 0000:05:00.0\n    UUID: x\n\nGPU: 1\n    BDF: 0000:26:00.0\n",
        "rocm-smi": "== ROCm ==\nGPU[0]\t: Device ID: 1\nGPU[0]\t: GUID: 2\nGPU[1]\t: Device ID: 1\n== End ==\n",
    }
    launch = a_machine_launch(offer={"accelerator": "MI300X", "gpu_count": Decimal(2)}, image={"driver": "rocm"})
    machine = Machine(tmp_path, launch, waits={"GPUORCH_COUNT_WAIT": "0"})
    program = tmp_path / "bin" / tool
    program.write_text(f"#!/bin/bash\ncat <<'END'\n{outputs[tool]}END\n")
    program.chmod(0o755)
    ended = machine.run()
    assert ended.returncode == 0, ended.stdout
    assert "2 GPUs, 2 expected" in ended.stdout


def test_the_status_goes_to_the_object_store_where_there_is_one(tmp_path: Path) -> None:
    command = ("upload", "{file}", "{uri}")
    uri = "store://bucket/a & b/$(touch x)/"
    machine = Machine(tmp_path, a_machine_launch(image={"upload_command": command}, checkpoint_uri=uri))
    assert machine.run().returncode == 0
    uploaded = (tmp_path / "uploaded.json").read_text()
    assert json.loads(uploaded) == machine.status
    assert (tmp_path / "uploaded-to").read_text() == f"store://bucket/a & b/$(touch x)/.gpuorch/{ID}/status.json\n"
    assert sum(call.startswith("upload ") for call in machine.calls) == len(STEPS)


def test_a_failed_upload_stops_nothing(tmp_path: Path) -> None:
    launch = a_machine_launch(image={"upload_command": ("no-such-tool", "{file}")}, checkpoint_uri="store://bucket")
    machine = Machine(tmp_path, launch)
    ended = machine.run()
    assert ended.returncode == 0
    assert "the status could not be uploaded" in ended.stdout


def test_the_status_file_is_whole_at_every_moment(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    runner = threading.Thread(target=machine.run)
    runner.start()
    seen = set()
    while runner.is_alive():
        try:
            seen.add(machine.status["step"])
        except FileNotFoundError:
            time.sleep(0.001)
    runner.join()
    # The last state stays; whether it was seen while the script still ran is a matter of luck.
    seen.add(machine.status["step"])
    assert seen <= set(STEPS)
    assert "ready" in seen
