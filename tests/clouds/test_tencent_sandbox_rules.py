"""What Tencent Cloud's provider and Tencent Cloud itself refuse is refused in the sandbox, in their words."""

from __future__ import annotations

import base64
import gzip
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from orchestrator.clouds.rules import UNKNOWN
from orchestrator.clouds.tencent.cloud import CLOUD
from orchestrator.clouds.tencent.sandbox.rules import RULES
from orchestrator.sandbox.cloud import SimulatedCloud
from orchestrator.sandbox.provider.lifecycle import Provider
from orchestrator.sandbox.provider.schema import complete, read_schema
from tests.sandbox.build_sandbox import KEY, a_plan, made

ZONE = "ap-guangzhou-3"
TAGS = {"gpuorch-deployment": "g0123456789ab"}
INSTANCE = {"image_id": "img-487zeit5", "availability_zone": ZONE, "instance_type": "GN7.5XLARGE80"}
RULE = {"action": "ACCEPT", "cidr_block": "203.0.113.7/32", "protocol": "TCP", "port": "22"}
TRUST = '{"version":"2.0","statement":[{"action":["name/sts:AssumeRole"],"effect":"allow"}]}'
ONE_OF = "must contain a valid string value must in array []string{"


def a_provider(tmp_path: Path, region: str = "ap-guangzhou") -> Provider:
    assert CLOUD.sandbox is not None
    cloud = SimulatedCloud(tmp_path / "cloud.sqlite")
    provider = Provider("tencent", read_schema(CLOUD.sandbox.schema), RULES, cloud)
    assert not provider.configure({"region": region})
    return provider


# --- the provider's own checks, before the plan ----------------------------------------------------------------------

# type, configuration, words of the error
WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("tencentcloud_instance", {"image_id": "i"}, "availability_zone"),
    ("tencentcloud_instance", {"availability_zone": ZONE}, "image_id"),
    ("tencentcloud_instance", {**INSTANCE, "instance_type": "GN7"}, "the format of instance_type is invalid: GN7"),
    (
        "tencentcloud_instance",
        {**INSTANCE, "instance_name": "x"},
        '"instance_name" cannot be lower than 2: 1',
    ),
    ("tencentcloud_instance", {**INSTANCE, "instance_name": "x" * 129}, "cannot be higher than 128: 129"),
    (
        "tencentcloud_instance",
        {**INSTANCE, "security_groups": ["sg-a"], "orderly_security_groups": ["sg-b"]},
        "Conflicting configuration arguments",
    ),
    (
        "tencentcloud_instance",
        {**INSTANCE, "key_ids": ["skey-a"], "password": "x"},
        "Conflicting configuration arguments",
    ),
    (
        "tencentcloud_instance",
        {**INSTANCE, "key_name": "skey-a", "key_ids": ["skey-a"]},
        "Conflicting configuration arguments",
    ),
    (
        "tencentcloud_instance",
        {**INSTANCE, "user_data": "YQ==", "user_data_raw": "a"},
        "Conflicting configuration arguments",
    ),
    (
        "tencentcloud_instance",
        {**INSTANCE, "instance_charge_type": "SPOT"},
        f'"instance_charge_type" {ONE_OF}"PREPAID", "POSTPAID_BY_HOUR", "SPOTPAID"',
    ),
    ("tencentcloud_instance", {**INSTANCE, "spot_instance_type": "PERSISTENT"}, f'{ONE_OF}"ONE-TIME"}}'),
    ("tencentcloud_instance", {**INSTANCE, "spot_max_price": "cheap"}, "spot_max_price must be a number: cheap"),
    ("tencentcloud_instance", {**INSTANCE, "stop_type": "NOW"}, f'"stop_type" {ONE_OF}'),
    ("tencentcloud_instance", {**INSTANCE, "stopped_mode": "FREE"}, f'"stopped_mode" {ONE_OF}'),
    (
        "tencentcloud_instance",
        {**INSTANCE, "instance_charge_type_prepaid_renew_flag": "YES"},
        f'"instance_charge_type_prepaid_renew_flag" {ONE_OF}',
    ),
    ("tencentcloud_instance", {**INSTANCE, "internet_charge_type": "FREE"}, f'"internet_charge_type" {ONE_OF}'),
    ("tencentcloud_instance", {**INSTANCE, "system_disk_type": "gp3"}, f'"system_disk_type" {ONE_OF}'),
    ("tencentcloud_instance", {**INSTANCE, "public_ip": "203.0.113.1"}, "Value for unconfigurable attribute"),
    ("tencentcloud_vpc", {"name": "x", "cidr_block": "10.0.0.1/24"}, 'expected "10.0.0.0/24", got "10.0.0.1/24"'),
    ("tencentcloud_vpc", {"name": "x", "cidr_block": "10.0.0.0"}, "invalid CIDR address: 10.0.0.0"),
    ("tencentcloud_vpc", {"name": "x" * 61, "cidr_block": "10.0.0.0/24"}, 'length of "name" cannot be higher than 60'),
    (
        "tencentcloud_subnet",
        {"name": "x", "vpc_id": "v", "availability_zone": ZONE, "cidr_block": "nonsense/8"},
        "invalid CIDR address",
    ),
    ("tencentcloud_security_group", {"name": ""}, "cannot be lower than 1: 0"),
    ("tencentcloud_security_group", {"name": "x", "description": "d" * 101}, "cannot be higher than 100: 101"),
    (
        "tencentcloud_security_group_rule_set",
        {"security_group_id": "sg", "ingress": [{**RULE, "action": "ALLOW"}]},
        f'"action" {ONE_OF}"ACCEPT", "DROP"}}',
    ),
    (
        "tencentcloud_security_group_rule_set",
        {"security_group_id": "sg", "ingress": [{**RULE, "ipv6_cidr_block": "::/0"}]},
        "conflict at rule.0, cannot set cidr_block,ipv6_cidr_block in time",
    ),
    (
        "tencentcloud_security_group_rule_set",
        {"security_group_id": "sg", "egress": [{**RULE, "service_template_id": "ppm-a"}]},
        "conflict at rule.0, cannot set protocol + port,service_template_id in time",
    ),
    ("tencentcloud_key_pair", {"key_name": "gpuorch-a", "public_key": KEY}, 'only support letters, numbers and "_"'),
    ("tencentcloud_key_pair", {"key_name": "k" * 26, "public_key": KEY}, "the length of key_name must be 1-25"),
]


