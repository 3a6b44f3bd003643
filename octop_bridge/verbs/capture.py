"""memory.capture: the evidence of a turn, screened, stored once, acknowledged when it is durable."""

from __future__ import annotations

import hashlib
import re
from typing import Any

import msgspec

from octop_bridge.context import Call, Context, Scope
from octop_bridge.domain import identity as who
from octop_bridge.domain import intake
from octop_bridge.domain.records import SHARED_OWNER, Event
from octop_bridge.domain.tombstones import text_keys
from octop_bridge.protocol import errors
from octop_bridge.protocol import messages as wire
from octop_bridge.storage import evidence, rows, textindex
from octop_bridge.storage.engine import Tx

_KEY_LIFE_MS = 7 * 24 * 3600 * 1000
_SENTENCES_MAX = 50
_SENTENCE = re.compile(r"[^.!?。！？\n]+")


class Draft(msgspec.Struct, frozen=True):
    """A message that passed the screen: what will be stored if it is not known yet."""

    index: int
    event: Event
    fingerprint: str
    metadata: str | None
    reason: str | None
    index_rows: list[textindex.IndexRow]
    state: str


async def capture(call: Call, params: wire.CaptureParams) -> wire.CaptureResult:
    """Store the turn's messages, each with its fate. Returned = committed."""
    context = call.need()
    limit = context.settings.server.messages_max
    if len(params.messages) > limit:
        raise errors.TooLargeError(
            f"{len(params.messages)} messages in one call; at most {limit}", path="params.messages", hint="send fewer"
        )
    scope = call.scope(params.identity)
    results, drafts, redactions = _screen(call, context, scope, params)
    counts = {"skipped": len(results)}
    body = _body_of(params) if params.key is not None else b""
    key = _digest(f"{scope.owner}\x1f{params.key}".encode())
    now = context.clock()

    async def unit(tx: Tx) -> wire.CaptureResult:
        if params.key is not None and (earlier := await _earlier(tx, key, body, now)) is not None:
            return earlier
        fates = [*results, *[await _keep(tx, draft, params) for draft in drafts]]
        await _index(tx, scope.owner, drafts, fates)
        fates.sort(key=lambda fate: fate.index)
        counts["duplicates"] = sum(fate.status == "duplicate" for fate in fates)
        for name, n in counts.items():
            if n:
                await tx.run("count_up", name=name, n=n)
        result = wire.CaptureResult(
            results=fates,
            stored=sum(fate.status == "stored" for fate in fates),
            duplicates=counts["duplicates"],
            skipped=counts["skipped"],
            redactions=redactions,
        )
        if params.key is not None:
            encoded = msgspec.json.encode(result)
            await tx.run("insert_capture_key", key_hash=key, body_hash=body, result=encoded, at_ms=now)
            await tx.run("expire_capture_keys", before_ms=now - _KEY_LIFE_MS)
        return result

    result = await context.store.write(unit)
    if result.stored:
        context.desk.captured()
    return result


def _screen(
    call: Call, context: Context, scope: Scope, params: wire.CaptureParams
) -> tuple[list[wire.CaptureItem], list[Draft], int]:
    """What is refused at the door, what may be stored, and how many secrets were cut out. Pure but for ids."""
    settings = context.settings.capture
    mode = intake.policy_of(params.session_kind, settings.session_policies)
    policy = intake.CapturePolicy(
        roles=frozenset(settings.roles),
        max_text_bytes=settings.max_text_bytes,
        session=mode,
        patterns=settings.compiled(),
    )
    skipped: list[wire.CaptureItem] = []
    drafts: list[Draft] = []
    redactions, before = 0, ""
    maker = _Maker(call, context, scope, params, "pending" if mode == "full" else "raw")
    for index, message in enumerate(params.messages):
        kept = intake.screen(maker.incoming(message), policy)
        if isinstance(kept, intake.Skipped):
            skipped.append(_skipped(index, kept.reason))
            continue
        redactions += len(kept.redactions)
        draft = maker.draft(index, message, kept, before)
        before = kept.text
        drafts.append(draft)
    return skipped, drafts, redactions


