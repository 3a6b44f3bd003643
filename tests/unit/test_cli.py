"""What a person types, and what a host starts: arguments, roles, namespaces, output, exit codes."""

import asyncio
import contextlib
import io
import json
import os
import pty
import sqlite3
import subprocess
import sys

import pytest

from octop_bridge import __main__ as command
from octop_bridge import assemble, places
from octop_bridge.cli import commands, demo, opening, render, review, serve
from octop_bridge.protocol import errors

HIT = {
    "id": "at_1",
    "path": "atom/at_1.md",
    "text": "The standup is at 9:30",
    "snippet": "The standup is at 9:30",
    "status": "disputed",
    "score": 0.93,
    "event_ms": 1_775_610_240_000,
    "disputed_by": [{"candidate_id": "cd_1", "text": "The standup is at 10:15", "when_ms": 1}],
}
EMPTY_SEARCH = {"hits": [], "time_window": None, "took_ms": 1.0, "arms": {}, "degraded": []}


def waiting(number, text="The standup is at 10:15", **more):
    return {
        "candidate": {
            "id": f"cd_{number}",
            "text": text,
            "quote": "10:15 from now on",
            "type": "Fact",
            "subject": "standup",
            "owner": "user:/ana",
            "version": 1,
            **more,
        },
        "findings": [{"kind": "slot", "atom_id": "at_1", "text": "The standup is at 9:30", "detail": "another time"}],
        "evidence": [
            {
                "event_id": "ev_1",
                "quote": "10:15 from now on",
                "role": "user",
                "timestamp_ms": 1_775_610_240_000,
                "path": "raw/2026-04-08/ev_1.md",
            }
        ],
        "similar_rejected": [],
        "recommended": None,
        "age_ms": 7_200_000,
    }


class Bridge:
    """Answers what it was told to, and remembers what it was asked."""

    def __init__(self):
        self.answers = {"memory.get": {"markdown": "So, 10:15 from now on, please\n"}}
        self.asked = []
        self.given = {}
        self.bridge = self.session = self
        self.waited = False

    async def opened(self, session):
        self.waited = True

    async def call(self, method, params=None):
        self.asked.append((method, params))
        answer = self.answers.get(method, {})
        if isinstance(answer, list):
            answer = answer.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def bridge(monkeypatch, tmp_path):
    """A bridge that is no bridge, in a data folder of its own; stdin is a pipe that has ended."""
    fake = Bridge()

    @contextlib.asynccontextmanager
    async def open_bridge(settings, **opened):
        fake.given = {"settings": settings, **opened}
        yield fake

    monkeypatch.setattr(assemble, "open_bridge", open_bridge)
    monkeypatch.setenv("OCTOP_BRIDGE_HOME", str(tmp_path))
    monkeypatch.delenv("OCTOP_BRIDGE_OPERATOR_TOKEN", raising=False)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    return fake


class Terminal(io.StringIO):
    """A stdin at which a person sits."""

    def isatty(self):
        return True


@pytest.fixture
def person(bridge, monkeypatch, tmp_path):
    """The operator's token is in the environment."""
    monkeypatch.setenv("OCTOP_BRIDGE_OPERATOR_TOKEN", places.operator_token(tmp_path))


def store_of(home, *names):
    """A file that holds these namespaces, where the first one's store lies."""
    path = places.store_path(home, names[0])
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE meta (namespace TEXT, key TEXT, value TEXT)")
        connection.executemany("INSERT INTO meta VALUES (?, 'token_version', '1')", [(name,) for name in names])
        connection.commit()
    return path


def test_help_has_a_line_for_every_command(capsys):
    assert command.main(["--help"]) == 0
    told = capsys.readouterr().out
    for name, (_, line) in commands.COMMANDS.items():
        assert f"  {name}" in told
        assert line in told
    assert command.main([]) == 2


