"""memory.store: a person's own statement, believed at once."""

from octop_bridge.context import Call
from octop_bridge.domain import identity as who
from octop_bridge.domain.records import QUOTE_CHARS_MAX, SHARED_OWNER, SPEAKER, Claim, Subject
from octop_bridge.domain.review import accept
from octop_bridge.domain.tombstones import keys_of
from octop_bridge.protocol import errors
from octop_bridge.protocol import messages as wire
from octop_bridge.storage.apply import Hand, apply, lift
from octop_bridge.storage.engine import Tx
from octop_bridge.work.gather import gather
from octop_bridge.work.person import redacted, state
from octop_bridge.work.times import instant


async def store(call: Call, params: wire.StoreParams) -> wire.StoreResult:
    """The atom and the event that holds the statement. A rejected value that is stated again is lifted."""
    context = call.need()
    scope = call.scope(params.identity)
    text = redacted(context, params.text)
    if not text:
        raise errors.InvalidParamsError("params.text: empty", path="params.text")
    owner = SHARED_OWNER if params.shared else scope.owner
    valid_from = instant(params.valid_from, "valid_from", scope.zone)
    valid_to = instant(params.valid_to, "valid_to", scope.zone)
    if valid_from is not None and valid_to is not None and valid_to <= valid_from:
        raise errors.InvalidParamsError("params.valid_to: not after valid_from", path="params.valid_to")
    speaker = who.speaker_of(call.identity(params.identity), "user", None, local=True)
    hand = Hand(now_ms=context.clock(), new_id=context.new_id, actor=call.session.actor())

    async def unit(tx: Tx) -> wire.StoreResult:
        statement = await state(tx, owner, scope, text, hand)
        subject = Subject(params.subject, "Thing") if params.subject else Subject(SPEAKER, "Person")
        claim = Claim(
            type=params.type,
            assertion=text,
            quote=text[:QUOTE_CHARS_MAX],
            event_ids=(statement.event_id,),
            subject=subject,
            valid_from_ms=valid_from,
            valid_to_ms=valid_to,
            confidence="high",
        )
        lifted = await lift(tx, [owner, SHARED_OWNER], keys_of(claim), hand)
        gathered = await gather(tx, claim, owner, speaker=speaker)
        applied = await apply(tx, accept(gathered, (), ()), owner=owner, hand=hand, speaker=speaker)
        return wire.StoreResult(
            atom_id=applied.atoms[0].atom_id,
            event_id=statement.event_id,
            superseded=[atom.atom_id for atom in applied.superseded],
            lifted=[tombstone.tombstone_id for tombstone in lifted],
        )

    return await context.store.write(unit)
