"""A child process that speaks JSON, a line a message: a bridge on its stdio, or one of our workers."""

import json
import os
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

from benchlib.errors import BenchError

_ANSWER_S = 120.0
_LEAVE_S = 10.0
_CHUNK = 1 << 16
_TICKS = os.sysconf("SC_CLK_TCK")


class Timed(NamedTuple):
    """What was answered, in order of arrival, and how long all of it took."""

    seconds: float
    replies: list[bytes]


class Child:
    """One process; as a context manager it is ended whatever happens."""

    def __init__(self, argv: Sequence[str], *, env: Mapping[str, str], log: Path) -> None:
        self._log = log
        self._argv = argv
        self._buffer = b""
        self._number = 0
        with log.open("ab") as stderr:
            self.started = time.perf_counter()
            self._process = subprocess.Popen(
                argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, env=dict(env)
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in = self._process.stdin.fileno()
        self._out = self._process.stdout.fileno()
        self._ready = select.poll()
        self._ready.register(self._out, select.POLLIN | select.POLLHUP)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, data: bytes) -> None:
        """Write all of it. It must fit into what the pipe and the child take without being read from."""
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._in, view) :]
        except BrokenPipeError:
            raise self._dead("has closed its input") from None

    def lines(self) -> list[bytes]:
        """The lines that have come, at least one."""
        while b"\n" not in self._buffer:
            if not self._ready.poll(_ANSWER_S * 1000):
                raise self._dead(f"said nothing for {_ANSWER_S:.0f} s")
            chunk = os.read(self._out, _CHUNK)
            if not chunk:
                raise self._dead("has gone")
            self._buffer += chunk
        *found, self._buffer = self._buffer.split(b"\n")
        return found

    def ask(self, line: bytes) -> Timed:
        """One request and its reply."""
        started = time.perf_counter()
        self.send(line)
        replies = self.lines()
        spent = time.perf_counter() - started
        if len(replies) != 1:
            raise BenchError(f"{len(replies)} replies to one request: {replies[:2]!r}")
        return Timed(spent, replies)

    def pipeline(self, requests: Sequence[bytes], width: int) -> Timed:
        """All of the requests, `width` of them on their way at any time."""
        if not requests:
            raise BenchError("nothing was asked")
        replies: list[bytes] = []
        started = time.perf_counter()
        self.send(b"".join(requests[:width]))
        sent = width
        while len(replies) < len(requests):
            found = self.lines()
            replies += found
            more = requests[sent : sent + len(found)]
            sent += len(more)
            if more:
                self.send(b"".join(more))
        return Timed(time.perf_counter() - started, replies)

    def work(self, op: str, **given: Any) -> Any:
        """What a worker's operation returns. Raises BenchError where it failed."""
        self._number += 1
        (reply,) = self.ask(json.dumps({"id": self._number, "op": op, "given": given}).encode() + b"\n").replies
        return result_of(reply)

    def peak_mib(self) -> float | None:
        """The most memory that it has held, None where the system does not say."""
        try:
            status = Path(f"/proc/{self._process.pid}/status").read_text()
        except OSError:
            return None
        return next((int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM")), None)

    def cpu_ms(self) -> float | None:
        """Processor time used so far, to 10 ms."""
        try:
            fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return None
        return (int(fields[11]) + int(fields[12])) * 1000 / _TICKS

    def close(self) -> None:
        """End it: by the end of its input, and by force where that is not enough."""
        process = self._process
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()
        try:
            process.wait(_LEAVE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _dead(self, what: str) -> BenchError:
        said = self._log.read_text(errors="replace")[-1500:] if self._log.exists() else ""
        return BenchError(f"{' '.join(self._argv)} {what} (code {self._process.poll()}):\n{said}")


def result_of(reply: bytes) -> Any:
    """The result of a reply. Raises BenchError for an error."""
    answer = json.loads(reply)
    if "error" in answer:
        raise BenchError(f"an error was answered: {answer['error']}")
    return answer["result"]


def request(number: int, method: str, params: Mapping[str, Any]) -> bytes:
    """A JSON-RPC request as it travels."""
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n"
