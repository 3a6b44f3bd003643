"""Conversations in files: every format that is said to be understood."""

import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octop_bridge.cli import transcripts
from octop_bridge.protocol import messages as wire
from octop_bridge.protocol.errors import ConfigError


def lines(tmp_path, *rows, name="talk.jsonl"):
    file = tmp_path / name
    file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return file


def whole(tmp_path, value, name="talk.json"):
    file = tmp_path / name
    file.write_text(json.dumps(value), encoding="utf-8")
    return file


def read(file):
    """The transcript; every batch must be what memory.capture takes."""
    found = transcripts.read(file)
    for batch in found.batches:
        msgspec.convert(
            {"messages": batch.messages, "identity": batch.identity, "session_kind": batch.session_kind},
            wire.CaptureParams,
        )
        assert batch.messages
        assert len(batch.messages) <= transcripts.BATCH_MAX
    return found


def said(found):
    return [message["content"] for batch in found.batches for message in batch.messages]


@pytest.mark.parametrize("shape", [lines, lambda folder, *rows: whole(folder, list(rows))])
def test_our_own_format(tmp_path, shape):
    found = read(
        shape(
            tmp_path,
            {
                "role": "user",
                "content": "I like tea",
                "timestamp": "2026-03-01T09:00:00+01:00",
                "id": 7,
                "session": "a",
            },
            {"role": "assistant", "content": "Noted.", "session": "a"},
            {"role": "user", "content": "再见", "session": "b"},
            {"role": "user", "content": "No session"},
        )
    )
    assert found.format == "messages"
    assert [batch.identity for batch in found.batches] == [
        {"session_id": "a"},
        {"session_id": "b"},
        {"session_id": "talk"},
    ]
    first = found.batches[0].messages[0]
    assert first == {
        "role": "user",
        "content": "I like tea",
        "id": "7",
        "timestamp": "2026-03-01T09:00:00+01:00",
        "timestamp_stable": True,
    }
    assert "timestamp_stable" not in found.batches[0].messages[1]


def test_openai_messages_with_parts_tool_calls_and_a_system_prompt(tmp_path):
    messages = [
        {"role": "system", "content": "You are helpful."},
        {
            "role": "user",
            "content": [{"type": "text", "text": "Look"}, {"type": "image_url", "image_url": {"url": "x"}}],
        },
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function"}]},
        {"role": "tool", "tool_call_id": "c1", "content": "42"},
    ]
    for value in (messages, {"model": "m", "messages": messages}):
        found = read(whole(tmp_path, value))
        assert said(found) == ["You are helpful.", [{"type": "text", "text": "Look"}], "42"]
        assert found.batches[0].messages[2]["tool_call_id"] == "c1"


def test_claude_code_without_side_chains_tool_results_and_summaries(tmp_path):
    head = {"sessionId": "s1", "isSidechain": False}
    found = read(
        lines(
            tmp_path,
            {"type": "summary", "summary": "Tea", "leafUuid": "u9"},
            {
                "type": "user",
                **head,
                "uuid": "u1",
                "timestamp": "2026-01-02T10:00:00Z",
                "message": {"role": "user", "content": "I prefer oolong"},
            },
            {
                "type": "assistant",
                **head,
                "uuid": "u2",
                "timestamp": "2026-01-02T10:00:01Z",
                "message": {
                    "role": "assistant",
                    "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Good choice"}],
                },
            },
            {
                "type": "user",
                **head,
                "uuid": "u3",
                "timestamp": "2026-01-02T10:00:02Z",
                "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "ok"}]},
            },
            {"type": "user", **head, "uuid": "u4", "isMeta": True, "message": {"role": "user", "content": "Caveat"}},
            {
                "type": "user",
                "sessionId": "s1",
                "isSidechain": True,
                "uuid": "u5",
                "message": {"role": "user", "content": "subagent task"},
            },
            {
                "type": "user",
                **head,
                "uuid": "u6",
                "isCompactSummary": True,
                "message": {"role": "user", "content": "This session is continued"},
            },
        )
    )
    assert found.format == "Claude Code"
    assert said(found) == ["I prefer oolong", [{"type": "text", "text": "Good choice"}]]
    assert found.batches[0].identity == {"session_id": "s1"}
    assert found.batches[0].messages[0]["id"] == "u1"


def test_an_openclaw_session(tmp_path):
    found = read(
        lines(
            tmp_path,
            {"type": "session", "version": 3, "id": "s-1", "timestamp": "2026-04-08T01:03:43.107Z", "cwd": "/w"},
            {"type": "model_change", "id": "m1", "parentId": None, "modelId": "x"},
            {
                "type": "message",
                "id": "aa",
                "parentId": "m1",
                "timestamp": "2026-04-08T01:04:00Z",
                "message": {"role": "user", "content": [{"type": "text", "text": "Hello"}], "timestamp": 1775610240000},
            },
            {
                "type": "message",
                "id": "bb",
                "parentId": "aa",
                "timestamp": "2026-04-08T01:04:01Z",
                "message": {"role": "toolResult", "toolCallId": "c", "content": [{"type": "text", "text": "out"}]},
            },
            {"type": "compaction", "id": "cc", "summary": "…"},
        )
    )
    assert found.format == "OpenClaw"
    assert [message["role"] for message in found.batches[0].messages] == ["user", "tool"]
    assert found.batches[0].messages[0]["id"] == "s-1/aa"
    assert found.batches[0].messages[0]["timestamp"] == 1775610240000
    assert found.batches[0].messages[1]["timestamp"] == "2026-04-08T01:04:01Z"


