"""A World over files: a small cloud and a small terraform, honest about what survives a killed process."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from orchestrator.catalog.store import PriceBook
from orchestrator.clouds.registry import cloud
from orchestrator.errors import TerraformFailed
from orchestrator.inventory.store import Inventory
from orchestrator.model.deployment import Deployment, DeploymentState
from orchestrator.model.failure import Diagnostic
from orchestrator.model.machine import FoundResource, Machine, MachineState
from orchestrator.model.offer import Offer
from orchestrator.model.placement import Placement
from orchestrator.model.plan import Applied, Change, PlanReport
from orchestrator.operations.world import World
from orchestrator.runner.contract import OnEvent
from orchestrator.settings import Settings
from orchestrator.stack.readiness import status_lines
from tests.build import NOW, a_placement, an_offer

Tick = Callable[[str], None]

NETWORK = "module.machine.aws_vpc.own[0]"
MACHINE = "module.machine.aws_instance.machine"


class FakeClock:
    """Time passes only by sleeping."""

    def __init__(self) -> None:
        self.time = NOW
        self.slept = 0.0

    def now(self) -> datetime:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.slept += seconds
        self.time += timedelta(seconds=seconds)


class SilentProgress:
    """Keeps what is said."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, text: str) -> None:
        self.said.append(text)

    @contextmanager
    def stage(self, title: str) -> Iterator[SilentProgress]:
        self.said.append(title)
        yield self

    def detail(self, text: str) -> None:
        self.said.append(text)


@dataclass
class FakeCloud:
    """One JSON file of resources; ``failing`` says which creates fail and with what words."""

    path: Path
    tick: Tick = lambda name: None
    failing: Callable[[Mapping[str, Any]], str | None] = lambda values: None

    def read(self) -> dict[str, dict[str, Any]]:
        content: dict[str, dict[str, Any]] = json.loads(self.path.read_text()) if self.path.exists() else {}
        return content

    def _write(self, content: Mapping[str, Any]) -> None:
        temporary = self.path.with_suffix(".new")
        temporary.write_text(json.dumps(content))
        temporary.replace(self.path)

    def create(self, type_: str, values: Mapping[str, Any]) -> str:
        identity = f"{type_}-{uuid.uuid4().hex[:8]}"
        self.tick(f"before create {type_}")
        self._write(self.read() | {identity: {"type": type_, **values}})
        self.tick(f"after create {type_}")
        return identity

    def delete(self, identity: str) -> None:
        self.tick("before delete")
        self._write({key: value for key, value in self.read().items() if key != identity})
        self.tick("after delete")

    def of(self, deployment_id: str) -> dict[str, dict[str, Any]]:
        return {key: value for key, value in self.read().items() if value["deployment"] == deployment_id}


@dataclass
class FakeRunner:
    """Terraform in small: a network, then a machine; its state file is written only after each create."""

    cloud: FakeCloud
    calls: list[str] = field(default_factory=list)

    def version(self) -> str:
        return "terraform 1.11.4"

    def init(self, root: Path, *, on_event: OnEvent | None = None) -> None:
        self.calls.append("init")
        self.cloud.tick("init")
        (root / ".terraform").mkdir(exist_ok=True)

    def validate(self, root: Path) -> tuple[Diagnostic, ...]:
        return ()

    def plan(
        self, root: Path, *, destroy: bool = False, refresh: bool = True, on_event: OnEvent | None = None
    ) -> PlanReport:
        self.calls.append("plan")
        assert (root / ".terraform").is_dir(), "plan before init"
        missing = [address for address in (NETWORK, MACHINE) if address not in self._state(root)]
        return PlanReport(file="p", changes=tuple(Change(address=each, action="create") for each in missing))

    def apply(self, root: Path, plan: PlanReport, *, on_event: OnEvent | None = None) -> Applied:
        self.calls.append("apply")
        values = json.loads((root / "terraform.tfvars.json").read_text())
        wanted = {"deployment": values["deployment_id"], "region": values["region"], "zone": values["zone"]}
        wanted["instance_type"] = values["instance_type"]
        for change in plan.changes:
            if change.address == MACHINE and (words := self.cloud.failing(wanted)):
                raise TerraformFailed(
                    words, command="apply", diagnostics=(Diagnostic(severity="error", summary=words),)
                )
            identity = self.cloud.create("aws_instance" if change.address == MACHINE else "aws_vpc", wanted)
            self._save(root, self._state(root) | {change.address: identity})
        outputs = {"machine_id": self._state(root)[MACHINE], "address": "198.51.100.7", "zone": values["zone"]}
        return Applied(added=len(plan.changes), changed=0, removed=0, outputs=outputs)

    def destroy(self, root: Path, *, on_event: OnEvent | None = None) -> Applied:
        self.calls.append("destroy")
        assert (root / "main.tf").exists(), "destroy without files"
        for address, identity in reversed(list(self._state(root).items())):
            self.cloud.delete(identity)
            self._save(root, {key: value for key, value in self._state(root).items() if key != address})
        return Applied(added=0, changed=0, removed=0)

    def outputs(self, root: Path) -> Mapping[str, Any]:
        return {}

    def addresses(self, root: Path) -> tuple[str, ...]:
        return tuple(self._state(root))

    def tainted(self, root: Path) -> tuple[str, ...]:
        return ()

    def untaint(self, root: Path, address: str) -> None:
        self.calls.append(f"untaint {address}")

    def adopt(self, root: Path, address: str, import_id: str) -> None:
        self.calls.append(f"adopt {address}")
        self.cloud.tick("adopt")
        assert import_id in self.cloud.read()
        self._save(root, self._state(root) | {address: import_id})

    def _state(self, root: Path) -> dict[str, str]:
        path = root / "terraform.tfstate"
        state: dict[str, str] = json.loads(path.read_text()) if path.exists() else {}
        # What is gone from the cloud falls out of the state, as by terraform's refresh.
        return {address: identity for address, identity in state.items() if identity in self.cloud.read()}

    def _save(self, root: Path, state: Mapping[str, str]) -> None:
        self.cloud.tick("before state")
        (root / "terraform.tfstate").write_text(json.dumps(state))
        self.cloud.tick("after state")


