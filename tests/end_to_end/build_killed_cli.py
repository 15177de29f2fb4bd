"""`gpuorch`, killed at a step: ``python build_killed_cli.py N WORDS…`` dies by SIGKILL before its N-th effect.

With 0 for N it lives, and the last line of stderr is the number of its effects.

Effects are what survives the process: writes to the inventory, and whatever terraform or a cloud's API is asked to
change. Everything else is as in the command itself: the real World, the real terraform.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import orchestrator.operations.real_world as real
from orchestrator.cli.main import run
from orchestrator.clouds.contract import Machines
from orchestrator.inventory.store import Inventory
from orchestrator.model.deployment import Deployment
from orchestrator.operations.world import Progress, World
from orchestrator.runner.contract import Runner
from orchestrator.settings import Settings

__all__ = ["DRIVER"]

DRIVER = Path(__file__)

_WRITES = ("create", "save", "begin_attempt", "record_attempts")
_TERRAFORM = ("init", "plan", "apply", "destroy", "adopt")


class Steps:
    """Counts effects; at the ``last`` the process is gone."""

    def __init__(self, last: int) -> None:
        self.taken = 0
        self._last = last

    def take(self, name: str) -> None:
        self.taken += 1
        if self.taken == self._last:
            sys.stderr.write(f"killed before {name}\n")
            sys.stderr.flush()
            os.kill(os.getpid(), signal.SIGKILL)

    def counted(self, thing: Any, names: Sequence[str]) -> Any:
        """``thing``, with these methods counted."""
        for name in names:
            setattr(thing, name, self._wrapped(getattr(thing, name), name))
        return thing

    def _wrapped(self, method: Callable[..., Any], name: str) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            self.take(_label(name, arguments))
            result = method(*arguments, **named)
            if name in ("begin_attempt", "init"):
                # What comes next is written to files beside: the root, the marker of its initialisation.
                self.take(f"files after {name}")
            return result

        return call


def _label(name: str, arguments: tuple[Any, ...]) -> str:
    state = next((str(each.state) for each in arguments if isinstance(each, Deployment)), "")
    return f"{name} {state}".strip()


def _world(steps: Steps) -> Callable[[Settings, Mapping[str, str], Progress], World]:
    make = real.real_world

    def counted(settings: Settings, environ: Mapping[str, str], progress: Progress) -> World:
        world = make(settings, environ, progress)
        runner, machines = world.open_runner, world.open_machines

        def open_inventory(path: Path) -> Inventory:
            inventory: Inventory = steps.counted(Inventory(path), _WRITES)
            return inventory

        def open_runner(sandbox: bool, descriptors: Sequence[int]) -> Runner:
            opened: Runner = steps.counted(runner(sandbox, descriptors), _TERRAFORM)
            return opened

        def open_machines(cloud: str, region: str, sandbox: bool, settings: Mapping[str, str]) -> Machines:
            opened: Machines = steps.counted(machines(cloud, region, sandbox, settings), ("terminate",))
            return opened

        world.open_inventory = open_inventory
        world.open_runner = open_runner
        world.open_machines = open_machines
        return world

    return counted


def main(words: list[str]) -> int:
    """Run the command of ``words[1:]`` until its effect number ``words[0]``."""
    steps = Steps(int(words[0]))
    setattr(real, "real_world", _world(steps))  # noqa: B010 (mypy: a function is no variable)
    code = run(words[1:])
    sys.stderr.write(f"{steps.taken}\n")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
