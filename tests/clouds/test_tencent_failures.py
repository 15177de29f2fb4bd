"""What Tencent Cloud's error texts mean, by the texts that terraform prints.

``tencent_failure_texts.json``: the first four follow reports on the provider (HXSecurity/TerraformGoat 101; issues 376
and 82 of the provider); the others are the codes of Tencent's SDK in the provider's form, with the meaning that is
documented for each as the message; the last are the module's own words.
"""

from __future__ import annotations

import json
import re
from datetime import timedelta
from pathlib import Path

import pytest

from orchestrator.clouds.tencent.failures import FAILURES
from orchestrator.model.failure import Diagnostic, FailureKind, FailureRule, Scope

RECORDED: list[dict[str, str]] = json.loads((Path(__file__).parent / "tencent_failure_texts.json").read_text())


def classify(summary: str, detail: str = "") -> FailureRule | None:
    text = Diagnostic(severity="error", summary=summary, detail=detail).text
    return next((rule for rule in FAILURES if re.search(rule.pattern, text)), None)


def by_code(code: str) -> FailureRule | None:
    return classify(f"[TencentCloudSDKError] Code={code}, Message=no, RequestId=x")


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda recorded: recorded["summary"][:70])
def test_recorded_texts(recorded: dict[str, str]) -> None:
    rule = classify(recorded["summary"], recorded.get("detail", ""))
    assert rule is not None
    assert (rule.kind, rule.scope) == (FailureKind(recorded["kind"]), Scope(recorded["scope"]))


def test_no_row_is_hidden_behind_a_broader_one() -> None:
    reached = [classify(recorded["summary"], recorded.get("detail", "")) for recorded in RECORDED]
    assert [rule.pattern for rule in FAILURES if rule not in reached] == []


@pytest.mark.parametrize(
    "summary",
    [
        "something that nobody has seen",
        "[TencentCloudSDKError] Code=FailedOperation.NobodyKnows, Message=no, RequestId=x",
        # A code is a whole word, and stands where codes stand.
        "[TencentCloudSDKError] Code=NotUnsupportedRegion, Message=no, RequestId=x",
        "[TencentCloudSDKError] Code=UnsupportedRegionAtAll, Message=no, RequestId=x",
        "[TencentCloudSDKError] Code=FailedOperation.X, Message=unlike LimitExceeded, no quota, RequestId=x",
    ],
)
def test_an_unknown_text_is_left_to_the_caller(summary: str) -> None:
    assert classify(summary) is None


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        ("ResourceNotFound.NoDefaultCbsWithReason", FailureKind.CAPACITY, "GPUORCH_TENCENT_DISK_TYPE"),
        ("UnsupportedOperation.InvalidRegionDiskEncrypt", FailureKind.UNSUPPORTED, "GPUORCH_TENCENT_DISK_ENCRYPTION"),
        ("LimitExceeded.PrepayQuota", FailureKind.QUOTA, "instances"),
        ("UnauthorizedOperation.MFAExpired", FailureKind.AUTH, "expired"),
        ("AuthFailure.InvalidSecretId", FailureKind.AUTH, "two sites"),
        ("UnauthorizedOperation", FailureKind.AUTH, "docs/clouds/tencent.md"),
        ("FailedOperation.MutActionTimerExist", FailureKind.INVALID, "gpuorch down"),
    ],
)
def test_the_hint_says_what_helps(code: str, kind: FailureKind, words: str) -> None:
    rule = by_code(code)
    assert rule is not None and rule.kind is kind
    assert words in rule.hint


@pytest.mark.parametrize("rule", FAILURES, ids=lambda rule: rule.pattern[:40])
def test_rows_are_well_made(rule: FailureRule) -> None:
    assert rule.source
    assert timedelta(0) <= rule.cool_down <= timedelta(days=1)
    if rule.kind in (FailureKind.IMAGE, FailureKind.INVALID, FailureKind.AUTH):
        # These hang on one deployment's words or credentials; cool-downs are shared with others.
        assert rule.cool_down == timedelta(0)
