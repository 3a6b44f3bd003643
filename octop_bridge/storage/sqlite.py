"""The store in one SQLite file: one writer whose units share commits, and two readers.

Each connection lives on a thread of its own. A unit runs whole in one hop to that thread, where its awaits never
suspend, since nothing but the transaction may be awaited; the event loop is crossed twice a unit, not twice a
statement.
"""

import asyncio
import contextlib
import os
import sqlite3
from collections import deque
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from octop_bridge.storage import migrate, statements
from octop_bridge.storage.engine import SchemaTooNew, StorageClosed, StorageError, StorageTimeout, Unit
from octop_bridge.storage.sqlite_connection import (
    SQLITE_MIN,
    WAL_BYTES_MAX,
    Durability,
    Handle,
    connect_reader,
    connect_writer,
    drive,
    leave,
    on_thread,
    patiently,
    read_unit,
    storage_error,
    truncate_log,
)

T = TypeVar("T")
Opener = Callable[[], Coroutine[Any, Any, Handle]]

READERS: Final = 2
BATCH_UNITS_MAX: Final = 256
COMMITS_A_SHRINK: Final = 256
"""How often the length of the log is looked at."""
CHECKPOINT_WAIT_MS: Final = 100
STOP_AGAIN_S: Final = 0.005


class Job:
    """A unit that waits to be written, and what became of it."""

    __slots__ = ("error", "future", "unit", "value")

    def __init__(self, unit: Unit[Any], future: asyncio.Future[Any]) -> None:
        self.unit = unit
        self.future = future
        self.value: Any = None
        self.error: BaseException | None = None


class Reader:
    """A place for one read: its connection, once there was need of one, and the timer that stops what runs there."""

    __slots__ = ("handle", "timer")

    def __init__(self) -> None:
        self.handle: Handle | None = None
        self.timer: asyncio.TimerHandle | None = None


