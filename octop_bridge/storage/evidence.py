"""Writes of evidence: events with their index rows, and what hides an event from raw search."""

from collections.abc import Sequence
from typing import Any

from octop_bridge.domain.intake import pieces
from octop_bridge.domain.records import Event
from octop_bridge.domain.tokens import index_tokens, term_hash
from octop_bridge.storage import rows, textindex
from octop_bridge.storage.engine import Tx


def index_rows(event_id: str, content: str, speaker_name: str | None, chat_type: str) -> list[textindex.IndexRow]:
    """What the index holds of an event: one row a piece. In a group the speaker's name is part of the text."""
    prefix = f"{speaker_name}: " if speaker_name and chat_type == "group" else ""
    return [
        textindex.IndexRow(event_id, offset, [term_hash(token) for token in index_tokens(prefix + piece)])
        for offset, piece in pieces(content)
    ]


def event_params(event: Event, **more: Any) -> dict[str, Any]:
    """Parameters of `insert_event`."""
    return {
        "event_id": event.event_id,
        "owner": event.owner,
        "session_id": event.session_id,
        "role": event.role,
        "speaker": event.speaker,
        "speaker_name": event.speaker_name,
        "kind": event.kind,
        "content": event.content,
        "at_ms": event.at_ms,
        "recorded_ms": event.recorded_ms,
        "zone": event.zone,
        "chat_type": event.chat_type,
        "host_id": event.host_id,
        **more,
    }


async def hide_events(tx: Tx, event_ids: Sequence[str], target_id: str) -> None:
    """Cite these events for a target that speaks for them: they leave the layer that raw search reads by default."""
    hidden = {row[0] for row in await tx.all("hidden_events", ids=list(event_ids))}
    await tx.run_many("cite", [{"event_id": one, "target_id": target_id, "hides": 1} for one in event_ids])
    for event in await rows.events_by_id(tx, [one for one in event_ids if one not in hidden]):
        entries = index_rows(event.event_id, event.content, event.speaker_name, event.chat_type)
        terms = {term for entry in entries for term in entry.terms}
        await textindex.move(tx, event.owner, event.event_id, "raw", "raw_cited", terms=terms)
