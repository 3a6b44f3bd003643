"""Settings to a running bridge: the only place that names a backend or an extractor.

Light until a store is opened: `bridge.hello` is answered before SQLite, structlog or jsonrpcserver are imported.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from octop_bridge import dispatch, places
from octop_bridge.context import Call, Context, Host, Session
from octop_bridge.ids import IdMaker
from octop_bridge.protocol import errors
from octop_bridge.protocol import messages as wire

if TYPE_CHECKING:
    from octop_bridge.context import Clock, NewId
    from octop_bridge.models import Extractor
    from octop_bridge.settings import Settings


_OPENING_PATIENCE_S = 2.0


def wall_clock() -> int:
    """Epoch milliseconds, now."""
    return time.time_ns() // 1_000_000


def incident(method: str, error: BaseException) -> str:
    """Log an unexpected exception; the id under which it stands in the log."""
    from octop_bridge import logs  # noqa: PLC0415 - structlog is loaded when there is something to say

    return logs.incident(method, error)


class Bridge:
    """One process's bridge: namespaces opened when they are first needed, one table for every surface."""

    def __init__(
        self,
        settings: Settings,
        *,
        home: Path,
        db: Path | None = None,
        clock: Clock = wall_clock,
        new_id: NewId | None = None,
        failure: errors.BridgeError | None = None,
    ) -> None:
        self._settings = settings
        self._home = home
        self._db = db
        self._clock = clock
        self._new_id = new_id or IdMaker()
        self._failure = failure
        self._opening: dict[str, asyncio.Task[Context]] = {}
        self._trouble: dict[str, wire.DegradedView] = {}
        self._warming: asyncio.Task[None] | None = None
        self._closing = False
        self.connections = 0
        self.host = Host(
            settings=settings,
            clock=clock,
            started_ms=clock(),
            backend="sqlite",
            methods=dispatch.methods_for,
            limits=settings.server.limits(),
            degraded=lambda: list(self._trouble.values()),
            connections=lambda: self.connections,
            check_token=lambda token: places.check_token(home, token),
        )

    def failed(self) -> errors.BridgeError | None:
        """What is wrong with the arguments or settings: the first request of any kind is told."""
        return self._failure

    async def ready(self) -> None:
        """The heavy half of the start: what every call over a wire needs, imported once, off the loop."""
        if self._warming is None:
            self._warming = asyncio.create_task(asyncio.to_thread(dispatch.warm), name="warm")
        await asyncio.shield(self._warming)

    async def opened(self, session: Session) -> None:
        """Return when the session's namespace is open, or cannot be opened: then `result` says why."""
        if self._failure is None:
            await asyncio.wait([self._task(session.namespace)])

    async def perform(self, method: dispatch.Method, params: Any, session: Session) -> bytes:
        """The encoded result of one call. Raises BridgeError."""
        return dispatch.encode(await self.result(method, params, session))

    async def result(self, method: dispatch.Method, params: Any, session: Session) -> Any:
        """The result Struct of one call. Raises BridgeError."""
        if self._closing:
            raise errors.ShuttingDownError("the bridge is leaving", hint="start it again")
        call = Call(session=session, host=self.host)
        if method.name == "bridge.status":
            call.context = await self._opened_soon(session.namespace)
        elif not method.in_reader:
            session.used = True
            call.context = await self._context(session.namespace)
        return await dispatch.perform(method, params, call, incident)

    async def close(self) -> None:
        """Finish what was accepted; abandon extraction, whose events stay pending; release every handle."""
        self._closing = True
        for task in self._opening.values():
            try:
                context = await task
            except Exception:  # noqa: BLE001, S112 - it never opened: nothing to close, and whoever asked was told
                continue
            await context.desk.close()
            await context.store.close()
        self._opening.clear()

    async def _opened_soon(self, namespace: str) -> Context | None:
        """The namespace, where it is open or opens within a moment: status answers in any case."""
        task = self._task(namespace)
        await asyncio.wait([task], timeout=_OPENING_PATIENCE_S)
        if not task.done() or task.cancelled() or task.exception() is not None:
            return None
        return task.result()

    async def _context(self, namespace: str) -> Context:
        task = self._task(namespace)
        try:
            return await asyncio.shield(task)
        except errors.BridgeError:
            self._opening.pop(namespace, None)
            raise

    def _task(self, namespace: str) -> asyncio.Task[Context]:
        task = self._opening.get(namespace)
        if task is None:
            task = self._opening[namespace] = asyncio.create_task(self._open(namespace), name=f"open {namespace}")
            task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return task

    async def _open(self, namespace: str) -> Context:
        try:
            context = await self._assemble(namespace)
        except Exception as error:
            known = dispatch.storage_error(error)
            if known is None:
                known = errors.StorageUnavailableError(
                    "the store cannot be opened", incident=incident("open", error), hint="the log has the rest"
                )
            hint = known.hint or "see the log"
            self._trouble[namespace] = wire.DegradedView(what="storage", since_ms=self._clock(), hint=hint)
            raise known from error
        self._trouble.pop(namespace, None)
        return context

    async def _assemble(self, namespace: str) -> Context:
        await asyncio.to_thread(dispatch.warm_store)
        from octop_bridge.domain.identity import links_of  # noqa: PLC0415 - phase two
        from octop_bridge.storage.store import open_sqlite  # noqa: PLC0415
        from octop_bridge.work.desk import Desk  # noqa: PLC0415

        path = self._db or places.store_path(self._home, namespace)
        settings = self._settings
        store = await open_sqlite(path, namespace, durability=settings.store.durability, clock=self._clock)
        desk = Desk(
            store,
            _extractor(settings),
            settings.extraction,
            clock=self._clock,
            new_id=self._new_id,
            on_error=incident,
        )
        try:
            await desk.start()
        except BaseException:
            await store.close()
            raise
        return Context(
            namespace=namespace,
            store=store,
            desk=desk,
            settings=settings,
            clock=self._clock,
            new_id=self._new_id,
            links=links_of(settings.identity.links),
        )


