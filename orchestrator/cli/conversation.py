"""The conversation on stderr: stages with their time, messages, questions."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

from orchestrator.errors import UsageError

if TYPE_CHECKING:
    from orchestrator.operations.world import Stage

__all__ = ["Conversation"]

_CLEAR_LINE = "\r\x1b[2K"


@dataclass(slots=True)
class _Line:
    """One stage's line: redrawn in place on a terminal, printed once at its end elsewhere."""

    conversation: Conversation
    title: str
    began: float = field(default_factory=time.monotonic)
    text: str = ""

    def detail(self, text: str) -> None:
        self.text = text
        self.conversation.redraw(self)

    def line(self) -> str:
        seconds = time.monotonic() - self.began
        return f"  {self.title:<28} {seconds:6.1f}s  {self.text}".rstrip()


class Conversation:
    """The :class:`~orchestrator.operations.world.Progress` of a stream. ``quiet`` keeps stages and messages back."""

    def __init__(self, stream: TextIO, *, quiet: bool = False) -> None:
        self.stream = stream
        self.quiet = quiet
        self.messages: list[str] = []
        self._live = stream.isatty() and os.environ.get("TERM") != "dumb"

    def say(self, text: str) -> None:
        self.messages.append(text)
        if not self.quiet:
            self._write(f"{text}\n")

    def warn(self, text: str) -> None:
        """A message that ``--quiet`` does not keep back."""
        self.messages.append(text)
        self._write(f"{text}\n")

    @contextmanager
    def stage(self, title: str) -> Iterator[Stage]:
        line = _Line(self, title)
        self.redraw(line)
        try:
            yield line
        except BaseException:
            line.text = f"{line.text} — failed".strip(" —") if line.text else "failed"
            raise
        finally:
            if not self.quiet:
                self._write(f"{line.line()}\n")

    def redraw(self, line: _Line) -> None:
        if self._live and not self.quiet:
            # Cut to the terminal: a line that wraps could not be taken back.
            self.stream.write(f"{_CLEAR_LINE}{line.line()[: shutil.get_terminal_size().columns - 1]}")
            self.stream.flush()

    @staticmethod
    def require_consent(*, yes: bool) -> None:
        """:class:`UsageError`, before any work, where a yes will be needed and nobody can be asked."""
        if not yes and not sys.stdin.isatty():
            raise UsageError("this needs a yes, and there is no terminal to ask on", hint="give --yes")

    def confirm(self, question: str, *, yes: bool, expect: str = "") -> bool:
        """Ask on the terminal. ``expect``: the exact word to type; else y or n."""
        self.require_consent(yes=yes)
        if yes:
            return True
        prompt = f"{question} [{f'type {expect}' if expect else 'y/N'}] "
        self._write(prompt)
        answer = sys.stdin.readline().strip()
        return answer == expect if expect else answer.lower() in ("y", "yes")

    def _write(self, text: str) -> None:
        if self._live:
            self.stream.write(_CLEAR_LINE)
        self.stream.write(text)
        self.stream.flush()
