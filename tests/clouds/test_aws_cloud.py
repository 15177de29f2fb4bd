"""AWS as data: the cloud, its images, and what is refused before anything is made."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from orchestrator.clouds.aws.cloud import CLOUD
from orchestrator.clouds.registry import cloud, cloud_names
from orchestrator.errors import UsageError
from tests.build import a_launch, an_offer

# --- the cloud itself ------------------------------------------------------------------------------------------------


def test_is_registered_and_complete() -> None:
    assert "aws" in cloud_names()
    assert cloud("aws") is CLOUD
    assert (CLOUD.module / "main.tf").is_file()
    assert CLOUD.user_data_limit_bytes == 16384
    assert CLOUD.sandbox is not None
    assert CLOUD.sandbox.schema.is_file()


def test_importing_it_loads_no_sdk_and_no_template_engine() -> None:
    code = (
        "import sys; from orchestrator.clouds.registry import cloud; cloud('aws'); "
        "heavy = {'boto3', 'botocore', 'jinja2', 'pydantic', 'rich', 'click'}; "
        "sys.exit(','.join(sorted(heavy & sys.modules.keys())) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_provider_files_hold_no_value_and_bound_the_retries() -> None:
    (text,) = CLOUD.provider_files.values()
    assert "region = var.region" in text
    assert re.search(r"^  max_retries = 3$", text, re.MULTILINE)
    assert "endpoints" not in text


def test_session_command_names_region_and_machine() -> None:
    assert CLOUD.session_command is not None
    assert list(CLOUD.session_command("eu-west-1", "i-1")) == [
        "aws", "ssm", "start-session", "--region", "eu-west-1", "--target", "i-1",
    ]  # fmt: skip


# --- images ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("instance_type", "accelerator", "part", "python"),
    [
        (
            "p4d.24xlarge",
            "A100-40GB",
            "/x86_64/oss-nvidia-driver-gpu-pytorch-2.10-ubuntu-24.04/",
            "/opt/pytorch/bin/python",
        ),
        ("g4dn.xlarge", "T4", "/x86_64/oss-nvidia-driver-gpu-pytorch-2.10-ubuntu-24.04/", "/opt/pytorch/bin/python"),
        (
            "p6-b200.48xlarge",
            "B200",
            "/x86_64/oss-nvidia-driver-gpu-pytorch-2.10-ubuntu-24.04/",
            "/opt/pytorch/bin/python",
        ),
        ("g5g.xlarge", "T4G", "/arm64/oss-nvidia-driver-gpu-pytorch-2.10-ubuntu-24.04/", "/opt/pytorch/bin/python"),
        ("p6-b300.48xlarge", "B300", "/x86_64/base-with-single-cuda-ubuntu-24.04/", ""),
        ("g7e.2xlarge", "RTXPRO6000", "/x86_64/base-with-single-cuda-ubuntu-24.04/", ""),
        ("p3.2xlarge", "V100", "/x86_64/base-proprietary-nvidia-driver-gpu-ubuntu-20.04/", ""),
        ("p3dn.24xlarge", "V100-32GB", "/x86_64/base-proprietary-nvidia-driver-gpu-ubuntu-20.04/", ""),
    ],
)
def test_default_image(instance_type: str, accelerator: str, part: str, python: str) -> None:
    image = CLOUD.image(an_offer(instance_type=instance_type, accelerator=accelerator))
    assert image.reference.startswith("ssm:/aws/service/deeplearning/ami/")
    assert part in image.reference
    assert image.reference.endswith("/latest/ami-id")
    assert (image.ssh_user, image.python, image.driver, image.scratch) == (
        "ubuntu",
        python,
        "nvidia",
        "/opt/dlami/nvme",
    )


@pytest.mark.parametrize(
    ("instance_type", "architecture"), [("m7i.large", "amd64"), ("m7g.large", "arm64"), ("c7gn.large", "arm64")]
)
def test_a_machine_without_accelerator_gets_plain_ubuntu(instance_type: str, architecture: str) -> None:
    image = CLOUD.image(an_offer(instance_type=instance_type, accelerator="", gpu_count=Decimal(0)))
    assert f"/{architecture}/" in image.reference
    assert (image.driver, image.python, image.scratch) == ("none", "", "")


@pytest.mark.parametrize("instance_type", ["g4ad.xlarge", "trn1.32xlarge", "inf2.xlarge", "dl1.24xlarge"])
def test_no_default_image_for_other_accelerators(instance_type: str) -> None:
    with pytest.raises(UsageError, match="no default image") as refused:
        CLOUD.image(an_offer(instance_type=instance_type, accelerator="X"))
    assert "--image" in refused.value.hint


@pytest.mark.parametrize(
    ("text", "user", "python", "scratch"),
    [
        ("ami-0123456789abcdef0", "ubuntu", "", ""),
        ("ami-01234567", "ubuntu", "", ""),
        ("ssm:/my/team/image", "ubuntu", "", ""),
        (
            "ssm:/aws/service/deeplearning/ami/x86_64/oss-nvidia-driver-gpu-pytorch-2.13-ubuntu-24.04/latest/ami-id",
            "ubuntu", "/opt/pytorch/bin/python", "/opt/dlami/nvme",
        ),
        (
            "ssm:/aws/service/deeplearning/ami/x86_64/base-with-single-cuda-amazon-linux-2023/latest/ami-id",
            "ec2-user", "", "",
        ),
    ],
)  # fmt: skip
def test_own_image(text: str, user: str, python: str, scratch: str) -> None:
    image = CLOUD.own_image(text, an_offer())
    assert (image.reference, image.ssh_user, image.python, image.scratch) == (text, user, python, scratch)


@pytest.mark.parametrize(
    "text", ["", "ubuntu", "ami-", "ami-xyz", "ami-0123", "ssm:", "ssm:image", "/aws/service/x", 'ami-01234567"']
)
def test_what_is_no_image(text: str) -> None:
    with pytest.raises(UsageError, match="is no AWS image"):
        CLOUD.own_image(text, an_offer())


# --- what is refused before anything is made -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"offer": an_offer(zone="")},
        {"offer": an_offer(zone="use1-az4")},
        {"offer": an_offer(region="us-gov-west-1", zone="us-gov-west-1a")},
        {"offer": an_offer(region="us-west-2", zone="us-west-2-lax-1a")},
        {"offer": an_offer(instance_type="p6-b200.48xlarge")},
        {"subnet": "subnet-0123456789abcdef0"},
        {"checkpoint_uri": "s3://my-bucket"},
        {"checkpoint_uri": "s3://my-bucket/runs/llm 7b/"},
        {"labels": {"team": "Größe", "Name": "mine"}},
        {"ssh_public_key": "ssh-rsa AAAA ada", "ssh_allowed_cidrs": ("2001:db8::/48",)},
    ],
)
def test_takes(changes: dict[str, Any]) -> None:
    CLOUD.check(a_launch(**changes))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"offer": an_offer(region="europe-west4", zone="")}, "'europe-west4' is no AWS region"),
        ({"offer": an_offer(zone="eu-west-1a")}, "'eu-west-1a' is no zone of us-east-1"),
        ({"offer": an_offer(instance_type="a2-highgpu-8g")}, "'a2-highgpu-8g' is no AWS instance type"),
        ({"subnet": "vpc-0123456789abcdef0"}, "is no AWS subnet"),
        ({"subnet": "subnet-1; rm -rf"}, "is no AWS subnet"),
        ({"checkpoint_uri": "gs://my-bucket/x"}, "is no place for checkpoints on AWS"),
        ({"checkpoint_uri": "s3://my-bucket/*"}, "is no place for checkpoints on AWS"),
        ({"checkpoint_uri": "s3://my-bucket/${aws:username}"}, "is no place for checkpoints on AWS"),
        ({"disk_gib": 4}, "a disk of 4 GiB"),
        ({"disk_gib": 70000}, "a disk of 70000 GiB"),
        ({"ssh_public_key": "ecdsa-sha2-nistp256 AAAA ada"}, "no SSH key of type 'ecdsa-sha2-nistp256'"),
        ({"ssh_allowed_cidrs": ("here",)}, "'here' is no block of addresses"),
        ({"ssh_allowed_cidrs": ("0.0.0.0/0",)}, "never opened to the whole internet"),
        ({"ssh_allowed_cidrs": ("::/0",)}, "never opened to the whole internet"),
        ({"labels": {"": "x"}}, "takes no tag ''"),
        ({"labels": {"a" * 129: "x"}}, "takes no tag"),
        ({"labels": {"a": "x" * 257}}, "takes no tag"),
        ({"labels": {"a": "${x}"}}, "takes no tag"),
        ({"labels": {"AWS:x": "y"}}, "reserved"),
        ({"labels": {"gpuorch:deployment": "y"}}, "reserved"),
        ({"labels": {"Team": "a", "team": "b"}}, "upper and lower case"),
        ({"labels": {"name": "b"}}, "upper and lower case"),
        ({"labels": {f"k{number}": "" for number in range(44)}}, "44 labels are too many"),
    ],
)
def test_refuses_in_a_sentence(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError) as refused:
        CLOUD.check(a_launch(**changes))
    assert words in refused.value.message
    assert refused.value.hint


# --- the page about it -----------------------------------------------------------------------------------------------


# What the genuine provider 5.100 called for up and down, on spot and on demand, with session and checkpoints.
CALLED = """
ec2:AssociateRouteTable ec2:AttachInternetGateway ec2:AuthorizeSecurityGroupEgress ec2:AuthorizeSecurityGroupIngress
ec2:CancelSpotInstanceRequests ec2:CreateInternetGateway ec2:CreateRoute ec2:CreateRouteTable ec2:CreateSecurityGroup
ec2:CreateSubnet ec2:CreateTags ec2:CreateVpc ec2:DeleteInternetGateway ec2:DeleteKeyPair ec2:DeleteRouteTable
ec2:DeleteSecurityGroup ec2:DeleteSubnet ec2:DeleteVpc ec2:DetachInternetGateway ec2:DisassociateRouteTable
ec2:ImportKeyPair ec2:ModifyInstanceAttribute ec2:RevokeSecurityGroupEgress ec2:RunInstances ec2:TerminateInstances
iam:AddRoleToInstanceProfile iam:AttachRolePolicy iam:CreateInstanceProfile iam:CreateRole iam:DeleteInstanceProfile
iam:DeleteRole iam:DeleteRolePolicy iam:DetachRolePolicy iam:GetInstanceProfile iam:GetRole iam:GetRolePolicy
iam:ListAttachedRolePolicies iam:ListInstanceProfilesForRole iam:ListRolePolicies iam:PutRolePolicy
iam:RemoveRoleFromInstanceProfile ssm:GetParameter sts:GetCallerIdentity
"""


def test_the_policy_in_the_docs_allows_what_is_called_and_not_everything() -> None:
    page = (Path(__file__).parents[2] / "docs" / "clouds" / "aws.md").read_text()
    block = page.partition("<!-- policy: begin -->\n```json\n")[2].partition("```\n<!-- policy: end -->")[0]
    policy = json.loads(block)
    actions = [action for statement in policy["Statement"] for action in _listed(statement["Action"])]
    assert set(CALLED.split()) <= set(actions)
    assert not [action for action in actions if action.endswith(":*") or action == "*"]
    # A managed policy may have 6,144 characters, white space not counted.
    assert len(re.sub(r"\s", "", block)) <= 6144


def _listed(action: str | list[str]) -> list[str]:
    return [action] if isinstance(action, str) else action
