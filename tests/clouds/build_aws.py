"""Builders for tests against the AWS double."""

from __future__ import annotations

import json
from typing import Any

import pytest

from orchestrator.clouds.aws.addresses import resource_name
from tests.clouds.aws_double import DEEP_LEARNING_IMAGE, REGION, AwsDouble

DEPLOYMENT = "g0123456789ab"
FOREIGN = "gffffffffffff"
A_POLICY = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::bucket/*"}],
    }
)


def empty_and_found_by_boto3(aws: AwsDouble, monkeypatch: pytest.MonkeyPatch) -> AwsDouble:
    """The double with nothing in it, and the environment leading to it."""
    aws.reset()
    for key, value in aws.environment().items():
        monkeypatch.setenv(key, value)
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    return aws


def tag_specifications(kind: str, deployment: str) -> list[dict[str, Any]]:
    return [{"ResourceType": kind, "Tags": [{"Key": "gpuorch:deployment", "Value": deployment}]}]


def an_instance(aws: AwsDouble, deployment: str | None = DEPLOYMENT, *, region: str = REGION, **changes: Any) -> str:
    """The id of a new instance with the deployment's tag (``None``: no tag)."""
    values: dict[str, Any] = {
        "ImageId": DEEP_LEARNING_IMAGE,
        "InstanceType": "p4d.24xlarge",
        "MinCount": 1,
        "MaxCount": 1,
    }
    if deployment is not None:
        values["TagSpecifications"] = tag_specifications("instance", deployment)
    answer = aws.client("ec2", region).run_instances(**(values | changes))
    return str(answer["Instances"][0]["InstanceId"])


def a_spot_instance(aws: AwsDouble, deployment: str = DEPLOYMENT) -> str:
    return an_instance(aws, deployment, InstanceMarketOptions={"MarketType": "spot"})


def a_network(aws: AwsDouble, deployment: str = DEPLOYMENT) -> dict[str, str]:
    """Ids of a VPC with subnet, gateway, route table and group, all with the deployment's tag."""
    ec2 = aws.client("ec2")
    vpc = ec2.create_vpc(CidrBlock="10.86.0.0/24", TagSpecifications=tag_specifications("vpc", deployment))
    vpc_id = vpc["Vpc"]["VpcId"]
    subnet = ec2.create_subnet(
        VpcId=vpc_id, CidrBlock="10.86.0.0/24", TagSpecifications=tag_specifications("subnet", deployment)
    )
    gateway = ec2.create_internet_gateway(TagSpecifications=tag_specifications("internet-gateway", deployment))
    gateway_id = gateway["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(VpcId=vpc_id, InternetGatewayId=gateway_id)
    table = ec2.create_route_table(VpcId=vpc_id, TagSpecifications=tag_specifications("route-table", deployment))
    subnet_id, table_id = subnet["Subnet"]["SubnetId"], table["RouteTable"]["RouteTableId"]
    ec2.associate_route_table(SubnetId=subnet_id, RouteTableId=table_id)
    group = ec2.create_security_group(
        GroupName=resource_name(deployment),
        Description="test",
        VpcId=vpc_id,
        TagSpecifications=tag_specifications("security-group", deployment),
    )
    return {"vpc": vpc_id, "subnet": subnet_id, "gateway": gateway_id, "table": table_id, "group": group["GroupId"]}


def a_role(aws: AwsDouble, deployment: str = DEPLOYMENT, *, tagged: bool = True) -> str:
    """A role and instance profile under the deployment's name, with an inline and an attached policy."""
    iam, name = aws.client("iam"), resource_name(deployment)
    tags = [{"Key": "gpuorch:deployment", "Value": deployment}] if tagged else []
    iam.create_role(RoleName=name, AssumeRolePolicyDocument="{}", Tags=tags)
    iam.put_role_policy(RoleName=name, PolicyName="checkpoint", PolicyDocument=A_POLICY)
    iam.attach_role_policy(RoleName=name, PolicyArn="arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore")
    iam.create_instance_profile(InstanceProfileName=name, Tags=tags)
    iam.add_role_to_instance_profile(InstanceProfileName=name, RoleName=name)
    return name
