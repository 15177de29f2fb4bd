"""The loopback AWS itself: what other tests rely on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import monotonic

import pytest
from botocore.exceptions import ClientError

from tests.clouds.aws_double import AwsDouble
from tests.clouds.build_aws import a_network, a_spot_instance, an_instance


@pytest.fixture(scope="module")
def server() -> Iterator[AwsDouble]:
    with AwsDouble() as aws:
        yield aws


@pytest.fixture
def aws(server: AwsDouble) -> AwsDouble:
    server.reset()
    return server


def instances(aws: AwsDouble) -> int:
    return sum(len(reservation["Instances"]) for reservation in aws.client("ec2").describe_instances()["Reservations"])


def test_a_fault_comes_after_so_many_calls_and_goes_after_so_many_more(aws: AwsDouble) -> None:
    aws.fault("ec2", "RunInstances", code="Unsupported", after=1, times=2)
    an_instance(aws)
    for _ in range(2):
        with pytest.raises(ClientError, match="Unsupported"):
            an_instance(aws)
    an_instance(aws)
    assert instances(aws) == 2
    assert [call.faulty for call in aws.calls if call.action == "RunInstances"] == [False, True, True, False]


@pytest.mark.parametrize("with_effect", [False, True])
def test_a_fault_instead_of_the_effect_or_in_spite_of_it(aws: AwsDouble, with_effect: bool) -> None:
    aws.fault("ec2", "RunInstances", code="Unsupported", with_effect=with_effect)
    with pytest.raises(ClientError, match="Unsupported"):
        an_instance(aws)
    assert instances(aws) == int(with_effect)


def test_a_fault_matches_parameters_and_the_zone_of_a_subnet(aws: AwsDouble) -> None:
    subnet = a_network(aws)["subnet"]
    (found,) = aws.client("ec2").describe_subnets(SubnetIds=[subnet])["Subnets"]
    aws.fault(
        "ec2",
        "RunInstances",
        code="InsufficientInstanceCapacity",
        match={
            "Zone": found["AvailabilityZone"],
            "InstanceType": r"p4d\..*",
            "InstanceMarketOptions.MarketType": "spot",
        },
    )
    an_instance(aws, SubnetId=subnet)
    an_instance(aws, SubnetId=subnet, InstanceType="p5.48xlarge", InstanceMarketOptions={"MarketType": "spot"})
    with pytest.raises(ClientError, match="InsufficientInstanceCapacity"):
        an_instance(aws, SubnetId=subnet, InstanceMarketOptions={"MarketType": "spot"})


@pytest.mark.parametrize("when", ["delay_before", "delay_after"])
def test_a_fault_that_only_takes_time(aws: AwsDouble, when: str) -> None:
    aws.fault("ec2", "RunInstances", **{when: 0.5})
    started = monotonic()
    an_instance(aws)
    assert monotonic() - started >= 0.5
    assert instances(aws) == 1


@pytest.mark.parametrize(
    ("service", "action", "call"),
    [
        ("ssm", "GetParameter", lambda aws: aws.client("ssm").get_parameter(Name="/aws/service/deeplearning/ami/x")),
        ("s3", "GetObject", lambda aws: aws.client("s3").get_object(Bucket="bucket", Key="key")),
        ("iam", "GetRole", lambda aws: aws.client("iam").get_role(RoleName="role")),
        ("sts", "GetCallerIdentity", lambda aws: aws.client("sts").get_caller_identity()),
    ],
)
def test_faults_in_every_protocol(
    aws: AwsDouble, service: str, action: str, call: Callable[[AwsDouble], object]
) -> None:
    aws.fault(service, action, code="AccessDenied", message="No <you> don't", status=403)
    with pytest.raises(ClientError, match=r"AccessDenied.*No <you> don't"):
        call(aws)


def test_a_spot_request_is_kept_as_asked(aws: AwsDouble) -> None:
    options = {"MaxPrice": "12.5", "SpotInstanceType": "one-time", "InstanceInterruptionBehavior": "terminate"}
    an_instance(aws, InstanceMarketOptions={"MarketType": "spot", "SpotOptions": options})
    ec2 = aws.client("ec2")
    (instance,) = ec2.describe_instances()["Reservations"][0]["Instances"]
    (request,) = ec2.describe_spot_instance_requests(SpotInstanceRequestIds=[instance["SpotInstanceRequestId"]])[
        "SpotInstanceRequests"
    ]
    assert (request["SpotPrice"], request["Type"], request["State"]) == ("12.5", "one-time", "active")
    aws.interrupt(instance["InstanceId"])
    (request,) = ec2.describe_spot_instance_requests(SpotInstanceRequestIds=[instance["SpotInstanceRequestId"]])[
        "SpotInstanceRequests"
    ]
    assert request["State"] == "closed"


def test_reset_forgets_everything(aws: AwsDouble) -> None:
    aws.set_console(a_spot_instance(aws), "text")
    aws.fault("ec2", "DescribeInstances", code="Unsupported")
    aws.reset()
    assert instances(aws) == 0
    assert [call.action for call in aws.calls] == ["DescribeInstances"]


def test_only_one_is_open_at_a_time(aws: AwsDouble) -> None:
    with pytest.raises(RuntimeError, match="another AwsDouble"), AwsDouble():
        pass


def test_it_listens_on_the_loopback_interface_only(aws: AwsDouble) -> None:
    assert aws.url.startswith("http://127.0.0.1:")
