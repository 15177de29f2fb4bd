"""The simulated cloud's own API: what a cloud's :class:`~orchestrator.clouds.contract.Machines` sees of it."""

from __future__ import annotations

import importlib
from pathlib import Path

from orchestrator.clouds.contract import Cloud
from orchestrator.clouds.rules import ProviderRules, ResourceRules
from orchestrator.errors import CloudCallFailed, ConfigInvalid
from orchestrator.model.machine import FoundResource, Machine, MachineState
from orchestrator.sandbox.boot import Boot, console, is_running, status, status_location
from orchestrator.sandbox.cloud import DEFAULT_BOOT_SECONDS, Call, SimulatedCloud, SimulatedResource, Transaction

__all__ = ["SandboxMachines", "preempt", "rules_of"]


def rules_of(cloud: Cloud) -> ProviderRules:
    """The rules of the cloud's sandbox; :class:`~orchestrator.errors.ConfigInvalid` where it brings none."""
    if cloud.sandbox is None:
        raise ConfigInvalid(f"cloud {cloud.name!r} brings no sandbox", hint="run it without --sandbox")
    found = getattr(importlib.import_module(cloud.sandbox.rules), "RULES", None)
    if not isinstance(found, ProviderRules):
        raise ConfigInvalid(f"{cloud.sandbox.rules} has no RULES, so cloud {cloud.name!r} has no sandbox")
    return found


def preempt(db: Path, cloud: Cloud, deployment_id: str) -> tuple[str, ...]:
    """Let the cloud take the deployment's machines back as it would a spot machine; their ids."""
    return tuple(SimulatedCloud(db).preempt(deployment_id, reason=rules_of(cloud).interrupted))


class SandboxMachines:
    """One region of the simulated cloud in the file ``db``. Implements ``Machines``."""

    def __init__(self, db: Path, cloud: Cloud, region: str) -> None:
        self._cloud = SimulatedCloud(db)
        self._name = cloud.name
        self._region = region
        self._rules = rules_of(cloud)

    def find(self, deployment_id: str) -> list[Machine]:
        """All machines with the deployment's tag, gone ones included."""
        with self._cloud.reading() as transaction:
            found = self._machines(transaction, deployment=deployment_id)
            return [self._machine(transaction, each) for each in found]

    def resources(self, deployment_id: str) -> list[FoundResource]:
        """All that exists with the deployment's tag or belongs to something with it, in the order of its making."""
        with self._cloud.reading() as transaction:
            found = transaction.find(cloud=self._name, deployment=deployment_id)
        return [self._found(each) for each in found if each.region in ("", self._region)]

    def _found(self, resource: SimulatedResource) -> FoundResource:
        rules = self._rules.resources.get(resource.type, ResourceRules())
        return FoundResource(
            type=resource.type,
            id=resource.id,
            address=rules.address(resource.values) if rules.address else self._rules.address(resource.type),
            import_id=rules.import_id(resource.values),
        )

    def terminate(self, machine_id: str, deployment_id: str) -> None:
        """End the machine if it carries the deployment's tag; nothing to do where it is gone."""
        with self._cloud.writing() as transaction:
            machine = self._one(transaction, machine_id)
            if machine.deployment != deployment_id:
                raise CloudCallFailed(
                    f"machine {machine_id} belongs to {machine.deployment or 'nobody'!s}, not to {deployment_id}"
                )
            if machine.exists(transaction.now):
                transaction.end(machine, reason=self._rules.ended)
                what = {"operation": "delete", "type": machine.type, "id": machine.id, "error": ""}
                transaction.log(Call(at=transaction.now, cloud=self._name, region=self._region, **what))

    def console(self, machine_id: str) -> str:
        """The serial console up to now on the simulated clock."""
        with self._cloud.reading() as transaction:
            machine = self._one(transaction, machine_id)
            end = min(machine.ends_at or transaction.now, transaction.now)
            return console(_boot(transaction, machine), end)

    def read_object(self, uri: str) -> str | None:
        """An object that was put into the simulated store, or the status that a simulated machine uploaded to it."""
        found = self._cloud.read_object(uri)
        if found is not None:
            return found
        with self._cloud.reading() as transaction:
            # Cheap first: only the deployment whose id stands in the address can be meant.
            for machine in reversed(self._machines(transaction)):
                if machine.deployment and f"/{machine.deployment}/" in uri:
                    boot = _boot(transaction, machine)
                    if status_location(boot.user_data) == uri:
                        return status(boot, min(machine.ends_at or transaction.now, transaction.now))
        return None

    def _machines(self, transaction: Transaction, *, deployment: str = "", id_: str = "") -> list[SimulatedResource]:
        found = transaction.find(cloud=self._name, region=self._region, deployment=deployment, id_=id_, gone=True)
        return [each for each in found if each.machine is not None]

    def _one(self, transaction: Transaction, machine_id: str) -> SimulatedResource:
        found = self._machines(transaction, id_=machine_id)
        if not found:
            raise CloudCallFailed(f"the simulated {self._name} has no machine {machine_id} in {self._region}")
        return found[-1]

    def _machine(self, transaction: Transaction, found: SimulatedResource) -> Machine:
        facts = found.machine
        assert facts is not None  # _machines lets nothing else through
        gone = not found.exists(transaction.now)
        return Machine(
            id=found.id,
            deployment_id=found.deployment,
            region=found.region,
            zone=facts.zone,
            instance_type=facts.instance_type,
            market=facts.market,
            state=MachineState.GONE if gone else _state(transaction, found),
            state_reason=found.end_reason if gone else "",
            address="" if gone else facts.address,
            private_address="" if gone else facts.private_address,
            launched_at=found.created_at,
        )


def _state(transaction: Transaction, machine: SimulatedResource) -> MachineState:
    running = is_running(_boot(transaction, machine), transaction.now)
    return MachineState.RUNNING if running else MachineState.PENDING


def _boot(transaction: Transaction, machine: SimulatedResource) -> Boot:
    assert machine.machine is not None
    return Boot(
        user_data=machine.machine.user_data,
        began=machine.created_at,
        seconds=transaction.setting("boot_seconds", DEFAULT_BOOT_SECONDS),
        fault=transaction.boot_fault(machine),
    )
