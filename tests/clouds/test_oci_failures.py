"""What OCI's error texts mean, by the texts that terraform prints.

``oci_failure_texts.json`` holds diagnostics from reports to the provider and its users, each with its source; where
only OCI's code and message are known, they stand in the form of the provider's ``errors.go``.
"""

from __future__ import annotations

import json
import re
from datetime import timedelta
from pathlib import Path

import pytest

from orchestrator.clouds.oci.failures import FAILURES
from orchestrator.clouds.oci.sandbox.instance import capacity_error
from orchestrator.clouds.rules import MachineFacts
from orchestrator.model.failure import Diagnostic, FailureKind, FailureRule, Scope

RECORDED: list[dict[str, str]] = json.loads((Path(__file__).parent / "oci_failure_texts.json").read_text())

# Rows for answers that are documented, and of which no text was found.
UNRECORDED = ("TenantNotSubscribed", "security token")


def classify(summary: str, detail: str = "") -> FailureRule | None:
    text = Diagnostic(severity="error", summary=summary, detail=detail).text
    return next((rule for rule in FAILURES if re.search(rule.pattern, text)), None)


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda recorded: recorded["summary"][:60])
def test_recorded_texts(recorded: dict[str, str]) -> None:
    rule = classify(recorded["summary"], recorded.get("detail", ""))
    assert rule is not None
    assert (rule.kind, rule.scope) == (FailureKind(recorded["kind"]), Scope(recorded["scope"]))
    assert recorded["source"]


def test_no_row_is_hidden_behind_a_broader_one() -> None:
    reached = [classify(recorded["summary"], recorded.get("detail", "")) for recorded in RECORDED]
    unreached = [rule for rule in FAILURES if rule not in reached]
    assert [rule.pattern for rule in unreached if not any(words in rule.pattern for words in UNRECORDED)] == []
    assert len(unreached) == len(UNRECORDED)
    assert classify("403-TenantNotSubscribed, the tenancy is not subscribed to this region") in unreached
    assert classify("the security token file holds a token that is expired: token is expired") in unreached


def test_an_unknown_text_is_left_to_the_caller() -> None:
    assert classify("412-NoEtagMatch, something that nobody has seen\nService: Core Instance") is None


@pytest.mark.parametrize("rule", FAILURES, ids=lambda rule: rule.pattern[:40])
def test_rows_are_well_made(rule: FailureRule) -> None:
    assert rule.source
    assert timedelta(0) <= rule.cool_down <= timedelta(days=1)
    if rule.kind in (FailureKind.IMAGE, FailureKind.INVALID, FailureKind.AUTH):
        # These hang on one deployment's words or credentials; cool-downs are shared with others.
        assert rule.cool_down == timedelta(0)


def test_the_simulated_clouds_full_domain_is_capacity() -> None:
    facts = MachineFacts(
        zone="Uocm:US-ASHBURN-AD-1", zone_id="AD-1", instance_type="BM.GPU4.8", market="on-demand", user_data=""
    )
    problem = capacity_error(facts, "us-ashburn-1")
    rule = classify(problem.summary, problem.detail)
    assert rule is not None
    assert (rule.kind, rule.scope) == (FailureKind.CAPACITY, Scope.OFFER)


def test_the_modules_own_refusals_are_known() -> None:
    """Preconditions of terraform/modules/oci say what is not to be had in the words that the table looks for."""
    image = classify("Resource precondition failed", "No image of us-ashburn-1 is called ^x$ and fits BM.GPU4.8.")
    domain = classify(
        "Resource precondition failed", "No availability domain called AD-9 in us-ashburn-1 offers BM.GPU4.8."
    )
    nameless = classify("Resource precondition failed", "No availability domain in us-ashburn-1 offers BM.GPU4.8.")
    subnet = classify("Resource precondition failed", "Subnet ocid1.subnet.x is not in availability domain AD-1.")
    kinds = [rule.kind if rule else None for rule in (image, domain, nameless, subnet)]
    assert kinds == [FailureKind.IMAGE, *[FailureKind.UNSUPPORTED] * 3]
