"""What Alibaba Cloud's error texts mean.

``alibaba_failure_texts.json`` holds diagnostics put together from the codes and messages of the API reference and the
two forms in which the provider prints them, as users show them; none was seen from a genuine run.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from orchestrator.clouds.alibaba.failures import FAILURES
from orchestrator.model.failure import Diagnostic, FailureKind, FailureRule, Scope

TEXTS: list[dict[str, str]] = json.loads((Path(__file__).parent / "alibaba_failure_texts.json").read_text())


def classify(summary: str, detail: str = "") -> FailureRule | None:
    text = Diagnostic(severity="error", summary=summary, detail=detail).text
    return next((rule for rule in FAILURES if re.search(rule.pattern, text)), None)


@pytest.mark.parametrize("known", TEXTS, ids=[f"{place}" for place, _ in enumerate(TEXTS)])
def test_known_texts(known: dict[str, str]) -> None:
    rule = classify(known["summary"], known.get("detail", ""))
    assert rule is not None
    assert (rule.kind, rule.scope) == (FailureKind(known["kind"]), Scope(known["scope"]))


def test_no_row_is_hidden_behind_a_broader_one() -> None:
    reached = [classify(known["summary"], known.get("detail", "")) for known in TEXTS]
    assert [rule.pattern for rule in FAILURES if rule not in reached] == []


def test_an_unknown_text_is_left_to_the_caller() -> None:
    assert classify("Resource alicloud_instance RunInstances Failed!!! something that nobody has seen") is None


def test_a_code_is_a_word_of_its_own() -> None:
    assert classify("Code: NotOperationDenied.NoStockAtAll") is None
    assert classify("Code: MyForbidden.RAMx") is None
