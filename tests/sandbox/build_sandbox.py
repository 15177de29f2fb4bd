"""A Terraform root with the stand-in provider, and shortcuts into the simulated cloud."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from orchestrator.clouds.aws.sandbox.rules import RULES
from orchestrator.clouds.contract import Cloud
from orchestrator.clouds.registry import cloud
from orchestrator.sandbox.cloud import SimulatedCloud
from orchestrator.sandbox.install import prepare
from orchestrator.sandbox.machines import SandboxMachines
from orchestrator.sandbox.provider.lifecycle import Provider
from orchestrator.sandbox.provider.schema import complete, read_schema

AWS = cloud("aws")
REGION = "us-east-1"
DEPLOYMENT = "dtestaaaa"
TAGS = {"gpuorch:deployment": DEPLOYMENT}
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEO8t38ip+BH15Kcqd9jtc6qYtST1gI934MTu5BrDwQI someone@somewhere"

USER_DATA = f"""\
#cloud-config
write_files:
- path: /etc/gpuorch/deployment.env
  content: |
   DEPLOYMENT={DEPLOYMENT}
   TTL=''
   CHECKPOINT_URI=s3://bucket/prefix
   UPLOAD=(aws s3 cp)
"""

HEAD = """\
terraform {
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 5.100"
    }
  }
}

provider "aws" {
  region = "us-east-1"
}
"""

MACHINE = (
    HEAD
    + """
variable "zone" { default = "us-east-1b" }
variable "size" { default = 100 }
variable "kind" { default = "p4d.24xlarge" }
variable "user_data" { default = "#cloud-config\\n" }

locals {
  tags = { "gpuorch:deployment" = "dtestaaaa" }
}

resource "aws_vpc" "net" {
  cidr_block = "10.0.0.0/16"
  tags       = local.tags
}

resource "aws_subnet" "net" {
  vpc_id            = aws_vpc.net.id
  cidr_block        = "10.0.1.0/24"
  availability_zone = var.zone
  tags              = local.tags
}

resource "aws_instance" "machine" {
  ami           = "ami-0123456789abcdef0"
  instance_type = var.kind
  subnet_id     = aws_subnet.net.id
  user_data     = var.user_data

  instance_market_options {
    market_type = "spot"
    spot_options {
      max_price = "12.5"
    }
  }

  root_block_device {
    volume_type = "gp3"
    volume_size = var.size
    encrypted   = true
  }

  tags = local.tags
}

output "id" { value = aws_instance.machine.id }
output "volume" { value = aws_instance.machine.root_block_device[0].volume_id }
"""
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """A terraform command's end: ``text`` is stdout and stderr with all white space as single blanks."""

    status: int
    stdout: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """A root folder in which terraform runs with ``environment``; ``program`` is how it is called."""

    folder: Path
    environment: Mapping[str, str]
    simulated: SimulatedCloud
    program: tuple[str, ...] = ("terraform",)

    def run(self, *arguments: str, **variables: str) -> Ran:
        done = subprocess.run(
            [*self.program, *arguments],
            cwd=self.folder,
            env={**self.environment, **{f"TF_VAR_{name}": value for name, value in variables.items()}},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        return Ran(status=done.returncode, stdout=done.stdout, text=_plain(done.stdout + done.stderr))

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*self.program, *arguments],
            cwd=self.folder,
            env=dict(self.environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def ok(self, *arguments: str, **variables: str) -> Ran:
        ran = self.run(*arguments, **variables)
        assert ran.status == 0, ran.text
        return ran

    def actions(self, **variables: str) -> dict[str, list[str]]:
        """Address → planned actions, without those that do nothing."""
        self.ok("plan", "-input=false", "-out=actions.plan", **variables)
        shown = json.loads(self.ok("show", "-json", "actions.plan").stdout)
        planned = {each["address"]: each["change"]["actions"] for each in shown.get("resource_changes", ())}
        return {address: actions for address, actions in planned.items() if actions != ["no-op"]}


def a_root(tmp_path: Path, text: str = MACHINE, *, name: str = "root", init: bool = True) -> Root:
    """A root with ``text`` as main.tf and the sandbox of ``tmp_path`` behind it."""
    if shutil.which("terraform") is None:
        pytest.skip("terraform is not on PATH")
    folder = tmp_path / name
    folder.mkdir()
    (folder / "main.tf").write_text(text)
    installed = prepare(tmp_path / "box", [AWS])
    environment = clean_environment(tmp_path, installed.mirror) | dict(installed.environment)
    root = Root(folder=folder, environment=environment, simulated=SimulatedCloud(installed.database))
    if init:
        root.ok("init", "-input=false")
    return root


def clean_environment(tmp_path: Path, mirror: Path) -> dict[str, str]:
    """The environment without anybody's terraform settings, and with ``mirror`` as the only place of providers."""
    config = tmp_path / f"{mirror.parent.name}.tfrc"
    text = f"provider_installation {{\n  filesystem_mirror {{\n    path = {json.dumps(str(mirror))}\n  }}\n}}\n"
    config.write_text("disable_checkpoint = true\n" + text)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TF_", "TOFU_", "AWS_"))}
    return {**kept, "TF_CLI_CONFIG_FILE": str(config), "TF_IN_AUTOMATION": "1", "NO_COLOR": "1"}


def a_provider(tmp_path: Path, *, region: str = REGION, name: str = "provider.sqlite") -> Provider:
    """The AWS stand-in without terraform and gRPC, configured for ``region``."""
    assert AWS.sandbox is not None
    provider = Provider("aws", read_schema(AWS.sandbox.schema), RULES, SimulatedCloud(tmp_path / name))
    assert not provider.configure({"region": region})
    return provider


def machines_of(simulated: SimulatedCloud, *, cloud: Cloud = AWS, region: str = REGION) -> SandboxMachines:
    return SandboxMachines(simulated.path, cloud, region)


def _plain(text: str) -> str:
    return " ".join(text.replace("│", " ").replace("╷", " ").replace("╵", " ").split())


def a_plan(provider: Provider, type_: str, **config: Any) -> dict[str, Any]:
    """What terraform would hand to the apply of a new resource with this configuration."""
    block = provider.schema.resources[type_].block
    whole = complete(block, config)
    return provider.plan(type_, None, whole, whole).values


def made(provider: Provider, type_: str, **config: Any) -> dict[str, Any]:
    """A resource that the simulated cloud has made; fails the test where it refused."""
    outcome = provider.create(type_, a_plan(provider, type_, **config))
    assert not outcome.problems, outcome.problems
    assert outcome.values is not None
    return dict(outcome.values)


def a_machine(provider: Provider, **changes: Any) -> dict[str, Any]:
    """An instance in a network of its own."""
    vpc = made(provider, "aws_vpc", cidr_block="10.0.0.0/16", tags=TAGS)
    subnet = made(
        provider,
        "aws_subnet",
        vpc_id=vpc["id"],
        cidr_block="10.0.0.0/24",
        availability_zone=changes.pop("zone", "us-east-1b"),
        tags=TAGS,
    )
    values: dict[str, Any] = {
        "ami": "ami-0123456789abcdef0",
        "instance_type": "p4d.24xlarge",
        "subnet_id": subnet["id"],
        "user_data": USER_DATA,
        "associate_public_ip_address": True,
        "instance_market_options": [{"market_type": "spot"}],
        "tags": TAGS,
    }
    return made(provider, "aws_instance", **(values | changes))
