from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.model.failure import Diagnostic
from orchestrator.runner.contract import RunnerEvent
from orchestrator.runner.events import Transcript, diagnostic_of, diagnostics_in_text, event_of, record_of
from tests.runner.build_runner import a_change, a_diagnostic, a_line

# Recorded from Terraform 1.11.4.
COMPLETE = (
    '{"@level":"info","@message":"module.machine.terraform_data.a[0]: Creation complete after 3s [id=fe3f]",'
    '"@module":"terraform.ui","@timestamp":"2026-11-30T22:21:54.751459Z","hook":{"resource":{"addr":'
    '"module.machine.terraform_data.a[0]","module":"module.machine","resource":"terraform_data.a[0]",'
    '"implied_provider":"terraform","resource_type":"terraform_data","resource_name":"a","resource_key":0},'
    '"action":"create","id_key":"id","id_value":"fe3f","elapsed_seconds":3},"type":"apply_complete"}'
)
PLANNED = (
    '{"@level":"info","@message":"terraform_data.r2: Plan to replace","@module":"terraform.ui",'
    '"@timestamp":"2026-11-30T22:26:20.478204Z","change":{"resource":{"addr":"terraform_data.r2","module":"",'
    '"resource":"terraform_data.r2","implied_provider":"terraform","resource_type":"terraform_data",'
    '"resource_name":"r2","resource_key":null},"action":"replace","reason":"cannot_update"},"type":"planned_change"}'
)
VERSION = (
    '{"@level":"info","@message":"Terraform 1.11.4","@module":"terraform.ui",'
    '"@timestamp":"2026-11-30T22:25:59.026234Z","terraform":"1.11.4","type":"version","ui":"1.2"}'
)
FAILED = (
    '{"@level":"error","@message":"Error: local-exec provisioner error","@module":"terraform.ui",'
    '"@timestamp":"2026-11-30T22:25:21.080498Z","diagnostic":{"severity":"error","summary":'
    '"local-exec provisioner error","detail":"Error running command: signal: killed. Output: ","address":'
    '"terraform_data.a","range":{"filename":"main.tf","start":{"line":3,"column":30,"byte":77},"end":{"line":3,'
    '"column":31,"byte":78}},"snippet":{"context":"x","code":"y","start_line":3,"values":[]}},"type":"diagnostic"}'
)


@pytest.mark.parametrize(
    ("line", "event"),
    [
        (
            COMPLETE,
            RunnerEvent(
                kind="apply_complete",
                message="module.machine.terraform_data.a[0]: Creation complete after 3s [id=fe3f]",
                address="module.machine.terraform_data.a[0]",
                action="create",
                elapsed_seconds=3.0,
            ),
        ),
        (
            PLANNED,
            RunnerEvent(
                kind="planned_change",
                message="terraform_data.r2: Plan to replace",
                address="terraform_data.r2",
                action="replace",
            ),
        ),
        (VERSION, RunnerEvent(kind="version", message="Terraform 1.11.4")),
    ],
)
def test_recorded_lines(line: str, event: RunnerEvent) -> None:
    record = record_of(line)
    assert record is not None
    assert event_of(record) == event


def test_a_diagnostic_keeps_its_words_its_address_and_its_place() -> None:
    assert diagnostic_of(json.loads(FAILED)["diagnostic"]) == Diagnostic(
        severity="error",
        summary="local-exec provisioner error",
        detail="Error running command: signal: killed. Output: \n(on main.tf line 3)",
        address="terraform_data.a",
    )


@pytest.mark.parametrize("found", [None, {}, [], "text", {"severity": "error"}, {"summary": ""}])
def test_what_is_no_diagnostic(found: Any) -> None:
    assert diagnostic_of(found) is None


@pytest.mark.parametrize(
    "line",
    ["", "There are some problems with the CLI configuration:", "{", '{"a": 1}', "[1]", "null", '{"type":', "╷", "{}"],
)
def test_garbage_is_no_record_and_is_kept(line: str) -> None:
    transcript = Transcript()
    assert record_of(line) is None
    assert transcript.add(line) is None
    assert list(transcript.garbage) == ([line] if line else [])


_JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
_FIELDS = ("type", "@message", "hook", "change", "changes", "outputs", "diagnostic", "resource", "action", "summary")


