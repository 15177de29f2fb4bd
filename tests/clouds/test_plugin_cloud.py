"""A cloud that another package brings: examples/plugin-cloud, as if installed."""

from __future__ import annotations

import inspect
import os
import re
import shutil
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from orchestrator.clouds.registry import broken_clouds, cloud, usable_clouds
from orchestrator.clouds.rules import MachineFacts
from orchestrator.errors import CloudCallFailed, Refused, UsageError
from orchestrator.model.demand import Access
from orchestrator.model.machine import Level
from orchestrator.model.offer import Market
from orchestrator.sandbox.machines import rules_of
from tests.build import NOW
from tests.clouds import test_conformance as conformance
from tests.clouds import test_conformance_sandbox as story
from tests.clouds.build_conformance import Case
from tests.clouds.build_plugin import EXAMPLE, a_room, a_row, a_site, install_example, offers
from tests.docs.build_docs import table_codes
from tests.end_to_end.build_cli_runs import a_gpuorch

# What only a cloud of this repository has: a page and recorded texts beside the tests.
OF_THIS_REPOSITORY = {"test_has_a_page_and_a_sandbox", "test_failure_table_knows_the_recorded_texts"}


def checks() -> Iterator[Any]:
    """Everything that the conformance suite asks of a cloud by its name."""
    for name, check in inspect.getmembers(conformance, inspect.isfunction):
        if name.startswith("test_") and inspect.signature(check).parameters.keys() <= {"name", "tmp_path"}:
            marks = [mark for mark in getattr(check, "pytestmark", []) if mark.name != "parametrize"]
            if name not in OF_THIS_REPOSITORY:
                yield pytest.param(check, id=name.removeprefix("test_"), marks=marks)


