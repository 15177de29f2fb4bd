"""Rendered roots in the hands of terraform itself."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from orchestrator.assets import asset
from orchestrator.clouds.aws.cloud import CLOUD
from orchestrator.stack.render import VALUES, render, variables
from orchestrator.stack.write import write
from tests.build import a_launch
from tests.stack.build_stack import CASES
from tests.stack.build_terraform import TERRAFORM, mirror, run_terraform, terraform_environment

needs_terraform = pytest.mark.skipif(TERRAFORM is None, reason="no terraform on PATH")

# Terraform normalises text (NFC) and the values below are normalised already, so what comes back must be equal.
READ_BACK = ("name", "owner", "profile", "expires_at", "labels", "region", "zone", "instance_type", "image", "subnet")


@needs_terraform
@pytest.mark.terraform
@pytest.mark.parametrize("case", CASES)
def test_rendered_files_are_formatted(case: str, tmp_path: Path) -> None:
    write(render(CASES[case], CLOUD), tmp_path / "root")
    run_terraform(
        tmp_path / "root", "fmt", "-check", "-recursive", "-diff", environment=terraform_environment(tmp_path / "home")
    )


@needs_terraform
@pytest.mark.terraform
def test_shipped_terraform_is_formatted(tmp_path: Path) -> None:
    environment = terraform_environment(tmp_path)
    run_terraform(asset("terraform"), "fmt", "-check", "-recursive", "-diff", environment=environment)


@needs_terraform
@pytest.mark.terraform
def test_terraform_reads_hostile_values_literally(tmp_path: Path) -> None:
    """No template in a value is looked at: terraform gives every one back as it was typed."""
    stack = render(CASES["hostile_strings"], CLOUD)
    values = json.loads(stack.files[VALUES])
    for name in ("variables.tf", VALUES):
        (tmp_path / name).write_text(stack.files[name])
    outputs = "".join(f'output "{name}" {{\n  value = var.{name}\n}}\n' for name in READ_BACK)
    (tmp_path / "outputs.tf").write_text(outputs)
    values["ssh_allowed_cidrs"] = []  # the one value that the root itself examines
    (tmp_path / VALUES).write_text(json.dumps(values, ensure_ascii=False))
    environment = terraform_environment(tmp_path / "home")
    run_terraform(tmp_path, "init", "-input=false", environment=environment)
    run_terraform(tmp_path, "apply", "-auto-approve", "-input=false", environment=environment)
    shown = json.loads(run_terraform(tmp_path, "output", "-json", environment=environment).stdout)
    assert {name: shown[name]["value"] for name in READ_BACK} == {
        name: variables(CASES["hostile_strings"])[name] for name in READ_BACK
    }


@needs_terraform
@pytest.mark.terraform
@pytest.mark.genuine
@pytest.mark.slow
def test_genuine_provider_finds_the_root_valid(tmp_path: Path) -> None:
    plugins = mirror()
    if plugins is None:
        pytest.skip(
            "NO MIRROR WITH THE GENUINE AWS PROVIDER: set GPUORCH_TF_MIRROR to one, else its schema is untested"
        )
    environment = terraform_environment(tmp_path / "home", plugins)
    root = tmp_path / "root"
    write(render(a_launch(), CLOUD), root)
    run_terraform(root, "init", "-input=false", "-backend=false", environment=environment)
    answer = json.loads(run_terraform(root, "validate", "-json", environment=environment).stdout)
    assert answer["diagnostics"] == []
    assert answer["valid"]


@needs_terraform
@pytest.mark.terraform
@pytest.mark.genuine
@pytest.mark.slow
def test_module_under_terraforms_own_tests(tmp_path: Path) -> None:
    """``terraform test`` with a mocked provider: what the module plans for each way of using it."""
    plugins = mirror()
    if plugins is None:
        pytest.skip(
            "NO MIRROR WITH THE GENUINE AWS PROVIDER: set GPUORCH_TF_MIRROR to one, else the module is untested"
        )
    environment = terraform_environment(tmp_path / "home", plugins)
    module = tmp_path / "aws"
    shutil.copytree(asset("terraform", "modules", "aws"), module, ignore=shutil.ignore_patterns(".terraform*"))
    run_terraform(module, "init", "-input=false", "-backend=false", environment=environment)
    done = run_terraform(module, "test", "-no-color", environment=environment)
    assert "0 failed" in done.stdout
