"""Rows to records and back: the one place that knows the order of columns."""

from collections.abc import Sequence
from typing import Any

import msgspec

from octop_bridge.domain.records import Atom, Candidate, Claim, Event, Evidence, Finding
from octop_bridge.storage.engine import Row, Tx

_claims = msgspec.json.Decoder(Claim)
_evidence = msgspec.json.Decoder(tuple[Evidence, ...])
encode = msgspec.json.Encoder().encode


def event_of(row: Row) -> Event:
    """An event from a row of `events_by_id` or `pending_of_session`."""
    return Event(
        event_id=row[0],
        owner=row[1],
        session_id=row[2],
        role=row[3],
        speaker=row[4],
        speaker_name=row[5],
        kind=row[6],
        content=row[7],
        at_ms=row[8],
        recorded_ms=row[9],
        zone=row[10],
        chat_type=row[11],
        host_id=row[12],
    )


def atom_of(row: Row) -> Atom:
    """An atom from a row of `newest_atoms`, `live_atoms` or `versions_known_at`."""
    return Atom(
        atom_id=row[0],
        version=row[1],
        owner=row[2],
        type=row[3],
        text=row[4],
        status=row[5],
        entity_id=row[6],
        subject=row[7],
        slot=row[8],
        value=row[9],
        signature=row[10],
        valid_from_ms=row[11],
        valid_to_ms=row[12],
        recorded_ms=row[13],
        ended_ms=row[14],
        event_ms=row[15],
        importance=row[16],
        confidence=row[17],
        evidence=_evidence.decode(row[18]),
        cause=row[19],
        successor=row[20],
    )


def candidate_of(row: Row, findings: Sequence[Finding] = ()) -> Candidate:
    """A candidate from a row of `candidate` or `candidates_by_status`, with its findings."""
    return Candidate(
        candidate_id=row[0],
        owner=row[1],
        chat_type=row[2],
        status=row[3],
        claim=_claims.decode(row[4]),
        actor=row[5],
        reason=row[6],
        findings=tuple(findings),
        atom_id=row[7],
        created_ms=row[8],
        decided_ms=row[9],
        version=row[10],
    )


def claim_of(blob: bytes) -> Claim:
    """A claim as `candidates` keeps it."""
    return _claims.decode(blob)


async def events_by_id(tx: Tx, ids: Sequence[str]) -> list[Event]:
    """The events of these ids that exist, oldest id first."""
    return [event_of(row) for row in await tx.all("events_by_id", ids=list(ids))] if ids else []


async def atoms_by_id(tx: Tx, ids: Sequence[str], *, retired: bool = False) -> dict[str, Atom]:
    """Newest versions by id; retired ones only if asked."""
    if not ids:
        return {}
    name = "newest_atoms_by_id" if retired else "live_atoms_by_id"
    return {row[0]: atom_of(row) for row in await tx.all(name, ids=list(ids))}


async def candidates_from(tx: Tx, rows: Sequence[Row]) -> list[Candidate]:
    """Candidates of these rows, each with its findings, in the rows' order."""
    if not rows:
        return []
    by_candidate: dict[str, list[Finding]] = {}
    for candidate_id, kind, atom_id, detail, text in await tx.all("findings_of", ids=[row[0] for row in rows]):
        by_candidate.setdefault(candidate_id, []).append(Finding(kind=kind, atom_id=atom_id, detail=detail, text=text))
    return [candidate_of(row, by_candidate.get(row[0], ())) for row in rows]


async def candidate_by_id(tx: Tx, candidate_id: str) -> Candidate | None:
    """One candidate with its findings, or None."""
    row = await tx.one("candidate", candidate_id=candidate_id)
    return (await candidates_from(tx, [row]))[0] if row else None


def json_text(value: Any) -> str:
    """Compact JSON text, for a TEXT column."""
    return encode(value).decode()
