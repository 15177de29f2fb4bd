"""What a cloud says about machines and other resources that carry a deployment's tags."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

__all__ = ["Finding", "FoundResource", "Level", "Machine", "MachineState", "ReadyReport"]


class MachineState(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    STOPPING = "stopping"
    STOPPED = "stopped"
    TERMINATING = "terminating"
    GONE = "gone"

    @property
    def billed(self) -> bool:
        """Whether it still exists and may cost money."""
        return self is not MachineState.GONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """One machine as the cloud sees it."""

    id: str
    deployment_id: str
    region: str
    zone: str = ""
    instance_type: str = ""
    market: str = ""
    state: MachineState
    state_reason: str = ""
    address: str = ""
    private_address: str = ""
    launched_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundResource:
    """A resource that carries a deployment's tags.

    ``address`` is where it belongs in the rendered root (``module.machine.aws_instance.machine[0]``), ``import_id``
    what ``terraform import`` wants; ``address`` is ``""`` for things terraform does not manage (a root volume, say).
    """

    type: str
    id: str
    address: str = ""
    import_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyReport:
    """How far the machine's bootstrap is. ``source`` names what told us (``console``, ``marker``, ``ssh``).

    ``step`` is the bootstrap's own word, ``number`` of ``total`` steps; ``failed`` carries the reason of a failed step.
    """

    source: str
    step: str
    number: int
    total: int
    ready: bool = False
    failed: str = ""


class Level(StrEnum):
    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One line of ``gpuorch doctor``: what was looked at, what was found, and the fix where there is one."""

    check: str
    level: Level
    message: str
    fix: str = ""