@pytest.mark.parametrize("name", commands.COMMANDS)
def test_every_command_explains_itself(name, capsys):
    code = 0
    try:
        code = command.main([name, "--help"])
    except SystemExit as leaving:
        code = leaving.code
    assert not code
    assert f"octop-bridge {name}" in capsys.readouterr().out


def test_an_unknown_command_names_its_neighbour(capsys):
    assert command.main(["serch", "tea"]) == 2
    assert "did you mean search?" in capsys.readouterr().err


def test_call_gives_the_result_on_stdout_as_one_line(bridge, capsys):
    bridge.answers["memory.search"] = {"hits": ["茶"]}
    assert command.main(["call", "memory.search", '{"query": "茶"}']) == 0
    told = capsys.readouterr()
    assert json.loads(told.out) == {"hits": ["茶"]}
    assert told.out == '{"hits": ["茶"]}\n'
    assert bridge.asked == [("memory.search", {"query": "茶"})]
    assert (bridge.given["namespace"], bridge.given["role"], bridge.given["local"]) == ("default", "host", True)


def test_call_gives_an_error_on_stderr_and_one(bridge, capsys):
    bridge.answers["memory.search"] = errors.InvalidParamsError("params.limit: too many", path="params.limit")
    assert command.main(["call", "memory.search", '{"query": "x", "limit": 500}']) == 1
    told = capsys.readouterr()
    assert told.out == ""
    body = json.loads(told.err)
    assert (body["code"], body["data"]["kind"], body["data"]["path"]) == (-32602, "invalid_params", "params.limit")


def test_call_reads_parameters_from_stdin(bridge, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO('{"query": "long"}'))
    assert command.main(["call", "memory.search", "-"]) == 0
    assert bridge.asked == [("memory.search", {"query": "long"})]


@pytest.mark.parametrize("words", [["memory.search", "{"], ["memory.search", "[1]"], ["x", "{}", "--role", "boss"], []])
def test_what_is_typed_wrongly_is_two(bridge, words, capsys):
    assert command.main(["call", *words]) == 2
    assert bridge.asked == []
    assert capsys.readouterr().err


def test_a_person_is_at_a_terminal_or_has_the_token(bridge, monkeypatch, tmp_path, capsys):
    assert command.main(["call", "memory.queue"]) == 1
    token = (tmp_path / "operator.token").read_text().strip()
    body = json.loads(capsys.readouterr().err)
    assert body["code"] == -32004
    assert "terminal" in body["message"]
    assert "OCTOP_BRIDGE_OPERATOR_TOKEN" in body["message"]
    assert body["data"]["hint"]
    monkeypatch.setenv("OCTOP_BRIDGE_OPERATOR_TOKEN", token + "x")
    assert command.main(["call", "memory.queue"]) == 1
    assert command.main(["call", "memory.search", "{}", "--role", "person"]) == 1
    assert bridge.asked == []
    monkeypatch.setenv("OCTOP_BRIDGE_OPERATOR_TOKEN", token)
    assert command.main(["call", "memory.queue"]) == 0
    assert bridge.given["role"] == "person"
    monkeypatch.delenv("OCTOP_BRIDGE_OPERATOR_TOKEN")
    monkeypatch.setattr(sys, "stdin", Terminal())
    assert command.main(["call", "memory.queue"]) == 0
    assert bridge.given["role"] == "person"


def test_a_role_that_is_asked_for_is_not_widened(person, bridge):
    for role in ("host", "model"):
        assert command.main(["call", "memory.search", '{"query": "x"}', "--role", role]) == 0
        assert bridge.given["role"] == role
    assert command.main(["call", "memory.search", '{"query": "x"}']) == 0
    assert bridge.given["role"] == "person"


