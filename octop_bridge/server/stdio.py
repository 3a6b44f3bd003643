"""A child's standard input and output as a connection.

File descriptors, never text files: no locale, no buffer of Python's, no thread that sits in a read and keeps the process
from leaving. Pipes, sockets (Node gives those) and terminals are awaited by the loop; only a regular file, which never
makes anybody wait, is read on a thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import stat
import sys
import threading
from typing import NamedTuple

from octop_bridge import logs
from octop_bridge.context import Session
from octop_bridge.server.connection import Application, Connection

LEAVE_S = 1.8
"""From the end of the input or a signal to the end of the process, whatever hangs."""
SILENCE_S = 0.05
CHUNK_BYTES = 256 << 10
HELD_BYTES_MAX = 1 << 20
PIPE_BYTES = getattr(select, "PIPE_BUF", 512)
"""What a pipe that is ready takes without blocking."""
EXIT_OK, EXIT_CONFIG = 0, 2


class Fds(NamedTuple):
    """The private ends: requests come from `read`, replies go to `write`."""

    read: int
    write: int


def claim() -> Fds:
    """Private duplicates of the standard ends. To be called first of all.

    From then on descriptor 1 is stderr and 0 is empty, so that no library's print and no child's read can break the
    stream.
    """
    for number in (0, 2):
        try:
            os.fstat(number)
        except OSError:
            # A closed one would be given to the next file that is opened.
            null = os.open(os.devnull, os.O_RDWR)
            if null != number:
                os.dup2(null, number)
                os.close(null)
    fds = Fds(os.dup(0), os.dup(1))
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
    sys.stdout = sys.stderr
    return fds


async def serve(application: Application, session: Session, fds: Fds, *, leave_within_s: float | None = LEAVE_S) -> int:
    """Serve the peer until it ends its side, is gone, or a signal comes; the exit code.

    `leave_within_s`: the process is ended after this time from then on, by force where need be. None: never by force.
    """
    logs.route(application.host.settings.log.level)
    code = EXIT_CONFIG if application.failed() is not None else EXIT_OK
    requests, replies = Requests(fds.read), Replies(fds.write)

    def leaving() -> None:
        if leave_within_s is not None:
            threading.Thread(target=_leave_by_force, args=(leave_within_s, code), daemon=True).start()

    connection = Connection(application, session, requests.read, replies.write, on_end=leaving)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        # Not on Windows, and not off the main thread.
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
            loop.add_signal_handler(number, connection.leave)
    warming = loop.create_task(_warm(application, connection), name="warm")
    try:
        await connection.serve()
    finally:
        warming.cancel()
        requests.close()
        replies.close()
    return code


async def _warm(application: Application, connection: Connection) -> None:
    """Import what a greeting does not need, once the first reply has left or while nobody says anything."""
    if application.failed() is not None:
        return
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(SILENCE_S):
            await connection.answered.wait()
    try:
        await application.ready()
    except Exception as error:  # noqa: BLE001 - the first call that needs it is told
        logs.incident("start", error)


def _leave_by_force(after_s: float, code: int) -> None:
    """End the process. A thread's job, since it may be the loop that hangs, or the interpreter on its way out."""
    threading.Event().wait(after_s)
    with contextlib.suppress(OSError):
        os.write(2, b'{"event":"left by force","level":"warning"}\n')
    os._exit(code)


class Requests:
    """The reading end. What is there is read as soon as it is there, up to 1 MiB ahead."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._loop = asyncio.get_running_loop()
        self._polled = _can_be_awaited(fd)
        self._listening = False
        self._chunks: list[bytes] = []
        self._held_bytes = 0
        self._ended = False
        self._arrived = asyncio.Event()

    async def read(self) -> bytes:
        """The next bytes; none at the end."""
        if not self._polled:
            return await self._loop.run_in_executor(None, os.read, self._fd, CHUNK_BYTES)
        while not self._chunks and not self._ended:
            self._listen()
            self._arrived.clear()
            await self._arrived.wait()
        data = self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)
        self._chunks.clear()
        self._held_bytes = 0
        return data

    def close(self) -> None:
        """Stop listening and close the descriptor."""
        self._deafen()
        os.close(self._fd)

    def _listen(self) -> None:
        if not self._listening:
            self._listening = True
            self._loop.add_reader(self._fd, self._on_readable)

    def _deafen(self) -> None:
        if self._listening:
            self._listening = False
            self._loop.remove_reader(self._fd)

    def _on_readable(self) -> None:
        try:
            data = os.read(self._fd, CHUNK_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""  # A reset socket, a terminal that hung up: the peer is gone.
        if data:
            self._chunks.append(data)
            self._held_bytes += len(data)
        else:
            self._ended = True
        if self._ended or self._held_bytes >= HELD_BYTES_MAX:
            self._deafen()
        self._arrived.set()


class Replies:
    """The writing end, which waits for a peer that reads slowly and holds up nobody else."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._loop = asyncio.get_running_loop()
        self._polled = _can_be_awaited(fd)
        # The flag belongs to the open file, which a terminal or `2>&1` shares with stderr: logs would fail there.
        self._nonblocking = self._polled and not os.isatty(fd) and not _same_file(fd, 2)
        if self._nonblocking:
            os.set_blocking(fd, False)

    async def write(self, data: bytes) -> None:
        """Return when all of it is written. Raises OSError where nobody can read it any more."""
        rest = memoryview(data)
        careful = self._polled and not self._nonblocking
        while rest:
            if careful:
                await self._writable()
            try:
                rest = rest[os.write(self._fd, rest[:PIPE_BYTES] if careful else rest) :]
            except BlockingIOError:
                await self._writable()

    def close(self) -> None:
        """Close the descriptor; the file is left as it was found, for others that write to it."""
        if self._nonblocking:
            with contextlib.suppress(OSError):
                os.set_blocking(self._fd, True)
        os.close(self._fd)

    async def _writable(self) -> None:
        ready = asyncio.Event()
        self._loop.add_writer(self._fd, ready.set)
        try:
            await ready.wait()
        finally:
            self._loop.remove_writer(self._fd)


def _can_be_awaited(fd: int) -> bool:
    """Whether the loop can tell when the descriptor is ready: a socket, a pipe or a terminal, on POSIX."""
    mode = os.fstat(fd).st_mode
    return os.name == "posix" and (stat.S_ISSOCK(mode) or stat.S_ISFIFO(mode) or os.isatty(fd))


def _same_file(one: int, other: int) -> bool:
    first, second = os.fstat(one), os.fstat(other)
    return (first.st_dev, first.st_ino) == (second.st_dev, second.st_ino)
