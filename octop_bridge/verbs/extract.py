"""memory.extract: claims of what is pending, now instead of on schedule."""

from octop_bridge.context import Call
from octop_bridge.protocol import messages as wire
from octop_bridge.storage.engine import Tx
from octop_bridge.work.extraction import Report
from octop_bridge.work.times import instant


async def extract(call: Call, params: wire.ExtractParams) -> wire.ExtractResult:
    """What came of it. A failing extractor is a result with `failure` set, never an error: nothing was lost."""
    context = call.need()
    scope = call.scope(params.identity)
    narrowed = params.identity is not None or call.session.identity is not None
    owner = scope.owner if narrowed else None
    session_id = scope.session_id if narrowed else None
    now = instant(params.now, "now", scope.zone)
    if params.wait:
        report = await context.desk.extract(owner=owner, session_id=session_id, limit=params.limit, now_ms=now)
    else:
        context.desk.hurry()
        report = Report()

    async def pending(tx: Tx) -> int:
        row = await tx.one("pending_count", owner=owner, session_id=session_id)
        return int(row[0]) if row else 0

    return _result(report, context.desk.mode, await context.store.read(pending))


_STATUSES = ("promoted", "merged", "parked", "rejected")


def _result(report: Report, mode: str, pending: int) -> wire.ExtractResult:
    counts = {status: sum(item.status == status for item in report.items) for status in _STATUSES}
    return wire.ExtractResult(
        events=report.events,
        candidates=len(report.items),
        promoted=counts["promoted"],
        merged=counts["merged"],
        parked=counts["parked"],
        rejected=counts["rejected"],
        items=[
            wire.ExtractItem(
                candidate_id=item.candidate_id, status=item.status, reason=item.reason, atom_id=item.atom_id
            )
            for item in report.items
        ],
        atoms=list(dict.fromkeys(item.atom_id for item in report.items if item.atom_id)),
        mode="model" if mode == "model" else "rules" if mode == "rules" else "none",
        failure=_failure(report),
        pending=pending,
        usage=wire.Usage(
            calls=report.calls,
            prompt_tokens=report.prompt_tokens,
            completion_tokens=report.completion_tokens,
        ),
    )


def _failure(report: Report) -> wire.Failure | None:
    failed = report.failure
    if failed is None:
        return None
    return wire.Failure(kind=failed.kind, message=failed.message, retryable=failed.retryable)
