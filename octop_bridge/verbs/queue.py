"""memory.queue: what waits for a person, with all that is needed to decide."""

from octop_bridge.context import Call, Scope
from octop_bridge.domain.records import SHARED_OWNER, Candidate
from octop_bridge.domain.tokens import index_tokens
from octop_bridge.protocol import errors
from octop_bridge.protocol import messages as wire
from octop_bridge.storage import rows
from octop_bridge.storage.engine import Tx
from octop_bridge.work.views import candidate_view, evidence_of, finding_view

_SIMILAR_MIN = 0.5
"""Share of common words from which a rejected text is shown beside a claim."""
_SIMILAR_MAX = 5


async def queue(call: Call, params: wire.QueueParams) -> wire.QueueResult:
    """Candidates of a status (default: parked), oldest first, a page at a time."""
    context = call.need()
    scope = call.scope(None)
    status = params.status or "parked"
    after = params.cursor or ""
    if after and not after.startswith("cd_"):
        raise errors.InvalidParamsError("params.cursor: not one of ours", path="params.cursor", hint="start without it")
    now = context.clock()

    async def unit(tx: Tx) -> wire.QueueResult:
        found = await tx.all(
            "candidates_by_status",
            status=status,
            after=after,
            every_owner=int(scope.owners is None),
            owners=list(scope.owners or ()),
            limit=params.limit + 1,
        )
        page = await rows.candidates_from(tx, found[: params.limit])
        return wire.QueueResult(
            items=[await _item(tx, candidate, scope, now) for candidate in page],
            counts={row[0]: row[1] for row in await tx.all("candidate_counts")},
            next_cursor=page[-1].candidate_id if len(found) > params.limit else None,
        )

    return await context.store.read(unit)


async def _item(tx: Tx, candidate: Candidate, scope: Scope, now_ms: int) -> wire.QueueItem:
    claim = candidate.claim
    return wire.QueueItem(
        candidate=candidate_view(candidate),
        findings=[finding_view(finding) for finding in candidate.findings],
        evidence=[
            view
            for view in await evidence_of(tx, claim.event_ids, claim.quote)
            if view and scope.may_read(candidate.owner)
        ],
        similar_rejected=await _similar(tx, candidate),
        recommended=claim.recommended,
        age_ms=max(0, now_ms - candidate.created_ms),
    )


async def _similar(tx: Tx, candidate: Candidate) -> list[str]:
    """Rejected texts of the owner that share most of their words with the claim."""
    mine = set(index_tokens(candidate.claim.assertion))
    found: list[str] = []
    for (text,) in await tx.all("rejected_texts", owners=[candidate.owner, SHARED_OWNER]):
        theirs = set(index_tokens(text))
        if mine and theirs and len(mine & theirs) / len(mine | theirs) >= _SIMILAR_MIN:
            found.append(text)
    return found[:_SIMILAR_MAX]
