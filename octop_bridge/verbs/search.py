"""memory.search: what fits a query, best first."""

import time
from functools import partial

from octop_bridge.context import Call
from octop_bridge.domain.query import read_query
from octop_bridge.protocol import errors
from octop_bridge.protocol import messages as wire
from octop_bridge.work.retrieval import Wanted, find
from octop_bridge.work.times import instant


async def search(call: Call, params: wire.SearchParams) -> wire.SearchResult:
    """Hits of the layers asked for; everything that a person may type is a query."""
    started = time.perf_counter()
    context = call.need()
    scope = call.scope(params.identity)
    _check_model(call, params)
    layers = params.layers
    wanted = Wanted(
        limit=params.limit,
        atoms=layers is None or "atom" in layers,
        raw=layers is None or "raw" in layers,
        raw_cited=layers is not None and "raw" in layers,
        types=frozenset(params.types) if params.types is not None else None,
        subject=params.subject,
        as_of_ms=instant(params.as_of, "as_of", scope.zone),
        known_at_ms=instant(params.known_at, "known_at", scope.zone),
        include_retired=params.include_retired,
        min_score=context.settings.recall.min_score if params.min_score is None else params.min_score,
    )
    instant(params.now, "now", scope.zone)
    query = read_query(params.query)
    found = await context.store.read(
        partial(find, query=query, scope=scope, wanted=wanted, deadline=None),
        timeout_s=context.settings.recall.search_timeout_s,
    )
    return wire.SearchResult(
        hits=found.hits,
        time_window=None,
        took_ms=round((time.perf_counter() - started) * 1000, 3),
        arms=found.arms,
        degraded=call.host.degraded(),
    )


def _check_model(call: Call, params: wire.SearchParams) -> None:
    """A model reads what is believed now, and no further."""
    if call.session.role != "model":
        return
    for field, used in (
        ("include_retired", params.include_retired),
        ("known_at", params.known_at is not None),
        ("layers", params.layers is not None and "raw" in params.layers),
    ):
        if used:
            raise errors.ForbiddenError(f"params.{field} is not for the role model", path=f"params.{field}")
