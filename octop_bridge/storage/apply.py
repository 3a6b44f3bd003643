"""The only writer of beliefs.

Every surface ends here: extraction, review, correction and a person's statement. One call writes the atom version, what
it supersedes, its index rows, its citations, the candidate's fate and the journal row, in the caller's transaction.
"""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from octop_bridge.domain.decisions import Decision, Ending, Merge, Park, Promote, Reject, RejectForGood, Retire
from octop_bridge.domain.records import SPEAKER, Atom, AtomStatus, Candidate, Claim, Evidence
from octop_bridge.domain.text import find_span, signature
from octop_bridge.domain.tokens import index_tokens, term_hash
from octop_bridge.protocol.errors import ConflictError
from octop_bridge.storage import rows, textindex
from octop_bridge.storage.engine import Tx
from octop_bridge.storage.evidence import hide_events


class Hand(msgspec.Struct, frozen=True, kw_only=True):
    """Who acts, when, and why: what a journal row needs."""

    now_ms: int
    new_id: Callable[[str, int], str]
    actor: dict[str, Any]
    reason: str | None = None

    def id(self, prefix: str) -> str:
        """A fresh id of a kind."""
        return self.new_id(prefix, self.now_ms)


class Tombstone(msgspec.Struct, frozen=True, kw_only=True):
    """A rejected value. `text` is kept for a person; the keys stand beside it."""

    tombstone_id: str
    owner: str
    text: str | None
    reason: str | None
    created_ms: int
    until_ms: int | None = None


class Applied(msgspec.Struct, kw_only=True):
    """What was written."""

    status: str = ""
    reason: str | None = None
    atoms: list[Atom] = []
    superseded: list[Atom] = []
    tombstones: list[Tombstone] = []
    lifted: list[Tombstone] = []


async def apply(
    tx: Tx, decision: Decision, *, owner: str, hand: Hand, candidate: Candidate | None = None, speaker: str = ""
) -> Applied:
    """Write one decision. Raises ConflictError where an atom or the candidate moved since it was read."""
    done = Applied()
    match decision:
        case Promote():
            await _promote(tx, decision, owner, speaker, hand, done)
            await _close(tx, candidate, "promoted", None, done, hand)
        case Merge():
            await _merge(tx, decision, hand, done)
            await _close(tx, candidate, "merged", "known already", done, hand)
        case Park():
            assert candidate is not None
            await _park(tx, decision, candidate)
            reason = "; ".join(f"{finding.kind}: {finding.detail}" for finding in decision.findings)
            await _close(tx, candidate, "parked", reason, done, hand)
        case Reject():
            await _refuse(tx, decision, candidate, hand)
            await _close(tx, candidate, "rejected", decision.reason, done, hand)
        case RejectForGood():
            tombstone = await bury(tx, decision.claim.assertion, decision.keys, owner=owner, hand=hand)
            done.tombstones.append(tombstone)
            await hide_events(tx, await quoted_events(tx, decision.claim), tombstone.tombstone_id)
            await _close(tx, candidate, "rejected", "rejected by a person", done, hand)
        case Retire():
            await _retire(tx, decision, owner, speaker, hand, done)
            await _close(tx, candidate, "promoted", None, done, hand)
    return done


async def journal(
    tx: Tx, hand: Hand, action: str, targets: Sequence[str], *, before: object = None, after: object = None
) -> None:
    """One row: who did what to which things, and why. It holds hashes of before and after, never a text."""
    entry_id = hand.id("jr")
    await tx.run(
        "insert_journal",
        entry_id=entry_id,
        at_ms=hand.now_ms,
        actor=rows.json_text(hand.actor),
        action=action,
        targets=rows.json_text(list(targets)),
        reason=hand.reason,
        before_hash=_digest(before),
        after_hash=_digest(after),
    )
    await tx.run_many("insert_journal_target", [{"target_id": one, "entry_id": entry_id} for one in targets])


async def bury(
    tx: Tx, text: str, keys: Sequence[str], *, owner: str, hand: Hand, until_ms: int | None = None
) -> Tombstone:
    """A new tombstone with all of its keys. Without `until_ms` it stands for good."""
    tombstone = Tombstone(
        tombstone_id=hand.id("tb"),
        owner=owner,
        text=text,
        reason=hand.reason,
        created_ms=hand.now_ms,
        until_ms=until_ms,
    )
    await tx.run("insert_tombstone", **msgspec.structs.asdict(tombstone))
    await tx.run_many(
        "insert_tombstone_key",
        [{"owner": owner, "key": key, "tombstone_id": tombstone.tombstone_id} for key in keys],
    )
    await journal(tx, hand, "reject", [tombstone.tombstone_id], after=text)
    return tombstone