class SqliteEngine:
    """One namespace in one file. Made by `open`; belongs to the event loop that it was opened on."""

    def __init__(
        self, path: Path, writer: Handle, open_reader: Opener, *, schema_version: int, busy_timeout_s: float
    ) -> None:
        self.path = path
        self.schema_version = schema_version
        self.commits = 0
        """Write transactions committed: fewer than units where units came together."""
        self._loop = asyncio.get_running_loop()
        self._writer = writer
        self._busy_timeout_s = busy_timeout_s
        self._waiting: deque[Job] = deque()
        self._drainer: asyncio.Task[None] | None = None
        self._open_reader = open_reader
        self._readers = [Reader() for _ in range(READERS)]
        self._idle = self._readers.copy()
        self._queue: deque[asyncio.Future[Reader]] = deque()
        self._shrink_at = COMMITS_A_SHRINK
        self._shrink_after: set[Reader] = set()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closing: asyncio.Task[None] | None = None

    @classmethod
    async def open(
        cls,
        path: Path,
        namespace: str,
        *,
        clock: Callable[[], int],
        durability: Durability = "full",
        busy_timeout_s: float = 5.0,
        wal: bool = True,
        schema: Path = migrate.SCHEMA,
        queries: Path = statements.QUERIES,
    ) -> "SqliteEngine":
        """An engine on the file, which is made and brought to the newest schema where it is not.

        `clock` gives epoch milliseconds. `durability="normal"` can lose the last commits in a power cut, not in a
        crash of the process. `wal=False` is for network file systems: a rollback journal, readers and writer in turn.
        A failure is a StorageError and leaves no thread.
        """
        if sqlite3.sqlite_version_info < SQLITE_MIN:
            raise StorageError(sqlite3.sqlite_version, hint="SQLite 3.35 or newer is needed: use another Python")
        path = _resolved(path)
        migrations = migrate.load(schema)
        known = statements.load("sqlite", queries)
        connect = partial(
            connect_writer, path, migrations, clock, durability=durability, wal=wal, busy_timeout_s=busy_timeout_s
        )
        opening = asyncio.ensure_future(Handle.open(connect, known, namespace))
        try:
            writer = await asyncio.shield(opening)
        except asyncio.CancelledError:
            opening.add_done_callback(_close_unwanted)
            raise
        open_reader = partial(
            Handle.open, partial(connect_reader, path, busy_timeout_s=busy_timeout_s), known, namespace
        )
        return cls(path, writer, open_reader, schema_version=len(migrations), busy_timeout_s=busy_timeout_s)

    async def write(self, unit: Unit[T]) -> T:
        """What the unit returns, run in a write transaction that is committed and durable by then.

        Units that wait while another commit runs share the next one. There is no delay to make them meet.
        """
        self._refuse_closed()
        job = Job(unit, self._loop.create_future())
        self._waiting.append(job)
        if self._drainer is None or self._drainer.done():
            self._drainer = self._loop.create_task(self._drain())
        result: T = await job.future
        return result

    async def read(self, unit: Unit[T], *, timeout_s: float | None = None) -> T:
        """What the unit returns, run in a read transaction. The time waiting for a free reader counts as well."""
        self._refuse_closed()
        deadline = None if timeout_s is None else self._loop.time() + timeout_s
        reader = self._idle.pop() if self._idle else await self._free_reader(deadline)
        handle = reader.handle or await self._opened(reader)
        if deadline is not None:
            reader.timer = self._loop.call_at(deadline, self._stop, reader)
        try:
            value: T = await on_thread(handle.proxy, read_unit, unit, handle)
        except asyncio.CancelledError:
            self._stop(reader)
            self._keep(self._give_back_when_ended(reader))
            raise
        except BaseException:
            self._give_back(reader)
            raise
        self._give_back(reader)
        return value

    async def checkpoint(self) -> bool:
        """Move the log into the database and empty it; False where a reader or another process held on to it."""
        self._refuse_closed()
        try:
            return await on_thread(self._writer.proxy, truncate_log, self._writer.raw, CHECKPOINT_WAIT_MS)
        except sqlite3.Error as error:
            raise storage_error(error) from error

    async def close(self) -> None:
        """Finish what was accepted, then close every connection. Safe to call twice, and to cancel."""
        if self._closing is None:
            self._closing = self._loop.create_task(self._close())
        await asyncio.shield(self._closing)

    def _refuse_closed(self) -> None:
        if self._closing is not None:
            raise StorageClosed

    def _keep(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        task = self._loop.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # The writer

    async def _drain(self) -> None:
        while batch := self._take():
            try:
                await on_thread(self._writer.proxy, self._commit, batch)
            except BaseException:
                # The loop is going down: the batch may be committed or not, and nobody may be told either.
                for job in batch:
                    job.future.cancel()
                raise
            for job in batch:
                if job.future.done():
                    continue
                if job.error is None:
                    job.future.set_result(job.value)
                else:
                    job.future.set_exception(job.error)
            if self.commits >= self._shrink_at:
                self._shrink_at = self.commits + COMMITS_A_SHRINK
                if self._log_bytes() > WAL_BYTES_MAX:
                    await self._shrink()

    def _take(self) -> list[Job]:
        """The units that go into the next commit; a caller that was cancelled has taken its own out."""
        batch: list[Job] = []
        while self._waiting and len(batch) < BATCH_UNITS_MAX:
            job = self._waiting.popleft()
            if not job.future.done():
                batch.append(job)
        return batch

    def _commit(self, batch: list[Job]) -> None:
        """Run a batch in one transaction, on the writer's thread; what became of each unit stands in its job."""
        raw = self._writer.raw
        try:
            self._begin(raw)
            for job in batch:
                self._run(job, raw, alone=len(batch) == 1)
            if all(job.error is not None for job in batch):
                raw.execute("ROLLBACK")
            else:
                patiently(raw, "COMMIT", self._busy_timeout_s)
                self.commits += 1
        except BaseException as error:  # noqa: BLE001  every caller must hear of it, whatever it is
            for job in batch:
                if job.error is None:
                    job.error = storage_error(error)
            leave(raw)

    def _begin(self, raw: sqlite3.Connection) -> None:
        patiently(raw, "BEGIN IMMEDIATE", self._busy_timeout_s)
        (version,) = raw.execute("PRAGMA user_version").fetchone()
        if version > self.schema_version:
            raise SchemaTooNew(f"schema version {version}, known {self.schema_version}")

    def _run(self, job: Job, raw: sqlite3.Connection, *, alone: bool) -> None:
        if not alone:
            raw.execute("SAVEPOINT unit")
        try:
            job.value = drive(job.unit(self._writer.tx))
        except BaseException as error:  # noqa: BLE001  it is the caller's, not this thread's
            job.error = storage_error(error)
        if not raw.in_transaction:
            # SQLite undoes the whole transaction when the disk is full, earlier units of the batch included.
            lost = job.error if isinstance(job.error, StorageError) else StorageError("SQLite gave the transaction up")
            raise lost
        if not alone:
            if job.error is not None:
                raw.execute("ROLLBACK TO unit")
            raw.execute("RELEASE unit")

    # The readers

    async def _free_reader(self, deadline: float | None) -> Reader:
        """A reader that nobody uses; first come, first served."""
        place: asyncio.Future[Reader] = self._loop.create_future()
        self._queue.append(place)
        timer = None if deadline is None else self._loop.call_at(deadline, _expire, place)
        try:
            return await place
        except asyncio.CancelledError:
            # It may have been handed over in the moment of the cancellation.
            if place.done() and not place.cancelled() and place.exception() is None:
                self._give_back(place.result())
            raise
        finally:
            if timer is not None:
                timer.cancel()

    async def _opened(self, reader: Reader) -> Handle:
        opening = self._loop.create_task(self._open_reader())
        try:
            reader.handle = await asyncio.shield(opening)
        except BaseException:
            opening.add_done_callback(partial(self._give_back_opened, reader))
            raise
        return reader.handle

    def _give_back_opened(self, reader: Reader, opening: asyncio.Task[Handle]) -> None:
        if not opening.cancelled() and opening.exception() is None:
            reader.handle = opening.result()
        self._give_back(reader)

    def _stop(self, reader: Reader) -> None:
        """End what runs on the reader. An interrupt between two statements is lost, so it is sent until all is over."""
        if reader.handle is not None:
            reader.handle.tx.stopped = True
            reader.handle.raw.interrupt()
        if reader.timer is not None:
            reader.timer.cancel()
        reader.timer = self._loop.call_later(STOP_AGAIN_S, self._stop, reader)

    async def _give_back_when_ended(self, reader: Reader) -> None:
        if reader.handle is not None:
            await on_thread(reader.handle.proxy, _nothing)
        self._give_back(reader)

    def _give_back(self, reader: Reader) -> None:
        if reader.timer is not None:
            reader.timer.cancel()
            reader.timer = None
        if reader.handle is not None:
            reader.handle.tx.stopped = False
        if reader in self._shrink_after and self._closing is None:
            self._shrink_after.clear()
            self._keep(self._shrink())
        while self._queue:
            place = self._queue.popleft()
            if not place.done():
                place.set_result(reader)
                return
        self._idle.append(reader)

    # The log and the end

    def _log_bytes(self) -> int:
        try:
            return Path(f"{self.path}-wal").stat().st_size
        except FileNotFoundError:
            return 0

    async def _shrink(self) -> None:
        """Empty the log; where readers hold on to it, again when one of them has ended."""
        busy = {reader for reader in self._readers if reader not in self._idle}
        emptied = False
        # No harm is done by a log that stays long: what hindered this hinders the next commit, which reports it.
        with contextlib.suppress(sqlite3.Error):
            emptied = await on_thread(self._writer.proxy, truncate_log, self._writer.raw, 0)
        self._shrink_after = set() if emptied else busy

    async def _close(self) -> None:
        # What is on the stack is closed even when the loop goes down meanwhile and cancels this: an open connection
        # would keep the interpreter alive. The writer is last, since the last one removes the log, which readers cannot.
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_callback(self._writer.proxy.close)
            stack.push_async_callback(self._close_readers)
            if self._drainer is not None:
                await asyncio.wait([self._drainer])
            for _ in range(READERS):
                # In turn with the reads that still wait.
                _ = self._idle.pop() if self._idle else await self._free_reader(None)
            while self._tasks:
                await asyncio.wait(self._tasks)
            # All is committed: a log that cannot be moved now is moved by the next one to open the file.
            with contextlib.suppress(sqlite3.Error):
                await on_thread(self._writer.proxy, self._writer.raw.execute, "PRAGMA wal_checkpoint(PASSIVE)")

    async def _close_readers(self) -> None:
        for reader in self._readers:
            if reader.handle is not None:
                await reader.handle.proxy.close()


def _resolved(path: Path) -> Path:
    """The file behind links, so that every process names its log and its lock alike."""
    return Path(os.path.realpath(path))


def _nothing() -> None:
    """Sent to a thread to learn that all before it has ended."""


def _expire(place: asyncio.Future[Reader]) -> None:
    if not place.done():
        place.set_exception(StorageTimeout())


def _close_unwanted(opening: asyncio.Future[Handle]) -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.get_loop().create_task(opening.result().proxy.close())
