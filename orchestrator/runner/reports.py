"""Terraform's records made into our nouns. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from orchestrator.model.failure import Diagnostic
from orchestrator.model.plan import Applied, Change, PlanReport

__all__ = ["addresses_in_state", "applied", "output_values", "plan_report", "streamed_outputs"]

Record = Mapping[str, Any]

# Reading a data source changes nothing.
_NO_CHANGE = frozenset({"noop", "no-op", "read"})
# Two words of terraform's for leaving a resource alone that is no longer managed.
_ACTIONS = {"remove": "forget"}


def plan_report(
    records: Iterable[Record], *, file: str, changed: bool, warnings: tuple[Diagnostic, ...] = ()
) -> PlanReport:
    """The report of a saved plan, its changes by address.

    ``changed`` is terraform's own word, by exit code 2: with no resource among the changes, outputs change. An address
    that is both deleted and created is one replacement.
    """
    actions: dict[str, set[str]] = {}
    for record in records:
        if record.get("type") != "planned_change":
            continue
        change = record.get("change", {})
        action = str(change.get("action", ""))
        if action not in _NO_CHANGE:
            address = str(change.get("resource", {}).get("addr", ""))
            actions.setdefault(address, set()).add(_ACTIONS.get(action, action))
    changes = tuple(
        Change(address=address, action=action)
        for address in sorted(actions)
        for action in sorted({"replace"} if {"create", "delete"} <= actions[address] else actions[address])
    )
    return PlanReport(file=file, changes=changes, outputs_change=changed and not changes, warnings=warnings)


def applied(records: Iterable[Record], outputs: Mapping[str, Any]) -> Applied:
    """Counts of the last summary of an apply or destroy; all zero where there is none."""
    counts: Record = {}
    for record in records:
        changes = record.get("changes", {})
        if record.get("type") == "change_summary" and changes.get("operation") in ("apply", "destroy"):
            counts = changes
    return Applied(
        added=int(counts.get("add", 0)),
        changed=int(counts.get("change", 0)),
        removed=int(counts.get("remove", 0)),
        outputs=outputs,
    )


def streamed_outputs(records: Sequence[Record]) -> dict[str, Any] | None:
    """Name → value by an apply's stream; ``None`` where it does not tell all: it leaves out sensitive values."""
    for record in reversed(records):
        if record.get("type") == "outputs":
            outputs = record.get("outputs", {})
            if all("value" in body for body in outputs.values()):
                return output_values(outputs)
            return None
    return None


def output_values(outputs: Mapping[str, Any]) -> dict[str, Any]:
    """Name → value of ``{name: {"value": …, "sensitive": …}}``, sorted by name."""
    return {name: outputs[name]["value"] for name in sorted(outputs)}


def addresses_in_state(state: Mapping[str, Any], *, tainted: bool = False) -> tuple[str, ...]:
    """Addresses of the managed resource instances in a state of format 4, in terraform's own notation, sorted.

    With ``tainted`` only of those that terraform would replace because their creation did not come to its end.
    """
    found = set()
    for resource in state.get("resources", ()):
        if resource.get("mode") != "managed":
            continue
        module = f"{resource['module']}." if resource.get("module") else ""
        for instance in resource.get("instances", ()):
            if tainted and instance.get("status") != "tainted":
                continue
            key = _key(instance.get("index_key"))
            found.add(f"{module}{resource['type']}.{resource['name']}{key}")
    return tuple(sorted(found))


def _key(key: str | int | float | None) -> str:
    if key is None:
        return ""
    if isinstance(key, str):
        # Terraform's quoting is JSON's, with the two openings of a template doubled and other letters left as they are.
        quoted = json.dumps(key, ensure_ascii=False).replace("${", "$${").replace("%{", "%%{")
        return f"[{quoted}]"
    return f"[{int(key)}]"
