"""The calling side of octop-bridge for synchronous hosts, from any thread, with the standard library alone.

It imports nothing of ours but its other parts, `client_wire.py` and `client_spool.py`, so that a plugin can carry a copy
of the three. Order: a live bridge, else one is started, else captures wait in the spool and everything else is
`Unavailable`. No call waits longer than its timeout, whatever the bridge is: absent, starting, frozen or dying.

    client = Client(namespace="hermes.work", name="hermes", version="1")
    client.call("memory.search", {"query": "boat"}, timeout=1.5)
    client.capture({"messages": [...]})
"""

from __future__ import annotations

import os
import socket
import subprocess
import threading
import time
import uuid
import weakref
from collections import Counter
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

if __package__:
    from . import client_spool as files
    from . import client_wire as wire
    from .client_wire import CallError, CallTimeout, Json, Unavailable
else:
    import client_spool as files  # type: ignore[import-not-found,no-redef]
    import client_wire as wire  # type: ignore[import-not-found,no-redef]
    from client_wire import CallError, CallTimeout, Json, Unavailable  # type: ignore[no-redef]

__all__ = ["CallError", "CallTimeout", "Client", "Unavailable"]

PROTOCOL = 1

# After these the same capture can be stored another time; other errors say that it never will be.
_PASSING = frozenset({wire.BUSY, wire.SHUTTING_DOWN, wire.INTERNAL, wire.CANCELLED})
_NEVER = frozenset({wire.INVALID_PARAMS, wire.TOO_LARGE})
_NOT_NOW = frozenset({wire.BUSY, wire.SHUTTING_DOWN})
_POLL_S = 0.03
_REPLAY_S_MAX = 1.0
_SPOOL_S_MIN = 2.0


