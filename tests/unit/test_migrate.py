import hashlib
import sqlite3

import pytest

from octop_bridge.storage import migrate
from octop_bridge.storage.engine import SchemaTooNew, StorageError

NOTES = """-- Notes; and a comment with a semicolon.
CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;
CREATE TABLE log (text TEXT NOT NULL); CREATE INDEX log_text ON log (text);
CREATE TRIGGER note_logged AFTER INSERT ON notes BEGIN
    INSERT INTO log (text) VALUES ('a;b');
    INSERT INTO log (text) VALUES (NEW.text);
END;
"""
TAGS = "ALTER TABLE notes ADD COLUMN tag TEXT;\nUPDATE notes SET tag = 'old';\n"


@pytest.fixture
def schema(tmp_path):
    folder = tmp_path / "schema"
    folder.mkdir()
    (folder / "0001_notes.sqlite.sql").write_text(NOTES)
    (folder / "0001_notes.postgres.sql").write_text("CREATE TABLE notes (id BIGINT);")
    return folder


@pytest.fixture
def connect(tmp_path):
    made = []

    def connection():
        made.append(sqlite3.connect(tmp_path / "store.sqlite", isolation_level=None, timeout=0))
        return made[-1]

    yield connection
    for one in made:
        one.close()


def steps(schema):
    migrate.load.cache_clear()
    return migrate.load(schema)


def version(connection):
    return connection.execute("PRAGMA user_version").fetchone()[0]


def test_a_new_file_gets_every_migration_and_a_row_for_each(schema, connect):
    (schema / "0002_tags.sqlite.sql").write_text(TAGS)
    connection = connect()
    assert migrate.migrate(connection, steps(schema), lambda: 1_700_000_000_000) == 2
    assert version(connection) == 2
    assert connection.execute("SELECT * FROM migrations").fetchall() == [
        (1, "notes", hashlib.sha256(NOTES.encode()).hexdigest(), 1_700_000_000_000),
        (2, "tags", hashlib.sha256(TAGS.encode()).hexdigest(), 1_700_000_000_000),
    ]
    connection.execute("INSERT INTO notes (text) VALUES ('x')")
    assert connection.execute("SELECT text FROM log").fetchall() == [("a;b",), ("x",)]


def test_an_older_file_keeps_its_rows_and_gets_what_it_lacks(schema, connect):
    connection = connect()
    migrate.migrate(connection, steps(schema), lambda: 1)
    connection.execute("INSERT INTO notes (text) VALUES ('kept')")
    (schema / "0002_tags.sqlite.sql").write_text(TAGS)
    assert migrate.migrate(connection, steps(schema), lambda: 2) == 1
    assert connection.execute("SELECT text, tag FROM notes").fetchall() == [("kept", "old")]
    assert connection.execute("SELECT number, applied_ms FROM migrations").fetchall() == [(1, 1), (2, 2)]


@pytest.mark.promise("R67")
def test_a_file_that_is_up_to_date_is_only_read(schema, connect):
    first, second = connect(), connect()
    migrate.migrate(first, steps(schema), lambda: 1)
    first.execute("PRAGMA journal_mode = WAL")
    first.execute("BEGIN IMMEDIATE")
    assert migrate.pending(second, steps(schema)) == ()
    (schema / "0002_tags.sqlite.sql").write_text(TAGS)
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        migrate.migrate(second, steps(schema), lambda: 1)


@pytest.mark.promise("R71")
def test_a_migration_that_fails_leaves_version_and_rows_unchanged(schema, connect):
    connection = connect()
    migrate.migrate(connection, steps(schema), lambda: 1)
    connection.execute("INSERT INTO notes (text) VALUES ('kept')")
    before = list(connection.iterdump())
    (schema / "0002_tags.sqlite.sql").write_text(TAGS)
    (schema / "0003_broken.sqlite.sql").write_text("DELETE FROM notes;\nINSERT INTO nowhere VALUES (1);\n")
    with pytest.raises(sqlite3.OperationalError, match="nowhere"):
        migrate.migrate(connection, steps(schema), lambda: 2)
    assert version(connection) == 1
    assert not connection.in_transaction
    assert list(connection.iterdump()) == before


def test_a_clock_that_fails_leaves_an_empty_file(schema, connect):
    connection = connect()

    def broken():
        raise OSError("no clock")

    with pytest.raises(OSError, match="no clock"):
        migrate.migrate(connection, steps(schema), broken)
    assert connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone() == (0,)
    assert migrate.migrate(connection, steps(schema), lambda: 1) == 1


@pytest.mark.promise("R71")
def test_a_file_of_a_newer_version_is_refused(schema, connect):
    connection = connect()
    migrate.migrate(connection, steps(schema), lambda: 1)
    connection.execute("PRAGMA user_version = 2")
    with pytest.raises(SchemaTooNew) as refused:
        migrate.pending(connection, steps(schema))
    assert not refused.value.retryable


def test_a_migration_whose_text_changed_says_what_to_do(schema, connect):
    connection = connect()
    migrate.migrate(connection, steps(schema), lambda: 1)
    (schema / "0001_notes.sqlite.sql").write_text(NOTES + "-- changed\n")
    with pytest.raises(StorageError) as refused:
        migrate.pending(connection, steps(schema))
    assert refused.value.hint == "made by an older development version: move the file away"
    assert not connection.in_transaction


@pytest.mark.parametrize(
    "made_by", ["CREATE TABLE moz_places (id)", "PRAGMA user_version = 3", "PRAGMA application_id = 9"]
)
def test_another_program_s_database_is_not_taken_over(schema, connect, made_by):
    connection = connect()
    connection.execute(made_by)
    with pytest.raises(StorageError) as refused:
        migrate.migrate(connection, steps(schema), lambda: 1)
    assert "another program" in refused.value.hint
    assert connection.execute("SELECT COUNT(*) FROM sqlite_master WHERE name = 'notes'").fetchone() == (0,)


@pytest.mark.parametrize("name", ["0003_gap.sqlite.sql", "2_short.sqlite.sql", "0001_again.sqlite.sql", "x.sqlite.sql"])
def test_numbers_of_migrations_follow_each_other(schema, name):
    (schema / name).write_text("SELECT 1;")
    with pytest.raises(ValueError, match=r"expected 000\d_name"):
        steps(schema)


def test_the_other_database_s_migrations_are_loaded_by_name(schema):
    (step,) = migrate.load(schema, "postgres")
    assert (step.number, step.name) == (1, "notes")


def test_a_script_is_split_into_statements_with_triggers_whole():
    statements = list(migrate.split(NOTES))
    assert [statement.split()[1] for statement in statements[1:]] == ["TABLE", "INDEX", "TRIGGER"]
    assert statements[-1].rstrip().endswith("END;")


def test_the_project_s_own_schema_can_be_applied():
    connection = sqlite3.connect(":memory:", isolation_level=None)
    migrations = migrate.load()
    assert migrate.migrate(connection, migrations, lambda: 1) == len(migrations)
    connection.close()
