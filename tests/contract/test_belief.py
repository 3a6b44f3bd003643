"""From what was said to what is believed, and back again."""

import pytest
from contract.harness import claim, who


@pytest.mark.promise("PUB-01")
@pytest.mark.promise("R2")
async def test_a_growing_history_is_stored_once(memory):
    async with memory(extraction={"kind": "rules"}) as m:
        history = []
        for turn in range(1, 11):
            history.append({"role": "user", "content": f"question {turn} about greenhouse", "id": f"h{2 * turn - 1}"})
            history.append({"role": "assistant", "content": f"answer {turn}", "id": f"h{2 * turn}"})
            reply = await m.host("memory.capture", messages=list(history), identity=who("ana", "s1"))
            assert (reply["stored"], reply["duplicates"]) == (2, 2 * (turn - 1))
        status = await m.person("bridge.status")
        assert status["events"]["stored"] == 20
        report = await m.host("memory.extract", identity=who("ana", "s1"))
        assert report["events"] == 20
        assert (await m.host("memory.extract", identity=who("ana", "s1")))["events"] == 0


@pytest.mark.promise("PUB-02")
async def test_a_retry_with_something_new_stores_the_new(memory):
    async with memory() as m:
        first = {"id": "a1", "role": "user", "content": "The spare key is under the blue pot"}
        second = {"id": "a2", "role": "user", "content": "The alarm code changed in March"}
        await m.say(first)
        reply = await m.say(first, second)
        assert [item["status"] for item in reply["results"]] == ["duplicate", "stored"]
        assert (await m.person("bridge.status"))["events"]["stored"] == 2


@pytest.mark.promise("PUB-03")
async def test_a_recalled_block_is_no_evidence(memory):
    async with memory() as m:
        await m.say("I take my coffee with oat milk")
        await m.learn(claim("I take my coffee with oat milk", "User takes coffee with oat milk", type="Preference"))
        block = (await m.host("memory.recall", query="coffee", identity=who("ana", "s2")))["prompt"]
        assert "oat milk" in block
        reply = {"role": "assistant", "content": f"{block}\n\nSure, oat milk it is!", "id": "e2"}
        await m.say(reply, session="s2")
        report = await m.learn(claim("oat milk", "User takes coffee with oat milk", type="Preference"), session="s2")
        assert report["promoted"] == report["merged"] == 0
        [hit] = [hit for hit in await m.hits("coffee") if hit["layer"] == "atom"]
        assert len(hit["evidence"]) == 1
        raw = await m.found("oat milk", layers=["raw"])
        assert "Sure, oat milk it is!" in raw
        assert not any("octop" in text for text in raw)


async def test_a_claim_with_an_invented_quote_waits_with_a_reason(memory):
    async with memory() as m:
        await m.say({"role": "user", "content": "How do I convert 12 miles to kilometres?", "id": "q"})
        report = await m.learn(claim("I am John Doe", "User is John Doe, a Google engineer", event="q"))
        assert (report["promoted"], report["parked"]) == (0, 1)
        assert not [text for text in await m.found("who is John Doe") if "John Doe" in text]
        [item] = (await m.person("memory.queue"))["items"]
        assert "quote" in item["findings"][0]["detail"]


@pytest.mark.promise("R1")
@pytest.mark.promise("octop-T5")
async def test_what_only_the_assistant_said_is_never_believed(memory):
    async with memory() as m:
        await m.say(
            {"role": "assistant", "content": "As my SOUL file says, I am Kit and I run on a Mac mini", "id": "a"}
        )
        report = await m.learn(
            claim("I run on a Mac mini", "Kit runs on a Mac mini", subject={"name": "Kit", "kind": "Agent"})
        )
        assert report["promoted"] == 0
        assert "assistant-only" in report["items"][0]["reason"]
        await m.say("I run on a treadmill")
        assert (await m.learn(claim("I run on a treadmill", "User runs on a treadmill")))["promoted"] == 1


@pytest.mark.promise("R46")
async def test_a_lost_negation_waits(memory):
    async with memory() as m:
        await m.say("Do not deploy on Fridays")
        report = await m.learn(claim("Do not deploy on Fridays", "Deploy on Fridays", type="Decision"))
        assert report["parked"] == 1
        assert "Deploy on Fridays" not in await m.found("deploy Fridays")


async def test_a_changed_number_waits_and_a_kept_one_does_not(memory):
    async with memory() as m:
        await m.say("The office is at Calle Mayor 9", "The rent is 900 euros")
        report = await m.learn(
            claim("The office is at Calle Mayor 9", "The office is at Calle Mayor 8", subject={"name": "office"}),
            claim("The rent is 900 euros", "The rent is 900 euros", subject={"name": "rent"}),
        )
        assert (report["parked"], report["promoted"]) == (1, 1)


@pytest.mark.promise("octop-T1")
async def test_accept_believes_the_claim_and_ends_what_it_contradicts(memory):
    async with memory() as m:
        await m.say("Our standup is at 9:30")
        standup = {"subject": {"name": "standup", "kind": "Thing"}, "slot": "time"}
        await m.learn(claim("Our standup is at 9:30", "The standup is at 9:30", value="9:30", **standup))
        await m.say("The standup is at 10:15")
        report = await m.learn(claim("The standup is at 10:15", "The standup is at 10:15", value="10:15", **standup))
        assert report["parked"] == 1
        [hit] = await m.hits("standup", types=["Fact"])
        assert hit["status"] == "disputed"
        assert hit["disputed_by"][0]["text"] == "The standup is at 10:15"
        [item] = (await m.person("memory.queue"))["items"]
        assert item["findings"][0]["kind"] == "slot"
        verdict = {"candidate_id": item["candidate"]["id"], "verdict": "accept", "reviewer": "Kim"}
        result = await m.person("memory.review", **verdict)
        assert [atom["text"] for atom in result["superseded"]] == ["The standup is at 9:30"]
        [hit] = await m.hits("standup", types=["Fact"])
        assert (hit["text"], hit["status"]) == ("The standup is at 10:15", "current")
        again = await m.failure("person", "memory.review", **verdict)
        assert again.code == -32002


