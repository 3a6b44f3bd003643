import asyncio
import contextlib
import sqlite3
import threading
import time
from inspect import signature
from pathlib import Path

import aiosqlite
import pytest
from sqlite_notes import WAIT_S, Gate, add, endless, ids, on_writer, opened, prepare, settled

from octop_bridge.storage import engine as storage
from octop_bridge.storage import sqlite, sqlite_connection


@pytest.fixture
def folder(tmp_path):
    return prepare(tmp_path)


# Writing


async def test_what_a_unit_returned_is_committed(folder):
    async with opened(folder) as engine:
        assert await engine.write(add(7)) == 7
        with contextlib.closing(sqlite3.connect(engine.path)) as other:
            assert other.execute("SELECT namespace, id FROM notes").fetchall() == [("default", 7)]
        assert engine.commits == 1


async def test_units_that_wait_together_share_a_commit(folder):
    async with opened(folder) as engine:
        assert await asyncio.gather(*(engine.write(add(n)) for n in range(16))) == list(range(16))
        assert engine.commits == 1
        gate = Gate()
        first = asyncio.create_task(engine.write(gate))
        await gate.reached()
        others = [asyncio.create_task(engine.write(add(n))) for n in range(100, 400)]
        await settled()
        gate.open.set()
        await asyncio.gather(first, *others)
        assert engine.commits == 4, "one for the gate, 256 and 44 of 300 for the rest"


@pytest.mark.parametrize("together", [1, 3])
async def test_a_unit_that_raises_is_rolled_back_alone(folder, together):
    async def failing(tx):
        await tx.run("add", id=99, text="gone")
        raise LookupError("no")

    async with opened(folder) as engine:
        done = await asyncio.gather(
            engine.write(failing), *(engine.write(add(n)) for n in range(1, together)), return_exceptions=True
        )
        assert isinstance(done[0], LookupError)
        assert done[1:] == list(range(1, together))
        assert await engine.read(ids) == list(range(1, together))
        assert engine.commits == (together > 1)


async def test_a_unit_may_await_nothing_but_its_transaction(folder):
    async def waiting(tx):
        await tx.run("add", id=1, text="x")
        await asyncio.sleep(0)

    async with opened(folder) as engine:
        for call in (engine.write, engine.read):
            with pytest.raises((RuntimeError, storage.StorageReadOnly)):
                await call(waiting)
        assert await engine.write(add(2)) == 2
        assert await engine.read(ids) == [2]


async def test_a_caller_cancelled_in_the_queue_takes_its_unit_out(folder):
    async with opened(folder) as engine:
        gate = Gate()
        first = asyncio.create_task(engine.write(gate))
        await gate.reached()
        gone, stays = asyncio.create_task(engine.write(add(1))), asyncio.create_task(engine.write(add(2)))
        await settled()
        gone.cancel()
        gate.open.set()
        await asyncio.gather(first, stays)
        with pytest.raises(asyncio.CancelledError):
            await gone
        assert await engine.read(ids) == [2]


async def test_a_unit_whose_caller_was_cancelled_while_it_ran_is_committed(folder):
    async with opened(folder) as engine:
        gate = Gate(add(1))
        gone = asyncio.create_task(engine.write(gate))
        await gate.reached()
        gone.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gone
        gate.open.set()
        await engine.write(add(2))
        assert await engine.read(ids) == [1, 2]
        assert engine.commits == 2


class FailingCommit:
    def __init__(self, raw):
        self._raw = raw

    def __getattr__(self, name):
        return getattr(self._raw, name)

    def execute(self, sql, *args):
        if sql == "COMMIT":
            raise sqlite3.OperationalError("disk I/O error")
        return self._raw.execute(sql, *args)


async def test_a_commit_that_fails_fails_every_unit_of_it(folder, monkeypatch):
    async with opened(folder) as engine:
        raw = engine._writer.raw
        monkeypatch.setattr(engine._writer, "raw", FailingCommit(raw))
        done = await asyncio.gather(engine.write(add(1)), engine.write(add(2)), return_exceptions=True)
        assert [type(error) for error in done] == [storage.StorageError] * 2
        engine._writer.raw = raw
        assert await engine.write(add(3)) == 3
        assert await engine.read(ids) == [3]


