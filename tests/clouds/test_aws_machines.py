"""AwsMachines against the loopback AWS: what it finds, what it leaves alone, what it says when AWS says no."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC
from typing import Any

import pytest

from orchestrator.clouds.aws.calls import Limits
from orchestrator.clouds.aws.machines import OBJECT_LIMIT_BYTES, AwsMachines, open_machines
from orchestrator.clouds.contract import Machines
from orchestrator.errors import CloudCallFailed, Refused, UsageError
from orchestrator.model.machine import MachineState
from tests.clouds.aws_double import REGION, AwsDouble
from tests.clouds.build_aws import DEPLOYMENT, FOREIGN, a_spot_instance, an_instance, empty_and_found_by_boto3

IMPATIENT = Limits(connect_seconds=0.5, read_seconds=0.3, attempts=1)


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


def test_opening_makes_no_call(aws: AwsDouble) -> None:
    open_machines(REGION)
    assert aws.calls == []


def test_finds_a_spot_machine_with_all_that_aws_tells(aws: AwsDouble, machines: Machines) -> None:
    instance = a_spot_instance(aws)
    (machine,) = machines.find(DEPLOYMENT)
    assert (machine.id, machine.deployment_id, machine.region, machine.zone) == (
        instance,
        DEPLOYMENT,
        REGION,
        "us-east-1a",
    )
    assert (machine.instance_type, machine.market, machine.state) == ("p4d.24xlarge", "spot", MachineState.RUNNING)
    assert machine.address and machine.private_address
    assert machine.launched_at is not None and machine.launched_at.tzinfo is UTC


@pytest.mark.parametrize(
    ("aws_state", "state"),
    [
        ("pending", MachineState.PENDING),
        ("running", MachineState.RUNNING),
        ("shutting-down", MachineState.TERMINATING),
        ("terminated", MachineState.GONE),
        ("stopping", MachineState.STOPPING),
        ("stopped", MachineState.STOPPED),
        ("a-state-of-the-future", MachineState.PENDING),
    ],
)
def test_states(aws: AwsDouble, machines: Machines, aws_state: str, state: MachineState) -> None:
    aws.set_state(an_instance(aws), aws_state)
    (machine,) = machines.find(DEPLOYMENT)
    assert (machine.state, machine.market) == (state, "on-demand")


def test_an_interrupted_spot_machine_says_so(aws: AwsDouble, machines: Machines) -> None:
    aws.interrupt(a_spot_instance(aws))
    (machine,) = machines.find(DEPLOYMENT)
    assert machine.state is MachineState.GONE
    assert machine.state_reason == "Server.SpotInstanceTermination: Spot instance termination"


def test_finds_over_many_pages(aws: AwsDouble, machines: Machines) -> None:
    for _ in range(103):  # one reservation each: moto's pages are of reservations
        an_instance(aws)
    assert len(machines.find(DEPLOYMENT)) == 103
    assert aws.count("DescribeInstances") == 2


@pytest.mark.parametrize("deployment", [FOREIGN, DEPLOYMENT + "0", None])
def test_never_finds_foreign_machines(aws: AwsDouble, machines: Machines, deployment: str | None) -> None:
    an_instance(aws, deployment)
    assert machines.find(DEPLOYMENT) == []
    assert machines.resources(DEPLOYMENT) == []


def test_finds_nothing_in_another_region(aws: AwsDouble) -> None:
    an_instance(aws)
    assert open_machines("eu-west-1").find(DEPLOYMENT) == []


@pytest.mark.parametrize("pattern", ["*", "g*", "", "g01234567?9ab"])
def test_a_wildcard_is_no_deployment(aws: AwsDouble, machines: Machines, pattern: str) -> None:
    """AWS's filter values take wildcards, which would find everybody's machines."""
    an_instance(aws)
    for look in (machines.find, machines.resources):
        with pytest.raises(UsageError):
            look(pattern)
    assert aws.count("DescribeInstances") == 0


def test_terminates_and_again_without_an_error(aws: AwsDouble, machines: Machines) -> None:
    instance = an_instance(aws)
    machines.terminate(instance, DEPLOYMENT)
    assert [machine.state for machine in machines.find(DEPLOYMENT)] == [MachineState.GONE]
    machines.terminate(instance, DEPLOYMENT)
    machines.terminate("i-0123456789abcdef0", DEPLOYMENT)
    assert aws.count("TerminateInstances") == 1


def test_a_machine_that_goes_between_look_and_call_is_no_error(aws: AwsDouble, machines: Machines) -> None:
    aws.fault("ec2", "TerminateInstances", code="InvalidInstanceID.NotFound")
    machines.terminate(an_instance(aws), DEPLOYMENT)


@pytest.mark.parametrize(("owner", "says"), [(FOREIGN, FOREIGN), (None, "not made by gpuorch")])
def test_never_terminates_a_foreign_machine(aws: AwsDouble, machines: Machines, owner: str | None, says: str) -> None:
    instance = an_instance(aws, owner)
    with pytest.raises(Refused, match=says):
        machines.terminate(instance, DEPLOYMENT)
    assert aws.count("TerminateInstances") == 0


def test_console(aws: AwsDouble, machines: Machines) -> None:
    instance = an_instance(aws)
    assert machines.console(instance) == ""
    aws.set_console(instance, "boot ✓\r\ngpuorch: ready\n")
    assert machines.console(instance) == "boot ✓\r\ngpuorch: ready\n"
    assert machines.console("i-0123456789abcdef0") == ""


def test_console_without_the_live_one(aws: AwsDouble, machines: Machines) -> None:
    instance = an_instance(aws)
    aws.set_console(instance, "old")
    aws.fault("ec2", "GetConsoleOutput", match={"Latest": "true"}, code="UnsupportedOperation")
    assert machines.console(instance) == "old"


def test_console_refused(aws: AwsDouble, machines: Machines) -> None:
    instance = an_instance(aws)
    aws.fault("ec2", "GetConsoleOutput", code="UnauthorizedOperation", message="You are not authorized.", status=403)
    with pytest.raises(CloudCallFailed, match=r"ec2:GetConsoleOutput in us-east-1: UnauthorizedOperation") as caught:
        machines.console(instance)
    assert "ec2:GetConsoleOutput" in caught.value.hint


def a_bucket(aws: AwsDouble, content: bytes) -> None:
    s3 = aws.client("s3")
    s3.create_bucket(Bucket="checkpoints")
    s3.put_object(Bucket="checkpoints", Key="run/ready é.json", Body=content)


def test_reads_an_object(aws: AwsDouble, machines: Machines) -> None:
    a_bucket(aws, '{"ready": "é"}'.encode() + b"\xff")
    assert machines.read_object("s3://checkpoints/run/ready é.json") == '{"ready": "é"}\ufffd'
    assert machines.read_object("s3://checkpoints/run/other.json") is None


def test_an_object_has_a_size_limit(aws: AwsDouble, machines: Machines) -> None:
    a_bucket(aws, b"x" * (OBJECT_LIMIT_BYTES + 1))
    with pytest.raises(CloudCallFailed, match="larger than"):
        machines.read_object("s3://checkpoints/run/ready é.json")


def test_a_bucket_that_is_not_there_is_said(aws: AwsDouble, machines: Machines) -> None:
    with pytest.raises(CloudCallFailed, match="s3:GetObject in us-east-1: NoSuchBucket"):
        machines.read_object("s3://no-such-bucket/key")


@pytest.mark.parametrize("uri", ["", "s3://", "s3://bucket", "s3://bucket/", "gs://bucket/key", "/etc/passwd"])
def test_what_is_no_object(aws: AwsDouble, machines: Machines, uri: str) -> None:
    with pytest.raises(UsageError):
        machines.read_object(uri)


@pytest.mark.parametrize(
    ("fault", "hint"),
    [
        ({"code": "RequestExpired", "message": "Request has expired."}, "log in again"),
        ({"code": "AuthFailure", "status": 401}, "has not enabled that region"),
        ({"code": "UnauthorizedOperation", "status": 403}, "ec2:DescribeInstances"),
        ({"code": "OptInRequired"}, "enable us-east-1"),
        ({"code": "SomethingNew", "message": "Words\n of AWS"}, ""),
    ],
)
def test_what_aws_refuses_is_said_with_its_fix(
    aws: AwsDouble, machines: Machines, fault: dict[str, Any], hint: str
) -> None:
    aws.fault("ec2", "DescribeInstances", **fault)
    with pytest.raises(CloudCallFailed, match=f"ec2:DescribeInstances in us-east-1: {fault['code']}") as caught:
        machines.find(DEPLOYMENT)
    assert hint in caught.value.hint
    assert "\n" not in caught.value.message


def test_a_refusal_stays_one_sentence(aws: AwsDouble, machines: Machines) -> None:
    words = "You are not authorized to perform this operation. Encoded authorization failure message: " + "x" * 900
    aws.fault("ec2", "DescribeInstances", code="UnauthorizedOperation", message=words, status=403)
    with pytest.raises(CloudCallFailed) as caught:
        machines.find(DEPLOYMENT)
    assert caught.value.message.endswith("You are not authorized to perform this operation.")


def test_termination_protection(aws: AwsDouble, machines: Machines) -> None:
    aws.fault("ec2", "TerminateInstances", code="OperationNotPermitted")
    with pytest.raises(CloudCallFailed, match="OperationNotPermitted") as caught:
        machines.terminate(an_instance(aws), DEPLOYMENT)
    assert "--no-disable-api-termination" in caught.value.hint


def test_throttling_is_survived(aws: AwsDouble, machines: Machines) -> None:
    instance = an_instance(aws)
    aws.fault("ec2", "DescribeInstances", code="RequestLimitExceeded", status=503, times=2)
    assert [machine.id for machine in machines.find(DEPLOYMENT)] == [instance]


def test_throttling_without_end_is_said(aws: AwsDouble, machines: Machines) -> None:
    aws.fault("ec2", "DescribeInstances", code="RequestLimitExceeded", status=503)
    with pytest.raises(CloudCallFailed) as caught:
        machines.find(DEPLOYMENT)
    assert "try again" in caught.value.hint
    assert aws.count("DescribeInstances") == 3


def test_a_silent_aws_has_a_time_limit(aws: AwsDouble) -> None:
    aws.fault("ec2", "DescribeInstances", delay_before=5)
    with pytest.raises(CloudCallFailed, match=r"ec2:DescribeInstances in us-east-1.*timeout") as caught:
        AwsMachines(REGION, IMPATIENT).find(DEPLOYMENT)
    assert "network" in caught.value.hint


def test_nobody_there(aws: AwsDouble, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(CloudCallFailed, match="could not be asked") as caught:
        AwsMachines(REGION, IMPATIENT).find(DEPLOYMENT)
    assert "AWS_ENDPOINT_URL" in caught.value.hint


def test_no_credentials(aws: AwsDouble, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(CloudCallFailed, match="Unable to locate credentials") as caught:
        open_machines(REGION).find(DEPLOYMENT)
    assert "aws configure" in caught.value.hint


@pytest.mark.parametrize(
    ("key", "value", "hint"),
    [
        ("AWS_PROFILE", "no-such-profile", "AWS_PROFILE"),
        ("AWS_ENDPOINT_URL", "not a url", "AWS_ENDPOINT_URL"),
    ],
)
def test_wrong_settings(aws: AwsDouble, monkeypatch: pytest.MonkeyPatch, key: str, value: str, hint: str) -> None:
    monkeypatch.setenv(key, value)
    with pytest.raises(CloudCallFailed) as caught:
        open_machines(REGION).find(DEPLOYMENT)
    assert hint in caught.value.hint


def test_a_region_that_is_none(aws: AwsDouble) -> None:
    with pytest.raises(CloudCallFailed, match="mars west") as caught:
        open_machines("mars west").find(DEPLOYMENT)
    assert "us-east-1" in caught.value.hint
