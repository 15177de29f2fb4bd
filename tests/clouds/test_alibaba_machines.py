"""The cloud's own API, over a server that answers in its documented forms."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from orchestrator.clouds.alibaba.calls import Keys
from orchestrator.clouds.alibaba.machines import AlibabaMachines
from orchestrator.clouds.alibaba.oss import authorization
from orchestrator.errors import CloudCallFailed, Refused, UsageError
from orchestrator.model.machine import MachineState
from tests.clouds.build_alibaba import ID, FakeApi, an_instance, clients, error, listed, running, tags, with_keys

pytest.importorskip("alibabacloud_tea_openapi")

INSTANCES = ("Instances", "Instance")


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeApi]:
    with_keys(monkeypatch)
    with running(FakeApi()) as api:
        yield api


def machines(api: FakeApi) -> AlibabaMachines:
    return AlibabaMachines(clients(api), pause_seconds=0)


def test_a_machine_by_its_tag(api: FakeApi) -> None:
    api.answers["DescribeInstances"] = listed(*INSTANCES, rows=[an_instance()])
    (machine,) = machines(api).find(ID)
    assert (machine.id, machine.state, machine.market) == ("i-bp67acfmxazb4p****", MachineState.RUNNING, "on-demand")
    assert (machine.region, machine.zone) == ("cn-shanghai", "cn-shanghai-f")
    assert (machine.address, machine.private_address) == ("203.0.113.9", "10.86.0.1")
    assert machine.launched_at == datetime(2026, 11, 30, 4, 4, tzinfo=UTC)
    (call,) = api.calls
    wanted = {"Tag.1.Key": "gpuorch:deployment", "Tag.1.Value": ID, "RegionId": "cn-shanghai", "MaxResults": "100"}
    assert wanted.items() <= call.parameters.items()
    assert call.headers["x-acs-version"] == "2014-05-26"
    assert call.headers["authorization"].startswith("ACS3-HMAC-SHA256 Credential=LTAIexample,")


def test_all_pages_are_read(api: FakeApi) -> None:
    second = an_instance(InstanceId="i-2", CreationTime="2026-11-29T04:04Z", Status="Stopped")
    api.answers["DescribeInstances"] = lambda asked: (
        listed(*INSTANCES, rows=[second], NextToken="")
        if asked.get("NextToken") == "t1"
        else listed(*INSTANCES, rows=[an_instance()], NextToken="t1")
    )
    found = machines(api).find(ID)
    assert [(machine.id, machine.state) for machine in found] == [
        ("i-2", MachineState.STOPPED),
        ("i-bp67acfmxazb4p****", MachineState.RUNNING),
    ]


@pytest.mark.parametrize(
    ("changes", "market"),
    [
        ({"SpotStrategy": "SpotAsPriceGo"}, "spot"),
        ({"SpotStrategy": "SpotWithPriceLimit"}, "spot"),
        ({"InstanceChargeType": "PrePaid"}, "subscription-monthly"),
    ],
)
def test_markets(api: FakeApi, changes: dict[str, str], market: str) -> None:
    api.answers["DescribeInstances"] = listed(*INSTANCES, rows=[an_instance(**changes)])
    assert machines(api).find(ID)[0].market == market


def test_a_machine_that_is_taken_back_says_so(api: FakeApi) -> None:
    locks = {"LockReason": [{"LockReason": "Recycling"}]}
    row = an_instance(Status="Stopping", OperationLocks=locks)
    api.answers["DescribeInstances"] = listed(*INSTANCES, rows=[row])
    (machine,) = machines(api).find(ID)
    assert machine.state is MachineState.STOPPING
    assert "taken back" in machine.state_reason


def test_an_unknown_state_is_not_gone(api: FakeApi) -> None:
    api.answers["DescribeInstances"] = listed(*INSTANCES, rows=[an_instance(Status="Hibernating")])
    assert machines(api).find(ID)[0].state is MachineState.PENDING


def test_no_machine_and_no_right_are_told_apart(api: FakeApi) -> None:
    dry = error("DryRunOperation", "Request validation has been passed with DryRun flag set.")
    empty = listed(*INSTANCES, rows=[])
    api.answers["DescribeInstances"] = lambda asked: dry if asked.get("DryRun") == "true" else empty
    assert machines(api).find(ID) == []
    refused = error("Forbidden.RAM", "User not authorized to operate on the specified resource.", 403)
    api.answers["DescribeInstances"] = lambda asked: refused if asked.get("DryRun") == "true" else empty
    with pytest.raises(
        CloudCallFailed, match=r"refused ecs:DescribeInstances in cn-shanghai: Forbidden\.RAM"
    ) as caught:
        machines(api).find(ID)
    assert "let the RAM user or role you are do ecs:DescribeInstances" in caught.value.hint


def test_ids_are_checked_before_anything_is_asked(api: FakeApi) -> None:
    for bad in ("", "*", "G1A2B3C4", "x"):
        with pytest.raises(UsageError):
            machines(api).find(bad)
    assert api.calls == []


def test_a_passing_fault_is_asked_again(api: FakeApi) -> None:
    busy = error("Throttling.User", "Request was denied due to user flow control.")
    api.answers["DescribeInstances"] = [busy, listed(*INSTANCES, rows=[an_instance()])]
    assert len(machines(api).find(ID)) == 1
    api.answers["DescribeInstances"] = busy
    with pytest.raises(CloudCallFailed, match=r"Throttling\.User") as caught:
        machines(api).find(ID)
    assert "try again in a minute" in caught.value.hint


def test_a_dead_line(api: FakeApi) -> None:
    api.url = "http://127.0.0.1:1"
    with pytest.raises(CloudCallFailed, match="Alibaba Cloud could not be asked for ecs:DescribeInstances") as caught:
        machines(api).find(ID)
    assert "check the network" in caught.value.hint


# -- the end of a machine


def test_ending_a_machine(api: FakeApi) -> None:
    api.answers["DescribeInstances"] = listed(*INSTANCES, rows=[an_instance()])
    api.answers["DeleteInstance"] = 200, {"RequestId": "x"}
    machines(api).terminate("i-bp67acfmxazb4p****", ID)
    assert api.actions() == ["DescribeInstances", "DeleteInstance"]
    wanted = {"InstanceId": "i-bp67acfmxazb4p****", "Force": "true"}
    assert wanted.items() <= api.calls[-1].parameters.items()


@pytest.mark.parametrize("owner", [None, "gother12345"])
def test_a_machine_of_somebody_else_is_left_alone(api: FakeApi, owner: str | None) -> None:
    row = an_instance(Tags=tags(owner) if owner else {"Tag": []})
    api.answers["DescribeInstances"] = listed(*INSTANCES, rows=[row])
    with pytest.raises(Refused, match="it is left alone"):
        machines(api).terminate("i-bp67acfmxazb4p****", ID)
    assert api.actions() == ["DescribeInstances"]


def test_ending_a_gone_machine_is_no_error(api: FakeApi) -> None:
    dry = error("DryRunOperation")
    empty = listed(*INSTANCES, rows=[])
    api.answers["DescribeInstances"] = lambda asked: dry if asked.get("DryRun") else empty
    machines(api).terminate("i-bp67acfmxazb4p****", ID)
    api.answers["DescribeInstances"] = listed(*INSTANCES, rows=[an_instance()])
    api.answers["DeleteInstance"] = error("InvalidInstanceId.NotFound", status=404)
    machines(api).terminate("i-bp67acfmxazb4p****", ID)


def test_a_month_is_made_pay_as_you_go_before_it_ends(api: FakeApi) -> None:
    api.answers["DescribeInstances"] = listed(*INSTANCES, rows=[an_instance(InstanceChargeType="PrePaid")])
    api.answers["ModifyInstanceChargeType"] = 200, {"RequestId": "x", "OrderId": "20413515388****"}
    api.answers["DeleteInstance"] = [error("ChargeTypeViolation", status=403), (200, {"RequestId": "x"})]
    machines(api).terminate("i-bp67acfmxazb4p****", ID)
    assert api.actions() == ["DescribeInstances", "ModifyInstanceChargeType", "DeleteInstance", "DeleteInstance"]
    assert api.calls[1].parameters["InstanceChargeType"] == "PostPaid"


def test_a_month_that_is_not_given_back_is_left_as_it_is(api: FakeApi) -> None:
    api.answers["DescribeInstances"] = listed(*INSTANCES, rows=[an_instance(InstanceChargeType="PrePaid")])
    api.answers["ModifyInstanceChargeType"] = error(
        "InvalidOperation.RefundQuotaExceeded", "The quota is used up.", 403
    )
    with pytest.raises(CloudCallFailed, match="The quota is used up") as caught:
        machines(api).terminate("i-bp67acfmxazb4p****", ID)
    assert "within the account's monthly refund quota" in caught.value.hint
    assert "DeleteInstance" not in api.actions()


# -- console and objects


def test_the_console(api: FakeApi) -> None:
    text = "boot\ngpuorch-ready g1a2b3c4d5e6\n"
    encoded = base64.b64encode(text.encode()).decode()
    api.answers["GetInstanceConsoleOutput"] = 200, {"InstanceId": "i-1", "ConsoleOutput": encoded}
    assert machines(api).console("i-1") == text
    api.answers["GetInstanceConsoleOutput"] = 200, {"InstanceId": "i-1", "ConsoleOutput": ""}
    assert machines(api).console("i-1") == ""
    api.answers["GetInstanceConsoleOutput"] = error("InvalidInstanceId.NotFound", status=404)
    assert machines(api).console("i-1") == ""


def test_an_object(api: FakeApi) -> None:
    api.objects["/models/run%20a/status.json"] = (200, '{"ready": true}')
    assert machines(api).read_object("oss://models/run a/status.json") == '{"ready": true}'
    assert api.calls[-1].headers["authorization"].startswith("OSS4-HMAC-SHA256 Credential=LTAIexample/")
    assert machines(api).read_object("oss://models/nothing") is None
    with pytest.raises(UsageError):
        machines(api).read_object("s3://models/run")


def test_an_object_in_another_region(api: FakeApi) -> None:
    def wrong_place(region: str) -> str:
        return (
            "<Error><Code>AccessDenied</Code><Message>The bucket you are attempting to access must be addressed using "
            f"the specified endpoint.</Message><Endpoint>oss-{region}.aliyuncs.com</Endpoint></Error>"
        )

    api.objects["/models/x"] = (403, wrong_place("cn-beijing"))
    with pytest.raises(CloudCallFailed, match="must be addressed using the specified endpoint"):
        machines(api).read_object("oss://models/x")
    asked = [call.headers["authorization"].split("/")[2] for call in api.calls]
    assert asked == ["cn-shanghai", "cn-beijing"]
    api.objects["/models/x"] = (403, wrong_place("x@evil.example/"))
    api.calls.clear()
    with pytest.raises(CloudCallFailed):
        machines(api).read_object("oss://models/x")
    assert len(api.calls) == 1


def test_a_forbidden_and_a_large_object(api: FakeApi) -> None:
    api.objects["/models/x"] = (403, "<Error><Code>AccessDenied</Code><Message>no</Message></Error>")
    with pytest.raises(CloudCallFailed, match=r"oss:GetObject of oss://models/x: AccessDenied: no"):
        machines(api).read_object("oss://models/x")
    api.objects["/models/x"] = (200, "x" * (1 << 20) + "x")
    with pytest.raises(CloudCallFailed, match="larger than"):
        machines(api).read_object("oss://models/x")


@pytest.mark.parametrize(
    ("method", "token", "signature"),
    [
        ("GET", "", "f1f2e5cfcfa5c63624dc63503f55c1841e0f58376e1df57278df2c7d7929f379"),
        ("GET", "TOKEN", "f19f826e90611dfb32470887cdb98b7e979ef113f10441ff39e5d7458b9ce276"),
        ("PUT", "", "775c53bf79f32e1e0727808080a6ed0a27b02b7ca419e620a057483712042961"),
    ],
)
def test_the_signature_is_the_one_of_the_official_sdk(method: str, token: str, signature: str) -> None:
    """As the package oss2 2.19.1 signs the same requests at the same moment."""
    headers: dict[str, Any] = {"x-oss-content-sha256": "UNSIGNED-PAYLOAD", "x-oss-date": "20261130T120000Z"}
    headers |= {"x-oss-security-token": token} if token else {}
    headers |= {"content-type": "text/plain"} if method == "PUT" else {}
    keys = Keys(id="LTAIexample", secret="secretexample", token=token, origin="here")
    path = "/models/run%20a/.gpuorch/x/status.json"
    made = authorization(keys, "cn-beijing", path, headers, method=method)
    assert made == (
        f"OSS4-HMAC-SHA256 Credential=LTAIexample/20261130/cn-beijing/oss/aliyun_v4_request,Signature={signature}"
    )
