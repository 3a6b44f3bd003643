"""What is kept of a turn, what is not, and that nothing is kept twice."""

import pytest
from contract.harness import who


def fates(reply):
    return [(item["status"], item["reason"]) for item in reply["results"]]


async def raw_texts(m, query, **more):
    return await m.found(query, layers=["raw"], **more)


@pytest.mark.promise("PUB-04")
@pytest.mark.promise("octop-H2")
async def test_a_user_may_talk_about_a_marker_and_a_foreign_block_is_cut_out(memory):
    async with memory() as m:
        quoted = 'In our docs the heading "## Memory Recall" must be renamed to "Recall"'
        await m.say(quoted)
        assert await raw_texts(m, "heading renamed docs") == [quoted]
        await m.say("<relevant-memories>\n- owns a canoe\n</relevant-memories>\nWhere can I rent skis?")
        assert await raw_texts(m, "rent skis") == ["Where can I rent skis?"]
        assert await raw_texts(m, "canoe") == []


@pytest.mark.promise("PUB-05")
@pytest.mark.promise("R6")
async def test_a_channel_envelope_is_metadata(memory):
    envelope = (
        "System: [2026-04-02 17:01:12 GMT+8] Feishu[default] DM | ou_77 [msg:om_88]\n\n"
        'Sender (untrusted metadata):\n```json\n{"sender_id":"ou_77","name":"Wei"}\n```\n\n'
        'Location (untrusted metadata):\n```json\n{"city":"Xiamen"}\n```\n'
    )
    async with memory() as m:
        await m.say(envelope + "I always book the 7:40 train")
        assert await raw_texts(m, "book train") == ["I always book the 7:40 train"]
        assert await raw_texts(m, "ou_77") == []
        await m.say('Thread starter (untrusted, for context):\n```json\n{"text":"hi"}\n```\nI am vegan')
        assert await raw_texts(m, "vegan") == ["I am vegan"]


@pytest.mark.promise("PUB-06")
@pytest.mark.promise("R7")
async def test_heartbeats_leave_no_trace_but_a_count(memory):
    async with memory() as m:
        beat = [
            {
                "role": "user",
                "content": "Read HEARTBEAT.md if it exists. If nothing needs attention, reply HEARTBEAT_OK.",
            },
            {"role": "assistant", "content": "HEARTBEAT_OK"},
        ]
        reply = await m.host("memory.capture", messages=beat, session_kind="heartbeat", identity=who("ana", "hb"))
        assert fates(reply) == [("skipped", "session_policy")] * 2
        await m.say("My heartbeat is 60 at rest", session="s1")
        assert await raw_texts(m, "HEARTBEAT") == ["My heartbeat is 60 at rest"]
        status = await m.person("bridge.status")
        assert status["events"]["skipped"] == 2
        await m.host("memory.extract", identity=who("ana", "hb"))
        assert (await m.person("bridge.status"))["model"]["calls"] == 0


@pytest.mark.promise("R8")
async def test_session_kinds_have_their_policy(memory):
    async with memory() as m:
        for kind, outcome in {
            "user": "pending",
            "oneshot": "pending",
            "cron": "raw",
            "subagent": "raw",
            "batch": None,
            "system": None,
        }.items():
            reply = await m.host(
                "memory.capture",
                messages=[{"role": "user", "content": f"the {kind} zebra"}],
                session_kind=kind,
                identity=who("ana", f"s-{kind}"),
            )
            assert reply["stored"] == (0 if outcome is None else 1), kind
        assert await m.found("zebra", limit=50) == await m.found("zebra", limit=50)
        default = set(await m.found("zebra"))
        assert default == {"the user zebra", "the oneshot zebra"}
        assert set(await raw_texts(m, "zebra")) == default | {"the cron zebra", "the subagent zebra"}
        assert (await m.person("bridge.status"))["events"]["pending"] == 2


