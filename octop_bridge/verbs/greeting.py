"""bridge.hello and bridge.status: what answers always, also while a store is opening or cannot be opened.

Imported before anything heavy: nothing of the store's may be imported at the top of this module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from octop_bridge import __version__
from octop_bridge.context import Call, Context, Session
from octop_bridge.protocol import errors
from octop_bridge.protocol import messages as wire

if TYPE_CHECKING:
    from octop_bridge.storage.engine import Row, Tx


async def hello(call: Call, params: wire.HelloParams) -> wire.HelloResult:
    """What this bridge is; it binds the connection's namespace, role and identity, once."""
    session, host = call.session, call.host
    if params.protocol != wire.PROTOCOL_VERSION:
        raise errors.VersionMismatchError(
            f"protocol {params.protocol} is not served",
            path="params.protocol",
            hint=f"this bridge speaks protocol {wire.PROTOCOL_VERSION}",
        )
    if session.greeted:
        raise errors.InvalidRequestError("a connection says hello once", hint="open another connection")
    _bind(call, session, params)
    return wire.HelloResult(
        protocol=wire.PROTOCOL_VERSION,
        server=wire.Server(name="octop-bridge", version=__version__),
        namespace=session.namespace,
        role=session.role,
        backend=host.backend,
        methods=host.methods(session.role),
        features={"model": host.settings.extraction.kind, "vectors": False, "transport": session.surface},
        limits=dict(host.limits),
        degraded=host.degraded(),
    )


def _bind(call: Call, session: Session, params: wire.HelloParams) -> None:
    if params.namespace is not None and params.namespace != session.namespace:
        if session.namespace_fixed:
            raise errors.InvalidParamsError(
                f"params.namespace: this process serves {session.namespace!r}", path="params.namespace"
            )
        if session.used:
            raise errors.InvalidRequestError("hello comes before any call that it changes the namespace of")
        session.namespace = params.namespace
    if params.role is not None and params.role != session.role:
        if session.role_fixed:
            raise errors.InvalidParamsError(f"params.role: this connection is {session.role!r}", path="params.role")
        if params.role == "person" and not (params.token and call.host.check_token(params.token)):
            raise errors.ForbiddenError(
                "the role person needs the operator's token", path="params.token", hint="see README, Roles"
            )
        session.role = params.role
    if params.identity is not None:
        from octop_bridge.domain.identity import identity_of  # noqa: PLC0415 - only where an identity is bound

        session.identity = identity_of(params.identity)
    session.local = session.local or params.local
    session.client = f"{params.client.name}/{params.client.version}"[:200]
    session.greeted = True


async def status(call: Call, params: wire.StatusParams) -> wire.StatusResult | wire.ModelStatusResult:
    """Health and counters. With `settle_ms` it waits for what is pending; it never waits for a store to open."""
    host, context = call.host, call.context
    settled = False
    if context is not None:
        settled = await context.desk.settle((params.settle_ms or 0) / 1000)
    degraded = [*host.degraded(), *(_extraction_trouble(context) if context else [])]
    if call.session.role == "model":
        return wire.ModelStatusResult(settled=settled, degraded=degraded)
    counts = await _counts(context) if context is not None else _Counts()
    now = host.clock()
    return wire.StatusResult(
        settled=settled,
        events=counts.events(),
        candidates=counts.candidates,
        atoms=counts.atoms_view(),
        queue=wire.QueueCounts(open=counts.candidates.get("parked", 0), oldest_ms=counts.oldest_parked_ms),
        tombstones=wire.TombstoneCounts(live=counts.tombstones[0], refused=counts.tombstones[1]),
        model=_model(call, context, counts),
        vectors=wire.VectorStatus(model=None, dim=None, pending=0),
        storage=_storage(host.backend, context),
        connections=host.connections(),
        degraded=degraded + _queue_hints(counts, now),
        uptime_ms=now - host.started_ms,
    )


