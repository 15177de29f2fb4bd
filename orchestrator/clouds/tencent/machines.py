"""CVM through Tencent Cloud's own API: what carries a deployment's tag, ending a machine, small COS objects."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from orchestrator.clouds.contract import Machines
from orchestrator.clouds.tencent.addresses import TAG
from orchestrator.clouds.tencent.calls import Clients, Refusal, failure
from orchestrator.clouds.tencent.cos import read_object
from orchestrator.clouds.tencent.tagged import TaggedResources, tag_filter, tags_of
from orchestrator.errors import Refused, UsageError
from orchestrator.model.machine import FoundResource, Machine, MachineState

__all__ = ["TencentMachines", "open_machines"]

# www.tencentcloud.com/document/product/213/15753, InstanceState. SHUTDOWN: stopped, and soon to be terminated (the
# recycle bin).
_STATES: Final = {
    "PENDING": MachineState.PENDING,
    "LAUNCH_FAILED": MachineState.GONE,
    "RUNNING": MachineState.RUNNING,
    "STARTING": MachineState.RUNNING,
    "REBOOTING": MachineState.RUNNING,
    "STOPPING": MachineState.STOPPING,
    "STOPPED": MachineState.STOPPED,
    "SHUTDOWN": MachineState.TERMINATING,
    "TERMINATING": MachineState.TERMINATING,
}
_MARKETS: Final = {"SPOTPAID": "spot", "PREPAID": "subscription-monthly"}
_ENDED_ALREADY: Final = (
    "InvalidInstanceId.NotFound",
    "ResourceNotFound.InvalidInstanceIdNotFound",
    "InvalidInstanceState.Terminating",
    "UnsupportedOperation.InstanceStateTerminating",
    "UnsupportedOperation.InstanceStateTerminated",
    "UnsupportedOperation.InstanceStateLaunchFailed",
)
_DEPLOYMENT_ID = re.compile(r"[a-z][a-z0-9]{7,31}")


def open_machines(region: str) -> Machines:
    """CVM in one region, with the credentials of Terraform's provider; no call is made yet."""
    return TencentMachines(Clients(region))


class TencentMachines:
    """:class:`~orchestrator.clouds.contract.Machines` for Tencent Cloud. A call lasts about twenty seconds at most."""

    def __init__(self, clients: Clients) -> None:
        self._clients = clients

    def find(self, deployment_id: str) -> list[Machine]:
        """Machines of the deployment, oldest first; Tencent Cloud does not show gone ones."""
        rows = self._instances(deployment_id)
        machines = [_machine(row, deployment_id, self._clients.region) for row in rows]
        return sorted(machines, key=lambda machine: (machine.launched_at is not None, machine.launched_at, machine.id))

    def resources(self, deployment_id: str) -> list[FoundResource]:
        """Everything of the deployment that still exists, in the order of import.

        At most one resource of a type has an address: the one that belongs to the living machine. What is left over
        (a second machine of a cut-off run) has none.
        """
        instances = [row for row in self._instances(deployment_id) if _state(row).billed]
        return TaggedResources(self._clients).of(deployment_id, instances)

    def terminate(self, machine_id: str, deployment_id: str) -> None:
        """Ask for the machine's end. :class:`Refused` when it is not tagged as the deployment's."""
        _check_id(deployment_id)
        rows = self._clients.pages(
            "cvm", "DescribeInstances", "InstanceSet", Filters=[{"Name": "instance-id", "Values": [machine_id]}]
        )
        row = next(iter(rows), None)
        # One in the recycle bin (SHUTDOWN) is to be ended for good: that is what a second call does.
        if row is None or row["InstanceState"] in ("TERMINATING", "LAUNCH_FAILED"):
            return
        owner = tags_of(row).get(TAG, "")
        if owner != deployment_id:
            whose = f"belongs to deployment {owner}" if owner else "was not made by gpuorch"
            raise Refused(
                f"{machine_id} in {self._clients.region} {whose}, not to {deployment_id}: it is left alone",
                hint=f"if it really is to end: tccli cvm TerminateInstances --InstanceIds '[\"{machine_id}\"]'",
            )
        try:
            self._clients.ask("cvm", "TerminateInstances", InstanceIds=[machine_id])
        except Refusal as error:
            if error.code not in _ENDED_ALREADY:
                raise failure(error, "cvm:TerminateInstances", self._clients.region) from error

    def console(self, machine_id: str) -> str:
        """Always ``""``: the API shows no serial console. How far a machine is, is told by SSH and by its marker."""
        return ""

    def read_object(self, uri: str) -> str | None:
        """The object at ``cos://bucket/key`` as text, at most 1 MiB of UTF-8; the bucket lies in this region."""
        clients = self._clients
        return read_object(
            uri,
            clients.region,
            clients.credentials(),
            now=int(time.time()),
            timeout_seconds=clients.limits.seconds,
            endpoint=clients.endpoint,
        )

    def _instances(self, deployment_id: str) -> list[Mapping[str, Any]]:
        """Tencent Cloud's rows of the deployment's machines."""
        _check_id(deployment_id)
        rows = self._clients.pages("cvm", "DescribeInstances", "InstanceSet", Filters=tag_filter(deployment_id))
        return [row for row in rows if tags_of(row).get(TAG) == deployment_id]


def _check_id(deployment_id: str) -> None:
    if not _DEPLOYMENT_ID.fullmatch(deployment_id):
        raise UsageError(
            f"{deployment_id!r} is no id of a deployment", hint="ids are 8 to 32 lower-case letters and digits"
        )


def _state(row: Mapping[str, Any]) -> MachineState:
    # A state that is added one day is not "gone": the machine may cost money.
    return _STATES.get(row["InstanceState"], MachineState.PENDING)


def _machine(row: Mapping[str, Any], deployment_id: str, region: str) -> Machine:
    return Machine(
        id=row["InstanceId"],
        deployment_id=deployment_id,
        region=region,
        zone=(row.get("Placement") or {}).get("Zone") or "",
        instance_type=row.get("InstanceType") or "",
        market=_MARKETS.get(row.get("InstanceChargeType") or "", "on-demand"),
        state=_state(row),
        state_reason=_reason(row),
        address=next(iter(row.get("PublicIpAddresses") or ()), ""),
        private_address=next(iter(row.get("PrivateIpAddresses") or ()), ""),
        launched_at=_time(row.get("CreatedTime") or ""),
    )


def _reason(row: Mapping[str, Any]) -> str:
    """``StopInstances: SUCCESS``, ``PROTECTIVELY_ISOLATED``: what was last done to it, and what it is kept from."""
    if row.get("LatestOperationErrorMsg"):
        return str(row["LatestOperationErrorMsg"])
    done = ": ".join(filter(None, (row.get("LatestOperation"), row.get("LatestOperationState"))))
    restricted = row.get("RestrictState") or "NORMAL"
    return done if restricted == "NORMAL" else ", ".join(filter(None, (restricted, done)))


def _time(text: str) -> datetime | None:
    try:
        return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    except ValueError:
        return None
