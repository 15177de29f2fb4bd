"""Which clouds there are: the folders beside this file, and those that other packages bring by entry point.

What another package brings may be broken. Such a cloud is left out, and every other one works as if it were not there.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.clouds.contract import Cloud
from orchestrator.errors import ConfigInvalid, UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["broken_clouds", "cloud", "cloud_names", "usable_clouds"]

ENTRY_POINTS = "gpuorch.clouds"


@cache
def _foreign() -> Mapping[str, tuple[EntryPoint, ...]]:
    # It takes longer to import than all clouds together, and most calls are for a cloud of our own.
    import importlib.metadata

    found: dict[str, tuple[EntryPoint, ...]] = {}
    for point in importlib.metadata.entry_points(group=ENTRY_POINTS):
        found[point.name] = (*found.get(point.name, ()), point)
    return found


@cache
def _own() -> frozenset[str]:
    return frozenset(path.parent.name for path in Path(__file__).parent.glob("*/cloud.py"))


def cloud_names() -> tuple[str, ...]:
    """Names of all clouds, sorted; imports none of them."""
    return tuple(sorted(_own() | _foreign().keys()))


def usable_clouds() -> frozenset[str]:
    """Names of all clouds but the broken ones. Imports those of other packages, none of our own."""
    return _own() | (_foreign().keys() - broken_clouds().keys())


@cache
def broken_clouds() -> Mapping[str, ConfigInvalid]:
    """Name → what is wrong, for what other packages bring and cannot be used. Imports what they bring."""
    broken = {}
    for name in sorted(_foreign()):
        try:
            _brought(name)
        except ConfigInvalid as error:
            broken[name] = error
    return broken


@cache
def cloud(name: str) -> Cloud:
    """The cloud of that name; :class:`UsageError` where there is none, :class:`ConfigInvalid` for a broken one."""
    if name in _own():
        found: Cloud = importlib.import_module(f"orchestrator.clouds.{name}.cloud").CLOUD
        return found
    if name in _foreign():
        return _brought(name)
    raise UsageError(f"no cloud is called {name!r}", hint=f"clouds: {', '.join(cloud_names())}")


@cache
def _brought(name: str) -> Cloud:
    """What another package brings under ``name``; :class:`ConfigInvalid` in one sentence where that is no cloud."""
    points = _foreign()[name]
    packages = " and ".join(sorted({_package(point) for point in points}))
    if name in _own():
        raise ConfigInvalid(
            f"the package {packages} brings a cloud called {name!r}, and gpuorch has one of that name itself",
            hint=f"pip uninstall {packages}",
        )
    if len(points) > 1:
        raise ConfigInvalid(
            f"the packages {packages} each bring a cloud called {name!r}", hint="uninstall all but one of them"
        )
    hint = f"upgrade or uninstall {packages}"
    try:
        found = points[0].load()
    except (Exception, SystemExit) as error:  # what somebody else's module raises at its import can be anything
        said = " ".join(str(error).split())
        raise ConfigInvalid(
            f"cloud {name!r} of the package {packages} cannot be loaded: {type(error).__name__}: {said}", hint=hint
        ) from error
    if not isinstance(found, Cloud):
        raise ConfigInvalid(
            f"{points[0].value} of the package {packages}, entry point {name!r}, is no Cloud", hint=hint
        )
    if found.name != name:
        raise ConfigInvalid(
            f"the package {packages} brings a cloud called {found.name!r} under the name {name!r}", hint=hint
        )
    return found


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist else point.module
