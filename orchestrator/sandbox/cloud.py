"""The simulated cloud: what exists in it, its clock, and the faults and shortages that were ordered.

Simulated, all of it: nothing here is a machine. One file holds every cloud; processes share it. Time is the real time
plus an offset that only ever grows, so that a test can let hours pass.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from orchestrator.clouds.rules import MachineFacts, Values
from orchestrator.sandbox.database import Database
from orchestrator.sandbox.faults import Fault, Shortage, first_fault, short_of, take_fault

__all__ = ["DEFAULT_BOOT_SECONDS", "Call", "SimulatedCloud", "SimulatedResource", "Transaction"]

DEFAULT_BOOT_SECONDS = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedResource:
    """One resource. It exists until ``ends_at`` (simulated time); ``None``: nothing ends it yet."""

    cloud: str
    region: str
    type: str
    id: str
    deployment: str
    values: Values
    machine: MachineFacts | None
    created_at: datetime
    ends_at: datetime | None
    end_reason: str

    def exists(self, now: datetime) -> bool:
        return self.ends_at is None or now < self.ends_at


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call that changed, or failed to change, the simulated cloud; ``error`` is ``""`` for one that worked."""

    at: datetime
    cloud: str
    region: str
    operation: str
    type: str
    id: str
    error: str


class Transaction:
    """What can be done to the cloud at one moment. ``now`` stands still inside it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection
        self.now = _time(time.time() + self.setting("clock_offset", 0.0))

    def setting(self, name: str, default: float) -> float:
        row = self._sql.execute("SELECT value FROM settings WHERE name = ?", (name,)).fetchone()
        return default if row is None else float(row["value"])

    def set_setting(self, name: str, value: float) -> None:
        self._sql.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, value))

    def find(
        self,
        *,
        cloud: str = "",
        region: str = "",
        type_: str = "",
        id_: str = "",
        deployment: str = "",
        gone: bool = False,
    ) -> list[SimulatedResource]:
        """What matches everything that is said, oldest first; also what is gone, if asked."""
        said = {"cloud": cloud, "region": region, "type": type_, "id": id_, "deployment": deployment}
        wanted = {name: value for name, value in said.items() if value}
        where = " AND ".join(["1", *(f"{name} = ?" for name in wanted)])
        values: tuple[Any, ...] = tuple(wanted.values())
        if not gone:
            where, values = f"{where} AND (ends_at IS NULL OR ends_at > ?)", (*values, self.now.timestamp())
        return [
            _resource(row)
            for row in self._sql.execute(f"SELECT * FROM resources WHERE {where} ORDER BY number", values)
        ]

    def add(self, resource: SimulatedResource) -> None:
        self._sql.execute(
            "INSERT INTO resources"
            " (cloud, region, type, id, deployment, body, machine, created_at, ends_at, end_reason)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                resource.cloud,
                resource.region,
                resource.type,
                resource.id,
                resource.deployment,
                json.dumps(resource.values),
                None if resource.machine is None else json.dumps(asdict(resource.machine)),
                resource.created_at.timestamp(),
                None if resource.ends_at is None else resource.ends_at.timestamp(),
                resource.end_reason,
            ),
        )

    def change(self, resource: SimulatedResource) -> None:
        """Write the newest resource of that id as it is given."""
        machine = None if resource.machine is None else json.dumps(asdict(resource.machine))
        self._sql.execute(
            "UPDATE resources SET body = ?, deployment = ?, machine = ? WHERE number = (SELECT max(number)"
            " FROM resources WHERE cloud = ? AND type = ? AND id = ? AND region = ?)",
            (
                json.dumps(resource.values),
                resource.deployment,
                machine,
                resource.cloud,
                resource.type,
                resource.id,
                resource.region,
            ),
        )

    def end(self, resource: SimulatedResource, *, at: datetime | None = None, reason: str = "") -> None:
        """The resource is gone from ``at`` (now) on, unless it is already to end before."""
        moment = (self.now if at is None else at).timestamp()
        self._sql.execute(
            "UPDATE resources SET ends_at = ?, end_reason = ? WHERE cloud = ? AND type = ? AND id = ? AND region = ?"
            " AND (ends_at IS NULL OR ends_at > ?)",
            (moment, reason, resource.cloud, resource.type, resource.id, resource.region, moment),
        )

    def take_fault(self, cloud: str, operation: str, type_: str, values: Values) -> Fault | None:
        """The first ordered fault that matches the call, used up once."""
        return take_fault(self._sql, cloud, operation, type_, values)

    def has_stock(self, cloud: str, region: str, facts: MachineFacts) -> bool:
        """Whether one more machine of the kind can be launched."""
        running = [(each.region, each.machine) for each in self.find(cloud=cloud) if each.machine is not None]
        return not short_of(self._sql, cloud, region, facts, running)

    def boot_fault(self, machine: SimulatedResource) -> Fault | None:
        """The fault ordered for the machine's bootstrap; it is not used up by looking."""
        return first_fault(self._sql, machine.cloud, "boot", machine.type, machine.values)

    def log(self, call: Call) -> None:
        self._sql.execute(
            "INSERT INTO calls (at, cloud, region, operation, type, id, error) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (call.at.timestamp(), call.cloud, call.region, call.operation, call.type, call.id, call.error),
        )