def test_a_hermes_export_keeps_whose_it_is(tmp_path):
    row = {"role": "user", "content": "I moved to Lyon", "timestamp": 1775610240.5, "id": 11, "tool_calls": None}
    found = read(
        lines(
            tmp_path,
            {"id": "20260408_a", "source": "telegram", "user_id": "u42", "started_at": 1775610000.0, "messages": [row]},
            {"id": "20260408_b", "source": "cron", "user_id": None, "messages": [row]},
        )
    )
    assert found.format == "Hermes"
    first, second = found.batches
    assert first.identity == {"session_id": "20260408_a", "channel": "telegram", "user_id": "u42"}
    assert first.messages[0]["timestamp"] == 1775610240500
    assert first.messages[0]["id"] == "20260408_a/11"
    assert (first.session_kind, second.session_kind) == ("user", "cron")


def test_a_locomo_conversation_is_a_group_of_two(tmp_path):
    talk = {
        "speaker_a": "Caroline",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Caroline", "dia_id": "D1:1", "text": "Hey Mel!"},
            {"speaker": "Melanie", "dia_id": "D1:2", "text": "Look", "blip_caption": "a photo of a dog"},
        ],
        "session_2_date_time": "12:09 am on 13 September, 2023",
        "session_2": [{"speaker": "Melanie", "dia_id": "D2:1", "text": "Back"}],
        "session_3_date_time": "1:14 pm on 25 May, 2023",
        "session_1_summary": "They greet.",
        "qa": [],
    }
    for value, chat in ((talk, "26"), ([{"sample_id": "conv-26", "conversation": talk, "qa": []}], "conv-26")):
        found = read(whole(tmp_path, value, name="26.json"))
        assert found.format == "LoCoMo"
        first, second = found.batches
        assert first.identity == {
            "channel": "locomo",
            "chat_id": chat,
            "chat_type": "group",
            "session_id": f"{chat}/1",
        }
        assert said(found) == ["Hey Mel!", "Look [shares a photo of a dog]", "Back"]
        assert [message["name"] for message in first.messages] == ["Caroline", "Melanie"]
        assert first.messages[0]["timestamp"] == "2023-05-08T13:56:00"
        assert second.messages[0]["timestamp"] == "2023-09-13T00:09:00"
        assert {message["role"] for message in first.messages} == {"user"}


def test_a_long_session_comes_in_several_batches(tmp_path):
    found = read(lines(tmp_path, *({"role": "user", "content": f"line {number}"} for number in range(1001))))
    assert [len(batch.messages) for batch in found.batches] == [1000, 1]


def test_a_half_written_last_line_is_counted_and_the_rest_is_read(tmp_path):
    file = lines(tmp_path, {"role": "user", "content": "one\u2028still one"}, {"role": "user", "content": "two"})
    file.write_text(file.read_text(encoding="utf-8") + '{"role": "us', encoding="utf-8")
    found = read(file)
    assert said(found) == ["one\u2028still one", "two"]
    assert found.broken == 1


def test_half_a_character_and_a_wrong_time_lose_no_message(tmp_path):
    file = tmp_path / "cut.jsonl"
    file.write_text(
        '{"role":"user","content":"cut \\ud83d here","timestamp":NaN}\n{"role":"user","content":"x","timestamp":[1]}\n'
    )
    assert said(read(file)) == ["cut \ufffd here", "x"]


@pytest.mark.parametrize("text", ["", "Dear diary", "{}", "[1, 2]", '{"role": 5, "content": "x"}', "[" * 100_000])
def test_what_is_no_conversation_is_refused_with_a_hint(tmp_path, text):
    file = tmp_path / "x.json"
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        transcripts.read(file)
    assert "x.json" in caught.value.message
    assert caught.value.hint


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"absent\.jsonl"):
        transcripts.read(tmp_path / "absent.jsonl")


_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
_keys = st.sampled_from(
    ["role", "content", "message", "messages", "type", "timestamp", "id", "name", "session", "source"]
)
_known = st.sampled_from(["user", "assistant", "message", "telegram"])
_rows = st.lists(st.dictionaries(_keys, _known | _values, max_size=6), max_size=4)


@given(rows=_rows)
@settings(max_examples=60, deadline=None)
def test_any_rows_are_read_or_refused(tmp_path_factory, rows):
    file = lines(tmp_path_factory.mktemp("rows"), *rows)
    try:
        found = transcripts.read(file)
    except ConfigError:
        return
    for batch in found.batches:
        msgspec.convert({"messages": batch.messages, "identity": batch.identity}, wire.CaptureParams)
