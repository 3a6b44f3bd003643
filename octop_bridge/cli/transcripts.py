"""Conversations in files, as batches for `memory.capture`.

Read are: our own `{role, content, timestamp?, id?, session?, name?}` as JSON or JSONL; OpenAI messages; session
files of Claude Code and OpenClaw; Hermes session exports; LoCoMo conversations. What is no message of the
conversation (tool calls, side chains, summaries of a compaction) is left out here; the rest is for capture to judge.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from octop_bridge.protocol import errors

BATCH_MAX = 1000
_TEXT_PARTS = ("text", "input_text", "output_text")
_ID_CHARS_MAX = 512
_ROLES = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "tool": "tool",
    "function": "tool",
    "toolResult": "tool",
    "system": "system",
    "developer": "developer",
}
_SECONDS_MAX = 100_000_000_000
"""A smaller number is epoch seconds, a larger one milliseconds: the limit is the year 5138 or 1973."""
_OWN_KINDS = {"cron", "oneshot", "batch"}
"""Sources of a Hermes session that are kinds of session of ours."""
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
_LOCOMO_SESSION = re.compile(r"session_(\d+)")
_LOCOMO_TIME = "%I:%M %p on %d %B, %Y"

Message = dict[str, Any]
Row = dict[str, Any]


class Batch(NamedTuple):
    """Messages of one session, oldest first, and whose they are."""

    identity: dict[str, Any]
    messages: list[Message]
    session_kind: str = "user"


class Transcript(NamedTuple):
    """What a file holds. `broken` counts lines that are no JSON: a live session's last one may be half written."""

    format: str
    batches: list[Batch]
    broken: int = 0


def read(path: Path) -> Transcript:
    """The conversation in a file. Raises ConfigError where it cannot be read or is none that we know."""
    try:
        text = path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        raise errors.ConfigError(f"{path.name}: {error.strerror}", path="TRANSCRIPT") from None
    rows, broken = _rows(text)
    for name, knows, sessions in _FORMATS:
        if any(knows(row) for row in rows):
            batches = [batch for found in sessions(rows, path.stem) for batch in _split(found)]
            return Transcript(name, batches, broken)
    raise errors.ConfigError(
        f"{path.name}: no conversation that we know",
        path="TRANSCRIPT",
        hint='a line a message: {"role": "user", "content": "…"}',
    )


def _rows(text: str) -> tuple[list[Row], int]:
    """The objects of a JSON file or a JSONL file, and how many lines are neither."""
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        pass
    else:
        return [row for row in (whole if isinstance(whole, list) else [whole]) if isinstance(row, dict)], 0
    rows, broken = [], 0
    for line in text.split("\n"):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            broken += 1
            continue
        if isinstance(row, dict):
            rows.append(row)
    return rows, broken


def _split(batch: Batch) -> Iterator[Batch]:
    for start in range(0, len(batch.messages), BATCH_MAX):
        yield batch._replace(messages=batch.messages[start : start + BATCH_MAX])


def _message(role: Any, content: Any, **more: Any) -> Message | None:
    """A message, or None where nothing of it is one: no known role, or no text."""
    known = _ROLES.get(role) if isinstance(role, str) else None
    if isinstance(content, list):
        content = [
            {"type": "text", "text": _whole(str(part["text"]))}
            for part in content
            if isinstance(part, dict) and part.get("type") in _TEXT_PARTS and part.get("text")
        ]
    elif isinstance(content, str):
        content = _whole(content)
    if known is None or not content or not isinstance(content, str | list):
        return None
    optional = {
        "id": str(more["id"])[:_ID_CHARS_MAX] if more.get("id") is not None else None,
        "timestamp": _time(more.get("timestamp")),
        "name": more["name"] if isinstance(more.get("name"), str) else None,
        "tool_call_id": more["tool_call_id"] if isinstance(more.get("tool_call_id"), str) else None,
    }
    optional["timestamp_stable"] = True if optional["timestamp"] is not None else None
    return {"role": known, "content": content, **{name: value for name, value in optional.items() if value is not None}}


def _whole(text: str) -> str:
    """The text without the half characters that a program left that cut it in the middle of one."""
    return _HALF_CHARACTER.sub("\ufffd", text)


def _time(given: Any) -> str | int | None:
    """A time as capture takes it: ISO text, or epoch milliseconds where seconds were given."""
    if isinstance(given, int | float) and not isinstance(given, bool) and math.isfinite(given):
        return round(given * 1000) if abs(given) < _SECONDS_MAX else round(given)
    return given if isinstance(given, str) and given else None


def _kept(messages: Iterable[Message | None]) -> list[Message]:
    return [message for message in messages if message is not None]


def _sessions(found: Iterable[tuple[str, Message | None]]) -> Iterator[Batch]:
    """Messages grouped by session, in the order in which the sessions begin."""
    by_session: dict[str, list[Message]] = {}
    for session, message in found:
        if message is not None:
            by_session.setdefault(session, []).append(message)
    for session, messages in by_session.items():
        yield Batch({"session_id": session}, messages)


def _own(rows: list[Row], stem: str) -> Iterator[Batch]:
    """Our own lines, and a bare list of OpenAI messages."""
    yield from _sessions(
        (
            str(row.get("session") or stem),
            _message(
                row.get("role"),
                row.get("content"),
                id=row.get("id"),
                timestamp=row.get("timestamp"),
                name=row.get("name"),
                tool_call_id=row.get("tool_call_id"),
            ),
        )
        for row in rows
    )


