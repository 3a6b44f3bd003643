"""A small store of notes, on which the tests try the SQLite engine."""

import asyncio
import threading
from contextlib import asynccontextmanager

from octop_bridge.storage import sqlite_connection
from octop_bridge.storage.sqlite import SqliteEngine

SCHEMA = """CREATE TABLE notes (namespace TEXT NOT NULL, id INTEGER NOT NULL, text TEXT NOT NULL,
    PRIMARY KEY (namespace, id)) STRICT;
CREATE TRIGGER refused BEFORE INSERT ON notes WHEN NEW.text = 'undo all' BEGIN SELECT RAISE(ROLLBACK, 'undone'); END;
"""
QUERIES = """-- name: add
INSERT INTO notes (namespace, id, text) VALUES (:namespace, :id, :text);

-- name: next
INSERT INTO notes (namespace, id, text)
SELECT :namespace, COALESCE(MAX(id), 0) + 1, :text FROM notes WHERE namespace = :namespace RETURNING id;

-- name: copy
WITH old AS (SELECT id, text FROM notes WHERE namespace = :namespace)
INSERT INTO notes (namespace, id, text) SELECT :namespace, id + 1000, text FROM old;

-- name: rename
UPDATE notes SET text = :text WHERE namespace = :namespace AND id {in :ids} RETURNING id;

-- name: drop
DELETE FROM notes WHERE namespace = :namespace AND id {in :ids};

-- name: ids
SELECT id FROM notes WHERE namespace = :namespace ORDER BY id;

-- name: count
SELECT COUNT(*) FROM notes WHERE namespace = :namespace;

-- name: endless
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) FROM n WHERE :namespace <> '';
"""
WAIT_S = 10


def prepare(folder):
    """A folder with the schema and the statements of a small store."""
    for name, text in (("schema/0001_notes.sqlite.sql", SCHEMA), ("queries/notes.sql", QUERIES)):
        (folder / name).parent.mkdir()
        (folder / name).write_text(text)
    return folder


@asynccontextmanager
async def opened(folder, name="store.sqlite", **options):
    engine = await SqliteEngine.open(
        folder / name,
        "default",
        clock=lambda: 1,
        schema=folder / "schema",
        queries=folder / "queries",
        **{"durability": "normal", **options},
    )
    try:
        async with asyncio.timeout(WAIT_S):
            yield engine
    finally:
        await engine.close()


def add(number, text="x"):
    async def unit(tx):
        await tx.run("add", id=number, text=text)
        return number

    return unit


async def ids(tx):
    return [row[0] for row in await tx.all("ids")]


async def endless(tx):
    return await tx.one("endless")


class Gate:
    """A unit that stops on its thread until it is let through."""

    def __init__(self, unit=ids):
        self.entered, self.open, self.unit = threading.Event(), threading.Event(), unit

    async def __call__(self, tx):
        self.entered.set()
        assert self.open.wait(WAIT_S)
        return await self.unit(tx)

    async def reached(self):
        assert await asyncio.to_thread(self.entered.wait, WAIT_S)


async def settled():
    for _ in range(5):
        await asyncio.sleep(0)


def threads_left():
    for thread in threading.enumerate():
        if "_connection_worker_thread" in thread.name:
            thread.join(WAIT_S)
    return [thread.name for thread in threading.enumerate() if "_connection_worker_thread" in thread.name]


async def on_writer(engine, sql):
    return await sqlite_connection.on_thread(engine._writer.proxy, lambda: engine._writer.raw.execute(sql).fetchone())
