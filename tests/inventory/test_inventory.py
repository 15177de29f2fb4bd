"""The inventory: what is written is what is read, names are unique among the living, damage is told."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from orchestrator.errors import Failure, StoreDamaged, UsageError
from orchestrator.inventory.store import Inventory
from orchestrator.model.deployment import Attempt, AttemptResult, DeploymentState
from orchestrator.model.failure import CoolDown, FailureKind
from orchestrator.model.offer import Market
from tests.build import NOW, a_placement, an_offer
from tests.operations.build_world import a_deployment


def an_inventory(folder: Path) -> Inventory:
    return Inventory(folder / "state" / "inventory.db")


def test_a_deployment_comes_back_as_it_was(tmp_path: Path) -> None:
    inventory = an_inventory(tmp_path)
    deployment = a_deployment(
        expires_at=NOW + timedelta(hours=8), sandbox=True, outputs={"address": "198.51.100.7"}, problem="«ünïcode»"
    )
    placement = a_placement(chosen=an_offer("0.123456789", gpu_count=Decimal("0.25")), fallbacks=(an_offer(None),))
    inventory.create(deployment, placement)
    again = an_inventory(tmp_path)
    assert again.get("train") == deployment
    assert again.get(deployment.id) == deployment
    assert again.placement(deployment.id) == placement


def test_the_file_is_private(tmp_path: Path) -> None:
    assert an_inventory(tmp_path).path.stat().st_mode & 0o077 == 0


def test_a_living_name_is_taken_and_a_gone_one_free(tmp_path: Path) -> None:
    inventory = an_inventory(tmp_path)
    first = a_deployment()
    inventory.create(first, a_placement())
    with pytest.raises(UsageError, match="'train' exists"):
        inventory.create(a_deployment(id="g111111111111"), a_placement())
    inventory.save(replace(first, state=DeploymentState.GONE), NOW, "gone")
    second = a_deployment(id="g111111111111")
    inventory.create(second, a_placement())
    assert inventory.get("train") == second
    assert [item.id for item in inventory.deployments()] == [second.id]
    assert len(inventory.deployments(all_states=True)) == 2


def test_the_living_one_of_a_name_is_found_though_a_gone_one_is_newer(tmp_path: Path) -> None:
    inventory = an_inventory(tmp_path)
    inventory.create(a_deployment(id="g111111111111", state=DeploymentState.GONE), a_placement())
    living = a_deployment(id="g222222222222")
    inventory.create(living, a_placement())
    inventory.create(a_deployment(id="g333333333333", state=DeploymentState.FAILED), a_placement())
    assert inventory.get("train") == living


def test_events_are_kept_in_order(tmp_path: Path) -> None:
    inventory = an_inventory(tmp_path)
    deployment = a_deployment()
    inventory.create(deployment, a_placement())
    saved = inventory.save(deployment, NOW + timedelta(minutes=1), "ready", {"source": "console"})
    assert saved.updated_at == NOW + timedelta(minutes=1)
    events = inventory.events(deployment.id)
    assert [event.kind for event in events] == ["created", "ready"]
    assert events[1].data == {"source": "console"}


def test_attempts_are_replaced_by_number(tmp_path: Path) -> None:
    inventory = an_inventory(tmp_path)
    deployment = a_deployment()
    inventory.create(deployment, a_placement())
    attempt = Attempt(number=1, offer=an_offer(), result=AttemptResult.STARTED, at=NOW)
    begun = inventory.begin_attempt(deployment, attempt)
    assert (begun.state, begun.attempt) == (DeploymentState.CREATING, 1)
    failed = replace(attempt, result=AttemptResult.FAILED, kind="capacity", reason="none here", applied=True)
    inventory.record_attempts(begun, [failed])
    assert inventory.attempts(deployment.id) == [failed]


def a_cool_down(**changes: object) -> CoolDown:
    values: dict[str, object] = {
        "cloud": "aws",
        "region": "us-east-1",
        "zone": "us-east-1a",
        "instance_type": "p4d.24xlarge",
        "market": Market.SPOT,
        "kind": FailureKind.CAPACITY,
        "reason": "InsufficientInstanceCapacity",
        "since": NOW,
        "until": NOW + timedelta(minutes=30),
    }
    return CoolDown(**(values | changes))  # type: ignore[arg-type]


def test_cool_downs_are_shared_by_processes_and_end_by_themselves(tmp_path: Path) -> None:
    inventory = an_inventory(tmp_path)
    deployment = a_deployment()
    inventory.create(deployment, a_placement())
    wide = a_cool_down(region=None, zone=None, instance_type=None, market=None, until=NOW + timedelta(hours=2))
    inventory.record_attempts(deployment, [], a_cool_down())
    inventory.record_attempts(deployment, [], wide)
    other = an_inventory(tmp_path)
    assert other.cool_downs(NOW, sandbox=False) == (a_cool_down(), wide)
    assert other.cool_downs(NOW + timedelta(hours=1), sandbox=False) == (wide,)
    assert other.cool_downs(NOW + timedelta(hours=3), sandbox=False) == ()


def test_a_simulated_shortage_says_nothing_of_a_real_cloud(tmp_path: Path) -> None:
    inventory = an_inventory(tmp_path)
    deployment = a_deployment(sandbox=True)
    inventory.create(deployment, a_placement())
    inventory.record_attempts(deployment, [], a_cool_down())
    assert inventory.cool_downs(NOW, sandbox=False) == ()
    assert len(inventory.cool_downs(NOW, sandbox=True)) == 1


def test_a_file_that_is_no_inventory_is_told(tmp_path: Path) -> None:
    path = tmp_path / "inventory.db"
    path.write_bytes(b"this is not a database" * 100)
    with pytest.raises(StoreDamaged, match="cannot be opened"):
        Inventory(path)
    assert path.read_bytes().startswith(b"this is not")


def test_an_inventory_of_a_newer_gpuorch_is_left_alone(tmp_path: Path) -> None:
    path = an_inventory(tmp_path).path
    database = sqlite3.connect(path)
    database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(StoreDamaged, match="newer gpuorch"):
        Inventory(path)


def test_a_damaged_record_is_told_by_name_of_the_file(tmp_path: Path) -> None:
    inventory = an_inventory(tmp_path)
    inventory.create(a_deployment(), a_placement())
    database = sqlite3.connect(inventory.path)
    database.execute("UPDATE deployments SET offer = '{}'")
    database.commit()
    database.close()
    with pytest.raises(StoreDamaged, match="record that cannot be read"):
        inventory.get("train")


def test_saving_what_is_not_there_is_a_failure(tmp_path: Path) -> None:
    with pytest.raises(Failure, match="is not in the inventory"):
        an_inventory(tmp_path).save(a_deployment(), NOW, "ready")
