"""Virtual machines through Azure's own API: what carries a deployment's tag, ending one, its console, small blobs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC
from typing import Any, Final

from orchestrator.clouds.azure.addresses import TAG, resource_name
from orchestrator.clouds.azure.calls import Connection, azure_call
from orchestrator.clouds.azure.tagged import NETWORK_API, group_of, resources_of
from orchestrator.clouds.contract import Machines
from orchestrator.errors import CloudCallFailed, Refused, UsageError
from orchestrator.model.machine import FoundResource, Machine, MachineState

__all__ = ["OBJECT_LIMIT_BYTES", "AzureMachines", "open_machines"]

OBJECT_LIMIT_BYTES: Final = 1 << 20
_CONSOLE_LIMIT_BYTES: Final = 8 << 20
_CONSOLE_KEPT: Final = 256 << 10

# learn.microsoft.com/azure/virtual-machines/states-billing
_STATES: Final = {
    "creating": MachineState.PENDING,
    "starting": MachineState.PENDING,
    "running": MachineState.RUNNING,
    "stopping": MachineState.STOPPING,
    "stopped": MachineState.STOPPED,
    "deallocating": MachineState.STOPPING,
    "deallocated": MachineState.STOPPED,
}
_DEPLOYMENT_ID = re.compile(r"[a-z][a-z0-9]{7,31}")
_MACHINE_ID = re.compile(
    r"/subscriptions/(?P<subscription>[^/]+)/resourceGroups/(?P<group>[^/]+)"
    r"/providers/Microsoft\.Compute/virtualMachines/(?P<name>[^/]+)",
    re.IGNORECASE,
)
_BLOB = re.compile(r"https://[a-z0-9]{3,24}\.blob\.[a-z0-9.]+/[^/?#]+/[^?#]+")


def open_machines(region: str, subscription: str) -> Machines:
    """Azure in one region and subscription; no call is made yet, and nobody is signed in."""
    return AzureMachines(region, Connection(subscription))


class AzureMachines:
    """:class:`~orchestrator.clouds.contract.Machines` for Azure."""

    def __init__(self, region: str, connection: Connection) -> None:
        self._region = region
        self._azure = connection

    def find(self, deployment_id: str) -> list[Machine]:
        """Machines of the deployment, oldest first. Azure shows none that is gone."""
        _check_id(deployment_id)
        if group_of(self._azure, deployment_id, self._region) is None:
            return []
        machines = [self._machine(row, deployment_id) for row in self._rows(deployment_id)]
        found = [machine for machine in machines if machine is not None]
        return sorted(found, key=lambda machine: (machine.launched_at is not None, machine.launched_at, machine.id))

    def resources(self, deployment_id: str) -> list[FoundResource]:
        """Everything of the deployment that still exists, in the order of import."""
        _check_id(deployment_id)
        return resources_of(self._azure, deployment_id, self._region)

    def terminate(self, machine_id: str, deployment_id: str) -> None:
        """Ask Azure to delete the machine. :class:`Refused` when it is not tagged as the deployment's."""
        _check_id(deployment_id)
        group, name = self._parts(machine_id)
        row = self._get(group, name)
        if row is None:
            return
        owner = (row.tags or {}).get(TAG, "")
        if owner != deployment_id:
            whose = f"belongs to deployment {owner}" if owner else "was not made by gpuorch"
            raise Refused(
                f"{machine_id} {whose}, not to {deployment_id}: it is left alone",
                hint=f"if it really is to end, end it by hand: az vm delete --ids {machine_id}",
            )
        from azure.core.exceptions import ResourceNotFoundError

        with azure_call("Microsoft.Compute/virtualMachines/delete"):
            try:
                # Not waited for: whoever wants to know looks again.
                self._azure.compute.virtual_machines.begin_delete(group, name, force_deletion=True, polling=False)
            except ResourceNotFoundError:
                return

    def console(self, machine_id: str) -> str:
        """The end of the serial console's log; ``""`` also for a machine that Azure does not know (any more)."""
        from azure.core.exceptions import HttpResponseError

        group, name = self._parts(machine_id)
        with azure_call("Microsoft.Compute/virtualMachines/retrieveBootDiagnosticsData"):
            try:
                found = self._azure.compute.virtual_machines.retrieve_boot_diagnostics_data(group, name)
            except HttpResponseError as error:
                # 404: no such machine; 409: it is being made or deleted, and has no log yet or no longer.
                if error.status_code in (404, 409):
                    return ""
                raise
        uri = found.serial_console_log_blob_uri
        content = self._azure.blob(uri, _CONSOLE_LIMIT_BYTES, signed=False) if uri else None
        return (content or b"")[-_CONSOLE_KEPT:].decode("utf-8", "replace")

    def read_object(self, uri: str) -> str | None:
        """The blob at an ``https://ACCOUNT.blob…`` address as text, at most 1 MiB of UTF-8 (bad bytes: U+FFFD)."""
        if not _BLOB.fullmatch(uri):
            raise UsageError(f"{uri!r} is no Azure blob", hint="https://ACCOUNT.blob.core.windows.net/CONTAINER/NAME")
        content = self._azure.blob(uri, OBJECT_LIMIT_BYTES)
        if content is None:
            return None
        if len(content) > OBJECT_LIMIT_BYTES:
            raise CloudCallFailed(
                f"{uri} is larger than {OBJECT_LIMIT_BYTES} bytes, so it is no report of a machine",
                hint="check that the checkpoint prefix is used by gpuorch only",
            )
        return content.decode("utf-8", "replace")

    def _rows(self, deployment_id: str) -> list[Any]:
        """The SDK's machines of the group that carry the tag, each with its instance view."""
        from azure.core.exceptions import ResourceNotFoundError

        group = resource_name(deployment_id)
        with azure_call("Microsoft.Compute/virtualMachines/read"):
            try:
                names = [
                    row.name
                    for row in self._azure.compute.virtual_machines.list(group)
                    if (row.tags or {}).get(TAG) == deployment_id
                ]
            except ResourceNotFoundError:  # the group went since we saw it
                return []
        return [row for name in names if (row := self._get(group, str(name))) is not None]

    def _get(self, group: str, name: str) -> Any:
        from azure.core.exceptions import ResourceNotFoundError

        with azure_call("Microsoft.Compute/virtualMachines/read"):
            try:
                return self._azure.compute.virtual_machines.get(group, name, expand="instanceView")
            except ResourceNotFoundError:
                return None

    def _parts(self, machine_id: str) -> tuple[str, str]:
        match = _MACHINE_ID.fullmatch(machine_id)
        if match is None:
            raise UsageError(f"{machine_id!r} is no machine's id on Azure", hint="gpuorch status shows it")
        if match["subscription"].lower() != self._azure.subscription.lower():
            raise UsageError(
                f"{machine_id} is in another subscription than {self._azure.subscription}",
                hint="set ARM_SUBSCRIPTION_ID to the one in which it was made",
            )
        return match["group"], match["name"]

    def _machine(self, row: Any, deployment_id: str) -> Machine | None:
        # Azure writes the group in capitals in some answers; the name is ours to know.
        id_ = (
            f"{self._azure.root}/resourceGroups/{resource_name(deployment_id)}"
            f"/providers/Microsoft.Compute/virtualMachines/{row.name}"
        )
        state, reason = _state(row)
        public, private = self._addresses(row)
        return Machine(
            id=id_,
            deployment_id=deployment_id,
            region=self._region,
            zone=(row.zones or [""])[0],
            instance_type=str(row.hardware_profile.vm_size) if row.hardware_profile else "",
            market="spot" if row.priority == "Spot" else "on-demand",
            state=state,
            state_reason=reason,
            address=public,
            private_address=private,
            launched_at=row.time_created.astimezone(UTC) if row.time_created else None,
        )

    def _addresses(self, row: Any) -> tuple[str, str]:
        """Public and private address by the first interface; empty while there is none."""
        interfaces = row.network_profile.network_interfaces if row.network_profile else None
        interface = self._azure.get(interfaces[0].id, NETWORK_API) if interfaces else None
        for configuration in _properties(interface).get("ipConfigurations", ()):
            values = _properties(configuration)
            id_ = (values.get("publicIPAddress") or {}).get("id")
            public = self._azure.get(id_, NETWORK_API) if id_ else None
            return _properties(public).get("ipAddress", ""), values.get("privateIPAddress", "")
        return "", ""


def _properties(row: Mapping[str, Any] | None) -> Mapping[str, Any]:
    return (row or {}).get("properties") or {}


def _state(row: Any) -> tuple[MachineState, str]:
    """The state, and Azure's own words where something is wrong."""
    statuses = (row.instance_view.statuses if row.instance_view else None) or []
    codes = {str(status.code).partition("/")[0]: str(status.code).partition("/")[2] for status in statuses}
    words = next((status.message for status in statuses if status.message and "ailed" in str(status.code)), "")
    if (row.provisioning_state or "").lower() == "deleting":
        return MachineState.TERMINATING, ""
    power = codes.get("PowerState", "")
    if not power and (row.provisioning_state or "").lower() == "failed":
        # Never started: half-made, for want of capacity say. It exists, and is in the way of another.
        return MachineState.STOPPED, " ".join((words or "its creation failed").split())
    # A state that Azure adds one day is not "gone": the machine may cost money.
    return _STATES.get(power, MachineState.PENDING), words


def _check_id(deployment_id: str) -> None:
    if not _DEPLOYMENT_ID.fullmatch(deployment_id):
        raise UsageError(
            f"{deployment_id!r} is no id of a deployment", hint="ids are 8 to 32 lower-case letters and digits"
        )
