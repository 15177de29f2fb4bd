from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.build_cli import Shell


@pytest.fixture
def shell(in_empty_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(tmp_path, capsys)
