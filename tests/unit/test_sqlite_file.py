import asyncio
import contextlib
import os
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from sqlite_notes import WAIT_S, Gate, add, ids, on_writer, opened, prepare, settled, threads_left

import octop_bridge
from octop_bridge.storage import engine as storage
from octop_bridge.storage import sqlite_connection
from octop_bridge.storage.sqlite import SqliteEngine

ROOT = Path(octop_bridge.__file__).parents[1]


@pytest.fixture
def folder(tmp_path):
    return prepare(tmp_path)


# The log


@pytest.mark.promise("R68")
async def test_the_log_shrinks_when_a_long_read_has_ended(folder):
    log = folder / "store.sqlite-wal"
    async with opened(folder) as engine:
        await engine.write(add(0))
        gate = Gate()

        async def long_read(tx):
            await ids(tx)
            return await gate(tx)

        reading = asyncio.create_task(engine.read(long_read))
        await gate.reached()
        for start in range(1, 5000, 10):
            await asyncio.gather(*(engine.write(add(start + n, "w" * 1000)) for n in range(10)))
        assert log.stat().st_size > sqlite_connection.WAL_BYTES_MAX
        gate.open.set()
        assert await reading == [0]
        while engine._tasks:
            await asyncio.wait(engine._tasks)
        assert log.stat().st_size == 0
        assert len(await engine.read(ids)) == 5001


async def test_a_checkpoint_empties_the_log_unless_a_reader_holds_it(folder):
    async with opened(folder) as engine:
        await engine.write(add(1))
        gate = Gate()

        async def holding(tx):
            await ids(tx)
            return await gate(tx)

        reading = asyncio.create_task(engine.read(holding))
        await gate.reached()
        await engine.write(add(2))
        assert not await engine.checkpoint()
        gate.open.set()
        await reading
        assert await engine.checkpoint()
        assert (folder / "store.sqlite-wal").stat().st_size == 0


@pytest.mark.promise("R70")
async def test_without_a_log_there_is_no_shared_memory(folder):
    async with opened(folder, wal=False) as engine:
        await engine.write(add(1))
        assert await engine.read(ids) == [1]
        assert await engine.checkpoint()
        assert not (folder / "store.sqlite-shm").exists()


# Opening and closing


async def test_close_finishes_what_was_accepted_and_refuses_the_rest(folder):
    async with opened(folder) as engine:
        gate, reading_gate = Gate(), Gate()
        tasks = [asyncio.create_task(engine.write(gate)), asyncio.create_task(engine.read(reading_gate))]
        await gate.reached()
        await reading_gate.reached()
        tasks += [asyncio.create_task(engine.write(add(n))) for n in range(5)]
        await settled()
        closing = [asyncio.create_task(engine.close()) for _ in range(3)]
        await settled()
        closing[0].cancel()
        for call in (engine.write(ids), engine.read(ids), engine.checkpoint()):
            with pytest.raises(storage.StorageClosed):
                await call
        gate.open.set()
        reading_gate.open.set()
        await asyncio.gather(*tasks)
        await asyncio.gather(*closing[1:])
        await engine.close()
    assert threads_left() == []
    assert not (folder / "store.sqlite-wal").exists()
    async with opened(folder) as engine:
        assert await engine.read(ids) == [0, 1, 2, 3, 4]


async def test_files_are_their_owner_s_alone_whatever_the_umask(folder):
    before = os.umask(0)
    try:
        async with opened(folder, "new/store.sqlite") as engine:
            await engine.write(add(1))
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (folder / "new").iterdir()}
    finally:
        os.umask(before)
    assert modes == {"store.sqlite": 0o600, "store.sqlite-wal": 0o600, "store.sqlite-shm": 0o600}
    assert stat.S_IMODE((folder / "new").stat().st_mode) == 0o700


async def test_what_was_deleted_does_not_stand_in_the_file(folder):
    async with opened(folder) as engine:
        await engine.write(add(1, "a-very-secret-word" * 500))
        await engine.checkpoint()
        assert b"a-very-secret-word" in engine.path.read_bytes()

        async def drop(tx):
            await tx.run("drop", ids=[1])

        await engine.write(drop)
        await engine.checkpoint()
        assert all(b"a-very-secret-word" not in path.read_bytes() for path in folder.glob("store*"))


def make_damaged(folder):
    (folder / "store.sqlite").write_bytes(b"this is a letter, not a database" * 100)


def make_folder(folder):
    (folder / "store.sqlite").mkdir()


def make_foreign(folder):
    with contextlib.closing(sqlite3.connect(folder / "store.sqlite")) as other:
        other.execute("CREATE TABLE moz_places (id)")


def make_changed(folder):
    (folder / "schema" / "0001_notes.sqlite.sql").write_text("CREATE TABLE nothing (")


@pytest.mark.parametrize(
    ("make", "kind", "hint"),
    [
        (make_damaged, storage.StorageDamaged, "not a database"),
        (make_folder, storage.StorageError, "is a folder"),
        (make_foreign, storage.StorageError, "another program"),
        (make_changed, storage.StorageError, "the log"),
    ],
)
async def test_a_path_that_cannot_be_opened_says_why_and_leaves_no_thread(folder, make, kind, hint):
    make(folder)
    before = (folder / "store.sqlite").is_file() and (folder / "store.sqlite").read_bytes()
    with pytest.raises(storage.StorageError) as refused:
        async with opened(folder):
            pass
    assert type(refused.value) is kind
    assert hint in refused.value.hint
    assert str(folder) not in refused.value.hint
    assert threads_left() == []
    if before:
        assert (folder / "store.sqlite").read_bytes() == before


