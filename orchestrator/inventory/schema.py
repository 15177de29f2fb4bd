"""The inventory's tables and their version."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from orchestrator.errors import StoreDamaged

__all__ = ["VERSION", "open_database"]

VERSION = 1

_TABLES = """
CREATE TABLE deployments (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, owner TEXT NOT NULL, state TEXT NOT NULL, sandbox INTEGER NOT NULL,
    created_at TEXT NOT NULL, updated_at TEXT NOT NULL, expires_at TEXT, spec TEXT NOT NULL,
    offer TEXT NOT NULL, attempt INTEGER NOT NULL, outputs TEXT NOT NULL, ready_source TEXT NOT NULL,
    problem TEXT NOT NULL
);
CREATE UNIQUE INDEX living_name ON deployments (name) WHERE state NOT IN ('gone', 'failed');
CREATE TABLE placements (deployment_id TEXT PRIMARY KEY, placement TEXT NOT NULL);
CREATE TABLE attempts (
    deployment_id TEXT NOT NULL, number INTEGER NOT NULL, offer TEXT NOT NULL, result TEXT NOT NULL,
    kind TEXT NOT NULL, reason TEXT NOT NULL, applied INTEGER NOT NULL, at TEXT NOT NULL,
    PRIMARY KEY (deployment_id, number)
);
CREATE TABLE events (deployment_id TEXT NOT NULL, at TEXT NOT NULL, kind TEXT NOT NULL, data TEXT NOT NULL);
CREATE INDEX events_of ON events (deployment_id);
CREATE TABLE cool_downs (
    sandbox INTEGER NOT NULL, cloud TEXT NOT NULL, region TEXT, zone TEXT, instance_type TEXT, market TEXT,
    kind TEXT NOT NULL, reason TEXT NOT NULL, since TEXT NOT NULL, until TEXT NOT NULL
);
"""


def open_database(path: Path) -> sqlite3.Connection:
    """A connection in autocommit mode to the inventory at ``path``, created where it is not there.

    Raises :class:`StoreDamaged` for a file that cannot be opened, is no inventory, or is of a newer gpuorch.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        database = sqlite3.connect(path, isolation_level=None, timeout=30)
        # A write-ahead log: readers never wait for a writer. How durable a write is, each transaction says itself.
        database.execute("PRAGMA journal_mode = WAL")
        _migrate(database, path)
    except (sqlite3.DatabaseError, OSError) as error:
        raise StoreDamaged(
            f"the inventory {path} cannot be opened: {error}",
            hint="check the file and its permissions, restore it from a backup, or choose another --state-dir",
        ) from error
    path.chmod(0o600)
    return database


def _migrate(database: sqlite3.Connection, path: Path) -> None:
    if _version(database) == VERSION:
        return
    database.execute("BEGIN IMMEDIATE")
    # Another process may have made the tables while this one waited for the lock.
    found = _version(database)
    if found > VERSION:
        database.execute("ROLLBACK")
        raise StoreDamaged(
            f"the inventory {path} was written by a newer gpuorch (format {found}, this one knows {VERSION})",
            hint="upgrade gpuorch: pip install --upgrade gpuorch",
        )
    if found == 0:
        for statement in _TABLES.split(";"):
            if statement.strip():
                database.execute(statement)
        database.execute(f"PRAGMA user_version = {VERSION}")
    database.execute("COMMIT")


def _version(database: sqlite3.Connection) -> int:
    version: int = database.execute("PRAGMA user_version").fetchone()[0]
    return version
