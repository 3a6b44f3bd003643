"""What becomes of a captured message, and how it is known again."""

import time
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octop_bridge.domain.fences import PROMPT_CLOSE, PROMPT_OPEN
from octop_bridge.domain.intake import (
    AHEAD_MAX_MS,
    CapturePolicy,
    Incoming,
    Kept,
    Skipped,
    fingerprint,
    is_small_talk,
    parse_instant,
    pieces,
    policy_of,
    read_timestamp,
    screen,
    zone_name,
)
from octop_bridge.domain.redaction import compile_patterns

POLICY = CapturePolicy()
ARRIVED = int(datetime(2026, 4, 2, 12, 0, tzinfo=UTC).timestamp() * 1000)


def user(content, **more):
    return Incoming(role="user", content=content, **more)


def fate(message, policy=POLICY):
    screened = screen(message, policy)
    return screened.reason if isinstance(screened, Skipped) else screened.text


@pytest.mark.promise("octop-H4")
def test_system_and_developer_are_never_kept_and_tools_only_where_wanted():
    every = CapturePolicy(roles=frozenset({"user", "assistant", "tool", "system", "developer"}))
    for policy in (POLICY, every):
        assert [fate(Incoming(role=role, content="x"), policy) for role in ("system", "developer")] == ["role", "role"]
    assert fate(Incoming(role="tool", content="x")) == "role"
    assert fate(Incoming(role="tool", content="x"), every) == "x"
    assert fate(user("x"), CapturePolicy(roles=frozenset({"assistant"}))) == "role"


@pytest.mark.promise("octop-H5")
def test_nothing_is_skipped_for_being_short():
    for text in ("I am vegan", "나는 채식주의자", "わたしはベジ", "吃素", "k"):
        assert fate(user(text)) == text


@pytest.mark.promise("octop-P15")
def test_parts_are_joined_and_the_others_counted():
    parts = [
        {"type": "text", "text": "one"},
        {"type": "image", "url": "x"},
        {"type": "text", "text": "two"},
        {"type": "text", "text": 3},
        {"type": "thinking", "thinking": "hm"},
    ]
    kept = screen(user(parts), POLICY)
    assert isinstance(kept, Kept)
    assert (kept.text, kept.metadata) == ("one\ntwo", {"other_parts": 3})
    assert fate(user([{"type": "image"}])) == "empty"
    assert fate(user([])) == "empty"


def test_the_size_is_counted_in_bytes():
    policy = CapturePolicy(max_text_bytes=10)
    assert fate(user("a" * 10), policy) == "a" * 10
    assert fate(user("a" * 11), policy) == "too_large"
    assert fate(user("火" * 3), policy) == "火火火"
    assert fate(user("火" * 4), policy) == "too_large"


@pytest.mark.promise("R16")
@pytest.mark.promise("R17")
@pytest.mark.promise("octop-P7")
def test_half_characters_and_nul_are_repaired_and_the_message_is_kept():
    assert fate(user("boat \ud83d")) == "boat \ufffd"
    text = fate(user("a\u0000b"))
    assert "\u0000" not in text
    assert text.startswith("a")
    assert text.endswith("b")


def test_the_layer_that_leaves_nothing_gives_the_reason():
    envelope = 'Sender (untrusted metadata):\n```json\n{"id":"1"}\n```'
    block = f"{PROMPT_OPEN}\n- likes tea\n{PROMPT_CLOSE}"
    assert fate(user(" \n\t")) == "empty"
    assert fate(user(envelope)) == "envelope"
    assert fate(user(block)) == "recall_echo"
    assert fate(user(f"{envelope}\n{block}")) == "recall_echo"
    assert fate(Incoming(role="assistant", content="<think>only this")) == "empty"
    assert fate(user(f"{envelope}\n{block}\nI drink tea")) == "I drink tea"


@pytest.mark.promise("R15")
@pytest.mark.promise("octop-H3")
def test_reasoning_goes_from_the_assistant_alone():
    assert fate(Incoming(role="assistant", content="plan…</think>Answer is 4")) == "Answer is 4"
    for text in ("use `<think>` tags", "Why does </think> leak?", "open <think> and go"):
        assert fate(user(text)) == text


@pytest.mark.promise("PUB-03")
def test_the_answer_beside_an_echoed_block_is_kept():
    echo = f"{PROMPT_OPEN}\n- oat milk, atom/at_1.md\n{PROMPT_CLOSE}\nSure, oat milk it is!"
    assert fate(Incoming(role="assistant", content=echo)) == "Sure, oat milk it is!"


@pytest.mark.promise("PUB-05")
def test_the_envelope_is_kept_beside_the_text_and_redacted():
    kept = screen(user('Sender (untrusted metadata):\n```json\n{"id":"password is hunter2"}\n```\nhi'), POLICY)
    assert isinstance(kept, Kept)
    assert kept.text == "hi"
    assert "hunter2" not in str(kept.metadata)
    assert "sender" in kept.metadata["envelope"]


