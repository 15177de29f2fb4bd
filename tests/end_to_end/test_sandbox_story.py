"""The whole product in the sandbox: up, status, a lost machine, down; through the command, with the real terraform."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.sandbox.faults import Fault
from tests.end_to_end.build_cli_runs import Gpuorch, a_gpuorch, until

pytestmark = pytest.mark.terraform

SPOT = ("up", "--profile", "a100x8", "--spot", "--sandbox", "--yes", "--name", "train")
ON_DEMAND = ("up", "--profile", "a100x8", "--on-demand", "--sandbox", "--yes", "--name", "train")
TAKEN_BACK = "Server.SpotInstanceTermination: A Spot Instance was terminated due to an increase in the Spot price."

# Names that scripts rely on.
OFFER_NAMES = {
    *("cloud", "region", "zone", "instance_type", "gpu", "gpu_count", "gpu_memory_gib", "vcpus", "memory_gib"),
    *("market", "price_per_hour", "currency", "price_per_gpu_hour", "observed_at", "source"),
}
DEPLOYMENT_NAMES = {
    *("name", "state", "cloud", "region", "zone", "instance_type", "market", "price_per_hour", "currency", "address"),
    *("id", "profile", "owner", "sandbox", "machine_id", "ready_source", "problem", "created_at", "expires_at"),
}
EVERYTHING = [
    *("aws_instance", "aws_internet_gateway", "aws_route_table", "aws_route_table_association"),
    *("aws_security_group", "aws_subnet", "aws_vpc"),
]


def test_offers_in_json(tmp_path: Path) -> None:
    gpuorch = a_gpuorch(tmp_path)
    envelope = gpuorch.json("offers", "--profile", "a100x8", "--sandbox", "--explain").envelope
    assert (envelope["command"], envelope["status"], envelope["errors"]) == ("offers", "success", [])
    offers = envelope["data"]["offers"]
    assert [float(offer["price_per_hour"]) for offer in offers] == [10.0, 10.5, 11.0, 11.5, 12.0, 32.77, 33.77]
    for offer in offers:
        assert set(offer) >= OFFER_NAMES | {"price_age_seconds"}
        assert offer["price_age_seconds"] > 0
    assert {rejected["reason"] for rejected in envelope["data"]["rejected"]} == {
        "it has T4; a100x8 takes A100-40GB or A100-80GB"
    }
    assert gpuorch.cloud.calls() == []


def test_dry_run_decides_and_makes_nothing(tmp_path: Path) -> None:
    gpuorch = a_gpuorch(tmp_path)
    before = _files(gpuorch.state)
    envelope = gpuorch.json("up", "--profile", "a100x8", "--spot", "--sandbox", "--dry-run").envelope
    data = envelope["data"]
    assert (envelope["command"], data["dry_run"]) == ("up", True)
    assert set(data["placement"]) >= {"chosen", "fallbacks", "reasons", "price_book"}
    assert set(data["placement"]["chosen"]) >= OFFER_NAMES
    assert (data["placement"]["chosen"]["zone"], data["placement"]["chosen"]["price_per_hour"]) == (
        "us-east-1a",
        "10.00",
    )
    assert [offer["zone"] for offer in data["placement"]["fallbacks"]] == [
        "us-east-1b",
        "us-west-2a",
        "us-west-2b",
        "eu-west-1a",
    ]
    assert data["attempts"] == []
    assert data["deployment"] is None

    table = gpuorch("up", "--profile", "a100x8", "--spot", "--sandbox", "--dry-run").out
    assert "$10.00/h, $7,300.00 for a month of 730 h" in table
    assert "dry run: nothing was made" in table

    made = {path for path in _files(gpuorch.state) - before if not path.endswith(("-wal", "-shm"))}
    assert made == {"inventory.db"}
    assert gpuorch.cloud.calls() == []


@pytest.mark.slow
def test_spot_from_up_over_a_lost_machine_to_down(tmp_path: Path) -> None:
    gpuorch = a_gpuorch(tmp_path, boot_seconds=0.5)
    envelope = gpuorch.json(*SPOT).envelope
    data = envelope["data"]
    assert (envelope["status"], envelope["errors"], data["dry_run"]) == ("success", [], False)
    assert set(data["placement"]) >= {"chosen", "fallbacks", "reasons", "price_book"}
    assert [(one["offer"]["zone"], one["result"]) for one in data["attempts"]] == [("us-east-1a", "created")]
    assert set(data["attempts"][0]["offer"]) >= OFFER_NAMES
    made = data["deployment"]
    assert set(made) >= DEPLOYMENT_NAMES
    assert (made["name"], made["state"], made["ready_source"]) == ("train", "ready", "console")
    assert (made["zone"], made["market"], made["price_per_hour"]) == ("us-east-1a", "spot", "10.00")
    assert gpuorch.machines() == [("us-east-1a", "spot")]
    assert gpuorch.existing() == EVERYTHING

    seen = gpuorch.json("status").envelope
    assert (seen["command"], seen["status"]) == ("status", "success")
    (found,) = seen["data"]["deployments"]
    assert {**found, "age_seconds": 0} == {**made, "age_seconds": 0}
    (root,) = gpuorch.roots()
    assert "No changes" in gpuorch.terraform(root, "plan", "-detailed-exitcode", "-no-color", "-input=false")

    calls = gpuorch.cloud.calls()
    again = gpuorch.json(*SPOT).data
    assert (again["deployment"]["id"], again["deployment"]["state"]) == (made["id"], "ready")
    assert gpuorch.cloud.calls() == calls
    other = gpuorch("up", "--profile", "t4x1", "--spot", "--sandbox", "--yes", "--name", "train", code=64)
    assert "a deployment called 'train' exists with profile a100x8" in other.err

    gpuorch.cloud.preempt(made["id"], reason=TAKEN_BACK)
    lost = gpuorch.deployment()
    assert lost["state"] == "lost"
    assert lost["problem"] == f"the machine is gone ({TAKEN_BACK})"
    refused = gpuorch(*SPOT, code=64)
    assert refused.err == "gpuorch: train is lost\n  finish its removal first: gpuorch down train\n"

    gone = gpuorch.json("down", "train", "--yes").envelope
    assert [(one["name"], one["state"]) for one in gone["data"]["deployments"]] == [("train", "gone")]
    assert gpuorch.existing() == []
    assert gpuorch.json("status").data["deployments"] == []
    (record,) = gpuorch.json("status", "--all").data["deployments"]
    assert record["state"] == "gone"
    assert gpuorch("down", "train", "--yes").out == "train is gone\n"
    assert not list(gpuorch.state.glob("deployments/*"))


@pytest.mark.slow
def test_on_demand_in_words_for_people(tmp_path: Path) -> None:
    gpuorch = a_gpuorch(tmp_path)
    up = gpuorch(*ON_DEMAND)
    assert up.out.startswith(
        "train is ready: aws us-east-1 p4d.24xlarge (8 × A100-40GB) on-demand at $32.77/h — simulated\n"
    )
    assert "end it    gpuorch down train" in up.out
    for line in ("the cheapest of 2 offers that fit a100x8", "no price limit", "7 to add, 0 to replace", "7 added"):
        assert line in up.err
    assert gpuorch.machines() == [("us-east-1a", "on-demand")]
    (root,) = gpuorch.roots()
    gpuorch.terraform(root, "plan", "-detailed-exitcode", "-input=false")

    again = gpuorch(*ON_DEMAND)
    assert again.out == up.out
    assert again.err == ""
    table = gpuorch("status").out.splitlines()
    assert " ".join(table[0].split()) == "NAME STATE PROFILE WHERE TYPE MARKET $/H AGE ADDRESS NOTE"
    assert " ".join(table[1].split()).startswith("train ready a100x8 aws us-east-1a p4d.24xlarge on-demand $32.77 ")

    assert gpuorch("down", "train", "--yes").out == "train is gone\n"
    assert gpuorch("down", "train", "--yes").out == "train is gone\n"
    assert gpuorch("down", "--all", "--yes").out == "nothing to remove\n"
    assert gpuorch.existing() == []


@pytest.mark.slow
def test_down_all_removes_every_deployment(tmp_path: Path) -> None:
    gpuorch = a_gpuorch(tmp_path)
    gpuorch(*SPOT[:-1], "one")
    gpuorch("up", "--profile", "t4x1", "--spot", "--sandbox", "--yes", "--name", "two", "--no-wait")
    assert len(gpuorch.machines()) == 2
    assert "--yes" in gpuorch("down", "--all", code=64).err
    assert len(gpuorch.machines()) == 2
    gone = gpuorch.json("down", "--all", "--sandbox", "--yes").data["deployments"]
    assert [(one["name"], one["state"]) for one in gone] == [("one", "gone"), ("two", "gone")]
    assert gpuorch.existing() == []


@pytest.mark.slow
def test_down_that_the_cloud_refuses(tmp_path: Path) -> None:
    """The deployment stays listed, whole and with the cloud's words, until the cloud has let it go."""
    gpuorch = a_gpuorch(tmp_path)
    gpuorch(*SPOT)
    words = f"deleting EC2 Instance: api error OperationNotPermitted: it may not be terminated {'(…) ' * 50}"
    gpuorch.cloud.order_fault(Fault(operation="delete", type="aws_instance", error=words.strip(), times=2))
    refused = gpuorch("down", "train", "--yes", code=1)
    assert refused.out == "train is deleting\n"
    assert "gpuorch: terraform destroy failed: deleting EC2 Instance: api error OperationNotPermitted" in refused.err
    assert gpuorch.machines() == [("us-east-1a", "spot")]

    status = gpuorch("status", code=1)
    line = status.out.splitlines()[1]
    assert line.startswith("train  deleting  a100x8   aws us-east-1a  p4d.24xlarge  spot    $10.00")
    assert "OperationNotPermitted" in line
    assert gpuorch(*SPOT, code=64).err.startswith("gpuorch: train is deleting\n")

    assert gpuorch("down", "train", "--yes").out == "train is gone\n"
    assert gpuorch.existing() == []


