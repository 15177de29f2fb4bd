"""Several questions to a cloud at once, each with its finding, and none that can hold up the others."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from time import monotonic

from orchestrator.errors import GpuorchError
from orchestrator.model.machine import Finding, Level

__all__ = ["Check", "all_at_once"]

Check = tuple[str, Callable[[], Finding | list[Finding]]]
"""A name and the question: its findings, or a :class:`GpuorchError`, which becomes one."""


def all_at_once(checks: Sequence[Check], seconds: float, *, cloud: str, silent: str, fix: str) -> list[Finding]:
    """The findings of all checks, in their order; one that takes longer than ``seconds`` is left behind.

    ``silent`` and ``fix`` are what is then said of it. Names of failed checks are led by ``cloud``. Daemon threads,
    since a name server that does not answer blocks a call beyond every time limit of its own.
    """
    done: dict[str, list[Finding]] = {}

    def run(name: str, check: Callable[[], Finding | list[Finding]]) -> None:
        try:
            found = check()
        except GpuorchError as error:
            found = Finding(check=f"{cloud} {name}", level=Level.ERROR, message=error.message, fix=error.hint)
        done[name] = found if isinstance(found, list) else [found]

    threads = [threading.Thread(target=run, args=check, daemon=True) for check in checks]
    for thread in threads:
        thread.start()
    end = monotonic() + seconds
    for thread in threads:
        thread.join(max(0.0, end - monotonic()))
    return [
        finding
        for name, _ in checks
        for finding in done.get(name) or [Finding(check=f"{cloud} {name}", level=Level.ERROR, message=silent, fix=fix)]
    ]
