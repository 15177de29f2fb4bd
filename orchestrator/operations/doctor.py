"""`gpuorch doctor`: each thing that an `up` needs, looked at once, with the way to mend it."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Iterator
from datetime import timedelta

from orchestrator.errors import GpuorchError
from orchestrator.model.machine import Finding, Level
from orchestrator.operations.cloud_settings import findings_of, not_set_up
from orchestrator.operations.world import World

__all__ = ["examine"]

# Spot prices move within hours; after a week a choice by them is a guess.
_OLD_PRICES = timedelta(days=7)


def examine(world: World, *, offline: bool = False) -> list[Finding]:
    """All findings, in the order in which things are needed. Changes nothing; no check's failure hides another."""
    checks: list[Callable[[World], Iterator[Finding]]] = [_folders, _terraform, _sandbox, _clouds, _inventory, _prices]
    findings = [finding for check in checks for finding in _guarded(check, world)]
    if not offline:
        for name in sorted(world.modules(False)):
            findings += _of_cloud(world, name)
    return findings


def _guarded(check: Callable[[World], Iterator[Finding]], world: World) -> list[Finding]:
    try:
        return list(check(world))
    except GpuorchError as error:
        name = check.__name__.removeprefix("_")
        return [Finding(check=name, level=Level.ERROR, message=error.message, fix=error.hint)]


def _of_cloud(world: World, name: str) -> list[Finding]:
    try:
        if missing := not_set_up(world, [name]).get(name):
            return [
                Finding(check=name, level=Level.WARNING, message=missing, fix="set it up, or do without this cloud")
            ]
        return findings_of(world, world.cloud(name))
    except GpuorchError as error:
        return [Finding(check=name, level=Level.ERROR, message=error.message, fix=error.hint)]


def _folders(world: World) -> Iterator[Finding]:
    for key in ("state_dir", "cache_dir"):
        path = world.settings[key]
        nearest = next(place for place in (path, *path.parents) if place.exists())
        option = f"--{key.replace('_', '-')}"
        if os.access(nearest, os.W_OK):
            yield Finding(check=key, level=Level.OK, message=f"{path} can be written")
        else:
            fix = f"allow writing to {nearest}, or choose another with {option}"
            yield Finding(check=key, level=Level.ERROR, message=f"{path} cannot be written", fix=fix)


def _terraform(world: World) -> Iterator[Finding]:
    runner = world.open_runner(False, ())
    yield Finding(check="terraform", level=Level.OK, message=runner.version())


def _sandbox(world: World) -> Iterator[Finding]:
    if importlib.util.find_spec("tf") is not None:
        yield Finding(check="sandbox", level=Level.OK, message="simulated clouds can be used with --sandbox")
    else:
        fix = 'pip install "gpuorch[sandbox]"'
        yield Finding(check="sandbox", level=Level.WARNING, message="not installed: --sandbox will not work", fix=fix)


def _clouds(world: World) -> Iterator[Finding]:
    for error in world.broken_clouds().values():
        yield Finding(check="clouds", level=Level.WARNING, message=f"left out: {error.message}", fix=error.hint)


def _inventory(world: World) -> Iterator[Finding]:
    living = world.inventory.deployments()
    unfinished = [item.name for item in living if item.state.unfinished]
    message = f"{len(living)} deployments in {world.inventory.path}"
    if unfinished:
        names = ", ".join(unfinished)
        fix = "gpuorch status finishes or undoes what was interrupted"
        yield Finding(check="inventory", level=Level.WARNING, message=f"{message}; unfinished: {names}", fix=fix)
    else:
        yield Finding(check="inventory", level=Level.OK, message=message)


def _prices(world: World) -> Iterator[Finding]:
    now = world.clock.now()
    usable = world.modules(False)
    for source in world.book.sources():
        if source.cloud not in usable:
            continue
        newest = source.newest
        check = f"prices of {source.cloud}"
        message = f"{source.offers} offers from {source.source}"
        if newest is None or now - newest > _OLD_PRICES:
            age = "of unknown age" if newest is None else f"the newest {(now - newest).days} days old"
            fix = "import newer prices: gpuorch prices import FILE"
            yield Finding(check=check, level=Level.WARNING, message=f"{message}, {age}", fix=fix)
        else:
            yield Finding(check=check, level=Level.OK, message=message)
