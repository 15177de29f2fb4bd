"""The AWS stand-in without terraform: what it makes, refuses, finds and deletes."""

from __future__ import annotations

import multiprocessing
import re
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from orchestrator.clouds.registry import cloud
from orchestrator.clouds.rules import UNKNOWN
from orchestrator.model.failure import FailureKind
from orchestrator.sandbox.cloud import SimulatedCloud
from orchestrator.sandbox.faults import Fault
from tests.sandbox.build_sandbox import DEPLOYMENT, KEY, TAGS, a_machine, a_plan, a_provider, machines_of, made


def refused(provider: Any, type_: str, **config: Any) -> str:
    outcome = provider.create(type_, a_plan(provider, type_, **config))
    assert outcome.values is None
    return str(outcome.problems[0].summary)


def test_nothing_stays_unknown(tmp_path: Path) -> None:
    machine = a_machine(a_provider(tmp_path))
    assert UNKNOWN not in machine.values()
    assert machine["id"].startswith("i-")
    assert machine["arn"] == f"arn:aws:ec2:us-east-1:123456789012:instance/{machine['id']}"
    assert machine["instance_lifecycle"] == "spot"
    assert machine["root_block_device"][0]["volume_id"].startswith("vol-")
    assert machine["tags_all"] == TAGS


def test_what_is_made_is_read_and_imported_as_it_is(tmp_path: Path) -> None:
    provider = a_provider(tmp_path)
    machine = a_machine(provider)
    assert provider.read("aws_instance", machine).values == machine
    assert provider.import_("aws_instance", machine["id"]).values == machine


def test_a_region_sees_its_own_only_and_iam_is_everywhere(tmp_path: Path) -> None:
    provider, elsewhere = a_provider(tmp_path), a_provider(tmp_path, region="eu-west-1")
    vpc = made(provider, "aws_vpc", cidr_block="10.0.0.0/16")
    role = made(provider, "aws_iam_role", name="r", assume_role_policy="{}")
    assert elsewhere.read("aws_vpc", vpc).values is None
    assert elsewhere.read("aws_iam_role", role).values == role
    assert "EntityAlreadyExists: Role r already exists" in refused(
        elsewhere, "aws_iam_role", name="r", assume_role_policy="{}"
    )


def test_default_tags_of_the_provider_block_reach_every_resource(tmp_path: Path) -> None:
    provider = a_provider(tmp_path)
    provider.configure({"region": "us-east-1", "default_tags": [{"tags": {"team": "ml", "a": "1"}}]})
    vpc = made(provider, "aws_vpc", cidr_block="10.0.0.0/16", tags={"a": "2"})
    assert vpc["tags_all"] == {"team": "ml", "a": "2"}


@pytest.mark.parametrize(
    ("type_", "config", "words"),
    [
        ("aws_subnet", {"vpc_id": "vpc-0", "cidr_block": "10.0.0.0/24"}, "creating EC2 Subnet.*InvalidVpcID.NotFound"),
        ("aws_key_pair", {"key_name": "k", "public_key": "nonsense"}, "importing EC2 Key Pair .k.*InvalidKey.Format"),
        ("aws_key_pair", {"key_name": "k", "public_key": "ssh-dss AAAA"}, "InvalidKey.Format"),
        ("aws_key_pair", {"key_name": "k", "public_key": "ssh-rsa " + KEY.split()[1]}, "InvalidKey.Format"),
        ("aws_instance", {"ami": "ami-1", "instance_type": "t"}, "creating EC2 Instance.*InvalidAMIID.Malformed"),
        ("aws_instance", {"ami": "ami-01234567", "subnet_id": "subnet-0"}, "InvalidSubnetID.NotFound"),
        ("aws_instance", {"ami": "ami-01234567", "key_name": "k"}, "InvalidKeyPair.NotFound"),
        ("aws_instance", {"ami": "ami-01234567", "vpc_security_group_ids": ["sg-0"]}, "InvalidGroup.NotFound"),
        ("aws_instance", {"ami": "ami-01234567", "iam_instance_profile": "p"}, "Invalid IAM Instance Profile name"),
        ("aws_instance", {"ami": "ami-01234567", "user_data": "x" * 16385}, "User data is limited to 16384 bytes"),
        ("aws_instance", {"ami": "ami-01234567", "user_data_base64": "!"}, "InvalidUserData.Malformed"),
        (
            "aws_instance",
            {"ami": "ami-01234567", "root_block_device": [{"volume_size": 70000, "volume_type": "gp3"}]},
            "Volume of 70000GiB",
        ),
        (
            "aws_instance",
            {
                "ami": "ami-01234567",
                "instance_market_options": [{"market_type": "spot", "spot_options": [{"max_price": "cheap"}]}],
            },
            "Invalid value 'cheap' for parameter spotPrice",
        ),
        ("aws_iam_role_policy", {"name": "p", "role": "r", "policy": "{}"}, r"putting IAM Role \(r\).*NoSuchEntity"),
        ("aws_iam_instance_profile", {"name": "p", "role": "r"}, "AddRoleToInstanceProfile.*NoSuchEntity"),
        (
            "aws_iam_role_policy_attachment",
            {"role": "r", "policy_arn": "arn:aws:iam::aws:policy/X"},
            "attaching IAM Policy.*NoSuchEntity",
        ),
        ("aws_route_table_association", {"route_table_id": "t", "subnet_id": "s"}, "InvalidRouteTableID.NotFound"),
    ],
)
def test_the_cloud_refuses(tmp_path: Path, type_: str, config: dict[str, Any], words: str) -> None:
    provider = a_provider(tmp_path)
    summary = refused(provider, type_, **config)
    assert re.search(words, summary), summary
    assert SimulatedCloud(tmp_path / "provider.sqlite").resources() == []


