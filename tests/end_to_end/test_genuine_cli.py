"""The whole product through the genuine AWS provider, against an AWS on the loopback interface."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from orchestrator.stack.readiness import status_lines, status_uri
from tests.clouds.aws_double import DEEP_LEARNING_IMAGE, AwsDouble
from tests.end_to_end.build_cli_runs import BOOK, Book, Gpuorch, a_gpuorch, children_of, kill_group, until
from tests.stack.build_terraform import mirror, run_terraform, terraform_environment

pytestmark = [pytest.mark.genuine, pytest.mark.terraform, pytest.mark.slow]

UP = ("up", "--profile", "a100x8", "--cloud", "aws", "--image", DEEP_LEARNING_IMAGE, "--yes", "--name", "train")
SPOT = (*UP, "--spot")
REGIONS = ("us-east-1", "us-west-2", "eu-west-1")
BOOTED = "2026-11-30T12:00:00Z"
NO_CAPACITY = (
    "We currently do not have sufficient p4d.24xlarge capacity in the Availability Zone you requested ({zone}). "
    "Our system will be working on provisioning additional capacity."
)


@pytest.fixture
def aws() -> Iterator[AwsDouble]:
    if mirror() is None:
        pytest.skip("no genuine AWS provider on this machine: set GPUORCH_TF_MIRROR to a filesystem mirror that has it")
    with AwsDouble() as double:
        yield double


def _a_gpuorch(folder: Path, aws: AwsDouble, book: Book = BOOK, **more: str) -> Gpuorch:
    environment = {**aws.environment(), "GPUORCH_TF_MIRROR": str(mirror()), **more}
    return a_gpuorch(folder, book, environment=environment)


def _machines(aws: AwsDouble) -> list[dict[str, Any]]:
    """The instances that are not terminated, of the regions in the price book."""
    found = []
    for region in REGIONS:
        for reservation in aws.client("ec2", region).describe_instances()["Reservations"]:
            found += [each for each in reservation["Instances"] if each["State"]["Name"] != "terminated"]
    return found


def _left(aws: AwsDouble) -> list[str]:
    """What is left of any deployment in AWS."""
    left = [machine["InstanceId"] for machine in _machines(aws)]
    for region in REGIONS:
        tagged = [{"Name": "tag-key", "Values": ["gpuorch:deployment"]}]
        ec2 = aws.client("ec2", region)
        left += [vpc["VpcId"] for vpc in ec2.describe_vpcs(Filters=tagged)["Vpcs"]]
        left += [group["GroupId"] for group in ec2.describe_security_groups(Filters=tagged)["SecurityGroups"]]
        left += [subnet["SubnetId"] for subnet in ec2.describe_subnets(Filters=tagged)["Subnets"]]
    return left


def _tag(machine: dict[str, Any], key: str) -> str:
    return next((tag["Value"] for tag in machine["Tags"] if tag["Key"] == key), "")


@contextmanager
def _booting(aws: AwsDouble, boot: Callable[[dict[str, Any]], None]) -> Iterator[None]:
    """Every machine does ``boot`` as soon as it exists."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.1):
            for machine in _machines(aws):
                boot(machine)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _plan_is_clean(gpuorch: Gpuorch) -> None:
    (root,) = gpuorch.roots()
    aws_words = {name: value for name, value in gpuorch.environment.items() if name.startswith("AWS_")}
    environment = terraform_environment(gpuorch.folder / "plain", mirror(), **aws_words)
    done = run_terraform(root, "plan", "-detailed-exitcode", "-input=false", "-no-color", environment=environment)
    assert "No changes" in done.stdout


def test_spot_machine_in_the_zone_that_has_one(aws: AwsDouble, tmp_path: Path) -> None:
    """The cheapest zone is sold out; the next one of its region wins, and is ready by its console."""
    aws.fault(
        "ec2",
        "RunInstances",
        match={"Zone": "us-east-1a"},
        code="InsufficientInstanceCapacity",
        message=NO_CAPACITY.format(zone="us-east-1a"),
        status=500,
    )
    gpuorch = _a_gpuorch(tmp_path, aws)

    def console(machine: dict[str, Any]) -> None:
        lines = status_lines(_tag(machine, "gpuorch:deployment"), "ready", BOOTED)
        aws.set_console(machine["InstanceId"], "\r\n".join(["[    1.0] Linux", *lines, ""]))

    with _booting(aws, console):
        data = gpuorch.json(*SPOT).data
    assert [(one["offer"]["zone"], one["result"], one["kind"]) for one in data["attempts"]] == [
        ("us-east-1a", "failed", "capacity"),
        ("us-east-1b", "created", ""),
    ]
    assert NO_CAPACITY.format(zone="us-east-1a") in data["attempts"][0]["reason"]
    made = data["deployment"]
    assert (made["state"], made["ready_source"], made["sandbox"]) == ("ready", "console", False)
    (machine,) = _machines(aws)
    assert made["machine_id"] == machine["InstanceId"]
    assert machine["InstanceLifecycle"] == "spot"
    assert machine["Placement"]["AvailabilityZone"] == made["zone"] == "us-east-1b"
    assert _tag(machine, "gpuorch:deployment") == made["id"]
    assert gpuorch.deployment()["state"] == "ready"
    _plan_is_clean(gpuorch)

    left = gpuorch.json("offers", "--profile", "a100x8", "--spot").data
    assert left["offers"][0]["zone"] == "us-east-1b"
    assert left["rejected_by_filter"]["cool-down"] == 1

    assert gpuorch("down", "train", "--yes").out == "train is gone\n"
    assert _left(aws) == []


