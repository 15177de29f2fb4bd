"""What is planned: unknown values, defaults, kept blocks, replacement."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.clouds.rules import UNKNOWN, ResourceRules
from orchestrator.errors import StoreDamaged
from orchestrator.sandbox.provider.planning import fill, plan, same, unconfigurable
from orchestrator.sandbox.provider.schema import Block, complete, read_schema


def _attribute(type_: Any, *flags: str) -> dict[str, Any]:
    return {"type": type_, **dict.fromkeys(flags, True)}


DISK = {
    "attributes": {
        "size": _attribute("number", "optional", "computed"),
        "kind": _attribute("string", "optional"),
        "id": _attribute("string", "computed"),
    }
}
THING = {
    "attributes": {
        "id": _attribute("string", "computed"),
        "name": _attribute("string", "required"),
        "place": _attribute("string", "optional", "computed"),
        "note": _attribute("string", "optional"),
        "tags": _attribute(["map", "string"], "optional"),
    },
    "block_types": {
        "disk": {"nesting_mode": "list", "block": DISK},
        "extra": {"nesting_mode": "set", "block": DISK},
        "lone": {"nesting_mode": "single", "block": DISK},
    },
}


def a_block(tmp_path: Path, thing: dict[str, Any] = THING) -> Block:
    path = tmp_path / "schema.json"
    schema = {"provider": {"block": {}}, "resource_schemas": {"thing": {"version": 1, "block": thing}}}
    path.write_text(json.dumps({"provider_schemas": {"example/thing": schema}}))
    return read_schema(path).resources["thing"].block


def test_a_new_resource_leaves_open_what_only_the_cloud_decides(tmp_path: Path) -> None:
    block = a_block(tmp_path)
    config = complete(block, {"name": "n", "disk": [{"kind": "ssd"}], "lone": {"size": 3}})
    planned = plan(block, ResourceRules(), None, config, config, {}).values
    assert planned == {
        "id": UNKNOWN,
        "name": "n",
        "place": UNKNOWN,
        "note": None,
        "tags": None,
        "disk": [{"size": UNKNOWN, "kind": "ssd", "id": UNKNOWN}],
        "extra": [],
        "lone": {"size": 3, "kind": None, "id": UNKNOWN},
    }


def test_an_old_resource_keeps_it_and_a_new_block_in_it_does_not(tmp_path: Path) -> None:
    block = a_block(tmp_path)
    old = {"size": 1, "kind": "ssd", "id": "d1"}
    prior = complete(block, {"id": "1", "name": "n", "place": "here", "disk": [old], "extra": [old]})
    config = complete(block, {"name": "n", "disk": [{"kind": "ssd"}, {"kind": "hdd"}], "extra": [{"kind": "tape"}]})
    new = {"size": None, "kind": "hdd", "id": None}
    tape = {"size": None, "kind": "tape", "id": None}
    proposed = {**prior, "disk": [old, new], "extra": [tape]}
    planned = plan(block, ResourceRules(), prior, proposed, config, {}).values
    assert planned["place"] == "here"
    assert planned["disk"] == [old, {"size": UNKNOWN, "kind": "hdd", "id": UNKNOWN}]
    assert planned["extra"] == [{"size": UNKNOWN, "kind": "tape", "id": UNKNOWN}]


def test_nothing_changed_plans_nothing(tmp_path: Path) -> None:
    block = a_block(tmp_path)
    prior = complete(block, {"id": "1", "name": "n", "place": "", "extra": [{"size": 1, "id": "d"}]})
    config = complete(block, {"name": "n", "extra": [{"size": 1}]})
    planned = plan(block, ResourceRules(force_new=frozenset({"name", "extra.kind"})), prior, prior, config, {})
    assert planned.values == prior
    assert planned.replace == ()


@pytest.mark.parametrize(
    ("change", "paths"),
    [
        ({"name": "other"}, (("name",),)),
        ({"note": "x"}, ()),
        ({"disk": [{"kind": "hdd"}]}, (("disk", 0, "kind"),)),
        ({"disk": [{"kind": "ssd"}, {"kind": "ssd"}]}, (("disk",),)),
        ({"name": UNKNOWN}, (("name",),)),
    ],
)
def test_a_change_of_these_replaces(tmp_path: Path, change: dict[str, Any], paths: tuple[Any, ...]) -> None:
    block = a_block(tmp_path)
    rules = ResourceRules(force_new=frozenset({"name", "disk.kind"}))
    prior = complete(block, {"id": "1", "name": "n", "disk": [{"kind": "ssd", "size": 1, "id": "d"}]})
    config = complete(block, {"name": "n", "disk": [{"kind": "ssd"}]} | change)
    assert plan(block, rules, prior, {**prior, **config}, config, {}).replace == paths


def test_defaults_stand_where_nobody_said_otherwise(tmp_path: Path) -> None:
    block = a_block(tmp_path)
    rules = ResourceRules(defaults={"note": "none", "disk.kind": "ssd", "lone.kind": "ssd"})
    config = complete(block, {"name": "n", "disk": [{"kind": "hdd"}, {}]})
    planned = plan(block, rules, None, config, config, {}).values
    assert planned["note"] == "none"
    assert [disk["kind"] for disk in planned["disk"]] == ["hdd", "ssd"]
    assert planned["lone"] is None


def test_a_kept_block_stays_without_configuration(tmp_path: Path) -> None:
    block = a_block(tmp_path)
    prior = complete(block, {"id": "1", "name": "n", "disk": [{"kind": "ssd"}]})
    config = complete(block, {"name": "n"})
    proposed = {**prior, "disk": []}
    assert plan(block, ResourceRules(), prior, proposed, config, {}).values["disk"] == []
    kept = ResourceRules(kept_blocks=frozenset({"disk"}))
    assert plan(block, kept, prior, proposed, config, {}).values["disk"] == prior["disk"]


def test_the_apply_fills_in_and_invents_nothing_else(tmp_path: Path) -> None:
    block = a_block(tmp_path)
    config = complete(block, {"name": "n", "disk": [{}, {"size": 7}]})
    planned = plan(block, ResourceRules(), None, config, config, {}).values
    numbers = iter(("d1", "d2"))
    filled = fill(block, planned, {"id": "1", "disk.size": 5, "disk.id": lambda: next(numbers), "name": "ignored"})
    assert filled["id"] == "1"
    assert filled["name"] == "n"
    assert filled["place"] == "", "computed and not told: empty"
    assert filled["note"] is None
    assert filled["disk"] == [{"size": 5, "kind": None, "id": "d1"}, {"size": 7, "kind": None, "id": "d2"}]


def test_values_that_only_the_provider_sets_are_refused_at_every_depth(tmp_path: Path) -> None:
    block = a_block(tmp_path)
    config = complete(block, {"id": "1", "name": "n", "disk": [{}, {"id": "x"}], "lone": {"id": "y"}})
    assert [problem.path for problem in unconfigurable(block, config)] == [("id",), ("disk", 1, "id"), ("lone", "id")]


@given(st.recursive(st.none() | st.booleans() | st.integers(), lambda inner: st.lists(inner, max_size=4), max_leaves=9))
def test_equality_does_not_depend_on_the_order_of_sets(value: Any) -> None:
    backwards = value[::-1] if isinstance(value, list) else value
    assert same(value, backwards)
    assert not same(value, [value, "more"])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"provider_schemas": {}}',
        '{"provider_schemas": {"a": {}, "b": {}}}',
        '{"provider_schemas": {"a": {"provider": {"block": {"attributes": {"x": {"type": ["list", "dynamic"]}}}}}}}',
    ],
)
def test_a_file_that_is_no_schema_is_said_so(tmp_path: Path, text: str) -> None:
    path = tmp_path / "schema.json"
    path.write_text(text)
    with pytest.raises(StoreDamaged, match=r"schema\.json is not the schema of one provider"):
        read_schema(path)
