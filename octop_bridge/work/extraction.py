"""From evidence to belief: one slice leased, asked with no transaction open, stored, then decided claim by claim."""

import asyncio
from collections.abc import Callable

import msgspec

from octop_bridge.domain.decisions import Park
from octop_bridge.domain.promotion import decide
from octop_bridge.domain.records import Claim, Event, Finding
from octop_bridge.domain.small_talk import is_small_talk
from octop_bridge.models import Answer, Extractor, ExtractorError
from octop_bridge.storage import rows
from octop_bridge.storage.apply import Applied, Hand, apply, count_refusal
from octop_bridge.storage.engine import Tx
from octop_bridge.storage.store import Store
from octop_bridge.work.gather import gather, newest_ms, speaker_of, tombstones_of


class Item(msgspec.Struct, kw_only=True):
    """The fate of one claim."""

    candidate_id: str | None
    status: str
    reason: str | None
    atom_id: str | None


class Report(msgspec.Struct, kw_only=True):
    """What came of an extraction: every claim's fate, and why it stopped, if it did."""

    events: int = 0
    items: list[Item] = []
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    failure: ExtractorError | None = None


class Slice(msgspec.Struct, frozen=True, kw_only=True):
    """Events of one session and one owner, leased."""

    owner: str
    events: tuple[Event, ...]
    token: str

    @property
    def ids(self) -> list[str]:
        """Ids of the events, oldest first."""
        return [event.event_id for event in self.events]


