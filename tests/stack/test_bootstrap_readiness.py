"""Reading a machine's state back: from a console that others write to as well, and from the status file."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.model.machine import ReadyReport
from orchestrator.stack.readiness import STEPS, from_console, from_status_json, status_lines, status_uri

ID, OTHER = "g0123456789ab", "g9876543210zz"
SINCE = "2026-11-30T12:00:00Z"


def console(*steps: str, deployment: str = ID) -> str:
    return "\n".join(line for step in steps for line in status_lines(deployment, step, SINCE)) + "\n"


def at(step: str, **changes: object) -> ReadyReport:
    values = {"source": "console", "step": step, "number": STEPS.index(step) + 1, "total": len(STEPS)} | changes
    return ReadyReport(**values)  # type: ignore[arg-type]


def test_the_steps_are_those_of_the_script() -> None:
    script = Path(__file__).parents[2] / "templates" / "bootstrap" / "bootstrap.sh"
    found = re.search(r"(?m)^steps=\((.*)\)$", script.read_text())
    assert found
    assert tuple(found[1].split()) == STEPS


@pytest.mark.parametrize("step", STEPS)
def test_each_step_is_read_back(step: str) -> None:
    assert from_console(console(step), ID) == at(step, ready=step == "ready")


def test_the_newest_line_counts() -> None:
    assert from_console(console("driver", "gpus", "scratch"), ID) == at("scratch")


def test_a_failure_is_read_from_either_of_its_lines() -> None:
    status, failed = status_lines(ID, "gpus", SINCE, "GpuCountShort: 7 of 8")
    assert from_console(status, ID) == at("gpus", failed="GpuCountShort: 7 of 8")
    assert from_console(failed, ID) == at("gpus", failed="GpuCountShort: 7 of 8")


def test_a_machine_that_goes_on_after_a_failure_is_no_longer_failed() -> None:
    failed = "\n".join(status_lines(ID, "smoke", SINCE, "SmokeFailed: x"))
    assert from_console(failed + "\n" + console("smoke", "ready"), ID) == at("ready", ready=True)


def test_ready_alone_is_enough() -> None:
    assert from_console(f"[  101.2] cloud-init[900]: gpuorch-ready {ID}\r\n", ID) == at("ready", ready=True)


@pytest.mark.parametrize(
    "line",
    [
        f"gpuorch-ready {OTHER}",
        f"gpuorch-ready {ID}x",
        f"gpuorch-ready {ID[:-1]}",
        "gpuorch-ready ",
        f"gpuorch-status {ID}",
        'gpuorch-status {"deployment":"' + ID + '","step":"dri',
        'gpuorch-status {"deployment":"' + ID + '"}',
        'gpuorch-status {"deployment":"' + ID + '","step":"gpus","number":"2","total":7,"ready":false,"failed":""}',
        'gpuorch-status {"deployment":"' + ID + '","step":"gpus","number":9,"total":7,"ready":false,"failed":""}',
        'gpuorch-status {"deployment":"' + ID + '","step":"gpus","number":2,"total":7,"ready":1,"failed":""}',
        'gpuorch-failed {"deployment":"' + ID + '","step":"elsewhere","kind":"X","reason":"y"}',
        "gpuorch-status " + '{"a":' * 5000,
        "gpuorch-status {" + "9" * 6000,
        "gpuorch-status [1]",
    ],
)
def test_what_cannot_be_read_is_passed_over(line: str) -> None:
    assert from_console(line, ID) is None
    assert from_console(console("gpus") + line, ID) == at("gpus")


def test_other_deployments_do_not_count() -> None:
    assert from_console(console("driver", "ready", deployment=OTHER), ID) is None
    assert from_console(console("gpus") + console("ready", deployment=OTHER), ID) == at("gpus")


def test_kernel_lines_around_ours_do_no_harm() -> None:
    torn = console("scratch").strip()
    text = (
        "\x1b[0;32m  OK  \x1b[0m] Started gpuorch\r\n"
        + "[   12.345678] nvidia: loading out-of-tree module taints kernel.\r\n"
        + f"\r\n{console('driver').strip()}\x1b[0m[   13.1] IPv6: ADDRCONF\r\n"
        + f"[   14.0] random: {console('gpus').strip()}\r\n"
        + f"{torn[:60]}\r\n[   15.0] EXT4-fs (md127): mounted\r\n{torn[60:]}"
    )
    assert from_console(text, ID) == at("gpus")


@given(st.text(), st.integers(0, 400), st.sampled_from(STEPS))
def test_no_text_is_an_error_and_no_cut_invents_a_state(noise: str, cut: int, step: str) -> None:
    from_console(noise, ID)
    from_status_json(noise, "marker")
    whole = from_console(console(step), ID)
    assert from_console(console(step)[:cut], ID) in (None, whole)
    assert from_console(console(step)[cut:], ID) in (None, whole)


@given(st.text(st.characters(codec="utf-8"), max_size=100))
def test_a_reason_comes_back_as_it_was(reason: str) -> None:
    report = from_console("\n".join(status_lines(ID, "python", SINCE, f"PythonFailed: {reason}")), ID)
    assert report == at("python", failed=f"PythonFailed: {reason}")


def test_a_status_file_is_read_with_its_source() -> None:
    text = console("python").split(" ", 1)[1]
    assert from_status_json(text, "ssh") == at("python", source="ssh")
    assert from_status_json(text, "marker", ID) == at("python", source="marker")
    assert from_status_json(text, "marker", OTHER) is None


@pytest.mark.parametrize("text", ["", "null", "[]", "{}", "not json", json.dumps({"step": "gpus"}), "<Error>NoSuchKey"])
def test_a_text_that_is_no_status_is_none(text: str) -> None:
    assert from_status_json(text, "marker") is None


def test_the_marker_lies_below_the_checkpoints() -> None:
    assert status_uri("store://bucket/prefix/", ID) == f"store://bucket/prefix/.gpuorch/{ID}/status.json"