@pytest.mark.parametrize(
    ("type_", "config", "words"), WRONG, ids=[f"{type_[13:]}-{words[:40]}" for type_, _, words in WRONG]
)
def test_refused_before_the_plan(tmp_path: Path, type_: str, config: dict[str, Any], words: str) -> None:
    provider = a_provider(tmp_path)
    problems = provider.validate(type_, complete(provider.schema.resources[type_].block, config))
    assert any(words in f"{problem.summary}\n{problem.detail}" for problem in problems), problems


@pytest.mark.parametrize(("type_", "config"), [(type_, config) for type_, config, _ in WRONG if len(config) > 1])
def test_what_is_not_known_yet_passes(tmp_path: Path, type_: str, config: dict[str, Any]) -> None:
    provider = a_provider(tmp_path)
    block = provider.schema.resources[type_].block
    required = {name for name, attribute in block.attributes.items() if attribute.required}
    needed = {name for name in ("image_id", "availability_zone") if name in block.attributes}
    unknown = {name: UNKNOWN for name in {*config, *required, *needed} if name not in ("public_ip", *block.blocks)}
    problems = provider.validate(type_, complete(block, unknown))
    assert not [each for each in problems if "Conflicting" not in each.summary], problems


@pytest.mark.parametrize(
    ("type_", "config"),
    [
        ("tencentcloud_instance", {**INSTANCE, "instance_charge_type": "SPOTPAID", "spot_max_price": "1e3"}),
        ("tencentcloud_instance", {"launch_template_id": "lt-a"}),
        ("tencentcloud_vpc", {"name": "x", "cidr_block": "10.0.0.0/24"}),
        (
            "tencentcloud_security_group_rule_set",
            {"security_group_id": "sg", "ingress": [RULE], "egress": [{**RULE, "action": "drop"}]},
        ),
        ("tencentcloud_key_pair", {"key_name": "gpuorch_a", "public_key": KEY}),
    ],
)
def test_the_right_configuration_passes(tmp_path: Path, type_: str, config: dict[str, Any]) -> None:
    provider = a_provider(tmp_path)
    assert not provider.validate(type_, complete(provider.schema.resources[type_].block, config))


