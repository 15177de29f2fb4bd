"""What one run of the command line shares: its options, its conversation, and the World once it is needed."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator.cli.conversation import Conversation
from orchestrator.settings import Settings

if TYPE_CHECKING:
    from orchestrator.operations.world import World

__all__ = ["OUTPUTS", "Session"]

OUTPUTS = ("table", "json", "csv")


class Session:
    """One run. ``options`` are those given on the command line that are settings, ``None`` left out."""

    def __init__(self, environ: Mapping[str, str], arguments: list[str]) -> None:
        self.environ = environ
        self.options: dict[str, Any] = {}
        self.output = _output_of(arguments)
        self.no_color = False
        self.command = ""
        self.conversation = Conversation(sys.stderr, quiet=False)

    @property
    def color(self) -> bool:
        """Colour only for a terminal that wants it (no-color.org)."""
        if self.environ.get("FORCE_COLOR"):
            return True
        plain = self.no_color or bool(self.environ.get("NO_COLOR")) or self.environ.get("TERM") == "dumb"
        return sys.stdout.isatty() and not plain

    @cached_property
    def settings(self) -> Settings:
        return Settings.load(self.options, self.environ, Path.cwd())

    @cached_property
    def world(self) -> World:
        from orchestrator.operations.real_world import real_world

        return real_world(self.settings, dict(self.environ), self.conversation)


def _output_of(arguments: list[str]) -> str:
    """The output format as far as it can be told before parsing, so that a wrong option is reported in it too."""
    for index, word in enumerate(arguments):
        for flag in ("-o", "--output"):
            value = arguments[index + 1] if word == flag and index + 1 < len(arguments) else ""
            if word.startswith(f"{flag}=") or (flag == "-o" and word.startswith("-o") and len(word) > 2):
                value = word.removeprefix(flag).removeprefix("=")
            if value in OUTPUTS:
                return value
    return "table"


def new_session(arguments: list[str]) -> Session:
    return Session(os.environ, arguments)