@pytest.mark.slow
def test_machine_lost_while_it_boots(tmp_path: Path) -> None:
    gpuorch = a_gpuorch(tmp_path, boot_seconds=3600)
    process = gpuorch.start(*SPOT, "-o", "json")
    until(lambda: gpuorch.state_of() == "bootstrapping", process=process)
    gpuorch.cloud.preempt(gpuorch.cloud.resources()[0].deployment, reason=TAKEN_BACK)
    envelope = gpuorch.end(process, code=1).envelope
    (error,) = envelope["errors"]
    assert (error["code"], error["message"]) == ("not-ready", f"train: the machine is gone ({TAKEN_BACK})")
    assert envelope["data"]["deployment"]["state"] == "lost"
    gpuorch("down", "train", "--yes")
    assert gpuorch.existing() == []


@pytest.mark.slow
def test_first_run_with_the_prices_that_come_with_it(tmp_path: Path) -> None:
    gpuorch = a_gpuorch(tmp_path, None)
    made = gpuorch.json("up", "--profile", "a100x8", "--spot", "--sandbox", "--yes").data["deployment"]
    assert (made["state"], made["sandbox"], made["market"]) == ("ready", True, "spot")
    assert made["name"].startswith("a100x8-")
    (root,) = gpuorch.roots()
    gpuorch.terraform(root, "plan", "-detailed-exitcode", "-input=false")
    gpuorch("down", made["name"], "--yes")
    assert gpuorch.existing() == []


