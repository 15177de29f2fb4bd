"""Every cloud's story in the sandbox, through the command and the real terraform: up, plan clean, lost, down."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.clouds.registry import cloud, cloud_names
from orchestrator.sandbox.machines import preempt
from tests.clouds.build_conformance import Case, a_command, cases
from tests.end_to_end.build_cli_runs import Gpuorch

pytestmark = [pytest.mark.terraform, pytest.mark.slow]

STORIES = [case for name in cloud_names() for case in cases(name)]
# Where the market makes no difference, one story a cloud: the first with somewhere else to go.
ONE_EACH = [next((case for case in cases(name) if len(case.offers) > 1), cases(name)[0]) for name in cloud_names()]
HOSTILE = 'a"b${c}%{d}\\ e `g` $(h)'


def up(command: Gpuorch, case: Case, *more: str) -> list[str]:
    words = ["up", "--gpu", case.gpu, "--market", str(case.market), "--cloud", case.cloud, "--name", "train"]
    return [*words, "--sandbox", "--yes", *more]


@pytest.mark.parametrize("case", STORIES, ids=str)
def test_story(case: Case, tmp_path: Path) -> None:
    command = a_command(tmp_path, case.offers[:3])
    made = command.json(*up(command, case, "--owner", HOSTILE, "--ttl", "8h", "--label", "team=vision")).data
    deployment = made["deployment"]
    assert (deployment["state"], deployment["cloud"], deployment["market"]) == ("ready", case.cloud, str(case.market))
    assert deployment["instance_type"] == case.offers[0].instance_type
    assert deployment["machine_id"]
    # Everything that can carry the deployment's mark carries it: nothing is out of reach of a search by it.
    resources = command.cloud.resources()
    assert {resource.deployment for resource in resources} == {deployment["id"]}
    assert command.deployment()["state"] == "ready"
    [root] = command.roots()
    command.terraform(root, "plan", "-detailed-exitcode", "-input=false")
    if case.market == "spot":
        assert preempt(command.state / "sandbox" / "cloud.sqlite", cloud(case.cloud), deployment["id"])
        assert command.deployment()["state"] == "lost"
    assert command.json("down", "train", "--yes").data["deployments"][0]["state"] == "gone"
    assert command.existing() == []


# The last one only: test_sandbox_across_clouds sells out all the others in turn.
@pytest.mark.parametrize("case", [case for case in ONE_EACH[-1:] if len(case.offers) > 1], ids=str)
def test_without_capacity_the_next_offer_is_taken(case: Case, tmp_path: Path) -> None:
    command = a_command(tmp_path, case.offers[:3])
    first = case.offers[0]
    command.cloud.exhaust(case.cloud, first.zone or first.region, first.instance_type)
    made = command.json(*up(command, case)).data
    assert made["attempts"][0]["result"] == "failed"
    assert made["attempts"][0]["kind"] == "capacity", made["attempts"][0]
    assert made["deployment"]["state"] == "ready"
    command("down", "train", "--yes")
    assert command.existing() == []


@pytest.mark.parametrize("case", ONE_EACH, ids=str)
def test_a_lost_state_leaks_nothing(case: Case, tmp_path: Path) -> None:
    command = a_command(tmp_path, case.offers[:1])
    command(*up(command, case))
    [root] = command.roots()
    for path in root.glob("terraform.tfstate*"):
        path.unlink()
    assert command.json("down", "train", "--yes").data["deployments"][0]["state"] == "gone"
    assert command.existing() == []
