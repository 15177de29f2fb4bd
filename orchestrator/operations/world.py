"""Everything that an operation touches, in one bundle, so that tests can replace any of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Protocol

from orchestrator.catalog.store import PriceBook
from orchestrator.clouds.contract import Cloud, Machines
from orchestrator.errors import GpuorchError
from orchestrator.inventory.store import Inventory
from orchestrator.model.deployment import Deployment
from orchestrator.model.offer import Offer
from orchestrator.runner.contract import Runner
from orchestrator.settings import Settings

__all__ = ["Clock", "Progress", "Stage", "World"]


class Clock(Protocol):
    def now(self) -> datetime:
        """Aware UTC."""
        ...

    def sleep(self, seconds: float) -> None: ...


class Stage(Protocol):
    """A piece of work under way."""

    def detail(self, text: str) -> None:
        """What it is doing now, or what came of it: the last one stays on its line."""
        ...


class Progress(Protocol):
    """The conversation with people, on stderr."""

    def say(self, text: str) -> None: ...

    def stage(self, title: str) -> AbstractContextManager[Stage]:
        """One line a stage, with its time."""
        ...


@dataclass(kw_only=True)
class World:
    """Effects by name. ``runner`` and ``machines`` take whether the deployment is a sandbox one.

    ``open_runner(sandbox, inherited_fds)``, ``open_machines(cloud, region, sandbox, cloud_settings)``, ``cloud(name)``;
    ``modules(sandbox)`` are the clouds that can be chosen; ``broken_clouds()`` are those that other packages bring and
    that are left out, with what is wrong with each.
    """

    clock: Clock
    settings: Settings
    environ: Mapping[str, str]
    progress: Progress
    open_inventory: Callable[[Path], Inventory]
    open_book: Callable[[Path], PriceBook]
    open_runner: Callable[[bool, Sequence[int]], Runner]
    open_machines: Callable[[str, str, bool, Mapping[str, str]], Machines]
    cloud: Callable[[str], Cloud]
    modules: Callable[[bool], frozenset[str]]
    broken_clouds: Callable[[], Mapping[str, GpuorchError]] = dict

    @cached_property
    def inventory(self) -> Inventory:
        return self.open_inventory(self.state_dir / "inventory.db")

    @cached_property
    def book(self) -> PriceBook:
        book = self.open_book(Path(self.settings["cache_dir"]) / "prices.db")
        if book.notice:
            self.progress.say(book.notice)
        return book

    @property
    def state_dir(self) -> Path:
        return Path(self.settings["state_dir"])

    @property
    def sandbox_folder(self) -> Path:
        """Where the simulated clouds and their stand-in providers lie."""
        return self.state_dir / "sandbox"

    @property
    def rates(self) -> Mapping[str, Decimal]:
        """Currency → USD per unit, as set by the user."""
        rates: Mapping[str, Decimal] = self.settings["exchange_rates"]
        return rates

    def tell_broken_clouds(self) -> None:
        """Say which clouds of other packages are left out where clouds are listed or chosen from."""
        for error in self.broken_clouds().values():
            self.progress.say(f"left out: {error.message} ({error.hint})")

    def machines(self, deployment: Deployment, offer: Offer) -> Machines:
        """The API of the offer's cloud and region, with the cloud's settings as the deployment was made with.

        Not those of today: in another project or subscription everything of the deployment would look gone.
        """
        settings = deployment.spec["cloud_settings"].get(offer.cloud, {})
        return self.open_machines(offer.cloud, offer.region, deployment.sandbox, settings)

    def folder(self, deployment: Deployment) -> Path:
        """Where everything local of a deployment lies."""
        return self.state_dir / "deployments" / deployment.id

    def root(self, deployment: Deployment, offer: Offer) -> Path:
        """The Terraform root for a place: one a cloud and region, because a provider block is of one region."""
        return self.folder(deployment) / f"{offer.cloud}-{offer.region}"
