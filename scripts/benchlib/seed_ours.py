"""A store of octop-bridge with so many believed facts: `python -m benchlib.seed_ours STORE COUNT CORPUS`.

The facts are said in captured turns, and each is then believed by `apply` on the evidence of its turn, a slice of
events a unit, as an extraction does it. Who extracts, what they claim and whether it is believed is decided here.
"""

import asyncio
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from benchlib import corpus
from benchlib.systems import NAMESPACE, identity
from octop_bridge import settings
from octop_bridge.assemble import InProcess, open_bridge, wall_clock
from octop_bridge.domain.decisions import Promote
from octop_bridge.domain.records import QUOTE_CHARS_MAX, Claim, Evidence, Subject
from octop_bridge.ids import IdMaker
from octop_bridge.storage import rows
from octop_bridge.storage.apply import Hand, apply
from octop_bridge.storage.engine import Tx
from octop_bridge.storage.store import open_sqlite

_SESSION_EVENTS = 20
_SLICES_AT_ONCE = 16
_MERGE_AT_ROWS = 500
"""As the desk has it."""

Said = tuple[str, corpus.Fact]
"""An event's id and the fact that it states."""


async def seed(store: Path, facts: Sequence[corpus.Fact]) -> None:
    """Make the store."""
    given = settings.load({}, None, {"extraction": {"kind": "none"}})
    async with open_bridge(given, home=store.parent, db=store, namespace=NAMESPACE) as bridge:
        said = [
            await _say(bridge, f"s{at // _SESSION_EVENTS}", facts[at : at + _SESSION_EVENTS])
            for at in range(0, len(facts), _SESSION_EVENTS)
        ]
    opened = await open_sqlite(store, NAMESPACE, durability="full", clock=wall_clock)
    try:
        new_id = IdMaker()
        for at in range(0, len(said), _SLICES_AT_ONCE):
            slices = said[at : at + _SLICES_AT_ONCE]
            await asyncio.gather(*(opened.write(partial(_believe, said=one, new_id=new_id)) for one in slices))
        await opened.merge_index(at_rows=_MERGE_AT_ROWS)
    finally:
        await opened.close()


async def _say(bridge: InProcess, session: str, facts: Sequence[corpus.Fact]) -> list[Said]:
    messages = [{"role": "user", "content": text, "timestamp": when} for _, text, when in facts]
    result = await bridge.call("memory.capture", {"messages": messages, "identity": identity(session)})
    assert result["stored"] == len(facts), result
    return [(item["event_id"], fact) for item, fact in zip(result["results"], facts, strict=True)]


async def _believe(tx: Tx, said: Sequence[Said], new_id: IdMaker) -> None:
    """One slice: its events are finished, its claims are stored and believed."""
    now = wall_clock()
    hand = Hand(now_ms=now, new_id=new_id, actor={"role": "worker", "surface": "bench", "label": "seed"})
    ids = [event_id for event_id, _ in said]
    token = new_id("ls", now)
    await tx.run("lease_events", token=token, ids=ids)
    assert await tx.run("finish_events", token=token, ids=ids) == len(ids)
    events = {event.event_id: event for event in await rows.events_by_id(tx, ids)}
    for event_id, (entity, text, _) in said:
        event = events[event_id]
        claim = Claim(
            type="Fact",
            assertion=text,
            quote=text[:QUOTE_CHARS_MAX],
            event_ids=(event_id,),
            subject=Subject(entity, "Project"),
        )
        candidate_id = hand.id("cd")
        await tx.run(
            "insert_candidate",
            candidate_id=candidate_id,
            owner=event.owner,
            chat_type=event.chat_type,
            claim=rows.encode(claim),
            actor="bench",
            created_ms=now,
        )
        await tx.run_many("cite", [{"event_id": event_id, "target_id": candidate_id, "hides": 0}])
        candidate = await rows.candidate_by_id(tx, candidate_id)
        evidence = Evidence(
            event_id=event_id, quote=claim.quote, role=event.role, speaker=event.speaker, at_ms=event.at_ms
        )
        decision = Promote(claim=claim, evidence=(evidence,), entity_id=None)
        await apply(tx, decision, owner=event.owner, hand=hand, candidate=candidate)


if __name__ == "__main__":
    began = time.perf_counter()
    file, count, folder = sys.argv[1:]
    asyncio.run(seed(Path(file), corpus.load(Path(folder)).facts(int(count))))
    print(f"seeded {count} facts in {time.perf_counter() - began:.1f} s", file=sys.stderr)
