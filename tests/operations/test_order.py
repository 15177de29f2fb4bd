"""What an order becomes: keys, addresses, defaults, and the ways in."""

from __future__ import annotations

import fcntl
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from orchestrator.clouds.registry import cloud
from orchestrator.errors import Busy, NoOffer, UsageError
from orchestrator.model.demand import Access, Request
from orchestrator.model.deployment import DeploymentState
from orchestrator.operations.locks import deployment_lock
from orchestrator.operations.order import Order, caller, launch_for, specification
from orchestrator.operations.ssh import reach
from orchestrator.operations.up import bring_up, propose
from orchestrator.operations.world import World
from tests.build import an_offer
from tests.operations.build_world import SPEC, FakeCloud, a_deployment, a_world

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPnXn2qX3rZxqgJ8Jm0rT1y2Z3a4B5c6D7e8F9g0H1i2 ada@example"


def world_in(folder: Path) -> World:
    return a_world(folder, FakeCloud(folder / "cloud.json"))


def an_order(**changes: object) -> Order:
    request = Request(profile="t4x1", market="on-demand")
    return Order(**({"request": request, "sandbox": True} | changes))  # type: ignore[arg-type]


def with_key(folder: Path) -> Path:
    path = folder / ".ssh" / "id_ed25519.pub"
    path.parent.mkdir(exist_ok=True)
    path.write_text(KEY + "\n")
    return path


def test_without_a_key_nobody_gets_in_and_with_one_only_the_caller(tmp_path: Path) -> None:
    world = world_in(tmp_path)
    assert specification(world, an_order(), "t4x1")["access"] == "none"
    with_key(tmp_path)
    spec = specification(world, an_order(), "t4x1")
    assert (spec["access"], spec["ssh_public_key"], spec["ssh_allowed_cidrs"]) == ("ssh", KEY, [])
    assert caller([cloud("aws")], sandbox=True) == ["203.0.113.1/32"]


def test_whichever_cloud_can_say_it_tells_our_address() -> None:
    def silent() -> str:
        raise UsageError("no such service", hint="name it with --ssh-from")

    mute = replace(cloud("aws"), caller_address=silent)
    telling = replace(cloud("aws"), caller_address=lambda: "203.0.113.9")
    assert caller([mute, telling], sandbox=False) == ["203.0.113.9/32"]
    with pytest.raises(UsageError, match="no such service"):
        caller([mute], sandbox=False)


def test_ssh_that_cannot_be_is_refused(tmp_path: Path) -> None:
    world = world_in(tmp_path)
    for order in (an_order(access=Access.SSH), an_order(ssh_from=("203.0.113.9",))):
        with pytest.raises(UsageError, match="SSH needs a public key"):
            specification(world, order, "t4x1")


def test_addresses_become_blocks(tmp_path: Path) -> None:
    with_key(tmp_path)
    spec = specification(world_in(tmp_path), an_order(ssh_from=("203.0.113.9", "2001:db8::/48")), "t4x1")
    assert spec["ssh_allowed_cidrs"] == ["203.0.113.9/32", "2001:db8::/48"]


def test_a_launch_says_what_the_specification_says(tmp_path: Path) -> None:
    request = Request(profile="t4x1", max_price_per_hour=Decimal("1.50"))
    order = an_order(request=request, ttl=timedelta(hours=2), checkpoint_uri="s3://bucket/run/", labels={"b": "2"})
    spec = specification(world_in(tmp_path), order, "t4x1")
    launch = launch_for(spec, an_offer(), cloud("aws"), deployment_id="g0123456789ab", name="train")
    assert (launch.ttl, launch.max_price_per_hour) == (timedelta(hours=2), Decimal("1.50"))
    assert (launch.checkpoint_uri, launch.labels, launch.owner) == ("s3://bucket/run", {"b": "2"}, "ada")


def test_a_proposal_changes_nothing(tmp_path: Path) -> None:
    world = world_in(tmp_path)
    proposal = propose(world, an_order())
    assert proposal.name.startswith("t4x1-")
    assert proposal.price_per_month is not None
    assert world.inventory.deployments(all_states=True) == []
    assert not (world.state_dir / "deployments").exists()


def test_a_cap_holds_for_the_choice_and_every_fallback(tmp_path: Path) -> None:
    world = world_in(tmp_path)
    request = Request(profile="t4x1", market="auto", max_price_per_hour=Decimal("0.60"))
    placement = propose(world, an_order(request=request)).placement
    assert all(offer.price_per_hour and offer.price_per_hour <= Decimal("0.60") for offer in placement.candidates)
    with pytest.raises(NoOffer):
        propose(world, an_order(request=replace(request, max_price_per_hour=Decimal("0.01"))))


def test_what_is_proposed_is_what_is_made(tmp_path: Path) -> None:
    world = world_in(tmp_path)
    proposal = propose(world, an_order(name="mine", image="ami-0123456789abcdef0", ttl=timedelta(hours=1)))
    made = bring_up(world, proposal, wait=timedelta(minutes=1))
    assert (made.name, made.state, made.offer) == ("mine", DeploymentState.READY, proposal.placement.chosen)
    assert made.expires_at == world.clock.now() + timedelta(hours=1)
    assert world.inventory.placement(made.id).candidates == proposal.placement.candidates


def test_one_process_at_a_time(tmp_path: Path) -> None:
    world = world_in(tmp_path)
    deployment = a_deployment()
    with deployment_lock(world, deployment) as descriptor:
        with pytest.raises(Busy, match="train is being worked on"), deployment_lock(world, deployment, wait_seconds=1):
            pass
        # Whoever inherits the descriptor keeps the lock.
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with deployment_lock(world, deployment):
        pass


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"state": DeploymentState.GONE}, "there is no machine"),
        ({"sandbox": True}, "is a simulated machine"),
        ({}, "has no way in"),
    ],
)
def test_where_there_is_no_way_in_it_is_said(tmp_path: Path, changes: dict[str, object], sentence: str) -> None:
    deployment = a_deployment(**({"state": DeploymentState.READY} | changes))
    with pytest.raises(UsageError, match=sentence):
        reach(world_in(tmp_path), deployment)


def test_the_ways_in(tmp_path: Path) -> None:
    world = world_in(tmp_path)
    outputs = {"address": "198.51.100.7", "ssh_user": "ubuntu", "machine_id": "i-0123456789abcdef0"}
    ready = a_deployment(state=DeploymentState.READY, outputs=outputs, spec={**SPEC, "access": "ssh"})
    line = reach(world, ready, ("nvidia-smi", "-L"))
    assert line[0] == "ssh"
    assert line[-4:] == ["ubuntu@198.51.100.7", "--", "nvidia-smi", "-L"]
    by_session = reach(world, replace(ready, spec={**SPEC, "access": "session"}))
    assert by_session[:3] == ["aws", "ssm", "start-session"]
    assert "i-0123456789abcdef0" in by_session
