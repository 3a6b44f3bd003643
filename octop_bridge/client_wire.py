"""One connection of the client: requests of many threads out, answers in any order back.

The standard library alone, as `client.py`, which tells the whole: a plugin carries a copy of it.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import select
import socket
import sys
import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any

LINE_BYTES_MAX = 16 << 20
"""The longest request that a bridge reads with its default settings."""
REPLY_BYTES_MAX = 64 << 20

UNKNOWN_METHOD, INVALID_PARAMS, INTERNAL, CANCELLED = -32601, -32602, -32603, -32800
TOO_LARGE, MODEL_UNAVAILABLE, BUSY, SHUTTING_DOWN, VERSION_MISMATCH = -32005, -32006, -32007, -32008, -32009

_READS = frozenset(
    f"{family}.{verb}"
    for family, verbs in {
        "bridge": ("status",),
        "memory": ("search", "recall", "get", "queue", "history"),
        "offload": ("get", "search", "canvas"),
    }.items()
    for verb in verbs
)
_SEND_FLAGS = socket.MSG_DONTWAIT | getattr(socket, "MSG_NOSIGNAL", 0)
_TIMEOUT_S_MAX = 86_400.0
_CLOSE_S_MAX = 1.0
_TRIES = 3
_BACKOFF_S = 0.2
_PAUSE_S_MAX = 60.0
_DARWIN_SO_NOSIGPIPE = 0x1022
_CANCEL_S = 0.05
_ANSWER_S = 5.0
_ANSWERS_MAX = 8

Json = dict[str, Any]


def after(seconds: float) -> float:
    """The instant in so many seconds, as `time.monotonic` has it. A day at most; what is no number is now."""
    return time.monotonic() + (min(seconds, _TIMEOUT_S_MAX) if seconds > 0 else 0.0)


def time_left(deadline: float) -> float:
    """Seconds until an instant, 0 where it has passed."""
    return max(0.0, deadline - time.monotonic())


def repeatable(method: str, params: Json) -> bool:
    """Whether a call may be sent again when nobody knows what became of it: it reads, or its key makes two one."""
    if method == "memory.capture":
        return bool(params.get("key"))
    return method in _READS or (method in {"memory.tombstones", "memory.entities"} and params.get("op") == "list")


def line_of(message: Json) -> bytes:
    """A message as a line. Raises TypeError or ValueError for what is no JSON."""
    return json.dumps({"jsonrpc": "2.0", **message}, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def failure(code: int, message: str, data: Json | None = None) -> Json:
    """The error member of an answer, as the protocol wants it."""
    known = data or {}
    names = ("kind", "retryable", "hint", "path", "reason", "incident")
    return {"error": {"code": code, "message": message, "data": {name: known.get(name) for name in names}}}


class CallError(Exception):
    """The bridge answered an error: `code` and `data` are the protocol's."""

    def __init__(self, code: int, message: str, data: Json | None = None) -> None:
        super().__init__(f"{message} ({code})")
        self.code = code
        self.message = message
        self.data: Json = data or {}


