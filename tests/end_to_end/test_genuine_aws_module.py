"""The AWS module, rendered as users get it, through the genuine provider against the loopback AWS."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.clouds.aws.addresses import PLACES
from orchestrator.clouds.aws.images import image
from orchestrator.clouds.aws.machines import open_machines
from orchestrator.clouds.contract import Machines
from orchestrator.clouds.registry import cloud
from orchestrator.model.demand import Access
from orchestrator.model.launch import Launch
from orchestrator.model.machine import FoundResource, MachineState
from orchestrator.model.offer import Market
from orchestrator.stack.render import render, write
from tests.build import a_launch, an_offer
from tests.clouds.aws_double import REGION, AwsDouble
from tests.end_to_end.build_end_to_end import Terraform, needs_genuine_provider

pytestmark = [pytest.mark.genuine, pytest.mark.terraform, pytest.mark.slow]

NO_CAPACITY = (
    "We currently do not have sufficient p4d.24xlarge capacity in the Availability Zone you requested (us-east-1a). "
    "Our system will be working on provisioning additional capacity."
)


@pytest.fixture(scope="module")
def mirror() -> Path:
    return needs_genuine_provider()


@pytest.fixture
def aws(mirror: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AwsDouble]:
    with AwsDouble() as double:
        for key, value in double.environment().items():
            monkeypatch.setenv(key, value)
        yield double


@pytest.fixture
def machines(aws: AwsDouble) -> Machines:
    return open_machines(REGION)


def everything(**changes: Any) -> Launch:
    """A launch for which the module makes each of its resources."""
    launch = a_launch(
        offer=an_offer(**changes), access=Access.SESSION, ssh_allowed_cidrs=(), checkpoint_uri="s3://checkpoints/train"
    )
    return replace(launch, image=image(launch.offer))


def a_root(launch: Launch, folder: Path, mirror: Path, aws: AwsDouble) -> Terraform:
    """The rendered root, after ``terraform init``."""
    root = folder / "root"
    write(render(launch, cloud("aws")), root)
    terraform = Terraform(root=root, mirror=mirror, environment=aws.environment())
    terraform.run("init")
    return terraform


def take_in(terraform: Terraform, resources: list[FoundResource]) -> None:
    """Import by blocks: the same addresses and ids as ``terraform import``, which takes one at a time, seconds each."""
    blocks = [
        f"import {{\n  to = {resource.address}\n  id = {json.dumps(resource.import_id)}\n}}\n" for resource in resources
    ]
    file = terraform.root / "imports.tf"
    file.write_text("".join(blocks))
    assert {action for actions in terraform.planned().values() for action in actions} <= {"update"}
    terraform.run("apply", "-parallelism=30", "test.tfplan")
    file.unlink()


def test_spot_machine_from_apply_over_import_to_destroy(
    aws: AwsDouble, machines: Machines, mirror: Path, tmp_path: Path
) -> None:
    launch = everything(market=Market.SPOT)
    terraform = a_root(launch, tmp_path, mirror, aws)
    terraform.run("apply", "-auto-approve", "-parallelism=30")
    assert terraform.planned() == {}

    state = terraform.state()
    (machine,) = machines.find(launch.deployment_id)
    assert machine.id == state["module.machine.aws_instance.machine"]["id"]
    assert (machine.market, machine.zone, machine.state) == ("spot", "us-east-1a", MachineState.RUNNING)

    found = machines.resources(launch.deployment_id)
    assert {resource.address for resource in found} == set(state) == {place.address for place in PLACES}

    (terraform.root / "terraform.tfstate").unlink()
    *others, instance = found
    assert instance.type == "aws_instance"
    terraform.run("import", instance.address, instance.import_id)
    take_in(terraform, others)
    assert set(terraform.state()) == set(state)
    assert {action for actions in terraform.planned().values() for action in actions} <= {"update"}

    terraform.run("destroy", "-auto-approve", "-parallelism=30")
    assert [gone.state for gone in machines.find(launch.deployment_id)] == [MachineState.GONE]
    assert machines.resources(launch.deployment_id) == []
    assert terraform.state() == {}


def test_on_demand_machine_with_ssh(aws: AwsDouble, machines: Machines, mirror: Path, tmp_path: Path) -> None:
    offer = an_offer(market=Market.ON_DEMAND, zone="us-east-1b")
    launch = a_launch(offer=offer, image=image(offer), access=Access.SSH)
    terraform = a_root(launch, tmp_path, mirror, aws)
    terraform.run("apply", "-auto-approve", "-parallelism=30")
    assert terraform.planned() == {}

    (machine,) = machines.find(launch.deployment_id)
    assert (machine.market, machine.zone) == ("on-demand", "us-east-1b")
    found = machines.resources(launch.deployment_id)
    assert {resource.address for resource in found} == set(terraform.state())
    assert "aws_iam_role" not in {resource.type for resource in found}

    terraform.run("destroy", "-auto-approve", "-parallelism=30")
    assert machines.resources(launch.deployment_id) == []


def test_no_capacity_in_one_zone(aws: AwsDouble, machines: Machines, mirror: Path, tmp_path: Path) -> None:
    """AWS's words reach the user at once, and what was made before them can be taken away again."""
    aws.fault(
        "ec2",
        "RunInstances",
        match={"Zone": "us-east-1a"},
        code="InsufficientInstanceCapacity",
        message=NO_CAPACITY,
        status=500,
    )
    offer = an_offer(market=Market.SPOT, zone="us-east-1a")
    launch = a_launch(offer=offer, image=image(offer))
    terraform = a_root(launch, tmp_path, mirror, aws)
    failed = terraform.run("apply", "-auto-approve", "-parallelism=30", "-no-color", codes=(1,))
    words = " ".join(failed.stderr.replace("│", " ").split())
    assert f"api error InsufficientInstanceCapacity: {NO_CAPACITY}" in words
    assert aws.count("RunInstances") == 3
    assert machines.find(launch.deployment_id) == []

    terraform.run("destroy", "-auto-approve", "-parallelism=30")
    assert machines.resources(launch.deployment_id) == []
