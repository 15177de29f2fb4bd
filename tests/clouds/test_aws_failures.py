"""What AWS's error texts mean, by the texts that terraform prints.

``aws_failure_texts.json`` holds diagnostics as the genuine provider 5.100 gave them against a server that answers with
AWS's documented codes and messages.
"""

from __future__ import annotations

import json
import re
from datetime import timedelta
from pathlib import Path

import pytest

from orchestrator.clouds.aws.failures import FAILURES
from orchestrator.model.failure import Diagnostic, FailureKind, FailureRule, Scope

RECORDED: list[dict[str, str]] = json.loads((Path(__file__).parent / "aws_failure_texts.json").read_text())

# Rows for answers of which we have the code and no text.
UNRECORDED = ("InvalidKey(?:Pair)?", "InsufficientFreeAddressesInSubnet")


def classify(summary: str, detail: str = "") -> FailureRule | None:
    text = Diagnostic(severity="error", summary=summary, detail=detail).text
    return next((rule for rule in FAILURES if re.search(rule.pattern, text)), None)


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda recorded: recorded["summary"][-60:])
def test_recorded_texts(recorded: dict[str, str]) -> None:
    rule = classify(recorded["summary"], recorded.get("detail", ""))
    assert rule is not None
    assert (rule.kind, rule.scope) == (FailureKind(recorded["kind"]), Scope(recorded["scope"]))


def test_no_row_is_hidden_behind_a_broader_one() -> None:
    reached = [classify(recorded["summary"], recorded.get("detail", "")) for recorded in RECORDED]
    unreached = [rule for rule in FAILURES if rule not in reached]
    assert [rule.pattern for rule in unreached if not any(code in rule.pattern for code in UNRECORDED)] == []
    assert len(unreached) == len(UNRECORDED)


def test_an_unknown_text_is_left_to_the_caller() -> None:
    assert classify("creating EC2 Instance: something that nobody has seen") is None


@pytest.mark.parametrize("rule", FAILURES, ids=lambda rule: rule.pattern[:40])
def test_rows_are_well_made(rule: FailureRule) -> None:
    assert rule.source
    assert timedelta(0) <= rule.cool_down <= timedelta(days=1)
    if rule.kind in (FailureKind.IMAGE, FailureKind.INVALID, FailureKind.AUTH):
        # These hang on one deployment's words or credentials; cool-downs are shared with others.
        assert rule.cool_down == timedelta(0)


def test_a_code_is_a_word_of_its_own() -> None:
    assert classify("api error NotInsufficientInstanceCapacityAtAll: x") is None
    assert classify("api error SomethingUnsupportedHere: x") is None