def test_the_provider_block(tmp_path: Path) -> None:
    provider = a_provider(tmp_path)
    [problem] = provider.configure({"region": "ap-guangzhou", "protocol": "FTP"})
    assert f'"protocol" {ONE_OF}"HTTP", "HTTPS"}}, got "FTP"' in problem.summary


# --- the cloud's refusals at the call --------------------------------------------------------------------------------


def a_world(provider: Provider) -> dict[str, str]:
    """A network, a group and a key; the ids of all."""
    vpc = made(provider, "tencentcloud_vpc", name="v", cidr_block="10.86.0.0/24", tags=TAGS)["id"]
    subnet = made(
        provider,
        "tencentcloud_subnet",
        name="s",
        vpc_id=vpc,
        cidr_block="10.86.0.0/24",
        availability_zone=ZONE,
        tags=TAGS,
    )["id"]
    group = made(provider, "tencentcloud_security_group", name="g", tags=TAGS)["id"]
    key = made(provider, "tencentcloud_key_pair", key_name="k", public_key=KEY, tags=TAGS)["id"]
    return {"vpc": vpc, "subnet": subnet, "group": group, "key": key}


def refusal(provider: Provider, type_: str, **config: Any) -> str:
    outcome = provider.create(type_, a_plan(provider, type_, **config))
    assert outcome.problems, "it was made"
    [problem] = outcome.problems
    assert problem.summary.startswith("[TencentCloudSDKError] Code="), problem
    assert ", RequestId=" in problem.summary
    return problem.summary


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"image_id": "ami-12345678"}, "InvalidImageId.Malformed"),
        ({"availability_zone": "ap-beijing-3"}, "InvalidZone.MismatchRegion"),
        ({"instance_charge_type": "PREPAID"}, "MissingParameter"),
        ({"instance_charge_type": "SPOTPAID", "spot_instance_type": "ONE-TIME"}, "MissingParameter"),
        ({"instance_charge_type": "SPOTPAID", "spot_max_price": "1"}, "MissingParameter"),
        ({"allocate_public_ip": True, "internet_max_bandwidth_out": 0}, "InvalidParameterCombination"),
        ({"system_disk_size": 5000}, "InvalidParameterValue.Range"),
        ({"user_data": base64.b64encode(b"x" * 13000).decode()}, "InvalidParameterValue.LimitExceeded"),
        ({"user_data": "#cloud-config"}, "InvalidParameterValue.InvalidUserDataFormat"),
        ({"vpc_id": "vpc-nowhere0"}, "InvalidVpcId.NotFound"),
        ({"subnet_id": "subnet-nowhere0"}, "InvalidParameterValue.SubnetNotExist"),
        ({"availability_zone": "ap-guangzhou-4"}, "InvalidParameterValue.SubnetIdZoneIdNotMatch"),
        ({"orderly_security_groups": ["sg-nowhere0"]}, "InvalidSecurityGroupId.NotFound"),
        ({"key_ids": ["skey-nowhere"]}, "InvalidKeyPairId.NotFound"),
        ({"cam_role_name": "nobody"}, "AuthFailure.CamRoleNameAuthenticateFailed"),
    ],
)
def test_a_launch_that_is_refused(tmp_path: Path, changes: dict[str, Any], code: str) -> None:
    provider = a_provider(tmp_path)
    ids = a_world(provider)
    right = {
        **INSTANCE,
        "vpc_id": ids["vpc"],
        "subnet_id": ids["subnet"],
        "orderly_security_groups": [ids["group"]],
        "key_ids": [ids["key"]],
    }
    assert f"Code={code}, " in refusal(provider, "tencentcloud_instance", **(right | changes))
    assert made(provider, "tencentcloud_instance", **right)["instance_status"] == "RUNNING"


def test_user_data_is_read_as_cloud_init_reads_it(tmp_path: Path) -> None:
    provider = a_provider(tmp_path)
    ids = a_world(provider)
    machine = RULES.resources["tencentcloud_instance"].machine
    assert machine is not None
    for data in (b"#cloud-config\n{}\n", gzip.compress(b"#cloud-config\n{}\n")):
        text = base64.b64encode(data).decode()
        values = made(provider, "tencentcloud_instance", **INSTANCE, subnet_id=ids["subnet"], user_data=text)
        assert machine(values).user_data == "#cloud-config\n{}\n"


