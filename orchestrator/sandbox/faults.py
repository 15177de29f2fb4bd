"""Ordered trouble: calls that fail or take their time, and machines that are sold out."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from orchestrator.clouds.rules import MachineFacts, Values

__all__ = ["Fault", "Shortage", "first_fault", "short_of", "take_fault"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Trouble for matching calls.

    ``operation`` is ``create``, ``update``, ``delete``, ``read`` (``type`` is then ``data.…`` for a data source) or
    ``boot`` (a machine's bootstrap: ``error`` is the name of the step that fails, ``detail`` its ``Kind: reason``, and
    ``delay_before`` is on the simulated clock). ``cloud`` and ``type`` are globs; ``match`` is argument → regular
    expression over the whole value as text. ``times`` bounds how often (``None``: always). ``delay_before`` and
    ``delay_after`` are seconds before the effect and between the effect and the answer. ``error`` ``""`` means that the
    call works, only slowly.
    """

    operation: str = "create"
    cloud: str = "*"
    type: str = "*"
    match: Mapping[str, str] = field(default_factory=dict)
    error: str = ""
    detail: str = ""
    times: int | None = None
    delay_before: float = 0.0
    delay_after: float = 0.0

    def meets(self, cloud: str, operation: str, type_: str, values: Values) -> bool:
        return (
            operation == self.operation
            and fnmatchcase(cloud, self.cloud)
            and fnmatchcase(type_, self.type)
            and all(re.fullmatch(pattern, str(values.get(name, ""))) for name, pattern in self.match.items())
        )

    def write(self, connection: sqlite3.Connection) -> None:
        connection.execute(
            "INSERT INTO faults (cloud, operation, type, match, error, detail, times, delay_before, delay_after)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                self.cloud,
                self.operation,
                self.type,
                json.dumps(dict(self.match)),
                self.error,
                self.detail,
                self.times,
                self.delay_before,
                self.delay_after,
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortage:
    """At most ``machines`` run that match the globs; ``place`` is matched against the zone, its id and the region."""

    cloud: str
    place: str
    instance_type: str
    market: str
    machines: int

    @classmethod
    def of(cls, row: sqlite3.Row) -> Shortage:
        return cls(**{name: row[name] for name in ("cloud", "place", "instance_type", "market", "machines")})

    def meets(self, region: str, facts: MachineFacts) -> bool:
        return (
            any(fnmatchcase(name, self.place) for name in (facts.zone, facts.zone_id, region) if name)
            and fnmatchcase(facts.instance_type, self.instance_type)
            and fnmatchcase(facts.market, self.market)
        )


def first_fault(connection: sqlite3.Connection, cloud: str, operation: str, type_: str, values: Values) -> Fault | None:
    """The oldest ordered fault that meets the call and is not used up."""
    found = _first(connection, cloud, operation, type_, values)
    return None if found is None else found[1]


def take_fault(connection: sqlite3.Connection, cloud: str, operation: str, type_: str, values: Values) -> Fault | None:
    """The same, counted as used once more."""
    found = _first(connection, cloud, operation, type_, values)
    if found is None:
        return None
    connection.execute("UPDATE faults SET hits = hits + 1 WHERE number = ?", (found[0],))
    return found[1]


def _first(
    connection: sqlite3.Connection, cloud: str, operation: str, type_: str, values: Values
) -> tuple[int, Fault] | None:
    plain = ("operation", "cloud", "type", "error", "detail", "times", "delay_before", "delay_after")
    for row in connection.execute("SELECT * FROM faults WHERE times IS NULL OR hits < times ORDER BY number"):
        fault = Fault(**{name: row[name] for name in plain}, match=json.loads(row["match"]))
        if fault.meets(cloud, operation, type_, values):
            return row["number"], fault
    return None


def short_of(
    connection: sqlite3.Connection,
    cloud: str,
    region: str,
    facts: MachineFacts,
    running: Iterable[tuple[str, MachineFacts]],
) -> bool:
    """Whether some ordered shortage leaves no room for one more machine."""
    rows = connection.execute("SELECT * FROM stock ORDER BY number").fetchall()
    shortages = [each for each in map(Shortage.of, rows) if fnmatchcase(cloud, each.cloud)]
    alive = list(running)
    return any(
        sum(shortage.meets(place, each) for place, each in alive) >= shortage.machines
        for shortage in shortages
        if shortage.meets(region, facts)
    )
