from __future__ import annotations

import itertools
import time
from datetime import timedelta

import pytest

from orchestrator.model.failure import Failure, FailureKind, FailureRule, Scope
from orchestrator.runner.failures import MOST_DECISIVE_FIRST, classify, first_line, lock_holder
from tests.runner.build_runner import an_error

SHORT = timedelta(minutes=1)
ID = "5c0d7a9e-8f7b-4a66-9a3c-6f1f2f0a7b11"
NO_CAPACITY = (
    f"creating EC2 Instance: operation error EC2: RunInstances, https response error StatusCode: 500, RequestID: {ID}, "
    "api error InsufficientInstanceCapacity: We currently do not have sufficient p4d.24xlarge capacity."
)


def a_rule(pattern: str, kind: FailureKind, minutes: int = 10, scope: Scope = Scope.OFFER) -> FailureRule:
    return FailureRule(pattern=pattern, kind=kind, scope=scope, cool_down=timedelta(minutes=minutes), source="test")


RULES = (
    a_rule("InsufficientInstanceCapacity", FailureKind.CAPACITY),
    a_rule("VcpuLimitExceeded", FailureKind.QUOTA, 60, Scope.MARKET_IN_REGION),
    a_rule("UnauthorizedOperation|No valid credential", FailureKind.AUTH, 0, Scope.CLOUD),
    a_rule("RequestLimitExceeded", FailureKind.THROTTLED, 1),
    a_rule("Capacity", FailureKind.UNKNOWN),
)


def one(summary: str, detail: str = "", *, rules: tuple[FailureRule, ...] = RULES) -> Failure:
    return classify([an_error(summary, detail)], rules, fallback_cool_down=SHORT)


def test_a_rule_of_the_cloud() -> None:
    failure = one(NO_CAPACITY)
    assert (failure.kind, failure.scope, failure.cool_down) == (
        FailureKind.CAPACITY,
        Scope.OFFER,
        timedelta(minutes=10),
    )
    assert failure.reason.startswith("creating EC2 Instance: operation error EC2: RunInstances, https response error")
    assert failure.reason.endswith("api error InsufficientInstanceCapacity: We currently do not have sufficient "
                                   "p4d.24xlarge capacity.")  # fmt: skip
    assert ID not in failure.reason and "RequestID" not in failure.reason


def test_the_first_rule_that_matches_wins() -> None:
    assert one("InsufficientInstanceCapacity", rules=RULES[::-1]).kind is FailureKind.UNKNOWN


def test_the_detail_is_searched_and_its_line_is_the_reason() -> None:
    failure = one('creating Virtual Machine (Name: "x"', "Group: y):\nerror: VcpuLimitExceeded: 0 of 96\nmore")
    assert failure.kind is FailureKind.QUOTA
    assert failure.reason == "error: VcpuLimitExceeded: 0 of 96"


def test_nothing_matches() -> None:
    failure = one("the sky has fallen\non us", "detail")
    assert failure == Failure(kind=FailureKind.UNKNOWN, scope=Scope.OFFER, cool_down=SHORT, reason="the sky has fallen")
    assert failure.kind.try_next


def test_no_diagnostics_at_all() -> None:
    assert classify([], RULES, fallback_cool_down=SHORT).reason == "terraform gave no reason"


def test_warnings_are_passed_over() -> None:
    warning = an_error("UnauthorizedOperation", severity="warning")
    failure = classify([warning, an_error("InsufficientInstanceCapacity")], RULES, fallback_cool_down=SHORT)
    assert failure.kind is FailureKind.CAPACITY


@pytest.mark.parametrize("pair", list(itertools.permutations(range(4), 2)))
def test_of_several_errors_the_most_decisive_wins(pair: tuple[int, int]) -> None:
    texts = ["InsufficientInstanceCapacity", "VcpuLimitExceeded", "UnauthorizedOperation", "RequestLimitExceeded"]
    failure = classify([an_error(texts[index]) for index in pair], RULES, fallback_cool_down=SHORT)
    kinds = {RULES[index].kind for index in pair}
    assert failure.kind is next(kind for kind in MOST_DECISIVE_FIRST if kind in kinds)


def test_of_equals_the_longest_cool_down_wins() -> None:
    rules = (a_rule("short", FailureKind.QUOTA, 5), a_rule("long", FailureKind.QUOTA, 50))
    failure = classify([an_error("short"), an_error("long")], rules, fallback_cool_down=SHORT)
    assert failure.reason == "long"


def test_a_known_error_beside_an_unknown_one_wins() -> None:
    failure = classify([an_error("odd"), an_error("RequestLimitExceeded")], RULES, fallback_cool_down=SHORT)
    assert failure.kind is FailureKind.THROTTLED


