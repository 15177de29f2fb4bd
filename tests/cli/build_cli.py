"""Running the command line in this process."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli.main import run


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class Shell:
    """`gpuorch` with folders of its own."""

    folder: Path
    capsys: pytest.CaptureFixture[str]

    def __call__(self, *words: str) -> Ended:
        dirs = ["--state-dir", str(self.folder / "state"), "--cache-dir", str(self.folder / "cache")]
        self.capsys.readouterr()
        code = run([*dirs, *words])
        out, err = self.capsys.readouterr()
        assert "Traceback" not in err + out
        return Ended(code, out, err)

    def snapshot(self) -> dict[str, bytes]:
        """Every file of the state folder, but for SQLite's scratch."""
        return {
            str(path.relative_to(self.folder)): path.read_bytes()
            for path in sorted((self.folder / "state").rglob("*"))
            if path.is_file() and not path.name.endswith(("-wal", "-shm"))
        }
