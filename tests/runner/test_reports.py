from __future__ import annotations

from typing import Any

import pytest

from orchestrator.model.plan import Applied, Change
from orchestrator.runner.events import Transcript
from orchestrator.runner.reports import addresses_in_state, applied, output_values, plan_report, streamed_outputs
from tests.runner.build_runner import a_change, a_line, a_summary, an_error


def records(*lines: str) -> list[Any]:
    transcript = Transcript()
    for line in lines:
        transcript.add(line)
    return transcript.records


def test_a_plan_with_changes() -> None:
    report = plan_report(
        records(a_change("b.two", "update"), a_change("a.one", "create"), a_summary("plan", add=1, change=1)),
        file="p",
        changed=True,
        warnings=(an_error("old", severity="warning"),),
    )
    assert report.file == "p"
    assert report.changes == (Change(address="a.one", action="create"), Change(address="b.two", action="update"))
    assert report.has_changes and not report.outputs_change
    assert report.count("create") == 1
    assert [warning.summary for warning in report.warnings] == ["old"]


@pytest.mark.parametrize("action", ["create", "update", "delete", "replace", "import", "move", "forget"])
def test_terraforms_actions_are_kept(action: str) -> None:
    (change,) = plan_report(records(a_change("a.b", action)), file="p", changed=True).changes
    assert change == Change(address="a.b", action=action)


def test_remove_is_forget() -> None:
    assert plan_report(records(a_change("a.b", "remove")), file="p", changed=True).changes[0].action == "forget"


@pytest.mark.parametrize("action", ["read", "noop", "no-op"])
def test_reading_is_no_change(action: str) -> None:
    assert not plan_report(records(a_change("data.a.b", action)), file="p", changed=False).has_changes


@pytest.mark.parametrize("order", [("create", "delete"), ("delete", "create")])
def test_delete_and_create_of_one_address_are_a_replacement(order: tuple[str, str]) -> None:
    lines = [a_change("a.b", action) for action in order]
    assert plan_report(records(*lines), file="p", changed=True).changes == (Change(address="a.b", action="replace"),)


def test_outputs_alone_are_changes_too() -> None:
    report = plan_report(records(a_summary("plan")), file="p", changed=True)
    assert report.changes == () and report.outputs_change and report.has_changes


def test_no_changes() -> None:
    assert not plan_report(records(a_summary("plan")), file="p", changed=False).has_changes


def test_applied_takes_the_applys_summary() -> None:
    lines = records(a_summary("plan", add=9), a_summary("apply", add=2, change=1, remove=3))
    assert applied(lines, {"x": 1}) == Applied(added=2, changed=1, removed=3, outputs={"x": 1})
    assert applied(records(a_summary("destroy", remove=4)), {}).removed == 4
    assert applied([], {}) == Applied(added=0, changed=0, removed=0)


def test_streamed_outputs() -> None:
    plain = {"b": {"sensitive": False, "type": "string", "value": "x"}, "a": {"sensitive": False, "value": None}}
    assert streamed_outputs(records(a_line("outputs", outputs=plain))) == {"a": None, "b": "x"}
    assert streamed_outputs(records(a_line("outputs", outputs={}))) == {}


def test_a_sensitive_output_is_not_in_the_stream() -> None:
    secret = {"s": {"sensitive": True, "type": "string"}}
    assert streamed_outputs(records(a_line("outputs", outputs=secret))) is None
    assert streamed_outputs([]) is None


def test_output_values() -> None:
    assert output_values({"z": {"value": [1]}, "a": {"sensitive": True, "value": "s"}}) == {"a": "s", "z": [1]}


def a_state(*resources: dict[str, Any]) -> dict[str, Any]:
    return {"version": 4, "resources": list(resources)}


def a_resource(*keys: Any, **changes: Any) -> dict[str, Any]:
    instances = [{"index_key": key} if key is not None else {} for key in keys]
    return {"mode": "managed", "type": "aws_instance", "name": "machine", "instances": instances} | changes


@pytest.mark.parametrize(
    ("resource", "addresses"),
    [
        (a_resource(None), ("aws_instance.machine",)),
        (a_resource(None, mode="data"), ()),
        (a_resource(0, module="module.machine"), ("module.machine.aws_instance.machine[0]",)),
        (a_resource(1, 0), ("aws_instance.machine[0]", "aws_instance.machine[1]")),
        (a_resource("a b", module='module.k["z"]'), ('module.k["z"].aws_instance.machine["a b"]',)),
        # As `terraform state list` of 1.11.4 writes them.
        (a_resource('q"${x}'), (r'aws_instance.machine["q\"$${x}"]',)),
        (a_resource("ü\n%{y}\x07"), (r'aws_instance.machine["ü\n%%{y}\u0007"]',)),
        (a_resource(None, None), ("aws_instance.machine",)),  # one of them is deposed
        (a_resource(), ()),
    ],
)
def test_addresses(resource: dict[str, Any], addresses: tuple[str, ...]) -> None:
    assert addresses_in_state(a_state(resource)) == addresses


def test_addresses_of_no_state() -> None:
    assert addresses_in_state({}) == ()


def test_tainted_addresses_only() -> None:
    instances = [{"index_key": 0, "status": "tainted"}, {"index_key": 1}]
    state = a_state({"mode": "managed", "type": "aws_instance", "name": "m", "instances": instances})
    assert addresses_in_state(state, tainted=True) == ("aws_instance.m[0]",)
    assert addresses_in_state(state) == ("aws_instance.m[0]", "aws_instance.m[1]")
