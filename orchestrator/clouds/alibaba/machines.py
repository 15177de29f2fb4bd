"""ECS through Alibaba Cloud's own API: what carries a deployment's tag, ending a machine, its console, OSS objects."""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from orchestrator.clouds.alibaba.calls import Clients, Refusal, failure
from orchestrator.clouds.alibaba.oss import read_object
from orchestrator.clouds.alibaba.tagged import TAG, TaggedResources, tag_filter, tags_of
from orchestrator.clouds.contract import Machines
from orchestrator.errors import CloudCallFailed, Refused, UsageError
from orchestrator.model.machine import FoundResource, Machine, MachineState

__all__ = ["AlibabaMachines", "open_machines"]

# "Instance lifecycle"; a released machine is not shown any more.
_STATES: Final = {
    "Pending": MachineState.PENDING,
    "Starting": MachineState.PENDING,
    "Running": MachineState.RUNNING,
    "Stopping": MachineState.STOPPING,
    "Stopped": MachineState.STOPPED,
}
# Why the cloud has locked a machine: "API behavior when an instance is locked". Recycling: taken back.
_LOCKS: Final = {
    "Recycling": "Recycling: the spot machine is being taken back, because of its price or the stock",
    "financial": "financial: the account owes money",
    "security": "security: locked for reasons of security",
}
_DEPLOYMENT_ID = re.compile(r"[a-z][a-z0-9]{7,31}")
_GONE = ("InvalidInstanceId.NotFound", "InvalidInstanceId")
# A machine that has just been made pay-as-you-go is not that at once.
_NOT_YET = ("ChargeTypeViolation", "InvalidInstanceChargeType", "OperationConflict", "IncorrectInstanceStatus")
_TRIES: Final = 10

Row = Mapping[str, Any]


def open_machines(region: str) -> Machines:
    """ECS in one region, with the provider's credentials; no call is made yet."""
    return AlibabaMachines(Clients(region))


