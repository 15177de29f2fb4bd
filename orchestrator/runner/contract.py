"""The one interface behind which terraform runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from orchestrator.model.failure import Diagnostic
from orchestrator.model.plan import Applied, PlanReport

__all__ = ["OnEvent", "Runner", "RunnerEvent"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerEvent:
    """One line of terraform's ``-json`` stream. ``kind`` is its ``type`` (``planned_change``, ``apply_start`` …)."""

    kind: str
    message: str
    address: str = ""
    action: str = ""
    elapsed_seconds: float = 0.0


OnEvent = Callable[[RunnerEvent], None]


class Runner(Protocol):
    """Runs terraform in a root folder.

    Every method raises :class:`~orchestrator.errors.TerraformFailed` with terraform's diagnostics,
    :class:`~orchestrator.errors.Busy` when the state is locked, and :class:`~orchestrator.errors.Interrupted` after it
    was cancelled and terraform has written its state.
    """

    def version(self) -> str:
        """``terraform 1.11.4`` or ``opentofu 1.9.0``."""
        ...

    def init(self, root: Path, *, on_event: OnEvent | None = None) -> None: ...

    def validate(self, root: Path) -> tuple[Diagnostic, ...]:
        """Errors and warnings of ``terraform validate``; empty when all is well. Needs ``init``."""
        ...

    def plan(
        self, root: Path, *, destroy: bool = False, refresh: bool = True, on_event: OnEvent | None = None
    ) -> PlanReport:
        """A saved plan in the root folder."""
        ...

    def apply(self, root: Path, plan: PlanReport, *, on_event: OnEvent | None = None) -> Applied:
        """Apply exactly that saved plan."""
        ...

    def destroy(self, root: Path, *, on_event: OnEvent | None = None) -> Applied: ...

    def outputs(self, root: Path) -> Mapping[str, Any]:
        """Output name → value. Needs no provider."""
        ...

    def addresses(self, root: Path) -> tuple[str, ...]:
        """Addresses of the managed resources in the state. Needs no provider."""
        ...

    def tainted(self, root: Path) -> tuple[str, ...]:
        """Of these, the ones that the next apply would replace, because their creation was cut off."""
        ...

    def untaint(self, root: Path, address: str) -> None:
        """``terraform untaint``: keep it as it is."""
        ...

    def adopt(self, root: Path, address: str, import_id: str) -> None:
        """``terraform import``: take an existing resource into the state."""
        ...
