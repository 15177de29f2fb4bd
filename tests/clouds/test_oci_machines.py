"""OciMachines against the loopback OCI: what it finds, what it leaves alone, what it says when OCI says no."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from orchestrator.clouds.oci.addresses import PLACES, RULE_TYPE, rule_address
from orchestrator.clouds.oci.calls import Clients
from orchestrator.clouds.oci.machines import OBJECT_LIMIT_BYTES, OciMachines, open_machines
from orchestrator.clouds.oci.tagged import KINDS
from orchestrator.errors import CloudCallFailed, Refused, UsageError
from orchestrator.model.machine import MachineState
from tests.clouds.build_oci import (
    COMPARTMENT,
    DEPLOYMENT,
    FOREIGN,
    REGION,
    OciDouble,
    a_rule,
    clients_of,
    machines_of,
)

pytest.importorskip("oci", reason="the SDK of this cloud is an extra")


@pytest.fixture
def oci() -> Iterator[OciDouble]:
    with OciDouble().serving() as double:
        yield double


# -- opening


def test_opening_makes_no_call_and_wants_a_compartment(oci: OciDouble) -> None:
    assert open_machines(REGION, {"compartment_id": COMPARTMENT})
    assert oci.calls == []
    with pytest.raises(UsageError, match="without a compartment") as refused:
        open_machines(REGION, {})
    assert "OCI_COMPARTMENT_ID" in refused.value.hint


def test_calls_are_signed_with_the_key_of_the_environment(oci: OciDouble) -> None:
    machines_of(oci).find(DEPLOYMENT)
    (authorization,) = oci.authorizations
    assert 'keyId="ocid1.tenancy.oc1..aaaaaaaatenancy/ocid1.user.oc1..aaaaaaaauser/20:3b:' in authorization


def test_without_the_sdk_the_extra_is_named(oci: OciDouble, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "oci", None)
    with pytest.raises(UsageError, match="SDK for OCI is not installed") as refused:
        machines_of(oci).find(DEPLOYMENT)
    assert refused.value.hint == 'pip install "gpuorch[oci]"'


# -- find


def test_finds_a_machine_with_all_that_oci_tells(oci: OciDouble) -> None:
    id_ = oci.instance(shape="VM.GPU3.1", preemptibleInstanceConfig={"preemptionAction": {"type": "TERMINATE"}})
    (machine,) = machines_of(oci).find(DEPLOYMENT)
    assert (machine.id, machine.deployment_id, machine.region) == (id_, DEPLOYMENT, REGION)
    assert (machine.zone, machine.instance_type) == ("Uocm:US-ASHBURN-AD-1", "VM.GPU3.1")
    assert (machine.market, machine.state) == ("spot", MachineState.RUNNING)
    assert (machine.address, machine.private_address) == ("203.0.113.20", "10.86.0.2")
    assert machine.launched_at is not None and machine.launched_at.tzinfo is UTC


@pytest.mark.parametrize(
    ("theirs", "state"),
    [
        ("PROVISIONING", MachineState.PENDING),
        ("STARTING", MachineState.PENDING),
        ("RUNNING", MachineState.RUNNING),
        ("STOPPING", MachineState.STOPPING),
        ("STOPPED", MachineState.STOPPED),
        ("TERMINATING", MachineState.TERMINATING),
        ("TERMINATED", MachineState.GONE),
        ("A_STATE_OF_THE_FUTURE", MachineState.PENDING),
    ],
)
def test_states(oci: OciDouble, theirs: str, state: MachineState) -> None:
    oci.instance(lifecycleState=theirs)
    (machine,) = machines_of(oci).find(DEPLOYMENT)
    assert (machine.state, machine.market) == (state, "on-demand")


def test_a_gone_machine_is_not_asked_for_its_address(oci: OciDouble) -> None:
    oci.instance(lifecycleState="TERMINATED")
    (machine,) = machines_of(oci).find(DEPLOYMENT)
    assert (machine.address, oci.count("vnic")) == ("", 0)


def test_an_interface_that_goes_meanwhile_is_no_error(oci: OciDouble) -> None:
    oci.instance()
    oci.vnics.clear()
    (machine,) = machines_of(oci).find(DEPLOYMENT)
    assert machine.address == ""


def test_finds_over_many_pages(oci: OciDouble) -> None:
    for _ in range(103):
        oci.instance(lifecycleState="TERMINATED")
    assert len(machines_of(oci).find(DEPLOYMENT)) == 103
    assert oci.count("GET /instances") == 3


@pytest.mark.parametrize("deployment", [FOREIGN, DEPLOYMENT + "0", None])
def test_never_finds_foreign_machines(oci: OciDouble, deployment: str | None) -> None:
    oci.instance(deployment)
    oci.add("vcns", deployment)
    assert machines_of(oci).find(DEPLOYMENT) == []
    assert machines_of(oci).resources(DEPLOYMENT) == []


@pytest.mark.parametrize("pattern", ["*", "g*", "", "g0123' || freeformTags.value != '", "g01234567?9ab"])
def test_what_is_no_id_never_reaches_the_search(oci: OciDouble, pattern: str) -> None:
    machines = machines_of(oci)
    for look in (machines.find, machines.resources):
        with pytest.raises(UsageError):
            look(pattern)
    assert oci.calls == []


# -- resources


def test_resources_in_the_order_of_import(oci: OciDouble) -> None:
    network = oci.network()
    instance = oci.instance(subnet=network["subnets"])
    policy = oci.add("policies")["id"]
    found = machines_of(oci).resources(DEPLOYMENT)
    addresses = [place.address if place.type != RULE_TYPE else rule_address("203.0.113.7/32") for place in PLACES]
    assert [resource.address for resource in found] == addresses
    assert {resource.type: resource.import_id for resource in found} == {
        "oci_core_vcn": network["vcns"],
        "oci_core_default_security_list": network["securityLists"],
        "oci_core_internet_gateway": network["internetGateways"],
        "oci_core_route_table": network["routeTables"],
        "oci_core_subnet": network["subnets"],
        "oci_core_network_security_group": network["networkSecurityGroups"],
        RULE_TYPE: f"networkSecurityGroups/{network['networkSecurityGroups']}/securityRules/04ABEC",
        "oci_core_instance": instance,
        "oci_identity_policy": policy,
    }


def test_every_resource_of_the_module_is_looked_for() -> None:
    listed = {kind.type for kind in KINDS} | {"oci_core_instance", RULE_TYPE}
    assert {place.type for place in PLACES} == listed


def test_a_terminated_machine_is_no_resource_and_one_on_its_way_out_is(oci: OciDouble) -> None:
    oci.instance(lifecycleState="TERMINATED")
    assert machines_of(oci).resources(DEPLOYMENT) == []
    dying = oci.instance(lifecycleState="TERMINATING")
    assert [resource.id for resource in machines_of(oci).resources(DEPLOYMENT)] == [dying]


def test_a_network_that_is_going_is_none(oci: OciDouble) -> None:
    oci.add("vcns", lifecycleState="TERMINATED")
    oci.add("subnets", lifecycleState="TERMINATING", vcnId="x")
    assert machines_of(oci).resources(DEPLOYMENT) == []


def test_of_two_machines_only_the_living_one_has_an_address(oci: OciDouble) -> None:
    stopped = oci.instance(lifecycleState="STOPPED", timeCreated="2026-11-30T13:00:00.000Z")
    living = oci.instance()
    found = {resource.id: resource.address for resource in machines_of(oci).resources(DEPLOYMENT)}
    assert found == {living: "module.machine.oci_core_instance.machine", stopped: ""}


def test_of_two_networks_the_machines_own_has_the_addresses(oci: OciDouble) -> None:
    left, used = oci.network(), oci.network()
    oci.instance(subnet=used["subnets"])
    found = {resource.id: resource.address for resource in machines_of(oci).resources(DEPLOYMENT)}
    assert found[used["vcns"]] and found[used["subnets"]]
    assert not found[left["vcns"]] and not found[left["subnets"]]


def test_a_rule_that_somebody_added_has_no_address(oci: OciDouble) -> None:
    network = oci.network()
    rules = oci.rules[network["networkSecurityGroups"]]
    rules += [a_rule("AAAAAA", "0.0.0.0/0", protocol="all"), a_rule("BBBBBB", "", direction="EGRESS")]
    found = [resource for resource in machines_of(oci).resources(DEPLOYMENT) if resource.type == RULE_TYPE]
    assert [bool(resource.address) for resource in found] == [True, False, False]


def test_the_search_adds_what_lies_elsewhere(oci: OciDouble) -> None:
    here, other = {"compartmentId": COMPARTMENT}, {"compartmentId": "ocid1.compartment.oc1..other"}
    oci.searched = [
        {"resourceType": "Vcn", "identifier": "ocid1.vcn.old", "lifecycleState": "AVAILABLE", **here},
        {"resourceType": "Vcn", "identifier": "ocid1.vcn.other", "lifecycleState": "AVAILABLE", **other},
        {"resourceType": "Bucket", "identifier": "bucket", "lifecycleState": None, **here},
        {"resourceType": "Volume", "identifier": "ocid1.volume.gone", "lifecycleState": "Terminated", **here},
    ]
    found = machines_of(oci).resources(DEPLOYMENT)
    assert [(resource.type, resource.id) for resource in found] == [
        ("oci_core_vcn", "ocid1.vcn.other"),
        ("oci Bucket", "bucket"),
    ]
    (query,) = [body["query"] for body in oci.bodies if body and "query" in body]
    assert query == (
        f"query all resources where (freeformTags.key = 'gpuorch-deployment' && freeformTags.value = '{DEPLOYMENT}')"
    )


# -- terminate


def test_terminates_with_the_disk_and_again_without_an_error(oci: OciDouble) -> None:
    machines, id_ = machines_of(oci), oci.instance()
    machines.terminate(id_, DEPLOYMENT)
    assert oci.rows["instances"][0]["preserved"] == "false"
    machines.terminate(id_, DEPLOYMENT)
    machines.terminate("ocid1.instance.oc1.iad.none", DEPLOYMENT)
    assert oci.count("DELETE /instances") == 1


@pytest.mark.parametrize(("owner", "says"), [(FOREIGN, FOREIGN), (None, "not made by gpuorch")])
def test_never_terminates_a_foreign_machine(oci: OciDouble, owner: str | None, says: str) -> None:
    id_ = oci.instance(owner)
    with pytest.raises(Refused, match=says):
        machines_of(oci).terminate(id_, DEPLOYMENT)
    assert oci.count("DELETE") == 0


def test_a_machine_that_goes_between_look_and_call_is_no_error(oci: OciDouble) -> None:
    id_ = oci.instance()
    oci.fault("DELETE /instances", status=404, code="NotAuthorizedOrNotFound")
    machines_of(oci).terminate(id_, DEPLOYMENT)


# -- console


def test_console_is_captured_read_and_cleared_away(oci: OciDouble) -> None:
    id_ = oci.instance()
    oci.consoles[id_] = "boot ✓\r\ngpuorch: ready\n"
    assert machines_of(oci).console(id_) == "boot ✓\r\ngpuorch: ready\n"
    assert (oci.histories, oci.count("DELETE /instanceConsoleHistories")) == ({}, 1)


def test_console_of_a_machine_that_oci_does_not_know(oci: OciDouble) -> None:
    assert machines_of(oci).console("ocid1.instance.oc1.iad.none") == ""


@pytest.mark.parametrize("state", ["GETTING-HISTORY", "FAILED"])
def test_a_capture_that_does_not_come_is_given_up_and_cleared_away(oci: OciDouble, state: str) -> None:
    id_ = oci.instance()
    oci.consoles[id_], oci.console_state = "text", state
    assert machines_of(oci).console(id_) == ""
    assert oci.histories == {}


def test_a_capture_that_is_going_on_already(oci: OciDouble) -> None:
    oci.fault("POST /instanceConsoleHistories", status=409, code="Conflict")
    assert machines_of(oci, attempts=1).console(oci.instance()) == ""


def test_console_refused(oci: OciDouble) -> None:
    oci.fault("POST /instanceConsoleHistories", status=403, code="NotAllowed", message="No.")
    with pytest.raises(CloudCallFailed, match="CaptureConsoleHistory in us-ashburn-1: 403 NotAllowed") as said:
        machines_of(oci).console(oci.instance())
    assert "CaptureConsoleHistory" in said.value.hint


# -- objects


def test_reads_an_object(oci: OciDouble) -> None:
    oci.objects["ns", "checkpoints", "run/ready 1.json"] = '{"ready": "é"}'.encode() + b"\xff"
    machines = machines_of(oci)
    assert machines.read_object("oci://checkpoints@ns/run/ready 1.json") == '{"ready": "é"}\ufffd'
    assert machines.read_object("oci://checkpoints@ns.eu-frankfurt-1/run/ready 1.json") == '{"ready": "é"}\ufffd'
    assert machines.read_object("oci://checkpoints@ns/run/other.json") is None


def test_an_object_has_a_size_limit(oci: OciDouble) -> None:
    oci.objects["ns", "checkpoints", "big"] = b"x" * (OBJECT_LIMIT_BYTES + 1)
    with pytest.raises(CloudCallFailed, match="larger than"):
        machines_of(oci).read_object("oci://checkpoints@ns/big")


def test_a_bucket_that_is_not_there_is_said(oci: OciDouble) -> None:
    with pytest.raises(CloudCallFailed, match="GetObject in us-ashburn-1: 404 BucketNotFound"):
        machines_of(oci).read_object("oci://no-such-bucket@ns/key")


@pytest.mark.parametrize(
    "uri", ["", "oci://", "oci://bucket", "oci://bucket@ns", "oci://bucket@ns/", "s3://bucket/key"]
)
def test_what_is_no_object(oci: OciDouble, uri: str) -> None:
    with pytest.raises(UsageError):
        machines_of(oci).read_object(uri)


# -- what goes wrong


@pytest.mark.parametrize(
    ("fault", "hint"),
    [
        ({"status": 401, "code": "NotAuthenticated"}, "not subscribed to that region"),
        ({"status": 404, "code": "NotAuthorizedOrNotFound"}, "do ListInstances in the compartment"),
        ({"status": 400, "code": "SomethingNew", "message": "Words\n of OCI"}, ""),
    ],
)
def test_what_oci_refuses_is_said_with_its_fix(oci: OciDouble, fault: dict[str, Any], hint: str) -> None:
    oci.fault("GET /instances", **fault)
    with pytest.raises(CloudCallFailed, match=f"ListInstances in {REGION}: {fault['status']} {fault['code']}") as said:
        machines_of(oci).find(DEPLOYMENT)
    assert hint in said.value.hint
    assert "\n" not in said.value.message


def test_throttling_is_survived(oci: OciDouble) -> None:
    id_ = oci.instance()
    oci.fault("GET /instances", status=429, code="TooManyRequests", times=2)
    assert [machine.id for machine in machines_of(oci).find(DEPLOYMENT)] == [id_]


def test_throttling_without_end_is_said(oci: OciDouble) -> None:
    oci.fault("GET /instances", status=429, code="TooManyRequests")
    with pytest.raises(CloudCallFailed) as said:
        machines_of(oci).find(DEPLOYMENT)
    assert "try again" in said.value.hint
    assert oci.count("GET /instances") == 3


def test_a_silent_oci_has_a_time_limit(oci: OciDouble) -> None:
    oci.fault("GET /instances", delay=5)
    with pytest.raises(CloudCallFailed, match="ListInstances in us-ashburn-1") as said:
        machines_of(oci, connect_seconds=0.5, read_seconds=0.3, attempts=1).find(DEPLOYMENT)
    assert "network" in said.value.hint


def test_nobody_there() -> None:
    double = OciDouble()
    double.url = "http://127.0.0.1:9"
    with pytest.raises(CloudCallFailed, match="could not be asked") as said:
        machines_of(double, connect_seconds=0.5, attempts=1).find(DEPLOYMENT)
    assert "network" in said.value.hint


def test_no_credentials(oci: OciDouble, tmp_path: Path) -> None:
    clients = clients_of(oci, environ={"HOME": str(tmp_path)})
    with pytest.raises(CloudCallFailed, match="Could not find config file") as said:
        OciMachines(clients, COMPARTMENT).find(DEPLOYMENT)
    assert "oci setup config" in said.value.hint


def a_config(tmp_path: Path, text: str) -> dict[str, str]:
    (tmp_path / ".oci").mkdir()
    (tmp_path / ".oci" / "config").write_text(text)
    return {"HOME": str(tmp_path)}


def test_a_profile_that_is_not_there(oci: OciDouble, tmp_path: Path) -> None:
    environ = a_config(tmp_path, "[DEFAULT]\n") | {"OCI_CLI_PROFILE": "none"}
    with pytest.raises(CloudCallFailed, match="none") as said:
        OciMachines(clients_of(oci, environ=environ), COMPARTMENT).find(DEPLOYMENT)
    assert "OCI_CONFIG_FILE_PROFILE" in said.value.hint


def test_a_session_without_saying_so(oci: OciDouble, tmp_path: Path) -> None:
    environ = a_config(tmp_path, "[DEFAULT]\nsecurity_token_file=/nowhere\nregion=us-ashburn-1\n")
    with pytest.raises(CloudCallFailed) as said:
        OciMachines(clients_of(oci, environ=environ), COMPARTMENT).find(DEPLOYMENT)
    assert "OCI_AUTH=SecurityToken" in said.value.hint
    environ["OCI_AUTH"] = "SecurityToken"
    with pytest.raises(CloudCallFailed, match="has no session") as said:
        OciMachines(clients_of(oci, environ=environ), COMPARTMENT).find(DEPLOYMENT)
    assert "oci session authenticate" in said.value.hint


def test_a_session(oci: OciDouble, tmp_path: Path) -> None:
    from tests.clouds.build_oci import key_pem

    (tmp_path / "key.pem").write_text(key_pem())
    (tmp_path / "token").write_text("abc.def.ghi\n")
    lines = f"[DEFAULT]\nkey_file={tmp_path}/key.pem\nsecurity_token_file={tmp_path}/token\nregion={REGION}\n"
    environ = a_config(tmp_path, lines) | {"OCI_CLI_AUTH": "security_token"}
    id_ = oci.instance()
    machines = OciMachines(clients_of(oci, environ=environ), COMPARTMENT)
    assert [machine.id for machine in machines.find(DEPLOYMENT)] == [id_]
    assert 'keyId="ST$abc.def.ghi"' in oci.authorizations[0]


def test_a_key_that_is_none(oci: OciDouble) -> None:
    environ = {
        "OCI_TENANCY_OCID": "ocid1.tenancy.oc1..aaaaaaaatenancy",
        "OCI_USER_OCID": "ocid1.user.oc1..aaaaaaaauser",
        "OCI_FINGERPRINT": "20:3b:97:13:55:1c:5b:0d:d3:37:d8:50:4e:c5:3a:34",
        "OCI_PRIVATE_KEY": "no key",
    }
    clients = Clients(REGION, environ=environ, endpoint=oci.url)
    with pytest.raises(CloudCallFailed) as said:
        OciMachines(clients, COMPARTMENT).find(DEPLOYMENT)
    assert "key" in said.value.message + said.value.hint
