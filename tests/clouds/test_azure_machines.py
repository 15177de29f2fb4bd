"""AzureMachines against the loopback Azure: what it finds, what it leaves alone, what it says when Azure says no."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from orchestrator.clouds.azure.calls import Connection, Limits
from orchestrator.clouds.azure.machines import OBJECT_LIMIT_BYTES, AzureMachines, open_machines
from orchestrator.errors import CloudCallFailed, Refused, UsageError
from orchestrator.model.machine import MachineState
from tests.clouds.build_azure import (
    CONSOLE_HOST,
    DEPLOYMENT,
    FOREIGN,
    REGION,
    ROOT,
    SUBSCRIPTION,
    AzureDouble,
    FixedToken,
    a_group,
    a_machine,
)

BLOB = "https://acct123.blob.core.windows.net/ckpt/run/1/.gpuorch/g0123456789ab/status.json"


@pytest.fixture
def azure() -> Iterator[AzureDouble]:
    with AzureDouble() as double:
        yield double


@pytest.fixture
def machines(azure: AzureDouble) -> AzureMachines:
    return AzureMachines(REGION, azure.connection())


def test_opening_makes_no_call_and_signs_nobody_in() -> None:
    open_machines(REGION, SUBSCRIPTION)
    with pytest.raises(UsageError, match="no Azure subscription"):
        open_machines(REGION, "")


def test_finds_a_machine_with_all_that_azure_tells(azure: AzureDouble, machines: AzureMachines) -> None:
    a_group(azure)
    id_ = a_machine(azure)
    (machine,) = machines.find(DEPLOYMENT)
    assert (machine.id, machine.deployment_id, machine.region, machine.zone) == (id_, DEPLOYMENT, REGION, "2")
    assert (machine.instance_type, machine.market) == ("Standard_ND96asr_v4", "spot")
    assert (machine.state, machine.address, machine.private_address) == (
        MachineState.RUNNING,
        "203.0.113.9",
        "10.86.0.4",
    )
    assert machine.launched_at == datetime(2026, 11, 30, 12, 0, 0, 123000, tzinfo=UTC)
    assert {call.token for call in azure.calls} == {"https://management.azure.com/.default"}


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({"power": "creating"}, MachineState.PENDING),
        ({"power": "starting"}, MachineState.PENDING),
        ({"power": "running"}, MachineState.RUNNING),
        ({"power": "stopping"}, MachineState.STOPPING),
        ({"power": "stopped"}, MachineState.STOPPED),
        ({"power": "deallocating"}, MachineState.STOPPING),
        ({"power": "deallocated"}, MachineState.STOPPED),
        ({"power": "a-state-of-the-future"}, MachineState.PENDING),
        ({"power": "", "provisioning": "Creating"}, MachineState.PENDING),
        ({"power": "", "provisioning": "Failed"}, MachineState.STOPPED),
        ({"power": "running", "provisioning": "Deleting"}, MachineState.TERMINATING),
    ],
)
def test_states(azure: AzureDouble, machines: AzureMachines, changes: dict[str, Any], state: MachineState) -> None:
    a_group(azure)
    a_machine(azure, priority="Regular", **changes)
    (machine,) = machines.find(DEPLOYMENT)
    assert (machine.state, machine.market) == (state, "on-demand")


def test_a_half_made_machine_says_why(azure: AzureDouble, machines: AzureMachines) -> None:
    a_group(azure)
    a_machine(azure, power="", provisioning="Failed", message="Allocation failed.\nWe do not have capacity.")
    (machine,) = machines.find(DEPLOYMENT)
    assert machine.state_reason == "Allocation failed. We do not have capacity."


def test_what_is_not_ours_is_not_found(azure: AzureDouble, machines: AzureMachines) -> None:
    assert machines.find(DEPLOYMENT) == []  # no group
    a_group(azure, tag=FOREIGN)
    a_machine(azure)
    assert machines.find(DEPLOYMENT) == []  # somebody else's group under our name
    a_group(azure)
    a_machine(azure, name="theirs", tag="")
    assert machines.find(DEPLOYMENT) == []  # a machine without our tag in our group
    assert AzureMachines("westeurope", azure.connection()).find(DEPLOYMENT) == []  # another region


def test_all_pages_are_read_oldest_machine_first(azure: AzureDouble, machines: AzureMachines) -> None:
    a_group(azure)
    for number in range(5):
        a_machine(azure, name=f"m{number}", created=f"2026-11-{20 - number}T12:00:00+00:00")
    assert [machine.id[-2:] for machine in machines.find(DEPLOYMENT)] == ["m4", "m3", "m2", "m1", "m0"]


def test_terminate_deletes_by_force_and_does_not_wait(azure: AzureDouble, machines: AzureMachines) -> None:
    a_group(azure)
    id_ = a_machine(azure)
    machines.terminate(id_, DEPLOYMENT)
    (call,) = [call for call in azure.calls if call.method == "DELETE"]
    assert (call.path, call.query["forceDeletion"]) == (id_, "true")
    machines.terminate(id_, DEPLOYMENT)  # gone: no error


@pytest.mark.parametrize(("owner", "words"), [(FOREIGN, FOREIGN), ("", "not made by gpuorch")])
def test_a_foreign_machine_is_never_ended(azure: AzureDouble, machines: AzureMachines, owner: str, words: str) -> None:
    a_group(azure)
    id_ = a_machine(azure, tag=owner)
    with pytest.raises(Refused, match=words) as refused:
        machines.terminate(id_, DEPLOYMENT)
    assert "az vm delete" in refused.value.hint
    assert azure.made("DELETE") == []


def test_ids_of_another_kind_or_subscription(azure: AzureDouble, machines: AzureMachines) -> None:
    with pytest.raises(UsageError, match="no machine's id"):
        machines.terminate("i-0123", DEPLOYMENT)
    elsewhere = a_machine_id(subscription="99999999-2222-3333-4444-555555555555")
    with pytest.raises(UsageError, match="another subscription"):
        machines.console(elsewhere)
    for wrong in ("*", "", "g0123456789ab' or '1", "G0123456789AB"):
        with pytest.raises(UsageError, match="no id of a deployment"):
            machines.find(wrong)
        with pytest.raises(UsageError, match="no id of a deployment"):
            machines.resources(wrong)
    assert azure.calls == []


def a_machine_id(subscription: str = SUBSCRIPTION) -> str:
    return (
        f"/subscriptions/{subscription}/resourceGroups/gpuorch-{DEPLOYMENT}"
        f"/providers/Microsoft.Compute/virtualMachines/gpuorch-{DEPLOYMENT}"
    )


def test_console_is_read_without_our_token(azure: AzureDouble, machines: AzureMachines) -> None:
    uri = f"https://{CONSOLE_HOST}/logs/serial.log"
    azure.put(f"{a_machine_id()}/retrieveBootDiagnosticsData", {"serialConsoleLogBlobUri": f"{uri}?sig=secret"})
    azure.blobs[uri] = b"x" * 300_000 + "gpuorch-ready ü\n".encode() + b"\xff"
    text = machines.console(a_machine_id())
    assert text.endswith("gpuorch-ready ü\n\ufffd")
    assert len(text.encode()) < 270_000
    assert [call.token for call in azure.calls if call.host == CONSOLE_HOST] == [""]


def test_no_console_yet_and_no_machine_any_more(azure: AzureDouble, machines: AzureMachines) -> None:
    assert machines.console(a_machine_id()) == ""
    azure.put(f"{a_machine_id()}/retrieveBootDiagnosticsData", {"consoleScreenshotBlobUri": "https://x/y"})
    assert machines.console(a_machine_id()) == ""
    azure.refuse("retrieveBootDiagnosticsData", 409, "Conflict")
    assert machines.console(a_machine_id()) == ""


def test_objects(azure: AzureDouble, machines: AzureMachines) -> None:
    assert machines.read_object(BLOB) is None
    azure.blobs[BLOB] = '{"ready": "ü"}'.encode() + b"\xff"
    assert machines.read_object(BLOB) == '{"ready": "ü"}\ufffd'
    azure.blobs[BLOB] = b""
    assert machines.read_object(BLOB) == ""
    azure.blobs[BLOB] = b"x" * (OBJECT_LIMIT_BYTES + 5)
    with pytest.raises(CloudCallFailed, match="larger than"):
        machines.read_object(BLOB)
    assert {call.token for call in azure.calls} == {"https://storage.azure.com/.default"}
    with pytest.raises(UsageError, match="no Azure blob"):
        machines.read_object("https://example.com/c/x")
    with pytest.raises(UsageError, match="no Azure blob"):
        machines.read_object("s3://bucket/x")


@pytest.mark.parametrize(
    ("status", "code", "fix"),
    [
        (403, "AuthorizationFailed", "docs/clouds/azure.md"),
        (401, "ExpiredAuthenticationToken", "az login"),
        (404, "SubscriptionNotFound", ""),
        (500, "InternalServerError", "try again"),
    ],
)
def test_refusals_are_one_sentence_with_a_fix(
    azure: AzureDouble, machines: AzureMachines, status: int, code: str, fix: str
) -> None:
    a_group(azure)
    azure.refuse("/virtualMachines$", status, code, "Azure's own\nwords")
    if status == 404:
        assert machines.find(DEPLOYMENT) == []
        return
    with pytest.raises(CloudCallFailed) as failed:
        machines.find(DEPLOYMENT)
    assert "\n" not in failed.value.message
    assert code in failed.value.message and "Azure's own words" in failed.value.message
    assert fix in failed.value.hint


def test_a_reading_right_for_blobs_is_asked_for(azure: AzureDouble, machines: AzureMachines) -> None:
    azure.refuse("/ckpt/", 403, "AuthorizationPermissionMismatch")
    with pytest.raises(CloudCallFailed) as failed:
        machines.read_object(BLOB)
    assert "Storage Blob Data Reader" in failed.value.hint


def test_azure_that_does_not_answer(azure: AzureDouble, machines: AzureMachines) -> None:
    azure.stalled = True
    with pytest.raises(CloudCallFailed, match="could not be asked"):
        machines.find(DEPLOYMENT)


def test_time_limits_reach_the_wire() -> None:
    connection = Connection(SUBSCRIPTION, Limits(connect_seconds=3, read_seconds=7), signed_in=FixedToken())
    clients: tuple[Any, ...] = (connection._arm, connection._plain, connection.compute._client)
    for client in clients:
        wire = client._pipeline._transport.connection_config
        assert (wire.timeout, wire.read_timeout) == (3, 7)


def test_nobody_signed_in(azure: AzureDouble) -> None:
    from azure.core.exceptions import ClientAuthenticationError

    class Nobody:
        def get_token(self, *scopes: str, **options: Any) -> Any:
            raise ClientAuthenticationError(message="DefaultAzureCredential failed to retrieve a token")

    machines = AzureMachines(REGION, azure.connection(signed_in=Nobody()))
    with pytest.raises(CloudCallFailed, match="nobody is signed in") as failed:
        machines.find(DEPLOYMENT)
    assert "az login" in failed.value.hint
    assert azure.calls == []


def test_a_list_that_leads_elsewhere_gets_no_token(azure: AzureDouble, machines: AzureMachines) -> None:
    a_group(azure)
    azure.put(f"{ROOT}/resourceGroups/gpuorch-{DEPLOYMENT}/resources", {"value": [], "nextLink": "https://evil.test/x"})
    with pytest.raises(CloudCallFailed, match="not Azure's"):
        machines.resources(DEPLOYMENT)
    assert all(call.host == "management.azure.com" for call in azure.calls)
