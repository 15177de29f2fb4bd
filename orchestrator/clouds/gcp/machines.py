"""Compute Engine through Google's own API: what carries a deployment's label or name, ending a machine, its console,
small objects of Cloud Storage."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote

from orchestrator.clouds.contract import Machines
from orchestrator.clouds.gcp.addresses import LABEL, resource_name
from orchestrator.clouds.gcp.calls import Clients, Limits, google_call, quietly, refusal
from orchestrator.clouds.gcp.machine_types import offered_type
from orchestrator.clouds.gcp.marked import MarkedResources, path_of
from orchestrator.errors import CloudCallFailed, Refused, UsageError
from orchestrator.model.machine import FoundResource, Machine, MachineState

__all__ = ["GcpMachines", "open_machines"]

OBJECT_LIMIT_BYTES: Final = 1 << 20

# cloud.google.com/compute/docs/instances/instance-lifecycle
_STATES: Final = {
    "PROVISIONING": MachineState.PENDING,
    "STAGING": MachineState.PENDING,
    "RUNNING": MachineState.RUNNING,
    "REPAIRING": MachineState.PENDING,
    "PENDING_STOP": MachineState.STOPPING,
    "STOPPING": MachineState.STOPPING,
    "SUSPENDING": MachineState.STOPPING,
    "SUSPENDED": MachineState.STOPPED,
    "STOPPED": MachineState.STOPPED,
    "TERMINATED": MachineState.STOPPED,
    "DEPROVISIONING": MachineState.TERMINATING,
}
# Operations that say why a machine is no longer there, the most telling first: those that Google itself begins, then
# those of people. cloud.google.com/compute/docs/logging/audit-logging
_ENDINGS: Final = (
    "compute.instances.preempted",
    "compute.instances.hostError",
    "compute.instances.terminateOnHostMaintenance",
    "compute.instances.guestTerminate",
    "delete",
)
_DEPLOYMENT_ID = re.compile(r"[a-z][a-z0-9]{7,31}")
_MACHINE_ID = re.compile(r"projects/([^/]+)/zones/([^/]+)/instances/([^/]+)")
_OBJECT_URI = re.compile(r"gs://([a-z0-9][a-z0-9._-]{1,220}[a-z0-9])/(.+)")


def open_machines(region: str, project: str = "") -> Machines:
    """Compute Engine in one region of a project, with Google's own credential chain; no call is made yet."""
    return GcpMachines(region, project)


class GcpMachines:
    """:class:`~orchestrator.clouds.contract.Machines` for Google Cloud. A call lasts about a minute at most."""

    def __init__(self, region: str, project: str = "", limits: Limits | None = None) -> None:
        self._region = region
        self._clients = Clients(project, limits)

    def find(self, deployment_id: str) -> list[Machine]:
        """Machines of the deployment in the region, oldest first.

        Google shows a deleted machine only by the operations on it, for some days: where nothing is left, those tell
        what was there and why it ended.
        """
        found = [_machine(row, deployment_id, self._region) for row in self._instances(deployment_id)]
        found = found or self._gone(deployment_id)
        return sorted(found, key=lambda machine: (machine.launched_at is not None, machine.launched_at, machine.id))

    def resources(self, deployment_id: str) -> list[FoundResource]:
        """Everything of the deployment that still exists, in the order of import.

        At most one resource of a type has an address. What is left over (a disk that stayed behind) has none.
        """
        instances = self._instances(deployment_id)
        return MarkedResources(self._clients, self._region).of(deployment_id, instances)

    def terminate(self, machine_id: str, deployment_id: str) -> None:
        """Ask Google to delete the instance. :class:`Refused` when it is not labelled as the deployment's."""
        _check_id(deployment_id)
        project, zone, name = _parts(machine_id)
        row = self._instance(project, zone, name)
        if row is None:
            return
        owner = dict(row.labels).get(LABEL, "")
        if owner != deployment_id:
            whose = f"belongs to deployment {owner}" if owner else "was not made by gpuorch"
            raise Refused(
                f"{name} in {zone} {whose}, not to {deployment_id}: it is left alone",
                hint=f"if it really is to end, end it by hand: gcloud compute instances delete {name} --zone={zone}",
            )
        with google_call("compute.instances.delete", project):
            self._unless_gone(
                lambda: self._clients.compute("Instances").delete_unary(
                    project=project, zone=zone, instance=name, **self._clients.options()
                )
            )

    def console(self, machine_id: str) -> str:
        """Up to 1 MiB of the serial console; ``""`` also for a machine that Google does not know (any more)."""
        project, zone, name = _parts(machine_id)
        with google_call("compute.instances.getSerialPortOutput", project):
            answer = self._unless_gone(
                lambda: self._clients.compute("Instances").get_serial_port_output(
                    project=project, zone=zone, instance=name, **self._clients.options()
                )
            )
        return "" if answer is None else str(answer.contents)

    def read_object(self, uri: str) -> str | None:
        """The object at ``gs://bucket/name`` as text, at most 1 MiB of UTF-8 (bad bytes become U+FFFD)."""
        match = _OBJECT_URI.fullmatch(uri)
        if match is None:
            raise UsageError(f"{uri!r} is no Cloud Storage object", hint="write it as gs://BUCKET/NAME")
        bucket, name = match.groups()
        with google_call("storage.objects.get", bucket):
            answer = self._clients.request("storage", f"b/{bucket}/o/{quote(name, safe='')}?alt=media")
            content: bytes = answer.raw.read(OBJECT_LIMIT_BYTES + 1, decode_content=True)
            answer.close()
        if answer.status_code == 404 and b"bucket does not exist" not in content:
            return None
        if answer.status_code != 200:
            raise refusal("storage.objects.get", bucket, answer.status_code, content[:300].decode("utf-8", "replace"))
        if len(content) > OBJECT_LIMIT_BYTES:
            raise CloudCallFailed(
                f"{uri} is larger than {OBJECT_LIMIT_BYTES} bytes, so it is no report of a machine",
                hint="check that the checkpoint prefix is used by gpuorch only",
            )
        return content.decode("utf-8", "replace")

    # ---- private

    def _instances(self, deployment_id: str) -> list[Any]:
        """Google's rows of the deployment's machines in the region."""
        _check_id(deployment_id)
        project = self._project()
        with google_call("compute.instances.list", project):
            request = {"project": project, "filter": f'labels.{LABEL}="{deployment_id}"'}
            pages = self._clients.compute("Instances").aggregated_list(request=request, **self._clients.options())
            return [row for place, page in pages if _in_region(place, self._region) for row in page.instances]

    def _instance(self, project: str, zone: str, name: str) -> Any:
        with google_call("compute.instances.get", project):
            return self._unless_gone(
                lambda: self._clients.compute("Instances").get(
                    project=project, zone=zone, instance=name, **self._clients.options()
                )
            )

    def _gone(self, deployment_id: str) -> list[Machine]:
        """The last machine of the deployment, told by what was done to it; nothing where none ever ran."""
        project, name = self._project(), resource_name(deployment_id)
        with google_call("compute.globalOperations.list", project):
            request = {"project": project, "filter": f'targetLink eq ".*/instances/{name}"'}
            pages = self._clients.compute("GlobalOperations").aggregated_list(
                request=request, **self._clients.options()
            )
            found = [row for place, page in pages if _in_region(place, self._region) for row in page.operations]
        made = [row for row in found if row.operation_type == "insert" and not row.error.errors]
        if not made:
            return []
        last = max(made, key=lambda row: str(row.insert_time))
        after = [row for row in found if row.target_link == last.target_link and row.insert_time >= last.insert_time]
        ending = next((row for kind in _ENDINGS for row in after if row.operation_type == kind), None)
        return [
            Machine(
                id=path_of(last.target_link),
                deployment_id=deployment_id,
                region=self._region,
                zone=last.zone.rpartition("/")[2],
                state=MachineState.GONE,
                state_reason=_why(ending),
                launched_at=_time(last.insert_time),
            )
        ]

    def _project(self) -> str:
        with google_call("the credentials' project", "Google Cloud"):
            return self._clients.project

    def _unless_gone(self, call: Any) -> Any:
        with quietly():
            from google.api_core.exceptions import NotFound

        try:
            return call()
        except NotFound:
            return None


