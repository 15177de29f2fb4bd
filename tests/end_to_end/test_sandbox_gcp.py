"""Google Cloud in the sandbox through the command: attached accelerators, checkpoints, what a family brings along."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orchestrator.clouds.registry import cloud
from orchestrator.sandbox.machines import preempt
from tests.clouds.build_conformance import a_command, offers_of
from tests.end_to_end.build_cli_runs import Gpuorch

pytestmark = [pytest.mark.terraform, pytest.mark.slow]

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPnXn2qX3rZxqgJ8Jm0rT1y2Z3a4B5c6D7e8F9g0H1i2 ada@example\n"


def a_gpuorch(folder: Path, accelerator: str) -> Gpuorch:
    return a_command(folder, [offer for offer in offers_of("gcp") if offer.accelerator == accelerator])


def state(command: Gpuorch) -> dict[str, dict[str, object]]:
    """Type → values of what terraform manages."""
    [root] = command.roots()
    resources = json.loads((root / "terraform.tfstate").read_text())["resources"]
    return {each["type"]: each["instances"][0]["attributes"] for each in resources if each["mode"] == "managed"}


def test_attached_accelerators_with_checkpoints_and_ssh(tmp_path: Path) -> None:
    command = a_gpuorch(tmp_path, "T4")
    (tmp_path / "key.pub").write_text(KEY)
    words = ("--access", "ssh", "--ssh-key", str(tmp_path / "key.pub"), "--ssh-from", "203.0.113.7/32")
    more = ("--checkpoint", "gs://my-bucket/runs/a", "--ttl", "30m")
    up = ("up", "--gpu", "T4:1", "--spot", "--cloud", "gcp", "--sandbox", "--yes", "--name", "train")
    made = command.json(*up, *words, *more).data["deployment"]
    assert (made["state"], made["ready_source"]) == ("ready", "marker")
    assert made["instance_type"] == "n1-standard-8+T4x1"
    assert made["zone"] == "us-central1-a"
    found = state(command)
    assert set(found) == {
        *("google_compute_network", "google_compute_subnetwork", "google_compute_firewall"),
        *("google_service_account", "google_storage_bucket_iam_member", "google_compute_instance"),
    }
    machine = found["google_compute_instance"]
    assert machine["machine_type"] == "n1-standard-8"
    assert machine["guest_accelerator"] == [{"type": "nvidia-tesla-t4", "count": 1}]
    assert machine["scheduling"][0]["max_run_duration"][0]["seconds"] == 1800  # type: ignore[index]
    [root] = command.roots()
    command.terraform(root, "plan", "-detailed-exitcode", "-input=false")
    for path in root.glob("terraform.tfstate*"):
        path.unlink()
    assert command.json("down", "train", "--yes").data["deployments"][0]["state"] == "gone"
    assert command.existing() == []


def test_local_disks_that_come_with_a_type_do_not_replace_the_machine(tmp_path: Path) -> None:
    command = a_gpuorch(tmp_path, "H100-SXM")
    command("up", "--gpu", "H100:8", "--spot", "--cloud", "gcp", "--sandbox", "--yes", "--name", "train")
    assert len(state(command)["google_compute_instance"]["scratch_disk"]) == 16  # type: ignore[arg-type]
    [root] = command.roots()
    command.terraform(root, "plan", "-detailed-exitcode", "-input=false")
    command("down", "train", "--yes")
    assert command.existing() == []


def test_a_machine_taken_back_is_lost_in_googles_words(tmp_path: Path) -> None:
    command = a_gpuorch(tmp_path, "L4")
    command("up", "--gpu", "L4:1", "--spot", "--cloud", "gcp", "--sandbox", "--yes", "--name", "train")
    assert preempt(command.state / "sandbox" / "cloud.sqlite", cloud("gcp"), command.deployment()["id"])
    lost = command.deployment()
    assert lost["state"] == "lost"
    assert "compute.instances.preempted" in lost["problem"]
    command("down", "train", "--yes")
    assert command.existing() == []


def test_another_region_is_entered_with_the_first_left_clean(tmp_path: Path) -> None:
    """Networks have one name in a project, wherever they are used."""
    command = a_gpuorch(tmp_path, "A100-40GB")
    offers = [offer for offer in offers_of("gcp") if offer.instance_type == "a2-highgpu-8g" and offer.market == "spot"]
    command.cloud.exhaust("gcp", offers[0].region, "a2-highgpu-8g")
    up = ("up", "--gpu", "A100-40GB:8", "--spot", "--cloud", "gcp", "--sandbox", "--yes", "--name", "train")
    made = command.json(*up).data
    assert [attempt["result"] for attempt in made["attempts"]] == ["failed", "created"]
    assert made["deployment"]["region"] == offers[1].region
    networks = [each for each in command.cloud.resources() if each.type == "google_compute_network"]
    assert len(networks) == 1
    command("down", "train", "--yes")
    assert command.existing() == []
