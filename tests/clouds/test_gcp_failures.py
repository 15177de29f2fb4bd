"""What Google Cloud's error texts mean, by the texts that terraform prints.

``gcp_failure_texts.json`` holds messages as people have posted them or the documentation has them, in the form that the
provider's code gives them; each says where it is from.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from orchestrator.clouds.gcp.failures import FAILURES
from orchestrator.clouds.gcp.sandbox.instance import capacity_error
from orchestrator.clouds.rules import MachineFacts
from orchestrator.model.failure import Diagnostic, FailureKind, FailureRule, Scope

RECORDED: list[dict[str, str]] = json.loads((Path(__file__).parent / "gcp_failure_texts.json").read_text())


def classify(summary: str, detail: str = "") -> FailureRule | None:
    text = Diagnostic(severity="error", summary=summary, detail=detail).text
    return next((rule for rule in FAILURES if re.search(rule.pattern, text)), None)


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda recorded: recorded["summary"][-60:].strip())
def test_recorded_texts(recorded: dict[str, str]) -> None:
    rule = classify(recorded["summary"], recorded.get("detail", ""))
    assert rule is not None
    assert (rule.kind, rule.scope) == (FailureKind(recorded["kind"]), Scope(recorded["scope"]))
    assert recorded["source"]


def test_no_row_is_hidden_behind_a_broader_one() -> None:
    reached = [classify(recorded["summary"], recorded.get("detail", "")) for recorded in RECORDED]
    assert [rule.pattern for rule in FAILURES if rule not in reached] == []


def test_an_unknown_text_is_left_to_the_caller() -> None:
    assert classify("Error creating instance: something that nobody has seen") is None
    assert classify("Error waiting for instance to create: a word of tomorrow\n") is None


@pytest.mark.parametrize("instance_type", ["a2-highgpu-8g", "n1-standard-8+T4x1"])
def test_the_sandbox_runs_out_of_stock_in_words_of_the_table(instance_type: str) -> None:
    facts = MachineFacts(zone="us-central1-a", instance_type=instance_type, market="spot", user_data="")
    problem = capacity_error(facts, "us-central1")
    rule = classify(problem.summary, problem.detail)
    assert rule is not None
    assert rule.kind is FailureKind.CAPACITY
    assert "us-central1-a" in problem.summary