@pytest.mark.parametrize("swallowed", [False, True])
async def test_a_transaction_that_sqlite_gave_up_fails_every_unit_of_it(folder, swallowed):
    async def undo(tx):
        with contextlib.suppress(sqlite3.Error if swallowed else ()):
            await tx.run("add", id=2, text="undo all")

    async with opened(folder) as engine:
        units = (engine.write(add(1)), engine.write(undo), engine.write(add(3)))
        done = await asyncio.gather(*units, return_exceptions=True)
        assert all(isinstance(error, storage.StorageError) for error in done)
        assert await engine.read(ids) == []
        with pytest.raises(storage.StorageError):
            await engine.write(undo)
        assert await engine.write(add(4)) == 4


async def test_a_full_disk_is_said_and_nothing_acknowledged_is_lost(folder):
    async with opened(folder) as engine:
        (pages,) = await on_writer(engine, "PRAGMA page_count")
        await on_writer(engine, f"PRAGMA max_page_count = {pages + 2}")
        done = await asyncio.gather(
            engine.write(add(1)), engine.write(add(2, "x" * 100_000)), engine.write(add(3)), return_exceptions=True
        )
        assert isinstance(done[1], storage.StorageFull)
        assert done[1].retryable
        kept = [result for result in done if isinstance(result, int)]
        assert await engine.read(ids) == kept
        await on_writer(engine, "PRAGMA max_page_count = 1000000")
        assert await engine.write(add(2, "x" * 100_000)) == 2


