"""Everything that is there is found, whatever the script; nothing is found that is not there, or not yours."""

import pytest
from contract.harness import claim, who


@pytest.mark.promise("PUB-16")
@pytest.mark.promise("octop-R5")
async def test_words_of_every_script_are_found(memory):
    texts = [
        "今日は成語しりとりをした",
        "오늘 끝말잇기게임을 했다",
        "今天玩成语接龙游戏",
        "Мы купили новую лодку",
        "ذهبت إلى السوق صباحا",
        "ฉันชอบดื่มกาแฟเย็น",
        "Le café préféré est près de l'église",
        "我住在臺北市",
    ]
    async with memory() as m:
        await m.say(*texts)
        for query, text in {
            "しりとり": texts[0],
            "말잇기": texts[1],
            "接龙": texts[2],
            "лодка": texts[3],
            "السوق": texts[4],
            "กาแฟ": texts[5],
            "cafe prefere": texts[6],
            "台北": texts[7],
        }.items():
            assert (await m.found(query))[:1] == [text], query
        assert await m.found("骑马") == []


@pytest.mark.promise("PUB-17")
@pytest.mark.promise("octop-P6")
async def test_everything_that_people_type_is_a_query(memory):
    async with memory() as m:
        text = "Host pve-01 holds the Jenkins box; ticket POL-358; don't reboot it on 2026-05-08"
        await m.say(text)
        for query in ("pve-01", "POL-358", "don't reboot", "2026-05-08"):
            assert await m.found(query) == [text], query
        for query in ('"unbalanced', "NEAR(", "* OR ((", "", "🔥", "a AND", "col:x", "'", "%", "\\", "x" * 5000, "的"):
            await m.found(query)
        for bad in (0, 201, 1e30, 2.5, True, "5"):
            failure = await m.failure("host", "memory.search", query="x", limit=bad)
            assert (failure.code, failure.data["path"]) == (-32602, "params.limit"), bad
        failure = await m.failure("host", "memory.search", query="x", layers="raw")
        assert failure.code == -32602


@pytest.mark.promise("PUB-18")
async def test_what_fits_nothing_finds_nothing(memory):
    async with memory() as m:
        for text in (
            "User owns a Komos kegerator",
            "User follows Akka.NET releases",
            "The user is in the CET time zone",
        ):
            await m.person("memory.store", text=text, identity=who("ana"))
        assert await m.found("what is the capital of Mongolia") == []
        block = await m.host("memory.recall", query="what is the capital of Mongolia", identity=who("ana"))
        assert (block["prompt"], block["items"]) == ("", [])
        assert await m.found("Akka releases") == ["User follows Akka.NET releases"]
        assert await m.found("hello there") == []


@pytest.mark.promise("PUB-24")
@pytest.mark.promise("octop-R9")
async def test_other_people_do_not_exist(memory):
    async with memory() as m:
        await m.person("memory.store", text="User earns 91,000 a year", identity=who("alice"))
        await m.person("memory.store", text="User prefers window seats", identity=who("bob"))
        query = "salary earns year"
        assert await m.found(query, user="bob") == []
        [hit] = await m.hits(query, user="alice")
        unknown = await m.failure("host", "memory.get", id="at_" + "0" * 26, identity=who("bob"))
        foreign = await m.failure("host", "memory.get", id=hit["id"], identity=who("bob"))
        assert (foreign.code, foreign.message, foreign.data) == (unknown.code, unknown.message, unknown.data)
        assert foreign.code == -32001
        by_path = await m.failure("host", "memory.get", path=hit["path"], identity=who("bob"))
        assert by_path.code == -32001
        assert await m.found(query, user=None) == []
        assert [one["owner"] for one in (await m.person("memory.search", query=query))["hits"]] == ["user:/alice"]
        block = await m.host("memory.recall", query=query, identity=who("bob"))
        assert block["prompt"] == ""


async def test_a_group_does_not_see_the_private_facts_of_who_speaks(memory):
    async with memory() as m:
        await m.person("memory.store", text="User's birthday is on 4 May", identity=who("ana"))
        group = who("ana", chat_id="g1", chat_type="group", channel="tg")
        result = await m.host("memory.search", query="birthday", identity=group)
        assert result["hits"] == []
        assert await m.found("birthday") == ["User's birthday is on 4 May"]


@pytest.mark.promise("octop-R1")
async def test_the_rare_word_decides_and_not_the_first(memory):
    async with memory() as m:
        for thing in ("standup", "retro", "budget", "offsite", "plan"):
            await m.person("memory.store", text=f"What the team did about the name of the {thing}", identity=who("ana"))
        await m.person("memory.store", text="User's cat is named Miso", identity=who("ana"))
        assert (await m.found("what is the name of the user's cat"))[0] == "User's cat is named Miso"


@pytest.mark.promise("octop-R7")
async def test_every_hit_can_be_opened(memory):
    async with memory() as m:
        await m.say("The heron nests by the mill")
        await m.person("memory.store", text="The heron is called Otto", identity=who("ana"))
        hits = await m.hits("heron")
        assert {hit["layer"] for hit in hits} == {"atom", "raw"}
        for hit in hits:
            got = await m.host("memory.get", path=hit["path"], identity=who("ana"))
            assert (got["id"], got["path"]) == (hit["id"], hit["path"])
            assert hit["text"] in got["markdown"]
        cut = await m.host("memory.get", path=hits[0]["path"], identity=who("ana"), lines=[1, 1])
        assert cut["markdown"].count("\n") == 0
        assert cut["metadata"]["total_lines"] >= 1