@pytest.mark.slow
def test_machine_that_ended_itself_when_its_time_was_over(tmp_path: Path) -> None:
    gpuorch = a_gpuorch(tmp_path)
    made = gpuorch.json(*SPOT, "--ttl", "3s", "--no-wait").data["deployment"]
    assert made["expires_at"] is not None
    until(lambda: not gpuorch.machines())
    lost = gpuorch.deployment()
    assert (lost["state"], lost["problem"]) == ("lost", "ended itself: its time was over")
    gpuorch("down", "train", "--yes")
    assert gpuorch.existing() == []


@pytest.mark.slow
def test_failed_bootstrap_keeps_the_machine_and_says_so(tmp_path: Path) -> None:
    gpuorch = a_gpuorch(tmp_path, boot_seconds=0.2)
    gpuorch.cloud.order_fault(Fault(operation="boot", error="gpus", detail="NoGpu: nvidia-smi found 7 of 8"))
    envelope = gpuorch.json(*SPOT, code=1).envelope
    problem = "bootstrap step gpus failed: NoGpu: nvidia-smi found 7 of 8"
    assert [(one["code"], one["message"]) for one in envelope["errors"]] == [("not-ready", f"train: {problem}")]
    assert "gpuorch down train" in envelope["errors"][0]["hint"]
    assert (envelope["data"]["deployment"]["state"], envelope["data"]["deployment"]["problem"]) == ("degraded", problem)
    assert gpuorch.machines() == [("us-east-1a", "spot")]

    assert gpuorch.deployment()["state"] == "degraded"
    gpuorch.cloud.clear_faults()
    assert (gpuorch.deployment()["state"], gpuorch.deployment()["problem"]) == ("ready", "")
    gpuorch("down", "train", "--yes")
    assert gpuorch.existing() == []


