"""Every mutation leaves a row, the row says who, and nobody can change it."""

import sqlite3

import pytest
from contract.harness import claim, who


async def test_the_journal_refuses_update_and_delete(tmp_path, memory):
    async with memory() as m:
        stored = await m.person("memory.store", text="The heron is called Otto", identity=who("ana"))
        got = await m.person("memory.get", id=stored["atom_id"])
        assert [row["action"] for row in got["history"]] == ["promote"]
        assert got["history"][0]["actor"]["role"] == "person"
        connection = sqlite3.connect(m.db)
        for statement in ("UPDATE journal SET reason = 'x'", "DELETE FROM journal"):
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                connection.execute(statement)
        connection.close()


async def test_a_mutation_is_journalled_without_the_text(memory):
    async with memory() as m:
        await m.say("I own a zeppelin")
        await m.learn(claim("I own a zeppelin", "User owns a zeppelin"))
        [hit] = await m.hits("zeppelin")
        await m.person("memory.correct", atom_id=hit["id"], change={"kind": "retire"}, reviewer="Kim", reason="sold it")
        got = await m.person("memory.get", id=hit["id"])
        assert [row["action"] for row in got["history"]] == ["promote", "retire"]
        assert got["history"][1]["actor"]["label"] == "Kim"
        assert got["history"][1]["reason"] == "sold it"
        connection = sqlite3.connect(m.db)
        rows = connection.execute("SELECT * FROM journal").fetchall()
        connection.close()
        assert rows
        assert not [row for row in rows if "zeppelin" in str(row)]