def _check_id(deployment_id: str) -> None:
    """It stands in filters, where other signs would find other people's machines."""
    if not _DEPLOYMENT_ID.fullmatch(deployment_id):
        raise UsageError(
            f"{deployment_id!r} is no id of a deployment", hint="ids are 8 to 32 lower-case letters and digits"
        )


def _parts(machine_id: str) -> tuple[str, str, str]:
    match = _MACHINE_ID.fullmatch(machine_id)
    if match is None:
        raise UsageError(
            f"{machine_id!r} is no Google Cloud machine", hint="ids are projects/PROJECT/zones/ZONE/instances/NAME"
        )
    project, zone, name = match.groups()
    return project, zone, name


def _in_region(place: str, region: str) -> bool:
    """Whether ``zones/us-central1-a`` lies in the region; an aggregated list names every zone and region there is."""
    kind, _, name = place.partition("/")
    return kind == "zones" and name.rpartition("-")[0] == region


def _machine(row: Any, deployment_id: str, region: str) -> Machine:
    interface = next(iter(row.network_interfaces), None)
    addresses: Iterable[str] = () if interface is None else (each.nat_i_p for each in interface.access_configs)
    name = row.machine_type.rpartition("/")[2]
    gpus = list(_gpus(row))
    kind, count = gpus[0] if gpus else ("", 0)
    return Machine(
        id=path_of(row.self_link),
        deployment_id=deployment_id,
        region=region,
        zone=row.zone.rpartition("/")[2],
        instance_type=offered_type(name, kind, count),
        market="spot" if row.scheduling.provisioning_model == "SPOT" or row.scheduling.preemptible else "on-demand",
        # A state that Google adds one day is not "gone": the machine may cost money.
        state=_STATES.get(row.status, MachineState.PENDING),
        state_reason=row.status_message or ("" if row.status == "RUNNING" else row.status),
        address=next((address for address in addresses if address), ""),
        private_address="" if interface is None else interface.network_i_p,
        launched_at=_time(row.creation_timestamp),
    )


def _gpus(row: Any) -> Iterator[tuple[str, int]]:
    for each in row.guest_accelerators:
        yield each.accelerator_type.rpartition("/")[2], each.accelerator_count


def _why(operation: Any) -> str:
    if operation is None:
        return "it is no longer there"
    said = operation.status_message or "by a call"
    return f"{operation.operation_type}: {said}"


def _time(text: str) -> datetime | None:
    return datetime.fromisoformat(text).astimezone(UTC) if text else None
