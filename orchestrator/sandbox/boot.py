"""The simulated first boot of a machine: what its serial console shows at which moment.

Simulated: nothing is installed and no GPU is tried. The lines are those of the real bootstrap, played at a steady pace,
so that everything that waits for a machine can be tried; what they claim about drivers or PyTorch means nothing.
"""

from __future__ import annotations

import base64
import gzip
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from orchestrator.sandbox.faults import Fault
from orchestrator.stack.cloudinit import ENV_PATH
from orchestrator.stack.readiness import STEPS, status_lines, status_uri

__all__ = ["Boot", "console", "is_running", "status", "status_location", "time_limit"]

_STATUS = "gpuorch-status "
_ORDERED = "Unexpected: ordered by the sandbox"
_BANNER = "gpuorch sandbox: a simulated machine; nothing below happened on real hardware"


class _NotBootable(ValueError):
    """The user data would not survive cloud-init; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Boot:
    """One boot: its user data, its beginning on the simulated clock, its length, and the trouble ordered for it."""

    user_data: str
    began: datetime
    seconds: float
    fault: Fault | None = None

    def elapsed(self, now: datetime) -> float:
        """Seconds since the machine was launched, less the delay that was ordered for its boot."""
        delay = self.fault.delay_before if self.fault else 0.0
        return (now - self.began).total_seconds() - delay


def is_running(boot: Boot, now: datetime) -> bool:
    """Whether the machine is past ``pending``, a tenth of its boot."""
    return boot.elapsed(now) >= boot.seconds / 10


def time_limit(user_data: str) -> timedelta | None:
    """How long after its launch the machine ends itself, ``None``: never, or the user data does not boot."""
    try:
        seconds = _environment(user_data).get("TTL", "")
    except _NotBootable:
        return None
    return timedelta(seconds=int(seconds)) if seconds.isdecimal() and int(seconds) else None


def console(boot: Boot, now: datetime) -> str:
    """The serial console up to ``now``, ``""`` before the first line."""
    if not is_running(boot, now):
        return ""
    lines = [_BANNER]
    try:
        environment = _environment(boot.user_data)
    except _NotBootable as problem:
        return "\n".join([*lines, f"cloud-init[1]: failed to load the user data: {problem}", ""])
    if "DEPLOYMENT" not in environment:
        return "\n".join([*lines, f"cloud-init[1]: finished; the user data has no {ENV_PATH}", ""])
    return "\n".join([*lines, *_told(boot, environment["DEPLOYMENT"], boot.elapsed(now)), ""])


def status(boot: Boot, now: datetime) -> str | None:
    """The machine's status file as it has uploaded it up to ``now``, ``None`` before the first step."""
    try:
        environment = _environment(boot.user_data)
    except _NotBootable:
        return None
    lines = _told(boot, environment.get("DEPLOYMENT", ""), boot.elapsed(now))
    reports = [line.removeprefix(_STATUS) for line in lines if line.startswith(_STATUS)]
    return reports[-1] if reports else None


def status_location(user_data: str) -> str:
    """Where the machine uploads its status, ``""`` where it does not."""
    try:
        environment = _environment(user_data)
    except _NotBootable:
        return ""
    uri, deployment = environment.get("CHECKPOINT_URI", ""), environment.get("DEPLOYMENT", "")
    return status_uri(uri, deployment) if uri and environment.get("UPLOAD", "()") != "()" else ""


def _told(boot: Boot, deployment: str, elapsed: float) -> Sequence[str]:
    failing = boot.fault.error if boot.fault and boot.fault.error else ""
    if failing and failing not in STEPS:
        failing = STEPS[0]
    lines: list[str] = []
    for number, step in enumerate(STEPS, start=1):
        after = boot.seconds * number / len(STEPS)
        if elapsed < after:
            break
        since = f"{boot.began + timedelta(seconds=after):%Y-%m-%dT%H:%M:%SZ}"
        if step == failing:
            reason = (boot.fault.detail if boot.fault else "") or _ORDERED
            return [*lines, *status_lines(deployment, step, since, failed=reason)]
        lines += status_lines(deployment, step, since)
    return lines


def _environment(user_data: str) -> Mapping[str, str]:
    """What the bootstrap will be told, read as cloud-init and the shell would."""
    import yaml

    if not user_data.startswith("#cloud-config"):
        raise _NotBootable("its first line is not #cloud-config")
    try:
        document = yaml.load(user_data, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as error:
        raise _NotBootable(f"not YAML: {str(error).splitlines()[0]}") from None
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise _NotBootable("not a mapping")
    files = document.get("write_files") or []
    for item in files if isinstance(files, list) else []:
        if isinstance(item, dict) and item.get("path") == ENV_PATH:
            return _assignments(_content(item))
    return {}


def _content(item: Mapping[str, Any]) -> str:
    """A file's text; encodings as cloud-init's module write_files knows them."""
    content, encoding = str(item.get("content", "")), str(item.get("encoding", ""))
    try:
        data = base64.b64decode(content, validate=False) if "b64" in encoding or "base64" in encoding else None
        if data is not None and encoding.startswith(("gz", "gzip")):
            data = gzip.decompress(data)
        return content if data is None else data.decode()
    except (ValueError, OSError, EOFError) as error:
        raise _NotBootable(f"{item.get('path')} is not {encoding}: {error}") from None


def _assignments(text: str) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for line in text.splitlines():
        name, equals, value = line.partition("=")
        if equals and name.isidentifier():
            try:
                found[name] = "".join(shlex.split(value, comments=True))
            except ValueError:
                raise _NotBootable(f"{ENV_PATH} has a line that no shell reads: {line}") from None
    return found