@pytest.mark.slow
def test_not_waiting_and_not_ready_in_time(tmp_path: Path) -> None:
    gpuorch = a_gpuorch(tmp_path, boot_seconds=3600)
    data = gpuorch.json(*SPOT, "--no-wait").data
    assert data["deployment"]["state"] == "bootstrapping"
    assert gpuorch.deployment()["state"] == "bootstrapping"

    impatient = Gpuorch(folder=gpuorch.folder, environment={"GPUORCH_READY_TIMEOUT": "1s"})
    late = impatient.json(*SPOT, code=1).envelope
    assert late["errors"][0]["message"] == "train did not report itself ready within 0:00:01"
    assert late["data"]["deployment"]["state"] == "degraded"
    assert len(gpuorch.machines()) == 1

    gpuorch.cloud.boot_seconds = 0
    assert gpuorch.deployment()["state"] == "ready"
    gpuorch("down", "train", "--yes")
    assert gpuorch.existing() == []


@pytest.mark.slow
def test_rendered_folder_is_the_same_twice_and_works_by_hand(tmp_path: Path) -> None:
    gpuorch = a_gpuorch(tmp_path)
    words = ("render", "--profile", "a100x8", "--spot", "--sandbox", "--name", "train", "--out")
    first, second = tmp_path / "first", tmp_path / "second"
    data = gpuorch.json(*words, str(first)).data
    gpuorch(*words, str(second))
    gpuorch(*words, str(second))
    assert _content(first) == _content(second)
    assert set(data["files"]) <= _files(first)
    assert not list(gpuorch.state.glob("deployments/*"))

    gpuorch.terraform(first, "init", "-input=false")
    gpuorch.terraform(first, "plan", "-detailed-exitcode", "-input=false", code=2)
    gpuorch.terraform(first, "apply", "-auto-approve", "-input=false")
    assert gpuorch.machines() == [("us-east-1a", "spot")]
    gpuorch.terraform(first, "plan", "-detailed-exitcode", "-input=false")
    gpuorch(*words, str(first))
    gpuorch.terraform(first, "plan", "-detailed-exitcode", "-input=false")
    gpuorch.terraform(first, "destroy", "-auto-approve", "-input=false")
    assert gpuorch.existing() == []


def test_rendering_into_a_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    gpuorch = a_gpuorch(tmp_path)
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / "main.tf").write_text("# mine\n")
    (folder / "notes.txt").write_text("mine, too\n")
    before = _content(folder)
    words = ("render", "--profile", "a100x8", "--spot", "--sandbox", "--out", str(folder))
    refused = gpuorch(*words, code=64)
    assert f"{folder} holds files that gpuorch did not write (main.tf, notes.txt)" in refused.err
    assert _content(folder) == before


def _files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def _content(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in _files(folder)}
