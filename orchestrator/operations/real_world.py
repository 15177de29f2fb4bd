"""The World as it is: real clock, real clouds, real terraform, or the sandbox in their place."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from orchestrator.catalog.store import PriceBook
from orchestrator.clouds.contract import Machines
from orchestrator.clouds.registry import broken_clouds, cloud, usable_clouds
from orchestrator.inventory.store import Inventory
from orchestrator.operations.world import Progress, World
from orchestrator.runner.contract import Runner
from orchestrator.settings import Settings

__all__ = ["real_world"]


class RealClock:
    """The machine's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


def real_world(settings: Settings, environ: Mapping[str, str], progress: Progress) -> World:
    """A World over these settings. Opens nothing until it is used."""
    effects = _Effects(settings, environ, progress)
    return World(
        clock=RealClock(),
        settings=settings,
        environ=environ,
        progress=progress,
        open_inventory=Inventory,
        open_book=PriceBook.open,
        open_runner=effects.runner,
        open_machines=effects.machines,
        cloud=cloud,
        modules=_modules,
        broken_clouds=broken_clouds,
    )


@cache
def _modules(sandbox: bool) -> frozenset[str]:
    # A cloud is asked whether it can be simulated only where that matters: importing them all takes time.
    return frozenset(name for name in usable_clouds() if not sandbox or cloud(name).sandbox is not None)


class _Effects:
    def __init__(self, settings: Settings, environ: Mapping[str, str], progress: Progress) -> None:
        self.settings = settings
        self.environ = environ
        self.progress = progress
        self.told: set[str] = set()

    def runner(self, sandbox: bool, inherited_fds: Sequence[int]) -> Runner:
        from orchestrator.runner.binary import find_binary
        from orchestrator.runner.cliconfig import ProviderSource, write_cli_config
        from orchestrator.runner.runner import TerraformRunner

        binary = find_binary(self.settings["terraform"], self.environ)
        mirrors: tuple[Path, ...] = tuple(self.settings["tf_mirror"] or ())
        source = ProviderSource(mirrors=mirrors, direct=True)
        extra: Mapping[str, str] = {}
        if sandbox:
            from orchestrator.sandbox.install import prepare

            clouds = [cloud(name) for name in sorted(_modules(True))]
            installed = prepare(self._sandbox_folder(), clouds)
            source = ProviderSource(mirrors=(installed.mirror,), direct=False)
            extra = installed.environment
        folder = self._sandbox_folder() if sandbox else Path(self.settings["state_dir"]) / "terraform"
        runner = TerraformRunner(
            binary,
            write_cli_config(source, folder),
            self.environ,
            extra_environment=extra,
            inherit_fds=inherited_fds,
        )
        if runner.notice and runner.notice not in self.told:
            self.told.add(runner.notice)
            self.progress.say(runner.notice)
        return runner

    def machines(self, name: str, region: str, sandbox: bool, settings: Mapping[str, str]) -> Machines:
        if not sandbox:
            found = cloud(name)
            if found.machines_with is None:
                return found.machines(region)
            return found.machines_with(region, settings)
        from orchestrator.sandbox.install import database_in
        from orchestrator.sandbox.machines import SandboxMachines

        return SandboxMachines(database_in(self._sandbox_folder()), cloud(name), region)

    def _sandbox_folder(self) -> Path:
        return Path(self.settings["state_dir"]) / "sandbox"
