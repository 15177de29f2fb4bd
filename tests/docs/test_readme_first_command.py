"""The README's first line, from the point where gpuorch is installed."""

from __future__ import annotations

import re
import shlex
import tomllib

import pytest

from tests.cli.build_cli import Shell
from tests.docs.build_docs import ROOT, first_command


def _gpuorch_parts() -> list[list[str]]:
    parts = [shlex.split(part) for part in first_command().split("&&")]
    return [words[1:] for words in parts if words[0] == ".venv/bin/gpuorch"]


def test_what_the_readme_installs_exists() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    extras = set(re.findall(r"'\.\[(\w+)\]'", text))
    assert {"sandbox", "dev"} <= extras <= project["optional-dependencies"].keys()
    assert "gpuorch" in project["scripts"]


@pytest.mark.slow
@pytest.mark.terraform
def test_the_first_command_brings_a_machine_up_and_shows_it(shell: Shell) -> None:
    up, status = _gpuorch_parts()
    made = shell(*up)
    assert made.code == 0, made.err
    assert re.search(r"^a100x8-\w{4} is ready: .* — simulated$", made.out, re.MULTILINE)
    # The shipped prices are old, and that is said before anything is made.
    assert re.search(r"^  price +observed \d+mo ago, ", made.err, re.MULTILINE)
    assert "bootstrap" in made.err
    seen = shell(*status)
    assert seen.code == 0
    assert re.search(r"^a100x8-\w{4} +ready ", seen.out, re.MULTILINE)
    assert shell("down", "--all", "--yes").code == 0
