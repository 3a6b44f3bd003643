"""memory.recall: the few right things for a prompt, within a deadline, fenced as data."""

import time
from collections.abc import Callable

from octop_bridge.context import Call, Scope
from octop_bridge.domain.query import Query, read_query
from octop_bridge.domain.records import Atom
from octop_bridge.domain.rendering import Line, render_prompt, render_system
from octop_bridge.protocol import messages as wire
from octop_bridge.storage import rows
from octop_bridge.storage.engine import StorageError, Tx
from octop_bridge.work.retrieval import Found, Wanted, find
from octop_bridge.work.times import instant

_HITS_MAX = 40
"""Candidates for a block; the budget decides how many fit."""
_RESERVE_MS = 40
"""Kept back of the deadline for rendering and the way home."""


async def recall(call: Call, params: wire.RecallParams) -> wire.RecallResult:
    """The block for this query, with what was found when the deadline came. Trouble is said in `degraded`."""
    started = time.perf_counter()
    context = call.need()
    scope = call.scope(params.identity)
    instant(params.now, "now", scope.zone)
    ends = started + max(1, params.deadline_ms - _RESERVE_MS) / 1000
    query = read_query(params.query)
    degraded = list(call.host.degraded())
    found = Found(hits=[], arms={}, complete=True)
    standing: list[Atom] = []
    try:
        found, standing = await context.store.read(
            lambda tx: _read(tx, query, scope, context.settings.recall.min_score, lambda: time.perf_counter() >= ends),
            timeout_s=max(0.001, ends - time.perf_counter()),
        )
    except StorageError as error:
        degraded.append(wire.DegradedView(what="recall", since_ms=context.clock(), hint=error.hint))
    if not found.complete:
        hint = "the deadline came before every word was looked up"
        degraded.append(wire.DegradedView(what="recall", since_ms=context.clock(), hint=hint))
    system = render_system([atom.text for atom in standing], params.budget_tokens // 2)
    lines = [_line(hit) for hit in found.hits]
    prompt = render_prompt(lines, query.terms, scope.zone, params.budget_tokens - system.tokens)
    return wire.RecallResult(
        system=system.text,
        prompt=prompt.text,
        items=[found.hits[number] for number in prompt.kept],
        dropped=len(found.hits) - len(prompt.kept),
        tokens=system.tokens + prompt.tokens,
        took_ms=round((time.perf_counter() - started) * 1000, 3),
        degraded=degraded,
        time_window=None,
    )


async def _read(
    tx: Tx, query: Query, scope: Scope, min_score: float, deadline: Callable[[], bool]
) -> tuple[Found, list[Atom]]:
    """Atoms; raw only where there is no atom, and never from the running session, which the prompt holds already."""
    owners = list(scope.owners) if scope.owners is not None else [scope.owner]
    standing = [rows.atom_of(row) for row in await tx.all("standing_instructions", owners=owners)]
    wanted = Wanted(limit=_HITS_MAX, raw=False, min_score=min_score)
    found = await find(tx, query, scope, wanted, deadline)
    if not found.hits and found.complete:
        wanted = Wanted(limit=_HITS_MAX, atoms=False, min_score=min_score, not_session=scope.session_id)
        found = await find(tx, query, scope, wanted, deadline)
    in_system = {atom.atom_id for atom in standing}
    found.hits = [hit for hit in found.hits if hit.id not in in_system]
    return found, standing


def _line(hit: wire.Hit) -> Line:
    return Line(
        text=f"{hit.subject}: {hit.text}" if hit.layer == "raw" and hit.subject else hit.text,
        status=hit.status,
        at_ms=hit.event_ms,
        path=hit.path,
        valid_to_ms=hit.valid_to_ms,
        other_sides=tuple((side.text, side.when_ms) for side in hit.disputed_by),
    )