@pytest.mark.promise("PUB-06")
@pytest.mark.promise("R7")
@pytest.mark.promise("R8")
def test_session_kinds_have_their_policy():
    kinds = ("user", "oneshot", "cron", "subagent", "heartbeat", "batch", "system", None)
    assert [policy_of(kind, {}) for kind in kinds] == ["full", "full", "raw", "raw", "off", "off", "off", "full"]
    assert policy_of("cron", {"cron": "off"}) == "off"
    off = CapturePolicy(session="off")
    assert fate(user("My heartbeat is 60"), off) == "session_policy"
    assert fate(Incoming(role="system", content="x"), off) == "role"
    poll = "Read HEARTBEAT.md if it exists (workspace context). Follow it strictly. If nothing, reply HEARTBEAT_OK."
    assert fate(user(poll)) == "session_policy", "a host that forgot to say so"
    assert fate(user("My heartbeat is 60")) == "My heartbeat is 60"


@pytest.mark.promise("PUB-23")
def test_secrets_are_counted_by_kind_in_text_and_hidden_in_metadata():
    policy = CapturePolicy(patterns=compile_patterns([r"EMP-\d+"]))
    message = user("EMP-77 uses AKIAIOSFODNN7EXAMPLE", metadata={"api_key": "x", "who": "EMP-77", "n": 1})
    kept = screen(message, policy)
    assert isinstance(kept, Kept)
    assert kept.text == "[redacted:custom] uses [redacted:aws-key]"
    assert kept.redactions == ("custom", "aws-key")
    assert kept.metadata == {"api_key": "[redacted:key]", "who": "[redacted:custom]", "n": 1}


def test_a_tools_output_keeps_its_ends_and_its_size_and_no_half_secret():
    policy = CapturePolicy(roles=frozenset({"tool"}))
    secret = "AKIAIOSFODNN7EXAMPLE"
    long = "h" * 390 + f" {secret} " + "m" * 5_000 + "t" * 200
    kept = screen(Incoming(role="tool", content=long), policy)
    assert isinstance(kept, Kept)
    assert secret[:6] not in kept.text
    assert kept.text.startswith("h" * 390)
    assert kept.text.endswith("t" * 200)
    assert len(kept.text) < 700
    assert kept.metadata["tool_chars"] > 5_000
    assert fate(Incoming(role="tool", content="short"), policy) == "short"


def mark(text="yes", **more):
    return fingerprint(**{"owner": "user:/ana", "session": "s1", "role": "user", "text": text, **more})


@pytest.mark.promise("PUB-01")
@pytest.mark.promise("PUB-02")
@pytest.mark.promise("R2")
def test_a_message_sent_again_is_the_same():
    assert mark() == mark()
    assert len(mark()) == 16
    assert mark("The  spare key", host_id="a1") == mark("The spare key", host_id="a1", session="s2", before="other")


def test_two_messages_differ_by_id_text_session_role_predecessor_or_stable_time():
    marks = [
        mark(),
        mark("no"),
        mark(owner="user:/bob"),
        mark(session="s2"),
        mark(role="assistant"),
        mark(before="Cats?"),
        mark(before="Dogs?"),
        mark(timestamp="2026-04-02T09:00:00Z"),
        mark(host_id="a1"),
        mark(host_id="a2"),
        mark("edited", host_id="a1"),
        mark(host_id="a1", owner="user:/bob"),
    ]
    assert len(set(marks)) == len(marks)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(st.sampled_from("ab|\x1f"), max_size=4), min_size=4, max_size=4, unique=True))
def test_the_parts_of_a_fingerprint_do_not_run_together(parts):
    one, other = parts[:2], parts[2:]
    assert mark(owner=one[0], session=one[1]) != mark(owner=other[0], session=other[1])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2026-04-02T09:00:00Z", (datetime(2026, 4, 2, 9, tzinfo=UTC), None)),
        ("2026-04-02T09:00:00.250+08:00", (datetime(2026, 4, 2, 1, 0, 0, 250_000, tzinfo=UTC), "Etc/GMT-8")),
        ("2026-04-02T03:00:00-05:00", (datetime(2026, 4, 2, 8, tzinfo=UTC), "Etc/GMT+5")),
        ("2026-04-02T09:30:00+05:30", (datetime(2026, 4, 2, 4, tzinfo=UTC), "Asia/Kolkata")),
        ("2026-04-02T09:30:00+01:17", (datetime(2026, 4, 2, 8, 13, tzinfo=UTC), None)),
        ("2026-04-02 09:00", (datetime(2026, 4, 2, 7, tzinfo=UTC), None)),
        (ARRIVED - 1, (ARRIVED - 1, None)),
        (str(ARRIVED - 1), (ARRIVED - 1, None)),
        ((ARRIVED - 2_000) // 1000, (ARRIVED - 2_000, None)),
        ("1712345678.123456", (1_712_345_678_123, None)),
        (ARRIVED + AHEAD_MAX_MS, (ARRIVED + AHEAD_MAX_MS, None)),
    ],
    ids=range(11),
)
def test_an_event_time_is_read_with_the_zone_that_it_names(value, expected):
    at, zone = expected
    at_ms = int(at.timestamp() * 1000) if isinstance(at, datetime) else at
    assert read_timestamp(value, ARRIVED, "Europe/Berlin") == (at_ms, None, None, zone)


