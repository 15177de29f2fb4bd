"""The examples are read, decided and formatted as they stand."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from orchestrator.gitops.manifest import read_manifest
from orchestrator.settings import Settings
from tests.cli.build_cli import Shell
from tests.docs.build_docs import ROOT
from tests.docs.test_json_schemas import held
from tests.stack.build_terraform import TERRAFORM, mirror, run_terraform, terraform_environment

_EXAMPLES = ROOT / "examples"
_BY_HAND = _EXAMPLES / "terraform-by-hand"


@pytest.mark.parametrize("path", sorted(_EXAMPLES.glob("*.yaml")), ids=lambda path: path.name)
def test_a_specification_is_read_and_decided(shell: Shell, path: Path) -> None:
    asked = read_manifest(path)
    proposed = held(shell("up", "-f", str(path), "--dry-run", "-o", "json"), "up")["data"]
    chosen = proposed["placement"]["chosen"]
    assert proposed["name"].startswith(asked.around.get("name", ""))
    assert chosen["cloud"] == "aws"
    if "max_price_per_hour" in asked.request:
        offers = [chosen, *proposed["placement"]["fallbacks"]]
        assert all(float(offer["price_per_hour"]) <= asked.request["max_price_per_hour"][0] for offer in offers)


def test_there_are_examples_and_the_page_names_them() -> None:
    text = (ROOT / "docs" / "spec.md").read_text(encoding="utf-8")
    found = sorted(_EXAMPLES.glob("*.yaml"))
    assert len(found) >= 3
    assert all(f"examples/{path.name})" in text for path in found)


def test_the_settings_file_is_read(in_empty_folder: Path) -> None:
    shutil.copy(_EXAMPLES / "gpuorch.toml", in_empty_folder)
    settings = Settings.load({}, {}, in_empty_folder, system=in_empty_folder / "none.toml")
    assert settings["market"] == "spot"
    assert settings["denied_regions"] == ("us-gov-*",)
    assert settings.value("ttl").origin.endswith("gpuorch.toml")


@pytest.mark.terraform
def test_terraform_by_hand_is_formatted(tmp_path: Path) -> None:
    if TERRAFORM is None:
        pytest.skip("no terraform on PATH")
    run_terraform(_BY_HAND, "fmt", "-check", "-diff", environment=terraform_environment(tmp_path / "home"))


@pytest.mark.slow
@pytest.mark.terraform
@pytest.mark.genuine
def test_terraform_by_hand_is_valid(tmp_path: Path) -> None:
    plugins = mirror()
    if TERRAFORM is None or plugins is None:
        pytest.skip("no terraform on PATH, or no genuine AWS provider: set GPUORCH_TF_MIRROR to a mirror that has it")
    root = tmp_path / "examples" / "terraform-by-hand"
    shutil.copytree(_BY_HAND, root)
    shutil.copytree(ROOT / "terraform" / "modules", tmp_path / "terraform" / "modules")
    environment = terraform_environment(tmp_path / "home", plugins)
    run_terraform(root, "init", "-backend=false", "-input=false", environment=environment)
    run_terraform(root, "validate", environment=environment)
