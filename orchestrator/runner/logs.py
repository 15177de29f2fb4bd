"""Where terraform's output goes: files, never pipes.

A pipe dies with its reader: a killed gpuorch would take terraform with it, in the middle of writing its state. Commands
with a stream of events leave it in ``ROOT/.gpuorch/logs``. The others may print secrets (``output``, ``state pull``)
and write to files without a name.
"""

from __future__ import annotations

import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

__all__ = ["KEPT", "OutputFiles", "open_output"]

KEPT = 20
_NAME = re.compile(r"(\d{3,})-[a-z-]+\.(jsonl|stderr)")


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputFiles:
    """Two open descriptors, read and write, and the path of the first (``None`` where it has no name)."""

    stdout: int
    stderr: int
    path: Path | None

    def close(self) -> None:
        os.close(self.stdout)
        os.close(self.stderr)


def open_output(root: Path, command: str, *, keep: bool) -> OutputFiles:
    """Files for the output of one command in ``root``: named and kept (the newest 20), or without a name."""
    return _named(root, command) if keep else _nameless()


def _named(root: Path, command: str) -> OutputFiles:
    folder = root / ".gpuorch" / "logs"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    numbers = _prune(folder, KEPT - 1)
    number = max(numbers, default=0) + 1
    while True:
        path = folder / f"{number:03d}-{command}.jsonl"
        try:
            stdout = _create(path)
            break
        except FileExistsError:
            number += 1
    try:
        return OutputFiles(stdout=stdout, stderr=_create(path.with_suffix(".stderr")), path=path)
    except BaseException:
        os.close(stdout)
        raise


def _create(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)


def _nameless() -> OutputFiles:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        return OutputFiles(stdout=os.dup(out.fileno()), stderr=os.dup(err.fileno()), path=None)


def _prune(folder: Path, keep: int) -> list[int]:
    """Remove all but the newest ``keep`` pairs; the numbers that are left."""
    pairs: dict[int, list[Path]] = {}
    for path in folder.iterdir():
        found = _NAME.fullmatch(path.name)
        if found is not None:
            pairs.setdefault(int(found[1]), []).append(path)
    numbers = sorted(pairs)
    for number in numbers[: max(0, len(numbers) - keep)]:
        for path in pairs.pop(number):
            path.unlink(missing_ok=True)
    return sorted(pairs)
