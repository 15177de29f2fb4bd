"""GcpMachines against the loopback Google: what it finds, what it leaves alone, what it says when Google says no."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from orchestrator.clouds.contract import Machines
from orchestrator.clouds.gcp.calls import Limits
from orchestrator.clouds.gcp.machines import OBJECT_LIMIT_BYTES, GcpMachines, open_machines
from orchestrator.errors import CloudCallFailed, NotSetUp, Refused, UsageError
from orchestrator.model.machine import MachineState
from tests.clouds.build_gcp import (
    DEPLOYMENT,
    FOREIGN,
    PROJECT,
    REGION,
    ZONE,
    GoogleDouble,
    an_instance,
    an_operation,
    found_by,
)

MACHINE = f"projects/{PROJECT}/zones/{ZONE}/instances/gpuorch-{DEPLOYMENT}"
INSTANCES = f"compute/v1/projects/{PROJECT}/aggregated/instances"
IMPATIENT = Limits(answer_seconds=0.3, call_seconds=0.3)


@pytest.fixture
def google(monkeypatch: pytest.MonkeyPatch) -> Iterator[GoogleDouble]:
    """An empty double that Google's libraries find by the environment."""
    with GoogleDouble() as double:
        yield found_by(double, monkeypatch)


@pytest.fixture
def machines(google: GoogleDouble) -> Machines:
    return open_machines(REGION)


def test_opening_makes_no_call(google: GoogleDouble) -> None:
    open_machines(REGION)
    assert google.calls == []


def test_finds_a_machine_with_all_that_google_tells(google: GoogleDouble, machines: Machines) -> None:
    google.instances = [an_instance()]
    (machine,) = machines.find(DEPLOYMENT)
    assert (machine.id, machine.deployment_id, machine.region, machine.zone) == (MACHINE, DEPLOYMENT, REGION, ZONE)
    assert (machine.instance_type, machine.market, machine.state) == ("a2-highgpu-1g", "spot", MachineState.RUNNING)
    assert (machine.address, machine.private_address) == ("203.0.113.9", "10.86.0.2")
    assert machine.launched_at == datetime(2026, 11, 30, 12, tzinfo=UTC)


def test_attached_accelerators_are_written_as_in_the_price_book(google: GoogleDouble, machines: Machines) -> None:
    google.instances = [
        an_instance(
            machineType="https://x/compute/v1/projects/p/zones/z/machineTypes/n1-standard-8",
            guestAccelerators=[
                {"acceleratorType": "https://x/acceleratorTypes/nvidia-tesla-t4", "acceleratorCount": 2}
            ],
            scheduling={"provisioningModel": "STANDARD"},
            networkInterfaces=[{"networkIP": "10.0.0.5"}],
        )
    ]
    (machine,) = machines.find(DEPLOYMENT)
    assert (machine.instance_type, machine.market, machine.address) == ("n1-standard-8+T4x2", "on-demand", "")


def test_foreign_machines_and_other_regions_are_not_found(google: GoogleDouble, machines: Machines) -> None:
    google.instances = [
        an_instance(FOREIGN),
        an_instance(name="mine", zone="us-central1-f"),
        an_instance(zone="us-central12-a", name="elsewhere"),
        an_instance(zone="europe-west4-b"),
        an_instance(),
    ]
    assert [machine.zone for machine in machines.find(DEPLOYMENT)] == ["us-central1-a", "us-central1-f"]


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ("STAGING", MachineState.PENDING),
        ("STOPPING", MachineState.STOPPING),
        ("TERMINATED", MachineState.STOPPED),
        ("A_NEW_WORD", MachineState.PENDING),
    ],
)
def test_states(google: GoogleDouble, machines: Machines, status: str, state: MachineState) -> None:
    google.instances = [an_instance(status=status)]
    (machine,) = machines.find(DEPLOYMENT)
    assert (machine.state, machine.state_reason) == (state, status)
    assert machine.state.billed


def test_a_deleted_machine_is_told_by_its_operations(google: GoogleDouble, machines: Machines) -> None:
    google.operations = [
        an_operation("insert", "2026-11-30T03:00:00.000-08:00", error={"errors": [{"code": "ZONE_RESOURCE_POOL"}]}),
        an_operation("insert", "2026-11-30T04:00:00.000-08:00"),
        an_operation("delete", "2026-11-30T05:00:30.000-08:00"),
        an_operation(
            "compute.instances.preempted", "2026-11-30T05:00:00.000-08:00", statusMessage="Instance was preempted."
        ),
        an_operation("insert", "2026-11-30T05:00:00.000-08:00", deployment=FOREIGN),
    ]
    (machine,) = machines.find(DEPLOYMENT)
    assert (machine.id, machine.state, machine.zone) == (MACHINE, MachineState.GONE, ZONE)
    assert machine.state_reason == "compute.instances.preempted: Instance was preempted."
    assert machine.launched_at == datetime(2026, 11, 30, 12, tzinfo=UTC)


def test_a_launch_that_failed_was_no_machine(google: GoogleDouble, machines: Machines) -> None:
    google.operations = [an_operation("insert", "2026-11-30T03:00:00Z", error={"errors": [{"code": "STOCKOUT"}]})]
    assert machines.find(DEPLOYMENT) == []


def test_ends_a_machine_once(google: GoogleDouble, machines: Machines) -> None:
    google.instances = [an_instance()]
    machines.terminate(MACHINE, DEPLOYMENT)
    assert google.instances == []
    machines.terminate(MACHINE, DEPLOYMENT)
    assert [call.partition(" ")[0] for call in google.calls] == ["GET", "DELETE", "GET"]


