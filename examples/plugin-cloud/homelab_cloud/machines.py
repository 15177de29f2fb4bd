"""Homelab's machines by its own API, for what Terraform is the wrong tool for."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final
from urllib.parse import quote

from homelab_cloud.api import call
from orchestrator.errors import CloudCallFailed, Refused
from orchestrator.model.machine import FoundResource, Machine, MachineState

__all__ = ["ADDRESS", "TAG", "HomelabMachines"]

# Set by module/main.tf, where the machine stands in every rendered root as ADDRESS.
TAG: Final = "gpuorch:deployment"
ADDRESS: Final = "module.machine.homelab_machine.machine"

_STATES: Final = {
    "booting": MachineState.PENDING,
    "on": MachineState.RUNNING,
    "wiping": MachineState.TERMINATING,
    "gone": MachineState.GONE,
}


class HomelabMachines:
    """:class:`~orchestrator.clouds.contract.Machines` in one room."""

    def __init__(self, room: str) -> None:
        self._room = room

    def find(self, deployment_id: str) -> list[Machine]:
        """The deployment's machines, oldest first; the room lists gone ones for a day."""
        return [machine for machine in self._all() if machine.deployment_id == deployment_id]

    def resources(self, deployment_id: str) -> list[FoundResource]:
        """The same as Terraform names them. Only one can have the place in the root: the oldest."""
        return [
            FoundResource(
                type="homelab_machine", id=machine.id, address="" if number else ADDRESS, import_id=machine.id
            )
            for number, machine in enumerate(each for each in self.find(deployment_id) if each.state.billed)
        ]

    def terminate(self, machine_id: str, deployment_id: str) -> None:
        """Free the machine, unless it is somebody else's (:class:`Refused`)."""
        found = next((machine for machine in self._all() if machine.id == machine_id), None)
        if found is None or not found.state.billed:
            return
        if found.deployment_id != deployment_id:
            raise Refused(f"{machine_id} in {self._room} does not belong to {deployment_id}: it is left alone")
        call("DELETE", f"/machines/{quote(machine_id, safe='')}", "state")

    def console(self, machine_id: str) -> str:
        """The newest 64 KiB of the serial console."""
        return str(call("GET", f"/machines/{quote(machine_id, safe='')}/console", "text"))

    def read_object(self, uri: str) -> str | None:
        """Homelab has no object store."""
        return None

    def _all(self) -> list[Machine]:
        rows = call("GET", f"/machines?room={quote(self._room, safe='')}", "machines")
        try:
            return [self._machine(row) for row in rows]
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise CloudCallFailed(f"Homelab lists a machine in a form that is not known: {error!r}") from error

    def _machine(self, row: dict[str, Any]) -> Machine:
        return Machine(
            id=row["id"],
            deployment_id=row["labels"].get(TAG, ""),
            region=self._room,
            zone=row["rack"],
            instance_type=row["type"],
            market=row["market"],
            # A state that the room adds one day is not "gone": the machine may cost money.
            state=_STATES.get(row["state"], MachineState.PENDING),
            state_reason=row["reason"],
            address=row["address"],
            private_address=row["private_address"],
            launched_at=datetime.fromisoformat(row["since"]),
        )
