"""Everything that a decision may look at, read in the transaction that will write it."""

from octop_bridge.domain.promotion import Gathered
from octop_bridge.domain.records import SHARED_OWNER, SPEAKER, Claim, Event
from octop_bridge.domain.text import signature
from octop_bridge.domain.tombstones import keys_of
from octop_bridge.storage import rows
from octop_bridge.storage.apply import entity_key
from octop_bridge.storage.engine import Tx


async def gather(tx: Tx, claim: Claim, owner: str, *, speaker: str | None = None) -> Gathered:
    """The claim with its events, rejected twins, entity and what is believed of it, all within one owner.

    `speaker` says who the user is, where a person states it for them.
    """
    found = {event.event_id: event for event in await rows.events_by_id(tx, claim.event_ids) if event.owner == owner}
    events = tuple(found[cited] for cited in claim.event_ids if cited in found)
    tombstones = await tombstones_of(tx, claim, owner, newest_ms(events))
    if tombstones:
        return Gathered(claim=claim, events=events, tombstone_ids=tuple(tombstones))
    name_key = entity_key(claim, speaker_of(claim, events) if speaker is None else speaker)
    entity = await tx.one("entity_by_name", owner=owner, kind=claim.subject.kind, name_key=name_key)
    if entity is None:
        return Gathered(claim=claim, events=events)
    entity_id = str(entity[0])
    same = await tx.all(
        "current_by_signature",
        entity_id=entity_id,
        signature=signature(claim.assertion, claim.subject.name),
        owner=owner,
    )
    slot = await tx.all("current_by_slot", entity_id=entity_id, slot=claim.slot, owner=owner) if claim.slot else []
    return Gathered(
        claim=claim,
        events=events,
        entity_id=entity_id,
        same=tuple(rows.atom_of(row) for row in same),
        slot=tuple(rows.atom_of(row) for row in slot),
    )


async def tombstones_of(tx: Tx, claim: Claim, owner: str, event_ms: int) -> list[str]:
    """Ids of the rejected values, the owner's and shared ones, that the claim repeats."""
    owners = [owner, SHARED_OWNER]
    if await tx.one("any_tombstone", owners=owners) is None:
        return []
    hits = await tx.all("tombstones_hit", owners=owners, keys=list(keys_of(claim)), event_ms=event_ms)
    return [str(row[0]) for row in hits]


def newest_ms(events: tuple[Event, ...]) -> int:
    """Event time of the newest cited event; the beginning of time where none exists."""
    return max((event.at_ms for event in events), default=0)


def speaker_of(claim: Claim, events: tuple[Event, ...]) -> str:
    """Who the speaker is, where the claim is about the speaker."""
    if claim.subject.name != SPEAKER:
        return ""
    return next((event.speaker for event in events if event.role == "user"), "")