def test_never_ends_what_is_not_the_deployments(google: GoogleDouble, machines: Machines) -> None:
    google.instances = [an_instance(FOREIGN, name="theirs"), an_instance(name="nobodys", labels={})]
    with pytest.raises(Refused, match=f"theirs in {ZONE} belongs to deployment {FOREIGN}"):
        machines.terminate(f"projects/{PROJECT}/zones/{ZONE}/instances/theirs", DEPLOYMENT)
    with pytest.raises(Refused, match="was not made by gpuorch"):
        machines.terminate(f"projects/{PROJECT}/zones/{ZONE}/instances/nobodys", DEPLOYMENT)
    assert len(google.instances) == 2
    assert not any(call.startswith("DELETE") for call in google.calls)


def test_console(google: GoogleDouble, machines: Machines) -> None:
    assert machines.console(MACHINE) == ""
    google.instances = [an_instance()]
    assert machines.console(MACHINE) == "line one\nline two\n"


def test_objects(google: GoogleDouble, machines: Machines) -> None:
    google.objects = {"gs://b-1/runs/a b/status.json": b'{"step": 1}', "gs://b-1/bad": b"\xff!"}
    assert machines.read_object("gs://b-1/runs/a b/status.json") == '{"step": 1}'
    assert machines.read_object("gs://b-1/bad") == "�!"
    assert machines.read_object("gs://b-1/absent") is None
    with pytest.raises(CloudCallFailed, match=r"storage\.objects\.get in b-2: 404 .*bucket does not exist"):
        machines.read_object("gs://b-2/x")
    google.objects["gs://b-1/large"] = b"x" * (OBJECT_LIMIT_BYTES + 1)
    with pytest.raises(CloudCallFailed, match="is larger than"):
        machines.read_object("gs://b-1/large")


@pytest.mark.parametrize("uri", ["s3://b/x", "gs://b", "gs:///x", "x"])
def test_what_is_no_object_is_refused(machines: Machines, uri: str) -> None:
    with pytest.raises(UsageError):
        machines.read_object(uri)


@pytest.mark.parametrize("id_", ['x" OR labels.a="b', "*", "", "G123456789"])
def test_what_is_no_id_reaches_no_filter(google: GoogleDouble, machines: Machines, id_: str) -> None:
    for call in (machines.find, machines.resources):
        with pytest.raises(UsageError, match="no id of a deployment"):
            call(id_)
    with pytest.raises(UsageError, match="no Google Cloud machine"):
        machines.console("i-0123")
    assert google.calls == []


@pytest.mark.parametrize(
    ("status", "message", "says", "hint"),
    [
        (401, "Request had invalid authentication credentials.", "does not accept the credentials", "gcloud auth"),
        (
            403,
            f"Required 'compute.instances.list' permission for 'projects/{PROJECT}'",
            "Required 'compute.instances.list'",
            "docs/clouds/gcp.md",
        ),
        (
            403,
            "Compute Engine API has not been used in project 1 before or it is disabled.",
            "has not been used",
            f"gcloud services enable compute.googleapis.com --project={PROJECT}",
        ),
        (404, f"The resource 'projects/{PROJECT}' was not found", "was not found", "gcloud projects describe"),
        (429, "Quota exceeded for quota metric 'Queries'", "Quota exceeded", ""),
        (500, "Internal error.", "500 Internal error.", ""),
    ],
)
def test_refusals_are_one_sentence_with_its_fix(
    google: GoogleDouble, status: int, message: str, says: str, hint: str
) -> None:
    google.refuse = {INSTANCES: (status, message)}
    with pytest.raises(CloudCallFailed) as caught:
        GcpMachines(REGION, limits=IMPATIENT).find(DEPLOYMENT)
    assert says in caught.value.message
    assert "\n" not in caught.value.message
    assert hint in caught.value.hint


def test_a_cloud_that_does_not_answer_is_left_in_time(google: GoogleDouble) -> None:
    google.delay = 1.5
    with pytest.raises(CloudCallFailed, match=r"could not be asked for compute\.instances\.list"):
        GcpMachines(REGION, limits=IMPATIENT).find(DEPLOYMENT)


def test_passing_faults_are_outlasted(google: GoogleDouble, machines: Machines) -> None:
    google.instances = [an_instance()]
    answer, said = google.answer, [503, 429]

    def faulty(method: str, target: str, body: dict[str, object], authorization: str) -> tuple[int, bytes]:
        if said:
            return said.pop(), b'{"error": {"message": "later"}}'
        return answer(method, target, body, authorization)

    google.answer = faulty  # type: ignore[method-assign]
    assert len(machines.find(DEPLOYMENT)) == 1


def test_without_credentials_or_project_it_says_so(
    google: GoogleDouble, monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    monkeypatch.delenv("GOOGLE_CLOUD_PROJECT")
    with pytest.raises(NotSetUp, match="in which Google Cloud project"):
        open_machines(REGION).find(DEPLOYMENT)
    monkeypatch.delenv("GOOGLE_OAUTH_ACCESS_TOKEN")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", f"{tmp_path}/none.json")
    with pytest.raises(CloudCallFailed, match="there are no Google Cloud credentials") as caught:
        open_machines(REGION, PROJECT).find(DEPLOYMENT)
    assert "gcloud auth application-default login" in caught.value.hint