class AlibabaMachines:
    """:class:`~orchestrator.clouds.contract.Machines` for Alibaba Cloud. A call lasts about a minute at most."""

    def __init__(self, clients: Clients, *, pause_seconds: float = 3) -> None:
        self._clients = clients
        self._pause = pause_seconds

    def find(self, deployment_id: str) -> list[Machine]:
        """Machines of the deployment, oldest first; Alibaba Cloud does not show released ones."""
        rows = self._instances(deployment_id)
        machines = [_machine(row, deployment_id, self._clients.region) for row in rows]
        return sorted(machines, key=lambda machine: (machine.launched_at is not None, machine.launched_at, machine.id))

    def resources(self, deployment_id: str) -> list[FoundResource]:
        """Everything of the deployment that still exists, in the order of import.

        At most one resource of a type has an address: the one that belongs to the living machine. What is left over
        (a second machine of a cut-off run, a disk that stayed behind) has none.
        """
        return TaggedResources(self._clients).of(deployment_id, self._instances(deployment_id))

    def terminate(self, machine_id: str, deployment_id: str) -> None:
        """Release the machine, paid ahead or not. :class:`Refused` when it is not tagged as the deployment's.

        One that is paid ahead is made pay-as-you-go first, which Alibaba Cloud does within the account's monthly
        refund quota; a machine that it will not convert stays, and so does the month.
        """
        _check_id(deployment_id)
        row = self._instance(machine_id)
        if row is None:
            return
        owner = tags_of(row).get(TAG, "")
        if owner != deployment_id:
            whose = f"belongs to deployment {owner}" if owner else "was not made by gpuorch"
            raise Refused(
                f"{machine_id} in {self._clients.region} {whose}, not to {deployment_id}: it is left alone",
                hint=f"if it really is to end, end it by hand: aliyun ecs DeleteInstance --InstanceId {machine_id}",
            )
        prepaid = row.get("InstanceChargeType") == "PrePaid"
        if prepaid:
            self._make_pay_as_you_go(machine_id)
        for attempt in range(1, _TRIES + 1):
            try:
                self._clients.call(
                    "ecs", "DeleteInstance", RegionId=self._clients.region, InstanceId=machine_id, Force=True
                )
            except Refusal as refusal:
                if refusal.code in _GONE:
                    return
                if not prepaid or attempt == _TRIES or not refusal.code.startswith(_NOT_YET):
                    raise failure(refusal, "ecs:DeleteInstance", self._clients.region) from refusal
                time.sleep(self._pause)
            else:
                return

    def console(self, machine_id: str) -> str:
        """What Alibaba Cloud kept of the serial console at the last start or stop; ``""`` for an unknown machine."""
        try:
            answer = self._clients.call(
                "ecs", "GetInstanceConsoleOutput", RegionId=self._clients.region, InstanceId=machine_id
            )
        except Refusal as refusal:
            if refusal.code in _GONE:
                return ""
            raise failure(refusal, "ecs:GetInstanceConsoleOutput", self._clients.region) from refusal
        try:
            return base64.b64decode(str(answer.get("ConsoleOutput") or "")).decode("utf-8", "replace")
        except ValueError:
            return ""

    def read_object(self, uri: str) -> str | None:
        """The object at ``oss://bucket/key`` as text, at most 1 MiB of UTF-8 (bad bytes become U+FFFD)."""
        return read_object(self._clients, uri)

    def _instances(self, deployment_id: str) -> list[Row]:
        """The rows of the deployment's machines."""
        _check_id(deployment_id)
        return self._described(**tag_filter(deployment_id))

    def _instance(self, machine_id: str) -> Row | None:
        return next(iter(self._described(InstanceIds=json.dumps([machine_id]))), None)

    def _described(self, **parameters: str) -> list[Row]:
        rows = list(self._clients.pages("ecs", "DescribeInstances", "Instances", "Instance", **parameters))
        if not rows:
            self._check_right(parameters)
        return rows

    def _check_right(self, parameters: Mapping[str, str]) -> None:
        """Whoever lacks the right to look gets an empty list: only a dry run tells that from no machine."""
        try:
            self._clients.call("ecs", "DescribeInstances", RegionId=self._clients.region, DryRun=True, **parameters)
        except Refusal as refusal:
            if refusal.code != "DryRunOperation":
                raise failure(refusal, "ecs:DescribeInstances", self._clients.region) from refusal

    def _make_pay_as_you_go(self, machine_id: str) -> None:
        try:
            self._clients.call(
                "ecs",
                "ModifyInstanceChargeType",
                RegionId=self._clients.region,
                InstanceIds=json.dumps([machine_id]),
                InstanceChargeType="PostPaid",
                IncludeDataDisks=True,
                AutoPay=True,
            )
        except Refusal as refusal:
            said = failure(refusal, "ecs:ModifyInstanceChargeType", self._clients.region)
            raise CloudCallFailed(
                said.message,
                hint=said.hint
                or f"{machine_id} is paid until the end of its month: Alibaba Cloud makes it pay-as-you-go only within "
                "the account's monthly refund quota; try again next month, or let it expire",
            ) from refusal


def _check_id(deployment_id: str) -> None:
    if not _DEPLOYMENT_ID.fullmatch(deployment_id):
        raise UsageError(
            f"{deployment_id!r} is no id of a deployment", hint="ids are 8 to 32 lower-case letters and digits"
        )


def _machine(row: Row, deployment_id: str, region: str) -> Machine:
    return Machine(
        id=row["InstanceId"],
        deployment_id=deployment_id,
        region=region,
        zone=row.get("ZoneId", ""),
        instance_type=row.get("InstanceType", ""),
        market=_market(row),
        # A state that the cloud adds one day is not "gone": the machine may cost money.
        state=_STATES.get(row.get("Status", ""), MachineState.PENDING),
        state_reason=_reason(row),
        address=_first(row, "PublicIpAddress") or (row.get("EipAddress") or {}).get("IpAddress") or "",
        private_address=_first(row.get("VpcAttributes") or {}, "PrivateIpAddress"),
        launched_at=_time(row.get("CreationTime", "")),
    )


def _market(row: Row) -> str:
    if row.get("InstanceChargeType") == "PrePaid":
        return "subscription-monthly"
    return "on-demand" if row.get("SpotStrategy") in (None, "", "NoSpot") else "spot"


def _reason(row: Row) -> str:
    locks = [lock.get("LockReason", "") for lock in (row.get("OperationLocks") or {}).get("LockReason") or ()]
    return "; ".join(_LOCKS.get(lock, lock) for lock in locks if lock)


def _first(row: Row, field: str) -> str:
    return next(iter((row.get(field) or {}).get("IpAddress") or ()), "")


def _time(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text).astimezone(UTC) if text else None
    except ValueError:
        return None