def test_zones_and_address_blocks_are_checked(tmp_path: Path) -> None:
    provider = a_provider(tmp_path)
    vpc = made(provider, "aws_vpc", cidr_block="10.0.0.0/16")["id"]
    assert "for parameter availabilityZone is invalid" in refused(
        provider, "aws_subnet", vpc_id=vpc, cidr_block="10.0.0.0/24", availability_zone="us-west-2a"
    )
    assert "InvalidSubnet.Range" in refused(provider, "aws_subnet", vpc_id=vpc, cidr_block="10.1.0.0/24")
    by_id = made(provider, "aws_subnet", vpc_id=vpc, cidr_block="10.0.0.0/24", availability_zone_id="use1-az3")
    assert (by_id["availability_zone"], by_id["availability_zone_id"]) == ("us-east-1c", "use1-az3")
    assert "InvalidSubnet.Conflict" in refused(provider, "aws_subnet", vpc_id=vpc, cidr_block="10.0.0.0/25")


def test_what_is_in_use_is_not_deleted(tmp_path: Path) -> None:
    provider = a_provider(tmp_path)
    machine = a_machine(provider)
    subnet = provider.import_("aws_subnet", machine["subnet_id"]).values
    assert subnet is not None
    outcome = provider.delete("aws_subnet", subnet)
    assert "DependencyViolation" in outcome.problems[0].summary
    assert outcome.values == subnet, "it is still there, so it stays in the state"
    assert not provider.delete("aws_instance", machine).problems
    assert not provider.delete("aws_subnet", subnet).problems
    assert not provider.delete("aws_subnet", subnet).problems, "deleting what is gone is no error"


def test_names_are_taken_until_their_holder_is_gone(tmp_path: Path) -> None:
    provider = a_provider(tmp_path)
    key = made(provider, "aws_key_pair", key_name="k", public_key=KEY)
    assert (key["id"], key["key_type"]) == ("k", "ed25519")
    assert "InvalidKeyPair.Duplicate" in refused(provider, "aws_key_pair", key_name="k", public_key=KEY)
    provider.delete("aws_key_pair", key)
    again = made(provider, "aws_key_pair", key_name="k", public_key=KEY)
    assert provider.read("aws_key_pair", again).values == again


def test_a_change_in_place_is_kept(tmp_path: Path) -> None:
    provider = a_provider(tmp_path)
    machine = a_machine(provider)
    changed = {**machine, "instance_type": "p5.48xlarge"}
    assert provider.update("aws_instance", machine, changed).values == changed
    assert provider.read("aws_instance", machine).values == changed
    (found,) = machines_of(SimulatedCloud(tmp_path / "provider.sqlite")).find(DEPLOYMENT)
    assert found.instance_type == "p5.48xlarge"
    provider.delete("aws_instance", machine)
    outcome = provider.update("aws_instance", machine, changed)
    assert "couldn't find resource" in outcome.problems[0].summary
    assert outcome.values == machine