def _bundles(rows: list[Row], stem: str) -> Iterator[Batch]:
    """Objects with a list of messages: Hermes exports (one session a line), OpenAI requests and fine-tuning lines."""
    for number, row in enumerate(rows):
        if not isinstance(row.get("messages"), list):
            continue
        session = str(row.get("session_id") or row.get("id") or (f"{stem}-{number}" if len(rows) > 1 else stem))
        identity = {
            "channel": row.get("source"),
            "user_id": row.get("user_id"),
            "chat_id": row.get("chat_id"),
            "chat_type": {"dm": "direct", "direct": "direct", "group": "group"}.get(str(row.get("chat_type"))),
        }
        yield Batch(
            {"session_id": session, **{name: str(value) for name, value in identity.items() if value}},
            _kept(_bundled(message, session) for message in row["messages"] if isinstance(message, dict)),
            str(row["source"]) if str(row.get("source")) in _OWN_KINDS else "user",
        )


def _bundled(row: Row, session: str) -> Message | None:
    return _message(
        row.get("role"),
        row.get("content"),
        id=f"{session}/{row['id']}" if row.get("id") is not None else None,
        timestamp=row.get("timestamp"),
        name=row.get("name") if row.get("role") == "user" else None,
        tool_call_id=row.get("tool_call_id"),
    )


def _claude_code(rows: list[Row], stem: str) -> Iterator[Batch]:
    """Lines of type user or assistant; side chains are a subagent's, meta lines and summaries the program's own."""
    said = (row for row in rows if _is_claude_code(row) and not (row.get("isSidechain") or row.get("isMeta")))
    yield from _sessions(
        (
            str(row.get("sessionId") or stem),
            _message(
                row["message"].get("role") or row["type"],
                row["message"].get("content"),
                id=row.get("uuid"),
                timestamp=row.get("timestamp"),
            ),
        )
        for row in said
        if not row.get("isCompactSummary")
    )


def _openclaw(rows: list[Row], stem: str) -> Iterator[Batch]:
    """Lines of type message below a session's head. Entry ids are short: the session makes them unique."""
    session = next((str(row["id"]) for row in rows if row.get("type") == "session" and row.get("id")), stem)
    yield from _sessions(
        (
            session,
            _message(
                row["message"].get("role"),
                row["message"].get("content"),
                id=f"{session}/{row['id']}" if row.get("id") else None,
                timestamp=row["message"].get("timestamp") or row.get("timestamp"),
                tool_call_id=row["message"].get("toolCallId"),
            ),
        )
        for row in rows
        if _is_openclaw(row)
    )


def _locomo(rows: list[Row], stem: str) -> Iterator[Batch]:
    """Two people in one chat: both are users, told apart by name, and the chat is the owner."""
    for row in rows:
        talk = row["conversation"] if isinstance(row.get("conversation"), dict) else row
        chat = str(row.get("sample_id") or stem)
        numbers = [int(found[1]) for name in talk if (found := _LOCOMO_SESSION.fullmatch(name))]
        for number in sorted(numbers):
            turns = [turn for turn in talk[f"session_{number}"] or [] if isinstance(turn, dict)]
            when = _locomo_time(talk.get(f"session_{number}_date_time"))
            identity = {"channel": "locomo", "chat_id": chat, "chat_type": "group", "session_id": f"{chat}/{number}"}
            yield Batch(identity, _kept(_locomo_turn(turn, chat, when) for turn in turns))


def _locomo_turn(turn: Row, chat: str, when: str | None) -> Message | None:
    text = str(turn.get("text") or "")
    if turn.get("blip_caption"):
        text = f"{text} [shares {turn['blip_caption']}]".strip()
    return _message(
        "user",
        text,
        id=f"{chat}/{turn['dia_id']}" if turn.get("dia_id") else None,
        name=turn.get("speaker"),
        timestamp=when,
    )


def _locomo_time(given: Any) -> str | None:
    """ISO text without a zone of a time as `1:56 pm on 8 May, 2023`, or None."""
    try:
        return datetime.strptime(str(given), _LOCOMO_TIME).isoformat()  # noqa: DTZ007 - the data has no zone
    except ValueError:
        return None


def _is_locomo(row: Row) -> bool:
    talk = row.get("conversation") if isinstance(row.get("conversation"), dict) else row
    return isinstance(talk, dict) and "session_1_date_time" in talk


def _is_claude_code(row: Row) -> bool:
    return row.get("type") in ("user", "assistant") and isinstance(row.get("message"), dict)


def _is_openclaw(row: Row) -> bool:
    return row.get("type") == "message" and isinstance(row.get("message"), dict)


_FORMATS: tuple[tuple[str, Callable[[Row], bool], Callable[[list[Row], str], Iterator[Batch]]], ...] = (
    ("LoCoMo", _is_locomo, _locomo),
    ("Claude Code", _is_claude_code, _claude_code),
    ("OpenClaw", _is_openclaw, _openclaw),
    ("Hermes", lambda row: isinstance(row.get("messages"), list) and bool(row.get("source")), _bundles),
    ("OpenAI messages", lambda row: isinstance(row.get("messages"), list), _bundles),
    ("messages", lambda row: isinstance(row.get("role"), str) and "content" in row, _own),
)
"""Name, whether a row is one of it, and its sessions; the first that knows any row of the file reads all of it."""
