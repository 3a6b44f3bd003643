"""One SQLite connection: how its file is made, how it is set up, and how a unit runs on its thread."""

import contextlib
import os
import sqlite3
import time
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, Final, Literal, TypeVar, cast

import aiosqlite
import msgspec

from octop_bridge.storage import migrate
from octop_bridge.storage.engine import (
    Params,
    Row,
    StorageBusy,
    StorageDamaged,
    StorageError,
    StorageFull,
    StorageReadOnly,
    StorageTimeout,
    Unit,
    file_error,
)
from octop_bridge.storage.statements import Statements

T = TypeVar("T")
Durability = Literal["full", "normal"]

SQLITE_MIN: Final = (3, 35, 0)
"""RETURNING came with 3.35."""
WAL_BYTES_MAX: Final = 4 << 20
"""What SQLite shortens its log to when it begins it anew."""
CACHED_STATEMENTS: Final = 512
BUSY_SLICE_MS: Final = 25
BUSY_AGAIN_S: Final = 0.001

_ERRORS: Final[dict[int, type[StorageError]]] = {
    sqlite3.SQLITE_BUSY: StorageBusy,
    sqlite3.SQLITE_LOCKED: StorageBusy,
    sqlite3.SQLITE_READONLY: StorageReadOnly,
    sqlite3.SQLITE_PERM: StorageReadOnly,
    sqlite3.SQLITE_CANTOPEN: StorageReadOnly,
    sqlite3.SQLITE_FULL: StorageFull,
    sqlite3.SQLITE_IOERR_SHMSIZE: StorageFull,
    sqlite3.SQLITE_CORRUPT: StorageDamaged,
    sqlite3.SQLITE_NOTADB: StorageDamaged,
    sqlite3.SQLITE_INTERRUPT: StorageTimeout,
}
_encode_list = msgspec.json.Encoder().encode


async def on_thread(connection: aiosqlite.Connection, function: Callable[..., T], *args: Any) -> T:
    """What the function returns, called on the connection's thread after everything that was sent there before.

    aiosqlite has no public call for this: its private one is used here and nowhere else. Cancelling the caller does
    not stop the function.
    """
    result: T = await connection._execute(function, *args)  # type: ignore[no-untyped-call]  # noqa: SLF001
    return result


