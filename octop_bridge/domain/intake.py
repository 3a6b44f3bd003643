"""What becomes of one captured message, and how it is known again.

Pure: the verdict depends on the message and the policy alone. What is kept is what the person or the model said, free of
envelopes, reasoning, recalled blocks and secrets; nothing is skipped for being short.
"""

import hashlib
import math
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Literal, NamedTuple
from zoneinfo import ZoneInfo

import msgspec

from octop_bridge.domain.envelopes import is_system_turn, strip_envelopes, strip_reasoning, strip_recalled
from octop_bridge.domain.records import Role
from octop_bridge.domain.redaction import redact, redact_payload
from octop_bridge.domain.small_talk import is_small_talk
from octop_bridge.domain.text import normalise, repair

__all__ = [
    "CapturePolicy",
    "Incoming",
    "Kept",
    "ReadTime",
    "Skipped",
    "fingerprint",
    "is_small_talk",
    "parse_instant",
    "pieces",
    "policy_of",
    "read_timestamp",
    "screen",
    "zone_name",
]

MessageKind = Literal["turn", "memory_write", "delegation"]
SessionKind = Literal["user", "oneshot", "heartbeat", "cron", "subagent", "batch", "system"]
SessionPolicy = Literal["full", "raw", "off"]
SkipReason = Literal["role", "empty", "too_large", "recall_echo", "envelope", "session_policy"]

TOOL_HEAD_CHARS = 400
TOOL_TAIL_CHARS = 200
PIECE_CHARS = 4_000
PIECE_OVERLAP_CHARS = 200
FINGERPRINT_BYTES = 16

SESSION_POLICIES: Mapping[SessionKind, SessionPolicy] = {
    "user": "full",
    "oneshot": "full",
    "cron": "raw",
    "subagent": "raw",
    "heartbeat": "off",
    "batch": "off",
    "system": "off",
}
EARLIEST_MS = 946_684_800_000
"""The year 2000: an event time before it is a broken clock."""
AHEAD_MAX_MS = 86_400_000
ORIGINAL_CHARS_MAX = 64
_SECONDS_BELOW = 100_000_000_000
"""A smaller number counts seconds: as milliseconds it would lie before 1973."""
_NUMBER = re.compile(r"-?\d{9,20}(?:\.\d{1,9})?")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)
_PART_HOUR_ZONES: Mapping[int, str] = {
    -570: "Pacific/Marquesas",
    -210: "America/St_Johns",
    -150: "America/St_Johns",
    210: "Asia/Tehran",
    270: "Asia/Kabul",
    330: "Asia/Kolkata",
    345: "Asia/Kathmandu",
    390: "Asia/Yangon",
    525: "Australia/Eucla",
    570: "Australia/Darwin",
    630: "Australia/Adelaide",
    765: "Pacific/Chatham",
    825: "Pacific/Chatham",
}
"""Zones for offsets in minutes that `Etc/GMT` does not have."""
_NEVER_ROLES = frozenset({"system", "developer"})
_TEXT_PARTS = frozenset({"text", "input_text", "output_text"})
_SPACE = re.compile(r"\s")