def test_a_disabled_region(tmp_path: Path) -> None:
    provider = a_provider(tmp_path, "us-east-1")
    assert "Code=UnsupportedRegion, " in refusal(provider, "tencentcloud_security_group", name="g")


@pytest.mark.parametrize(
    ("type_", "config", "code"),
    [
        (
            "tencentcloud_subnet",
            {"name": "s", "vpc_id": "vpc-nowhere0", "availability_zone": ZONE, "cidr_block": "10.86.0.0/24"},
            "ResourceNotFound",
        ),
        (
            "tencentcloud_security_group_rule_set",
            {"security_group_id": "sg-nowhere0", "ingress": [RULE]},
            "ResourceNotFound",
        ),
        ("tencentcloud_key_pair", {"key_name": "k", "public_key": KEY}, "InvalidKeyPairName.Duplicate"),
        ("tencentcloud_key_pair", {"key_name": "l", "public_key": "ssh-rsa nonsense"}, "InvalidPublicKey.Malformed"),
        ("tencentcloud_cam_role", {"name": "a b", "document": TRUST}, "InvalidParameter.RoleNameError"),
        ("tencentcloud_cam_role", {"name": "r", "document": "{}"}, "InvalidParameter.PolicyDocumentError"),
        ("tencentcloud_cam_policy", {"name": "p", "document": "text"}, "InvalidParameter.PolicyDocumentError"),
        (
            "tencentcloud_cam_role_policy_attachment",
            {"role_id": "1", "policy_id": "2"},
            "InvalidParameter.RoleNotExist",
        ),
    ],
)
def test_what_else_is_refused(tmp_path: Path, type_: str, config: dict[str, Any], code: str) -> None:
    provider = a_provider(tmp_path)
    a_world(provider)
    assert f"Code={code}, " in refusal(provider, type_, **config)


def test_a_rule_from_a_block_that_is_none(tmp_path: Path) -> None:
    provider = a_provider(tmp_path)
    group = a_world(provider)["group"]
    rules = [{**RULE, "cidr_block": "203.0.113.7/99"}]
    said = refusal(provider, "tencentcloud_security_group_rule_set", security_group_id=group, ingress=rules)
    assert "Code=InvalidParameterValue.Malformed, " in said


@pytest.mark.parametrize(
    ("type_", "code"),
    [("tencentcloud_cam_role", "InvalidParameter.RoleNameInUse"), ("tencentcloud_cam_policy", "PolicyNameInUse")],
)
def test_names_in_cam_are_there_once_for_all_regions(tmp_path: Path, type_: str, code: str) -> None:
    made(a_provider(tmp_path), type_, name="n", document=TRUST)
    assert code in refusal(a_provider(tmp_path, "ap-beijing"), type_, name="n", document=TRUST)


def a_machine(provider: Provider) -> str:
    ids = a_world(provider)
    return str(made(provider, "tencentcloud_instance", **INSTANCE, subnet_id=ids["subnet"], tags=TAGS)["id"])


@pytest.mark.parametrize(
    ("timer", "code"),
    [
        ({"timer_action": "TerminateInstances", "action_time": "tomorrow"}, "InvalidParameterValue.InvalidTimeFormat"),
        (
            {"timer_action": "TerminateInstances", "action_time": "2020-01-01T00:00:00Z"},
            "UnsupportedOperation.NotSupportImportInstancesActionTimer",
        ),
        (
            {"timer_action": "StopInstances", "action_time": "2046-01-01T00:00:00Z"},
            "UnsupportedOperation.NotSupportImportInstancesActionTimer",
        ),
    ],
)
def test_a_timer_that_is_refused(tmp_path: Path, timer: dict[str, str], code: str) -> None:
    provider = a_provider(tmp_path)
    machine = a_machine(provider)
    said = refusal(provider, "tencentcloud_cvm_action_timer", instance_id=machine, action_timer=[timer])
    assert f"Code={code}, " in said


def test_one_timer_for_a_machine_that_is_there(tmp_path: Path) -> None:
    provider = a_provider(tmp_path)
    time = f"{datetime.now(UTC) + timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}"
    timer = [{"timer_action": "TerminateInstances", "action_time": time}]
    machine = a_machine(provider)
    made(provider, "tencentcloud_cvm_action_timer", instance_id=machine, action_timer=timer)
    for id_, code in ((machine, "FailedOperation.MutActionTimerExist"), ("ins-nowhere0", "InvalidInstanceId.NotFound")):
        said = refusal(provider, "tencentcloud_cvm_action_timer", instance_id=id_, action_timer=timer)
        assert f"Code={code}, " in said


