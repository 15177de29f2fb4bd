"""Tables for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["draw"]

_UNLIMITED = 100_000


def draw(console: Console, columns: Sequence[str], rows: Iterable[Sequence[str]], *, right: Iterable[str] = ()) -> None:
    """A table without a frame; columns named in ``right`` are right-aligned.

    Cells are never cut, however narrow the terminal: a name that has lost its end is of no use to anybody.
    """
    from rich.measure import Measurement
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
    align_right = set(right)
    for column in columns:
        table.add_column(column, justify="right" if column in align_right else "left", no_wrap=True)
    for row in rows:
        # Text, not markup: a name may hold brackets.
        table.add_row(*(Text(cell) for cell in row))
    needed = Measurement.get(console, console.options.update(max_width=_UNLIMITED), table).maximum
    console.print(table, width=needed, crop=False)
