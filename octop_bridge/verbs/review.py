"""memory.review: a person's verdict on a parked claim. One function, whatever the surface."""

from octop_bridge.context import Call, Scope
from octop_bridge.domain import review as verdicts
from octop_bridge.domain.decisions import Ending, Retire
from octop_bridge.domain.promotion import unsupported
from octop_bridge.domain.records import DISPUTING, SHARED_OWNER, Candidate, Evidence
from octop_bridge.domain.tombstones import keys_of
from octop_bridge.protocol import errors
from octop_bridge.protocol import messages as wire
from octop_bridge.storage import rows
from octop_bridge.storage.apply import Applied, Hand, apply, lift
from octop_bridge.storage.engine import Tx
from octop_bridge.work.gather import gather, speaker_of
from octop_bridge.work.person import claims_beside, state
from octop_bridge.work.views import atom_view, candidate_view, tombstone_view


async def review(call: Call, params: wire.ReviewParams) -> wire.ReviewResult:
    """What the verdict did. A second verdict on one claim is a ConflictError."""
    context = call.need()
    scope = call.scope(None)
    hand = Hand(
        now_ms=context.clock(),
        new_id=context.new_id,
        actor=call.session.actor(params.reviewer),
        reason=params.reason,
    )

    async def unit(tx: Tx) -> wire.ReviewResult:
        candidate = await rows.candidate_by_id(tx, params.candidate_id)
        if candidate is None or not scope.may_read(candidate.owner):
            raise errors.NotFoundError(
                "no such candidate here", path="params.candidate_id", hint="memory.queue lists them"
            )
        _check_open(candidate, params.expect_version)
        if params.verdict == "accept":
            applied = await _accept(tx, candidate, scope, hand)
        else:
            others = await claims_beside(tx, candidate.claim.event_ids, but=candidate.candidate_id)
            decision = verdicts.reject(candidate.claim, others)
            applied = await apply(tx, decision, owner=candidate.owner, hand=hand, candidate=candidate)
        after = await rows.candidate_by_id(tx, candidate.candidate_id)
        assert after is not None
        return wire.ReviewResult(
            candidate=candidate_view(after),
            atoms=[atom_view(atom) for atom in applied.atoms],
            superseded=[atom_view(atom) for atom in applied.superseded],
            tombstones=[tombstone_view(tombstone) for tombstone in applied.tombstones],
            lifted=[tombstone_view(tombstone) for tombstone in applied.lifted],
        )

    return await context.store.write(unit)


def _check_open(candidate: Candidate, expected: int | None) -> None:
    if candidate.status != "parked":
        raise errors.ConflictError(
            f"the candidate is {candidate.status} already", path="params.candidate_id", hint="read the queue again"
        )
    if expected is not None and expected != candidate.version:
        raise errors.ConflictError(
            f"the candidate is at version {candidate.version}", path="params.expect_version", hint="read it again"
        )


async def _accept(tx: Tx, candidate: Candidate, scope: Scope, hand: Hand) -> Applied:
    claim, owner = candidate.claim, candidate.owner
    if claim.type == "Retraction":
        return await _accept_retraction(tx, candidate, hand)
    lifted = await lift(tx, [owner, SHARED_OWNER], keys_of(claim), hand)
    gathered = await gather(tx, claim, owner)
    statement: tuple[Evidence, ...] = ()
    if unsupported(gathered):
        # Nobody but this person said it: their word is the evidence, so that no atom stands without.
        statement = (await state(tx, owner, scope, claim.assertion, hand),)
    named = [finding.atom_id for finding in candidate.findings if finding.atom_id and finding.kind in DISPUTING]
    rivals = await rows.atoms_by_id(tx, named)
    decision = verdicts.accept(gathered, tuple(rivals.values()), statement)
    speaker = speaker_of(claim, gathered.events)
    applied = await apply(tx, decision, owner=owner, hand=hand, candidate=candidate, speaker=speaker)
    applied.lifted += lifted
    return applied


async def _accept_retraction(tx: Tx, candidate: Candidate, hand: Hand) -> Applied:
    """Take back what the claim names. A Retraction never becomes an atom."""
    named = candidate.claim.retracts
    found = await rows.atoms_by_id(tx, [named] if named else [])
    target = found.get(named or "")
    if target is None or target.owner != candidate.owner:
        raise errors.RefusedError(
            "it does not say which atom is taken back",
            reason="retraction_without_target",
            hint="retire the atom with memory.correct, then reject this",
        )
    retirement = Retire(ending=Ending(atom=target, status="retired", cause="retract"))
    return await apply(tx, retirement, owner=candidate.owner, hand=hand, candidate=candidate)