@pytest.fixture
def homelab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The example, installed."""
    monkeypatch.setattr(conformance, "offers_of", lambda name: offers())
    with a_site(tmp_path, monkeypatch) as site:
        install_example(site)
        yield site


# -- the example


def test_is_found_by_its_entry_point(homelab: Path) -> None:
    assert cloud("homelab").title == "Homelab"
    assert "homelab" in usable_clouds()
    assert not broken_clouds()


@pytest.mark.parametrize("check", list(checks()))
def test_conforms(check: Callable[..., None], homelab: Path, tmp_path: Path) -> None:
    wanted = inspect.signature(check).parameters
    check(**{key: value for key, value in {"name": "homelab", "tmp_path": tmp_path / "root"}.items() if key in wanted})


@pytest.mark.parametrize("text", ["", "not an image", "../../etc/passwd", "x" * 3000])
def test_a_word_that_is_no_image_is_refused(text: str, homelab: Path) -> None:
    conformance.test_a_word_that_is_no_image_is_refused("homelab", text)


def test_what_the_room_does_not_have_is_refused(homelab: Path) -> None:
    this = cloud("homelab")
    monthly = replace(offers()[0], market=Market.SUBSCRIPTION_MONTHLY)
    for changes, words in (({"offer": monthly}, "monthly"), ({"access": Access.SESSION}, "session")):
        with pytest.raises(UsageError, match=words):
            this.check(conformance.a_launch_on(this, **changes))


def test_refusals_of_the_page_are_known(homelab: Path) -> None:
    this = cloud("homelab")
    codes = table_codes("examples/plugin-cloud/README.md", "### Refusals")
    assert len(codes) == len(this.failures)
    for code in codes:
        matching = [rule for rule in this.failures if re.search(rule.pattern, f"Error: homelab: {code}: some words")]
        assert len(matching) == 1, code
    capacity = rules_of(this).capacity_error(a_machine(), "cellar")
    assert next(rule for rule in this.failures if re.search(rule.pattern, capacity.summary)).kind == "capacity"


@pytest.mark.parametrize("market", [Market.SPOT, Market.ON_DEMAND], ids=str)
@pytest.mark.slow
@pytest.mark.terraform
def test_story(market: Market, homelab: Path, tmp_path: Path) -> None:
    story.test_story(a_case(market), tmp_path)


@pytest.mark.slow
@pytest.mark.terraform
def test_without_capacity_the_next_offer_is_taken(homelab: Path, tmp_path: Path) -> None:
    story.test_without_capacity_the_next_offer_is_taken(a_case(Market.SPOT), tmp_path)


@pytest.mark.slow
@pytest.mark.terraform
def test_a_lost_state_leaks_nothing(homelab: Path, tmp_path: Path) -> None:
    story.test_a_lost_state_leaks_nothing(a_case(Market.SPOT), tmp_path)


@pytest.mark.terraform
def test_is_listed_and_its_prices_are_offered(homelab: Path, tmp_path: Path) -> None:
    command = a_gpuorch(tmp_path, environment={"HOMELAB_URL": "", "HOMELAB_TOKEN": ""})
    command("prices", "import", str(EXAMPLE / "prices.csv"))
    seen = {row["cloud"]: row for row in command.json("clouds").data["clouds"]}
    assert (seen["homelab"]["offers"], seen["homelab"]["usable"]) == (4, False)
    assert seen["homelab"]["missing"] == "Homelab needs HOMELAB_URL and HOMELAB_TOKEN in the environment"
    found = command.json("offers", "--gpu", "RTX-3090:2", "--spot").data["offers"]
    assert [(offer["cloud"], offer["zone"]) for offer in found] == [("homelab", "rack-1"), ("homelab", "rack-2")]


def test_the_wheel_carries_module_and_sandbox(tmp_path: Path) -> None:
    wheel = pytest.importorskip("hatchling.builders.wheel")
    source = shutil.copytree(EXAMPLE, tmp_path / "source", ignore=shutil.ignore_patterns("__pycache__"))
    [built] = wheel.WheelBuilder(str(source)).build(directory=str(tmp_path), versions=["standard"])
    with zipfile.ZipFile(built) as archive:
        names = set(archive.namelist())
    package = {str(path.relative_to(source)) for path in (source / "homelab_cloud").rglob("*") if path.is_file()}
    assert {"homelab_cloud/module/main.tf", "homelab_cloud/sandbox/schema.json"} <= package <= names


# -- its API


def test_machines_are_found_and_ended_by_their_label_only(homelab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        a_row(),
        a_row(id="m-2"),
        a_row(id="m-3", state="gone"),
        a_row(id="m-4", labels={"gpuorch:deployment": "gsomebodys0ther"}),
        a_row(id="m-5", labels={}),
        a_row(id="m-6", state="a new one"),
    ]
    answers = {
        "GET /machines?room=cellar": (200, {"machines": rows}),
        "DELETE /machines/m-1": (200, {"state": "wiping"}),
        "GET /machines/m-1/console": (200, {"text": "login:"}),
    }
    with a_room(answers, monkeypatch) as asked:
        room = cloud("homelab").machines("cellar")
        mine = room.find("g0123456789ab")
        assert [(each.id, str(each.state)) for each in mine] == [
            ("m-1", "running"),
            ("m-2", "running"),
            ("m-3", "gone"),
            ("m-6", "pending"),
        ]
        assert mine[0].launched_at == NOW - timedelta(hours=1)
        places = [(each.id, each.address) for each in room.resources("g0123456789ab")]
        assert places == [("m-1", "module.machine.homelab_machine.machine"), ("m-2", ""), ("m-6", "")]
        for foreign in ("m-4", "m-5"):
            with pytest.raises(Refused, match="left alone"):
                room.terminate(foreign, "g0123456789ab")
        for gone in ("m-3", "m-99"):
            room.terminate(gone, "g0123456789ab")
        assert not [what for what in asked if what.startswith("DELETE")]
        room.terminate("m-1", "g0123456789ab")
        assert asked[-1] == "DELETE /machines/m-1"
        assert room.console("m-1") == "login:"
        assert room.read_object("x://y") is None


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((500, {"error": "fire"}), "refused .* with 500: .*fire"),
        ((200, b"<html>"), "has no machines"),
        ((200, {"other": []}), "has no machines"),
        ((200, {"machines": [{"id": "m-1"}]}), "form that is not known"),
    ],
)
def test_an_odd_answer_is_one_sentence(
    answer: tuple[int, Any], words: str, homelab: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        a_room({"GET /machines?room=attic": answer}, monkeypatch),
        pytest.raises(CloudCallFailed, match=words) as raised,
    ):
        cloud("homelab").machines("attic").find("g0123456789ab")
    assert "\n" not in raised.value.message


def test_doctor_says_who_we_are_or_what_is_wrong(homelab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    this = cloud("homelab")
    with a_room({"GET /me": (200, {"user": "ada", "address": "198.51.100.4"})}, monkeypatch):
        assert [finding.message for finding in this.findings()] == ["logged in as ada"]
        assert this.caller_address() == "198.51.100.4"
        monkeypatch.setenv("HOMELAB_TOKEN", "wrong")
        [finding] = this.findings()
        assert finding.level is Level.ERROR and "401" in finding.message and "HOMELAB_TOKEN" in finding.fix
    [finding] = this.findings()
    assert "did not answer GET /me" in finding.message
    monkeypatch.delenv("HOMELAB_URL")
    assert "HOMELAB_URL" in this.no_credentials(os.environ)
    with pytest.raises(CloudCallFailed, match="HOMELAB_URL"):
        this.caller_address()


def a_case(market: Market) -> Case:
    return Case(cloud="homelab", market=market, offers=tuple(offer for offer in offers() if offer.market is market))


def a_machine() -> MachineFacts:
    return MachineFacts(zone="rack-1", instance_type="rig-3090x2", market="spot", user_data="")