@given(st.dictionaries(st.sampled_from(_FIELDS), _JSON | st.dictionaries(st.sampled_from(_FIELDS), _JSON)))
def test_no_line_breaks_the_transcript(body: dict[str, Any]) -> None:
    Transcript().add(json.dumps(body))


@given(st.text())
def test_no_text_breaks_the_transcript(line: str) -> None:
    Transcript().add(line)
    diagnostics_in_text(line)


def test_only_what_reports_need_is_kept() -> None:
    transcript = Transcript()
    for number in range(1000):
        transcript.add(a_line("refresh_complete", hook={"resource": {"addr": f"a.b[{number}]"}}))
    transcript.add(a_change("a.b", "create"))
    assert [record["type"] for record in transcript.records] == ["planned_change"]


def test_errors_are_the_diagnostics_without_their_echo() -> None:
    transcript = Transcript()
    transcript.add(a_diagnostic("no capacity"))
    transcript.add(a_diagnostic("no capacity"))
    transcript.add(a_diagnostic("deprecated", severity="warning"))
    transcript.add(a_diagnostic("execution halted"))
    assert [found.summary for found in transcript.errors("", 1)] == ["no capacity"]
    assert [found.summary for found in transcript.warnings] == ["deprecated"]


IMPORT_STDERR = """
Error: Resource already managed by Terraform

Terraform is already managing a remote object for terraform_data.b. To import
to this address you must first remove the existing object from the state.
"""
LOCK_STDERR = """
Error: Error acquiring the state lock

Error message: resource temporarily unavailable
Lock Info:
  ID:        7e748268-9859-fe7d-d827-cdb5a969d227
  Who:       ada@desk

Terraform acquires a state lock to protect the state from being written
by multiple users at the same time.
"""
BOXED = (
    "There are some problems with the CLI configuration:\n"
    "\x1b[33m╷\x1b[0m\n\x1b[33m│\x1b[0m \x1b[33mWarning: \x1b[0mUnable to open CLI configuration file\n"
    "│ \n│ The CLI configuration file does not exist.\n╵\n"
    "╷\n│ Error: Unsupported argument\n│ \n│   on main.tf line 1:\n│ \n"
    "│ An argument named x is not\n│ expected here.\n╵\n"
)


def test_errors_printed_as_text_are_read() -> None:
    assert Transcript().errors(IMPORT_STDERR, 1) == (
        Diagnostic(
            severity="error",
            summary="Resource already managed by Terraform",
            detail="Terraform is already managing a remote object for terraform_data.b. To import to this address you "
            "must first remove the existing object from the state.",
        ),
    )


def test_indented_lines_of_printed_errors_stay_lines() -> None:
    (found,) = diagnostics_in_text(LOCK_STDERR)
    assert found.summary == "Error acquiring the state lock"
    assert "\n  Who:       ada@desk\n" in found.detail


def test_boxes_and_colours_are_taken_off() -> None:
    warning, error = diagnostics_in_text(BOXED)
    assert (warning.severity, warning.summary) == ("warning", "Unable to open CLI configuration file")
    assert (error.severity, error.summary) == ("error", "Unsupported argument")
    assert error.detail == "  on main.tf line 1:\n\nAn argument named x is not expected here.".strip()


@pytest.mark.parametrize(
    ("stderr", "garbage", "exit_code", "summary", "detail"),
    [
        ("panic: oh no\n\ngoroutine 1", [], 2, "panic: oh no", "\ngoroutine 1"),
        ("", ["odd words", "more"], 1, "odd words", "more"),
        ("", [], 3, "terraform ended with exit code 3", ""),
        ("", [], -9, "terraform was killed by signal 9", ""),
    ],
)
def test_without_diagnostics_the_last_words_count(
    stderr: str, garbage: list[str], exit_code: int, summary: str, detail: str
) -> None:
    transcript = Transcript()
    for line in garbage:
        transcript.add(line)
    assert transcript.errors(stderr, exit_code) == (Diagnostic(severity="error", summary=summary, detail=detail),)


def test_garbage_is_bounded() -> None:
    transcript = Transcript()
    for number in range(10_000):
        transcript.add(f"line {number}")
    assert len(transcript.garbage) == 50
    assert transcript.garbage[-1] == "line 9999"
