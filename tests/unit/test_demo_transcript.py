"""The conversation that `demo` shows: everything in it that the demonstration counts on."""

import json
from datetime import datetime, timedelta
from pathlib import Path

import pytest

import octop_bridge.cli
from octop_bridge.domain.decisions import Park, Promote
from octop_bridge.domain.promotion import Gathered, decide
from octop_bridge.domain.records import CLAIM_TYPES, Claim, Event, Subject
from octop_bridge.domain.redaction import redact
from octop_bridge.domain.rules import extract
from octop_bridge.models.scripted import claim_of

FOLDER = Path(octop_bridge.cli.__file__).parent
ROWS = [json.loads(line) for line in (FOLDER / "demo_transcript.jsonl").read_text(encoding="utf-8").splitlines()]
SCRIPT = json.loads((FOLDER / "demo_claims.json").read_text(encoding="utf-8"))["claims"]
INVENTED = "I am John Doe, a Google engineer"


def event_of(row):
    at_ms = int(datetime.fromisoformat(row["timestamp"]).timestamp() * 1000)
    return Event(
        event_id=f"ev_{row['id']}",
        owner="o",
        session_id=row["session"],
        role=row["role"],
        speaker="user:demo/mara" if row["role"] == "user" else "assistant",
        speaker_name=None,
        kind="turn",
        content=redact(row["content"])[0],
        at_ms=at_ms,
        recorded_ms=at_ms,
        zone="Europe/Berlin",
        chat_type="direct",
        host_id=row["id"],
    )


EVENTS = {row["id"]: event_of(row) for row in ROWS}
BY_RULES = [claim for event in EVENTS.values() for claim in extract([event])]


def by_rules(assertion):
    return [claim for claim in BY_RULES if claim.assertion == assertion]


def fate(claim: Claim, event: Event):
    return decide(Gathered(claim=claim, events=(event,)))


def test_it_is_five_sessions_in_three_weeks():
    assert 36 <= len(ROWS) <= 48
    assert len({row["id"] for row in ROWS}) == len(ROWS)
    assert len(dict.fromkeys(row["session"] for row in ROWS)) == 5
    times = [datetime.fromisoformat(row["timestamp"]) for row in ROWS]
    assert times == sorted(times)
    assert timedelta(days=18) < times[-1] - times[0] < timedelta(days=25)
    assert {row["role"] for row in ROWS} == {"user", "assistant"}
    assert all(set(row) == {"id", "session", "role", "content", "timestamp"} for row in ROWS)
    chinese = [row for row in ROWS if any("\u4e00" <= char <= "\u9fff" for char in row["content"])]
    assert 6 <= len(chinese) < len(ROWS) // 2


def test_the_rules_read_what_mara_states_outright():
    read = [(claim.type, claim.subject.name, claim.slot, claim.assertion) for claim in BY_RULES]
    assert read == [
        ("Fact", "user", "name", "User's name is Mara"),
        ("Fact", "user", "job_title", "User is a software engineer at Nordlicht Systems"),
        ("Fact", "user", "home_city", "User lives in Kiel with User's brother Jonas"),
        ("Fact", "user", None, "User is allergic to peanuts"),
        ("Preference", "user", None, "User prefers dark mode in every editor"),
        ("Fact", "user", None, "User uses Helix for Rust and Python"),
        ("Fact", "standup", "time", "The standup is at 9:30"),
        ("Decision", "user", None, "User and others decided to use PostgreSQL for the billing service"),
        ("Decision", "user", None, "User and others also agreed not to deploy on Fridays"),
        ("Fact", "user", None, "User has a boat"),
        ("Fact", "user", None, "用户住在港口附近"),
        ("Preference", "user", None, "用户喜欢喝乌龙茶"),
        ("Fact", "user", None, "用户对猫毛过敏"),
        ("Preference", "user", None, "用户很喜欢狗"),
        ("Decision", "user", None, "用户等人决定五月底发布新版本"),
        ("Fact", "standup", "time", "The standup moved from 9:30 to 10:15"),
        ("Instruction", "agent", None, "From now on the agent should answer in short bullet points"),
        ("Fact", "Jonas", None, "User's brother Jonas is a carpenter"),
        ("Fact", "user", None, "User has a boat"),
        ("Event", "user", None, "User is flying to Lisbon on 2026-05-08"),
        ("Fact", "release", "date", "The release is on 28 May"),
        ("Task", "user", None, "User wants to be reminded to renew User's sailing licence next week"),
        ("Preference", "user", "favourite_sail", "User's favourite sail is the old red genoa"),
    ]


