"""The places of a deployment (one Terraform root a cloud and region) and what is known to exist in them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from orchestrator.errors import NotGone, TerraformFailed
from orchestrator.model.codec import iso
from orchestrator.model.deployment import Deployment
from orchestrator.model.launch import Stack
from orchestrator.model.machine import FoundResource, Machine, MachineState
from orchestrator.model.offer import Offer
from orchestrator.operations.order import launch_for
from orchestrator.operations.world import World
from orchestrator.runner.contract import Runner
from orchestrator.stack.render import render
from orchestrator.stack.write import write

__all__ = ["Place", "current_place", "places_of"]

# How often, and with what pause, a cloud is asked again before a machine that it still shows counts as not gone.
_GONE_CHECKS = 20
_GONE_PAUSE_SECONDS = 3.0
_ALIVE = (MachineState.PENDING, MachineState.RUNNING)


@dataclass(frozen=True, kw_only=True)
class Place:
    """One Terraform root of a deployment, with the means to work on it.

    ``written`` is what this process wrote to which root last: going through many offers, only differences are written.
    """

    world: World
    deployment: Deployment
    offer: Offer
    runner: Runner
    written: dict[Path, Stack] = field(default_factory=dict)

    @cached_property
    def root(self) -> Path:
        return self.world.root(self.deployment, self.offer)

    def write(self) -> None:
        """Render the root for the place's offer."""
        cloud = self.world.cloud(self.offer.cloud)
        expires = self.deployment.expires_at
        launch = launch_for(
            self.deployment.spec,
            self.offer,
            cloud,
            deployment_id=self.deployment.id,
            name=self.deployment.name,
            expires_at=iso(expires) if expires else "",
        )
        stack = render(launch, cloud)
        write(stack, self.root, before=self.written.get(self.root))
        self.written[self.root] = stack

    def initialise(self) -> None:
        """``terraform init``, once: a marker that is written after it says that it ended well."""
        marker = self.root / ".gpuorch" / "initialised"
        if marker.exists() and (self.root / ".terraform").is_dir():
            return
        self.runner.init(self.root)
        marker.parent.mkdir(parents=True, exist_ok=True)
        marker.write_text("")

    def machines(self) -> list[Machine]:
        """Machines of the deployment that the cloud shows here and that may still cost money."""
        api = self.world.machines(self.deployment, self.offer)
        return [machine for machine in api.find(self.deployment.id) if machine.state.billed]

    def resources(self) -> list[FoundResource]:
        api = self.world.machines(self.deployment, self.offer)
        return api.resources(self.deployment.id)

    def addresses(self) -> tuple[str, ...]:
        """What terraform's state knows; nothing where there is no state yet."""
        return self.runner.addresses(self.root) if (self.root / "terraform.tfstate").exists() else ()

    def adopt_strays(self) -> list[FoundResource]:
        """Take into terraform's state what carries our tag and is not in it: the trace of a killed terraform.

        Returns what was found in the cloud. A stray that terraform cannot import stays one; :meth:`destroy` reports it.
        """
        found = self.resources()
        known = set(self.addresses())
        strays = [resource for resource in found if resource.address and resource.address not in known]
        if strays:
            self.write()
            self.initialise()
        for stray in strays:
            try:
                self.runner.adopt(self.root, stray.address, stray.import_id)
            except TerraformFailed as error:
                self.world.progress.say(f"could not take {stray.type} {stray.id} into the state: {error.message}")
        return found

    def keep_machine(self) -> None:
        """Keep a running machine whose creation was cut off after the cloud had made it.

        Terraform has marked it for replacement, because it did not see the end of its making. To end a machine that is
        there and to ask for another could lose it for good: capacity is scarce.
        """
        running = {machine.id for machine in self.machines() if machine.state in _ALIVE}
        addresses = {found.address for found in self.resources() if found.id in running}
        for address in self.runner.tainted(self.root) if running and self.addresses() else ():
            if address in addresses:
                self.runner.untaint(self.root, address)

    def destroy(self) -> None:
        """Remove everything of the deployment here; returns only when the cloud says that it is gone.

        Raises :class:`NotGone` when the cloud still shows something, and whatever terraform or the cloud's API raise.
        """
        found = self.adopt_strays()
        if self.addresses():
            self.write()
            self.initialise()
            self.runner.destroy(self.root)
        elif not found:
            return
        self._confirm_gone()

    def _confirm_gone(self) -> None:
        api = self.world.machines(self.deployment, self.offer)
        ended: set[str] = set()
        for check in range(_GONE_CHECKS):
            machines = self.machines()
            left = self.resources()
            if not machines and not left:
                return
            for machine in machines:
                if machine.id not in ended:
                    api.terminate(machine.id, self.deployment.id)
                    ended.add(machine.id)
            if check < _GONE_CHECKS - 1:
                self.world.clock.sleep(_GONE_PAUSE_SECONDS)
        names = sorted({machine.id for machine in machines} | {f"{resource.type} {resource.id}" for resource in left})
        raise NotGone(
            f"{self.deployment.name}: {self.offer.cloud} still shows {', '.join(names[:5])} in {self.offer.region}",
            hint=f"run gpuorch down {self.deployment.name} again; it stays listed until the cloud confirms",
        )


def places_of(world: World, deployment: Deployment, runner: Runner) -> list[Place]:
    """Every place in which something may exist, because an attempt there came as far as applying; the newest first."""
    applied = [attempt.offer for attempt in world.inventory.attempts(deployment.id) if attempt.applied]
    newest = {(offer.cloud, offer.region): offer for offer in applied}
    return [
        Place(world=world, deployment=deployment, offer=offer, runner=runner) for offer in reversed(newest.values())
    ]


def current_place(world: World, deployment: Deployment, runner: Runner) -> Place | None:
    """The place of the attempt that the record names, if that attempt came as far as applying."""
    return next((place for place in places_of(world, deployment, runner) if place.offer == deployment.offer), None)
