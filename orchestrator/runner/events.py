"""Terraform's output, read: the lines of its ``-json`` streams, and the errors that some commands only print as text.

Source of the fields: Terraform's page on its machine-readable UI, and lines recorded from Terraform 1.11 and 1.15.
Other lines (warnings about the CLI configuration, a crash) are kept for the error text and never break a run.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Mapping
from typing import Any

from orchestrator.model.failure import Diagnostic
from orchestrator.runner.contract import RunnerEvent

__all__ = ["Transcript", "diagnostic_of", "diagnostics_in_text", "event_of", "record_of"]

Record = Mapping[str, Any]

# What reports are made of: type → field. The rest only passes by: refreshing a large state is thousands of lines.
_REPORTED = {"planned_change": "change", "change_summary": "changes", "outputs": "outputs"}
_GARBAGE_LINES = 50
# They say only that others were errors.
_ECHOES = frozenset({"execution halted"})
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_BOX = re.compile(r"^[╷│╵] ?")
_HEADING = re.compile(r"^(Error|Warning): (.+)$")


def record_of(line: str) -> Record | None:
    """The JSON object of a line, ``None`` where it is none of terraform's."""
    if not line.startswith("{"):
        return None
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) and isinstance(record.get("type"), str) else None


def event_of(record: Record) -> RunnerEvent:
    """What happened, for a progress display. Fields that are absent or of another type than expected are empty."""
    body = _mapping(record.get("hook")) or _mapping(record.get("change"))
    elapsed = body.get("elapsed_seconds")
    return RunnerEvent(
        kind=str(record["type"]),
        message=str(record.get("@message", "")),
        address=str(_mapping(body.get("resource")).get("addr", "")),
        action=str(body.get("action", "")),
        elapsed_seconds=float(elapsed) if isinstance(elapsed, int | float) else 0.0,
    )


def diagnostic_of(found: Any) -> Diagnostic | None:
    """One of terraform's diagnostic objects. Where it points into a file, the place is the last line of the detail."""
    body = _mapping(found)
    if not body.get("summary") and not body.get("detail"):
        return None
    detail = str(body.get("detail", ""))
    place = _mapping(body.get("range"))
    if place.get("filename"):
        line = _mapping(place.get("start")).get("line", "?")
        detail = f"{detail}\n(on {place['filename']} line {line})".strip()
    return Diagnostic(
        severity=str(body.get("severity", "error")),
        summary=str(body.get("summary", "")).strip(),
        detail=detail,
        address=str(body.get("address", "")),
    )


def diagnostics_in_text(text: str) -> tuple[Diagnostic, ...]:
    """The ``Error:`` and ``Warning:`` blocks of text for people. Wrapped lines are joined, indented ones are left."""
    found: list[tuple[str, str, list[str]]] = []
    for raw in text.splitlines():
        line = _BOX.sub("", _COLOUR.sub("", raw)).rstrip()
        heading = _HEADING.match(line)
        if heading is not None:
            found.append((heading[1].lower(), heading[2], []))
        elif found:
            found[-1][2].append(line)
    return tuple(
        Diagnostic(severity=severity, summary=summary.strip(), detail=_unwrapped(lines))
        for severity, summary, lines in found
    )


class Transcript:
    """What is kept of one command's stdout: diagnostics, what reports are made of, and the last of all other lines."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.diagnostics: list[Diagnostic] = []
        self.garbage: deque[str] = deque(maxlen=_GARBAGE_LINES)

    def add(self, line: str) -> RunnerEvent | None:
        """Take a line; the event in it, if it is one."""
        record = record_of(line)
        if record is None:
            if line.strip():
                self.garbage.append(line)
            return None
        if isinstance(record.get(_REPORTED.get(record["type"], "")), dict):
            self.records.append(record)
        elif record["type"] == "diagnostic":
            diagnostic = diagnostic_of(record.get("diagnostic"))
            if diagnostic is not None and diagnostic not in self.diagnostics:
                self.diagnostics.append(diagnostic)
        return event_of(record)

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        return tuple(found for found in self.diagnostics if found.severity != "error")

    def errors(self, stderr: str, exit_code: int) -> tuple[Diagnostic, ...]:
        """Why a command failed, never empty: its diagnostics, else those printed as text, else its last lines."""
        streamed = [found for found in self.diagnostics if found.severity == "error"]
        if telling := tuple(found for found in streamed if found.summary not in _ECHOES):
            return telling
        printed = diagnostics_in_text("\n".join([*self.garbage, stderr]))
        if errors := tuple(found for found in printed if found.severity == "error"):
            return errors
        said = stderr.strip() or "\n".join(self.garbage)
        first, _, rest = _COLOUR.sub("", said).strip().partition("\n")
        return (
            Diagnostic(
                severity="error",
                summary=first or (streamed[0].summary if streamed else _end(exit_code)),
                detail=rest,
            ),
        )


def _end(exit_code: int) -> str:
    if exit_code < 0:
        return f"terraform was killed by signal {-exit_code}"
    return f"terraform ended with exit code {exit_code}"


def _mapping(value: Any) -> Record:
    return value if isinstance(value, dict) else {}


def _unwrapped(lines: list[str]) -> str:
    """Terraform breaks text for people at 78 columns: without a break, regular expressions find what they look for."""
    joined: list[str] = []
    for line in lines:
        follows = bool(joined) and bool(joined[-1]) and not joined[-1].startswith(" ")
        if follows and line and not line.startswith(" "):
            joined[-1] += " " + line
        else:
            joined.append(line)
    return "\n".join(joined).strip()
