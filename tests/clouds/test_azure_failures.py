"""What Azure's error texts mean, by the texts that terraform prints.

``azure_failure_texts.json`` holds them in the provider's frame with Azure's documented or reported words; ``source``
says where each was read, ``leftovers`` where the call leaves something behind.
"""

from __future__ import annotations

import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from orchestrator.clouds.azure.failures import FAILURES
from orchestrator.model.failure import Diagnostic, FailureKind, FailureRule, Scope
from orchestrator.runner.failures import classify as classify_all

RECORDED: list[dict[str, Any]] = json.loads((Path(__file__).parent / "azure_failure_texts.json").read_text())


def diagnostic(recorded: dict[str, Any]) -> Diagnostic:
    return Diagnostic(severity="error", summary=recorded["summary"], detail=recorded.get("detail", ""))


def classify(recorded: dict[str, Any]) -> FailureRule | None:
    text = diagnostic(recorded).text
    return next((rule for rule in FAILURES if re.search(rule.pattern, text)), None)


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda recorded: recorded["summary"][-60:])
def test_recorded_texts(recorded: dict[str, Any]) -> None:
    rule = classify(recorded)
    assert rule is not None
    assert (rule.kind, rule.scope) == (FailureKind(recorded["kind"]), Scope(recorded["scope"]))
    assert rule.leftovers == recorded.get("leftovers", False)
    assert recorded["source"]


def test_no_row_is_hidden_behind_a_broader_one() -> None:
    reached = [classify(recorded) for recorded in RECORDED]
    assert [rule.pattern for rule in FAILURES if rule not in reached] == []


def test_an_unknown_text_is_left_to_the_caller() -> None:
    assert classify({"summary": "creating Linux Virtual Machine: something that nobody has seen"}) is None


@pytest.mark.parametrize("rule", FAILURES, ids=lambda rule: rule.pattern[:40])
def test_rows_are_well_made(rule: FailureRule) -> None:
    assert rule.source
    assert timedelta(0) <= rule.cool_down <= timedelta(days=1)
    if rule.kind in (FailureKind.IMAGE, FailureKind.INVALID, FailureKind.AUTH):
        # These hang on one deployment's words or credentials; cool-downs are shared with others.
        assert rule.cool_down == timedelta(0)


def test_a_failure_that_came_later_is_told_by_its_message() -> None:
    late = next(each for each in RECORDED if 'Status: "ZonalAllocationFailed"' in each["summary"])
    failure = classify_all([diagnostic(late)], FAILURES, fallback_cool_down=timedelta(minutes=5))
    assert failure.kind is FailureKind.CAPACITY
    assert failure.leftovers
    assert "sufficient capacity for the requested VM size in this zone" in failure.reason


def test_one_refused_at_once_leaves_nothing() -> None:
    failure = classify_all([diagnostic(RECORDED[0])], FAILURES, fallback_cool_down=timedelta(minutes=5))
    assert not failure.leftovers
    assert "SkuNotAvailable" in failure.reason
