"""What must not stand in any file: places on somebody's machine, and marks of unfinished work."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.docs.build_docs import ROOT

# Where images and the bootstrap put things on the machines that are made.
_ON_MACHINES = ("pytorch", "gpuorch", "dlami", "rocm")
# Put together, so that this file does not hold what it looks for.
_UNFINISHED = re.compile(rf"\b(?:{'TO' + 'DO'}|{'FIX' + 'ME'}|{'XX' + 'X'})\b(?!-)")
_OWN_FOLDERS = re.compile(r"(?<![\w.})\]*-])/(?:work|home/\w+|Users/\w+)/\w")
_OPT = re.compile(rf"(?<![\w.])/opt/(?!(?:{'|'.join(_ON_MACHINES)})\b)")


def _files() -> list[Path]:
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: which files are ours cannot be told")
    command = [git, "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [path for name in listed.split("\0") if name and (path := ROOT / name).is_file()]


def _lines(pattern: re.Pattern[str], files: list[Path]) -> list[str]:
    found = []
    for path in files:
        text = path.read_text(encoding="utf-8", errors="replace")
        for number, line in enumerate(text.splitlines(), 1):
            if pattern.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:120]}")
    return found


def test_no_marks_of_unfinished_work() -> None:
    assert _lines(_UNFINISHED, _files()) == []


def test_no_folders_of_somebodys_machine() -> None:
    assert _lines(_OWN_FOLDERS, _files()) == []


def test_nothing_but_the_machines_own_folders_under_opt() -> None:
    # Tests may make up folders of images.
    files = [path for path in _files() if path.relative_to(ROOT).parts[0] != "tests"]
    assert _lines(_OPT, files) == []


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        (_UNFINISHED, "# TO" + "DO: later"),
        (_OWN_FOLDERS, 'path = "/wo' + 'rk/main"'),
        (_OPT, "/op" + "t/tools/bin"),
    ],
)
def test_the_words_would_be_found(pattern: re.Pattern[str], line: str) -> None:
    assert pattern.search(line)


@pytest.mark.parametrize("line", ["/opt/pytorch/bin/python", "folder / 'work' / 'x'", "tmp/work/x"])
def test_other_words_would_not(line: str) -> None:
    assert not any(pattern.search(line) for pattern in (_UNFINISHED, _OWN_FOLDERS, _OPT))
