"""The simulated cloud's one SQLite file: tables, connections and transactions that many processes can share."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from orchestrator.errors import Busy, ConfigInvalid, StoreDamaged

__all__ = ["DATABASE_VARIABLE", "Database", "database_path"]

DATABASE_VARIABLE = "GPUORCH_SANDBOX_DB"

_VERSION = 1
_WAIT_SECONDS = 20.0

_TABLES = """
CREATE TABLE settings (name TEXT PRIMARY KEY, value REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE resources (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  cloud TEXT NOT NULL, region TEXT NOT NULL, type TEXT NOT NULL, id TEXT NOT NULL,
  deployment TEXT NOT NULL, body TEXT NOT NULL, machine TEXT,
  created_at REAL NOT NULL, ends_at REAL, end_reason TEXT NOT NULL DEFAULT ''
);
CREATE INDEX resources_by_id ON resources (cloud, type, id);
CREATE INDEX resources_by_deployment ON resources (deployment);
CREATE TABLE faults (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  cloud TEXT NOT NULL, operation TEXT NOT NULL, type TEXT NOT NULL, match TEXT NOT NULL,
  error TEXT NOT NULL, detail TEXT NOT NULL, times INTEGER, hits INTEGER NOT NULL DEFAULT 0,
  delay_before REAL NOT NULL, delay_after REAL NOT NULL
);
CREATE TABLE stock (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  cloud TEXT NOT NULL, place TEXT NOT NULL, instance_type TEXT NOT NULL, market TEXT NOT NULL, machines INTEGER NOT NULL
);
CREATE TABLE objects (uri TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE calls (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  at REAL NOT NULL, cloud TEXT NOT NULL, region TEXT NOT NULL, operation TEXT NOT NULL, type TEXT NOT NULL,
  id TEXT NOT NULL, error TEXT NOT NULL
);
"""


def database_path() -> Path:
    """The file that the environment names; :class:`~orchestrator.errors.ConfigInvalid` where it names none."""
    found = os.environ.get(DATABASE_VARIABLE, "")
    if not found:
        raise ConfigInvalid(
            f"{DATABASE_VARIABLE} is not set, so the stand-in provider does not know its simulated cloud",
            hint="run it through gpuorch --sandbox, which sets it",
        )
    return Path(found)


class Database:
    """A file that comes into being at its first use. Cheap to make; every transaction opens its own connection."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._ready = False

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A consistent view. Raises :class:`Busy` or :class:`StoreDamaged`."""
        with self._transaction("BEGIN") as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """The only writer until the end of the block; an exception undoes everything."""
        with self._transaction("BEGIN IMMEDIATE") as connection:
            yield connection

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        try:
            connection = self._connect()
        except sqlite3.Error as error:
            raise self._typed(error) from error
        try:
            connection.execute(begin)
            yield connection
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise self._typed(error) from error
        finally:
            # Closing rolls back what was not committed.
            connection.close()

    def _connect(self) -> sqlite3.Connection:
        if not self._ready:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self.path, timeout=_WAIT_SECONDS, isolation_level=None)
        connection.row_factory = sqlite3.Row
        # A simulated cloud need not survive a power cut; a process killed with -9 loses nothing by this.
        connection.execute("PRAGMA synchronous = OFF")
        if not self._ready:
            self._prepare(connection)
            self._ready = True
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        if connection.execute("PRAGMA user_version").fetchone()[0] == _VERSION:
            return
        connection.execute("BEGIN IMMEDIATE")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version == 0:
            for statement in _TABLES.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {_VERSION}")
        connection.execute("COMMIT")
        if version not in (0, _VERSION):
            connection.close()
            raise StoreDamaged(
                f"the simulated cloud in {self.path} was written by another version of gpuorch",
                hint="delete the file: it holds nothing but the simulation",
            )

    def _typed(self, error: sqlite3.Error) -> Exception:
        if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
            return Busy(f"another process kept the simulated cloud in {self.path} busy for {_WAIT_SECONDS:.0f} seconds")
        return StoreDamaged(
            f"the simulated cloud in {self.path} cannot be used: {error}",
            hint="delete the file: it holds nothing but the simulation",
        )