class _Counts:
    """What one read transaction counts."""

    def __init__(self) -> None:
        self.by_state: dict[str, int] = {}
        self.counters: dict[str, int] = {}
        self.candidates: dict[str, int] = {}
        self.atoms: dict[str, int] = {}
        self.disputed = 0
        self.oldest_parked_ms: int | None = None
        self.tombstones = (0, 0)

    def events(self) -> wire.EventCounts:
        """Messages by fate."""
        return wire.EventCounts(
            stored=sum(self.by_state.values()),
            pending=self.by_state.get("pending", 0),
            extracted=self.by_state.get("extracted", 0),
            skipped=self.counters.get("skipped", 0),
            duplicates=self.counters.get("duplicates", 0),
            failed=0,
        )

    def atoms_view(self) -> wire.AtomCounts:
        """Beliefs by status."""
        return wire.AtomCounts(
            current=self.atoms.get("current", 0),
            disputed=self.disputed,
            historical=self.atoms.get("historical", 0),
            retired=self.atoms.get("retired", 0),
        )


async def _counts(context: Context) -> _Counts:
    from octop_bridge.domain.records import DISPUTING  # noqa: PLC0415 - the store is open: it is imported already

    async def unit(tx: Tx) -> _Counts:
        counts = _Counts()
        counts.by_state = _numbers(await tx.all("event_counts"))
        counts.counters = _numbers(await tx.all("counters"))
        counts.candidates = _numbers(await tx.all("candidate_counts"))
        counts.atoms = _numbers(await tx.all("atom_counts"))
        disputed = await tx.one("disputed_count", kinds=list(DISPUTING))
        oldest = await tx.one("oldest_parked")
        tombstones = await tx.one("tombstone_counts")
        counts.disputed = disputed[0] if disputed else 0
        counts.oldest_parked_ms = oldest[0] if oldest else None
        counts.tombstones = (tombstones[0], tombstones[1]) if tombstones else (0, 0)
        return counts

    return await context.store.read(unit)


def _numbers(rows: list[Row]) -> dict[str, int]:
    return {row[0]: row[1] for row in rows}


def _model(call: Call, context: Context | None, counts: _Counts) -> wire.ModelStatus:
    failure = context.desk.last_failure if context else None
    calls = counts.counters.get("model.calls", 0)
    prompt = counts.counters.get("model.prompt_tokens", 0)
    completion = counts.counters.get("model.completion_tokens", 0)
    failures = counts.counters.get("model.failures", 0)
    usage = wire.TaskUsage(calls=calls, prompt_tokens=prompt, completion_tokens=completion, failures=failures)
    return wire.ModelStatus(
        kind=call.host.settings.extraction.kind,
        calls=calls,
        prompt_tokens=prompt,
        completion_tokens=completion,
        by_task={"extract": usage} if calls or failures else {},
        failures=failures,
        last_error=failure.message if failure else None,
        paused_until_ms=None,
        budget=None,
    )


def _storage(backend: str, context: Context | None) -> wire.StorageStatus:
    if context is None:
        return wire.StorageStatus(backend=backend, bytes=0, wal_bytes=0, schema_version=0)
    size, wal = context.store.sizes()
    return wire.StorageStatus(backend=backend, bytes=size, wal_bytes=wal, schema_version=context.store.schema_version)


def _extraction_trouble(context: Context) -> list[wire.DegradedView]:
    failure = context.desk.last_failure
    if failure is None:
        return []
    hint = f"extraction failed ({failure.kind}): {failure.message}; events stay pending"
    return [wire.DegradedView(what="extraction", since_ms=context.desk.failing_since_ms or 0, hint=hint)]


_QUEUE_LONG = 20
_QUEUE_OLD_MS = 14 * 24 * 3600 * 1000


def _queue_hints(counts: _Counts, now_ms: int) -> list[wire.DegradedView]:
    """The queue speaks up when it is long or old; nobody has to look at it before."""
    waiting, oldest = counts.candidates.get("parked", 0), counts.oldest_parked_ms
    old = oldest is not None and now_ms - oldest > _QUEUE_OLD_MS
    if waiting <= _QUEUE_LONG and not old:
        return []
    hint = f"{waiting} claims wait for a person: octop-bridge review"
    return [wire.DegradedView(what="queue", since_ms=oldest or now_ms, hint=hint)]