@pytest.mark.promise("R3")
@pytest.mark.promise("octop-S5")
async def test_the_same_text_without_an_id_is_stored_once(memory):
    async with memory() as m:
        message = {"role": "user", "content": "a long text " * 50, "timestamp": "2026-04-02T09:00:00Z"}
        replies = [await m.say(message) for _ in range(8)]
        assert [reply["stored"] for reply in replies] == [1] + [0] * 7
        assert (await m.person("bridge.status"))["events"]["duplicates"] == 7


async def test_two_real_yes_are_two(memory):
    async with memory() as m:
        first = await m.say({"role": "assistant", "content": "Cats?"}, {"role": "user", "content": "yes"})
        second = await m.say({"role": "assistant", "content": "Dogs?"}, {"role": "user", "content": "yes"})
        assert (first["stored"], second["stored"]) == (2, 2)
        assert (await m.say({"role": "assistant", "content": "Dogs?"}, {"role": "user", "content": "yes"}))[
            "stored"
        ] == 0


@pytest.mark.promise("R4")
async def test_the_first_turn_of_every_session_is_kept(memory):
    async with memory() as m:
        for number in range(40):
            await m.say({"role": "user", "content": "Good morning to you"}, session=f"n{number}")
        assert (await m.person("bridge.status"))["events"]["stored"] == 40


@pytest.mark.promise("R11")
async def test_a_missing_or_wrong_field_is_named(memory):
    async with memory() as m:
        for messages, path in (
            ([{"role": "user"}], "params.messages[0].content"),
            ([{"role": "user", "content": "x"}, {"role": "boss", "content": "x"}], "params.messages[1].role"),
            ([{"role": "user", "content": 7}], "params.messages[0].content"),
            ([{"role": "user", "content": "x", "sessionId": "s"}], "params.messages[0].sessionId"),
        ):
            failure = await m.failure("host", "memory.capture", messages=messages)
            assert (failure.code, failure.data["path"]) == (-32602, path)
        assert (await m.failure("host", "memory.capture")).data["path"] == "params.messages"


@pytest.mark.promise("R13")
async def test_what_is_captured_late_is_still_extracted(memory):
    async with memory(extraction={"kind": "rules"}) as m:
        await m.say({"role": "user", "content": "I live in Lisbon", "timestamp": "2026-05-01T10:00:00Z"})
        assert (await m.host("memory.extract"))["events"] == 1
        await m.say({"role": "user", "content": "I own a sailing boat", "timestamp": "2026-04-01T10:00:00Z"})
        assert (await m.host("memory.extract"))["events"] == 1


@pytest.mark.promise("R14")
async def test_a_summary_by_the_host_is_no_evidence(memory):
    async with memory(extraction={"kind": "rules"}) as m:
        summary = {"role": "assistant", "content": "User lives in Lisbon", "kind": "memory_write"}
        await m.say(summary)
        assert (await m.host("memory.extract"))["promoted"] == 0
        await m.say("I live in Lisbon")
        assert (await m.host("memory.extract"))["promoted"] == 1


@pytest.mark.promise("R15")
@pytest.mark.promise("octop-H3")
async def test_reasoning_is_cut_from_the_assistant_and_kept_of_a_user(memory):
    async with memory() as m:
        await m.say({"role": "assistant", "content": "plan plan</think>Answer is 4"})
        await m.say({"role": "assistant", "content": "<thinking>secret zebra</thinking>The stripes are black"})
        await m.say("use `<think>` tags for the zebra")
        assert await raw_texts(m, "answer") == ["Answer is 4"]
        assert await raw_texts(m, "stripes") == ["The stripes are black"]
        assert await raw_texts(m, "zebra") == ["use `<think>` tags for the zebra"]


@pytest.mark.promise("R17")
async def test_broken_characters_are_repaired_and_the_batch_is_kept(memory):
    async with memory() as m:
        reply = await m.say("boat a\u0000b harbour", "second message of the batch")
        assert reply["stored"] == 2
        [text] = await raw_texts(m, "harbour")
        assert "\u0000" not in text