async def lift(tx: Tx, owners: Sequence[str], keys: Sequence[str], hand: Hand) -> list[Tombstone]:
    """The tombstones that these keys hit, no longer in force: a person outranks them."""
    lifted = []
    for row in await tx.all("tombstones_hit", owners=list(owners), keys=list(keys), event_ms=-(1 << 62)):
        tombstone = Tombstone(
            tombstone_id=row[0], owner=row[1], text=row[2], reason=row[3], until_ms=row[4], created_ms=row[5]
        )
        await tx.run("lift_tombstone", tombstone_id=tombstone.tombstone_id, lifted_ms=hand.now_ms)
        await journal(tx, hand, "lift", [tombstone.tombstone_id], before=tombstone.text)
        lifted.append(tombstone)
    return lifted


async def _promote(tx: Tx, decision: Promote, owner: str, speaker: str, hand: Hand, done: Applied) -> None:
    claim = decision.claim
    entity_id = decision.entity_id or await entity_for(tx, claim, owner, speaker, hand)
    atom = Atom(
        atom_id=hand.id("at"),
        version=1,
        owner=owner,
        type=claim.type,
        text=claim.assertion,
        status="current",
        entity_id=entity_id,
        subject=claim.subject.name,
        slot=claim.slot,
        value=claim.value,
        signature=signature(claim.assertion, claim.subject.name),
        valid_from_ms=claim.valid_from_ms,
        valid_to_ms=claim.valid_to_ms,
        recorded_ms=hand.now_ms,
        ended_ms=None,
        event_ms=max((one.at_ms for one in decision.evidence), default=hand.now_ms),
        importance=claim.importance,
        confidence=claim.confidence,
        evidence=decision.evidence,
        cause=decision.cause,
    )
    for ending in decision.endings:
        done.superseded.append(await _end(tx, ending, hand, successor=atom.atom_id))
    await tx.run(
        "insert_atom",
        atom_id=atom.atom_id,
        entity_id=entity_id,
        subject=atom.subject,
        type=atom.type,
        text=atom.text,
        signature=atom.signature,
        slot=atom.slot,
        value=atom.value,
        importance=atom.importance,
        confidence=atom.confidence,
    )
    await _write_version(tx, atom)
    await textindex.add(tx, owner, "atom", [index_row(atom)])
    await hide_events(tx, [one.event_id for one in atom.evidence], atom.atom_id)
    await journal(tx, hand, decision.cause, [atom.atom_id], after=atom)
    done.atoms.append(atom)


async def entity_for(tx: Tx, claim: Claim, owner: str, speaker: str, hand: Hand) -> str:
    """The entity of exactly this name within type and owner, made if there is none."""
    key = entity_key(claim, speaker)
    found = await tx.one("entity_by_name", owner=owner, kind=claim.subject.kind, name_key=key)
    if found:
        return str(found[0])
    entity_id = hand.id("en")
    await tx.run(
        "insert_entity",
        entity_id=entity_id,
        owner=owner,
        kind=claim.subject.kind,
        name=claim.subject.name,
        name_key=key,
        created_ms=hand.now_ms,
    )
    return entity_id


def entity_key(claim: Claim, speaker: str) -> str:
    """How an entity is found: its name as it is compared; for the speaker, who that is."""
    if claim.subject.name == SPEAKER:
        return f"{SPEAKER}|{speaker}"
    return signature(claim.subject.name)


async def _merge(tx: Tx, decision: Merge, hand: Hand, done: Applied) -> None:
    atom = decision.atom
    if decision.added:
        evidence: tuple[Evidence, ...] = (*atom.evidence, *decision.added)
        newest = max(one.at_ms for one in evidence)
        raised = await _next_version(tx, atom, hand, evidence=evidence, event_ms=newest, cause="merge")
        await hide_events(tx, [one.event_id for one in decision.added], atom.atom_id)
        await journal(tx, hand, "merge", [atom.atom_id], before=atom, after=raised)
        atom = raised
    done.atoms.append(atom)


async def _park(tx: Tx, decision: Park, candidate: Candidate) -> None:
    await tx.run("delete_findings", candidate_id=candidate.candidate_id)
    await tx.run_many(
        "insert_finding",
        [
            {
                "candidate_id": candidate.candidate_id,
                "number": number,
                "kind": finding.kind,
                "atom_id": finding.atom_id,
                "detail": finding.detail,
            }
            for number, finding in enumerate(decision.findings)
        ],
    )


async def _refuse(tx: Tx, decision: Reject, candidate: Candidate | None, hand: Hand) -> None:
    if candidate is None:
        return
    for tombstone_id in decision.tombstone_ids:
        await count_refusal(tx, tombstone_id, candidate.claim, hand)
    await hide_events(tx, await quoted_events(tx, candidate.claim), candidate.candidate_id)