class SimulatedCloud:
    """The clouds in one file, for the stand-in providers, for commands and for tests."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._database = Database(path)

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        with self._database.reading() as connection:
            yield Transaction(connection)

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        with self._database.writing() as connection:
            yield Transaction(connection)

    def now(self) -> datetime:
        with self.reading() as transaction:
            return transaction.now

    def advance(self, by: timedelta) -> None:
        """Let simulated time pass at once."""
        if by < timedelta(0):
            raise ValueError("simulated time cannot run backwards")
        with self.writing() as transaction:
            transaction.set_setting("clock_offset", transaction.setting("clock_offset", 0.0) + by.total_seconds())

    @property
    def boot_seconds(self) -> float:
        """How long a simulated machine takes from its launch to the last line of its bootstrap."""
        with self.reading() as transaction:
            return transaction.setting("boot_seconds", DEFAULT_BOOT_SECONDS)

    @boot_seconds.setter
    def boot_seconds(self, seconds: float) -> None:
        with self.writing() as transaction:
            transaction.set_setting("boot_seconds", seconds)

    def resources(self, deployment: str = "", *, cloud: str = "", gone: bool = False) -> Sequence[SimulatedResource]:
        """Everything, or everything of one deployment, oldest first."""
        with self.reading() as transaction:
            return transaction.find(cloud=cloud, deployment=deployment, gone=gone)

    def preempt(self, deployment: str, *, reason: str, notice: timedelta = timedelta(0)) -> Sequence[str]:
        """Take the deployment's machines back, after ``notice``; their ids. ``reason`` is the cloud's own word."""
        with self.writing() as transaction:
            machines = [each for each in transaction.find(deployment=deployment) if each.machine is not None]
            for machine in machines:
                transaction.end(machine, at=transaction.now + notice, reason=reason)
        return [machine.id for machine in machines]

    def exhaust(
        self, cloud: str, place: str = "*", instance_type: str = "*", market: str = "*", machines: int = 0
    ) -> None:
        """No more than ``machines`` of the kind run from now on: a launch beyond fails. All arguments are globs.

        ``place`` is matched against the zone, the zone's id and the region.
        """
        with self._database.writing() as connection:
            connection.execute(
                "INSERT INTO stock (cloud, place, instance_type, market, machines) VALUES (?, ?, ?, ?, ?)",
                (cloud, place, instance_type, market, machines),
            )

    def restock(self) -> None:
        """All stock is unlimited again."""
        with self._database.writing() as connection:
            connection.execute("DELETE FROM stock")

    def shortages(self) -> Sequence[Shortage]:
        with self._database.reading() as connection:
            return [Shortage.of(row) for row in connection.execute("SELECT * FROM stock ORDER BY number")]

    def order_fault(self, fault: Fault) -> None:
        """Let calls fail, or take their time, as the fault says."""
        with self._database.writing() as connection:
            fault.write(connection)

    def clear_faults(self) -> None:
        with self._database.writing() as connection:
            connection.execute("DELETE FROM faults")

    def put_object(self, uri: str, text: str) -> None:
        """An object of the object store."""
        with self._database.writing() as connection:
            connection.execute("INSERT OR REPLACE INTO objects VALUES (?, ?)", (uri, text))

    def read_object(self, uri: str) -> str | None:
        with self._database.reading() as connection:
            row = connection.execute("SELECT text FROM objects WHERE uri = ?", (uri,)).fetchone()
        return None if row is None else str(row["text"])

    def calls(self) -> Sequence[Call]:
        """Every create, update and delete so far, failed ones included, in order."""
        with self._database.reading() as connection:
            rows = connection.execute("SELECT * FROM calls ORDER BY number").fetchall()
        return [
            Call(**{**_columns(row, "cloud", "region", "operation", "type", "id", "error"), "at": _time(row["at"])})
            for row in rows
        ]


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, tz=UTC)


def _columns(row: sqlite3.Row, *names: str) -> dict[str, Any]:
    return {name: row[name] for name in names}


def _resource(row: sqlite3.Row) -> SimulatedResource:
    machine: Mapping[str, Any] | None = None if row["machine"] is None else json.loads(row["machine"])
    return SimulatedResource(
        **_columns(row, "cloud", "region", "type", "id", "deployment", "end_reason"),
        values=json.loads(row["body"]),
        machine=None if machine is None else MachineFacts(**machine),
        created_at=_time(row["created_at"]),
        ends_at=None if row["ends_at"] is None else _time(row["ends_at"]),
    )
