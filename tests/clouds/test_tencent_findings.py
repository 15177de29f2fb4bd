"""What ``gpuorch doctor`` says of Tencent Cloud, against a double that answers in its documented shapes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from orchestrator.clouds.tencent.calls import Limits
from orchestrator.clouds.tencent.findings import findings
from orchestrator.model.machine import Finding, Level
from tests.clouds.build_tencent import ANSWERS, SECRET_KEY, Double, clients, double

ON_DEMAND, SPOT = "tencent quota on-demand instances", "tencent quota spot vCPUs"
LAUNCH, IDENTITY = "tencent permission cvm:RunInstances", "tencent credentials"


def quota(zone: str, left: int, total: int = 100) -> dict[str, Any]:
    return {"Zone": zone, "RemainingQuota": left, "TotalQuota": total, "UsedQuota": total - left}


@pytest.fixture
def account() -> Iterator[Double]:
    quotas = {
        "PostPaidQuotaSet": [quota("ap-guangzhou-3", 12, 30), quota("ap-guangzhou-4", 29, 30)],
        "SpotPaidQuotaSet": [quota("ap-guangzhou-3", 0), quota("ap-guangzhou-6", 80)],
    }
    with double(quotas=quotas) as served:
        yield served


def found(account: Double, step_seconds: float = 10, **changes: Any) -> dict[str, Finding]:
    return {finding.check: finding for finding in findings(clients(account, **changes), step_seconds)}


def test_all_is_well(account: Double) -> None:
    answers = found(account)
    assert {finding.level for finding in answers.values()} == {Level.OK}, answers
    assert answers[IDENTITY].message == (
        "qcs::cam::uin/100000000001:uin/100000000001, by TENCENTCLOUD_SECRET_ID and TENCENTCLOUD_SECRET_KEY"
    )
    assert answers[ON_DEMAND].message == "29 instances left in ap-guangzhou-4, of 30"
    assert answers[SPOT].message == "80 vCPUs left in ap-guangzhou-6, of 100"
    assert SECRET_KEY not in str(answers)


def test_the_launch_is_tried_dry_in_a_zone_that_is_open(account: Double) -> None:
    found(account)
    [given] = [given for action, given in account.calls if action == "RunInstances"]
    assert given["Placement"] == {"Zone": "ap-guangzhou-3"} and given["DryRun"] is True


@pytest.mark.parametrize("rows", [[], None, [quota("ap-guangzhou-3", 0)]])
def test_no_quota_left_is_a_warning_with_its_remedy(account: Double, rows: Any) -> None:
    account.quotas["SpotPaidQuotaSet"] = rows
    finding = found(account)[SPOT]
    assert (finding.level, finding.message) == (Level.WARNING, "no spot vCPUs are left in ap-guangzhou")
    assert "Quotas" in finding.fix


@pytest.mark.parametrize(
    ("action", "code", "level"),
    [
        ("DescribeVpcs", "UnauthorizedOperation", Level.ERROR),
        ("GetRole", "AuthFailure.UnauthorizedOperation", Level.ERROR),
        ("DescribeInstances", "InternalError", Level.WARNING),
        ("RunInstances", "UnauthorizedOperation.CamNoAuth", Level.ERROR),
        ("RunInstances", "InvalidAccount.InsufficientBalance", Level.ERROR),
        ("RunInstances", "ResourceUnavailable.InstanceType", Level.OK),
        ("GetRole", "InvalidParameter.RoleNotExist", Level.OK),
    ],
)
def test_a_refused_call(account: Double, action: str, code: str, level: Level) -> None:
    account.refuse[action] = code
    [finding] = [finding for check, finding in found(account).items() if check.endswith(f":{action}")]
    assert finding.level is level
    assert "\n" not in finding.message
    assert finding.fix or level is not Level.ERROR


def test_quotas_that_we_may_not_see_are_no_error(account: Double) -> None:
    account.refuse["DescribeAccountQuota"] = "UnauthorizedOperation"
    assert found(account)[ON_DEMAND].level is Level.WARNING


def test_a_region_without_zones(account: Double, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ANSWERS, "DescribeZones", lambda *_: {})
    finding = found(account)[LAUNCH]
    assert finding.level is Level.WARNING and "no zone" in finding.message


def test_wrong_credentials_end_the_questions(account: Double) -> None:
    wrong = {"TENCENTCLOUD_SECRET_ID": "AKID0000", "TENCENTCLOUD_SECRET_KEY": "another"}
    [finding] = findings(clients(account, environ=wrong), 10)
    assert (finding.check, finding.level) == (IDENTITY, Level.ERROR)
    assert account.actions() == ["GetCallerIdentity"]


def test_no_credentials(account: Double, tmp_path: Path) -> None:
    [finding] = findings(clients(account, environ={"HOME": str(tmp_path)}), 10)
    assert finding.level is Level.ERROR
    assert "TENCENTCLOUD_SECRET_ID" in finding.fix
    assert account.calls == []


def test_nobody_there(account: Double) -> None:
    started = monotonic()
    [finding] = findings(clients(account, endpoint="http://127.0.0.1:9", limits=Limits(seconds=2)), 4)
    assert monotonic() - started < 8
    assert (finding.check, finding.level) == (IDENTITY, Level.ERROR)
    assert finding.fix


def test_a_silent_tencent_is_left_behind(account: Double, monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()
    monkeypatch.setitem(ANSWERS, "GetCallerIdentity", lambda *_: {"Waited": over.wait(20)})
    started = monotonic()
    try:
        [finding] = findings(clients(account, limits=Limits(seconds=15)), 0.5)
    finally:
        over.set()
    assert monotonic() - started < 5
    assert finding.level is Level.ERROR and "did not answer in ap-guangzhou within 0.5 s" in finding.message