def test_region_sold_out_and_a_machine_that_reports_to_its_bucket(aws: AwsDouble, tmp_path: Path) -> None:
    """What the failed attempt made in its region is removed before the next region is tried."""
    aws.client("s3").create_bucket(Bucket="checkpoints")
    zone = {"Zone": "us-east-1.*"}
    aws.fault("ec2", "RunInstances", match=zone, code="InsufficientInstanceCapacity", message="None.", status=500)

    def report(machine: dict[str, Any]) -> None:
        deployment = _tag(machine, "gpuorch:deployment")
        text = status_lines(deployment, "ready", BOOTED)[0].removeprefix("gpuorch-status ")
        key = status_uri("run", deployment)
        aws.client("s3").put_object(Bucket="checkpoints", Key=key, Body=text.encode())

    gpuorch = _a_gpuorch(tmp_path, aws, [BOOK[0], BOOK[2]])
    with _booting(aws, report):
        run = gpuorch(*SPOT, "--checkpoint", "s3://checkpoints/run")
    assert "clean up aws us-east-1" in run.err
    assert "failed (capacity): " in run.err
    assert run.out.startswith("train is ready: aws us-west-2a p4d.24xlarge (8 × A100-40GB) spot at $11.00/h\n")
    assert "ready     by its marker" in run.out
    (machine,) = _machines(aws)
    assert machine["Placement"]["AvailabilityZone"] == "us-west-2a"
    gpuorch("down", "train", "--yes")
    assert _left(aws) == []
    assert aws.client("iam").list_roles()["Roles"] == []


def test_on_demand_machine_that_disappears_behind_our_back(aws: AwsDouble, tmp_path: Path) -> None:
    gpuorch = _a_gpuorch(tmp_path, aws)
    made = gpuorch.json(*UP, "--on-demand", "--no-wait").data["deployment"]
    assert (made["state"], made["market"], made["price_per_hour"]) == ("bootstrapping", "on-demand", "32.77")
    (machine,) = _machines(aws)
    assert made["machine_id"] == machine["InstanceId"]
    assert "InstanceLifecycle" not in machine

    assert gpuorch.deployment()["state"] == "bootstrapping"
    aws.set_console(machine["InstanceId"], "\n".join(status_lines(made["id"], "ready", BOOTED)))
    assert gpuorch.deployment()["ready_source"] == "console"
    _plan_is_clean(gpuorch)

    aws.client("ec2").terminate_instances(InstanceIds=[machine["InstanceId"]])
    lost = gpuorch.deployment()
    assert lost["state"] == "lost"
    assert lost["problem"].startswith("the machine is gone (")
    assert gpuorch(*UP, "--on-demand", code=64).err.startswith("gpuorch: train is lost\n")
    assert _left(aws) != []
    gpuorch("down", "train", "--yes")
    assert _left(aws) == []


def test_terraform_killed_as_the_machine_comes_and_found_by_its_tags(aws: AwsDouble, tmp_path: Path) -> None:
    fault = aws.fault("ec2", "RunInstances", times=1, delay_after=60)
    gpuorch = _a_gpuorch(tmp_path, aws)
    process = gpuorch.start(*SPOT)
    (machine,) = until(lambda: _machines(aws), process=process)
    (terraform,) = children_of(process.pid)
    process.kill()
    kill_group(terraform)
    process.communicate()
    assert gpuorch.state_of() == "creating"
    (root,) = gpuorch.roots()
    assert "aws_instance" not in (root / "terraform.tfstate").read_text()

    # Imported, and found to be what the root says: no second launch.
    found = gpuorch.deployment()
    assert (found["state"], found["machine_id"]) == ("bootstrapping", machine["InstanceId"])
    assert [each["InstanceId"] for each in _machines(aws)] == [machine["InstanceId"]]

    # And once more, as after a killed terraform that had written nothing at all.
    for path in root.glob("terraform.tfstate*"):
        path.unlink()
    assert gpuorch("down", "train", "--yes").out == "train is gone\n"
    assert _left(aws) == []
    assert fault.seen == 1


def test_no_credentials(aws: AwsDouble, tmp_path: Path) -> None:
    gpuorch = _a_gpuorch(tmp_path, aws, AWS_ACCESS_KEY_ID="", AWS_SECRET_ACCESS_KEY="")
    (error,) = gpuorch.json(*SPOT, code=1).envelope["errors"]
    # On a machine of AWS's own there may be some, so there it is terraform that looks and says so.
    assert "AWS credentials" in error["message"] or "No valid credential sources found" in error["message"]
    assert gpuorch.json("status").data["deployments"] == []
    assert aws.calls == []


def test_credentials_that_aws_refuses(aws: AwsDouble, tmp_path: Path) -> None:
    words = "The security token included in the request is invalid."
    aws.fault("sts", "GetCallerIdentity", code="InvalidClientTokenId", message=words, status=403)
    gpuorch = _a_gpuorch(tmp_path, aws)
    envelope = gpuorch.json(*SPOT, code=1).envelope
    (error,) = envelope["errors"]
    assert error["code"] == "terraform-failed"
    assert error["message"].startswith("aws us-east-1a: ")
    assert error["message"].endswith(f"InvalidClientTokenId: {words}")
    assert error["hint"].startswith("AWS does not know these credentials")
    # Other zones would be refused, too.
    assert [(one["result"], one["kind"]) for one in envelope["data"]["attempts"]] == [("failed", "auth")]
    assert envelope["data"]["deployment"]["state"] == "failed"
    assert gpuorch.json("status").data["deployments"] == []
    assert _left(aws) == []
    # Nothing is remembered against the offers: with other credentials they are as good as before.
    assert "cool-down" not in gpuorch.json("offers", "--profile", "a100x8", "--spot").data["rejected_by_filter"]