def test_without_a_namespace_the_only_one_is_meant(bridge, tmp_path, capsys):
    store_of(tmp_path, "openclaw.张三")
    assert command.main(["search", "tea", "--json"]) == 0
    assert bridge.given["namespace"] == "openclaw.张三"
    store_of(tmp_path, "default")
    assert command.main(["search", "tea", "--json"]) == 2
    body = json.loads(capsys.readouterr().err.splitlines()[-1])
    assert body["data"]["kind"] == "config"
    assert "'default'" in body["message"]
    assert "'openclaw.张三'" in body["message"]
    assert command.main(["search", "tea", "--json", "--namespace", "default"]) == 0
    assert bridge.given["namespace"] == "default"


def test_a_named_file_says_whose_it_is(bridge, tmp_path):
    moved = store_of(tmp_path, "kim").rename(tmp_path / "copy.sqlite")
    assert command.main(["search", "tea", "--json", "--db", str(moved)]) == 0
    assert (bridge.given["namespace"], bridge.given["db"]) == ("kim", moved)
    assert command.main(["search", "tea", "--json", "--db", str(tmp_path / "new.sqlite")]) == 0
    assert bridge.given["namespace"] == "default"


def test_a_broken_store_beside_a_good_one_does_not_stand_in_the_way(bridge, tmp_path):
    places.store_path(tmp_path, "broken").write_bytes(b"no database at all" * 100)
    store_of(tmp_path, "kim")
    assert command.main(["search", "tea", "--json"]) == 0
    assert bridge.given["namespace"] == "kim"


@pytest.mark.parametrize("name", ["", "x" * 129])
def test_a_namespace_has_1_to_128_characters(bridge, name, capsys):
    assert command.main(["call", "memory.search", "{}", "--namespace", name]) == 2
    assert "--namespace" in capsys.readouterr().err


@pytest.mark.promise("octop-P14")
def test_a_misspelt_setting_is_named_before_anything_is_opened(bridge, tmp_path, capsys):
    (tmp_path / "config.toml").write_text("[capture]\nmax_text_byte = 5\n")
    assert command.main(["call", "memory.search", "{}"]) == 2
    body = json.loads(capsys.readouterr().err)
    assert body["data"]["kind"] == "config"
    assert "capture.max_text_byte" in body["message"]
    assert "capture.max_text_bytes" in body["message"]
    assert bridge.given == {}
    other = tmp_path / "other.toml"
    other.write_text("[capture]\nmax_text_bytes = 5\n")
    assert command.main(["call", "memory.search", "{}", "--config", str(other)]) == 0
    assert bridge.given["settings"].capture.max_text_bytes == 5


