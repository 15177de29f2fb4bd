"""What a command gives back, and the one place that prints it."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from orchestrator.errors import GpuorchError, PartlyFailed, UsageError

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["SCHEMA_VERSION", "Result", "error_record", "print_result"]

# Of the JSON envelope: a new number when a name in it changes its meaning or goes.
SCHEMA_VERSION = "1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The outcome of a command.

    ``data`` is JSON-ready; ``human`` draws it for people; ``rows`` are flat records for ``-o csv`` where that makes
    sense. ``errors`` make it an error (or, with ``partial``, a partial one).
    """

    command: str
    data: Mapping[str, Any] = field(default_factory=dict)
    human: Callable[[Console], None] | None = None
    rows: Sequence[Mapping[str, Any]] | None = None
    errors: Sequence[GpuorchError] = ()
    partial: bool = False
    exit_code: int | None = None

    @property
    def code(self) -> int:
        if self.exit_code is not None:
            return self.exit_code
        if self.errors and self.partial:
            return PartlyFailed.exit_code
        return self.errors[0].exit_code if self.errors else 0

    @property
    def status(self) -> str:
        if not self.errors:
            return "success"
        return "partial" if self.partial else "error"


def error_record(error: GpuorchError) -> dict[str, str]:
    return {"code": error.code, "message": error.message, "hint": error.hint}


def print_result(result: Result, output: str, messages: Sequence[str], *, color: bool) -> None:
    """Print ``result`` on stdout as ``table``, ``json`` or ``csv``. Errors for people go to stderr elsewhere."""
    if output == "json":
        envelope = {
            "schema_version": SCHEMA_VERSION,
            "command": result.command,
            "status": result.status,
            "exit_code": result.code,
            "data": result.data,
            "messages": list(messages),
            "errors": [error_record(error) for error in result.errors],
        }
        sys.stdout.write(json.dumps(envelope, indent=2, ensure_ascii=False) + "\n")
    elif output == "csv":
        _print_csv(result)
    elif result.human is not None:
        result.human(_console(color))
    sys.stdout.flush()


def _print_csv(result: Result) -> None:
    if result.rows is None:
        if result.errors:
            return
        raise UsageError(f"gpuorch {result.command} has no CSV output", hint="use -o table or -o json")
    columns = list(dict.fromkeys(column for row in result.rows for column in row))
    writer = csv.DictWriter(sys.stdout, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(result.rows)


def _console(color: bool) -> Console:
    from rich.console import Console

    # Without a terminal there is no width to wrap to: a pipe gets whole lines.
    width = None if sys.stdout.isatty() else 200
    return Console(no_color=not color, width=width, highlight=False, soft_wrap=False)
