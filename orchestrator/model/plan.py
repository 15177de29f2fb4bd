"""Terraform's word, parsed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from orchestrator.model.failure import Diagnostic

__all__ = ["Applied", "Change", "PlanReport"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One resource's planned action: ``create``, ``update``, ``delete``, ``replace`` or ``import``."""

    address: str
    action: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanReport:
    """A saved plan: its file (relative to the root), what it will do, and warnings.

    ``outputs_change`` is set when applying it changes outputs of the root and no resource.
    """

    file: str
    changes: tuple[Change, ...]
    outputs_change: bool = False
    warnings: tuple[Diagnostic, ...] = ()

    @property
    def has_changes(self) -> bool:
        return bool(self.changes) or self.outputs_change

    def count(self, action: str) -> int:
        return sum(change.action == action for change in self.changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """An apply or destroy that ended well: counts by terraform's own summary, and the root's outputs."""

    added: int
    changed: int
    removed: int
    outputs: Mapping[str, Any] = field(default_factory=dict)
