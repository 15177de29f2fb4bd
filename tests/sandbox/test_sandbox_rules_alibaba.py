"""What the provider for Alibaba Cloud and the cloud refuse, in their documented words, and what a change replaces."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from orchestrator.clouds.alibaba.sandbox.places import zone_names
from orchestrator.clouds.alibaba.sandbox.rules import RULES
from orchestrator.clouds.registry import cloud
from orchestrator.clouds.rules import UNKNOWN
from orchestrator.sandbox.cloud import SimulatedCloud
from orchestrator.sandbox.provider.lifecycle import Provider
from orchestrator.sandbox.provider.schema import complete, read_schema
from tests.sandbox.build_sandbox import a_plan, made

ALIBABA = cloud("alibaba")
REGION = "cn-shanghai"
TAGS = {"gpuorch:deployment": "dtestaaaa"}
MACHINE = {"image_id": "m-bp146shijn7hujkui9j8", "instance_type": "ecs.gn6v-c8g1.2xlarge"}

WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("alicloud_instance", {}, "Missing required argument"),
    ("alicloud_instance", {**MACHINE, "instance_type": "gn6v"}, "prefix must be 'ecs.'"),
    ("alicloud_instance", {**MACHINE, "spot_strategy": "Cheap"}, 'expected spot_strategy to be one of ["NoSpot"'),
    ("alicloud_instance", {**MACHINE, "instance_charge_type": "x"}, 'to be one of ["PrePaid" "PostPaid"], got x'),
    ("alicloud_instance", {**MACHINE, "http_tokens": "maybe"}, 'to be one of ["optional" "required"], got maybe'),
    ("alicloud_instance", {**MACHINE, "system_disk_category": "gp3"}, "expected system_disk_category to be one of"),
    (
        "alicloud_instance",
        {**MACHINE, "dedicated_host_id": "dh-1", "spot_strategy": "SpotAsPriceGo"},
        "Conflicting configuration arguments",
    ),
    ("alicloud_vswitch", {"vpc_id": "v", "cidr_block": "10.0.0.0/24"}, "one of `availability_zone,zone_id` must be"),
    ("alicloud_security_group", {"security_group_type": "odd"}, 'to be one of ["normal" "enterprise"], got odd'),
    (
        "alicloud_security_group_rule",
        {"type": "ingress", "ip_protocol": "tcp", "security_group_id": "sg-1"},
        "Missing required argument",
    ),
    (
        "alicloud_security_group_rule",
        {"type": "in", "ip_protocol": "tcp", "security_group_id": "sg-1", "cidr_ip": "10.0.0.0/8"},
        'expected type to be one of ["ingress" "egress"], got in',
    ),
    ("alicloud_ram_role", {"role_name": "a b"}, "invalid value for role_name"),
    ("alicloud_ram_role", {"role_name": "a", "assume_role_policy_document": "{"}, "contains an invalid JSON"),
    ("alicloud_ram_policy", {"policy_name": "a", "policy_document": "[]"}, "contains an invalid JSON"),
]


def a_provider(folder: Path) -> Provider:
    assert ALIBABA.sandbox is not None
    provider = Provider("alibaba", read_schema(ALIBABA.sandbox.schema), RULES, SimulatedCloud(folder / "cloud.sqlite"))
    assert not provider.configure({"region": REGION})
    return provider


def refusal(provider: Provider, type_: str, **config: Any) -> str:
    done = provider.create(type_, a_plan(provider, type_, **config))
    (problem,) = done.problems
    return problem.summary


def a_network(provider: Provider) -> dict[str, Any]:
    vpc = made(provider, "alicloud_vpc", cidr_block="10.86.0.0/16", tags=TAGS)
    vswitch = made(
        provider,
        "alicloud_vswitch",
        vpc_id=vpc["id"],
        cidr_block="10.86.0.0/24",
        zone_id="cn-shanghai-f",
        tags=TAGS,
    )
    group = made(provider, "alicloud_security_group", vpc_id=vpc["id"], tags=TAGS)
    return {"vswitch_id": vswitch["id"], "security_groups": [group["id"]]}


def existing(type_: str, folder: Path) -> dict[str, Any]:
    (found,) = (each for each in SimulatedCloud(folder / "cloud.sqlite").resources() if each.type == type_)
    return dict(found.values)


@pytest.mark.parametrize(("type_", "config", "words"), WRONG, ids=[f"{t}-{w[:30]}" for t, _, w in WRONG])
def test_refused_before_the_plan(tmp_path: Path, type_: str, config: dict[str, Any], words: str) -> None:
    provider = a_provider(tmp_path)
    problems = provider.validate(type_, complete(provider.schema.resources[type_].block, config))
    assert any(words in f"{problem.summary}\n{problem.detail}" for problem in problems), problems


@pytest.mark.parametrize(("type_", "config"), [(type_, config) for type_, config, _ in WRONG if len(config) > 1])
def test_what_is_not_known_yet_passes(tmp_path: Path, type_: str, config: dict[str, Any]) -> None:
    provider = a_provider(tmp_path)
    more = {"cidr_ip": UNKNOWN, "zone_id": UNKNOWN}
    attributes = provider.schema.resources[type_].block.attributes
    unknown = dict.fromkeys(config, UNKNOWN) | {name: value for name, value in more.items() if name in attributes}
    unknown.pop("dedicated_host_id", None)
    assert not provider.validate(type_, complete(provider.schema.resources[type_].block, unknown))


def test_regions() -> None:
    assert not list(RULES.configure({"region": "cn-wulanchabu"}))
    assert not list(RULES.configure({"region": "ap-southeast-1"}))
    (problem,) = RULES.configure({"region": "Shanghai"})
    assert problem.summary.startswith("Invalid Alibaba Cloud region: Shanghai. You can skip checking this region")
    assert not list(RULES.configure({"region": "Shanghai", "skip_region_validation": True}))
    assert zone_names("cn-beijing")[7] == "cn-beijing-h"
    assert zone_names("us-east-1")[0] == "us-east-1a"


def test_a_machine_gets_what_the_cloud_fills_in(tmp_path: Path) -> None:
    provider = a_provider(tmp_path)
    values = made(provider, "alicloud_instance", **MACHINE, **a_network(provider), internet_max_bandwidth_out=5)
    assert (values["availability_zone"], values["status"]) == ("cn-shanghai-f", "Running")
    assert values["public_ip"].startswith("203.0.113.")
    assert values["primary_ip_address"] == values["private_ip"] == "10.86.0.1"
    again = made(provider, "alicloud_instance", **MACHINE, **a_network_of(values))
    assert (again["public_ip"], again["private_ip"]) == ("", "10.86.0.2")


def a_network_of(machine: dict[str, Any]) -> dict[str, Any]:
    return {"vswitch_id": machine["vswitch_id"], "security_groups": machine["security_groups"]}


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"image_id": "ami-0123456789abcdef0"}, "InvalidImageId.NotFound"),
        ({"vswitch_id": "vsw-none"}, "InvalidVSwitchId.NotFound"),
        ({"security_groups": ["sg-none"]}, "InvalidSecurityGroupId.NotFound"),
        ({"key_name": "none"}, "InvalidKeyPairName.NotFound"),
        ({"user_data": base64.b64encode(b"x" * 32769).decode()}, "InvalidUserData.SizeExceeded"),
        ({"user_data": "x" * 32769}, "InvalidUserData.SizeExceeded"),
        ({"system_disk_size": 10}, "InvalidSystemDiskSize.ValueNotSupported"),
        ({"instance_charge_type": "PrePaid", "period": 1, "spot_strategy": "SpotAsPriceGo"}, "InvalidSpotPrepaid"),
        ({"spot_strategy": "SpotWithPriceLimit", "spot_price_limit": 0.0001}, "InvalidSpotPriceLimit"),
        ({"spot_strategy": "SpotWithPriceLimit"}, "InvalidSpotPriceLimit"),
        ({"auto_release_time": "tomorrow"}, "InvalidAutoReleaseTime.Malformed"),
        ({"auto_release_time": "2020-01-01T00:00:00Z"}, "InvalidAutoReleaseTime.Malformed"),
    ],
)
def test_refused_by_the_cloud(tmp_path: Path, changes: dict[str, Any], code: str) -> None:
    provider = a_provider(tmp_path)
    words = refusal(provider, "alicloud_instance", **{**MACHINE, **a_network(provider), **changes})
    assert f"   Code: {code}\n" in words
    assert words.startswith("[ERROR] terraform-provider-alicloud/alicloud/resource_alicloud_instance.go: Resource ")


def test_a_time_of_release_needs_half_an_hour(tmp_path: Path) -> None:
    provider = a_provider(tmp_path)
    network = a_network(provider)
    soon = f"{datetime.now(UTC) + timedelta(minutes=20):%Y-%m-%dT%H:%M:00Z}"
    assert "InvalidAutoReleaseTime" in refusal(
        provider, "alicloud_instance", **MACHINE, **network, auto_release_time=soon
    )
    later = f"{datetime.now(UTC) + timedelta(minutes=40):%Y-%m-%dT%H:%M:00Z}"
    assert made(provider, "alicloud_instance", **MACHINE, **network, auto_release_time=later)["id"]


def test_a_month_ends_only_with_force(tmp_path: Path) -> None:
    provider = a_provider(tmp_path)
    month = {"instance_charge_type": "PrePaid", "period": 1}
    kept = made(provider, "alicloud_instance", **MACHINE, **a_network(provider), **month)
    assert (kept["period_unit"], kept["renewal_status"]) == ("Month", "Normal")
    done = provider.delete("alicloud_instance", kept)
    assert "Please convert 'PrePaid' instance to 'PostPaid'" in done.problems[0].summary
    assert not provider.delete("alicloud_instance", {**kept, "force_delete": True}).problems


def test_what_is_in_use_is_not_removed(tmp_path: Path) -> None:
    provider = a_provider(tmp_path)
    network = a_network(provider)
    machine = made(provider, "alicloud_instance", **MACHINE, **network)
    assert machine["id"]
    for type_ in ("alicloud_vswitch", "alicloud_security_group", "alicloud_vpc"):
        done = provider.delete(type_, existing(type_, tmp_path))
        assert "DependencyViolation" in done.problems[0].summary


@pytest.mark.parametrize(
    ("name", "value", "replaced"),
    [
        ("spot_strategy", "SpotAsPriceGo", True),
        ("system_disk_category", "cloud_auto", True),
        ("auto_release_time", "2030-01-01T00:00:00Z", False),
        ("instance_type", "ecs.gn6v-c8g1.8xlarge", False),
        ("tags", {"a": "b"}, False),
    ],
)
def test_what_replaces_a_machine(tmp_path: Path, name: str, value: Any, replaced: bool) -> None:
    provider = a_provider(tmp_path)
    network = a_network(provider)
    before = made(provider, "alicloud_instance", **MACHINE, **network)
    config = complete(provider.schema.resources["alicloud_instance"].block, {**MACHINE, **network, name: value})
    planned = provider.plan("alicloud_instance", before, {**before, name: value}, config)
    assert bool(planned.replace) is replaced


def test_every_resource_of_the_schema_has_rules_and_every_rule_a_resource() -> None:
    assert ALIBABA.sandbox is not None
    schema = read_schema(ALIBABA.sandbox.schema)
    assert schema.resources.keys() == RULES.resources.keys()
    assert schema.data.keys() == RULES.data.keys()
    for type_, rules in RULES.resources.items():
        for path in {*rules.force_new, *rules.defaults, *rules.kept_blocks}:
            block = schema.resources[type_].block
            *blocks, last = path.split(".")
            for name in blocks:
                block = block.blocks[name].block
            assert last in block.attributes or last in block.blocks, f"{type_}.{path}"
