"""Numbered migrations of a SQLite store: read, compared with what the file says was applied, and applied.

`schema/NNNN_name.sqlite.sql` is number NNNN. `PRAGMA user_version` is the highest number applied, the table
`migrations` has one row a number with the checksum of its text. All that is missing is applied in one transaction.
"""

import hashlib
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from octop_bridge.storage.engine import SchemaTooNew, StorageError

SCHEMA = Path(__file__).with_name("schema")
APPLICATION_ID = 0x6F637462
"""`octb`, kept in the file's header, so that another program's database is never taken for an empty store."""

_FILE_NAME = re.compile(r"(\d{4})_(\w+)\.\w+\.sql")
_CREATE_LEDGER = """CREATE TABLE IF NOT EXISTS migrations (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied_ms INTEGER NOT NULL
) STRICT"""
_HINT_DEVELOPMENT = "made by an older development version: move the file away"
_HINT_FOREIGN = "the file is another program's database: name another file"


class Migration(NamedTuple):
    """One step of the schema; `checksum` is the SHA-256 of its text."""

    number: int
    name: str
    sql: str
    checksum: str


@cache
def load(folder: Path = SCHEMA, dialect: str = "sqlite") -> tuple[Migration, ...]:
    """The migrations of a folder in order. Raises ValueError where the numbers are not 1, 2, 3 and so on."""
    migrations: list[Migration] = []
    for path in sorted(folder.glob(f"*.{dialect}.sql")):
        match = _FILE_NAME.fullmatch(path.name)
        if match is None or int(match[1]) != len(migrations) + 1:
            raise ValueError(f"{path.name}: expected {len(migrations) + 1:04}_name.{dialect}.sql")
        text = path.read_bytes()
        migrations.append(Migration(int(match[1]), match[2], text.decode(), hashlib.sha256(text).hexdigest()))
    return tuple(migrations)


def pending(connection: sqlite3.Connection, migrations: Sequence[Migration]) -> Sequence[Migration]:
    """The migrations that the file lacks. Only reads, so it never waits for another process's write transaction.

    Raises SchemaTooNew for a file of a newer version, StorageError for another program's file and for one whose
    applied migrations had another text.
    """
    # One snapshot, alone or inside a transaction: another process may be migrating at this moment.
    connection.execute("SAVEPOINT pending")
    try:
        version: int = connection.execute("PRAGMA user_version").fetchone()[0]
        application: int = connection.execute("PRAGMA application_id").fetchone()[0]
        if application != APPLICATION_ID:
            if application or version or connection.execute("SELECT 1 FROM sqlite_master").fetchone():
                raise StorageError(f"application id {application:#x}, version {version}", hint=_HINT_FOREIGN)
            return migrations
        if version > len(migrations):
            raise SchemaTooNew(f"schema version {version}, known {len(migrations)}")
        applied = connection.execute("SELECT number, checksum FROM migrations ORDER BY number").fetchall()
        if applied != [(step.number, step.checksum) for step in migrations[:version]]:
            raise StorageError(f"the checksums of migrations 1 to {version} differ", hint=_HINT_DEVELOPMENT)
        return migrations[version:]
    finally:
        connection.execute("RELEASE pending")


def migrate(connection: sqlite3.Connection, migrations: Sequence[Migration], clock: Callable[[], int]) -> int:
    """Apply what is missing; the number of migrations applied. `clock` gives epoch milliseconds.

    All in one transaction: a migration that fails leaves the version and every row as they were, and of two processes
    that come at once the second finds nothing left to do. The connection must have `isolation_level=None`.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        missing = pending(connection, migrations)
        if missing:
            connection.execute(_CREATE_LEDGER)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        for step in missing:
            for statement in split(step.sql):
                connection.execute(statement)
            row = (step.number, step.name, step.checksum, clock())
            connection.execute("INSERT INTO migrations (number, name, checksum, applied_ms) VALUES (?, ?, ?, ?)", row)
            connection.execute(f"PRAGMA user_version = {step.number}")
        connection.execute("COMMIT")
    except BaseException:
        # A full disk has rolled back by itself already.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return len(missing)


def split(script: str) -> Iterator[str]:
    """The statements of a script, triggers whole: `executescript` would commit the transaction it runs in."""
    statement = ""
    for piece in re.split(r"(?<=;)", script):
        statement += piece
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    if statement.strip():
        yield statement
