"""`kill -9` of gpuorch between any two effects of up and down, with the real terraform: nothing is ever forgotten."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.end_to_end.build_cli_runs import Gpuorch, a_gpuorch
from tests.end_to_end.build_killed_cli import DRIVER

pytestmark = [pytest.mark.terraform, pytest.mark.slow]

# A zone without capacity, then one of another region: every kind of step of `up` is passed.
UP = (
    "up",
    "--profile",
    "a100x8",
    "--spot",
    "--sandbox",
    "--yes",
    "--name",
    "train",
    "--region",
    "us-east-1a,us-west-2a",
)
DOWN = ("down", "train", "--yes")
UNDONE = {
    "interrupted before anything was begun",
    "interrupted before the machine existed; what had been made is removed",
}


def _killed_at(gpuorch: Gpuorch, step: int, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(DRIVER), str(step), *words]
    return subprocess.run(
        command, cwd=gpuorch.folder, env=gpuorch.variables, capture_output=True, text=True, timeout=120, check=False
    )


def _steps(gpuorch: Gpuorch, *words: str) -> int:
    """How many effects the command has when nobody kills it."""
    done = _killed_at(gpuorch, 0, *words)
    assert done.returncode == 0, done.stderr
    return int(done.stderr.splitlines()[-1])


def _before_up(folder: Path) -> Gpuorch:
    gpuorch = a_gpuorch(folder)
    gpuorch.cloud.exhaust("aws", "us-east-1a")
    return gpuorch


def _copy(gpuorch: Gpuorch, folder: Path) -> Gpuorch:
    shutil.copytree(gpuorch.folder, folder, symlinks=True)
    return Gpuorch(folder=folder)


def test_up_killed_anywhere_is_finished_or_undone(tmp_path: Path) -> None:
    whole = _before_up(tmp_path / "whole")
    steps = _steps(whole, *UP)
    assert steps >= 18
    everything = whole.existing()
    whole(*DOWN)
    assert whole.existing() == []

    def at(step: int) -> str:
        gpuorch = _before_up(tmp_path / f"{step}-status")
        killed = _killed_at(gpuorch, step, *UP)
        assert killed.returncode == -signal.SIGKILL, (step, killed.stderr)
        words = killed.stderr.splitlines()[-1]
        if step % 2:
            # Every step is also repaired by `down` where terraform is a small one, in the tests of operations.
            _taken_down(_copy(gpuorch, tmp_path / f"{step}-down"), step, words)
        return _taken_up(gpuorch, step, words, everything)

    with ThreadPoolExecutor(2) as pool:
        ends = list(pool.map(at, range(1, steps + 1)))
    # Once the machine exists, it is never undone.
    first = ends.index("ready")
    assert set(ends[first:]) == {"ready"}
    assert set(ends[:first]) == {"nothing", "failed"}


def _taken_up(gpuorch: Gpuorch, step: int, words: str, everything: list[str]) -> str:
    """What `status` makes of it."""
    found = gpuorch.json("status").data["deployments"]
    if not found:
        assert gpuorch.existing() == [], (step, words)
        return "nothing"
    (deployment,) = found
    if deployment["state"] == "failed":
        assert deployment["problem"] in UNDONE, (step, words)
        assert gpuorch.existing() == [], (step, words)
    else:
        assert gpuorch.machines() == [("us-west-2a", "spot")], (step, words)
        assert gpuorch.existing() == everything, (step, words)
        (machine,) = [each for each in gpuorch.cloud.resources() if each.machine is not None]
        assert deployment["machine_id"] == machine.id
    return str(deployment["state"])


def _taken_down(gpuorch: Gpuorch, step: int, words: str) -> None:
    """What `down` makes of it."""
    known = gpuorch.json("status", "--offline").data["deployments"]
    gpuorch(*DOWN, code=0 if known else 64)
    assert gpuorch.existing() == [], (step, words)
    assert gpuorch.json("status", "--offline").data["deployments"] == []


def test_down_killed_anywhere_is_finished(tmp_path: Path) -> None:
    ready = a_gpuorch(tmp_path / "ready")
    ready(*UP)
    steps = _steps(_copy(ready, tmp_path / "whole"), *DOWN)
    assert steps >= 3
    for step in range(1, steps + 1):
        gpuorch = _copy(ready, tmp_path / str(step))
        killed = _killed_at(gpuorch, step, *DOWN)
        assert killed.returncode == -signal.SIGKILL, (step, killed.stderr)
        again = _copy(gpuorch, tmp_path / f"{step}-again")
        found = gpuorch.deployment()
        if step == 1:
            # Killed before it was written down that somebody wants it gone.
            assert found["state"] == "ready"
            assert gpuorch.existing() == ready.existing()
        else:
            assert found["state"] == "gone"
            assert gpuorch.existing() == []
        assert again(*DOWN).out == "train is gone\n"
        assert again.existing() == []
        assert not list(again.state.glob("deployments/*"))
