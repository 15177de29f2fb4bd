"""Going through candidates: what is tried, what is remembered, what is cleaned up, and what is said."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from orchestrator.clouds.registry import cloud
from orchestrator.errors import CapacityNotObtained, CloudCallFailed, Interrupted, NotGone, NotReady, TerraformFailed
from orchestrator.model.deployment import AttemptResult, Deployment, DeploymentState
from orchestrator.model.failure import FailureKind
from orchestrator.model.machine import Machine
from orchestrator.model.offer import Market, Offer
from orchestrator.operations.down import take_down
from orchestrator.operations.status import survey
from orchestrator.operations.up import resume
from orchestrator.operations.world import World
from orchestrator.stack.readiness import status_lines
from tests.build import an_offer
from tests.operations.build_world import FakeCloud, FakeMachines, FakeRunner, a_deployment, a_world, offers_over, placed

CAPACITY = "api error InsufficientInstanceCapacity: We currently do not have sufficient p4d.24xlarge capacity"
QUOTA = "api error VcpuLimitExceeded: You have requested more vCPU capacity than your current vCPU limit of 0 allows"
NO_KEYS = "No valid credential sources found"
ODD = "api error SomethingNew: nobody has seen this before"

Failing = Callable[[Mapping[str, Any]], str | None]


def begun(folder: Path, offers: list[Offer], failing: Failing, **world: Any) -> tuple[World, Deployment, FakeCloud]:
    fake = FakeCloud(folder / "cloud.json", failing=failing)
    made = a_world(folder, fake, **world)
    deployment = a_deployment(offer=offers[0])
    made.inventory.create(deployment, placed(*offers))
    return made, deployment, fake


def in_zones(words: str, *zones: str) -> Failing:
    return lambda values: words if values["zone"] in zones else None


def everywhere(words: str) -> Failing:
    return lambda values: words


def test_the_first_offer_that_can_be_had_wins_and_each_attempt_is_kept(tmp_path: Path) -> None:
    offers = offers_over(["us-east-1", "us-west-2"])
    world, deployment, fake = begun(tmp_path, offers, in_zones(CAPACITY, "us-east-1a", "us-east-1b"))
    done = resume(world, deployment, wait=timedelta(minutes=1))
    assert (done.state, done.offer, done.ready_source) == (DeploymentState.READY, offers[2], "console")
    attempts = world.inventory.attempts(deployment.id)
    assert [(item.number, str(item.result), item.kind) for item in attempts] == [
        (1, "failed", "capacity"),
        (2, "failed", "capacity"),
        (3, "created", ""),
    ]
    assert "InsufficientInstanceCapacity" in attempts[0].reason
    # What the failed attempts had made in the first region is gone.
    assert {item["region"] for item in fake.read().values()} == {"us-west-2"}


def test_failures_are_remembered_for_others_and_narrowly(tmp_path: Path) -> None:
    offers = offers_over(["us-east-1"])
    world, deployment, _ = begun(tmp_path, offers, in_zones(CAPACITY, "us-east-1a"))
    resume(world, deployment, wait=None)
    [known] = world.inventory.cool_downs(world.clock.now(), sandbox=False)
    assert known.kind is FailureKind.CAPACITY
    assert known.covers(offers[0])
    assert not known.covers(offers[1])
    assert not known.covers(an_offer(zone="us-east-1a", market=Market.ON_DEMAND))


def test_what_a_failure_covers_is_not_tried_again_in_the_same_run(tmp_path: Path) -> None:
    offers = [*offers_over(["us-east-1"], ("a", "b", "c")), *offers_over(["us-west-2"], ("a",))]
    fails = QUOTA
    world, deployment, _ = begun(tmp_path, offers, lambda values: fails if values["region"] == "us-east-1" else None)
    done = resume(world, deployment, wait=None)
    results = [str(item.result) for item in world.inventory.attempts(deployment.id)]
    assert results == ["failed", "skipped", "skipped", "created"]
    assert done.offer.region == "us-west-2"


def test_nothing_to_be_had_leaves_nothing_behind(tmp_path: Path) -> None:
    offers = offers_over(["us-east-1", "us-west-2"])
    world, deployment, fake = begun(tmp_path, offers, everywhere(CAPACITY))
    with pytest.raises(CapacityNotObtained, match="none of 4 offers could be had") as caught:
        resume(world, deployment, wait=None)
    assert caught.value.exit_code == 4
    assert fake.read() == {}
    record = world.inventory.get("train")
    assert record is not None
    assert record.state is DeploymentState.FAILED
    assert "InsufficientInstanceCapacity" in record.problem


def test_an_unknown_error_goes_on_and_is_called_unknown(tmp_path: Path) -> None:
    offers = offers_over(["us-east-1"])
    world, deployment, _ = begun(tmp_path, offers, in_zones(ODD, "us-east-1a"))
    assert resume(world, deployment, wait=None).offer == offers[1]
    first = world.inventory.attempts(deployment.id)[0]
    assert (first.kind, "SomethingNew" in first.reason) == ("unknown", True)


def test_missing_credentials_stop_at_once(tmp_path: Path) -> None:
    offers = offers_over(["us-east-1", "us-west-2"])
    world, deployment, fake = begun(tmp_path, offers, everywhere(NO_KEYS))
    with pytest.raises(TerraformFailed, match="No valid credential sources") as caught:
        resume(world, deployment, wait=None)
    assert caught.value.hint
    assert [str(item.result) for item in world.inventory.attempts(deployment.id)] == ["failed"]
    assert fake.read() == {}


def test_throttling_is_waited_out(tmp_path: Path) -> None:
    calls = []

    def failing(values: Mapping[str, Any]) -> str | None:
        calls.append(values)
        return "api error RequestLimitExceeded: Request limit exceeded." if len(calls) < 3 else None

    offers = offers_over(["us-east-1"])
    world, deployment, _ = begun(tmp_path, offers, failing)
    assert resume(world, deployment, wait=None).offer == offers[0]
    assert len(calls) == 3


def test_an_interruption_keeps_the_record_and_up_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offers = offers_over(["us-east-1"])
    world, deployment, fake = begun(tmp_path, offers, lambda values: None)
    with monkeypatch.context() as patch:
        patch.setattr(FakeRunner, "apply", _interrupted)
        with pytest.raises(Interrupted):
            resume(world, deployment, wait=None)
    record = world.inventory.get("train")
    assert record is not None
    assert record.state is DeploymentState.CREATING
    again = a_world(tmp_path, fake)
    assert resume(again, record, wait=None).state is DeploymentState.BOOTSTRAPPING


def _interrupted(*_: object, **__: object) -> object:
    raise Interrupted("interrupted")


def test_an_undo_that_fails_keeps_the_record_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offers = offers_over(["us-east-1"])
    world, deployment, _ = begun(tmp_path, offers, everywhere(NO_KEYS))

    def refused(*_: object, **__: object) -> object:
        raise CloudCallFailed("the cloud does not answer")

    monkeypatch.setattr(FakeRunner, "destroy", refused)
    with pytest.raises(TerraformFailed) as caught:
        resume(world, deployment, wait=None)
    assert "gpuorch down train" in caught.value.hint
    record = world.inventory.get("train")
    assert record is not None
    assert not record.state.final


def test_a_machine_that_reports_failure_is_kept_and_degraded(tmp_path: Path) -> None:
    offers = offers_over(["us-east-1"])
    [_, line] = status_lines(
        "g0123456789ab", "driver", "2026-11-30T12:00:00Z", failed="DriverMissing: no nvidia driver"
    )
    world, deployment, fake = begun(tmp_path, offers, lambda values: None, console=line)
    with pytest.raises(NotReady, match="no nvidia driver"):
        resume(world, deployment, wait=timedelta(minutes=1))
    record = world.inventory.get("train")
    assert record is not None
    assert record.state is DeploymentState.DEGRADED
    assert len(fake.read()) == 2


def test_a_machine_that_says_nothing_is_degraded_when_the_time_is_over_and_ready_when_it_speaks(tmp_path: Path) -> None:
    offers = offers_over(["us-east-1"])
    world, deployment, fake = begun(tmp_path, offers, lambda values: None, console="")
    with pytest.raises(NotReady, match="did not report itself ready within 0:01:00"):
        resume(world, deployment, wait=timedelta(minutes=1))
    later = a_world(tmp_path, fake)
    [seen] = survey(later, later.inventory.deployments())
    assert (seen.deployment.state, seen.deployment.problem) == (DeploymentState.READY, "")


def test_a_wait_outlasts_a_cloud_that_does_not_answer_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offers = offers_over(["us-east-1"])
    world, deployment, _ = begun(tmp_path, offers, lambda values: None)
    made = resume(world, deployment, wait=None)
    find, answers = FakeMachines.find, iter([False] * 5 + [True] * 50)

    def flaky(self: FakeMachines, deployment_id: str) -> list[Machine]:
        if not next(answers):
            raise CloudCallFailed("no answer")
        return find(self, deployment_id)

    monkeypatch.setattr(FakeMachines, "find", flaky)
    assert resume(world, made, wait=timedelta(minutes=5)).state is DeploymentState.READY

    def silent(self: FakeMachines, deployment_id: str) -> list[Machine]:
        raise CloudCallFailed("no answer")

    monkeypatch.setattr(FakeMachines, "find", silent)
    with pytest.raises(CloudCallFailed):
        resume(world, made, wait=timedelta(minutes=5))


def test_up_again_listens_again_to_a_degraded_machine(tmp_path: Path) -> None:
    offers = offers_over(["us-east-1"])
    world, deployment, fake = begun(tmp_path, offers, lambda values: None, console="")
    with pytest.raises(NotReady):
        resume(world, deployment, wait=timedelta(minutes=1))
    degraded = world.inventory.get("train")
    assert degraded is not None
    assert resume(a_world(tmp_path, fake), degraded, wait=timedelta(minutes=1)).state is DeploymentState.READY


def test_a_machine_that_vanished_is_lost_not_gone(tmp_path: Path) -> None:
    offers = offers_over(["us-east-1"])
    world, deployment, fake = begun(tmp_path, offers, lambda values: None)
    done = resume(world, deployment, wait=timedelta(minutes=1))
    fake.delete(done.outputs["machine_id"])
    [seen] = survey(world, world.inventory.deployments())
    # A list that lags behind looks the same: for a minute it is not believed.
    assert seen.deployment.state is DeploymentState.READY
    world.clock.sleep(61)
    [seen] = survey(world, world.inventory.deployments())
    assert seen.deployment.state is DeploymentState.LOST
    # Its network is still there, so the deployment is, too.
    assert take_down(world, seen.deployment).state is DeploymentState.GONE
    assert fake.read() == {}


def test_down_believes_only_the_cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offers = offers_over(["us-east-1"])
    world, deployment, _ = begun(tmp_path, offers, lambda values: None)
    resume(world, deployment, wait=timedelta(minutes=1))
    with monkeypatch.context() as patch:
        # Terraform claims success, and so does the call to end the machine; the cloud still shows it.
        patch.setattr(FakeRunner, "destroy", lambda self, root, **_: None)
        patch.setattr(FakeCloud, "delete", lambda self, identity: None)
        with pytest.raises(NotGone, match="aws still shows"):
            take_down(world, deployment)
    record = world.inventory.get("train")
    assert record is not None
    assert record.state is DeploymentState.DELETING
    assert "still shows" in record.problem
    assert take_down(world, record).state is DeploymentState.GONE


def test_down_ends_a_machine_that_terraform_forgot(tmp_path: Path) -> None:
    offers = offers_over(["us-east-1"])
    world, deployment, fake = begun(tmp_path, offers, lambda values: None)
    done = resume(world, deployment, wait=timedelta(minutes=1))
    (world.root(done, done.offer) / "terraform.tfstate").unlink()
    assert take_down(world, done).state is DeploymentState.GONE
    assert fake.read() == {}


def test_other_deployments_are_never_touched(tmp_path: Path) -> None:
    offers = offers_over(["us-east-1"])
    world, deployment, fake = begun(tmp_path, offers, lambda values: None)
    foreign = fake.create("aws_instance", {"deployment": "g9999999999aa", "region": "us-east-1", "zone": "us-east-1a"})
    resume(world, deployment, wait=timedelta(minutes=1))
    take_down(world, deployment)
    assert list(fake.read()) == [foreign]


def test_every_candidate_is_passed_with_few_writes(tmp_path: Path) -> None:
    zones = [f"{index:03d}" for index in range(200)]
    offers = offers_over(["us-east-1"], zones)
    world, deployment, _ = begun(tmp_path, offers, everywhere(CAPACITY))
    with pytest.raises(CapacityNotObtained):
        resume(world, deployment, wait=None)
    attempts = world.inventory.attempts(deployment.id)
    assert len(attempts) == 200
    assert {item.result for item in attempts} == {AttemptResult.FAILED}
    # No waiting between candidates that fail for capacity.
    assert world.clock.slept == 0  # type: ignore[attr-defined]


def test_a_cloud_that_refuses_us_is_left_and_the_others_are_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = offers_over(["us-east-1"])
    there = [replace(offer, cloud="elsewhere", region="north-1", zone="north-1a") for offer in here[:1]]
    offers = [here[0], *there, here[1]]
    world, deployment, fake = begun(
        tmp_path, offers, lambda values: NO_KEYS if values["region"] == "us-east-1" else None
    )
    # A second cloud by another name: its folder is the first one's.
    world.cloud = lambda name: cloud("aws")
    done = resume(world, deployment, wait=None)
    assert done.offer == there[0]
    assert [str(item.result) for item in world.inventory.attempts(deployment.id)] == ["failed", "created"]
    assert {item["region"] for item in fake.read().values()} == {"north-1"}