@pytest.mark.promise("octop-R8")
async def test_a_long_text_is_found_and_cut_around_the_match(memory):
    async with memory() as m:
        long = "filler words here. " * 1000 + "The zanzibar clause is on page nine. " + "more filler. " * 500
        await m.say(long)
        [hit] = await m.hits("zanzibar")
        assert "zanzibar" in hit["snippet"]
        assert len(hit["snippet"]) <= 2000
        block = await m.host("memory.recall", query="zanzibar clause", identity=who("ana", "s2"), budget_tokens=200)
        assert "zanzibar" in block["prompt"]
        assert block["tokens"] <= 200


@pytest.mark.promise("octop-R3")
async def test_recall_answers_within_its_deadline_and_fits_its_budget(memory):
    async with memory() as m:
        for number in range(60):
            await m.person(
                "memory.store", text=f"The crane number {number} lifts {number + 5} tons", identity=who("ana")
            )
        block = await m.host("memory.recall", query="crane lifts tons", identity=who("ana"), budget_tokens=300)
        assert 0 < block["tokens"] <= 300
        assert block["dropped"] > 0
        assert len(block["items"]) == block["prompt"].count("\n- ")
        again = await m.host("memory.recall", query="crane lifts tons", identity=who("ana"), budget_tokens=300)
        assert again["prompt"] == block["prompt"]
        assert (await m.host("memory.recall", query="crane", identity=who("ana"), deadline_ms=1))["took_ms"] < 500


async def test_raw_is_a_last_resort_in_recall_and_never_the_running_session(memory):
    async with memory() as m:
        await m.say("The ferry leaves at noon from pier four", session="old")
        running = await m.host("memory.recall", query="ferry", identity=who("ana", "old"))
        assert running["prompt"] == ""
        later = await m.host("memory.recall", query="ferry", identity=who("ana", "new"))
        assert "pier four" in later["prompt"]
        await m.person("memory.store", text="The ferry is called Freya", identity=who("ana"))
        later = await m.host("memory.recall", query="ferry", identity=who("ana", "new"))
        assert "Freya" in later["prompt"]
        assert "pier four" not in later["prompt"]


@pytest.mark.promise("octop-S12")
async def test_reading_writes_nothing(memory):
    async with memory() as m:
        await m.say("The heron nests by the mill")
        await m.person("bridge.status")
        before = (m.db.read_bytes(), (m.db.parent / "memory.sqlite-wal").read_bytes())
        await m.found("heron")
        await m.host("memory.recall", query="heron", identity=who("ana", "s2"))
        assert (m.db.read_bytes(), (m.db.parent / "memory.sqlite-wal").read_bytes()) == before


async def test_as_of_and_known_at_ask_the_past(memory):
    async with memory() as m:
        await m.say({"role": "user", "content": "I live in Paris", "timestamp": "2026-01-10T10:00:00Z", "id": "a"})
        city = {"slot": "home_city", "type": "Fact"}
        await m.learn(claim("I live in Paris", "User lives in Paris", value="Paris", **city))
        [paris] = await m.hits("lives", types=["Fact"])
        await m.say({"role": "user", "content": "I moved to Berlin", "timestamp": "2026-03-01T10:00:00Z", "id": "b"})
        report = await m.learn(claim("I moved to Berlin", "User lives in Berlin", value="Berlin", **city))
        candidate_id = report["items"][0]["candidate_id"]
        await m.person("memory.review", candidate_id=candidate_id, verdict="accept", reviewer="Kim")
        assert [hit["text"] for hit in await m.hits("lives", types=["Fact"])] == ["User lives in Berlin"]
        then = await m.hits("lives", types=["Fact"], as_of="2026-02-01T00:00:00Z")
        assert "User lives in Paris" in [hit["text"] for hit in then]
        known = await m.hits("lives", types=["Fact"], known_at=paris["recorded_ms"])
        assert [hit["text"] for hit in known] == ["User lives in Paris"]


async def test_a_model_reads_what_is_believed_now_and_no_further(memory):
    async with memory() as m:
        stored = await m.person("memory.store", text="User plays the oboe", identity=who("ana"))
        assert (await m.model("memory.search", query="oboe"))["hits"][0]["id"] == stored["atom_id"]
        for more in ({"include_retired": True}, {"known_at": 1}, {"layers": ["raw"]}, {"identity": who("bob")}):
            assert (await m.failure("model", "memory.search", query="oboe", **more)).code == -32004
        for method in ("memory.capture", "memory.review", "memory.store", "memory.recall"):
            assert (await m.failure("model", method)).code == -32004
        await m.person(
            "memory.correct", atom_id=stored["atom_id"], change={"kind": "retire"}, reviewer="Kim", reason="no"
        )
        got = await m.model("memory.get", id=stored["atom_id"])
        assert (got["status"], got["evidence"], got["history"]) == ("retired", [], [])
        assert "oboe" not in got["markdown"]
        assert set(await m.model("bridge.status")) == {"settled", "degraded"}