async def count_refusal(tx: Tx, tombstone_id: str, claim: Claim, hand: Hand) -> None:
    """A claim repeated a rejected value: counted, journalled, and what said it is no raw hit any more."""
    await tx.run("count_refusal", tombstone_id=tombstone_id, at_ms=hand.now_ms)
    await hide_events(tx, await quoted_events(tx, claim), tombstone_id)
    await journal(tx, hand, "refuse", [tombstone_id])


async def quoted_events(tx: Tx, claim: Claim) -> list[str]:
    """The cited events that really say it: what a claim only pretends to quote stays findable."""
    events = await rows.events_by_id(tx, claim.event_ids)
    return [event.event_id for event in events if find_span(claim.quote, event.content) is not None]


async def _retire(tx: Tx, decision: Retire, owner: str, speaker: str, hand: Hand, done: Applied) -> None:
    if decision.keys:
        tombstone = await bury(tx, decision.ending.atom.text, decision.keys, owner=owner, hand=hand)
        done.tombstones.append(tombstone)
    if decision.replacement is None:
        done.superseded.append(await _end(tx, decision.ending, hand, successor=None))
        return
    replacement = msgspec.structs.replace(decision.replacement, endings=(decision.ending,))
    await _promote(tx, replacement, owner, speaker, hand, done)


async def _end(tx: Tx, ending: Ending, hand: Hand, successor: str | None) -> Atom:
    atom = ending.atom
    ended = await _next_version(
        tx,
        atom,
        hand,
        status=ending.status,
        valid_to_ms=ending.valid_to_ms if ending.valid_to_ms is not None else atom.valid_to_ms,
        successor=successor,
        cause=ending.cause,
    )
    if atom.status == "current":
        terms = set(index_row(atom).terms)
        await textindex.move(tx, atom.owner, atom.atom_id, "atom", "atom_past", terms=terms)
    targets = [atom.atom_id, successor] if successor else [atom.atom_id]
    await journal(tx, hand, ending.cause, targets, before=atom, after=ended)
    return ended


async def _next_version(tx: Tx, atom: Atom, hand: Hand, **changes: Any) -> Atom:
    """End the newest version and write the next. Nothing is updated in place but `ended_ms`."""
    if not await tx.run("end_version", atom_id=atom.atom_id, version=atom.version, ended_ms=hand.now_ms):
        raise ConflictError("the atom moved since it was read", hint="read it again", path="params.atom_id")
    after = msgspec.structs.replace(
        atom, **{"version": atom.version + 1, "recorded_ms": hand.now_ms, "ended_ms": None, **changes}
    )
    await _write_version(tx, after)
    return after


async def _write_version(tx: Tx, atom: Atom) -> None:
    status: AtomStatus = atom.status
    await tx.run(
        "insert_version",
        atom_id=atom.atom_id,
        version=atom.version,
        owner=atom.owner,
        status=status,
        valid_from_ms=atom.valid_from_ms,
        valid_to_ms=atom.valid_to_ms,
        event_ms=atom.event_ms,
        evidence=rows.encode(atom.evidence),
        recorded_ms=atom.recorded_ms,
        cause=atom.cause,
        successor=atom.successor,
    )


def index_row(atom: Atom) -> textindex.IndexRow:
    """What the index holds of an atom: its text and, where it is not the speaker, its subject."""
    return textindex.IndexRow(atom.atom_id, 0, atom_terms(atom.text, atom.subject))


def atom_terms(text: str, subject: str) -> list[int]:
    """The terms of an atom's text, and of its subject where the text does not name it."""
    tokens = index_tokens(text)
    if subject != SPEAKER:
        known = set(tokens)
        tokens = tokens + [token for token in index_tokens(subject) if token not in known]
    return [term_hash(token) for token in tokens]


async def _close(
    tx: Tx, candidate: Candidate | None, status: str, reason: str | None, done: Applied, hand: Hand
) -> None:
    """The candidate's fate, in the same transaction."""
    done.status, done.reason = status, reason
    if candidate is None:
        return
    changed = await tx.run(
        "decide_candidate",
        candidate_id=candidate.candidate_id,
        version=candidate.version,
        status=status,
        reason=reason,
        atom_id=done.atoms[0].atom_id if done.atoms else None,
        decided_ms=None if status == "parked" else hand.now_ms,
    )
    if not changed:
        raise ConflictError("the candidate is resolved already, or moved since it was read", hint="read it again")
    if status in {"parked", "rejected"}:
        await journal(tx, hand, "park" if status == "parked" else "reject", [candidate.candidate_id])


def _digest(value: object) -> bytes | None:
    if value is None:
        return None
    return hashlib.blake2b(rows.encode(value), digest_size=16).digest()
