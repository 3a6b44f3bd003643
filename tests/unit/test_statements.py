import re
import sqlite3
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octop_bridge.storage import statements
from octop_bridge.storage.statements import compile_statement, load

EVENTS = """-- Events: what was said; ':nothing' here counts.

-- name: event_by_id
-- A comment with a :parameter and a ; in it.
SELECT id, text FROM events  /* and :one here */
WHERE namespace = :namespace AND id = :id;

-- name: events_by_ids
SELECT id FROM events WHERE namespace = :namespace AND id {in :ids} AND at_ms < CAST(:until_ms AS BIGINT);
"""
CLOCK = """-- name: now
SELECT :offset;

-- name: claim [postgres]
SELECT id FROM jobs WHERE namespace = :namespace FOR UPDATE SKIP LOCKED;

-- name: claim [sqlite]
SELECT id FROM jobs WHERE namespace = :namespace;
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "events.sql").write_text(EVENTS)
    (tmp_path / "clock.sql").write_text(CLOCK)
    return tmp_path


def test_sqlite_keeps_parameters_and_reads_a_list_as_json(folder):
    found = load("sqlite", folder)
    assert " ".join(found["event_by_id"].sql.split()) == (
        "SELECT id, text FROM events WHERE namespace = :namespace AND id = :id"
    )
    assert "id IN (SELECT value FROM json_each(:ids)) AND" in found["events_by_ids"].sql
    assert found["events_by_ids"].lists == ("ids",)
    assert found["event_by_id"].lists == ()


def test_postgres_gets_its_own_parameters_and_arrays(folder):
    sql = load("postgres", folder)["events_by_ids"].sql
    assert "namespace = %(namespace)s AND id = ANY(%(ids)s) AND at_ms < CAST(%(until_ms)s AS BIGINT)" in sql


def test_a_statement_for_one_database_is_not_the_other_ones(folder):
    assert "SKIP LOCKED" in load("postgres", folder)["claim"].sql
    assert "SKIP LOCKED" not in load("sqlite", folder)["claim"].sql
    assert load("sqlite", folder).keys() == load("postgres", folder).keys()


def test_a_folder_is_read_once(folder):
    assert load("sqlite", folder) is load("sqlite", folder)


@pytest.mark.parametrize(
    ("text", "sqlite", "postgres"),
    [
        ("SELECT '10:30 :x %' || :a;", "SELECT '10:30 :x %' || :a", "SELECT '10:30 :x %%' || %(a)s"),
        ("SELECT 'it''s :x';", "SELECT 'it''s :x'", "SELECT 'it''s :x'"),
        ("SELECT :a::bigint;", "SELECT :a::bigint", "SELECT %(a)s::bigint"),
        ("SELECT 7 % 2;", "SELECT 7 % 2", "SELECT 7 %% 2"),
        ('SELECT 1 AS "a:b;c";', 'SELECT 1 AS "a:b;c"', 'SELECT 1 AS "a:b;c"'),
        ("SELECT ';' -- the end;\n;", "SELECT ';'", "SELECT ';'"),
    ],
)
def test_strings_casts_and_percent_signs_are_not_parameters(text, sqlite, postgres):
    assert compile_statement("here", text, "sqlite").sql == sqlite
    assert compile_statement("here", text, "postgres").sql == postgres


@pytest.mark.parametrize(
    "text",
    [
        "SELECT id FROM events;",
        "INSERT INTO events (id) VALUES (:id);",
        "UPDATE events SET id = :id;",
        "DELETE FROM events;",
        "SELECT 1 WHERE EXISTS (SELECT 1 FROM live_atoms);",
        "SELECT ':namespace' FROM events;",
        "SELECT id FROM events -- :namespace\n;",
    ],
)
def test_a_statement_that_names_a_table_must_bind_the_namespace(text):
    with pytest.raises(ValueError, match="namespace"):
        compile_statement("here", text, "sqlite")


@pytest.mark.parametrize("text", ["SELECT value FROM json_each(:list);", "SELECT pg_advisory_xact_lock(:key);"])
def test_a_statement_without_a_table_needs_no_namespace(text):
    assert compile_statement("here", text, "sqlite").sql == text[:-1]


@pytest.mark.parametrize("text", ["SELECT 1", "SELECT 1; SELECT 2;", "SELECT 1;;", "", "-- nothing\n"])
def test_a_statement_ends_with_its_only_semicolon(text):
    with pytest.raises(ValueError, match="here"):
        compile_statement("here", text, "sqlite")


def test_a_name_stands_once_in_all_files(folder):
    (folder / "other.sql").write_text("-- name: event_by_id\nSELECT 1;\n")
    with pytest.raises(ValueError, match="event_by_id is named twice"):
        load("sqlite", folder)


@pytest.mark.parametrize("text", ["SELECT 1;\n", "-- name: Bad-Name\nSELECT 1;\n", "-- name:tight\nSELECT 1;\n"])
def test_sql_without_a_proper_name_is_refused(tmp_path, text):
    (tmp_path / "bad.sql").write_text(text)
    with pytest.raises(ValueError, match="before the first name"):
        load("sqlite", tmp_path)


def test_the_list_form_is_sql_that_sqlite_understands(folder):
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE events (namespace TEXT, id TEXT, at_ms INTEGER)")
    connection.executemany("INSERT INTO events VALUES ('default', ?, 1)", [("a",), ("b",), ("c",)])
    sql = load("sqlite", folder)["events_by_ids"].sql
    found = connection.execute(sql, {"namespace": "default", "ids": '["a","c","x"]', "until_ms": 2}).fetchall()
    connection.close()
    assert sorted(found) == [("a",), ("c",)]


def test_the_project_s_own_statements_load_for_both_databases_alike():
    statements.load.cache_clear()
    began = time.perf_counter()
    found = load("sqlite")
    took_ms = (time.perf_counter() - began) * 1000
    assert found.keys() == load("postgres").keys()
    # 5 ms is the promise on a quiet machine; three times that leaves room for a busy one.
    assert took_ms < 15


PIECES = st.one_of(
    st.text(alphabet='ab%:;-/*{}" ', max_size=8).map(lambda text: "'" + text.replace("'", "''") + "'"),
    st.sampled_from([":a", ":b", "x::text", "7 % 2", "-- c ' :z\n", "/* :z ' */", "(", ")", ","]),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(PIECES, max_size=12))
def test_both_forms_of_a_statement_say_the_same(pieces):
    text = "SELECT " + " ".join(pieces) + ";"
    sqlite = compile_statement("here", text, "sqlite").sql
    postgres = compile_statement("here", text, "postgres").sql
    # What the PostgreSQL driver does with its text gives the other text back.
    assert postgres % {"a": ":a", "b": ":b"} == sqlite
    assert re.findall(r"'[^']*'", sqlite) == [piece for piece in pieces if piece.startswith("'")]