def drive(coroutine: Coroutine[Any, Any, T]) -> T:
    """What the coroutine returns, run to its end here and now; RuntimeError if it suspends."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    coroutine.close()
    raise RuntimeError("a unit awaited something other than its transaction")


def patiently(connection: sqlite3.Connection, sql: str, timeout_s: float) -> None:
    """Execute a statement that needs a lock, again and again until it has it or the time is over (sqlite3.Error).

    SQLite asks for a lock ever more rarely the longer it waits, and does not wait at all for a change of the journal
    mode. Asked anew every 25 ms, four processes that write without pause wait 0.15 s at most instead of 1.1 s.
    """
    give_up = time.monotonic() + timeout_s
    while True:
        try:
            connection.execute(sql)
        except sqlite3.OperationalError as error:
            busy = getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
            if not busy or time.monotonic() > give_up:
                raise
            time.sleep(BUSY_AGAIN_S)
        else:
            return


def storage_error(error: BaseException) -> BaseException:
    """The StorageError that an error of SQLite means; any other error as it is."""
    if not isinstance(error, sqlite3.Error):
        return error
    code: int = getattr(error, "sqlite_errorcode", 0)
    kind = _ERRORS.get(code) or _ERRORS.get(code & 0xFF) or StorageError
    meant = kind(f"{getattr(error, 'sqlite_errorname', type(error).__name__)}: {error}")
    meant.__cause__ = error
    return meant


class SqliteTx:
    """The transaction of one connection, used again for every unit that runs on it."""

    __slots__ = ("_connection", "_execute", "_statements", "namespace", "stopped")

    def __init__(self, connection: sqlite3.Connection, statements: Statements, namespace: str) -> None:
        self.namespace = namespace
        # Set by the event loop once nobody waits for the unit: it begins no further statement.
        self.stopped = False
        self._connection = connection
        self._execute = connection.execute
        self._statements = statements

    def _begin(self, name: str, params: Params) -> sqlite3.Cursor:
        if self.stopped:
            raise StorageTimeout
        sql, lists = self._statements[name]
        params["namespace"] = self.namespace
        for key in lists:
            params[key] = _encode_list(params[key]).decode()
        return self._execute(sql, params)

    async def all(self, name: str, /, **params: Any) -> list[Row]:
        """Every row of the named statement."""
        return self._begin(name, params).fetchall()

    async def one(self, name: str, /, **params: Any) -> Row | None:
        """The first row of the named statement, or None."""
        row: Row | None = self._begin(name, params).fetchone()
        return row

    async def run(self, name: str, /, **params: Any) -> int:
        """Execute the named statement; the number of rows that it changed."""
        changed = self._begin(name, params).rowcount
        if changed < 0:
            # The driver counts only where the text begins with INSERT, UPDATE or DELETE; this one began with WITH.
            changed = self._execute("SELECT changes()").fetchone()[0]
        return changed

    async def run_many(self, name: str, rows: Sequence[Params], /) -> None:
        """Execute the named statement once a row. The rows are given their namespace in place."""
        sql, lists = self._statements[name]
        if lists:
            rows = [row | {key: _encode_list(row[key]).decode() for key in lists} for row in rows]
        for row in rows:
            row["namespace"] = self.namespace
        self._connection.executemany(sql, rows)


class Handle:
    """A connection, its thread and its transaction. Not closed, its thread would keep the interpreter from ending."""

    __slots__ = ("proxy", "raw", "tx")

    def __init__(self, proxy: aiosqlite.Connection, raw: sqlite3.Connection, tx: SqliteTx) -> None:
        self.proxy = proxy
        self.raw = raw
        self.tx = tx

    @classmethod
    async def open(cls, connect: Callable[[], sqlite3.Connection], statements: Statements, namespace: str) -> "Handle":
        """A handle on what `connect` returns, called on the new thread; its failure is a StorageError.

        Not to be cancelled: the connection would be left open.
        """
        made: list[sqlite3.Connection] = []
        failed: list[BaseException] = []

        def connector() -> sqlite3.Connection:
            try:
                made.append(connect())
            except BaseException as error:  # noqa: BLE001  raised again below
                failed.append(error)
            # None only where it failed. aiosqlite would let its thread outlive an exception, perhaps even the loop.
            return made[0] if made else cast("sqlite3.Connection", None)

        proxy = await aiosqlite.Connection(connector, 64)
        if failed:
            stopped = proxy.stop()
            if stopped is not None:
                await stopped
            raise storage_error(failed[0])
        return cls(proxy, made[0], SqliteTx(made[0], statements, namespace))


def connect_writer(
    path: Path,
    migrations: Sequence[migrate.Migration],
    clock: Callable[[], int],
    *,
    durability: Durability,
    wal: bool,
    busy_timeout_s: float,
) -> sqlite3.Connection:
    """A connection that may write, to a file that has the newest schema by then; sqlite3.Error or StorageError.

    A file that is up to date is only read, so this does not wait for another process's write transaction.
    """
    _create(path)
    connection = _connect(f"{path.as_uri()}?mode=rw", busy_timeout_s)
    try:
        # Whose file it is comes first: another program's must not be changed in any way.
        missing = migrate.pending(connection, migrations)
        patiently(connection, f"PRAGMA journal_mode = {'WAL' if wal else 'TRUNCATE'}", busy_timeout_s)
        for pragma in (
            f"synchronous = {durability.upper()}",
            # Without this macOS leaves commits in the cache of the disk. Elsewhere it has no effect.
            f"fullfsync = {'ON' if durability == 'full' else 'OFF'}",
            # What was forgotten must not stand in free pages.
            "secure_delete = ON",
            "foreign_keys = OFF",
            f"journal_size_limit = {WAL_BYTES_MAX}",
        ):
            connection.execute(f"PRAGMA {pragma}")
        if missing:
            migrate.migrate(connection, migrations, clock)
        if wal:
            # From here on `patiently` waits; without a log any statement may have to wait for the readers.
            connection.execute(f"PRAGMA busy_timeout = {BUSY_SLICE_MS}")
    except BaseException:
        connection.close()
        raise
    return connection


def connect_reader(path: Path, *, busy_timeout_s: float) -> sqlite3.Connection:
    """A connection that can only read."""
    connection = _connect(f"{path.as_uri()}?mode=ro", busy_timeout_s)
    connection.execute("PRAGMA query_only = ON")
    return connection


def _connect(uri: str, busy_timeout_s: float) -> sqlite3.Connection:
    connection = sqlite3.connect(
        uri, uri=True, isolation_level=None, timeout=busy_timeout_s, cached_statements=CACHED_STATEMENTS
    )
    # A sort that spills must not leave people's words in a temporary folder.
    connection.execute("PRAGMA temp_store = MEMORY")
    return connection


def _create(path: Path) -> None:
    """Make the file and its folder for their owner alone, whatever the umask; SQLite gives its log the same mode.

    A file that exists is not opened: closing a descriptor drops all locks that this process holds on it.
    """
    try:
        if path.is_dir():
            raise StorageError(f"{path} is a folder", hint="the store's path is a folder: name a file")
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise file_error(error) from error
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return
    except OSError as error:
        raise file_error(error) from error


def read_unit(unit: Unit[T], handle: Handle) -> T:
    """What the unit returns, run in a read transaction; for the connection's thread."""
    try:
        handle.raw.execute("BEGIN")
        return drive(unit(handle.tx))
    except sqlite3.Error as error:
        raise storage_error(error) from error
    finally:
        leave(handle.raw)


def leave(connection: sqlite3.Connection) -> None:
    """Leave the transaction, if there still is one. An interrupt can hit this too, hence the second try."""
    for _ in range(3):
        if not connection.in_transaction:
            return
        with contextlib.suppress(sqlite3.OperationalError):
            connection.execute("ROLLBACK")


def truncate_log(connection: sqlite3.Connection, wait_ms: int) -> bool:
    """Whether the log could be emptied, readers of it waited for so long."""
    (busy_timeout,) = connection.execute("PRAGMA busy_timeout").fetchone()
    connection.execute(f"PRAGMA busy_timeout = {wait_ms}")
    try:
        (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    finally:
        connection.execute(f"PRAGMA busy_timeout = {busy_timeout}")
    return not busy
