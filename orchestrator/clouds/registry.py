"""Which clouds there are: the folders beside this file, and those that other packages bring by entry point."""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.clouds.contract import Cloud
from orchestrator.errors import ConfigInvalid, UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["cloud", "cloud_names"]

ENTRY_POINTS = "gpuorch.clouds"


@cache
def _foreign() -> dict[str, EntryPoint]:
    # It takes longer to import than all clouds together, and most calls are for a cloud of our own.
    import importlib.metadata

    return {point.name: point for point in importlib.metadata.entry_points(group=ENTRY_POINTS)}


@cache
def _own() -> frozenset[str]:
    return frozenset(path.parent.name for path in Path(__file__).parent.glob("*/cloud.py"))


def cloud_names() -> tuple[str, ...]:
    """Names of all clouds, sorted; imports none of them."""
    return tuple(sorted(_own() | _foreign().keys()))


@cache
def cloud(name: str) -> Cloud:
    """The cloud of that name; :class:`UsageError` where there is none."""
    if name in _own():
        module = importlib.import_module(f"orchestrator.clouds.{name}.cloud")
        found = module.CLOUD
    elif name in _foreign():
        found = _foreign()[name].load()
    else:
        raise UsageError(f"no cloud is called {name!r}", hint=f"clouds: {', '.join(cloud_names())}")
    if not isinstance(found, Cloud):
        raise ConfigInvalid(f"the package that brings cloud {name!r} has no Cloud in its entry point {ENTRY_POINTS}")
    return found
