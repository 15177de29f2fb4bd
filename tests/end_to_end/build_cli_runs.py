"""`gpuorch` as a program: run, started, interrupted and killed, over a small price book and the simulated cloud."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sysconfig
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import pytest

from orchestrator.sandbox.cloud import SimulatedCloud

__all__ = ["BOOK", "Book", "Gpuorch", "Run", "a_gpuorch", "children_of", "kill_group", "prices", "until"]

T = TypeVar("T")

_HEADER = (
    "cloud,instance_type,region,zone,gpu,gpu_count,gpu_memory_gib,vcpus,memory_gib,market,usd_per_hour,observed_at"
)
_OBSERVED = "2026-11-01T12:00:00Z"
_MACHINES = {
    "p4d.24xlarge": ("A100", 8, 40, 96, 1152),
    "p4de.24xlarge": ("A100-80GB", 8, 80, 96, 1152),
    "g4dn.xlarge": ("T4", 1, 16, 4, 16),
    "g4dn.2xlarge": ("T4", 1, 16, 8, 32),
}

Book = Iterable[tuple[str, str, str, str]]
"""Rows of a price book: instance type, zone or region, market, USD per hour."""

# Cheapest first: two zones of one region, two of another, one of a third.
BOOK = (
    ("p4d.24xlarge", "us-east-1a", "spot", "10.00"),
    ("p4d.24xlarge", "us-east-1b", "spot", "10.50"),
    ("p4d.24xlarge", "us-west-2a", "spot", "11.00"),
    ("p4d.24xlarge", "us-west-2b", "spot", "11.50"),
    ("p4d.24xlarge", "eu-west-1a", "spot", "12.00"),
    ("p4d.24xlarge", "us-east-1", "on-demand", "32.77"),
    ("p4d.24xlarge", "us-west-2", "on-demand", "33.77"),
    ("g4dn.xlarge", "us-east-1a", "spot", "0.16"),
    ("g4dn.2xlarge", "us-east-1a", "spot", "0.23"),
)


def prices(rows: Book) -> str:
    """The text of a price file."""
    lines = [_HEADER]
    for type_, place, market, price in rows:
        gpu, count, gpu_memory, vcpus, memory = _MACHINES[type_]
        zone = place if place[-1].isalpha() else ""
        region = place[:-1] if zone else place
        lines.append(
            f"aws,{type_},{region},{zone},{gpu},{count},{gpu_memory},{vcpus},{memory},{market},{price},{_OBSERVED}"
        )
    return "\n".join([*lines, ""])


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """How one run of the command ended."""

    code: int
    out: str
    err: str

    @property
    def envelope(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self.out)
        assert document["exit_code"] == self.code
        assert document["schema_version"] == "1"
        return document

    @property
    def data(self) -> dict[str, Any]:
        found: dict[str, Any] = self.envelope["data"]
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpuorch:
    """The installed command with state and cache folders of its own, and nothing else of the caller's settings."""

    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def state(self) -> Path:
        return self.folder / "state"

    @property
    def cloud(self) -> SimulatedCloud:
        """What the simulated cloud of these deployments holds."""
        return SimulatedCloud(self.state / "sandbox" / "cloud.sqlite")

    @property
    def variables(self) -> dict[str, str]:
        return {
            **os.environ,
            "GPUORCH_STATE_DIR": str(self.state),
            "GPUORCH_CACHE_DIR": str(self.folder / "cache"),
            "USER": "ada",
            **self.environment,
        }

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start it and go on."""
        command = Path(sysconfig.get_path("scripts")) / "gpuorch"
        return subprocess.Popen(
            [str(command), *words],
            cwd=self.folder,
            env=self.variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # A shell starts what it runs in the background with SIGINT ignored, and that would be inherited.
            preexec_fn=_hear_interrupts,
        )

    def __call__(self, *words: str, code: int | None = 0) -> Run:
        """Run it to its end; the test fails unless it ends with ``code`` (``None``: any)."""
        return self.end(self.start(*words), code=code)

    def end(self, process: subprocess.Popen[str], *, code: int | None = 0) -> Run:
        """Wait for the end of a started one."""
        out, err = process.communicate(timeout=150)
        run = Run(code=process.returncode, out=out, err=err)
        assert "Traceback" not in out + err, err
        assert "internal fault" not in err, err
        assert code is None or run.code == code, f"gpuorch ended with {run.code}, not {code}\n{out}\n{err}"
        return run

    def json(self, *words: str, code: int | None = 0) -> Run:
        return self(*words, "-o", "json", code=code)

    def deployment(self, name: str = "train", *, code: int = 0) -> dict[str, Any]:
        """What `status` says of one deployment."""
        (found,) = self.json("status", name, code=code).data["deployments"]
        return dict(found)

    def state_of(self) -> str:
        """The recorded state of the only deployment, without looking; ``""`` where there is none."""
        found = self.json("status", "--offline").data["deployments"]
        return str(found[0]["state"]) if found else ""

    def attempts(self, name: str = "train") -> list[dict[str, Any]]:
        (found,) = self.json("status", name, "--offline", "--events").data["deployments"]
        return list(found["attempts"])

    def roots(self) -> list[Path]:
        """The Terraform roots of all deployments."""
        return sorted(path.parent for path in self.state.glob("deployments/*/*/main.tf"))

    def existing(self) -> list[str]:
        """Types of what exists in the simulated cloud, sorted."""
        return sorted(resource.type for resource in self.cloud.resources())

    def machines(self) -> list[tuple[str, str]]:
        """Zone and market of every simulated machine that exists."""
        return [(each.machine.zone, each.machine.market) for each in self.cloud.resources() if each.machine is not None]

    def terraform(self, root: Path, *words: str, code: int = 0) -> str:
        """Plain terraform in ``root``, with the stand-in providers and without gpuorch; its output."""
        from orchestrator.clouds.registry import cloud, cloud_names
        from orchestrator.sandbox.install import prepare

        installed = prepare(self.state / "sandbox", [cloud(name) for name in cloud_names()])
        config = self.folder / "plain.tfrc"
        config.write_text(
            "disable_checkpoint = true\nprovider_installation {\n"
            f'  filesystem_mirror {{\n    path = "{installed.mirror}"\n  }}\n}}\n'
        )
        done = subprocess.run(
            ["terraform", *words],
            cwd=root,
            env={**os.environ, **installed.environment, "TF_CLI_CONFIG_FILE": str(config), "TF_IN_AUTOMATION": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == code, f"terraform {' '.join(words)}: {done.returncode}\n{done.stdout}"
        return done.stdout


def _hear_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@cache
def _book(text: str) -> bytes:
    """The price book after an import of ``text`` into an empty one."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "prices.csv"
        file.write_text(text)
        Gpuorch(folder=Path(folder))("prices", "import", str(file), "--replace")
        return (Path(folder) / "cache" / "prices.db").read_bytes()


