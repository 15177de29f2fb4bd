"""What `gpuorch doctor` says of Alibaba Cloud, over a server that answers in its documented forms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from orchestrator.clouds.alibaba.findings import findings
from orchestrator.model.machine import Finding, Level
from tests.clouds.build_alibaba import FakeApi, clients, error, listed, running, with_keys

pytest.importorskip("alibabacloud_tea_openapi")


def quotas(on_demand: str, spot: str) -> tuple[int, Any]:
    rows = [
        {"AttributeName": name, "AttributeValues": {"ValueItem": [{"Value": value}]}}
        for name, value in (
            ("max-postpaid-instance-vcpu-count", on_demand),
            ("max-spot-instance-vcpu-count", spot),
        )
    ]
    return listed("AccountAttributeItems", "AccountAttributeItem", rows=rows)


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeApi]:
    with_keys(monkeypatch)
    dry = error("DryRunOperation", "Request validation has been passed with DryRun flag set.")
    answers: dict[str, Any] = {
        "GetCallerIdentity": (200, {"Arn": "acs:ram::123456789012****:user/ada", "AccountId": "123456789012****"}),
        "RunInstances": dry,
        "CreateVpc": dry,
        "DescribeAccountAttributes": quotas("100", "50"),
    }
    with running(FakeApi(answers=answers)) as api:
        yield api


def found(api: FakeApi, **environ: str) -> dict[str, Finding]:
    return {finding.check: finding for finding in findings(clients(api, attempts=1), environ=environ, step_seconds=3)}


def test_all_is_well(api: FakeApi) -> None:
    by_check = found(api, ALICLOUD_REGION="cn-beijing")
    assert {finding.level for finding in by_check.values()} == {Level.OK}
    assert "acs:ram::123456789012****:user/ada" in by_check["alibaba credentials"].message
    assert by_check["alibaba quota"].message.startswith("pay-as-you-go vCPUs 100, spot vCPUs 50 in cn-shanghai")
    assert "price_limit_rate" in by_check["alibaba currency"].fix


def test_nothing_is_made_by_looking(api: FakeApi) -> None:
    found(api)
    for call in api.calls:
        if call.action not in ("GetCallerIdentity", "DescribeAccountAttributes"):
            assert call.parameters["DryRun"] == "true", call.action


def test_wrong_keys_end_the_search(api: FakeApi) -> None:
    api.answers["GetCallerIdentity"] = error("InvalidAccessKeyId.NotFound", "Specified access key is not found.", 404)
    (finding,) = found(api).values()
    assert finding.level is Level.ERROR
    assert "InvalidAccessKeyId.NotFound" in finding.message
    assert "aliyun configure" in finding.fix


def test_a_missing_right(api: FakeApi) -> None:
    api.answers["RunInstances"] = error("Forbidden.RAM", "User not authorized.", 403)
    finding = found(api)["alibaba permission ecs:RunInstances"]
    assert finding.level is Level.ERROR
    assert "do ecs:RunInstances" in finding.fix


def test_a_trial_call_that_is_wrong_otherwise(api: FakeApi) -> None:
    api.answers["RunInstances"] = error("MissingParameter", "SecurityGroupId is mandatory.")
    finding = found(api)["alibaba permission ecs:RunInstances"]
    assert finding.level is Level.OK
    assert "MissingParameter" in finding.message


def test_too_small_a_quota(api: FakeApi) -> None:
    api.answers["DescribeAccountAttributes"] = quotas("8", "0")
    finding = found(api)["alibaba quota"]
    assert finding.level is Level.WARNING
    assert "Quota Center" in finding.fix


def test_a_quota_that_is_not_told(api: FakeApi) -> None:
    api.answers["DescribeAccountAttributes"] = listed("AccountAttributeItems", "AccountAttributeItem", rows=[])
    assert found(api)["alibaba quota"].level is Level.WARNING


def test_a_dead_line(api: FakeApi) -> None:
    api.url = "http://127.0.0.1:1"
    (finding,) = found(api).values()
    assert finding.level is Level.ERROR
    assert "could not be asked" in finding.message


def test_without_the_packages(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "alibabacloud_credentials.client", None)
    (finding,) = found(api).values()
    assert finding.level is Level.ERROR
    assert finding.fix == 'pip install "gpuorch[alibaba]"'
