"""Compute through OCI's own API: what carries a deployment's tag, ending a machine, its console, small objects."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from datetime import UTC
from typing import Any, Final

from orchestrator.clouds.contract import Machines
from orchestrator.clouds.oci.calls import Clients, every, is_gone, oci_call, sdk
from orchestrator.clouds.oci.check import CHECKPOINT
from orchestrator.clouds.oci.tagged import TAG, TaggedResources, tags_of
from orchestrator.errors import CloudCallFailed, Refused, UsageError
from orchestrator.model.machine import FoundResource, Machine, MachineState

__all__ = ["OBJECT_LIMIT_BYTES", "OciMachines", "open_machines"]

OBJECT_LIMIT_BYTES: Final = 1 << 20
# A capture takes some seconds on a virtual machine, and may take longer than anybody waits on bare metal.
CONSOLE_SECONDS: Final = 30.0
_CONSOLE_BYTES: Final = 1 << 20  # the most that OCI keeps

# Instance.lifecycleState in OCI's API reference.
_STATES: Final = {
    "MOVING": MachineState.RUNNING,
    "PROVISIONING": MachineState.PENDING,
    "RUNNING": MachineState.RUNNING,
    "STARTING": MachineState.PENDING,
    "STOPPING": MachineState.STOPPING,
    "STOPPED": MachineState.STOPPED,
    "CREATING_IMAGE": MachineState.RUNNING,
    "TERMINATING": MachineState.TERMINATING,
    "TERMINATED": MachineState.GONE,
}
_ENDING: Final = (MachineState.GONE, MachineState.TERMINATING)
_DEPLOYMENT_ID = re.compile(r"[a-z][a-z0-9]{7,31}")


def open_machines(region: str, settings: Mapping[str, str]) -> Machines:
    """Compute in one region, with the credentials that Terraform's provider uses; no call is made yet.

    Raises :class:`UsageError` where the settings name no compartment.
    """
    compartment = settings.get("compartment_id", "")
    if not compartment:
        raise UsageError(
            "OCI cannot be asked without a compartment",
            hint="set cloud_settings.oci.compartment_id, or OCI_COMPARTMENT_ID, to its OCID",
        )
    return OciMachines(Clients(region), compartment, settings.get("home_region", ""))


class OciMachines:
    """:class:`~orchestrator.clouds.contract.Machines` for OCI. A call lasts about a minute at most."""

    def __init__(
        self,
        clients: Clients,
        compartment: str,
        home_region: str = "",
        *,
        console_seconds: float = CONSOLE_SECONDS,
    ) -> None:
        self._clients = clients
        self._region = clients.region
        self._compartment = compartment
        self._home_region = home_region
        self._console_seconds = console_seconds

    def find(self, deployment_id: str) -> list[Machine]:
        """Machines of the deployment, oldest first; OCI shows terminated ones, as ``GONE``, for a while."""
        machines = []
        for row in self._instances(deployment_id):
            state = _state(row)
            public, private = ("", "") if state in _ENDING else self._addresses(row)
            launched = row.time_created
            machines.append(
                Machine(
                    id=row.id,
                    deployment_id=deployment_id,
                    region=self._region,
                    zone=row.availability_domain or "",
                    instance_type=row.shape or "",
                    market="spot" if row.preemptible_instance_config else "on-demand",
                    state=state,
                    address=public,
                    private_address=private,
                    launched_at=launched.astimezone(UTC) if launched else None,
                )
            )
        return sorted(machines, key=lambda machine: (machine.launched_at is not None, machine.launched_at, machine.id))

    def resources(self, deployment_id: str) -> list[FoundResource]:
        """Everything of the deployment that still exists, in the order of import.

        At most one resource of a type has an address: the one that belongs to the living machine. What is left over
        (a second machine of a cut-off run, say) has none.
        """
        rows = [row for row in self._instances(deployment_id) if _state(row) is not MachineState.GONE]
        # Living ones first, the newest first: that one is the deployment's machine.
        rows.sort(key=lambda row: row.id)
        rows.sort(key=lambda row: row.time_created, reverse=True)
        rows.sort(key=lambda row: _state(row) in (*_ENDING, MachineState.STOPPING, MachineState.STOPPED))
        vcn = self._vcn_of(rows[0]) if rows else ""
        found = TaggedResources(self._clients, self._compartment, self._home_region)
        return found.of(deployment_id, rows, vcn)

    def terminate(self, machine_id: str, deployment_id: str) -> None:
        """Ask OCI to terminate the instance and its disk; :class:`Refused` when it has not the deployment's tag."""
        _check_id(deployment_id)
        oci = sdk()
        with oci_call("GetInstance", self._region):
            try:
                row = self._clients.client("compute").get_instance(machine_id).data
            except oci.exceptions.ServiceError as error:
                if is_gone(error):
                    return
                raise
        if _state(row) in _ENDING:
            return
        owner = tags_of(row).get(TAG, "")
        if owner != deployment_id:
            whose = f"belongs to deployment {owner}" if owner else "was not made by gpuorch"
            raise Refused(
                f"{machine_id} in {self._region} {whose}, not to {deployment_id}: it is left alone",
                hint=f"if it is to end, end it by hand: oci compute instance terminate --instance-id {machine_id}",
            )
        with oci_call("TerminateInstance", self._region):
            try:
                self._clients.client("compute").terminate_instance(machine_id, preserve_boot_volume=False)
            except oci.exceptions.ServiceError as error:
                if not is_gone(error):
                    raise

    def console(self, machine_id: str) -> str:
        """Up to 1 MiB of the serial console; ``""`` for a machine that OCI does not know (any more), and where OCI has
        not captured it in time.

        OCI captures a console on demand and keeps the captures; each is deleted after it is read.
        """
        oci = sdk()
        with oci_call("CaptureConsoleHistory", self._region):
            compute = self._clients.client("compute")
            details = oci.core.models.CaptureConsoleHistoryDetails(instance_id=machine_id)
            try:
                history = compute.capture_console_history(details).data
            except oci.exceptions.ServiceError as error:
                # 409: another capture is going on, or the machine is in no state for one.
                if is_gone(error) or error.status == 409:
                    return ""
                raise
            try:
                if not self._captured(compute, history):
                    return ""
                answer = compute.get_console_history_content(history.id, offset=0, length=_CONSOLE_BYTES)
                return _text(answer.data)
            finally:
                compute.delete_console_history(history.id)

    def read_object(self, uri: str) -> str | None:
        """The object at ``oci://bucket@namespace[.region]/name`` as text, at most 1 MiB of UTF-8 (bad bytes become
        U+FFFD). Without a region it lies in the machines' own."""
        match = CHECKPOINT.fullmatch(uri)
        if match is None or not match["name"]:
            raise UsageError(f"{uri!r} is no object of OCI", hint="write it as oci://BUCKET@NAMESPACE/NAME")
        oci = sdk()
        region = match["region"] or self._region
        with oci_call("GetObject", region):
            try:
                objects = self._clients.client("objects", region)
                answer = objects.get_object(match["namespace"], match["bucket"], match["name"])
            except oci.exceptions.ServiceError as error:
                if error.code == "ObjectNotFound":
                    return None
                raise
            content = b""
            for part in answer.data.raw.stream(1 << 16, decode_content=False):
                content += part
                if len(content) > OBJECT_LIMIT_BYTES:
                    break
            answer.data.close()
        if len(content) > OBJECT_LIMIT_BYTES:
            raise CloudCallFailed(
                f"{uri} is larger than {OBJECT_LIMIT_BYTES} bytes, so it is no report of a machine",
                hint="check that the checkpoint prefix is used by gpuorch only",
            )
        return content.decode("utf-8", "replace")

    def _instances(self, deployment_id: str) -> list[Any]:
        """OCI's rows of the deployment's machines. The list takes no tags, but is up to date; the search is not."""
        _check_id(deployment_id)
        with oci_call("ListInstances", self._region):
            rows = every(self._clients.client("compute").list_instances, self._compartment)
        return [row for row in rows if tags_of(row).get(TAG) == deployment_id]

    def _attachments(self, instance: Any) -> list[Any]:
        with oci_call("ListVnicAttachments", self._region):
            compute = self._clients.client("compute")
            rows = every(compute.list_vnic_attachments, instance.compartment_id, instance_id=instance.id)
        return [row for row in rows if row.lifecycle_state == "ATTACHED" and row.vnic_id and row.subnet_id]

    def _addresses(self, instance: Any) -> tuple[str, str]:
        """Public and private address of the instance's first interface."""
        oci = sdk()
        for attachment in self._attachments(instance):
            with oci_call("GetVnic", self._region):
                try:
                    vnic = self._clients.client("network").get_vnic(attachment.vnic_id).data
                except oci.exceptions.ServiceError as error:
                    if is_gone(error):  # it went since it was listed
                        continue
                    raise
            if vnic.is_primary:
                return vnic.public_ip or "", vnic.private_ip or ""
        return "", ""

    def _vcn_of(self, instance: Any) -> str:
        """The network that the instance is in, ``""`` where that cannot be told."""
        oci = sdk()
        for attachment in self._attachments(instance):
            with oci_call("GetSubnet", self._region):
                try:
                    return str(self._clients.client("network").get_subnet(attachment.subnet_id).data.vcn_id)
                except oci.exceptions.ServiceError as error:
                    if not is_gone(error):
                        raise
        return ""

    def _captured(self, compute: Any, history: Any) -> bool:
        end = time.monotonic() + self._console_seconds
        state = history.lifecycle_state
        while state not in ("SUCCEEDED", "FAILED") and time.monotonic() < end:
            time.sleep(min(1.0, self._console_seconds / 10))
            state = compute.get_console_history(history.id).data.lifecycle_state
        return bool(state == "SUCCEEDED")


def _check_id(deployment_id: str) -> None:
    """The search takes the id as a part of its query."""
    if not _DEPLOYMENT_ID.fullmatch(deployment_id):
        raise UsageError(
            f"{deployment_id!r} is no id of a deployment", hint="ids are 8 to 32 lower-case letters and digits"
        )


def _state(row: Any) -> MachineState:
    # A state that OCI adds one day is not "gone": the machine may cost money.
    return _STATES.get(row.lifecycle_state, MachineState.PENDING)


def _text(data: Any) -> str:
    return data.decode("utf-8", "replace") if isinstance(data, bytes) else str(data)