def test_what_is_in_use_stays(tmp_path: Path) -> None:
    provider = a_provider(tmp_path)
    ids = a_world(provider)
    made(provider, "tencentcloud_instance", **INSTANCE, subnet_id=ids["subnet"], vpc_id=ids["vpc"])
    for type_, kind in (("tencentcloud_vpc", "vpc"), ("tencentcloud_subnet", "subnet")):
        [problem] = provider.delete(type_, {"id": ids[kind]}).problems
        assert "Code=ResourceInUse, " in problem.summary


# --- data sources ----------------------------------------------------------------------------------------------------


def read(provider: Provider, type_: str, **config: Any) -> dict[str, Any]:
    outcome = provider.read_data(type_, complete(provider.schema.data[type_].block, config))
    assert outcome.values is not None, outcome.problems
    return dict(outcome.values)


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        (r"^Ubuntu Server 22\.04 LTS 64\S*$", ["Ubuntu Server 22.04 LTS 64bit"]),
        ("^Ubuntu.*GRID", ["Ubuntu 20.04 LTS 64-bit GRID 11.1"]),
        ("^Windows", []),
    ],
)
def test_public_images_by_name(tmp_path: Path, pattern: str, names: list[str]) -> None:
    values = read(a_provider(tmp_path), "tencentcloud_images", image_type=["PUBLIC_IMAGE"], image_name_regex=pattern)
    assert [image["image_name"] for image in values["images"]] == names


def test_a_pattern_that_is_none(tmp_path: Path) -> None:
    provider = a_provider(tmp_path)
    block = provider.schema.data["tencentcloud_images"].block
    [problem] = provider.read_data("tencentcloud_images", complete(block, {"image_name_regex": "("})).problems
    assert problem.summary.startswith("image_name_regex format error,error parsing regexp:")


def test_types_on_sale(tmp_path: Path) -> None:
    filters = [
        {"name": "instance-family", "values": ["GN7"]},
        {"name": "instance-charge-type", "values": ["SPOTPAID"]},
    ]
    rows = read(a_provider(tmp_path), "tencentcloud_instance_types", filter=filters)["instance_types"]
    assert {row["family"] for row in rows} == {"GN7"}
    assert {row["instance_charge_type"] for row in rows} == {"SPOTPAID"}
    assert len({row["availability_zone"] for row in rows}) == 9


def test_subnets_by_id(tmp_path: Path) -> None:
    provider = a_provider(tmp_path)
    ids = a_world(provider)
    [row] = read(provider, "tencentcloud_vpc_subnets", subnet_id=ids["subnet"])["instance_list"]
    assert (row["vpc_id"], row["availability_zone"]) == (ids["vpc"], ZONE)
    assert read(provider, "tencentcloud_vpc_subnets", subnet_id="subnet-nowhere0")["instance_list"] == []


# --- schema and rules ------------------------------------------------------------------------------------------------


def test_every_resource_of_the_schema_has_rules_and_every_rule_a_resource() -> None:
    assert CLOUD.sandbox is not None
    schema = read_schema(CLOUD.sandbox.schema)
    assert schema.resources.keys() == RULES.resources.keys()
    assert schema.data.keys() == RULES.data.keys()
    for type_, rules in RULES.resources.items():
        for path in {*rules.force_new, *rules.defaults, *rules.kept_blocks}:
            block = schema.resources[type_].block
            *blocks, last = path.split(".")
            for name in blocks:
                block = block.blocks[name].block
            assert last in block.attributes or last in block.blocks, f"{type_}.{path}"


def test_the_deployment_is_known_by_tag_or_by_name() -> None:
    assert RULES.deployment({"tags": TAGS, "name": "x"}) == "g0123456789ab"
    assert RULES.deployment({"tags": {"team": "x"}, "name": "gpuorch-other000"}) == ""
    assert RULES.deployment({"name": "gpuorch-g0123456789ab"}) == "g0123456789ab"
    assert RULES.deployment({"name": "theirs"}) == RULES.deployment({}) == ""
