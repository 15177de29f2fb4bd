"""What a machine says about its bootstrap, read back from its console or its status file.

The bootstrap (``templates/bootstrap/bootstrap.sh``) writes, at the begin of each step and at its end, one line::

    gpuorch-status {"deployment": …, "step": …, "number": …, "total": …, "since": …, "ready": …, "failed": …}
    gpuorch-failed {"deployment": …, "step": …, "kind": …, "reason": …}
    gpuorch-ready DEPLOYMENT_ID

The status alone is also in ``/var/lib/gpuorch/status.json`` and, where there is a checkpoint location, at
:func:`status_uri`. A console is a shared and lossy thing: kernel lines before, between and inside ours, lines cut
at either end, control sequences. What cannot be read whole is passed over; the last line that can be read counts.
"""

from __future__ import annotations

import json
import re
from typing import Any

from orchestrator.model.machine import ReadyReport

__all__ = ["STEPS", "from_console", "from_status_json", "status_lines", "status_uri"]

STEPS = ("driver", "gpus", "persistence", "scratch", "python", "smoke", "ready")
"""The steps of the bootstrap, in order; number and total count them."""

_LINE = re.compile(r"gpuorch-(?:(?P<kind>status|failed) +(?=\{)|ready +(?P<ready>[a-z0-9]+))")
# The script cuts a reason at 300 characters; a longer line than this is not one of ours.
_LONGEST_JSON = 2_000
_DECODER = json.JSONDecoder()


def status_uri(checkpoint_uri: str, deployment_id: str) -> str:
    """Where a deployment's status lies in the object store."""
    return f"{checkpoint_uri.rstrip('/')}/.gpuorch/{deployment_id}/status.json"


def from_console(text: str, deployment_id: str) -> ReadyReport | None:
    """The newest state in a serial console's output, or ``None``; other deployments' lines do not count."""
    report: ReadyReport | None = None
    for match in _LINE.finditer(text):
        if match["ready"] is not None:
            found = _ready("console") if match["ready"] == deployment_id else None
        else:
            value = _decoded(text[match.end() : match.end() + _LONGEST_JSON])
            if value.get("deployment") != deployment_id:
                continue
            found = _status(value, "console") if match["kind"] == "status" else _failed(value)
        report = found or report
    return report


def from_status_json(text: str, source: str, deployment_id: str = "") -> ReadyReport | None:
    """The state in a status file, or ``None`` if it is none (or another deployment's, where an id is given)."""
    value = _decoded(text.strip())
    if deployment_id and value.get("deployment") != deployment_id:
        return None
    return _status(value, source)


def status_lines(deployment_id: str, step: str, since: str, failed: str = "") -> tuple[str, ...]:
    """The console lines of a machine that is at ``step``, has ``failed`` there (``Kind: reason``) or is ``ready``."""
    ready = step == STEPS[-1] and not failed
    status = {
        "deployment": deployment_id,
        "step": step,
        "number": STEPS.index(step) + 1,
        "total": len(STEPS),
        "since": since,
        "ready": ready,
        "failed": failed,
    }
    lines = [f"gpuorch-status {json.dumps(status, separators=(',', ':'))}"]
    if failed:
        kind, _, reason = failed.partition(": ")
        why = {"deployment": deployment_id, "step": step, "kind": kind, "reason": reason}
        lines.append(f"gpuorch-failed {json.dumps(why, separators=(',', ':'))}")
    if ready:
        lines.append(f"gpuorch-ready {deployment_id}")
    return tuple(lines)


def _decoded(text: str) -> dict[str, Any]:
    """The JSON object at the begin of a text; empty where there is none. What follows it does not matter."""
    try:
        value, _ = _DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _ready(source: str) -> ReadyReport:
    return ReadyReport(source=source, step=STEPS[-1], number=len(STEPS), total=len(STEPS), ready=True)


def _status(value: dict[str, Any], source: str) -> ReadyReport | None:
    match value:
        case {
            "step": str(step),
            "number": int(number),
            "total": int(total),
            "ready": bool(ready),
            "failed": str(failed),
        }:
            if not 1 <= number <= total:
                return None
            return ReadyReport(source=source, step=step, number=number, total=total, ready=ready, failed=failed)
    return None


def _failed(value: dict[str, Any]) -> ReadyReport | None:
    match value:
        case {"step": str(step), "kind": str(kind), "reason": str(reason)} if step in STEPS:
            number = STEPS.index(step) + 1
            return ReadyReport(source="console", step=step, number=number, total=len(STEPS), failed=f"{kind}: {reason}")
    return None