@pytest.mark.parametrize(
    ("config", "market", "words"),
    [
        ({}, "spot", "There is no Spot capacity available"),
        ({"instance_market_options": []}, "on-demand", "choosing us-east-1a, us-east-1c"),
    ],
)
def test_stock_runs_out_and_the_failure_table_knows_the_words(
    tmp_path: Path, config: dict[str, Any], market: str, words: str
) -> None:
    provider, simulated = a_provider(tmp_path), SimulatedCloud(tmp_path / "provider.sqlite")
    simulated.exhaust("aws", "us-east-1b", "p4d.*", market, machines=1)
    first = a_machine(provider, **config)
    again = a_plan(
        provider,
        "aws_instance",
        ami=first["ami"],
        instance_type="p4d.24xlarge",
        subnet_id=first["subnet_id"],
        **({"instance_market_options": [{"market_type": "spot"}]} | config),
    )
    summary = provider.create("aws_instance", again).problems[0].summary
    assert words in summary
    rule = next(row for row in cloud("aws").failures if re.search(row.pattern, summary))
    assert rule.kind is FailureKind.CAPACITY
    provider.delete("aws_instance", first)
    assert not provider.create("aws_instance", again).problems, "there is room again"
    for place in ("us-*", "us-east-1b", "use1-az2"):
        simulated.restock()
        simulated.exhaust("aws", place)
        assert "InsufficientInstanceCapacity" in provider.create("aws_instance", again).problems[0].summary, place
    simulated.restock()
    simulated.exhaust("aws", "use1-az1")
    assert not provider.create("aws_instance", again).problems


def test_faults_hit_what_they_match_and_as_often_as_they_say(tmp_path: Path) -> None:
    provider, simulated = a_provider(tmp_path), SimulatedCloud(tmp_path / "provider.sqlite")
    fault = Fault(type="aws_v*", match={"cidr_block": r"10\..*"}, error="no more networks", detail="why", times=2)
    simulated.order_fault(fault)
    made(provider, "aws_vpc", cidr_block="172.16.0.0/16")
    for _ in range(2):
        problem = provider.create("aws_vpc", a_plan(provider, "aws_vpc", cidr_block="10.0.0.0/16")).problems[0]
        assert (problem.summary, problem.detail) == ("no more networks", "why")
    vpc = made(provider, "aws_vpc", cidr_block="10.0.0.0/16")
    for operation in ("read", "delete"):
        simulated.order_fault(Fault(operation=operation, error=f"no {operation}", times=1))
    assert provider.read("aws_vpc", vpc).problems[0].summary == "no read"
    assert provider.delete("aws_vpc", vpc).problems[0].summary == "no delete"
    assert provider.read("aws_vpc", vpc).values == vpc
    assert [call.error for call in simulated.calls()] == ["", "no more networks", "no more networks", "", "no delete"]


@pytest.mark.parametrize(("delay", "made_it"), [({"delay_before": 60}, False), ({"delay_after": 60}, True)])
def test_a_stop_ends_the_waiting_before_or_after_the_effect(
    tmp_path: Path, delay: dict[str, Any], made_it: bool
) -> None:
    provider, simulated = a_provider(tmp_path), SimulatedCloud(tmp_path / "provider.sqlite")
    simulated.order_fault(Fault(**delay))
    threading.Timer(0.3, provider.stop).start()
    began = time.monotonic()
    outcome = provider.create("aws_vpc", a_plan(provider, "aws_vpc", cidr_block="10.0.0.0/16"))
    assert time.monotonic() - began < 10
    assert outcome.problems[0].summary == "context canceled"
    assert (outcome.values is not None) is made_it, "with values, terraform keeps it in its state"
    assert bool(simulated.resources()) is made_it


def test_many_processes_launch_at_once_and_none_is_lost(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    SimulatedCloud(tmp_path / "provider.sqlite").exhaust("aws", machines=10)
    processes = [context.Process(target=_launch_five, args=(tmp_path, number)) for number in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    machines = [each for each in SimulatedCloud(tmp_path / "provider.sqlite").resources() if each.machine]
    assert len(machines) == 10, "twenty were asked for, and the stock is ten"


def _launch_five(tmp_path: Path, number: int) -> None:
    provider = a_provider(tmp_path)
    for _ in range(5):
        planned = a_plan(provider, "aws_instance", ami="ami-01234567", instance_type=f"t{number}.x")
        provider.create("aws_instance", planned)


def test_a_region_that_is_none_is_refused(tmp_path: Path) -> None:
    provider = a_provider(tmp_path)
    assert [each.summary for each in provider.configure({"region": "moon"})] == ["invalid AWS Region: moon"]
    assert not provider.configure({"region": "moon", "skip_region_validation": True})
    assert not provider.validate_provider({"region": UNKNOWN})