class Unavailable(Exception):  # noqa: N818 - a state of the bridge, not a fault of the call
    """No bridge could be asked, or it left before it answered. `reason` is for a person."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class CallTimeout(Exception):  # noqa: N818 - as TimeoutError would be, were that no OSError
    """The bridge was asked and did not answer in time."""


class Gone(Exception):  # noqa: N818 - what happened, for client.py to judge
    """The connection ended. `sent`: the request may have been carried out."""

    def __init__(self, reason: str, *, sent: bool) -> None:
        super().__init__(reason)
        self.sent = sent


class Trouble(Exception):  # noqa: N818 - what happened, for the breaker to judge
    """An attempt to connect failed. `weight` counts towards the pause; `final`: there is no use in another one."""

    def __init__(self, reason: str, weight: int = 1, *, final: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.weight = weight
        self.final = final


REFUSED = _TRIES
"""The weight of a trouble that another try would not end: the pause begins at once."""


class Breaker:
    """Failures in a row: three tries, each a little later, then a pause that grows, in which nothing is tried."""

    def __init__(self, ticks: Callable[[], float], now_ms: Callable[[], int]) -> None:
        self._ticks = ticks
        self._now_ms = now_ms
        self._trouble: Trouble | None = None
        self._since_ms: int | None = None
        self._failures = self._pauses = 0
        self._retry_at = 0.0
        self.renew()

    def renew(self) -> None:
        """Take a new lock: a fork may have the old one held by a thread that it has not."""
        self._lock = threading.RLock()

    def refuses(self) -> str | None:
        """Why nothing may be tried now, or None."""
        with self._lock:
            trouble = self._trouble
            waiting = trouble is not None and (trouble.final or self._ticks() < self._retry_at)
            return trouble.reason if trouble is not None and waiting else None

    def judge(self, trouble: Trouble) -> float:
        """Count a failure; the seconds after which the same call may try again, 0 where it may not."""
        with self._lock:
            self._trouble = trouble
            self._since_ms = self._since_ms or self._now_ms()
            if not trouble.weight:
                return 0.0
            self._failures += trouble.weight
            if self._failures < _TRIES:
                return float(_BACKOFF_S * 3 ** (self._failures - 1))
            self._retry_at = self._ticks() + min(_PAUSE_S_MAX, 2.0 ** min(self._pauses, 10))
            self._pauses += 1
            return 0.0

    def settle(self, *, answered: bool) -> None:
        """No trouble now. The failures are forgotten at an answer, not at hello: a bridge may die of every request."""
        with self._lock:
            self._trouble, self._since_ms, self._retry_at = None, None, 0.0
            if answered:
                self._failures = self._pauses = 0

    def state(self) -> Json:
        """What a person wants to know: why, since when, and when it is tried again."""
        with self._lock:
            trouble = self._trouble
            return {
                "degraded": trouble.reason if trouble else None,
                "since_ms": self._since_ms,
                "retry_in_s": max(0.0, self._retry_at - self._ticks()) if self._retry_at else 0.0,
            }


def dial(path: str) -> socket.socket | None:
    """A connected socket, None where nobody listens. Raises OSError."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if sys.platform == "darwin":
            sock.setsockopt(socket.SOL_SOCKET, _DARWIN_SO_NOSIGPIPE, 1)
        # Where the queue of a frozen bridge is full, a blocking connect would wait for ever.
        sock.setblocking(False)
        sock.connect(path)
        sock.setblocking(True)
    except (FileNotFoundError, ConnectionRefusedError):
        sock.close()
        return None
    except BaseException:
        sock.close()
        raise
    return sock