@pytest.mark.promise("octop-P15")
@pytest.mark.parametrize(
    "value",
    [
        *("not-a-date", "", "1999-12-31T23:59:59Z", "2099-01-01T00:00:00Z", "9999-12-31T23:59:59-14:00", 0, -5, True),
        *(ARRIVED + AHEAD_MAX_MS + 1, float("nan"), float("inf"), 10**18, "0001-01-01T00:00:00+14:00", "x" * 500),
    ],
    ids=range(14),
)
def test_an_implausible_time_gives_the_arrival_and_keeps_the_original(value):
    read = read_timestamp(value, ARRIVED, "UTC")
    assert (read.at_ms, read.reason, read.zone) == (ARRIVED, "bad_timestamp", None)
    assert read.original == str(value)[:64]


def test_no_time_is_the_arrival_and_no_fault():
    assert read_timestamp(None, ARRIVED, "UTC") == (ARRIVED, None, None, None)


def test_a_parameter_counts_milliseconds_and_reaches_back_before_2000():
    assert parse_instant(1_000, "UTC") == 1_000
    assert parse_instant("1969-12-31T23:00:00", "UTC") == -3_600_000
    assert parse_instant("2026-04-02", "Europe/Berlin") == int(datetime(2026, 4, 1, 22, tzinfo=UTC).timestamp() * 1000)
    assert [parse_instant(value, "UTC") for value in ("soon", True, float("nan"))] == [None] * 3


def test_a_zone_is_one_of_the_database_or_the_fallback():
    assert (
        zone_name(None, "", "Mars/Base", "../../etc/passwd", "America", "a\0b", "\ud800", "Asia/Tokyo") == "Asia/Tokyo"
    )
    assert zone_name("Nowhere", fallback="Europe/Rome") == "Europe/Rome"


def test_a_long_text_is_cut_between_words_and_every_word_is_whole_somewhere():
    words = [f"word{number}" for number in range(3_000)]
    text = " ".join(words)
    cut = pieces(text)
    assert len(cut) > 5
    assert all(len(piece) <= 4_000 and text[start : start + len(piece)] == piece for start, piece in cut)
    assert {word for _, piece in cut for word in piece.split()} == set(words)
    assert pieces("short") == [(0, "short")]


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from("ab \n火"), max_size=300), st.integers(4, 40), st.integers(0, 20))
def test_pieces_cover_the_text_and_overlap(text, size, overlap):
    cut = pieces(text, size, min(overlap, size // 2 - 1))
    covered = 0
    for start, piece in cut:
        assert text[start : start + len(piece)] == piece
        assert len(piece) <= size
        assert start <= covered
        covered = start + len(piece)
    assert covered == len(text)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "Hi",
            "hello there!",
            "Good morning :)",
            "ok",
            "OK, thanks!",
            "thank you so much 🙏",
            "👍",
            "lol",
            "how’s it going?",
        ),
        *(
            "you're welcome! Let me know if you need anything else.",
            "Hello! How can I help you today?",
            "see you tomorrow",
        ),
        *(
            "你好",
            "好的，谢谢！",
            "早上好啊",
            "谢谢你",
            "嗯嗯",
            "明白了",
            "ありがとうございます",
            "안녕하세요",
            "gracias, hasta luego",
        ),
        *("Danke schön!", "merci beaucoup", "спасибо", "नमस्ते", "شكرا", "สวัสดี"),
    ],
)
def test_greetings_and_acknowledgements_are_small_talk(text):
    assert is_small_talk(text)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "I am vegan",
            "yes",
            "no",
            "ok, move it to Friday",
            "thanks, I live in Rome now",
            "42",
            "hi, call me Ana",
            "吃素",
        ),
        *(
            "好的，我住在上海",
            "你好，我叫小明",
            "不",
            "나는 채식주의자",
            "わたしはベジ",
            "hello " * 60,
            "good dog food",
            "no milk please",
        ),
    ],
)
def test_what_may_hold_a_fact_is_not(text):
    assert not is_small_talk(text)


def test_a_plain_message_costs_microseconds():
    message = user("I always book the 7:40 train to Geneva on Mondays because the later one is crowded. " * 3)
    began = time.perf_counter()
    for _ in range(300):
        kept = screen(message, POLICY)
        assert isinstance(kept, Kept)
        mark(kept.text)
    assert (time.perf_counter() - began) / 300 < 500e-6


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=200), st.sampled_from(["user", "assistant"]))
def test_screening_twice_changes_nothing(text, role):
    kept = screen(Incoming(role=role, content=text), POLICY)
    if isinstance(kept, Kept):
        assert fate(Incoming(role=role, content=kept.text)) == kept.text
