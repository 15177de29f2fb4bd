"""`gpuorch config`: settings and where they come from."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.options import common_options, listing_options
from orchestrator.cli.result import Result
from orchestrator.cli.session import Session
from orchestrator.settings import SETTINGS

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["config"]


@click.group()
@common_options
def config() -> None:
    """Show settings and where each comes from."""


@config.command()
@click.option("--origin", is_flag=True, help="Also where each value comes from.")
@listing_options
@click.pass_obj
def show(session: Session, origin: bool) -> Result:
    """Show all settings. Options beat GPUORCH_… variables, ./gpuorch.toml, the user's file, /etc, defaults."""
    rows: list[dict[str, Any]] = [
        {"setting": key, "value": _plain(value.value), "origin": value.origin, "help": SETTINGS[key].help}
        for key, value in session.settings.items()
    ]

    def human(console: Console) -> None:
        from orchestrator.cli.tables import draw

        columns = ("SETTING", "VALUE", "ORIGIN") if origin else ("SETTING", "VALUE")
        keys = ("setting", "value", "origin")[: len(columns)]
        draw(console, columns, [["" if row[key] is None else str(row[key]) for key in keys] for row in rows])

    return Result(command="config show", data={"settings": rows}, human=human, rows=rows)


def _plain(value: Any) -> Any:
    if isinstance(value, timedelta):
        return f"{int(value.total_seconds())}s"
    if isinstance(value, tuple):
        return ",".join(str(part) for part in value) or None
    if isinstance(value, dict):
        return {key: str(part) for key, part in value.items()} or None
    return value if value is None or isinstance(value, int) else str(value)