@pytest.mark.promise("octop-T1")
async def test_a_rejected_value_does_not_come_back(memory):
    async with memory() as m:
        await m.say("I have a boat, ha ha", "I have a boat licence")
        report = await m.learn(claim("I have a boat", "User has a boat", type="Instruction"))
        assert report["parked"] == 1
        candidate_id = report["items"][0]["candidate_id"]
        result = await m.person("memory.review", candidate_id=candidate_id, verdict="reject", reviewer="Kim")
        assert result["tombstones"][0]["text"] == "User has a boat"
        await m.say("I have a boat", session="s2")
        assert "I have a boat" not in await m.found("boat")
        for words in ("User has a boat", "The user has a  BOAT.", "user has a boаt"):
            report = await m.learn(claim("I have a boat", words), session="s2")
            assert report["promoted"] == 0, words
            await m.say("I have a boat", session=f"s{words}")
        hits = await m.found("boat")
        assert "I have a boat licence" in hits
        assert "User has a boat" not in hits
        block = (await m.host("memory.recall", query="boat", identity=who("ana", "s3")))["prompt"]
        assert "has a boat" not in block
        assert (await m.person("bridge.status"))["tombstones"]["refused"] >= 1


async def test_a_correction_replaces_and_a_retirement_silences(memory):
    async with memory() as m:
        await m.say("My cat is called Momo", "I play the flute")
        await m.learn(
            claim("My cat is called Momo", "User's cat is called Momo"),
            claim("I play the flute", "User plays the flute"),
        )
        [cat] = await m.hits("cat")
        result = await m.person(
            "memory.correct",
            atom_id=cat["id"],
            change={"kind": "replace", "text": "User's cat is called Mimi"},
            reviewer="Kim",
            reason="misheard",
        )
        assert result["atom"]["successor"] == result["successor"]["id"]
        assert await m.found("cat called") == ["User's cat is called Mimi"]
        got = await m.host("memory.get", id=cat["id"], identity=who("ana"))
        assert got["status"] == "retired"
        assert got["markdown"].splitlines()[0].startswith("**retired on")
        [flute] = await m.hits("flute")
        await m.person(
            "memory.correct", atom_id=flute["id"], change={"kind": "retire"}, reviewer="Kim", reason="not so"
        )
        assert await m.found("flute") == []
        await m.say("I play the flute", session="s9")
        assert (await m.learn(claim("I play the flute", "User plays the flute"), session="s9"))["promoted"] == 0


async def test_a_person_outranks_a_tombstone(memory):
    async with memory() as m:
        await m.say("I own a kayak")
        await m.learn(claim("I own a kayak", "User owns a kayak"))
        [hit] = await m.hits("kayak")
        await m.person("memory.correct", atom_id=hit["id"], change={"kind": "retire"}, reviewer="Kim", reason="sold")
        stored = await m.person("memory.store", text="User owns a kayak", identity=who("ana"))
        assert len(stored["lifted"]) == 1
        assert await m.found("kayak") == ["User owns a kayak"]


@pytest.mark.promise("octop-S8")
async def test_the_same_statement_is_stored_once_and_an_empty_one_never(memory):
    async with memory() as m:
        first = await m.person("memory.store", text="The printer is on floor 3", identity=who("ana"))
        again = await m.person("memory.store", text="the printer is on floor 3.", identity=who("ana"))
        assert first["atom_id"] == again["atom_id"]
        assert len(await m.found("printer")) == 1
        for empty in ("", "   "):
            assert (await m.failure("person", "memory.store", text=empty)).code == -32602


async def test_shared_statements_reach_everybody_and_private_ones_do_not(memory):
    async with memory() as m:
        await m.person("memory.store", text="The guest wifi is called Lagoon", shared=True)
        await m.person("memory.store", text="The wifi of Ana is called Puddle", identity=who("ana"))
        assert len(await m.found("wifi", user="ana")) == 2
        assert await m.found("wifi", user="bob") == ["The guest wifi is called Lagoon"]


@pytest.mark.promise("octop-S4")
async def test_a_claim_that_breaks_the_checks_waits_and_the_others_go_on(tmp_path, monkeypatch):
    from contract.harness import open_memory

    from octop_bridge.work import extraction

    sound = extraction.decide

    def breaks(gathered):
        if "poison" in gathered.claim.assertion:
            raise TypeError("compared what cannot be compared")
        return sound(gathered)

    monkeypatch.setattr(extraction, "decide", breaks)
    async with open_memory("in-process", tmp_path) as m:
        await m.say("I keep poison frogs", "I keep bees")
        report = await m.learn(
            claim("I keep poison frogs", "User keeps poison frogs"), claim("I keep bees", "User keeps bees")
        )
        assert (report["parked"], report["promoted"]) == (1, 1)
        [item] = (await m.person("memory.queue"))["items"]
        assert item["findings"][0]["kind"] == "failed"
        assert await m.found("bees") == ["User keeps bees"]