@asynccontextmanager
async def without_rights():
    """Files are used with the rights of nobody, where the tests run as root."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@pytest.mark.parametrize("name", ["store.sqlite", "deeper/store.sqlite", "present.sqlite"])
async def test_an_unwritable_folder_is_read_only(folder, name):
    with tempfile.TemporaryDirectory() as made:
        closed = Path(made)
        # Opened once with all rights: the file is there, and the schema need not be read again.
        async with opened(folder, closed / "present.sqlite") as engine:
            await engine.write(add(1))
        (closed / "present.sqlite").chmod(0o444)
        closed.chmod(0o555)
        async with without_rights():
            with pytest.raises(storage.StorageReadOnly):
                async with opened(folder, closed / name) as engine:
                    await engine.write(add(2))
        closed.chmod(0o700)
    assert threads_left() == []


async def test_a_file_in_place_of_the_folder_is_an_error_with_a_hint(folder):
    (folder / "plain").write_text("x")
    with pytest.raises(storage.StorageError) as refused:
        async with opened(folder, "plain/store.sqlite"):
            pass
    assert "cannot be opened" in refused.value.hint


async def test_an_old_sqlite_is_refused(folder, monkeypatch):
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 34, 1))
    with pytest.raises(storage.StorageError) as refused:
        async with opened(folder):
            pass
    assert "3.35" in refused.value.hint


async def test_a_caller_cancelled_while_it_opens_leaves_no_thread(folder):
    opening = asyncio.create_task(
        SqliteEngine.open(
            folder / "store.sqlite", "default", clock=lambda: 1, schema=folder / "schema", queries=folder / "queries"
        )
    )
    await settled()
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    async with asyncio.timeout(WAIT_S):
        while any("_connection_worker_thread" in thread.name for thread in threading.enumerate()):
            await asyncio.sleep(0)


# Several processes

WRITER = """
import asyncio, sys
from pathlib import Path
from octop_bridge.storage.sqlite import SqliteEngine
folder, name, count = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
async def main():
    print("ready", flush=True)
    sys.stdin.readline()
    engine = await SqliteEngine.open(
        folder / "store.sqlite", "default", clock=lambda: 1, schema=folder / "schema", queries=folder / "queries"
    )
    for number in range(count):
        async def unit(tx, number=number):
            await tx.run("add", id=name * 1_000_000 + number, text="x")
        await engine.write(unit)
        print(number, flush=True)
    await engine.close()
asyncio.run(main())
"""
LOCKER = """
import sqlite3, sys
other = sqlite3.connect(sys.argv[1], isolation_level=None)
other.execute("BEGIN IMMEDIATE")
other.execute("INSERT INTO notes VALUES ('default', 2, 'not yet')")
print("locked", flush=True)
sys.stdin.readline()
other.execute("COMMIT")
"""


def start(script, *args):
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, args)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.promise("PUB-19")
@pytest.mark.promise("R66")
async def test_three_processes_make_one_store_and_write_to_it_without_an_error(folder):
    children = [start(WRITER, folder, number, 100) for number in range(3)]
    for child in children:
        assert child.stdout.readline() == "ready\n"
    for child in children:
        child.stdin.write("\n")
        child.stdin.flush()
    for child in children:
        out, err = child.communicate(timeout=60)
        assert (child.returncode, err) == (0, "")
        assert out.split() == [str(number) for number in range(100)]
    async with opened(folder) as engine:
        assert len(await engine.read(ids)) == 300


async def test_a_writer_that_is_killed_loses_nothing_that_it_acknowledged(folder):
    child = start(WRITER, folder, 0, 1_000_000)
    assert child.stdout.readline() == "ready\n"
    child.stdin.write("\n")
    child.stdin.flush()
    for _ in range(30):
        child.stdout.readline()
    child.kill()
    acknowledged = 30 + len(child.communicate()[0].split())
    async with opened(folder) as engine:
        kept = await engine.read(ids)
        assert kept == list(range(len(kept)))
        assert acknowledged <= len(kept) <= acknowledged + 1
        await engine.write(add(-1))
        assert await on_writer(engine, "PRAGMA integrity_check") == ("ok",)


@pytest.mark.promise("R67")
async def test_a_second_process_opens_and_reads_while_another_holds_the_write_lock(folder):
    async with opened(folder) as engine:
        await engine.write(add(1))
    child = start(LOCKER, folder / "store.sqlite")
    try:
        assert child.stdout.readline() == "locked\n"
        async with opened(folder) as engine:
            assert await engine.read(ids) == [1]
            child.stdin.write("\n")
            child.stdin.flush()
            assert await engine.write(add(3)) == 3
            assert await engine.read(ids) == [1, 2, 3]
    finally:
        child.communicate()


ABANDONED = """
import asyncio, sys
from pathlib import Path
from octop_bridge.storage.sqlite import SqliteEngine
folder = Path(sys.argv[1])
async def main():
    engine = await SqliteEngine.open(
        folder / "store.sqlite", "default", clock=lambda: 1, schema=folder / "schema", queries=folder / "queries"
    )
    async def unit(tx):
        return await tx.all("ids")
    await engine.read(unit)
    keep = asyncio.create_task(engine.close())
    await asyncio.sleep(0)
asyncio.run(main())
"""


def test_a_loop_that_ends_while_the_store_closes_does_not_hang_the_interpreter(folder):
    child = start(ABANDONED, folder)
    _, err = child.communicate(timeout=30)
    assert (child.returncode, err) == (0, "")