@pytest.mark.promise("octop-H4")
async def test_system_and_developer_are_skipped_and_tools_by_default(memory):
    async with memory() as m:
        reply = await m.host(
            "memory.capture",
            messages=[{"role": role, "content": "words"} for role in ("system", "developer", "tool", "user")],
            identity=who("ana"),
        )
        assert fates(reply)[:3] == [("skipped", "role")] * 3
        assert fates(reply)[3] == ("stored", None)


@pytest.mark.promise("octop-H5")
async def test_nothing_is_skipped_for_its_length(memory):
    async with memory() as m:
        reply = await m.say("I am vegan", "나는 채식주의자", "わたしはベジ", "吃素")
        assert reply["stored"] == 4
        assert await raw_texts(m, "채식주의자") == ["나는 채식주의자"]


@pytest.mark.promise("octop-P15")
async def test_a_bad_timestamp_is_said_and_parts_are_counted(memory):
    async with memory() as m:
        reply = await m.say(
            {"role": "user", "content": "one", "timestamp": "not-a-date"},
            {"role": "user", "content": [{"type": "text", "text": "two"}, {"type": "image", "url": "x"}]},
            {"role": "user", "content": "three", "timestamp": "1999-01-01T00:00:00Z"},
        )
        assert fates(reply) == [("stored", "bad_timestamp"), ("stored", None), ("stored", "bad_timestamp")]
        got = await m.person("memory.get", id=reply["results"][0]["event_id"])
        assert got["metadata"]["message"]["timestamp"] == "not-a-date"


@pytest.mark.promise("octop-S3")
async def test_event_times_are_compared_as_instants(memory):
    async with memory() as m:
        reply = await m.say(
            {"role": "user", "content": "east", "timestamp": "2026-04-02T09:00:00+08:00"},
            {"role": "user", "content": "west", "timestamp": "2026-04-02T02:00:00Z"},
            {"role": "user", "content": "local", "timestamp": "2026-04-02T01:30:00"},
        )
        ids = [item["event_id"] for item in reply["results"]]
        east, west, _ = [(await m.person("memory.get", id=one))["metadata"]["at_ms"] for one in ids]
        assert east == west - 3_600_000


@pytest.mark.promise("R86")
async def test_an_idempotency_key_answers_the_stored_result(memory):
    async with memory() as m:
        call = {"messages": [{"role": "user", "content": "yes"}], "key": "k1", "identity": who("ana", "s1")}
        first = await m.host("memory.capture", **call)
        assert await m.host("memory.capture", **call) == first
        other = await m.failure("host", "memory.capture", **{**call, "messages": [{"role": "user", "content": "no"}]})
        assert (other.code, other.data["path"]) == (-32602, "params.key")
        assert (await m.person("bridge.status"))["events"]["stored"] == 1


async def test_a_call_over_the_limit_is_refused_whole(memory):
    async with memory(server={"messages_max": 3}) as m:
        failure = await m.failure(
            "host", "memory.capture", messages=[{"role": "user", "content": f"{n}"} for n in range(4)]
        )
        assert failure.code == -32005


@pytest.mark.promise("PUB-23")
@pytest.mark.promise("octop-H1")
async def test_secrets_are_stored_nowhere(memory):
    secrets = {
        "my key is sk-sp-ABCDEFGH1234567890.abcdefgh1234567890_XYZ": "abcdefgh1234567890_XYZ",
        "export AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE": "AKIAIOSFODNN7EXAMPLE",
        "Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl": "eyJzdWIiOiIxIn0",
        "the database is postgresql://app:hunter22@db/x": "hunter22",
    }
    async with memory() as m:
        reply = await m.say(*secrets, "My secret: I am scared of spiders", "I forgot my password")
        assert reply["redactions"] >= 4
        assert reply["stored"] == 6
        stored = b"".join(path.read_bytes() for path in m.folder.iterdir() if path.name.startswith("memory.sqlite"))
        for secret in secrets.values():
            assert secret.encode() not in stored
        assert b"scared of spiders" in stored
        assert b"I forgot my password" in stored
        assert b"[redacted:" in stored