class Incoming(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One message of a capture call."""

    role: Role
    content: str | list[dict[str, Any]]
    id: str | None = None
    timestamp: str | int | float | None = None
    timestamp_stable: bool = False
    """Whether the host gives the same message the same timestamp every time."""
    name: str | None = None
    tool_call_id: str | None = None
    kind: MessageKind = "turn"
    metadata: dict[str, Any] | None = None


class CapturePolicy(msgspec.Struct, frozen=True, kw_only=True):
    """What is captured at all, from the settings and the kind of session."""

    roles: frozenset[str] = frozenset({"user", "assistant"})
    max_text_bytes: int = 1_048_576
    session: SessionPolicy = "full"
    patterns: tuple[re.Pattern[str], ...] = ()
    """Compiled by `redaction.compile_patterns`."""


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """A message as it is stored."""

    text: str
    redactions: tuple[str, ...]
    """The kinds of secrets that were cut out, in order."""
    metadata: dict[str, Any]


class Skipped(msgspec.Struct, frozen=True):
    """Why a message is not stored."""

    reason: SkipReason


def policy_of(session_kind: SessionKind | None, settings: Mapping[SessionKind, SessionPolicy]) -> SessionPolicy:
    """Return what a session of this kind gives: all of it, raw events without extraction, or nothing."""
    kind = session_kind or "user"
    return settings.get(kind, SESSION_POLICIES[kind])


def screen(message: Incoming, policy: CapturePolicy) -> Kept | Skipped:
    """Return the message as it is to be stored, or the reason why it is not."""
    role = message.role
    if role in _NEVER_ROLES or role not in policy.roles:
        return Skipped("role")
    if policy.session == "off":
        return Skipped("session_policy")
    text, other_parts = _text_of(message.content)
    # Four bytes a character at most: only a text near the limit has to be encoded to know its size.
    if len(text) * 4 > policy.max_text_bytes and len(text.encode("utf-8", "surrogatepass")) > policy.max_text_bytes:
        return Skipped("too_large")
    text = repair(text).strip()
    if not text:
        return Skipped("empty")
    metadata = dict(redact_payload(message.metadata, policy.patterns)) if message.metadata else {}
    if other_parts:
        metadata["other_parts"] = other_parts
    unwrapped = _unwrapped(role, text, metadata, policy)
    if isinstance(unwrapped, Skipped):
        return unwrapped
    content, redactions = redact(unwrapped, policy.patterns)
    if role == "tool":
        content = _shortened(content, metadata)
    return Kept(text=content, redactions=redactions, metadata=metadata)


def _unwrapped(role: Role, text: str, metadata: dict[str, Any], policy: CapturePolicy) -> str | Skipped:
    """The words themselves; the envelope goes into `metadata`. The first layer that leaves nothing gives the reason."""
    if role != "tool":
        text, envelope = strip_envelopes(text)
        if not text:
            return Skipped("envelope")
        if envelope:
            metadata["envelope"] = redact_payload(envelope, policy.patterns)
        if is_system_turn(text):
            return Skipped("session_policy")
    if role == "assistant":
        text = strip_reasoning(text)
        if not text:
            return Skipped("empty")
    return strip_recalled(text) or Skipped("recall_echo")


def _text_of(content: str | list[dict[str, Any]]) -> tuple[str, int]:
    """The text of a message, and how many of its parts are something else."""
    if isinstance(content, str):
        return content, 0
    texts = [part["text"] for part in content if part.get("type") in _TEXT_PARTS and isinstance(part.get("text"), str)]
    return "\n".join(texts), len(content) - len(texts)


def _shortened(content: str, metadata: dict[str, Any]) -> str:
    """The beginning and the end of a tool's output, with its size. Cut after redaction: half a secret has no shape."""
    metadata["tool_chars"] = len(content)
    if len(content) <= TOOL_HEAD_CHARS + TOOL_TAIL_CHARS:
        return content
    left_out = len(content) - TOOL_HEAD_CHARS - TOOL_TAIL_CHARS
    return f"{content[:TOOL_HEAD_CHARS]}\n[… {left_out} characters …]\n{content[-TOOL_TAIL_CHARS:]}"


def fingerprint(
    *,
    owner: str,
    session: str,
    role: str,
    text: str,
    host_id: str | None = None,
    before: str = "",
    timestamp: str | None = None,
) -> bytes:
    """Return the identity of a message: the same for every retry, history sent again, or second plugin instance.

    The host's id counts with the text, since hosts reuse ids for edited messages. Without one, the session, the role, the
    text and the text `before` it in the call decide, and the timestamp, which is to be given only where it is stable.
    """
    if host_id:
        parts: tuple[str, ...] = ("id", owner, host_id, normalise(text))
    else:
        previous = normalise(before) if before else ""
        parts = ("text", owner, session, role, normalise(text), previous, timestamp or "")
    digest = hashlib.blake2b(digest_size=FINGERPRINT_BYTES)
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        # Lengths go in too, so that no two lists of parts give the same bytes.
        digest.update(len(encoded).to_bytes(8, "big") + encoded)
    return digest.digest()


class ReadTime(NamedTuple):
    """An event time as it was read."""

    at_ms: int
    reason: Literal["bad_timestamp"] | None
    original: str | None
    """What was sent, where it could not be used."""
    zone: str | None
    """The zone of the offset in the timestamp. UTC is none: hosts stamp so wherever the person is."""


def read_timestamp(value: str | float | None, arrived_ms: int, zone: str) -> ReadTime:
    """Return when a message was said; a naive text is a time of `zone`, a small number counts seconds.

    What cannot be read, lies before 2000 or more than a day ahead gives the arrival time and `bad_timestamp`.
    """
    if value is None:
        return ReadTime(arrived_ms, None, None, None)
    at_ms, offset_zone = _parsed(value, zone, seconds_below=_SECONDS_BELOW)
    if at_ms is None or not EARLIEST_MS <= at_ms <= arrived_ms + AHEAD_MAX_MS:
        return ReadTime(arrived_ms, "bad_timestamp", str(value)[:ORIGINAL_CHARS_MAX], None)
    return ReadTime(at_ms, None, None, offset_zone)


def parse_instant(value: str | float, zone: str) -> int | None:
    """Return the epoch milliseconds of a parameter, ISO-8601 (naive = in `zone`) or epoch milliseconds, else None."""
    return _parsed(value, zone)[0]


def _parsed(value: str | float, zone: str, *, seconds_below: int = 0) -> tuple[int | None, str | None]:
    """Epoch milliseconds and the zone of the offset, each None where there is none."""
    if isinstance(value, bool):
        return None, None
    if isinstance(value, str):
        text = value.strip()
        if not _NUMBER.fullmatch(text):
            return _parsed_iso(text, zone)
        value = float(text)
    if not math.isfinite(value):
        return None, None
    return int(value * 1000 if abs(value) < seconds_below else value), None


def _parsed_iso(text: str, zone: str) -> tuple[int | None, str | None]:
    try:
        when = datetime.fromisoformat(text)
        if when.tzinfo is None:
            return (when.replace(tzinfo=ZoneInfo(zone_name(zone))) - _EPOCH) // _MS, None
        at_ms = (when - _EPOCH) // _MS
    except (ValueError, OverflowError):
        return None, None
    minutes = (when.utcoffset() or timedelta()) // timedelta(minutes=1)
    if minutes == 0:
        return at_ms, None
    if minutes % 60 == 0 and -12 <= minutes // 60 <= 14:
        # The names of this area of the zone database count westwards.
        return at_ms, f"Etc/GMT{-minutes // 60:+d}"
    return at_ms, _PART_HOUR_ZONES.get(minutes)


def zone_name(*candidates: str | None, fallback: str = "UTC") -> str:
    """Return the first candidate that is a zone of the IANA database, else the fallback."""
    return next((name for name in candidates if name and _is_zone(name)), fallback)


@lru_cache(maxsize=256)
def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return False
    return True


def pieces(text: str, size: int = PIECE_CHARS, overlap: int = PIECE_OVERLAP_CHARS) -> list[tuple[int, str]]:
    """Return the text in pieces of at most `size` characters with their offsets, cut where words end, overlapping.

    Any word shorter than `overlap` stands whole in some piece.
    """
    return list(_pieces(text, size, overlap))


def _pieces(text: str, size: int, overlap: int) -> Iterator[tuple[int, str]]:
    start = 0
    while len(text) - start > size:
        end = _word_end(text, start + size // 2, start + size)
        yield start, text[start:end]
        start = _word_start(text, max(start + 1, end - overlap), end)
    yield start, text[start:]


def _word_end(text: str, floor: int, end: int) -> int:
    """The last place up to `end` where a word ends, or `end` in a text without spaces."""
    if _SPACE.match(text, end):
        return end
    spaces = [at for at in (text.rfind(" ", floor, end), text.rfind("\n", floor, end)) if at > floor]
    return max(spaces) + 1 if spaces else end


def _word_start(text: str, start: int, end: int) -> int:
    """The first place from `start` on where a word begins, or `start` where none does before `end`."""
    if text[start - 1].isspace():
        return start
    space = _SPACE.search(text, start, end)
    return space.end() if space and space.end() < end else start
