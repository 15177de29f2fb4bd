"""`gpuorch doctor`: what is wrong here and how to mend it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from orchestrator.cli.options import listing_options
from orchestrator.cli.result import Result
from orchestrator.cli.session import Session

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["doctor"]

_MARKS = {"ok": "ok", "warning": "!!", "error": "XX"}


@click.command()
@click.option("--offline", is_flag=True, help="Ask no cloud.")
@listing_options
@click.pass_obj
def doctor(session: Session, offline: bool) -> Result:
    """Check this installation and say how to mend it.

    Looks at folders, terraform, the sandbox, the inventory, the age of prices, and each cloud's credentials.
    """
    from orchestrator.operations.doctor import examine

    findings = examine(session.world, offline=offline)
    rows = [
        {"check": item.check, "level": str(item.level), "message": item.message, "fix": item.fix} for item in findings
    ]

    def human(console: Console) -> None:
        for row in rows:
            console.print(f"[{_MARKS[row['level']]}] {row['check']}: {row['message']}", markup=False, soft_wrap=True)
            if row["fix"]:
                console.print(f"       fix: {row['fix']}", markup=False, soft_wrap=True)

    bad = any(row["level"] == "error" for row in rows)
    return Result(command="doctor", data={"findings": rows}, human=human, rows=rows, exit_code=1 if bad else 0)