def test_questions_suppositions_and_quotations_of_it_are_no_claims():
    text = " ".join(claim.assertion for claim in BY_RULES)
    for idle in ("Flensburg", "every single day", "penguins", "聊"):
        assert idle not in text
        assert any(idle in row["content"] for row in ROWS)


def test_all_that_the_rules_read_passes_the_checks_but_the_instruction():
    for claim in BY_RULES:
        decided = fate(claim, EVENTS[claim.event_ids[0].removeprefix("ev_")])
        if claim.type == "Instruction":
            assert isinstance(decided, Park)
            assert decided.findings[0].kind == "safety"
        else:
            assert isinstance(decided, Promote), claim.assertion


def test_the_secrets_are_pasted_and_are_cut_out():
    [row] = [row for row in ROWS if "AKIAIOSFODNN7EXAMPLE" in row["content"]]
    assert "low-tide-4711" in row["content"]
    kept = EVENTS[row["id"]].content
    assert "AKIAIOSFODNN7EXAMPLE" not in kept
    assert "low-tide-4711" not in kept
    assert "Why is the connection refused?" in kept


def test_the_standup_moves_within_its_slot():
    first, second = [claim for claim in BY_RULES if claim.subject == Subject("standup", "Thing")]
    assert (first.slot, first.value) == ("time", "9:30")
    assert (second.slot, second.value) == ("time", "10:15")


def test_the_boat_is_claimed_twice_in_the_same_words():
    first, second = by_rules("User has a boat")
    assert first.quote == second.quote == "I have a boat"
    sessions = [EVENTS[claim.event_ids[0].removeprefix("ev_")].session_id for claim in (first, second)]
    assert sessions[0] != sessions[1]


def scripted(item):
    claim = claim_of(item, list(EVENTS.values()))
    assert claim is not None
    return claim, EVENTS[item["event"]]


@pytest.mark.parametrize("item", SCRIPT, ids=[item["assertion"][:40] for item in SCRIPT])
def test_a_scripted_claim_has_the_shape_of_a_models_reply(item):
    assert set(item) == {
        *("type", "assertion", "quote", "event", "subject", "slot", "value", "valid_from", "valid_to"),
        *("importance", "confidence", "retracts", "recommended"),
    }
    assert item["type"] in CLAIM_TYPES
    assert set(item["subject"]) == {"name", "kind"}
    assert item["importance"] in {"low", "medium", "high"}
    assert item["confidence"] in {"low", "medium", "high"}
    assert EVENTS[item["event"]].role == "user"
    assert (item["quote"] in EVENTS[item["event"]].content) == (item["quote"] != INVENTED)


def test_the_script_holds_one_lie_of_each_kind_and_the_checks_find_it():
    parked = {}
    for item in SCRIPT:
        claim, event = scripted(item)
        decided = fate(claim, event)
        if isinstance(decided, Park):
            parked[claim.assertion] = [finding.kind for finding in decided.findings]
        else:
            assert isinstance(decided, Promote), claim.assertion
    assert parked == {
        "User is John Doe, a Google engineer": ["evidence"],
        "User and others agreed to deploy on Fridays": ["faithfulness"],
        "From now on the agent should answer in short bullet points": ["safety"],
        "The release is on 29 May": ["faithfulness"],
    }


def test_the_scripted_standup_takes_its_own_slot_twice():
    times = [scripted(item)[0] for item in SCRIPT if item["subject"]["name"] == "standup"]
    assert [(claim.slot, claim.value) for claim in times] == [("time", "9:30"), ("time", "10:15")]
    flight, _ = scripted(next(item for item in SCRIPT if item["type"] == "Event"))
    assert flight.valid_to_ms - flight.valid_from_ms == 24 * 3_600_000
