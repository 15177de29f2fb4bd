"""`gpuorch clouds`: which clouds can be used here, and what is missing for the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.options import listing_options
from orchestrator.cli.result import Result
from orchestrator.cli.session import Session

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["clouds"]


@click.command()
@click.option("--check", is_flag=True, help="Ask each usable cloud about credentials, rights and quotas, too.")
@listing_options
@click.pass_obj
def clouds(session: Session, check: bool) -> Result:
    """Show which clouds can be used here, and what is missing for the others."""
    from orchestrator.operations.cloud_settings import survey

    seen = survey(session.world, check=check)
    rows: list[dict[str, Any]] = [
        {
            "cloud": item.name,
            "title": item.title,
            "usable": not item.missing,
            "missing": item.missing,
            "offers": item.offers,
            "settings": dict(item.settings),
            "findings": [
                {"check": found.check, "level": str(found.level), "message": found.message, "fix": found.fix}
                for found in item.findings
            ],
        }
        for item in seen
    ]

    def human(console: Console) -> None:
        from orchestrator.cli.tables import draw

        cells = [
            (row["cloud"], row["title"], "yes" if row["usable"] else "no", str(row["offers"]), row["missing"])
            for row in rows
        ]
        draw(console, ("CLOUD", "NAME", "USABLE", "OFFERS", "WHAT IS MISSING"), cells, right=("OFFERS",))
        for row in rows:
            for found in row["findings"]:
                console.print(f"{row['cloud']}: {found['check']}: {found['message']}", markup=False, soft_wrap=True)
                if found["fix"]:
                    console.print(f"  fix: {found['fix']}", markup=False, soft_wrap=True)

    flat = [{key: row[key] for key in ("cloud", "title", "usable", "missing", "offers")} for row in rows]
    return Result(command="clouds", data={"clouds": rows}, human=human, rows=flat)
