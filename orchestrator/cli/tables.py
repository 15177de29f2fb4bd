"""Tables for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["draw"]

_BETWEEN = "  "


def draw(console: Console, columns: Sequence[str], rows: Iterable[Sequence[str]], *, right: Iterable[str] = ()) -> None:
    """A table without a frame; columns named in ``right`` are right-aligned.

    A line that is longer than the terminal is wide is left to the terminal to wrap: a name that has lost its end, as
    in tables that fit themselves in, is of no use to anybody.
    """
    from rich.cells import cell_len
    from rich.text import Text

    lines = [tuple(columns), *map(tuple, rows)]
    widths = [max(map(cell_len, cells)) for cells in zip(*lines, strict=True)]
    align_right = set(right)
    for number, line in enumerate(lines):
        padded = []
        for column, cell, width in zip(columns, line, widths, strict=True):
            space = " " * (width - cell_len(cell))
            padded.append(space + cell if column in align_right else cell + space)
        # Text, not markup: a name may hold brackets.
        console.print(Text(_BETWEEN.join(padded).rstrip(), style="" if number else "bold"), soft_wrap=True)
