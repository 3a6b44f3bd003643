"""memory.correct: a person changes what is believed."""

from octop_bridge.context import Call, Scope
from octop_bridge.domain import review as verdicts
from octop_bridge.domain.records import SHARED_OWNER, Atom
from octop_bridge.domain.text import signature
from octop_bridge.domain.tombstones import keys_of
from octop_bridge.protocol import errors
from octop_bridge.protocol import messages as wire
from octop_bridge.storage import rows
from octop_bridge.storage.apply import Applied, Hand, apply, lift
from octop_bridge.storage.engine import Tx
from octop_bridge.work.person import claims_beside, redacted, state
from octop_bridge.work.times import instant
from octop_bridge.work.views import atom_view, tombstone_view


async def correct(call: Call, params: wire.CorrectParams) -> wire.CorrectResult:
    """The atom as it is now, and what took its place."""
    context = call.need()
    scope = call.scope(None)
    hand = Hand(
        now_ms=context.clock(),
        new_id=context.new_id,
        actor=call.session.actor(params.reviewer),
        reason=params.reason,
    )
    change = params.change
    text = redacted(context, change.text) if isinstance(change, wire.ReplaceChange) else ""
    if isinstance(change, wire.ReplaceChange) and not text:
        raise errors.InvalidParamsError("params.change.text: empty", path="params.change.text")

    async def unit(tx: Tx) -> wire.CorrectResult:
        atom = await _atom(tx, params.atom_id, scope)
        if isinstance(change, wire.RetireChange):
            others = await claims_beside(tx, [one.event_id for one in atom.evidence])
            beside = tuple(
                claim for claim in others if signature(claim.assertion, claim.subject.name) != atom.signature
            )
            decision = verdicts.retire(atom, tombstone=change.tombstone, others=beside)
            applied = await apply(tx, decision, owner=atom.owner, hand=hand)
        else:
            valid_from = instant(change.valid_from, "change.valid_from", scope.zone)
            applied = await _replace(tx, atom, text, valid_from, scope, hand)
        ended = applied.superseded[0]
        return wire.CorrectResult(
            atom=atom_view(ended),
            successor=atom_view(applied.atoms[0]) if applied.atoms else None,
            tombstones=[tombstone_view(one) for one in applied.tombstones],
            lifted=[tombstone_view(one) for one in applied.lifted],
        )

    return await context.store.write(unit)


async def _atom(tx: Tx, atom_id: str, scope: Scope) -> Atom:
    row = await tx.one("newest_atom", atom_id=atom_id)
    atom = rows.atom_of(row) if row else None
    if atom is None or not scope.may_read(atom.owner):
        raise errors.NotFoundError("no such atom here", path="params.atom_id", hint="take the id that a hit gave")
    if atom.status == "retired":
        raise errors.ConflictError("the atom is retired already", path="params.atom_id", hint="read it again")
    return atom


async def _replace(tx: Tx, atom: Atom, text: str, valid_from_ms: int | None, scope: Scope, hand: Hand) -> Applied:
    if signature(text, atom.subject) == atom.signature:
        raise errors.RefusedError(
            "the new text says the same", reason="unchanged", path="params.change.text", hint="give the corrected text"
        )
    statement = await state(tx, atom.owner, scope, text, hand)
    decision = verdicts.replace(atom, text, valid_from_ms, (statement,))
    assert decision.replacement is not None
    lifted = await lift(tx, [atom.owner, SHARED_OWNER], keys_of(decision.replacement.claim), hand)
    applied = await apply(tx, decision, owner=atom.owner, hand=hand)
    applied.lifted += lifted
    return applied