def test_every_kind_has_a_place() -> None:
    assert sorted(MOST_DECISIVE_FIRST) == sorted(FailureKind)
    stop = [kind for kind in MOST_DECISIVE_FIRST if not kind.try_next]
    assert list(MOST_DECISIVE_FIRST[: len(stop)]) == stop


@pytest.mark.parametrize(
    ("summary", "hint"),
    [
        ("Failed to query available provider packages", "tf_mirror"),
        ("Inconsistent dependency lock file", "tf_mirror"),
        ("Failed to load plugin schemas", "platform"),
        ("Unsupported argument", "gpuorch render"),
        ("Missing required argument", "gpuorch render"),
        ("Insufficient network_interface blocks", "gpuorch render"),
        ('Insufficient "x" blocks', "gpuorch render"),
        ("Reference to undeclared resource", "gpuorch render"),
        ("Error loading state: AccessDenied", "backend"),
        ("Failed to save state", "errored.tfstate"),
        ("Saved plan is stale", "plan again"),
        ('Failed to load "gpuorch.tfplan" as a plan file', "plan again"),
    ],
)
def test_terraforms_own_texts_come_before_the_clouds(summary: str, hint: str) -> None:
    failure = one(summary, "InsufficientInstanceCapacity UnauthorizedOperation")
    assert failure.kind is FailureKind.INVALID
    assert failure.cool_down == timedelta(0)
    assert hint in failure.hint


@pytest.mark.parametrize("summary", ["creating VM: Unsupported argument in request", "Unsupported: p4d is not in zone"])
def test_terraforms_words_in_a_clouds_text_are_the_clouds(summary: str) -> None:
    assert one(summary).kind is FailureKind.UNKNOWN


@pytest.mark.parametrize(
    "text",
    [
        'Post "https://ec2.example.test/": dial tcp: lookup ec2.example.test: no such host',
        "read tcp 10.0.0.1:1->10.0.0.2:443: connection reset by peer",
        "net/http: TLS handshake timeout",
        "x509: certificate signed by unknown authority",
    ],
)
def test_a_network_that_is_down_is_remembered_for_the_region_and_not_for_long(text: str) -> None:
    failure = one("creating instance", text)
    assert (failure.kind, failure.scope) == (FailureKind.UNKNOWN, Scope.REGION)
    assert failure.cool_down == timedelta(minutes=2)
    assert "network" in failure.hint


def test_the_cloud_may_know_better_than_the_network() -> None:
    rules = (a_rule("ec2.*no such host", FailureKind.REGION_DISABLED),)
    assert one("dial tcp: lookup ec2: no such host", rules=rules).kind is FailureKind.REGION_DISABLED


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"failed, RequestID: {ID}, api error X: y", "failed, api error X: y"),
        (f"failed (Request ID: {ID})", "failed"),
        (f'failed. request id: "{ID}"', "failed"),
        ("failed: opc-request-id: 0A1B2C3D4E5F60718293/AABBCCDDEEFF: no", "failed: no"),
        ("failed, RequestId=0123456789ABCDEF01 code 3", "failed code 3"),
        ("the request identified no machine", "the request identified no machine"),
        ("\n\n  a  b\tc\nd", "a b c"),
        ("", ""),
    ],
)
def test_first_line(text: str, line: str) -> None:
    assert first_line(text) == line


def test_a_long_line_is_cut_and_the_match_is_in_it() -> None:
    failure = one("x" * 500 + " InsufficientInstanceCapacity: none " + "y" * 500)
    assert "InsufficientInstanceCapacity: none" in failure.reason
    assert len(failure.reason) <= 300


def test_a_thousand_classifications_cost_next_to_nothing() -> None:
    rules = tuple(a_rule(rf"Code{number}[A-Z]\w+: .*limit", FailureKind.QUOTA) for number in range(60))
    errors = [an_error(NO_CAPACITY, "detail " * 40)]
    classify(errors, rules, fallback_cool_down=SHORT)
    start = time.process_time()
    for _ in range(1000):
        classify(errors, rules, fallback_cool_down=SHORT)
    assert time.process_time() - start < 0.7


LOCKED = an_error(
    "Error acquiring the state lock",
    "Error message: resource temporarily unavailable\nLock Info:\n  ID:        7e748268\n"
    "  Path:      terraform.tfstate\n"
    "  Operation: OperationTypeApply\n  Who:       root@vm\n  Version:   1.11.4\n"
    "  Created:   2026-11-30 22:25:59.320375032 +0000 UTC\n  Info:      \n\n\nTerraform acquires a state lock",
)


def test_lock_holder() -> None:
    assert lock_holder([an_error("other"), LOCKED]) == "root@vm since 2026-11-30 22:25:59 UTC"
    assert lock_holder([an_error("Error acquiring the state lock", "Error message: 412")]) == "another process"
    assert lock_holder([an_error("other", "Error acquiring the state lock")]) is None
    assert lock_holder([]) is None
