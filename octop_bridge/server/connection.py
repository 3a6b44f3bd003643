"""One peer: its requests in, their replies out, whatever carries them.

The reader takes every line at once and waits for nothing but a hello, which says whose the lines after it are, and a
peer that does not read its replies. A request is a task: at most `slots` of them work at the store, the next wait in
order; one that may wait for a model holds no slot. Tasks start in the order of their lines, and whoever performs them
awaits nothing between that start and the store's queue: so captures of one session keep their order, without waiting
for each other's commit.

Plain asyncio: an anyio task group costs seven times a task, and its import a third of the time to the first hello.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from octop_bridge import dispatch, logs
from octop_bridge.context import Host, Session
from octop_bridge.dispatch import Method, encode_error
from octop_bridge.protocol import errors
from octop_bridge.server import lines
from octop_bridge.server.outbox import Batch, Outbox

HELLO = "bridge.hello"
CANCEL = "$/cancelRequest"
GRACE_S = 1.3
"""How long reads may go on after the peer has ended its side: it may have sent them all at once, and still listen."""
FLUSH_S = 0.5
"""How long the last replies may take to leave."""
SMALL_BYTES = 64 << 10


class Application(Protocol):
    """What a connection serves. One application, many connections."""

    @property
    def host(self) -> Host:
        """The process, as hello and status describe it; its settings hold the limits."""
        ...

    def failed(self) -> errors.BridgeError | None:
        """What is wrong with the arguments or settings: every request is told."""
        ...

    async def ready(self) -> None:
        """Return when what every call but a greeting needs is imported."""
        ...

    async def opened(self, session: Session) -> None:
        """Return when the session's namespace is open, or cannot be opened: then `perform` says why."""
        ...

    async def perform(self, method: Method, params: Any, session: Session) -> bytes:
        """The encoded result of one call. Raises BridgeError.

        Where the session is open it awaits nothing before the store has taken the call.
        """
        ...


class _Asked:
    """One accepted request until it is answered."""

    __slots__ = ("batch", "began", "ended", "method", "request", "size", "task")

    def __init__(self, request: lines.Request, method: Method, size: int, batch: Batch | None) -> None:
        self.request = request
        self.method = method
        self.size = size
        self.batch = batch
        self.task: asyncio.Task[None] | None = None
        """None while it waits in the queue."""
        self.began = False
        self.ended: errors.BridgeError | None = None
        """Why it was stopped, where it was."""


