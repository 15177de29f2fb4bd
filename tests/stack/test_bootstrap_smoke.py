"""The smoke test's program: with a stand-in for torch that has GPUs, and with a real torch where there is one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from orchestrator.stack.cloudinit import user_data
from tests.stack.build_bootstrap import a_machine_launch, files_of

# As much of torch as the program uses: a matrix is a list of what has been done to it.
_TORCH = """
import os, types
__version__ = "0.0-stand-in"
class Matrix:
    def __init__(self, value, device="cpu"): self.value, self.device = value, device
    def float(self): return self
    def to(self, device):
        if device == os.environ.get("BROKEN"): raise RuntimeError("CUDA error: device-side assert\\nmore lines")
        return Matrix(self.value, device)
    def cpu(self): return Matrix(self.value)
    def __matmul__(self, other): return Matrix(self.value + (self.device == os.environ.get("WRONG")))
def randint(low, high, shape): return Matrix(1)
def equal(one, other): return one.value == other.value
cuda = types.SimpleNamespace(
    device_count=lambda: int(os.environ["GPUS"]), get_device_name=lambda device: f"Stand-in {device}"
)
"""


def smoke(
    tmp_path: Path, expected: int, python: str = sys.executable, **environment: str
) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    program, result = tmp_path / "smoke.py", tmp_path / "smoke.json"
    program.write_text(files_of(user_data(a_machine_launch()))["/usr/local/lib/gpuorch/smoke.py"])
    done = subprocess.run(
        [python, str(program), str(expected), str(result)],
        env={"PATH": os.environ["PATH"], **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    value: dict[str, Any] = json.loads(result.read_text()) if result.exists() else {}
    return done, value


def with_gpus(tmp_path: Path, count: int, **environment: str) -> dict[str, str]:
    (tmp_path / "torch.py").write_text(_TORCH)
    return {"PYTHONPATH": str(tmp_path), "GPUS": str(count), **environment}


def test_every_gpu_is_tried(tmp_path: Path) -> None:
    done, result = smoke(tmp_path, 8, **with_gpus(tmp_path, 8))
    assert done.returncode == 0, done.stderr
    assert result["ok"] is True
    assert list(result["devices"]) == [f"cuda:{index}" for index in range(8)]
    assert result["devices"]["cuda:3"] == "Stand-in cuda:3"


def test_a_gpu_that_torch_does_not_see_is_a_failure(tmp_path: Path) -> None:
    done, result = smoke(tmp_path, 8, **with_gpus(tmp_path, 7))
    assert done.returncode == 1
    assert done.stderr.strip() == "torch sees 7 of 8 GPUs"
    assert result["ok"] is False


def test_a_wrong_result_names_its_gpu(tmp_path: Path) -> None:
    done, result = smoke(tmp_path, 4, **with_gpus(tmp_path, 4, WRONG="cuda:2"))
    assert done.returncode == 1
    assert done.stderr.strip() == "cuda:2 computes wrong results"
    assert result["problems"] == ["cuda:2 computes wrong results"]


def test_a_broken_gpu_does_not_hide_the_others(tmp_path: Path) -> None:
    done, result = smoke(tmp_path, 4, **with_gpus(tmp_path, 4, BROKEN="cuda:0", WRONG="cuda:3"))
    assert done.returncode == 1
    assert result["problems"] == ["cuda:0: CUDA error: device-side assert", "cuda:3 computes wrong results"]
    assert len(result["devices"]) == 4


def test_gpus_nobody_expects_are_not_tried(tmp_path: Path) -> None:
    done, result = smoke(tmp_path, 0, **with_gpus(tmp_path, 8))
    assert done.returncode == 0
    assert result["devices"] == {"cpu": "CPU"}


@pytest.mark.slow
def test_with_a_real_torch_the_cpu_passes(tmp_path: Path) -> None:
    for python in (sys.executable, shutil.which("python3", path="/usr/bin") or ""):
        if python and not subprocess.run([python, "-c", "import torch"], capture_output=True, check=False).returncode:
            break
    else:
        pytest.skip("no interpreter here has torch: the smoke test was NOT run with it")
    done, result = smoke(tmp_path, 0, python)
    assert done.returncode == 0, done.stderr
    assert result["ok"] is True
    assert result["torch"]
    done, result = smoke(tmp_path, 64, python)
    assert "of 64 GPUs" in done.stderr