class Connection:
    """One connection: requests of many threads out, one thread that reads what comes back. It never connects again."""

    def __init__(self, sock: socket.socket, serve: Callable[[Json], Json] | None) -> None:
        self.reason: str | None = None
        """Why it ended, None while it lives."""
        self._sock = sock
        self._serve = serve
        self._boxes: dict[Any, SimpleQueue[Json | None]] = {}
        self._asked: set[Any] = set()
        # Reentrant, since a garbage collection in the midst of a locked block may close a forgotten client's connection.
        self._lock = threading.RLock()
        self._sending = threading.Lock()
        self._numbers = itertools.count(1)
        self._reader = threading.Thread(target=self._read, name="octop-bridge-reader", daemon=True)
        self._reader.start()

    def request(
        self, method: str, params: Json, deadline: float, progress: Callable[[Json], None] | None = None
    ) -> Json:
        """The result of a call. Raises CallError, CallTimeout, Gone. `progress` is called in this thread."""
        number = next(self._numbers)
        if progress is not None:
            params = {**params, "progress_token": number}
        line = line_of({"id": number, "method": method, "params": params})
        if len(line) > LINE_BYTES_MAX:
            raise CallError(TOO_LARGE, f"a request of {len(line)} bytes; at most {LINE_BYTES_MAX}")
        box: SimpleQueue[Json | None] = SimpleQueue()
        with self._lock:
            if self.reason is not None:
                raise Gone(self.reason, sent=False)
            self._boxes[number] = box
        answered = sent = False
        try:
            self._send(line, deadline)
            sent = True
            while "method" in (reply := self._take(box, deadline)):
                if progress is not None:
                    progress(reply.get("params") or {})
            answered = True
        finally:
            with self._lock:
                del self._boxes[number]
            if sent and not answered and self.reason is None:
                with contextlib.suppress(Gone, CallTimeout):
                    self._send(line_of({"method": "$/cancelRequest", "params": {"id": number}}), after(_CANCEL_S))
        if "error" in reply:
            error = reply["error"] if isinstance(reply["error"], dict) else {}
            raise CallError(error.get("code", INTERNAL), error.get("message", "error"), error.get("data"))
        return reply["result"] if isinstance(reply.get("result"), dict) else {"result": reply.get("result")}

    def end(self, reason: str) -> None:
        """End it from any thread: whoever waits is told at once, and the reader closes the socket."""
        with self._lock:
            if self.reason is not None:
                return
            self.reason = reason
            waiting = list(self._boxes.values())
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)
        for box in waiting:
            box.put(None)

    def close(self) -> None:
        """End it and wait for its thread."""
        self.end("the client is closed")
        if threading.current_thread() is not self._reader:
            self._reader.join(_CLOSE_S_MAX)

    def forget(self) -> None:
        """Drop a fork's copy: the parent's connection lives on, and no thread reads here."""
        self.reason = "a fork has no part in its parent's connection"
        self._sock.close()

    def _take(self, box: SimpleQueue[Json | None], deadline: float) -> Json:
        try:
            message = box.get(timeout=time_left(deadline))
        except Empty:
            raise CallTimeout("the bridge did not answer in time") from None
        if message is None:
            raise Gone(self.reason or "the connection ended", sent=True)
        return message

    def _send(self, line: bytes, deadline: float) -> None:
        """Write a whole line by the deadline. One that is cut ends the connection: the next would start inside it."""
        if not self._sending.acquire(timeout=time_left(deadline)):
            raise CallTimeout("the bridge does not read")
        rest = memoryview(line)
        try:
            while rest:
                try:
                    rest = rest[self._sock.send(rest, _SEND_FLAGS) :]
                except BlockingIOError:
                    self._await_room(deadline)
        except OSError as error:
            self.end(f"the connection broke: {error.strerror}")
            raise Gone(self.reason or "", sent=len(rest) < len(line)) from None
        finally:
            if 0 < len(rest) < len(line):
                self.end("a request could not be written in time")
            self._sending.release()

    def _await_room(self, deadline: float) -> None:
        left = time_left(deadline)
        if not left:
            raise CallTimeout("the bridge does not read")
        poll = select.poll()
        poll.register(self._sock, select.POLLOUT)
        poll.poll(left * 1000)

    def _read(self) -> None:
        rest = bytearray()
        reason = "the bridge closed the connection"
        try:
            while chunk := self._sock.recv(1 << 16):
                rest += chunk
                if b"\n" in chunk:
                    *lines, rest = rest.split(b"\n")
                    for line in lines:
                        self._receive(json.loads(line))
                if len(rest) > REPLY_BYTES_MAX:
                    reason = "the bridge sent a line without end"
                    break
        except OSError as error:
            reason = f"the connection broke: {error.strerror}"
        except Exception:  # noqa: BLE001 - whatever cannot be read, nobody may be left waiting for it
            reason = "the bridge sent what is not the protocol"
        finally:
            self.end(reason)
            # Whoever sends has been woken by the end; the descriptor may be another file's as soon as it is closed.
            with self._sending:
                self._sock.close()

    def _receive(self, message: Json) -> None:
        method, number = message.get("method"), message.get("id")
        if method is None or method == "$/progress":
            key = number if method is None else message["params"].get("token")
            with self._lock:
                box = self._boxes.get(key)
            if box is not None:  # else late: its caller has left
                box.put(message)
        elif method == "$/cancelRequest":
            self._answer(message["params"].get("id"), failure(CANCELLED, "cancelled"), _CANCEL_S)
        elif number is not None:
            with self._lock:
                crowded = len(self._asked) >= _ANSWERS_MAX
                self._asked.add(number)
            work = threading.Thread(target=self._work, args=(message, crowded), name="octop-bridge-serve", daemon=True)
            try:
                work.start()
            except RuntimeError:  # the interpreter is ending, or has no thread to give
                self._answer(number, failure(BUSY, "this client cannot work now"), _CANCEL_S)

    def _work(self, message: Json, crowded: bool) -> None:
        """Answer a request of the bridge's. What the host's exceptions say stays here: it may hold secrets."""
        try:
            if message["method"] != "host.complete" or self._serve is None:
                raise CallError(UNKNOWN_METHOD, "this client does not serve the method")
            if crowded:
                raise CallError(BUSY, "this client is busy", {"kind": "busy", "retryable": True})
            reply = {"result": self._serve(message.get("params") or {})}
            line_of(reply)
        except CallError as error:
            reply = failure(error.code, error.message, error.data)
        except Exception as error:  # noqa: BLE001 - the callback is the host's
            reply = failure(MODEL_UNAVAILABLE, f"the host's model failed: {type(error).__name__}")
        self._answer(message["id"], reply, _ANSWER_S)

    def _answer(self, number: Any, reply: Json, seconds: float) -> None:
        """Send an answer, once a request: of a cancellation and a late result the first one counts."""
        with self._lock:
            if number not in self._asked:
                return
            self._asked.discard(number)
        with contextlib.suppress(Gone, CallTimeout):
            self._send(line_of({"id": number, **reply}), after(seconds))
