"""Builders for the runner's tests: a terraform that does as it is told, recorded lines, and runners."""

from __future__ import annotations

import json
import os
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orchestrator.model.failure import Diagnostic
from orchestrator.runner.binary import Binary, Flavour
from orchestrator.runner.cliconfig import ProviderSource, write_cli_config
from orchestrator.runner.runner import TerraformRunner, TimeLimits


def an_error(summary: str, detail: str = "", **changes: Any) -> Diagnostic:
    return Diagnostic(**({"severity": "error", "summary": summary, "detail": detail} | changes))


def a_line(kind: str, message: str = "", **fields: Any) -> str:
    """A line as terraform writes it in its stream."""
    envelope = {"@level": "info", "@message": message, "@module": "terraform.ui", "type": kind}
    return json.dumps(envelope | fields)


def a_change(address: str, action: str) -> str:
    resource = {"addr": address, "module": "", "resource": address}
    return a_line("planned_change", f"{address}: Plan to {action}", change={"resource": resource, "action": action})


def a_diagnostic(summary: str, detail: str = "", *, severity: str = "error") -> str:
    body = {"severity": severity, "summary": summary, "detail": detail}
    return a_line("diagnostic", f"Error: {summary}", diagnostic=body)


def a_summary(operation: str, *, add: int = 0, change: int = 0, remove: int = 0) -> str:
    counts = {"add": add, "change": change, "import": 0, "remove": remove, "operation": operation}
    return a_line("change_summary", "", changes=counts)


def a_program(folder: Path, body: str) -> Path:
    """An executable Python program, with json, os, signal, sys and time at hand and stdout written at once."""
    path = folder / "fake-terraform"
    head = f"#!{sys.executable} -S\nimport json, os, signal, sys, time\nsys.stdout.reconfigure(line_buffering=True)\n"
    path.write_text(head + textwrap.dedent(body))
    path.chmod(0o755)
    return path


def a_binary(*words: str | Path, version: str = "1.11.4", flavour: Flavour = Flavour.TERRAFORM) -> Binary:
    return Binary(argv=tuple(map(str, words)), flavour=flavour, version=version, origin="setting")


def a_fake_runner(tmp_path: Path, body: str, *, version: str = "1.11.4", **changes: Any) -> TerraformRunner:
    """A runner of a program with that body."""
    config = tmp_path / "gpuorch.tfrc"
    config.touch()
    limits = TimeLimits(init=20, plan=20, change=20, read=20, grace=10)
    binary = a_binary(a_program(tmp_path, body), version=version)
    return TerraformRunner(binary, config, environ(), **({"time_limits": limits} | changes))


def a_real_runner(
    binary: Binary, tmp_path: Path, *, source: ProviderSource | None = None, **changes: Any
) -> TerraformRunner:
    """A runner with no way to a registry."""
    config = write_cli_config(source or ProviderSource(direct=False), tmp_path / "config")
    return TerraformRunner(binary, config, environ(), **changes)


def a_root(tmp_path: Path, hcl: str, name: str = "root") -> Path:
    root = tmp_path / name
    root.mkdir(parents=True, exist_ok=True)
    (root / "main.tf").write_text(textwrap.dedent(hcl))
    return root


def environ() -> Mapping[str, str]:
    """This process's environment, without what the runner would refuse: notices are for the tests that set some."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("TF_", "TOFU_"))}
