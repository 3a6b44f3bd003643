"""What a person's verbs stand on: their statement as evidence, and the claims that share a sentence."""

from collections.abc import Sequence

from octop_bridge.context import Context, Scope
from octop_bridge.domain.records import QUOTE_CHARS_MAX, Claim, Event, Evidence
from octop_bridge.domain.redaction import redact
from octop_bridge.storage import evidence, rows, textindex
from octop_bridge.storage.apply import Hand
from octop_bridge.storage.engine import Tx

SPEAKER = "person"
"""Speaker of what a person states through a verb: it is not the user's own speech."""
_SESSION = "person"


def redacted(context: Context, text: str) -> str:
    """A person's text as it may be stored: secrets cut out on this way in too."""
    return redact(text.strip(), context.settings.capture.compiled())[0]


async def state(tx: Tx, owner: str, scope: Scope, text: str, hand: Hand) -> Evidence:
    """Store a person's statement as an event of this owner and give it as evidence."""
    event = Event(
        event_id=hand.id("ev"),
        owner=owner,
        session_id=_SESSION,
        role="user",
        speaker=SPEAKER,
        speaker_name=None,
        kind="turn",
        content=text,
        at_ms=hand.now_ms,
        recorded_ms=hand.now_ms,
        zone=scope.zone,
        chat_type="direct",
    )
    params = evidence.event_params(
        event, host="person", outcome="ok", metadata=None, fingerprint=event.event_id, state="extracted"
    )
    await tx.run("insert_event", **params)
    await textindex.add(tx, owner, "raw", evidence.index_rows(event.event_id, text, None, "direct"))
    return Evidence(
        event_id=event.event_id, quote=text[:QUOTE_CHARS_MAX], role="user", speaker=SPEAKER, at_ms=hand.now_ms
    )


async def claims_beside(tx: Tx, event_ids: Sequence[str], *, but: str = "") -> tuple[Claim, ...]:
    """Claims that cite these events and were not rejected, except the candidate `but`."""
    found = await tx.all("claims_citing", ids=list(event_ids))
    return tuple(
        rows.claim_of(claim) for candidate_id, status, claim in found if candidate_id != but and status != "rejected"
    )
