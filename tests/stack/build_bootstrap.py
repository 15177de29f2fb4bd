"""A machine in a folder: the rendered files under a root of their own, and stand-ins for tools that have effects."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from orchestrator.model.launch import Launch
from orchestrator.stack.cloudinit import user_data
from tests.build import a_launch, an_image, an_offer

IMAGE_PYTHON = "/image/bin/python"
DISK_GLOB = "nvme-Local_Storage_*"

# The only real programs in reach of the scripts: none of them touches a device, a service or the network.
_REAL = (
    "basename",
    "bash",
    "cat",
    "chmod",
    "cut",
    "date",
    "grep",
    "mkdir",
    "mv",
    "readlink",
    "rm",
    "sed",
    "seq",
    "sleep",
    "sort",
    "tail",
    "timeout",
    "touch",
    "tr",
    "wc",
    "cp",
)

# Each stand-in notes its call first; $FAKE is the folder of what the simulated machine is like.
_PROLOGUE = """#!/bin/bash
printf '%s\\n' "${0##*/} $*" >>"$FAKE/calls"
if [ -n "${STOP_AT:-}" ] && [ "$(wc -l <"$FAKE/calls")" -eq "$STOP_AT" ]; then
  touch "$FAKE/stopped"
  sleep 60
fi
"""
_PYTHON = """
case "$1" in
-c) [ ! -e "$FAKE/no-torch" ] || [ -e "$0.torch" ] ;;
-m)
  if [ -e "$FAKE/pip-fails" ]; then echo 'ERROR: no route to the index' >&2; exit 1; fi
  touch "$0.torch"
  ;;
*)
  if [ -e "$FAKE/smoke-fails" ]; then echo 'cuda:3 computes wrong results' >&2; exit 1; fi
  echo '{"ok": true}' >"$3"
  ;;
esac
"""
_FAKES = {
    "nvidia-smi": """
[ -e "$FAKE/driver" ] || { echo 'NVIDIA-SMI has failed'; exit 9; }
case "$1" in
-L) for i in $(seq "$(cat "$FAKE/gpus")"); do echo "GPU $((i - 1)): NVIDIA A100-SXM4-40GB (UUID: GPU-$i)"; done ;;
--query-gpu=*) cat "$FAKE/gpu-facts" ;;
esac
""",
    "systemctl": """
case "$1" in
cat) [ -e "$FAKE/unit.$2" ] ;;
is-active) [ -e "$FAKE/active.$3" ] ;;
esac
""",
    "blkid": 'name=$(basename "$4"); [ -e "$FAKE/blkid.$name" ] || exit 2; cat "$FAKE/blkid.$name"',
    "lsblk": 'name=$(basename "$3"); echo "$name"; cat "$FAKE/lsblk.$name" 2>/dev/null || :',
    "mdadm": """