class Client:
    """A bridge as one host sees it: one namespace, one role, at most one connection, made when it is needed.

    `command` starts a bridge (default: this interpreter's package, else the program on PATH); `serve` answers
    `host.complete` on a thread of its own. The token goes over the socket alone, never into a command line. `clock`
    gives seconds since the epoch, `ticks` those that the pauses are measured in.
    """

    def __init__(
        self,
        namespace: str = "default",
        *,
        name: str,
        version: str,
        home: str | os.PathLike[str] | None = None,
        db: str | os.PathLike[str] | None = None,
        role: str = "host",
        token: str | None = None,
        local: bool = False,
        identity: Json | None = None,
        command: str | Sequence[str] | None = None,
        spawn: bool = True,
        spool: bool = True,
        serve: Callable[[Json], Json] | None = None,
        connect_timeout_s: float = 2.0,
        clock: Callable[[], float] = time.time,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        self._hello: Json = {
            "protocol": PROTOCOL,
            "client": {"name": name, "version": version},
            "namespace": namespace,
            "role": role,
            "local": local,
        }
        offers = ["host.complete"] if serve else None
        optional = {"token": token, "identity": identity, "offers": offers}
        self._hello.update({field: value for field, value in optional.items() if value is not None})
        self._places = files.places(namespace, home, db)
        self._spool = files.Spool(self._places.spool, namespace, local=local) if spool else None
        self._command = command
        self._spawning = spawn
        self._serve = serve
        self._connect_timeout_s = connect_timeout_s
        self._clock = clock
        self._counters: Counter[str] = Counter()
        self._greeting: Json | None = None
        self._breaker = wire.Breaker(ticks, self._now_ms)
        self._conn: wire.Connection | None = None
        self._closing = threading.Event()
        self.renew()
        _CLIENTS.add(self)

    def renew(self) -> None:
        """Begin anew in a fork: the parent's threads are not here, its locks may be held, its connection is its own."""
        if self._conn is not None:
            self._conn.forget()
        self._conn = None
        closing, self._closing = self._closing, threading.Event()
        if closing.is_set():
            self._closing.set()
        self._connecting = threading.Lock()
        self._counting = threading.RLock()
        self._breaker.renew()

    def call(
        self,
        method: str,
        params: Json | None = None,
        *,
        timeout: float = 10.0,
        progress: Callable[[Json], None] | None = None,
    ) -> Json:
        """The result of a method. Raises CallError, CallTimeout, Unavailable; TypeError or ValueError for no JSON.

        `timeout` in seconds holds for everything: connecting, a start, a second try. `progress` is called in this thread
        with what the bridge says of the work it has done.
        """
        return self._call(method, dict(params or {}), wire.after(timeout), progress)

    def capture(self, params: Json, *, timeout: float = 2.0) -> Json:
        """The result of memory.capture, or `{"spooled": True, "key", "reason"}` where it will be stored later.

        Raises CallError where it can never be stored, and Unavailable where it could not even be spooled. It gets a key,
        and each message a time, before it is sent: what is sent again is the same to the byte, and stored once.
        """
        deadline = wire.after(timeout)
        now_ms = self._now_ms()
        ready = {**params, "key": params.get("key") or uuid.uuid4().hex}
        if ready.get("identity") is None and "identity" in self._hello:
            ready["identity"] = self._hello["identity"]
        ready["messages"] = [
            {**each, "timestamp": now_ms} if isinstance(each, dict) and each.get("timestamp") is None else each
            for each in params.get("messages") or ()
        ]
        try:
            self._replay(deadline)
            return self._call("memory.capture", ready, deadline)
        except CallError as error:
            if error.code not in _PASSING or self._spool is None:
                raise
            reason = error.message
        except (Unavailable, CallTimeout) as error:
            if self._spool is None:
                raise
            reason = str(error)
        try:
            self._spool.append(ready, now_ms, max(deadline, wire.after(_SPOOL_S_MIN)))
        except OSError as error:
            self._count("spool_full" if isinstance(error, files.SpoolFullError) else "spool_failed")
            raise Unavailable(f"{reason}; not spooled: {error.strerror}") from error
        self._count("spooled")
        return {"spooled": True, "key": ready["key"], "reason": reason}

    def state(self) -> Json:
        """Health: connected, why degraded and since when, what is spooled, counters, and what hello was answered."""
        conn = self._conn
        return {
            "connected": conn is not None and conn.reason is None,
            **self._breaker.state(),
            "spool": self._spool.state() if self._spool else None,
            "counters": dict(self._counters),
            "socket": self._places.socket,
            "hello": self._greeting,
        }

    def close(self) -> None:
        """Leave, within a second. Calls under way end as Unavailable; a capture after this is spooled."""
        self._closing.set()
        conn, self._conn = self._conn, None
        if conn is not None:
            conn.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __del__(self) -> None:
        # A host that forgets its clients leaves neither threads nor connections.
        conn = getattr(self, "_conn", None)
        if conn is not None:
            conn.end("the client was forgotten")

    def _call(self, method: str, params: Json, deadline: float, progress: Callable[[Json], None] | None = None) -> Json:
        self._count("calls")
        for last in (False, True):
            conn = self._connected(deadline)
            try:
                result = conn.request(method, params, deadline, progress)
            except wire.Gone as gone:
                self._lost(conn, str(gone))
                if gone.sent and not wire.repeatable(method, params):
                    raise Unavailable(f"outcome unknown: {gone}") from None
                if last:
                    raise Unavailable(str(gone)) from None
            except CallTimeout:
                self._count("timeouts")
                raise
            except CallError as error:
                # One that is leaving has done nothing: the next one is asked, which may have to be started.
                if error.code != wire.SHUTTING_DOWN or last:
                    self._breaker.settle(answered=True)
                    raise
                conn.end("the bridge is leaving")
            else:
                self._breaker.settle(answered=True)
                return result
            self._count("sent_again")
        raise AssertionError

    def _connected(self, deadline: float) -> wire.Connection:
        """The connection, made if there is none: by one thread, while the others wait for it."""
        conn = self._conn
        if conn is not None and conn.reason is None:
            return conn
        if not self._connecting.acquire(timeout=wire.time_left(deadline)):
            raise Unavailable("the bridge does not answer yet")
        try:
            conn = self._conn
            if conn is None or conn.reason is not None:
                conn = self._conn = self._reach(deadline)
                self._count("connected")
            if self._closing.is_set():
                conn.end("the client is closed")
                raise Unavailable("the client is closed")
            return conn
        finally:
            self._connecting.release()

    def _reach(self, deadline: float) -> wire.Connection:
        """A connection after hello. Tries again, a little later, until the pause begins or the deadline has come."""
        while True:
            if self._closing.is_set():
                raise Unavailable("the client is closed")
            if reason := self._breaker.refuses():
                raise Unavailable(reason)
            try:
                conn = self._greet(self._summon(deadline), deadline)
            except wire.Trouble as found:
                pause = min(self._breaker.judge(found), wire.time_left(deadline))
                if not pause or self._closing.wait(pause):
                    raise Unavailable(found.reason) from found.__cause__
                continue
            self._breaker.settle(answered=False)
            return conn

    def _summon(self, deadline: float) -> socket.socket:
        """A connected socket; a bridge is started where none listens."""
        try:
            self._places.check()
            if (sock := wire.dial(self._places.socket)) is not None:
                return sock
            if not self._spawning:
                raise wire.Trouble("no bridge is running", weight=0)
            self._places.prepare()
            lock = files.SpawnLock(f"{self._places.socket}.spawn.lock")
            try:
                return self._start(lock, deadline)
            finally:
                lock.release()
        except (OSError, RuntimeError, ValueError, subprocess.SubprocessError) as error:
            # RuntimeError: an interpreter that is ending starts no process.
            what = getattr(error, "strerror", None) or type(error).__name__
            raise wire.Trouble(f"the bridge cannot be reached: {what}") from error

    def _start(self, lock: files.SpawnLock, deadline: float) -> socket.socket:
        """A socket of the bridge that is starting, by whomever; under the lock it is started here."""
        until = min(deadline, wire.after(files.START_S_MAX))
        pid, held = 0, False
        while True:
            held = held or lock.take()
            if (sock := wire.dial(self._places.socket)) is not None:
                return sock
            if held and not pid:
                pid = lock.starting() or self._spawn(lock)
            elif pid and not files.alive(pid):
                raise wire.Trouble("the bridge ended while it started; bridge.log says why")
            if self._closing.wait(min(_POLL_S, wire.time_left(until))) or not wire.time_left(until):
                # A caller who has less time than a start takes says nothing of the bridge's health.
                raise wire.Trouble("the bridge is still starting", weight=int(until < deadline))

    def _spawn(self, lock: files.SpawnLock) -> int:
        pid = files.start(self._places, self._command)
        lock.started(pid)
        self._count("started")
        return pid

    def _greet(self, sock: socket.socket, deadline: float) -> wire.Connection:
        try:
            conn = wire.Connection(sock, self._serve)
        except RuntimeError as error:
            sock.close()
            raise wire.Trouble("this process can start no thread") from error
        patient = wire.time_left(deadline) >= self._connect_timeout_s / 2
        greeted = False
        try:
            limit = min(deadline, wire.after(self._connect_timeout_s))
            self._greeting = conn.request("bridge.hello", self._hello, limit)
            greeted = True
        except CallTimeout as error:
            raise wire.Trouble("the bridge does not answer", weight=int(patient)) from error
        except wire.Gone as error:
            raise wire.Trouble(str(error)) from error
        except CallError as error:
            weight, final = 1 if error.code in _NOT_NOW else wire.REFUSED, error.code == wire.VERSION_MISMATCH
            raise wire.Trouble(f"the bridge refuses this client: {error.message}", weight, final=final) from error
        finally:
            if not greeted:
                conn.close()
        return conn

    def _replay(self, deadline: float) -> None:
        """Deliver what was spooled before, for half the time at most: the rest is for the next capture, or the bridge."""
        if self._spool is None or not self._spool.waits():
            return
        conn = self._connected(deadline)
        until = wire.after(min(_REPLAY_S_MAX, wire.time_left(deadline) / 2))

        def deliver(params: Json) -> files.Fate:
            try:
                conn.request("memory.capture", params, until)
            except (wire.Gone, CallTimeout):
                return "stop"
            except CallError as error:
                return "stop" if error.code in _NOT_NOW else "rejected" if error.code in _NEVER else "kept"
            except ValueError:
                return "rejected"
            return "done"

        try:
            self._count("replayed", self._spool.replay(deliver))
        except OSError:
            self._count("replay_failed")

    def _lost(self, conn: wire.Connection, reason: str) -> None:
        """Count the end of a connection, once, however many calls it ends."""
        with self._counting:
            if self._conn is conn:
                self._conn = None
                self._breaker.judge(wire.Trouble(reason))

    def _count(self, what: str, times: int = 1) -> None:
        with self._counting:
            self._counters[what] += times

    def _now_ms(self) -> int:
        return int(self._clock() * 1000)


_CLIENTS: weakref.WeakSet[Client] = weakref.WeakSet()


def _renew_all() -> None:
    for client in list(_CLIENTS):
        client.renew()


os.register_at_fork(after_in_child=_renew_all)
