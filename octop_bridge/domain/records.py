"""The nouns of the memory, as plain values: what was said, what is claimed, what is believed.

Instants are epoch milliseconds, UTC. Validity is half-open: `[valid_from_ms, valid_to_ms)`, None = unbounded or unknown.
"""

from typing import Literal

import msgspec

ClaimType = Literal["Fact", "Preference", "Decision", "Task", "Instruction", "Event", "Retraction"]
CLAIM_TYPES: tuple[ClaimType, ...] = ("Fact", "Preference", "Decision", "Task", "Instruction", "Event", "Retraction")
Level = Literal["low", "medium", "high"]
Role = Literal["user", "assistant", "tool", "system", "developer"]
CandidateStatus = Literal["pending", "parked", "promoted", "merged", "rejected", "dismissed", "erased"]
EventState = Literal["pending", "extracted", "raw"]
DISPUTING: tuple["FindingKind", ...] = ("polarity", "slot", "update", "correction", "retraction")
"""Findings of an open parked candidate that make the atom they name a disputed one."""
AtomStatus = Literal["current", "historical", "retired"]
Layer = Literal["atom", "derived", "raw", "host"]
FindingKind = Literal[
    "polarity",
    "slot",
    "update",
    "correction",
    "retraction",
    "opinion",
    "duplicate",
    "evidence",
    "faithfulness",
    "safety",
    "entity",
    "value",
    "failed",
    "erasure_request",
]

SPEAKER = "user"
"""How the speaker is named as a subject, whatever the person is called."""
SHARED_OWNER = "shared"
ASSERTION_CHARS_MAX = 500
QUOTE_CHARS_MAX = 200


class Subject(msgspec.Struct, frozen=True):
    """What a claim is about. `name` is `user` for the speaker."""

    name: str
    kind: str = "Thing"


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """What an extractor says that the evidence says. Nothing here is trusted: the checks of promotion decide."""

    type: ClaimType
    assertion: str
    quote: str
    event_ids: tuple[str, ...]
    """The cited events; the quote must stand in the first."""
    subject: Subject
    slot: str | None = None
    """A single-valued attribute of the subject, lower case with underscores (`home_city`), or None."""
    value: str | None = None
    valid_from_ms: int | None = None
    valid_to_ms: int | None = None
    importance: Level = "medium"
    confidence: Level = "medium"
    retracts: str | None = None
    """Atom id that the extractor believes to be taken back; orders candidates, never decides."""
    recommended: str | None = None
    """What the extractor would do; stored, never read by a decision."""


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One message as it was captured: evidence. Content is redacted and cut free of envelopes and recalled blocks."""

    event_id: str
    owner: str
    session_id: str
    role: Role
    speaker: str
    """Stable key of who spoke within the owner (`user:<channel>/<id>`, `assistant`), for counting distinct speakers."""
    speaker_name: str | None
    """Display name, shown in groups."""
    kind: Literal["turn", "memory_write", "delegation"]
    content: str
    at_ms: int
    """Event time: when it was said."""
    recorded_ms: int
    zone: str
    """IANA zone of the turn, for resolving "yesterday"."""
    chat_type: Literal["direct", "group"]
    host_id: str | None = None
    """The host's own id of the message, where it has one."""


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """One citation of an atom: where it was said, by whom."""

    event_id: str
    quote: str
    role: Role
    speaker: str
    at_ms: int


class Atom(msgspec.Struct, frozen=True, kw_only=True):
    """One version of a believed fact. Within an atom_id text, type and subject never change; the rest makes versions."""

    atom_id: str
    version: int
    owner: str
    type: ClaimType
    text: str
    status: AtomStatus
    entity_id: str
    subject: str
    slot: str | None
    value: str | None
    signature: str
    valid_from_ms: int | None
    valid_to_ms: int | None
    recorded_ms: int
    ended_ms: int | None
    event_ms: int
    """Event time of the newest evidence: the order of belief."""
    importance: Level
    confidence: Level
    evidence: tuple[Evidence, ...]
    cause: str
    """Why this version was written: promote, merge, update, correct, retire, store."""
    successor: str | None = None


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A stored claim with its fate."""

    candidate_id: str
    owner: str
    chat_type: str
    status: CandidateStatus
    claim: Claim
    actor: str
    """Who made the claim: `rules`, `model`, `scripted`, `person`."""
    reason: str | None
    findings: tuple["Finding", ...]
    atom_id: str | None
    created_ms: int
    decided_ms: int | None
    version: int


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """Why a candidate waits for a person: one reason, with what it stands against."""

    kind: FindingKind
    detail: str
    atom_id: str | None = None
    text: str | None = None
    """Text of the atom it stands against."""
