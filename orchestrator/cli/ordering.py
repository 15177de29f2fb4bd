"""From the words of `up` and `render`, and a specification file, to one order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from orchestrator.cli.asked import request_from
from orchestrator.errors import UsageError
from orchestrator.model.demand import Access
from orchestrator.operations.order import Order
from orchestrator.settings import Settings

__all__ = ["order_from"]


def order_from(typed: Mapping[str, Any], settings: Settings) -> Order:
    """The order. Raises :class:`UsageError` for words and :class:`ConfigInvalid` for what stands in the file."""
    wanted: dict[str, tuple[Any, str]] = {}
    around: dict[str, Any] = {}
    if typed["file"] is not None:
        from orchestrator.gitops.manifest import read_manifest

        manifest = read_manifest(typed["file"])
        wanted, around = dict(manifest.request), dict(manifest.around)
    request = request_from(typed, settings, file=wanted)
    nodes = typed["nodes"] if typed["nodes"] is not None else around.pop("nodes", 1)
    around.pop("nodes", None)
    around |= {key: value for key, value in _typed(typed).items() if value not in (None, "", (), {})}
    around["labels"] = {**(around.get("labels") or {}), **_labels(typed["labels"])}
    return Order(request=replace(request, nodes=nodes), sandbox=typed["sandbox"], **around)


def _typed(typed: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": typed["name"],
        "owner": typed["owner"],
        "ttl": typed["ttl"],
        "image": typed["image"],
        "access": Access(typed["access"]) if typed["access"] else None,
        "ssh_key": typed["ssh_key"],
        "ssh_from": typed["ssh_from"],
        "subnet": typed["subnet"],
        "disk_gib": typed["disk_gib"],
        "checkpoint_uri": typed["checkpoint"],
    }


def _labels(pairs: tuple[str, ...]) -> dict[str, str]:
    labels = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"--label {pair!r} is not KEY=VALUE", hint="write --label team=vision")
        labels[key.strip()] = value
    return labels