async def test_a_lock_held_too_long_is_busy_and_can_be_tried_again(folder):
    async with opened(folder, busy_timeout_s=0.05) as engine:
        with contextlib.closing(sqlite3.connect(engine.path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(storage.StorageBusy) as busy:
                await engine.write(add(1))
            assert busy.value.retryable
            assert await engine.read(ids) == []
        assert await engine.write(add(1)) == 1


async def test_a_lock_that_is_let_go_in_time_is_waited_for(folder):
    async with opened(folder, busy_timeout_s=WAIT_S) as engine:
        with contextlib.closing(sqlite3.connect(engine.path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            writing = asyncio.create_task(engine.write(add(1)))
            await settled()
            other.execute("COMMIT")
            assert await writing == 1


async def test_a_store_upgraded_by_another_process_is_not_written(folder):
    async with opened(folder) as engine:
        await engine.write(add(1))
        with contextlib.closing(sqlite3.connect(engine.path)) as other:
            other.execute("PRAGMA user_version = 2")
        done = await asyncio.gather(engine.write(add(2)), engine.write(add(3)), return_exceptions=True)
        assert [type(error) for error in done] == [storage.SchemaTooNew] * 2
        assert done[0].hint == "upgraded by another process: restart"
        assert await engine.read(ids) == [1]


# Statements


async def test_statements_are_bound_to_the_namespace_and_count_their_changes(folder):
    async def unit(tx):
        rows = [{"id": number, "text": "m"} for number in range(3)]
        await tx.run_many("add", rows)
        counts = [await tx.run("copy"), await tx.run("drop", ids=[0, 1, 77]), await tx.run("add", id=50, text="y")]
        renamed = await tx.one("rename", ids=(2, 50), text="z")
        return tx.namespace, counts, renamed, await tx.one("next", text="n"), await tx.one("count")

    async with opened(folder) as engine:
        assert await engine.write(unit) == ("default", [3, 2, 1], (2,), (1003,), (6,))
        assert await engine.read(ids) == [2, 50, 1000, 1001, 1002, 1003]
        assert await on_writer(engine, "SELECT COUNT(*) FROM notes WHERE text = 'z'") == (2,)


async def test_an_error_of_sql_is_a_storage_error_with_its_cause(folder):
    async with opened(folder) as engine:
        await engine.write(add(1))
        with pytest.raises(storage.StorageError, match="UNIQUE") as failed:
            await engine.write(add(1))
        assert isinstance(failed.value.__cause__, sqlite3.IntegrityError)
        assert not failed.value.retryable
        with pytest.raises(storage.StorageReadOnly):
            await engine.read(add(2))


# Reading


async def test_a_read_sees_one_moment(folder):
    async def twice(tx):
        before = await ids(tx)
        gate.entered.set()
        assert gate.open.wait(WAIT_S)
        return before, await ids(tx)

    async with opened(folder) as engine:
        gate = Gate()
        await engine.write(add(1))
        reading = asyncio.create_task(engine.read(twice))
        await gate.reached()
        await engine.write(add(2))
        gate.open.set()
        assert await reading == ([1], [1])
        assert await engine.read(ids) == [1, 2]


@pytest.mark.parametrize("how", ["timeout", "cancel"])
async def test_a_read_that_takes_too_long_frees_its_reader(folder, how):
    async def many_short(tx):
        while True:
            await tx.one("count")

    async with opened(folder) as engine:
        for unit in (endless, many_short):
            reads = [asyncio.create_task(engine.read(unit, timeout_s=0.02 if how == "timeout" else None)) for _ in "ab"]
            if how == "cancel":
                while engine._idle or not all(reader.handle for reader in engine._readers):
                    await asyncio.sleep(0)
                for read in reads:
                    read.cancel()
            with pytest.raises(storage.StorageTimeout if how == "timeout" else asyncio.CancelledError):
                await reads[0]
            began = time.perf_counter()
            await asyncio.gather(*reads, return_exceptions=True)
            assert await engine.read(ids) == []
            assert time.perf_counter() - began < 0.1
        await engine.write(add(1))
        assert await engine.read(ids, timeout_s=WAIT_S) == [1]


async def test_readers_are_given_in_turn_and_waiting_counts_towards_the_timeout(folder):
    async with opened(folder) as engine:
        gates = [Gate(), Gate()]
        busy = [asyncio.create_task(engine.read(gate)) for gate in gates]
        for gate in gates:
            await gate.reached()
        order = []
        waiting = [asyncio.create_task(engine.read(noting(order, n))) for n in range(3)]
        await settled()
        with pytest.raises(storage.StorageTimeout):
            await engine.read(ids, timeout_s=0.01)
        waiting[1].cancel()
        gates[0].open.set()
        await asyncio.wait(waiting)
        assert order == [0, 2]
        gates[1].open.set()
        await asyncio.gather(*busy)
        assert len(engine._idle) == sqlite.READERS


def noting(order, number):
    async def unit(tx):
        order.append(number)

    return unit


async def test_a_reader_handed_over_in_the_moment_of_a_cancellation_is_not_lost(folder):
    async with opened(folder) as engine:
        places = [await take(engine) for _ in range(sqlite.READERS)]
        waiting = asyncio.create_task(engine.read(ids))
        await settled()
        engine._give_back(places[0])
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert engine._idle == [places[0]]
        engine._give_back(places[1])


async def take(engine):
    return engine._idle.pop()


async def test_a_caller_cancelled_while_its_reader_opens_leaves_it_open(folder):
    async with opened(folder) as engine:
        gone = asyncio.create_task(engine.read(ids))
        await settled()
        gone.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gone
        while len(engine._idle) < sqlite.READERS:
            await asyncio.sleep(0)
        assert sum(reader.handle is not None for reader in engine._readers) == 1
        assert await engine.read(ids) == []


async def test_a_reader_that_cannot_be_opened_is_tried_again(folder):
    async with opened(folder) as engine:
        moved = folder / "moved"
        engine.path.rename(moved)
        for _ in range(sqlite.READERS + 1):
            with pytest.raises(storage.StorageError):
                await engine.read(ids)
        moved.rename(engine.path)
        assert await engine.read(ids) == []


@pytest.mark.promise("R74")
async def test_a_thousand_reads_leave_the_number_of_open_files_constant(folder):
    async with opened(folder) as engine:
        await asyncio.gather(*(engine.read(ids) for _ in range(4)))
        before = len(list(Path("/dev/fd").iterdir()))
        await asyncio.gather(*(engine.read(ids) for _ in range(1000)))
        assert len(list(Path("/dev/fd").iterdir())) == before


# What aiosqlite must go on doing


async def test_the_private_call_of_aiosqlite_is_as_it_was(folder):
    assert aiosqlite.__version__.startswith("0.22.")
    assert list(signature(aiosqlite.Connection._execute).parameters) == ["self", "fn", "args", "kwargs"]
    seen = []

    def note(value):
        seen.append((value, threading.get_ident()))
        return value

    async with aiosqlite.connect(":memory:") as connection:
        gate = threading.Event()
        waiting = asyncio.create_task(sqlite_connection.on_thread(connection, gate.wait, WAIT_S))
        await settled()
        waiting.cancel()
        after = asyncio.create_task(sqlite_connection.on_thread(connection, note, 1))
        await settled()
        assert seen == [], "a cancelled caller does not let the next function overtake"
        gate.set()
        assert await after == 1
        assert await sqlite_connection.on_thread(connection, note, 2) == 2
        with pytest.raises(ZeroDivisionError):
            await sqlite_connection.on_thread(connection, lambda: 1 // 0)
    assert [value for value, _ in seen] == [1, 2]
    assert {thread for _, thread in seen}.isdisjoint({threading.get_ident()})
    assert len({thread for _, thread in seen}) == 1
