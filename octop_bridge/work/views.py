"""Records as they travel."""

from collections.abc import Sequence

import msgspec

from octop_bridge.domain import paths
from octop_bridge.domain.records import Atom, Candidate, Event, Finding
from octop_bridge.domain.text import find_span
from octop_bridge.protocol import messages as wire
from octop_bridge.storage import rows
from octop_bridge.storage.apply import Tombstone
from octop_bridge.storage.engine import Tx


def atom_view(atom: Atom) -> wire.AtomView:
    """A version of an atom."""
    return wire.AtomView(
        id=atom.atom_id,
        version=atom.version,
        owner=atom.owner,
        type=atom.type,
        text=atom.text,
        status=atom.status,
        subject=atom.subject,
        slot=atom.slot,
        value=atom.value,
        valid_from_ms=atom.valid_from_ms,
        valid_to_ms=atom.valid_to_ms,
        recorded_ms=atom.recorded_ms,
        event_ms=atom.event_ms,
        evidence=[one.event_id for one in atom.evidence],
        successor=atom.successor,
    )


def candidate_view(candidate: Candidate) -> wire.CandidateView:
    """A claim with its fate."""
    claim = candidate.claim
    return wire.CandidateView(
        id=candidate.candidate_id,
        owner=candidate.owner,
        status=candidate.status,
        type=claim.type,
        text=claim.assertion,
        quote=claim.quote,
        subject=claim.subject.name,
        slot=claim.slot,
        value=claim.value,
        valid_from_ms=claim.valid_from_ms,
        valid_to_ms=claim.valid_to_ms,
        importance=claim.importance,
        confidence=claim.confidence,
        recommended=claim.recommended,
        actor=candidate.actor,
        reason=candidate.reason,
        event_ids=list(claim.event_ids),
        created_ms=candidate.created_ms,
        decided_ms=candidate.decided_ms,
        version=candidate.version,
    )


def finding_view(finding: Finding) -> wire.FindingView:
    """A reason to look."""
    return wire.FindingView(kind=finding.kind, atom_id=finding.atom_id, text=finding.text, detail=finding.detail)


def tombstone_view(tombstone: Tombstone) -> wire.TombstoneView:
    """A rejected value."""
    return wire.TombstoneView(
        id=tombstone.tombstone_id,
        owner=tombstone.owner,
        text=tombstone.text,
        reason=tombstone.reason,
        created_ms=tombstone.created_ms,
        until_ms=tombstone.until_ms,
    )


def evidence_view(event: Event, quote: str | None) -> wire.EvidenceView:
    """Where something was said."""
    return wire.EvidenceView(
        event_id=event.event_id,
        quote=quote,
        role=event.role,
        timestamp_ms=event.at_ms,
        path=paths.raw_path(event.event_id, event.at_ms),
    )


async def history_of(tx: Tx, target_id: str, limit: int = 100) -> list[wire.JournalView]:
    """What happened to a thing, oldest first."""
    return [
        wire.JournalView(
            id=row[0],
            at_ms=row[1],
            actor=msgspec.json.decode(row[2]),
            action=row[3],
            targets=msgspec.json.decode(row[4]),
            reason=row[5],
        )
        for row in await tx.all("journal_of", target_id=target_id, limit=limit)
    ]


async def evidence_of(tx: Tx, event_ids: Sequence[str], quote: str) -> list[wire.EvidenceView]:
    """The cited events that exist, with the quote at those that hold it."""
    return [
        evidence_view(event, quote if find_span(quote, event.content) is not None else None)
        for event in await rows.events_by_id(tx, event_ids)
    ]