class Connection:
    """One peer. `read()` gives bytes, none at the end; `write(data)` returns when they are gone, or raises OSError."""

    def __init__(
        self,
        application: Application,
        session: Session,
        read: Callable[[], Awaitable[bytes]],
        write: Callable[[bytes], Awaitable[None]],
        *,
        on_end: Callable[[], None] = lambda: None,
        grace_s: float = GRACE_S,
    ) -> None:
        self._application = application
        self._session = session
        self._read = read
        self._on_end = on_end
        self._grace_s = grace_s
        self._limits = application.host.settings.server
        self._lines = lines.LineReader(self._limits.line_bytes_max)
        self._loop = asyncio.get_running_loop()
        self._inflight: dict[str | int, _Asked] = {}
        self._accepted: set[_Asked] = set()
        self._queue: deque[_Asked] = deque()
        self._running = self._asides = self._bytes = 0
        self._opening: asyncio.Task[None] | None = None
        self._open = False
        self._leaving = asyncio.Event()
        self._moved = asyncio.Event()
        self._outbox = Outbox(write)
        self.answered = self._outbox.answered
        """Set when the first reply has left."""
        session.notify = self.notify

    async def serve(self) -> None:
        """Serve until the peer ends its side or is gone, or `leave` is called; then see off what was accepted.

        Writes end in their own time and are answered; reads have `grace_s`, waits for a model none.
        """
        writer = self._loop.create_task(self._outbox.run(), name="replies")
        writer.add_done_callback(lambda _: self._moved.set())
        reader = self._loop.create_task(self._read_all(), name="requests")
        leaving = self._loop.create_task(self._leaving.wait())
        try:
            await asyncio.wait({reader, writer, leaving}, return_when=asyncio.FIRST_COMPLETED)
            reader.cancel()
            self._on_end()
            await self._see_off()
            self._outbox.finish()
            await asyncio.wait({writer}, timeout=FLUSH_S)
        finally:
            for task in (reader, writer, leaving, self._opening):
                if task is not None:
                    task.cancel()
            self._stop(lambda asked: not asked.method.writes)

    def leave(self) -> None:
        """End the connection as if the peer had ended its side."""
        self._leaving.set()

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Send a notification. It is news: dropped where the peer does not read."""
        if not self._outbox.is_full:
            self._outbox.send(dispatch.encode({"jsonrpc": "2.0", "method": method, "params": dict(params)}))

    # In

    async def _read_all(self) -> None:
        try:
            while data := await self._read():
                for line in self._lines.feed(data):
                    await self._line(line)
                await self._outbox.room()
            for line in self._lines.end():
                await self._line(line)
        except OSError:
            return
        except Exception as error:  # noqa: BLE001 - what is accepted is seen off all the same
            logs.incident("read", error)

    async def _line(self, line: lines.Line | lines.Oversize) -> None:
        try:
            if isinstance(line, lines.Oversize):
                raise line.error()
            given = lines.decode(line)
            if not isinstance(given, list):
                await self._take(given, len(line), None)
                return
            if not 1 <= len(given) <= self._limits.batch_max:
                raise errors.InvalidRequestError(f"a batch holds 1 to {self._limits.batch_max} requests")
        except errors.BridgeError as error:
            self._outbox.send(encode_error(error))
            return
        batch = Batch(len(given), self._outbox)
        for element in given:
            await self._take(element, len(line) // len(given), batch)

    async def _take(self, given: Any, size: int, batch: Batch | None) -> None:
        try:
            request = lines.check_envelope(given)
        except lines.EnvelopeError as error:
            self._outbox.reply(batch, encode_error(error, error.request_id))
            return
        try:
            asked = self._admit(request, size, batch)
        except errors.BridgeError as error:
            self._outbox.reply(batch, b"" if request.is_notification else encode_error(error, request.id))
            return
        if asked is None:
            self._outbox.reply(batch, b"")
        elif asked.method.in_reader:
            task = self._start(asked)
            if asked.method.name == HELLO:
                await asyncio.wait({task})
                if self._session.greeted:
                    self._begin_opening()
        else:
            self._session.used = True
            self._schedule(asked)

    def _admit(self, request: lines.Request, size: int, batch: Batch | None) -> _Asked | None:
        """The request as accepted and counted, None for a cancellation. Raises BridgeError where it is refused."""
        failure = self._application.failed()
        if failure is not None:
            raise failure.with_traceback(None)
        if request.method == CANCEL:
            self._cancel(request)
            return None
        method = dispatch.lookup(request.method, self._session.role)
        if request.id in self._inflight:
            raise errors.InvalidRequestError("id: another request of this id is not answered yet")
        self._refuse_busy(method, size)
        asked = _Asked(request, method, size, batch)
        self._accepted.add(asked)
        self._bytes += size
        self._asides += method.in_reader
        if request.id is not None:
            self._inflight[request.id] = asked
        return asked

    def _refuse_busy(self, method: Method, size: int) -> None:
        limits = self._limits
        too_many_bytes = self._bytes > 0 and self._bytes + size > limits.waiting_bytes_max
        if method.in_reader:
            # Few and small they always pass: who is told "busy" may ask what the matter is.
            busy = self._asides >= limits.waiting_max or (too_many_bytes and size > SMALL_BYTES)
        else:
            has_slot = self._open and not method.waits and self._running < limits.slots
            waiting = len(self._accepted) - self._running - self._asides
            busy = too_many_bytes or (not has_slot and waiting >= limits.waiting_max)
        if busy:
            raise errors.StorageUnavailableError(
                "too many requests of this connection wait", kind="busy", hint="wait for a reply, then send it again"
            )

    def _cancel(self, request: lines.Request) -> None:
        """Stop the request that is named, unless it is a write that the store has: that one answers what became of it."""
        if not request.is_notification:
            raise errors.InvalidRequestError(f"{CANCEL} is a notification: it has no id")
        target: Any = request.params.get("id") if isinstance(request.params, dict) else None
        asked = self._inflight.get(target) if type(target) in {int, str} else None
        if asked is not None and (asked.task is None or not asked.method.writes):
            self._end(asked, errors.CancelledError("the request was cancelled"))

    # Work

    def _begin_opening(self) -> None:
        if self._opening is None:
            self._opening = self._loop.create_task(self._open_up(), name="opening")

    async def _open_up(self) -> None:
        try:
            await self._application.opened(self._session)
        except Exception as error:  # noqa: BLE001 - each call will be told by `perform`
            logs.incident("open", error)
        self._open = True
        held, self._queue = self._queue, deque()
        for asked in held:
            self._schedule(asked)

    def _schedule(self, asked: _Asked) -> None:
        if not self._open:
            self._queue.append(asked)
            self._begin_opening()
        elif asked.method.waits:
            self._start(asked)
        elif self._running < self._limits.slots:
            self._running += 1
            self._start(asked)
        else:
            self._queue.append(asked)

    def _start(self, asked: _Asked) -> asyncio.Task[None]:
        asked.task = self._loop.create_task(self._run(asked))
        return asked.task

    async def _run(self, asked: _Asked) -> None:
        request = asked.request
        asked.began = True
        reply = b""
        try:
            if asked.ended is None:
                reply = await self._perform(asked)
        except asyncio.CancelledError:
            if asked.ended is None:
                raise
        except Exception as error:  # noqa: BLE001 - whatever it is, the peer gets a reply and the connection goes on
            reply = encode_error(_internal(request.method, error), request.id)
        finally:
            self._done(asked)
        if asked.ended is not None and not reply:
            reply = encode_error(asked.ended, request.id)
        self._outbox.reply(asked.batch, b"" if request.is_notification else reply)

    async def _perform(self, asked: _Asked) -> bytes:
        request, method = asked.request, asked.method

        async def perform(_: str, params: Any) -> bytes:
            try:
                return await self._application.perform(method, params, self._session)
            except errors.BridgeError:
                raise
            except Exception as error:
                # Here, since jsonrpcserver would tell the peer the text of the exception.
                raise _internal(method.name, error) from error

        if not method.in_reader:
            return await dispatch.answer(request.body, perform)
        try:
            return dispatch.encode_result(await perform(method.name, request.params), request.id)
        except errors.BridgeError as error:
            return encode_error(error, request.id)

    def _end(self, asked: _Asked, why: errors.BridgeError) -> None:
        """Stop a request; it answers with the reason.

        A task that has not begun stops itself: a cancellation would keep it from ever answering.
        """
        asked.ended = why
        if asked.task is None:
            self._queue.remove(asked)
            self._done(asked)
            self._outbox.reply(
                asked.batch, b"" if asked.request.is_notification else encode_error(why, asked.request.id)
            )
        elif asked.began:
            asked.task.cancel()

    def _done(self, asked: _Asked) -> None:
        """Take a request out of the books and start the next."""
        method = asked.method
        self._accepted.discard(asked)
        self._bytes -= asked.size
        self._asides -= method.in_reader
        if asked.request.id is not None:
            self._inflight.pop(asked.request.id, None)
        if asked.task is not None and not method.waits and not method.in_reader:
            self._running -= 1
            if self._queue:
                self._schedule(self._queue.popleft())
        self._moved.set()

    # The end

    async def _see_off(self) -> None:
        self._stop(lambda asked: asked.method.waits)
        await self._until(
            lambda: self._outbox.gone or all(asked.method.writes for asked in self._accepted), self._grace_s
        )
        self._stop(lambda asked: not asked.method.writes)
        await self._until(lambda: not self._accepted)

    def _stop(self, chosen: Callable[[_Asked], bool]) -> None:
        for asked in [asked for asked in self._accepted if asked.ended is None and chosen(asked)]:
            self._end(asked, errors.ShuttingDownError("the connection is ending", hint="ask again on another one"))

    async def _until(self, condition: Callable[[], bool], timeout_s: float | None = None) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while not condition():
                    self._moved.clear()
                    await self._moved.wait()


def _internal(method: str, error: Exception) -> errors.InternalError:
    number = logs.incident(method, error)
    return errors.InternalError("something went wrong inside the bridge", incident=number, hint="its log has the rest")
