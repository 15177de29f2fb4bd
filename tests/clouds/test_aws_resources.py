"""What AWS still has of a deployment, in the order of import, with the address of each in the rendered root."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from orchestrator.clouds.aws.addresses import PLACES
from orchestrator.clouds.aws.machines import open_machines
from orchestrator.clouds.aws.tagged import EC2_KINDS
from orchestrator.clouds.contract import Machines
from orchestrator.errors import CloudCallFailed
from tests.clouds.aws_double import REGION, AwsDouble
from tests.clouds.build_aws import (
    A_POLICY,
    DEPLOYMENT,
    FOREIGN,
    a_network,
    a_role,
    an_instance,
    empty_and_found_by_boto3,
    tag_specifications,
)


@pytest.fixture(scope="module")
def server() -> Iterator[AwsDouble]:
    with AwsDouble() as aws:
        yield aws


@pytest.fixture(scope="module")
def opened() -> Machines:
    return open_machines(REGION)


@pytest.fixture
def machines(aws: AwsDouble, opened: Machines) -> Machines:
    """One for all tests, since its clients take longer to make than the calls; ``aws`` is where they lead."""
    return opened


@pytest.fixture
def aws(server: AwsDouble, monkeypatch: pytest.MonkeyPatch) -> AwsDouble:
    """An empty double that boto3 finds by its environment."""
    return empty_and_found_by_boto3(server, monkeypatch)


def test_resources_in_the_order_of_import(aws: AwsDouble, machines: Machines) -> None:
    network, role = a_network(aws), a_role(aws)
    aws.client("ec2").create_key_pair(KeyName=role, TagSpecifications=tag_specifications("key-pair", DEPLOYMENT))
    instance = an_instance(aws, SubnetId=network["subnet"])
    found = machines.resources(DEPLOYMENT)
    assert [resource.address for resource in found] == [place.address for place in PLACES]
    assert {resource.type: resource.import_id for resource in found} == {
        "aws_vpc": network["vpc"],
        "aws_internet_gateway": network["gateway"],
        "aws_subnet": network["subnet"],
        "aws_route_table": network["table"],
        "aws_route_table_association": f"{network['subnet']}/{network['table']}",
        "aws_security_group": network["group"],
        "aws_key_pair": role,
        "aws_iam_role": role,
        "aws_iam_role_policy": f"{role}:checkpoint",
        "aws_iam_role_policy_attachment": f"{role}/arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore",
        "aws_iam_instance_profile": role,
        "aws_instance": instance,
    }


def test_every_resource_of_the_module_is_looked_for() -> None:
    from_ec2 = {kind.type for kind in EC2_KINDS} | {"aws_instance"}
    assert {place.type for place in PLACES if place.ec2_type} <= from_ec2


def test_a_terminated_machine_is_no_resource(aws: AwsDouble, machines: Machines) -> None:
    machines.terminate(an_instance(aws), DEPLOYMENT)
    assert machines.resources(DEPLOYMENT) == []


def test_a_machine_on_its_way_out_still_is_one(aws: AwsDouble, machines: Machines) -> None:
    instance = an_instance(aws)
    aws.set_state(instance, "shutting-down")
    assert [resource.id for resource in machines.resources(DEPLOYMENT)] == [instance]


def test_of_two_machines_only_the_living_one_has_an_address(aws: AwsDouble, machines: Machines) -> None:
    stopped, living = an_instance(aws), an_instance(aws)
    aws.set_state(stopped, "stopped")
    found = machines.resources(DEPLOYMENT)
    assert [(resource.id, bool(resource.address)) for resource in found] == [(living, True), (stopped, False)]


def test_of_two_networks_only_the_machine_s_has_an_address(aws: AwsDouble, machines: Machines) -> None:
    networks = [a_network(aws), a_network(aws), a_network(aws)]
    mine = networks[1]
    an_instance(aws, SubnetId=mine["subnet"])
    found = machines.resources(DEPLOYMENT)
    placed = {resource.type: resource.id for resource in found if resource.address}
    assert (placed["aws_vpc"], placed["aws_subnet"], placed["aws_internet_gateway"]) == (
        mine["vpc"],
        mine["subnet"],
        mine["gateway"],
    )
    assert len([resource for resource in found if not resource.address]) == 12


def test_disks_and_interfaces_left_behind(aws: AwsDouble, machines: Machines) -> None:
    ec2, network = aws.client("ec2"), a_network(aws)
    an_instance(
        aws,
        SubnetId=network["subnet"],
        TagSpecifications=[*tag_specifications("instance", DEPLOYMENT), *tag_specifications("volume", DEPLOYMENT)],
    )
    kinds = {"aws_ebs_volume", "aws_network_interface"}
    assert not kinds & {resource.type for resource in machines.resources(DEPLOYMENT)}
    volume = ec2.create_volume(
        AvailabilityZone="us-east-1a", Size=10, TagSpecifications=tag_specifications("volume", DEPLOYMENT)
    )
    interface = ec2.create_network_interface(
        SubnetId=network["subnet"], TagSpecifications=tag_specifications("network-interface", DEPLOYMENT)
    )
    left = {resource.id: resource for resource in machines.resources(DEPLOYMENT) if resource.type in kinds}
    assert set(left) == {volume["VolumeId"], interface["NetworkInterface"]["NetworkInterfaceId"]}
    assert all(resource.address == "" for resource in left.values())


def test_a_role_of_that_name_without_the_tag_is_left_out(aws: AwsDouble, machines: Machines) -> None:
    a_role(aws, tagged=False)
    assert machines.resources(DEPLOYMENT) == []


def test_policies_added_by_hand_have_no_address(aws: AwsDouble, machines: Machines) -> None:
    role, iam = a_role(aws), aws.client("iam")
    iam.put_role_policy(RoleName=role, PolicyName="by-hand", PolicyDocument=A_POLICY)
    arn = iam.create_policy(PolicyName="a-policy", PolicyDocument=A_POLICY)["Policy"]["Arn"]
    iam.attach_role_policy(RoleName=role, PolicyArn=arn)
    found = {resource.id: bool(resource.address) for resource in machines.resources(DEPLOYMENT)}
    assert found == {
        role: True,
        f"{role}:by-hand": False,
        f"{role}:checkpoint": True,
        f"{role}/{arn}": False,
        f"{role}/arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore": True,
    }


@pytest.mark.parametrize(("action", "service"), [("GetRole", "iam"), ("DescribeVpcs", "ec2")])
def test_resources_are_never_fewer_because_a_call_failed(
    aws: AwsDouble, machines: Machines, action: str, service: str
) -> None:
    an_instance(aws)
    aws.fault(service, action, code="AccessDenied", status=403)
    with pytest.raises(CloudCallFailed, match=f"{service}:{action}"):
        machines.resources(DEPLOYMENT)


def test_nothing_of_another_deployment(aws: AwsDouble, machines: Machines) -> None:
    an_instance(aws, FOREIGN, SubnetId=a_network(aws, FOREIGN)["subnet"])
    a_role(aws, FOREIGN)
    assert machines.resources(DEPLOYMENT) == []
    assert {resource.type for resource in machines.resources(FOREIGN)} >= {"aws_vpc", "aws_iam_role", "aws_instance"}
