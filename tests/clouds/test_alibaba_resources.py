"""What Alibaba Cloud still has of a deployment, in the order of import, with the address of each in the root."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from orchestrator.clouds.alibaba.addresses import PLACES, rule_address
from orchestrator.clouds.alibaba.machines import AlibabaMachines
from orchestrator.errors import CloudCallFailed
from orchestrator.model.machine import FoundResource
from tests.clouds.build_alibaba import ID, FakeApi, an_instance, clients, error, listed, running, tags, with_keys

pytest.importorskip("alibabacloud_tea_openapi")

NAME = f"gpuorch-{ID}"
VPC, VSWITCH, GROUP, MACHINE = "vpc-bp67acfmxazb4p****", "vsw-1", "sg-1", "i-bp67acfmxazb4p****"
VPC_TAGS = tags(names=("Key", "Value"))


def nothing() -> dict[str, Any]:
    """What the API answers for a deployment of which it has nothing."""
    dry = error("DryRunOperation")
    empty = listed("Instances", "Instance", rows=[])
    return {
        "DescribeInstances": lambda asked: dry if asked.get("DryRun") else empty,
        "DescribeVpcs": listed("Vpcs", "Vpc", rows=[]),
        "DescribeVSwitches": listed("VSwitches", "VSwitch", rows=[]),
        "DescribeSecurityGroups": listed("SecurityGroups", "SecurityGroup", rows=[]),
        "DescribeSecurityGroupAttribute": listed("Permissions", "Permission", rows=[]),
        "DescribeKeyPairs": listed("KeyPairs", "KeyPair", rows=[]),
        "DescribeDisks": listed("Disks", "Disk", rows=[]),
        "DescribeNetworkInterfaces": listed("NetworkInterfaceSets", "NetworkInterfaceSet", rows=[]),
        "DescribeInstanceRamRole": listed("InstanceRamRoleSets", "InstanceRamRoleSet", rows=[]),
        "GetRole": error("EntityNotExist.Role", status=404),
        "GetPolicy": error("EntityNotExist.Policy", status=404),
        "ListPoliciesForRole": listed("Policies", "Policy", rows=[]),
    }


def a_rule(source: str, **changes: Any) -> dict[str, Any]:
    return {
        "IpProtocol": "TCP",
        "PortRange": "22/22",
        "NicType": "intranet",
        "Policy": "Accept",
        "Priority": "1",
        "SourceCidrIp": source,
        "Ipv6SourceCidrIp": "",
        **changes,
    }


def everything() -> dict[str, Any]:
    role = {"InstanceId": MACHINE, "RamRoleName": NAME}
    policy = {"PolicyName": NAME, "PolicyType": "Custom", "Description": "Checkpoints of one machine made by gpuorch"}
    return nothing() | {
        "DescribeInstances": listed("Instances", "Instance", rows=[an_instance()]),
        "DescribeVpcs": listed("Vpcs", "Vpc", rows=[{"VpcId": VPC, "Tags": VPC_TAGS}]),
        "DescribeVSwitches": listed(
            "VSwitches", "VSwitch", rows=[{"VSwitchId": VSWITCH, "VpcId": VPC, "Tags": VPC_TAGS}]
        ),
        "DescribeSecurityGroups": listed(
            "SecurityGroups", "SecurityGroup", rows=[{"SecurityGroupId": GROUP, "VpcId": VPC, "Tags": tags()}]
        ),
        "DescribeSecurityGroupAttribute": listed("Permissions", "Permission", rows=[a_rule("203.0.113.7")]),
        "DescribeKeyPairs": listed("KeyPairs", "KeyPair", rows=[{"KeyPairName": NAME, "Tags": tags()}]),
        "DescribeDisks": listed("Disks", "Disk", rows=[{"DiskId": "d-0", "Status": "In_use", "Tags": tags()}]),
        "DescribeInstanceRamRole": listed("InstanceRamRoleSets", "InstanceRamRoleSet", rows=[role]),
        "GetRole": (200, {"Role": {"RoleName": NAME, "Description": "One machine made by gpuorch"}}),
        "GetPolicy": (200, {"Policy": policy}),
        "ListPoliciesForRole": listed("Policies", "Policy", rows=[policy]),
    }


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeApi]:
    with_keys(monkeypatch)
    with running(FakeApi()) as api:
        yield api


def resources(api: FakeApi) -> list[FoundResource]:
    return AlibabaMachines(clients(api), pause_seconds=0).resources(ID)


def test_resources_in_the_order_of_import(api: FakeApi) -> None:
    api.answers = everything()
    found = resources(api)
    assert [resource.type for resource in found] == [place.type for place in PLACES]
    wanted = {place.type: place.address for place in PLACES}
    wanted["alicloud_security_group_rule"] = rule_address("203.0.113.7/32")
    assert {resource.type: resource.address for resource in found} == wanted
    assert {resource.type: resource.import_id for resource in found} == {
        "alicloud_vpc": VPC,
        "alicloud_vswitch": VSWITCH,
        "alicloud_security_group": GROUP,
        "alicloud_security_group_rule": "sg-1:ingress:tcp:22/22:intranet:203.0.113.7/32:accept:1",
        "alicloud_ecs_key_pair": NAME,
        "alicloud_ram_role": NAME,
        "alicloud_ram_policy": NAME,
        "alicloud_ram_role_policy_attachment": f"role:{NAME}:Custom:{NAME}",
        "alicloud_instance": MACHINE,
        "alicloud_ecs_ram_role_attachment": f"{MACHINE}:{NAME}",
    }


def test_nothing_is_nothing(api: FakeApi) -> None:
    api.answers = nothing()
    assert resources(api) == []
    for call in api.calls:
        if call.action.startswith("Describe") and "DryRun" not in call.parameters:
            assert call.parameters["Tag.1.Value"] == ID, call.action


def test_a_second_machine_and_a_second_network_have_no_address(api: FakeApi) -> None:
    older = an_instance(InstanceId="i-old", CreationTime="2026-11-29T04:04Z")
    other = {"VpcId": "vpc-other", "Tags": VPC_TAGS}
    api.answers = everything() | {
        "DescribeInstances": listed("Instances", "Instance", rows=[older, an_instance()]),
        "DescribeVpcs": listed("Vpcs", "Vpc", rows=[other, {"VpcId": VPC, "Tags": VPC_TAGS}]),
    }
    addresses = {resource.id: resource.address for resource in resources(api)}
    assert addresses["i-old"] == addresses["vpc-other"] == ""
    assert addresses[MACHINE] and addresses[VPC]


def test_what_stayed_behind_is_shown(api: FakeApi) -> None:
    api.answers = nothing() | {
        "DescribeDisks": listed("Disks", "Disk", rows=[{"DiskId": "d-1", "Status": "Available", "Tags": tags()}]),
        "DescribeNetworkInterfaces": listed(
            "NetworkInterfaceSets",
            "NetworkInterfaceSet",
            rows=[{"NetworkInterfaceId": "eni-1", "Status": "Available", "Tags": tags()}],
        ),
    }
    assert [(found.type, found.id, found.address) for found in resources(api)] == [
        ("alicloud_ecs_disk", "d-1", ""),
        ("alicloud_ecs_network_interface", "eni-1", ""),
    ]


@pytest.mark.parametrize(
    "rule",
    [
        a_rule("203.0.113.7/32", PortRange="1/65535"),
        a_rule("203.0.113.7/32", Policy="Drop"),
        a_rule("", SourceGroupId="sg-2"),
    ],
)
def test_a_rule_made_by_hand_has_no_address(api: FakeApi, rule: dict[str, Any]) -> None:
    api.answers = everything() | {"DescribeSecurityGroupAttribute": listed("Permissions", "Permission", rows=[rule])}
    (found,) = [each for each in resources(api) if each.type == "alicloud_security_group_rule"]
    assert found.address == ""


def test_a_rule_for_ipv6(api: FakeApi) -> None:
    rule = a_rule("", Ipv6SourceCidrIp="2001:db8::/64")
    api.answers = everything() | {"DescribeSecurityGroupAttribute": listed("Permissions", "Permission", rows=[rule])}
    (found,) = [each for each in resources(api) if each.type == "alicloud_security_group_rule"]
    assert found.address == rule_address("2001:db8::/64")
    assert found.import_id == "sg-1:ingress:tcp:22/22:intranet:2001_db8__/64:accept:1"


def test_a_role_of_that_name_that_is_not_ours(api: FakeApi) -> None:
    api.answers = nothing() | {
        "GetRole": (200, {"Role": {"RoleName": NAME, "Description": "somebody's"}}),
        "GetPolicy": (200, {"Policy": {"PolicyName": NAME, "Description": "somebody's"}}),
    }
    assert resources(api) == []


def test_a_policy_attached_by_hand_has_no_address(api: FakeApi) -> None:
    row = {"PolicyName": "AliyunOSSFullAccess", "PolicyType": "System"}
    api.answers = everything() | {"ListPoliciesForRole": listed("Policies", "Policy", rows=[row])}
    (found,) = [each for each in resources(api) if each.type == "alicloud_ram_role_policy_attachment"]
    assert found.address == ""


def test_a_filter_that_was_not_understood_gives_nobody_elses(api: FakeApi) -> None:
    foreign = {"VpcId": "vpc-2", "Tags": tags("gother12345", names=("Key", "Value"))}
    api.answers = nothing() | {"DescribeVpcs": listed("Vpcs", "Vpc", rows=[foreign])}
    assert resources(api) == []


@pytest.mark.parametrize("action", ["DescribeVpcs", "DescribeSecurityGroups", "GetRole", "GetPolicy"])
def test_a_refused_look_is_no_empty_one(api: FakeApi, action: str) -> None:
    api.answers = everything() | {action: error("NoPermission", "You are not authorized to do this action.", 403)}
    with pytest.raises(CloudCallFailed, match=rf"{action} in cn-shanghai: NoPermission"):
        resources(api)