class Extraction:
    """The path of a slice. It never holds a transaction while it waits for an extractor."""

    def __init__(
        self,
        store: Store,
        extractor: Extractor,
        *,
        new_id: Callable[[str, int], str],
        on_error: Callable[[str, BaseException], str],
        slice_events_max: int,
        slice_chars_max: int,
    ) -> None:
        self._store = store
        self._extractor = extractor
        self._new_id = new_id
        self._on_error = on_error
        self._slice_events_max = slice_events_max
        self._slice_chars_max = slice_chars_max

    async def run(self, report: Report, now_ms: int, owner: str | None, session_id: str | None, limit: int) -> bool:
        """Read the oldest pending slice into the report; False where nothing is left. Raises ExtractorError."""
        taken = await self._lease(now_ms, owner, session_id, limit)
        if taken is None:
            return False
        answer = await self._ask(taken)
        report.calls += answer.calls
        report.prompt_tokens += answer.prompt_tokens
        report.completion_tokens += answer.completion_tokens
        stored = await self._store.write(lambda tx: self._keep(tx, taken, answer, report, now_ms))
        if stored is None:
            return True
        report.events += len(taken.events)
        report.items += await self.decide_all(stored, now_ms)
        return True

    async def decide_all(self, candidate_ids: list[str], now_ms: int) -> list[Item]:
        """Decide stored claims in their order. They share commits: the writer takes what waits as one group."""
        return list(await asyncio.gather(*(self._decide(one, now_ms) for one in candidate_ids)))

    async def _lease(self, now_ms: int, owner: str | None, session_id: str | None, limit: int) -> Slice | None:
        token = self._new_id("ls", now_ms)

        async def unit(tx: Tx) -> Slice | None:
            oldest = await tx.one("oldest_pending", owner=owner, session_id=session_id)
            if oldest is None:
                return None
            found = await tx.all(
                "pending_of_session",
                owner=oldest[0],
                session_id=oldest[1],
                limit=min(limit, self._slice_events_max),
            )
            events = self._fitting([rows.event_of(row) for row in found])
            taken = Slice(owner=oldest[0], events=events, token=token)
            await tx.run("lease_events", token=token, ids=taken.ids)
            return taken

        return await self._store.write(unit)

    def _fitting(self, events: list[Event]) -> tuple[Event, ...]:
        """As many of the oldest as fit the slice; at least one."""
        chars = 0
        fitting: list[Event] = []
        for event in events:
            chars += len(event.content)
            if fitting and chars > self._slice_chars_max:
                break
            fitting.append(event)
        return tuple(fitting)

    async def _ask(self, taken: Slice) -> Answer:
        if all(is_small_talk(event.content) for event in taken.events):
            return Answer(claims=())
        return await self._extractor.claims(taken.events)

    async def _keep(self, tx: Tx, taken: Slice, answer: Answer, report: Report, now_ms: int) -> list[str] | None:
        """Store the claims and finish the events, or neither. None = the lease was lost: another run has them."""
        if await tx.run("finish_events", ids=taken.ids, token=taken.token) != len(taken.events):
            await tx.run("release_events", token=taken.token)
            return None
        hand = self._hand(now_ms)
        if answer.calls:
            for name, n in (
                ("model.calls", answer.calls),
                ("model.prompt_tokens", answer.prompt_tokens),
                ("model.completion_tokens", answer.completion_tokens),
            ):
                await tx.run("count_up", name=name, n=n)
        stored: list[str] = []
        refused: list[Item] = []
        for claim in answer.claims:
            tombstones = await tombstones_of(tx, claim, taken.owner, _said_ms(claim, taken))
            if tombstones:
                for tombstone_id in tombstones:
                    await count_refusal(tx, tombstone_id, claim, hand)
                refused.append(Item(candidate_id=None, status="rejected", reason="rejected before", atom_id=None))
                continue
            candidate_id = hand.id("cd")
            await tx.run(
                "insert_candidate",
                candidate_id=candidate_id,
                owner=taken.owner,
                chat_type=taken.events[0].chat_type,
                claim=rows.encode(claim),
                actor=self._extractor.name,
                created_ms=now_ms,
            )
            await tx.run_many(
                "cite", [{"event_id": one, "target_id": candidate_id, "hides": 0} for one in claim.event_ids]
            )
            stored.append(candidate_id)
        report.items += refused
        return stored

    async def _decide(self, candidate_id: str, now_ms: int) -> Item:
        try:
            return await self._store.write(lambda tx: self._promote(tx, candidate_id, now_ms))
        except Exception as error:  # noqa: BLE001 - one broken claim waits for a person, the others go on
            incident = self._on_error("promotion", error)
            detail = f"the checks broke on it (incident {incident})"
            return await self._store.write(lambda tx: self._set_aside(tx, candidate_id, detail, now_ms))

    async def _promote(self, tx: Tx, candidate_id: str, now_ms: int) -> Item:
        candidate = await rows.candidate_by_id(tx, candidate_id)
        assert candidate is not None
        if candidate.status != "pending":
            return Item(
                candidate_id=candidate_id,
                status=candidate.status,
                reason=candidate.reason,
                atom_id=candidate.atom_id,
            )
        gathered = await gather(tx, candidate.claim, candidate.owner)
        applied = await apply(
            tx,
            decide(gathered),
            owner=candidate.owner,
            hand=self._hand(now_ms),
            candidate=candidate,
            speaker=speaker_of(candidate.claim, gathered.events),
        )
        return _item(candidate_id, applied)

    async def _set_aside(self, tx: Tx, candidate_id: str, detail: str, now_ms: int) -> Item:
        candidate = await rows.candidate_by_id(tx, candidate_id)
        assert candidate is not None
        parked = Park(findings=(Finding(kind="failed", detail=detail),))
        applied = await apply(tx, parked, owner=candidate.owner, hand=self._hand(now_ms), candidate=candidate)
        return _item(candidate_id, applied)

    def _hand(self, now_ms: int) -> Hand:
        actor = {"role": self._extractor.mode, "surface": "extraction", "label": self._extractor.name}
        return Hand(now_ms=now_ms, new_id=self._new_id, actor=actor)


def _item(candidate_id: str, applied: Applied) -> Item:
    atom_id = applied.atoms[0].atom_id if applied.atoms else None
    return Item(candidate_id=candidate_id, status=applied.status, reason=applied.reason, atom_id=atom_id)


def _said_ms(claim: Claim, taken: Slice) -> int:
    cited = set(claim.event_ids)
    return newest_ms(tuple(event for event in taken.events if event.event_id in cited))
