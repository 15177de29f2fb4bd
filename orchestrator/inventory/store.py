"""The inventory: written before every effect, so that a killed process leaves a trace to finish or undo.

One SQLite file in the state folder. Sandbox deployments live beside real ones, marked; their cool-downs are kept apart,
because a simulated shortage says nothing about a real cloud.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from orchestrator.errors import Failure, StoreDamaged, UsageError
from orchestrator.inventory.schema import open_database
from orchestrator.model.codec import (
    iso,
    offer_from_record,
    offer_record,
    placement_from_record,
    placement_record,
    time_from_iso,
)
from orchestrator.model.deployment import Attempt, AttemptResult, Deployment, DeploymentState, Event
from orchestrator.model.failure import CoolDown, FailureKind
from orchestrator.model.offer import Market
from orchestrator.model.placement import Placement

__all__ = ["Inventory"]

_FINAL = tuple(str(state) for state in DeploymentState if state.final)


class Inventory:
    """Deployments by name and id. Every write is one transaction; safe with several processes."""

    def __init__(self, path: Path) -> None:
        """Open or create. Raises :class:`StoreDamaged` for a file that is no inventory or of a newer version."""
        self.path = path
        self._database = open_database(path)
        self._durable: bool | None = None

    def close(self) -> None:
        self._database.close()

    # ---- deployments

    def create(self, deployment: Deployment, placement: Placement) -> None:
        """Write down a new deployment and its placement. :class:`UsageError` when a living one has the name."""
        try:
            with self._transaction(durable=True) as database:
                database.execute(f"INSERT INTO deployments ({_COLUMNS}) VALUES ({_PLACES})", _row(deployment))
                database.execute(
                    "INSERT INTO placements (deployment_id, placement) VALUES (?, ?)",
                    (deployment.id, json.dumps(placement_record(placement))),
                )
                self._note(
                    database, deployment.id, deployment.created_at, "created", {"offer": str(deployment.offer.key)}
                )
        except sqlite3.IntegrityError as error:
            raise UsageError(
                f"a deployment called {deployment.name!r} exists already",
                hint=f"choose another --name, or remove it first: gpuorch down {deployment.name}",
            ) from error

    def save(
        self, deployment: Deployment, now: datetime, event: str, data: Mapping[str, Any] | None = None
    ) -> Deployment:
        """Write the record as it is now, with the event that changed it. Returns it with the time of the change."""
        deployment = replace(deployment, updated_at=now)
        with self._transaction() as database:
            self._update(database, deployment)
            self._note(database, deployment.id, now, event, data or {})
        return deployment

    def get(self, name: str) -> Deployment | None:
        """The living deployment of that name (or id), else the last one that had it."""
        rows = self._select("WHERE id = ? OR name = ? ORDER BY rowid DESC", (name, name))
        living = [row for row in rows if not row.state.final]
        return next(iter(living or rows), None)

    def deployments(self, *, all_states: bool = False) -> list[Deployment]:
        """Living deployments, oldest first; with ``all_states`` also those that are gone."""
        if all_states:
            return self._select("ORDER BY rowid", ())
        marks = ", ".join("?" for _ in _FINAL)
        return self._select(f"WHERE state NOT IN ({marks}) ORDER BY rowid", _FINAL)

    def placement(self, deployment_id: str) -> Placement:
        """The placement that the deployment was created by."""
        rows = self._query("SELECT placement FROM placements WHERE deployment_id = ?", (deployment_id,))
        if not rows:
            raise StoreDamaged(
                f"the inventory {self.path} has no placement for deployment {deployment_id}",
                hint="restore it from a backup",
            )
        return placement_from_record(json.loads(rows[0][0]))

    def events(self, deployment_id: str) -> list[Event]:
        rows = self._query("SELECT at, kind, data FROM events WHERE deployment_id = ? ORDER BY rowid", (deployment_id,))
        return [Event(at=time_from_iso(at), kind=kind, data=json.loads(data)) for at, kind, data in rows]

    # ---- attempts and what they teach

    def begin_attempt(self, deployment: Deployment, attempt: Attempt) -> Deployment:
        """Before the first effect of an attempt: the record names the offer that is being tried."""
        deployment = replace(
            deployment,
            state=DeploymentState.CREATING,
            offer=attempt.offer,
            attempt=attempt.number,
            updated_at=attempt.at,
            problem="",
        )
        with self._transaction() as database:
            self._update(database, deployment)
            self._put_attempts(database, deployment.id, [attempt])
        return deployment

    def record_attempts(
        self,
        deployment: Deployment,
        attempts: Iterable[Attempt],
        cool_down: CoolDown | None = None,
        *,
        durable: bool = False,
    ) -> None:
        """How attempts stand, and the failure to remember, together. ``durable``: before something may cost money."""
        with self._transaction(durable=durable) as database:
            self._put_attempts(database, deployment.id, attempts)
            if cool_down is not None:
                self._put_cool_down(database, cool_down, sandbox=deployment.sandbox)

    def attempts(self, deployment_id: str) -> list[Attempt]:
        rows = self._query(
            "SELECT number, offer, result, kind, reason, applied, at FROM attempts WHERE deployment_id = ?"
            " ORDER BY number",
            (deployment_id,),
        )
        return [
            Attempt(
                number=number,
                offer=offer_from_record(json.loads(offer)),
                result=AttemptResult(result),
                kind=kind,
                reason=reason,
                applied=bool(applied),
                at=time_from_iso(at),
            )
            for number, offer, result, kind, reason, applied, at in rows
        ]

    def cool_downs(self, now: datetime, *, sandbox: bool) -> tuple[CoolDown, ...]:
        """Failures that are still remembered at ``now``."""
        rows = self._query(
            "SELECT cloud, region, zone, instance_type, market, kind, reason, since, until FROM cool_downs"
            " WHERE sandbox = ? AND until > ? ORDER BY rowid",
            (sandbox, iso(now)),
        )
        return tuple(
            CoolDown(
                cloud=cloud,
                region=region,
                zone=zone,
                instance_type=instance_type,
                market=Market(market) if market is not None else None,
                kind=FailureKind(kind),
                reason=reason,
                since=time_from_iso(since),
                until=time_from_iso(until),
            )
            for cloud, region, zone, instance_type, market, kind, reason, since, until in rows
        )

    def forget_cool_downs(self, *, sandbox: bool) -> int:
        """Drop all remembered failures; returns how many."""
        with self._transaction() as database:
            return database.execute("DELETE FROM cool_downs WHERE sandbox = ?", (sandbox,)).rowcount

    # ---- private, in call order

    @contextmanager
    def _transaction(self, *, durable: bool = False) -> Iterator[sqlite3.Connection]:
        """Every commit survives a kill of the process. A ``durable`` one, and all before it, also a power cut."""
        try:
            if durable is not self._durable:
                self._database.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
                self._durable = durable
            self._database.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            raise Failure(
                f"the inventory {self.path} cannot be written: {error}",
                hint="check the disk and the file's permissions",
            ) from error
        try:
            yield self._database
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")

    def _query(self, sql: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        try:
            return self._database.execute(sql, values).fetchall()
        except sqlite3.DatabaseError as error:
            raise StoreDamaged(
                f"the inventory {self.path} cannot be read: {error}", hint="restore it from a backup"
            ) from error

    def _select(self, where: str, values: tuple[Any, ...]) -> list[Deployment]:
        rows = self._query(f"SELECT {_COLUMNS} FROM deployments {where}", values)
        try:
            return [_deployment(row) for row in rows]
        except (KeyError, ValueError, TypeError) as error:
            raise StoreDamaged(
                f"the inventory {self.path} holds a record that cannot be read: {error!r}",
                hint="restore it from a backup",
            ) from error

    def _update(self, database: sqlite3.Connection, deployment: Deployment) -> None:
        assignments = ", ".join(f"{column} = ?" for column in _COLUMNS.split(", "))
        changed = database.execute(
            f"UPDATE deployments SET {assignments} WHERE id = ?", (*_row(deployment), deployment.id)
        ).rowcount
        if changed != 1:
            raise Failure(f"deployment {deployment.name} ({deployment.id}) is not in the inventory {self.path}")

    def _note(
        self, database: sqlite3.Connection, deployment_id: str, at: datetime, kind: str, data: Mapping[str, Any]
    ) -> None:
        database.execute(
            "INSERT INTO events (deployment_id, at, kind, data) VALUES (?, ?, ?, ?)",
            (deployment_id, iso(at), kind, json.dumps(data, sort_keys=True)),
        )

    def _put_attempts(self, database: sqlite3.Connection, deployment_id: str, attempts: Iterable[Attempt]) -> None:
        database.executemany(
            "INSERT OR REPLACE INTO attempts (deployment_id, number, offer, result, kind, reason, applied, at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    deployment_id,
                    attempt.number,
                    json.dumps(offer_record(attempt.offer)),
                    attempt.result,
                    attempt.kind,
                    attempt.reason,
                    attempt.applied,
                    iso(attempt.at),
                )
                for attempt in attempts
            ],
        )

    def _put_cool_down(self, database: sqlite3.Connection, cool_down: CoolDown, *, sandbox: bool) -> None:
        database.execute("DELETE FROM cool_downs WHERE until <= ?", (iso(cool_down.since),))
        database.execute(
            "INSERT INTO cool_downs (sandbox, cloud, region, zone, instance_type, market, kind, reason, since, until)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                sandbox,
                cool_down.cloud,
                cool_down.region,
                cool_down.zone,
                cool_down.instance_type,
                cool_down.market,
                cool_down.kind,
                cool_down.reason,
                iso(cool_down.since),
                iso(cool_down.until),
            ),
        )


_COLUMNS = (
    "id, name, owner, state, sandbox, created_at, updated_at, expires_at, spec, offer, attempt, outputs,"
    " ready_source, problem"
)
_PLACES = ", ".join("?" for _ in _COLUMNS.split(", "))


def _row(deployment: Deployment) -> tuple[Any, ...]:
    return (
        deployment.id,
        deployment.name,
        deployment.owner,
        deployment.state,
        deployment.sandbox,
        iso(deployment.created_at),
        iso(deployment.updated_at),
        iso(deployment.expires_at) if deployment.expires_at else None,
        json.dumps(dict(deployment.spec), sort_keys=True),
        json.dumps(offer_record(deployment.offer)),
        deployment.attempt,
        json.dumps(dict(deployment.outputs), sort_keys=True),
        deployment.ready_source,
        deployment.problem,
    )


def _deployment(row: tuple[Any, ...]) -> Deployment:
    identity, name, owner, state, sandbox, created, updated, expires, *rest = row
    spec, offer, attempt, outputs, ready_source, problem = rest
    return Deployment(
        id=identity,
        name=name,
        owner=owner,
        state=DeploymentState(state),
        sandbox=bool(sandbox),
        created_at=time_from_iso(created),
        updated_at=time_from_iso(updated),
        expires_at=time_from_iso(expires) if expires else None,
        spec=json.loads(spec),
        offer=offer_from_record(json.loads(offer)),
        attempt=attempt,
        outputs=json.loads(outputs),
        ready_source=ready_source,
        problem=problem,
    )
