"""Tencent Cloud's API as we call it, against a loopback server that answers in its documented shapes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from orchestrator.clouds.tencent.addresses import PLACES
from orchestrator.clouds.tencent.calls import Clients, Limits
from orchestrator.clouds.tencent.machines import TencentMachines, open_machines
from orchestrator.errors import CloudCallFailed, Refused, UsageError
from orchestrator.model.machine import MachineState
from tests.clouds.build_tencent import (
    DEPLOYMENT,
    ENVIRON,
    REGION,
    ROLE_ID,
    an_instance,
    clients,
    double,
    machines,
    tags,
)

NAME = f"gpuorch-{DEPLOYMENT}"
OTHER = "gffffffffffff"


def a_whole_deployment() -> dict[str, Any]:
    """Everything that the module makes, each beside something foreign."""
    return {
        "instances": [
            an_instance(),
            an_instance("ins-foreign1", Tags=[]),
            an_instance("ins-foreign2", Tags=tags(OTHER)),
        ],
        "lists": {
            "VpcSet": [{"VpcId": "vpc-00000001", "TagSet": tags()}, {"VpcId": "vpc-foreign1", "TagSet": tags(OTHER)}],
            "SubnetSet": [{"SubnetId": "subnet-00000001", "VpcId": "vpc-00000001", "TagSet": tags()}],
            "SecurityGroupSet": [{"SecurityGroupId": "sg-00000001", "TagSet": tags()}],
            "KeyPairSet": [{"KeyId": "skey-00000001", "Tags": tags()}],
        },
        "rules": {"sg-00000001"},
        "roles": {NAME: {"Tags": tags()}},
        "attached": {NAME: [{"PolicyId": 7, "PolicyName": NAME, "PolicyType": "User"}]},
        "policies": [{"PolicyId": 7, "PolicyName": NAME}, {"PolicyId": 8, "PolicyName": f"{NAME}-of-somebody"}],
    }


def test_find_reads_what_a_machine_is() -> None:
    with double(instances=[an_instance(), an_instance("ins-foreign1", Tags=tags(OTHER))]) as account:
        [machine] = machines(account).find(DEPLOYMENT)
    assert machine.id == "ins-00000001"
    assert (machine.deployment_id, machine.region, machine.zone) == (DEPLOYMENT, REGION, "ap-guangzhou-3")
    assert (machine.instance_type, machine.market, machine.state) == ("GN7.5XLARGE80", "spot", MachineState.RUNNING)
    assert (machine.address, machine.private_address) == ("203.0.113.5", "10.86.0.2")
    assert machine.launched_at == datetime(2026, 11, 30, 10, 0, tzinfo=UTC)
    assert machine.state_reason == "RunInstances: SUCCESS"


@pytest.mark.parametrize(
    ("said", "state"),
    [
        ("PENDING", MachineState.PENDING),
        ("LAUNCH_FAILED", MachineState.GONE),
        ("RUNNING", MachineState.RUNNING),
        ("STARTING", MachineState.RUNNING),
        ("STOPPING", MachineState.STOPPING),
        ("STOPPED", MachineState.STOPPED),
        ("SHUTDOWN", MachineState.TERMINATING),
        ("TERMINATING", MachineState.TERMINATING),
        # One that is added one day may cost money.
        ("ENTER_RESCUE_MODE", MachineState.PENDING),
    ],
)
def test_states(said: str, state: MachineState) -> None:
    with double(instances=[an_instance(InstanceState=said)]) as account:
        assert machines(account).find(DEPLOYMENT)[0].state is state


@pytest.mark.parametrize(
    ("said", "market"),
    [("SPOTPAID", "spot"), ("PREPAID", "subscription-monthly"), ("POSTPAID_BY_HOUR", "on-demand")],
)
def test_markets(said: str, market: str) -> None:
    with double(instances=[an_instance(InstanceChargeType=said)]) as account:
        assert machines(account).find(DEPLOYMENT)[0].market == market


def test_fields_that_are_missing_or_null_are_empty() -> None:
    bare = {"InstanceId": "ins-00000001", "InstanceState": "PENDING", "Tags": tags(), "PublicIpAddresses": None}
    with double(instances=[bare]) as account:
        [machine] = machines(account).find(DEPLOYMENT)
    assert (machine.address, machine.private_address, machine.zone, machine.launched_at) == ("", "", "", None)


def test_what_holds_a_machine_back_is_its_reason() -> None:
    restricted = an_instance(RestrictState="PROTECTIVELY_ISOLATED", LatestOperation=None, LatestOperationState=None)
    with double(instances=[restricted]) as account:
        assert machines(account).find(DEPLOYMENT)[0].state_reason == "PROTECTIVELY_ISOLATED"
        account.instances[:] = [an_instance(LatestOperationErrorMsg="no stock")]
        assert machines(account).find(DEPLOYMENT)[0].state_reason == "no stock"


def test_pages_are_read_to_their_end() -> None:
    rows = [an_instance(f"ins-{number:08}") for number in range(7)]
    with double(instances=rows, page=3) as account:
        assert len(machines(account).find(DEPLOYMENT)) == 7
        assert account.actions() == ["DescribeInstances"] * 3


def test_a_filter_that_lets_too_much_through_is_not_believed() -> None:
    with double(instances=[an_instance(Tags=tags(DEPLOYMENT.upper()))]) as account:
        account.instances[0]["Tags"] += [{"Key": "gpuorch-deployment", "Value": DEPLOYMENT}]
        account.instances[0]["Tags"].reverse()
        account.instances[0]["Tags"][0]["Key"] = "other"
        assert machines(account).find(DEPLOYMENT) == []


def test_resources_come_in_the_order_of_import_with_their_addresses() -> None:
    with double(**a_whole_deployment()) as account:
        found = machines(account).resources(DEPLOYMENT)
    importable = [place for place in PLACES if place.import_id]
    assert [(each.type, each.address) for each in found] == [(place.type, place.address) for place in importable]
    ids = {each.type.removeprefix("tencentcloud_"): each.import_id for each in found}
    assert ids == {
        "vpc": "vpc-00000001",
        "subnet": "subnet-00000001",
        "security_group": "sg-00000001",
        "security_group_rule_set": "sg-00000001",
        "key_pair": "skey-00000001",
        "cam_role": ROLE_ID,
        "cam_policy": "7",
        "cam_role_policy_attachment": f"{ROLE_ID}#7",
        "instance": "ins-00000001",
    }


def test_nothing_there_is_an_empty_list() -> None:
    with double() as account:
        assert machines(account).resources(DEPLOYMENT) == []


def test_what_does_not_belong_to_the_living_machine_has_no_address() -> None:
    data = a_whole_deployment()
    data["instances"] = [
        an_instance("ins-older001", CreatedTime="2026-11-30T09:00:00Z"),
        an_instance("ins-newer001", CreatedTime="2026-11-30T11:00:00Z"),
        an_instance("ins-stopped1", CreatedTime="2026-11-30T12:00:00Z", InstanceState="STOPPED"),
    ]
    data["lists"]["VpcSet"] = [{"VpcId": "vpc-leftover", "TagSet": tags()}, *data["lists"]["VpcSet"]]
    data["attached"][NAME].append({"PolicyId": 9, "PolicyName": "by-hand"})
    with double(**data) as account:
        found = {each.id: each.address for each in machines(account).resources(DEPLOYMENT)}
    assert found["ins-newer001"] == "module.machine.tencentcloud_instance.machine"
    assert found["ins-older001"] == found["ins-stopped1"] == found["vpc-leftover"] == found[f"{ROLE_ID}#9"] == ""
    assert found["vpc-00000001"] == "module.machine.tencentcloud_vpc.own[0]"


def test_a_role_of_somebody_else_by_our_name_is_not_ours() -> None:
    with double(roles={NAME: {"Tags": tags(OTHER)}}, attached={NAME: [{"PolicyId": 1, "PolicyName": "x"}]}) as account:
        assert machines(account).resources(DEPLOYMENT) == []


def test_a_machine_that_failed_to_launch_is_no_resource() -> None:
    with double(instances=[an_instance(InstanceState="LAUNCH_FAILED")]) as account:
        assert machines(account).resources(DEPLOYMENT) == []


def test_terminate_looks_at_the_tag_first() -> None:
    foreign = [an_instance("ins-foreign1", Tags=tags(OTHER)), an_instance("ins-foreign2", Tags=[])]
    with double(instances=[an_instance(), *foreign]) as account:
        api = machines(account)
        with pytest.raises(Refused, match=f"belongs to deployment {OTHER}"):
            api.terminate("ins-foreign1", DEPLOYMENT)
        with pytest.raises(Refused, match="was not made by gpuorch"):
            api.terminate("ins-foreign2", DEPLOYMENT)
        assert "TerminateInstances" not in account.actions()
        api.terminate("ins-00000001", DEPLOYMENT)
        assert account.calls[-1] == ("TerminateInstances", {"InstanceIds": ["ins-00000001"]})


@pytest.mark.parametrize("state", ["TERMINATING", "LAUNCH_FAILED"])
def test_ending_one_that_ends_already_is_no_call(state: str) -> None:
    with double(instances=[an_instance(InstanceState=state)]) as account:
        machines(account).terminate("ins-00000001", DEPLOYMENT)
        machines(account).terminate("ins-nowhere1", DEPLOYMENT)
        assert "TerminateInstances" not in account.actions()


def test_one_in_the_recycle_bin_is_ended_for_good() -> None:
    with double(instances=[an_instance(InstanceState="SHUTDOWN")]) as account:
        machines(account).terminate("ins-00000001", DEPLOYMENT)
        assert "TerminateInstances" in account.actions()


def test_one_that_goes_meanwhile_is_no_error() -> None:
    with double(instances=[an_instance()], refuse={"TerminateInstances": "InvalidInstanceId.NotFound"}) as account:
        machines(account).terminate("ins-00000001", DEPLOYMENT)
        account.refuse["TerminateInstances"] = "UnsupportedOperation.InstancesProtected"
        with pytest.raises(CloudCallFailed, match="InstancesProtected") as failed:
            machines(account).terminate("ins-00000001", DEPLOYMENT)
    assert "DisableApiTermination" in failed.value.hint


def test_there_is_no_console() -> None:
    with double() as account:
        assert machines(account).console("ins-00000001") == ""
        assert account.calls == []


@pytest.mark.parametrize("wrong", ["", "*", "g1", "G0123456789AB", "g0123456789ab; rm"])
def test_an_id_that_is_none_is_never_asked_for(wrong: str) -> None:
    with double(instances=[an_instance()]) as account:
        for call in (machines(account).find, machines(account).resources):
            with pytest.raises(UsageError, match="is no id of a deployment"):
                call(wrong)
        with pytest.raises(UsageError):
            machines(account).terminate("ins-00000001", wrong)
        assert account.calls == []


# -- what goes wrong


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        ("UnauthorizedOperation.PermissionDenied", "do cvm:DescribeInstances"),
        ("AuthFailure.SecretIdNotFound", "does not know these credentials"),
        ("AuthFailure.TokenFailure", "have expired"),
        ("AuthFailure.UnauthorizedOperation", "do cvm:DescribeInstances"),
        ("RequestLimitExceeded", "try again in a minute"),
        ("UnsupportedRegion", "leave ap-guangzhou out"),
        ("InternalError", ""),
    ],
)
def test_a_refusal_is_one_sentence_and_a_fix(code: str, hint: str) -> None:
    with (
        double(refuse={"DescribeInstances": code}) as account,
        pytest.raises(CloudCallFailed) as failed,
    ):
        machines(account).find(DEPLOYMENT)
    assert failed.value.message.startswith(f"Tencent Cloud refused cvm:DescribeInstances in {REGION}: {code}")
    assert "\n" not in failed.value.message
    assert hint in failed.value.hint


def test_a_wrong_key_is_found_out_by_the_signature() -> None:
    with double() as account:
        wrong = clients(account, environ=ENVIRON | {"TENCENTCLOUD_SECRET_KEY": "another"})
        with pytest.raises(CloudCallFailed, match="SignatureFailure"):
            TencentMachines(wrong).find(DEPLOYMENT)


@pytest.mark.parametrize(
    "raw",
    [
        (502, "text/html", b"<html>bad gateway</html>"),
        (200, "text/html", b"<html>please log in</html>"),
        (200, "application/json", b"{"),
    ],
)
def test_an_answer_that_is_none_is_no_traceback(raw: tuple[int, str, bytes]) -> None:
    with (
        double(raw={"DescribeInstances": raw}) as account,
        pytest.raises(CloudCallFailed, match="could not be asked for cvm:DescribeInstances"),
    ):
        machines(account).find(DEPLOYMENT)


def test_nobody_there_is_one_sentence() -> None:
    with double() as account:
        url = account.url
    nowhere = Clients(REGION, Limits(seconds=2), environ=ENVIRON, endpoint=url)
    with pytest.raises(CloudCallFailed, match="could not be asked") as failed:
        TencentMachines(nowhere).find(DEPLOYMENT)
    assert "TENCENTCLOUD_DOMAIN" in failed.value.hint


def test_without_credentials_nothing_is_asked(tmp_path: Any) -> None:
    with double() as account:
        nobody = clients(account, environ={"HOME": str(tmp_path)})
        with pytest.raises(CloudCallFailed, match="there are no Tencent Cloud credentials") as failed:
            TencentMachines(nobody).find(DEPLOYMENT)
        assert account.calls == []
    assert "tccli configure" in failed.value.hint


def test_without_the_extra_the_command_to_get_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr("orchestrator.clouds.tencent.calls.importlib.import_module", missing)
    with double() as account, pytest.raises(UsageError, match="SDK of Tencent Cloud is not installed") as failed:
        machines(account).find(DEPLOYMENT)
    assert failed.value.hint == 'pip install "gpuorch[tencent]"'


def test_opening_asks_nobody() -> None:
    assert isinstance(open_machines(REGION), TencentMachines)


# -- COS

URI = "cos://ckpt-1250000000/runs/a b/ü.json"


def test_an_object_is_read_as_text() -> None:
    with double(objects={"ckpt-1250000000/runs/a b/ü.json": '{"ready": true} é'.encode()}) as account:
        assert machines(account).read_object(URI) == '{"ready": true} é'


def test_an_object_that_is_not_there_is_none() -> None:
    with double() as account:
        assert machines(account).read_object(URI) is None


def test_bytes_that_are_no_text_do_not_stop_it() -> None:
    with double(objects={"ckpt-1250000000/x": b"\xff{"}) as account:
        assert machines(account).read_object("cos://ckpt-1250000000/x") == "\ufffd{"


def test_an_object_that_is_too_large_is_refused() -> None:
    with (
        double(objects={"ckpt-1250000000/x": b"x" * ((1 << 20) + 1)}) as account,
        pytest.raises(CloudCallFailed, match="is larger than 1048576 bytes"),
    ):
        machines(account).read_object("cos://ckpt-1250000000/x")


@pytest.mark.parametrize(
    ("code", "hint"), [("AccessDenied", "cos:GetObject"), ("NoSuchBucket", "in the region"), ("SlowDown", "")]
)
def test_cos_refusals(code: str, hint: str) -> None:
    with double(refuse={"GetObject": code}) as account, pytest.raises(CloudCallFailed, match=code) as failed:
        machines(account).read_object(URI)
    assert hint in failed.value.hint


@pytest.mark.parametrize(
    "wrong", ["s3://bucket/key", "cos://bucket/key", "cos://ckpt-1250000000", "cos://ckpt-1250000000/"]
)
def test_an_address_that_is_none_is_refused(wrong: str) -> None:
    with double() as account, pytest.raises(UsageError, match="is no COS object"):
        machines(account).read_object(wrong)


def test_cos_is_not_there() -> None:
    with double() as account:
        url = account.url
    nowhere = Clients(REGION, Limits(seconds=2), environ=ENVIRON, endpoint=url)
    with pytest.raises(CloudCallFailed, match="could not be asked for cos://"):
        TencentMachines(nowhere).read_object(URI)
