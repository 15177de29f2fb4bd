"""Settings of one cloud, and what is missing to use one."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from orchestrator.clouds.aws.credentials import no_credentials
from orchestrator.clouds.contract import Cloud, CloudSetting, Machines
from orchestrator.clouds.registry import cloud
from orchestrator.errors import ConfigInvalid, NotSetUp
from orchestrator.model.demand import Request
from orchestrator.operations.cloud_settings import cloud_settings, not_set_up
from orchestrator.operations.order import Order
from orchestrator.operations.up import propose
from orchestrator.operations.world import World
from orchestrator.settings import Settings
from tests.operations.build_world import SPEC, FakeCloud, FakeMachines, a_deployment, a_world

PROJECT = CloudSetting(help="the project", variables=("THE_PROJECT",), required=True, sandbox="simulated")


def a_cloud(**changes: Any) -> Cloud:
    return dataclasses.replace(cloud("aws"), settings={"project": PROJECT}, **changes)


def world_in(folder: Path, environ: dict[str, str] | None = None, text: str = "") -> World:
    world = a_world(folder, FakeCloud(folder / "cloud.json"))
    if text:
        (folder / "gpuorch.toml").write_text(text)
    world.environ = {**world.environ, **(environ or {})}
    world.settings = Settings.load(
        {"state_dir": folder / "state", "cache_dir": folder / "cache"}, world.environ, folder, system=folder / "none"
    )
    return world


def test_a_setting_is_looked_for_in_its_order(tmp_path: Path) -> None:
    own = {"THE_PROJECT": "from the cloud's variable"}
    assert cloud_settings(world_in(tmp_path, own), a_cloud(), sandbox=False) == {"project": own["THE_PROJECT"]}
    ours = own | {"GPUORCH_AWS_PROJECT": "from ours"}
    assert cloud_settings(world_in(tmp_path, ours), a_cloud(), sandbox=False) == {"project": "from ours"}
    text = '[cloud_settings.aws]\nproject = "from the file"\n'
    assert cloud_settings(world_in(tmp_path, ours, text), a_cloud(), sandbox=False) == {"project": "from the file"}


def test_the_sandbox_needs_none(tmp_path: Path) -> None:
    assert cloud_settings(world_in(tmp_path), a_cloud(), sandbox=True) == {"project": "simulated"}


def test_an_unknown_setting_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match="unknown setting 'projekt'"):
        cloud_settings(world_in(tmp_path, text='[cloud_settings.aws]\nprojekt = "x"\n'), a_cloud(), sandbox=False)


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    world = world_in(tmp_path)
    world.cloud = lambda name: a_cloud()
    assert not_set_up(world, ["aws"]) == {"aws": "AWS needs the setting project (the project)"}
    world.cloud = lambda name: a_cloud(no_credentials=lambda environ: "no keys")
    world.environ = {**world.environ, "THE_PROJECT": "p"}
    assert not_set_up(world, ["aws"]) == {"aws": "no keys"}
    world.cloud = lambda name: a_cloud(no_credentials=lambda environ: "")
    assert not_set_up(world, ["aws"]) == {}


def test_a_cloud_that_cannot_be_used_is_not_chosen_to_make_something(tmp_path: Path) -> None:
    world = world_in(tmp_path)
    world.cloud = lambda name: dataclasses.replace(cloud("aws"), no_credentials=lambda environ: "no keys")
    order = Order(request=Request(profile="t4x1", market="on-demand"))
    # Looking is free, and the sandbox needs no keys.
    assert propose(world, order).placement.chosen.cloud == "aws"
    assert propose(world, dataclasses.replace(order, sandbox=True), to_make=True).placement.chosen.cloud == "aws"
    with pytest.raises(NotSetUp, match="no keys"):
        propose(world, order, to_make=True)


@pytest.mark.parametrize(
    "environ",
    [
        {"AWS_ACCESS_KEY_ID": "AKIA"},
        {"AWS_PROFILE": "work"},
        {"AWS_WEB_IDENTITY_TOKEN_FILE": "/token"},
        {"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://localhost/"},
    ],
)
def test_aws_credentials_may_be_there(tmp_path: Path, environ: dict[str, str]) -> None:
    assert no_credentials({"HOME": str(tmp_path), **environ}, vendor=tmp_path / "none") == ""


def test_aws_credentials_in_files_on_a_machine_or_nowhere(tmp_path: Path) -> None:
    vendor = tmp_path / "vendor"
    assert "no AWS credentials" in no_credentials({"HOME": str(tmp_path)}, vendor=vendor)
    vendor.write_text("Amazon EC2\n")
    assert no_credentials({"HOME": str(tmp_path)}, vendor=vendor) == ""
    vendor.write_text("QEMU\n")
    assert no_credentials({"HOME": str(tmp_path)}, vendor=vendor)
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "config").write_text("[default]\n")
    assert no_credentials({"HOME": str(tmp_path)}, vendor=vendor) == ""


def test_a_deployment_is_looked_for_with_the_settings_it_was_made_with(tmp_path: Path) -> None:
    world = world_in(tmp_path, {"THE_PROJECT": "today's"})
    asked: list[Any] = []

    def open_machines(*words: Any) -> Machines:
        asked.append(words)
        return FakeMachines(FakeCloud(tmp_path / "cloud.json"), "us-east-1")

    world.open_machines = open_machines
    made = a_deployment(spec={**SPEC, "cloud_settings": {"aws": {"project": "then"}}})
    assert world.machines(made, made.offer).find(made.id) == []
    assert asked == [("aws", "us-east-1", False, {"project": "then"})]
