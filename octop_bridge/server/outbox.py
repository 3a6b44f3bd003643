"""What leaves a connection: replies as they are ready, those of a batch together, all that waits in one write."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

UNSENT_BYTES_MAX = 32 << 20
"""More than this unsent, and the connection reads nothing until the peer has taken some of it."""


class Batch:
    """Gathers the replies of a batch; the last one sends them."""

    __slots__ = ("_left", "_outbox", "_replies")

    def __init__(self, size: int, outbox: Outbox) -> None:
        self._left = size
        self._replies: list[bytes] = []
        self._outbox = outbox

    def add(self, reply: bytes) -> None:
        """One element is done; an empty reply is none."""
        self._left -= 1
        if reply:
            self._replies.append(reply)
        if not self._left and self._replies:
            self._outbox.send(b"[" + b",".join(self._replies) + b"]")


class Outbox:
    """Lines on their way to the peer. `write(data)` returns when they are gone, or raises OSError."""

    def __init__(self, write: Callable[[bytes], Awaitable[None]]) -> None:
        self._write = write
        self._lines: list[bytes] = []
        self._unsent_bytes = 0
        self._wake = asyncio.Event()
        self._room = asyncio.Event()
        self._finished = False
        self.gone = False
        """Nobody reads any more."""
        self.answered = asyncio.Event()
        """Set when the first line has left."""

    def reply(self, batch: Batch | None, reply: bytes) -> None:
        """Send the reply of a request, with its batch where it has one; an empty one is none."""
        if batch is not None:
            batch.add(reply)
        elif reply:
            self.send(reply)

    def send(self, line: bytes) -> None:
        """Send a line."""
        if not self.gone:
            self._lines.append(line)
            self._unsent_bytes += len(line)
            self._wake.set()

    @property
    def is_full(self) -> bool:
        """Whether the peer reads so slowly that no more should be made for it."""
        return self._unsent_bytes > UNSENT_BYTES_MAX

    async def room(self) -> None:
        """Return when the outbox is not full."""
        while self.is_full and not self.gone:
            self._room.clear()
            await self._room.wait()

    def finish(self) -> None:
        """Nothing comes after what was sent until now: `run` may end."""
        self._finished = True
        self._wake.set()

    async def run(self) -> None:
        """Write what is sent, until all is said or nobody listens."""
        try:
            while self._lines or not self._finished:
                if not self._lines:
                    self._wake.clear()
                    await self._wake.wait()
                    continue
                ready, self._lines = self._lines, []
                await self._write(b"\n".join([*ready, b""]))
                self._unsent_bytes -= sum(map(len, ready))
                self._room.set()
                self.answered.set()
        except OSError:
            self.gone = True
            self._lines.clear()
            self._room.set()