@dataclass
class FakeMachines:
    cloud: FakeCloud
    region: str
    console_text: str | None = None

    def find(self, deployment_id: str) -> list[Machine]:
        return [
            Machine(id=key, deployment_id=deployment_id, region=self.region, state=MachineState.RUNNING)
            for key, value in self.cloud.of(deployment_id).items()
            if value["type"] == "aws_instance" and value["region"] == self.region
        ]

    def resources(self, deployment_id: str) -> list[FoundResource]:
        return [
            FoundResource(
                type=value["type"],
                id=key,
                address=MACHINE if value["type"] == "aws_instance" else NETWORK,
                import_id=key,
            )
            for key, value in self.cloud.of(deployment_id).items()
            if value["region"] == self.region
        ]

    def terminate(self, machine_id: str, deployment_id: str) -> None:
        self.cloud.delete(machine_id)

    def console(self, machine_id: str) -> str:
        if self.console_text is not None:
            return self.console_text
        deployment = self.cloud.read()[machine_id]["deployment"]
        return "\n".join(status_lines(deployment, "ready", "2026-11-30T12:00:00Z"))

    def read_object(self, uri: str) -> str | None:
        return None


class TickingInventory(Inventory):
    """An inventory whose every write is a place to be killed at, before and after."""

    tick: Tick = staticmethod(lambda name: None)

    def create(self, deployment: Deployment, placement: Placement) -> None:
        self.tick("before record")
        super().create(deployment, placement)
        self.tick("after record")

    def save(
        self, deployment: Deployment, now: datetime, event: str, data: Mapping[str, Any] | None = None
    ) -> Deployment:
        self.tick(f"before {event}")
        saved = super().save(deployment, now, event, data)
        self.tick(f"after {event}")
        return saved

    def begin_attempt(self, deployment: Deployment, attempt: Any) -> Deployment:
        self.tick("before attempt")
        begun = super().begin_attempt(deployment, attempt)
        self.tick("after attempt")
        return begun

    def record_attempts(
        self, deployment: Deployment, attempts: Any, cool_down: Any = None, *, durable: bool = False
    ) -> None:
        self.tick("before note")
        super().record_attempts(deployment, attempts, cool_down, durable=durable)
        self.tick("after note")


def a_world(folder: Path, fake: FakeCloud, *, tick: Tick = lambda name: None, console: str | None = None) -> World:
    """A World in ``folder`` over ``fake``; each effect calls ``tick`` before and after."""
    fake.tick = tick

    def inventory(path: Path) -> Inventory:
        opened = TickingInventory(path)
        opened.tick = tick
        return opened

    environ = {"HOME": str(folder), "USER": "ada", "XDG_CONFIG_HOME": str(folder / "config")}
    options = {"state_dir": folder / "state", "cache_dir": folder / "cache"}
    return World(
        clock=FakeClock(),
        settings=Settings.load(options, environ, folder, system=folder / "none"),
        environ=environ,
        progress=SilentProgress(),
        open_inventory=inventory,
        open_book=PriceBook.open,
        open_runner=lambda sandbox, fds: FakeRunner(fake),
        open_machines=lambda name, region, sandbox, settings: FakeMachines(fake, region, console),
        cloud=cloud,
        modules=lambda sandbox: frozenset({"aws"}),
    )


SPEC: Mapping[str, Any] = {
    "profile": "a100x8",
    "owner": "ada",
    "ttl_seconds": 3600,
    "max_price_per_hour": None,
    "image": "ami-0123456789abcdef0",
    "access": "none",
    "ssh_public_key": "",
    "ssh_allowed_cidrs": [],
    "subnet": "",
    "disk_gib": 200,
    "checkpoint_uri": "",
    "labels": {},
    "cloud_settings": {},
}


def a_deployment(**changes: Any) -> Deployment:
    values: dict[str, Any] = {
        "id": "g0123456789ab",
        "name": "train",
        "owner": "ada",
        "state": DeploymentState.PLANNED,
        "created_at": NOW,
        "updated_at": NOW,
        "sandbox": False,
        "spec": SPEC,
        "offer": an_offer(),
    }
    return Deployment(**(values | changes))


def placed(*offers: Offer) -> Placement:
    """A placement over these offers, in this order."""
    return a_placement(chosen=offers[0], fallbacks=tuple(offers[1:]))


def offers_over(regions: Sequence[str], zones: Sequence[str] = ("a", "b")) -> list[Offer]:
    """One offer a zone, dearer one after the other."""
    places = [(region, f"{region}{zone}") for region in regions for zone in zones]
    return [an_offer(str(10 + index), region=region, zone=zone) for index, (region, zone) in enumerate(places)]
