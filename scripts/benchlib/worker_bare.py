"""The limits: the same rows written, and the same texts searched, by plain sqlite3 with nothing around it."""

import re
import sqlite3
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchlib import worker

_POSTING_BYTES = 14
_CHUNK = 8
_ADD_FRESH = """INSERT INTO fresh (namespace, scope, ord, n, terms) VALUES (?, ?, ?, 1, ?)
ON CONFLICT (namespace, scope, ord) DO UPDATE SET n = n + 1, terms = CAST(fresh.terms || excluded.terms AS BLOB)"""


class Worker:
    """One store written to, one searched."""

    def __init__(self) -> None:
        self._store: sqlite3.Connection | None = None
        self._events: list[tuple[Any, ...]] = []
        self._docs: list[tuple[Any, ...]] = []
        self._texts: sqlite3.Connection | None = None

    def take(self, source: str, schema: str, target: str) -> int:
        """Read what a store has captured, and make an empty store of the same schema for it; how many events."""
        given = sqlite3.connect(source)
        self._events = given.execute("SELECT * FROM events ORDER BY event_id").fetchall()
        self._docs = given.execute("SELECT * FROM docs ORDER BY ord").fetchall()
        scopes = given.execute("SELECT * FROM scopes").fetchall()
        stats = given.execute("SELECT * FROM term_stats").fetchall()
        given.close()
        store = sqlite3.connect(target, isolation_level=None)
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "secure_delete = ON"):
            store.execute(f"PRAGMA {pragma}")
        for file in sorted(Path(schema).glob("*.sqlite.sql")):
            store.executescript(file.read_text())
        store.executemany(f"INSERT INTO scopes VALUES ({_marks(scopes[0])})", scopes)
        store.executemany(f"INSERT INTO term_stats VALUES ({_marks(stats[0])})", stats)
        self._store = store
        return len(self._events)

    def write(self, events: int, together: int, at: int) -> float:
        """Seconds to write so many of the events from `at` on, so many of them a commit, with their index rows."""
        store = self._store
        assert store is not None
        assert at + events <= min(len(self._events), len(self._docs)), "not so many rows are prepared"
        insert_event = f"INSERT INTO events VALUES ({_marks(self._events[0])})"
        insert_doc = f"INSERT INTO docs VALUES ({_marks(self._docs[0])})"
        started = time.perf_counter()
        for first in range(at, at + events, together):
            last = min(first + together, at + events)
            docs = self._docs[first:last]
            store.execute("BEGIN IMMEDIATE")
            store.executemany(insert_event, self._events[first:last])
            store.execute("UPDATE term_stats SET docs = docs + ?, next_ord = next_ord + ?", (len(docs), len(docs)))
            store.executemany(insert_doc, docs)
            store.executemany(_ADD_FRESH, _fresh(docs))
            store.execute("COMMIT")
        return time.perf_counter() - started

    def index(self, target: str, texts: Sequence[str]) -> None:
        """Put the texts into a full-text table, in a file of its own."""
        self._texts = sqlite3.connect(target, isolation_level=None)
        self._texts.execute("CREATE VIRTUAL TABLE texts USING fts5(text)")
        self._texts.execute("BEGIN")
        self._texts.executemany("INSERT INTO texts (text) VALUES (?)", [(text,) for text in texts])
        self._texts.execute("COMMIT")

    def search(self, queries: Sequence[str], limit: int) -> list[float]:
        """Seconds that each query took: any of its words, ordered by bm25."""
        table = self._texts
        assert table is not None
        spent = []
        for query in queries:
            words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", query))
            started = time.perf_counter()
            table.execute("SELECT text FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT ?", (words, limit)).fetchall()
            spent.append(time.perf_counter() - started)
        return spent


def _fresh(docs: Sequence[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """A packed row for each document, as long as its terms are many."""
    for namespace, scope, ordinal, *_, term_count in docs:
        yield namespace, scope, ordinal - ordinal % _CHUNK, bytes(_POSTING_BYTES * term_count)


def _marks(row: Sequence[Any]) -> str:
    return ", ".join("?" * len(row))


if __name__ == "__main__":
    it = Worker()
    worker.serve({"take": it.take, "write": it.write, "index": it.index, "search": it.search})