if [ "$1" = --create ]; then
  for word in "$@"; do
    case "$word" in "$FAKE"/root/dev/*)
      printf 'TYPE=linux_raid_member\\nLABEL=any:gpuorch-scratch\\n' >"$FAKE/blkid.$(basename "$word")"
      echo "/dev/md127 raid0" >"$FAKE/lsblk.$(basename "$word")" ;;
    esac
  done
fi
""",
    "mkfs.ext4": """
for target; do :; done
[ ! -e "$FAKE/mkfs-fails" ] || { echo 'mkfs.ext4: Input/output error' >&2; exit 1; }
for name in "$(basename "$target")" $([ "$target" != /dev/md/gpuorch-scratch ] || echo md127); do
  printf 'LABEL=gpuorch-scratch\\nTYPE=ext4\\n' >"$FAKE/blkid.$name"
done
""",
    "mount": 'for point; do :; done; echo "$point" >>"$FAKE/mounts"',
    "mountpoint": 'grep -qxF "$2" "$FAKE/mounts" 2>/dev/null',
    "udevadm": "",
    "apt-get": 'rm -f "$FAKE/no-ensurepip"',
    "python3": """
if [ -e "$FAKE/no-ensurepip" ]; then echo 'ensurepip is not available' >&2; exit 1; fi
mkdir -p "$4/bin"
cp "$FAKE/python" "$4/bin/python"
""",
    "upload": 'cp "$1" "$FAKE/uploaded.json"; printf "%s\\n" "$2" >"$FAKE/uploaded-to"',
}


def a_machine_launch(**changes: Any) -> Launch:
    """A launch on an image with torch, eight GPUs, and disks that the image leaves to the bootstrap."""
    image = an_image(**({"python": IMAGE_PYTHON, "local_disks": (DISK_GLOB,)} | changes.pop("image", {})))
    return a_launch(image=image, offer=an_offer(**changes.pop("offer", {})), **changes)


def files_of(text: str) -> dict[str, str]:
    """Path → content of the ``write_files`` in a cloud-init text."""
    return {entry["path"]: entry["content"] for entry in yaml.safe_load(text)["write_files"]}


@dataclass(slots=True)
class Machine:
    """``folder/root`` is the machine's root, ``folder`` beside it holds what the stand-ins read and write."""

    folder: Path
    launch: Launch = field(default_factory=a_machine_launch)
    waits: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, text in files_of(user_data(self.launch)).items():
            self._put(self.path(name), text.replace("/var/lib/gpuorch/status.json", str(self.path(self._status))))
        for folder in ("dev/disk/by-id", "run", "proc"):
            self.path(folder).mkdir(parents=True, exist_ok=True)
        self._install_tools()
        self.set("driver").set("gpus", "8").set("gpu-facts", "8.0, 550.54.15\n").boot()

    _status = "/var/lib/gpuorch/status.json"

    def path(self, name: str) -> Path:
        return self.folder / "root" / name.lstrip("/")

    def set(self, name: str, text: str = "") -> Machine:
        """Make a fact of the simulated machine true (``driver``, ``unit.NAME``, ``smoke-fails`` …)."""
        self._put(self.folder / name, text)
        return self

    def unset(self, name: str) -> Machine:
        (self.folder / name).unlink(missing_ok=True)
        return self

    def disk(self, name: str, *, holds: str = "", users: str = "", links: tuple[str, ...] = ()) -> Machine:
        """Plug in a disk: what ``blkid`` would say of it, further ``lsblk`` lines, its names under ``by-id``."""
        self.path(f"dev/{name}").touch()
        for link in links or (f"nvme-Local_Storage_{name}",):
            self.path(f"dev/disk/by-id/{link}").symlink_to(self.path(f"dev/{name}"))
        if holds:
            self.set(f"blkid.{name}", holds)
        return self.set(f"lsblk.{name}", users) if users else self

    def boot(self, uptime: int = 60) -> Machine:
        """A boot: what lives in memory is gone, and so are the mounts."""
        shutil.rmtree(self.path("run"))
        self.path("run").mkdir()
        (self.folder / "mounts").unlink(missing_ok=True)
        return self.up(uptime)

    def up(self, seconds: int) -> Machine:
        self._put(self.path("proc/uptime"), f"{seconds}.25 {seconds * 8}.00\n")
        return self

    def run(
        self, script: str = "bootstrap", timeout: float = 60, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        with self._start(script, environment) as process:
            try:
                out, err = process.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                end_session(process.pid)
                raise
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def kill_at(self, call: int, script: str = "bootstrap") -> bool:
        """Start, and kill everything by SIGKILL at the given call of a tool (counted from the first ever).

        False if the script ended before.
        """
        self.unset("stopped")
        with self._start(script, {"STOP_AT": str(call)}) as process:
            end = time.monotonic() + 30
            while process.poll() is None and not (self.folder / "stopped").exists():
                assert time.monotonic() < end, "the script neither ended nor came to the call"
                time.sleep(0.01)
            killed = process.poll() is None
            end_session(process.pid)
        return killed

    @property
    def calls(self) -> list[str]:
        """The calls of tools so far, with the machine's root taken out of the arguments."""
        path = self.folder / "calls"
        return path.read_text().replace(str(self.folder / "root"), "").splitlines() if path.exists() else []

    @property
    def console(self) -> str:
        path = self.path("dev/console")
        return path.read_text() if path.exists() else ""

    @property
    def status(self) -> dict[str, Any]:
        value: dict[str, Any] = json.loads(self.path(self._status).read_text())
        return value

    def steps_told(self) -> list[str]:
        """The steps that the console tells of, in order."""
        lines = [line for line in self.console.splitlines() if line.startswith("gpuorch-status ")]
        return [json.loads(line.split(" ", 1)[1])["step"] for line in lines]

    def _start(self, script: str, environment: Mapping[str, str]) -> subprocess.Popen[str]:
        variables = {
            "PATH": str(self.folder / "bin"),
            "FAKE": str(self.folder),
            "GPUORCH_ROOT": str(self.folder / "root"),
            "GPUORCH_POLL": "0",
            "GPUORCH_SMOKE_WAIT": "0",
            "LANG": "C.UTF-8",
            **self.waits,
            **environment,
        }
        return subprocess.Popen(
            ["/bin/bash", str(self.path(f"/usr/local/lib/gpuorch/{script}"))],
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def _install_tools(self) -> None:
        tools = self.folder / "bin"
        tools.mkdir()
        for name in _REAL:
            found = shutil.which(name, path="/usr/bin:/bin")
            assert found, f"the tests need {name}"
            (tools / name).symlink_to(found)
        for name, body in _FAKES.items():
            self._program(tools / name, body)
        self._program(self.folder / "python", _PYTHON)
        # The image's interpreter has an absolute path of its own: in the data, it is put under the folder.
        env = self.path("/etc/gpuorch/deployment.env")
        env.write_text(env.read_text().replace(f"PYTHON={IMAGE_PYTHON}", f"PYTHON={self.folder / 'python'}"))

    @staticmethod
    def _program(path: Path, body: str) -> None:
        path.write_text(_PROLOGUE + body)
        path.chmod(0o755)

    @staticmethod
    def _put(path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def end_session(leader: int) -> None:
    """SIGKILL to every process of a session that a test started, as systemd does to the processes of a unit."""
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            session = entry.read_text().rpartition(")")[2].split()[3]
        except (OSError, IndexError):
            continue  # it ended meanwhile
        if session == str(leader):
            try:
                os.kill(int(entry.parent.name), signal.SIGKILL)
            except ProcessLookupError:
                continue