def test_search_is_a_table_for_people_and_json_for_programs(bridge, capsys):
    bridge.answers["memory.search"] = {**EMPTY_SEARCH, "hits": [HIT]}
    assert command.main(["search", "when", "is", "standup", "--limit", "3", "--user", "ana"]) == 0
    told = capsys.readouterr().out
    assert bridge.asked == [
        ("memory.search", {"query": "when is standup", "limit": 3, "identity": {"user_id": "ana"}}),
    ]
    assert "0.93" in told
    assert "disputed" in told
    assert "10:15" in told
    assert "\x1b" not in told
    assert command.main(["search", "x", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["hits"][0]["id"] == "at_1"
    bridge.answers["memory.search"] = EMPTY_SEARCH
    assert command.main(["search", "x"]) == 0
    assert "nothing found" in capsys.readouterr().err
    assert command.main(["search", "x", "--quiet"]) == 0
    assert capsys.readouterr().err == ""


def test_store_and_correct_are_a_persons(bridge, capsys):
    assert command.main(["store", "I", "like", "tea"]) == 1
    assert command.main(["correct", "at_1", "--retire", "--reason", "no"]) == 1
    assert bridge.asked == []
    assert "terminal" in capsys.readouterr().err


def test_store_and_correct_send_what_was_typed(person, bridge, capsys):
    bridge.answers["memory.store"] = {"atom_id": "at_2", "event_id": "ev_2", "superseded": ["at_1"], "lifted": []}
    assert command.main(["store", "I", "like", "tea", "--type", "Preference", "--shared"]) == 0
    assert bridge.asked[-1] == ("memory.store", {"text": "I like tea", "type": "Preference", "shared": True})
    assert "atom/at_2.md" in capsys.readouterr().out
    done = {"atom": {"status": "retired", "text": "old"}, "successor": None, "tombstones": [], "lifted": []}
    bridge.answers["memory.correct"] = done
    assert command.main(["correct", "atom/at_2.md", "--replace", "new", "--reason", "typo", "--reviewer", "Kim"]) == 0
    assert bridge.asked[-1][1] == {
        "atom_id": "at_2",
        "change": {"kind": "replace", "text": "new"},
        "reviewer": "Kim",
        "reason": "typo",
    }
    assert command.main(["correct", "at_2", "--retire", "--keep-open", "--reason", "old"]) == 0
    assert bridge.asked[-1][1]["change"] == {"kind": "retire", "tombstone": False}
    assert command.main(["correct", "at_2", "--retire"]) == 2


def test_get_takes_a_path_or_an_id(bridge, capsys):
    bridge.answers["memory.get"] = {
        "path": "atom/at_1.md",
        "status": "retired",
        "markdown": "**retired on 2026-04-08**\n\x1b[2Jgone\n",
        "history": [{"at_ms": 1, "action": "retire", "actor": {"role": "person", "label": "Kim"}, "reason": "wrong"}],
    }
    assert command.main(["get", "atom/at_1.md"]) == 0
    assert command.main(["get", "at_1"]) == 0
    assert [params for _, params in bridge.asked] == [{"path": "atom/at_1.md"}, {"id": "at_1"}]
    told = capsys.readouterr().out
    assert "person Kim" in told
    assert "\x1b" not in told


def test_status_is_a_line_a_part(bridge, capsys):
    bridge.answers["bridge.status"] = {"settled": True, "events": {"stored": 3}, "degraded": [], "uptime_ms": 1}
    assert command.main(["status"]) == 0
    assert bridge.asked == [("bridge.status", {})]
    assert bridge.waited
    assert "stored 3" in capsys.readouterr().out


def page(*items, after=None):
    return {"items": list(items), "counts": {}, "next_cursor": after}


VERDICT = {"atoms": [{"text": "The standup is at 10:15"}], "superseded": [], "tombstones": [], "lifted": []}


def test_review_shows_one_claim_at_a_time_and_takes_verdicts(person, bridge, monkeypatch, capsys):
    bridge.answers["memory.queue"] = [
        page(waiting(1), waiting(2, "The office is in Rome"), after="cd_2"),
        page(waiting(3, "\x1b[31mRed"), waiting(4)),
    ]
    bridge.answers["memory.review"] = VERDICT
    monkeypatch.setattr(sys, "stdin", io.StringIO("x\na\nr\nnobody moved\ns\nq\n"))
    assert command.main(["review", "--reviewer", "Kim"]) == 0
    told = capsys.readouterr().out
    assert "So, 10:15 from now on, please" in told
    assert "slot: another time" in told
    assert "against The standup is at 9:30" in told
    assert "\x1b[31m" not in told
    verdicts = [params for method, params in bridge.asked if method == "memory.review"]
    assert verdicts == [
        {"candidate_id": "cd_1", "verdict": "accept", "reviewer": "Kim", "reason": None, "expect_version": 1},
        {"candidate_id": "cd_2", "verdict": "reject", "reviewer": "Kim", "reason": "nobody moved", "expect_version": 1},
    ]
    assert ("memory.queue", {"limit": 50, "cursor": "cd_2"}) in bridge.asked


def test_review_passes_what_was_decided_meanwhile_and_ends_with_stdin(person, bridge, monkeypatch, capsys):
    bridge.answers["memory.queue"] = page(waiting(1), waiting(2), waiting(3))
    bridge.answers["memory.review"] = [errors.ConflictError("the candidate is promoted already"), VERDICT]
    monkeypatch.setattr(sys, "stdin", io.StringIO("a\na\n"))
    assert command.main(["review"]) == 0
    told = capsys.readouterr()
    assert "promoted already" in told.err
    assert "1 decided, 2 left" in told.err


def test_review_says_where_nobody_said_the_quote(person, bridge, monkeypatch, capsys):
    item = waiting(1)
    item["evidence"][0]["quote"] = None
    bridge.answers["memory.queue"] = page(item)
    monkeypatch.setattr(sys, "stdin", io.StringIO("q\n"))
    assert command.main(["review"]) == 0
    assert "nobody said this" in capsys.readouterr().out


def test_review_without_a_dialogue(person, bridge, capsys):
    bridge.answers["memory.queue"] = page(waiting(1))
    bridge.answers["memory.review"] = VERDICT
    assert command.main(["review", "list"]) == 0
    assert "cd_1" in capsys.readouterr().out
    assert command.main(["review", "reject", "cd_1", "--reason", "wrong", "--reviewer", "Kim"]) == 0
    expected = {"candidate_id": "cd_1", "verdict": "reject", "reviewer": "Kim", "reason": "wrong"}
    assert bridge.asked[-1] == ("memory.review", expected)
    for words in (["accept"], ["list", "cd_1"]):
        assert command.main(["review", *words]) == 2


def test_a_quote_is_shown_within_its_message(bridge):
    text = "a" * 300 + " the quote " + "b" * 300
    bridge.answers["memory.get"] = {"markdown": text}
    evidence = {"quote": "the quote", "path": "raw/x"}
    shown = asyncio.run(review._in_context(bridge, render.Screen(), evidence))
    assert shown.startswith("…a")
    assert " the quote " in shown
    assert shown.endswith("b…")
    assert len(shown) < 200


def test_config_show_lists_every_setting_with_its_value(bridge, monkeypatch, capsys):
    monkeypatch.setenv("OCTOP_BRIDGE_EXTRACTION_EVENTS_MAX", "5")
    assert command.main(["config", "show", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["extraction.events_max"] == 5
    assert command.main(["config", "show"]) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("extraction.events_max"))
    assert line.split()[1:3] == ["5", "8"]
    monkeypatch.setenv("OCTOP_BRIDGE_EXTRACTION_EVENTS_MAX", "none")
    assert command.main(["config", "show"]) == 2


def test_colour_is_for_a_terminal_without_no_color(monkeypatch):
    out = Terminal()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert render.screen().paint("x", "bold") == "\x1b[1mx\x1b[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert render.screen().paint("x", "bold") == "x"
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert render.screen().paint("x", "bold") == "x"


def test_a_table_stays_in_line_whatever_the_script():
    out = io.StringIO()
    screen = render.Screen(out=out, width=40)
    screen.table(("a", "b"), [("喝茶", "one\ntwo"), ("tea", "x" * 60), ("cafe\u0301", "\x1b[2Jy\u202e")])
    head, *rows = out.getvalue().splitlines()
    assert head == "A     B"
    assert rows[0] == "喝茶  one two"
    assert rows[1] == "tea   " + "x" * 33 + "…"
    assert rows[2] == "cafe\u0301  [2Jy"
    assert all(render.columns(row) <= 40 for row in rows)


@pytest.mark.parametrize(("ms", "text"), [(0, "0 ms"), (1500, "1 s"), (7_200_000, "2 h"), (200_000_000, "2 d")])
def test_a_length_of_time_has_one_unit(ms, text):
    assert render.span(ms) == text


def words_of(told):
    return " ".join(told.split())


@pytest.fixture
def home(monkeypatch, tmp_path):
    """A data folder with a real store to come, for who has the operator's token."""
    monkeypatch.setenv("OCTOP_BRIDGE_HOME", str(tmp_path))
    monkeypatch.setenv("OCTOP_BRIDGE_OPERATOR_TOKEN", places.operator_token(tmp_path))
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    return tmp_path


def test_what_is_stored_is_found_corrected_and_counted(home, capsys):
    assert command.main(["store", "I", "own", "a", "lighthouse", "--json"]) == 0
    atom_id = json.loads(capsys.readouterr().out)["atom_id"]
    assert command.main(["search", "lighthouse"]) == 0
    assert f"atom/{atom_id}.md" in capsys.readouterr().out
    assert command.main(["correct", atom_id, "--replace", "I own a windmill", "--reason", "a slip"]) == 0
    assert "I own a windmill" in capsys.readouterr().out
    assert command.main(["recall", "what do I own"]) == 0
    told = capsys.readouterr().out
    assert "windmill" in told
    assert "lighthouse" not in told
    assert command.main(["get", atom_id]) == 0
    assert "retired" in capsys.readouterr().out
    assert command.main(["status"]) == 0
    assert "current 1" in capsys.readouterr().out
    assert command.main(["get", "at_" + "0" * 26]) == 1
    assert "octop-bridge:" in capsys.readouterr().err
    assert [path.name.split("-")[0] for path in places.namespaces(home)] == ["default"]


def test_the_demo_reads_a_conversation_of_ones_own(home, tmp_path, capsys):
    talk = tmp_path / "talk.jsonl"
    said = ["My name is Kim", "I live in Turin", "I prefer green tea", "Our standup is at 9:30", "我喜欢喝咖啡"]
    talk.write_text("".join(json.dumps({"role": "user", "content": text}) + "\n" for text in said))
    assert command.main(["demo", str(talk)]) == 0
    told = words_of(capsys.readouterr().out)
    assert "in all 5 stored, 0 duplicates" in told
    assert "sent again: 0 stored, 5 duplicates" in told
    assert "User lives in Turin" in told
    assert "hit 1 of" in told
    assert "every promise shown has held" in told
    assert command.main(["demo", str(tmp_path / "absent.jsonl")]) == 2


def test_the_demo_leaves_its_store_where_it_is_told_to_and_only_for_the_person(home, tmp_path, monkeypatch, capsys):
    db = tmp_path / "kept.sqlite"
    assert command.main(["demo", "--db", str(db)]) == 0
    assert "every promise shown has held" in capsys.readouterr().out
    assert command.main(["search", "dark mode", "--db", str(db)]) == 0
    assert "dark mode" in capsys.readouterr().out
    assert command.main(["demo", "--db", str(db)]) == 2
    assert "holds the demo already" in capsys.readouterr().err
    monkeypatch.delenv("OCTOP_BRIDGE_OPERATOR_TOKEN")
    assert command.main(["demo", "--db", str(tmp_path / "other.sqlite")]) == 1
    assert not (tmp_path / "other.sqlite").exists()


def test_the_demo_fails_where_a_promise_does_not_hold(home, monkeypatch, capsys):
    monkeypatch.setattr(demo, "_QUERIES", {"what am I allergic to": "penicillin"})
    assert command.main(["demo"]) == 1
    told = capsys.readouterr().out
    assert "✗ what am I allergic to" in told
    assert "broken: what am I allergic to" in told
    assert "every promise" not in told


def test_at_a_terminal_a_person_reviews_without_a_token(home, monkeypatch, capsys):
    claims = [{"assertion": "User is John Doe", "quote": "I am John Doe", "event": "m", "type": "Fact"}]
    (home / "claims.json").write_text(json.dumps({"claims": claims}))
    monkeypatch.setenv("OCTOP_BRIDGE_EXTRACTION_KIND", "scripted")
    monkeypatch.setenv("OCTOP_BRIDGE_EXTRACTION_SCRIPT", str(home / "claims.json"))
    said = {"messages": [{"role": "user", "content": "Who is that?", "id": "m"}]}
    assert command.main(["call", "memory.capture", json.dumps(said)]) == 0
    assert command.main(["call", "memory.extract"]) == 0
    monkeypatch.delenv("OCTOP_BRIDGE_OPERATOR_TOKEN")
    env = {**os.environ, "TERM": "xterm", "NO_COLOR": ""}
    octop = [sys.executable, "-m", "octop_bridge"]
    ours, theirs = pty.openpty()
    with subprocess.Popen([*octop, "review"], env=env, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        shown = ""
        for prompt, typed in (("[q]uit > ", "r"), ("why? > ", "invented"), ("1 decided, 0 left", "")):
            while prompt not in shown:
                shown += os.read(ours, 4096).decode()
            os.write(ours, f"{typed}\n".encode() if typed else b"")
        assert process.wait(10) == 0
    os.close(ours)
    assert "\x1b[1mUser is John Doe\x1b[0m" in shown
    assert "nobody said this" in shown
    assert "refused from now on" in shown


@pytest.fixture
def served(bridge, monkeypatch, tmp_path):
    """The bridge and session that these words of `serve` give."""

    def run(*words):
        return serve.assembled(["--stdio", *words])

    return run


def test_serve_binds_what_it_was_given(served, tmp_path):
    bridge, session = served("--namespace", "kim", "--role", "model")
    assert bridge.failed() is None
    assert (session.namespace, session.namespace_fixed, session.role, session.role_fixed) == (
        "kim",
        True,
        "model",
        True,
    )
    _, session = served()
    assert (session.namespace, session.namespace_fixed, session.role, session.local) == (
        "default",
        False,
        "host",
        False,
    )
    _, session = served("--db", str(tmp_path / "one.sqlite"))
    assert session.namespace_fixed


@pytest.mark.promise("octop-P13")
@pytest.mark.parametrize(
    "words",
    [["--rol", "host"], ["--role", "boss"], ["--namespace"], ["--namespace", "x" * 129], ["--config", "/absent.toml"]],
)
def test_wrong_arguments_are_told_to_the_peer_and_not_printed(served, words, capsys):
    bridge, _ = served(*words)
    failure = bridge.failed()
    assert (failure.code, failure.kind) == (-32602, "config")
    assert failure.hint or failure.path
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == ""


@pytest.mark.promise("octop-P14")
def test_a_misspelt_setting_is_told_to_the_peer(served, tmp_path):
    (tmp_path / "config.toml").write_text("[recall]\nmin_scor = 1\n")
    bridge, _ = served()
    assert "recall.min_scor" in bridge.failed().message
    assert "recall.min_score" in bridge.failed().message


def test_serving_a_person_needs_the_token(served, monkeypatch, tmp_path):
    bridge, _ = served("--role", "person")
    assert bridge.failed().code == -32004
    monkeypatch.setenv("OCTOP_BRIDGE_OPERATOR_TOKEN", places.operator_token(tmp_path))
    bridge, session = served("--role", "person")
    assert bridge.failed() is None
    assert session.role == "person"
    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.delenv("OCTOP_BRIDGE_OPERATOR_TOKEN")
    assert served("--role", "person")[0].failed().code == -32004


def test_serve_without_stdio_says_what_is_missing(bridge, capsys):
    for words in (["serve"], ["serve", "--role", "boss"]):
        with pytest.raises(SystemExit) as leaving:
            command.main(words)
        assert leaving.value.code == 2
    assert "--stdio" in capsys.readouterr().err


@pytest.mark.promise("octop-S2")
def test_chinese_and_look_alike_namespaces_are_kept_apart(bridge, tmp_path):
    names = ["张三", "李四", "team-a.b", "Team_A_B"]
    for name in names:
        store_of(tmp_path, name)
    assert len(places.namespaces(tmp_path)) == 4
    with pytest.raises(errors.ConfigError) as caught:
        opening.choose_namespace(None, tmp_path, None)
    assert all(repr(name) in caught.value.message for name in names)


def test_help_loads_nothing_that_it_does_not_need():
    program = (
        "import sys; from octop_bridge.__main__ import main; main(['--help']);"
        "heavy = ('msgspec', 'sqlite3', 'octop_bridge.dispatch', 'octop_bridge.settings', 'asyncio');"
        "print([name for name in heavy if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