class _Maker:
    """Makes drafts of one call's messages: what they share is read once."""

    def __init__(self, call: Call, context: Context, scope: Scope, params: wire.CaptureParams, state: str) -> None:
        self._context = context
        self._scope = scope
        self._params = params
        self._identity = call.identity(params.identity)
        self._local = call.session.local
        self._zone = self._identity.timezone if self._identity else None
        self._now = context.clock()
        self._session = scope.session_id or call.session.session_id
        self._state = state

    def incoming(self, message: wire.MessageParams) -> intake.Incoming:
        """A message as the screen takes it."""
        return intake.Incoming(
            role=message.role,
            content=message.content,
            id=message.id,
            timestamp=message.timestamp,
            timestamp_stable=message.timestamp_stable,
            name=message.name,
            tool_call_id=message.tool_call_id,
            kind=message.kind,
            metadata=message.metadata,
        )

    def draft(self, index: int, message: wire.MessageParams, kept: intake.Kept, before: str) -> Draft:
        """The event that a kept message becomes, with its fingerprint and index rows."""
        scope = self._scope
        read = intake.read_timestamp(message.timestamp, self._now, scope.zone)
        is_user = message.role == "user"
        name = message.name or (self._identity.name if self._identity and is_user else None)
        speaker = who.speaker_of(self._identity, message.role, message.name, local=self._local)
        event = Event(
            event_id=self._context.new_id("ev", self._now),
            owner=scope.owner,
            session_id=self._session,
            role=message.role,
            speaker=speaker,
            speaker_name=name,
            kind=message.kind,
            content=kept.text,
            at_ms=read.at_ms,
            recorded_ms=self._now,
            zone=intake.zone_name(self._zone, read.zone, scope.zone),
            chat_type="group" if scope.chat_type == "group" else "direct",
            host_id=message.id,
        )
        mark = intake.fingerprint(
            owner=scope.owner,
            session=self._session,
            role=message.role,
            text=kept.text,
            host_id=message.id,
            before=before,
            timestamp=str(message.timestamp) if message.timestamp_stable and message.timestamp is not None else None,
        )
        metadata: dict[str, Any] = dict(kept.metadata)
        if read.original is not None:
            metadata["timestamp"] = read.original
        entries = evidence.index_rows(event.event_id, event.content, event.speaker_name, event.chat_type)
        return Draft(
            index,
            event,
            mark.hex(),
            rows.json_text(metadata) if metadata else None,
            read.reason,
            entries,
            self._state,
        )


def sentence_keys(text: str) -> list[str]:
    """Tombstone keys of the sentences of a text, so that a rejected one is no raw hit before it is extracted."""
    sentences = _SENTENCE.findall(text)[:_SENTENCES_MAX]
    return [key for sentence in sentences if sentence.strip() for key in text_keys(sentence.strip())]


async def _keep(tx: Tx, draft: Draft, params: wire.CaptureParams) -> wire.CaptureItem:
    """Insert the event, or say which one it repeats."""
    inserted = await tx.run("insert_event", **_row(draft, params))
    if inserted:
        return wire.CaptureItem(index=draft.index, status="stored", event_id=draft.event.event_id, reason=draft.reason)
    known = await tx.one("event_by_fingerprint", fingerprint=draft.fingerprint)
    assert known is not None
    return wire.CaptureItem(index=draft.index, status="duplicate", event_id=known[0], reason=None)


def _row(draft: Draft, params: wire.CaptureParams) -> dict[str, Any]:
    return evidence.event_params(
        draft.event,
        host=params.host,
        outcome=params.outcome,
        metadata=draft.metadata,
        fingerprint=draft.fingerprint,
        state=draft.state,
    )


async def _index(tx: Tx, owner: str, drafts: list[Draft], fates: list[wire.CaptureItem]) -> None:
    """Make what was stored searchable; sentences that repeat a rejected value stay out of raw search from the start."""
    stored_ids = {fate.event_id for fate in fates if fate.status == "stored"}
    stored = [draft for draft in drafts if draft.event.event_id in stored_ids]
    if not stored:
        return
    # What a session's policy keeps out of extraction is found only where raw events are asked for.
    layer: textindex.IndexLayer = "raw" if stored[0].state == "pending" else "raw_cited"
    await textindex.add(tx, owner, layer, [row for draft in stored for row in draft.index_rows])
    owners = [owner, SHARED_OWNER]
    if await tx.one("any_tombstone", owners=owners) is None:
        return
    for draft in stored:
        keys = sentence_keys(draft.event.content)
        hits = await tx.all("tombstones_hit", owners=owners, keys=keys, event_ms=draft.event.at_ms)
        for hit in hits:
            await evidence.hide_events(tx, [draft.event.event_id], hit[0])


async def _earlier(tx: Tx, key: bytes, body: bytes, now_ms: int) -> wire.CaptureResult | None:
    """The stored result of an idempotency key, or None where it is new. Another body under it is an error."""
    row = await tx.one("capture_key", key_hash=key, after_ms=now_ms - _KEY_LIFE_MS)
    if row is None:
        return None
    if row[0] != body:
        raise errors.InvalidParamsError(
            "params.key: was used for another capture within 7 days", path="params.key", hint="use a new key"
        )
    return msgspec.json.decode(row[1], type=wire.CaptureResult)


def _body_of(params: wire.CaptureParams) -> bytes:
    return _digest(msgspec.json.encode(msgspec.structs.replace(params, key=None)))


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


def _skipped(index: int, reason: str) -> wire.CaptureItem:
    return wire.CaptureItem(index=index, status="skipped", event_id=None, reason=reason)
