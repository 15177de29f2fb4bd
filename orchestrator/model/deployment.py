"""The record of one deployment, as the inventory keeps it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

from orchestrator.model.offer import Offer

__all__ = ["Attempt", "AttemptResult", "Deployment", "DeploymentState", "Event", "valid_name"]


class DeploymentState(StrEnum):
    """The life of a deployment. Only ``gone`` and ``failed`` promise that nothing of it exists."""

    PLANNED = "planned"  # written down; no effect yet
    CREATING = "creating"  # terraform is at work, or was when its process ended
    BOOTSTRAPPING = "bootstrapping"  # the machine exists and is not ready
    READY = "ready"
    DEGRADED = "degraded"  # the machine exists; its bootstrap failed or did not report in time
    LOST = "lost"  # the cloud says the machine is gone, and nobody asked for that
    DELETING = "deleting"  # deletion was asked for and is not confirmed by the cloud
    GONE = "gone"  # the cloud confirmed
    FAILED = "failed"  # never came up; everything of it is confirmed gone

    @property
    def final(self) -> bool:
        return self in (DeploymentState.GONE, DeploymentState.FAILED)

    @property
    def unfinished(self) -> bool:
        """Whether an operation was under way: if no process holds the lock, it was cut off."""
        return self in (DeploymentState.PLANNED, DeploymentState.CREATING, DeploymentState.DELETING)


class AttemptResult(StrEnum):
    STARTED = "started"
    CREATED = "created"
    FAILED = "failed"
    SKIPPED = "skipped"  # a cool-down learnt during this run covers it


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One candidate that was tried. ``kind`` is a :class:`~orchestrator.model.failure.FailureKind` where it failed.

    ``applied`` is set before terraform is first asked to change anything: until then nothing of it can exist.
    """

    number: int
    offer: Offer
    result: AttemptResult
    kind: str = ""
    reason: str = ""
    applied: bool = False
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened to a deployment, append-only."""

    at: datetime
    kind: str
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """What is known of a deployment. Written before every effect that it describes.

    ``spec`` is the JSON-ready form of everything the launch is rendered from except the offer, and never changes;
    ``offer`` is the one being tried or running; ``outputs`` are the root's outputs. ``sandbox`` marks a simulated one.
    The placement that it was decided by is kept beside it (``Inventory.placement``), because it can be large.
    """

    id: str
    name: str
    owner: str
    state: DeploymentState
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None = None
    sandbox: bool = False
    spec: Mapping[str, Any]
    offer: Offer
    attempt: int = 0
    outputs: Mapping[str, Any] = field(default_factory=dict)
    ready_source: str = ""
    problem: str = ""

    @property
    def price_per_hour(self) -> Decimal | None:
        return self.offer.price_per_hour


_NAME = re.compile(r"[a-z][a-z0-9-]{0,38}[a-z0-9]")


def valid_name(name: str) -> bool:
    """Whether ``name`` can name a deployment: lower case, digits, ``-``, 2 to 40 long, so that every cloud takes it."""
    return _NAME.fullmatch(name) is not None