def _extractor(settings: Settings) -> Extractor | None:
    extraction = settings.extraction
    if extraction.kind == "scripted":
        from octop_bridge.models.scripted import ScriptedExtractor  # noqa: PLC0415 - demos and tests only

        return ScriptedExtractor(Path(extraction.script or ""), extraction.script_delay_s)
    if extraction.kind == "rules":
        from octop_bridge.models.rules import RuleExtractor  # noqa: PLC0415 - phase two

        return RuleExtractor()
    return None


class InProcess:
    """The table without a wire: `call(method, params)` gives the result as plain values or raises BridgeError."""

    def __init__(self, bridge: Bridge, session: Session) -> None:
        self.bridge = bridge
        self.session = session

    async def call(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """The result of one call, as JSON would carry it."""
        row = dispatch.lookup(method, self.session.role)
        result = await self.bridge.result(row, params, self.session)
        plain: dict[str, Any] = msgspec.to_builtins(result)
        return plain


@asynccontextmanager
async def open_bridge(
    settings: Settings,
    *,
    home: Path | None = None,
    db: Path | None = None,
    namespace: str = "default",
    role: wire.RoleName = "host",
    local: bool = False,
    surface: str = "in-process",
    clock: Clock = wall_clock,
    new_id: NewId | None = None,
) -> AsyncIterator[InProcess]:
    """A bridge in this process and one session on it. The role is the host program's own decision."""
    bridge = Bridge(settings, home=home or places.home(), db=db, clock=clock, new_id=new_id)
    session = Session(
        session_id=bridge._new_id("cn", clock()),  # noqa: SLF001 - its own maker of ids
        surface=surface,
        role=role,
        namespace=namespace,
        namespace_fixed=True,
        local=local,
    )
    bridge.connections = 1
    try:
        yield InProcess(bridge, session)
    finally:
        await bridge.close()