def a_gpuorch(
    folder: Path,
    rows: Book | None = BOOK,
    *,
    boot_seconds: float = 0.0,
    environment: Mapping[str, str] | None = None,
) -> Gpuorch:
    """The command over a price book of ``rows`` (``None``: the one it comes with) and an empty simulated cloud."""
    if shutil.which("terraform") is None:
        pytest.skip("no terraform on PATH")
    made = Gpuorch(folder=folder, environment=environment or {})
    if rows is not None:
        (folder / "cache").mkdir(parents=True)
        (folder / "cache" / "prices.db").write_bytes(_book(prices(rows)))
    made.cloud.boot_seconds = boot_seconds
    return made


def until(what: Callable[[], T], *, seconds: float = 40.0, process: subprocess.Popen[str] | None = None) -> T:
    """What ``what`` gives, once it gives something; ``process`` must not end before."""
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        if found := what():
            return found
        if process is not None and process.poll() is not None:
            raise AssertionError(f"it ended before: {process.communicate()}")
        time.sleep(0.02)
    raise AssertionError(f"did not come within {seconds:.0f} s")


def children_of(pid: int) -> list[int]:
    """Processes that ``pid`` has started and that run."""
    return sorted(child for child, parent in _parents().items() if parent == pid)


def kill_group(pid: int) -> None:
    """End a terraform that gpuorch has started, and the providers with it, as by kill -9."""
    assert os.getpgid(pid) == pid, "terraform has no process group of its own"
    os.killpg(pid, signal.SIGKILL)


def _parents() -> dict[int, int]:
    listed = subprocess.run(["ps", "-e", "-o", "pid=,ppid=,stat="], capture_output=True, text=True, check=True).stdout
    words = [line.split() for line in listed.splitlines()]
    return {int(pid): int(parent) for pid, parent, state in words if not state.startswith("Z")}
