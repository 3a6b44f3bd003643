"""A transaction over a SQLite database in memory: what a unit needs, without an engine, a thread or an event loop."""

import json
import sqlite3
from collections import Counter

from octop_bridge.storage import statements
from octop_bridge.storage.migrate import SCHEMA


class TxDouble:
    """Runs named statements at once and counts the calls by name."""

    def __init__(self, namespace="default", connection=None):
        self.namespace = namespace
        self.calls = Counter()
        self.statements = statements.load("sqlite")
        self.connection = connection or sqlite3.connect(":memory:", isolation_level=None)
        if connection is None:
            self.connection.executescript((SCHEMA / "0002_textindex.sqlite.sql").read_text("utf-8"))

    def _execute(self, name, params):
        self.calls[name] += 1
        statement = self.statements[name]
        lists = {key: json.dumps(params[key]) for key in statement.lists}
        return self.connection.execute(statement.sql, {**params, **lists, "namespace": self.namespace})

    async def all(self, name, /, **params):
        return self._execute(name, params).fetchall()

    async def one(self, name, /, **params):
        return next(iter(self._execute(name, params).fetchall()), None)

    async def run(self, name, /, **params):
        return self._execute(name, params).rowcount

    async def run_many(self, name, rows, /):
        self.calls[name] += bool(rows)
        bound = [{**row, "namespace": self.namespace} for row in rows]
        self.connection.executemany(self.statements[name].sql, bound)


def run(coroutine):
    """What a unit's coroutine returns. It never suspends, as in the SQLite engine."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("a unit awaited something besides its transaction")
