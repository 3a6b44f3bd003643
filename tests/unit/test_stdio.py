"""Standard input and output: a child over pipes and over the sockets that Node gives, and the ends by themselves."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import select
import signal
import socket
import subprocess
import sys
import time
import tty
from pathlib import Path

import pytest

from octop_bridge.server import stdio

DOUBLE = Path(__file__).with_name("wire_double.py")
IN_TIME_S = 20


def request(number, method, params=None):
    return {"jsonrpc": "2.0", "id": number, "method": method, **({} if params is None else {"params": params})}


HELLO = request(1, "bridge.hello", {"protocol": 1, "client": {"name": "test", "version": "1"}})


class Child:
    """The double as a child. `replies` are its standard output, line by line, each of them one JSON value."""

    def __init__(self, *args, carrier="pipes", env=None, stderr=subprocess.PIPE, **more):
        ends = [os.pipe(), os.pipe()]
        if carrier == "sockets":
            for pair in ends:
                os.close(pair[0])
                os.close(pair[1])
            ends = [tuple(end.detach() for end in socket.socketpair()) for _ in range(2)]
        (theirs_in, self.input), (self.output, theirs_out) = ends
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", str(DOUBLE), *args],
            stdin=theirs_in,
            stdout=theirs_out,
            stderr=theirs_out if stderr == subprocess.STDOUT else stderr,
            env={**os.environ, **(env or {})},
            **more,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._rest = b""
        self.seen = []

    def say(self, *values):
        for value in values:
            data = value if isinstance(value, bytes) else json.dumps(value).encode() + b"\n"
            while data:
                data = data[os.write(self.input, data) :]

    def hang_up(self):
        os.close(self.input)
        self.input = None

    def line(self):
        """The next line of its output, b"" at the end."""
        pieces = [self._rest]
        while b"\n" not in pieces[-1]:
            assert select.select([self.output], [], [], IN_TIME_S)[0], "no line in time"
            piece = os.read(self.output, 1 << 20)
            pieces.append(piece)
            if not piece:
                break
        line, _, self._rest = b"".join(pieces).partition(b"\n")
        return line

    def reply(self, number):
        """The reply of this id; those before it are kept in `seen`."""
        while line := self.line():
            value = json.loads(line.decode("utf-8"))
            self.seen.append(value)
            if isinstance(value, dict) and value.get("id") == number:
                return value
        raise AssertionError(f"no reply to {number}")

    def call(self, method, params=None):
        number = f"{method} {len(self.seen)}"
        self.say(request(number, method, params))
        return self.reply(number)

    def end(self):
        """Its exit code and what it wrote to stderr."""
        if self.input is not None:
            self.hang_up()
        errors = self.process.stderr.read().decode() if self.process.stderr else ""
        code = self.process.wait(IN_TIME_S)
        while line := self.line():
            self.seen.append(json.loads(line))
        os.close(self.output)
        if self.process.stderr:
            self.process.stderr.close()
        return code, errors

    def peak_bytes(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return 1024 * int(status.split("VmHWM:")[1].split()[0])


@pytest.fixture(scope="module", params=["pipes", "sockets"])
def child(request):
    child = Child(carrier=request.param)
    child.say(HELLO)
    assert child.reply(1)["result"]["protocol"] == 1
    yield child
    code, errors = child.end()
    assert code == 0
    assert "Attempting recovery" in errors
    assert "straight to the descriptor" in errors
    assert "what a person said" not in errors
    assert "ValueError" in errors


@pytest.mark.promise("R75")
def test_what_a_library_prints_goes_to_stderr_and_every_line_of_stdout_is_a_reply(child):
    for _ in range(3):
        assert child.call("memory.get", {"id": "x"})["result"] == {"heard": {"id": "x"}, "stdin": ""}
    assert child.call("memory.search", {"query": "x"})["error"]["code"] == -32603


@pytest.mark.promise("R78")
def test_a_request_and_a_reply_of_a_megabyte_pass_in_both_directions(child):
    text = "Łódź → ★ 🔥" * 100_000
    assert child.call("memory.get", {"id": text})["result"]["heard"]["id"] == text
    child.say(*[request(f"big {n}", "memory.queue", {"limit": 600_000}) for n in range(5)])
    for n in range(5):
        assert len(child.reply(f"big {n}")["result"]["text"]) == 600_000


@pytest.mark.promise("R79")
@pytest.mark.promise("octop-P10")
def test_forty_megabytes_without_a_newline_are_refused_and_not_kept(child):
    before = child.peak_bytes()
    piece = b"A" * (1 << 20)
    child.say(*[piece] * 40, b"\n", request("next", "bridge.status"))
    assert "result" in child.reply("next")
    (refusal,) = [line for line in child.seen if line.get("error", {}).get("code") == -32600]
    assert refusal["id"] is None
    assert str(16 << 20) in refusal["error"]["message"]
    if sys.platform == "linux":
        assert child.peak_bytes() < max(before, 200 << 20)


@pytest.mark.promise("PUB-20")
@pytest.mark.promise("R80")
@pytest.mark.promise("octop-P2")
def test_a_bad_line_does_not_end_the_process(child):
    child.say(b"{this is not json\n", b"[" * 100_000 + b"\n", b'{"id":"\xff"}\n', request("good", "bridge.status"))
    child.seen.clear()
    assert "result" in child.reply("good")
    assert [(line["id"], line["error"]["code"]) for line in child.seen[:-1]] == [(None, -32700)] * 3


@pytest.mark.promise("R76")
@pytest.mark.promise("octop-P4")
def test_no_locale_and_no_encoding_of_python_changes_a_byte():
    child = Child(
        env={"PYTHONIOENCODING": "cp1252:strict", "PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}
    )
    heard = child.call("memory.store", {"text": "Łódź → ★ 明天 🔥"})
    assert heard["result"]["text"] == "Łódź → ★ 明天 🔥"
    child.say(b'{"jsonrpc":"2.0","id":7,"method":"memory.store","params":{"text":"\xff"}}\n')
    assert child.reply(None)["error"]["code"] == -32700
    assert "result" in child.call("bridge.status")
    assert child.end()[0] == 0


@pytest.mark.promise("R77")
@pytest.mark.promise("octop-P17")
@pytest.mark.parametrize("carrier", ["pipes", "sockets"])
def test_the_end_of_the_input_ends_the_process_while_a_model_is_asked(carrier):
    child = Child(carrier=carrier)
    child.say(HELLO, request(2, "memory.extract"), request(3, "memory.capture", {"messages": []}))
    assert "result" in child.reply(3)
    started = time.monotonic()
    child.hang_up()
    code, _ = child.end()
    assert code == 0
    assert time.monotonic() - started < 2
    assert [line["error"]["code"] for line in child.seen if line["id"] == 2] == [-32008]


def test_all_requests_at_once_and_then_the_end_are_all_answered():
    child = Child()
    child.say(HELLO, *[request(n, "memory.store", {"text": "x"}) for n in range(2, 50)])
    child.hang_up()
    assert child.end()[0] == 0
    assert {line["id"] for line in child.seen if "result" in line} == set(range(1, 50))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_process_in_order(number):
    child = Child()
    child.say(request(2, "memory.extract"), request(3, "bridge.status"))
    assert "result" in child.reply(3)
    started = time.monotonic()
    child.process.send_signal(number)
    assert child.process.wait(IN_TIME_S) == 0
    assert time.monotonic() - started < 2
    assert child.reply(2)["error"]["code"] == -32008
    assert child.end()[0] == 0


def test_a_write_that_hangs_does_not_keep_the_process():
    child = Child("--hang")
    child.say(request(2, "memory.capture", {"messages": []}), request(3, "bridge.status"))
    assert "result" in child.reply(3)
    child.hang_up()
    code, errors = child.end()
    assert code == 0
    assert "left by force" in errors
    assert stdio.LEAVE_S < 2


def test_a_peer_that_reads_no_more_is_gone():
    child = Child()
    child.say(HELLO)
    child.reply(1)
    os.close(child.output)
    child.output = os.open(os.devnull, os.O_RDONLY)
    child.say(request(2, "bridge.status"))
    assert child.process.wait(IN_TIME_S) == 0
    assert "Traceback" not in child.end()[1]


@pytest.mark.promise("octop-P14")
def test_a_wrong_setting_is_told_and_then_the_exit_code_is_2():
    child = Child("--config-error")
    child.say(HELLO)
    error = child.reply(1)["error"]
    assert (error["code"], error["data"]["kind"], error["data"]["path"]) == (-32602, "config", "store.dbb")
    assert child.process.poll() is None
    assert child.end()[0] == 2


def test_logs_and_replies_may_share_one_pipe():
    child = Child(stderr=subprocess.STDOUT)
    child.say(request("big", "memory.queue", {"limit": 600_000}))
    while b'"id":"big"' not in (line := child.line()):
        assert line
    assert len(json.loads(line)["result"]["text"]) == 600_000
    child.hang_up()
    assert child.process.wait(IN_TIME_S) == 0
    os.close(child.output)


def test_a_closed_stderr_is_no_hole_for_prints_to_fall_into():
    child = Child(stderr=None, preexec_fn=lambda: os.close(2))
    assert child.call("memory.get", {"id": "x"})["result"]["heard"] == {"id": "x"}
    assert child.end() == (0, "")


def test_files_serve_as_well(tmp_path):
    (tmp_path / "in").write_bytes(
        b"".join(json.dumps(line).encode() + b"\n" for line in (HELLO, request(2, "nothing")))
    )
    with (tmp_path / "in").open("rb") as given, (tmp_path / "out").open("wb") as taken:
        done = subprocess.run([sys.executable, str(DOUBLE)], stdin=given, stdout=taken, stderr=-3, check=False)
    assert done.returncode == 0
    replies = [json.loads(line) for line in (tmp_path / "out").read_bytes().splitlines()]
    assert [("result" in reply, reply["id"]) for reply in replies] == [(True, 1), (False, 2)]


def test_nothing_heavy_is_imported_with_the_wire():
    heavy = "anyio structlog jsonrpcserver jsonschema aiosqlite sqlite3 rich httpx numpy psycopg importlib.metadata"
    program = f"import sys, octop_bridge.server.stdio; print([name for name in {heavy.split()} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONPATH": "."},
    )
    assert done.stdout.strip() == "[]"


# The ends by themselves


async def read_out(fd, enough):
    """What arrives at a descriptor, read in a thread, until there is enough of it."""
    found = bytearray()
    while len(found) < enough and (piece := await asyncio.to_thread(os.read, fd, 1 << 16)):
        found += piece
    return bytes(found)


async def test_a_slow_reader_holds_up_its_replies_and_nobody_else():
    out, into = os.pipe()
    replies = stdio.Replies(into)
    data = os.urandom(1 << 20)
    writing = asyncio.create_task(replies.write(data))
    for _ in range(10):
        await asyncio.sleep(0)
    assert not writing.done()
    assert await read_out(out, len(data)) == data
    await writing
    other = os.dup(into)
    replies.close()
    assert os.get_blocking(other)
    os.close(other)
    os.close(out)


async def test_a_terminal_gets_its_replies_in_small_pieces_and_stays_blocking():
    master, slave = pty.openpty()
    tty.setraw(slave)
    shared = os.dup(slave)
    replies = stdio.Replies(slave)
    data = b"0123456789abcdef" * 10_000
    writing = asyncio.create_task(replies.write(data))
    assert await read_out(master, len(data)) == data
    await writing
    assert os.get_blocking(shared)
    replies.close()
    os.close(shared)
    os.close(master)


async def test_a_reader_that_has_gone_is_an_error_of_the_write():
    out, into = os.pipe()
    replies = stdio.Replies(into)
    writing = asyncio.create_task(replies.write(bytes(1 << 20)))
    await asyncio.sleep(0)
    os.close(out)
    with pytest.raises(BrokenPipeError):
        await writing
    replies.close()


async def test_requests_are_read_only_so_far_ahead_and_then_to_the_end(monkeypatch):
    monkeypatch.setattr(stdio, "HELD_BYTES_MAX", 1000)
    ours, theirs = socket.socketpair()
    requests = stdio.Requests(theirs.detach())
    ours.sendall(b"a")
    assert await requests.read() == b"a"
    ours.sendall(b"b" * 5000)
    while requests._listening:
        await asyncio.sleep(0)
    ours.sendall(b"c" * 5000)
    ours.close()
    assert await requests.read() == b"b" * 5000
    assert await requests.read() == b"c" * 5000
    assert await requests.read() == b""
    assert await requests.read() == b""
    requests.close()


async def test_a_reset_by_the_peer_is_the_end():
    listener = socket.create_server(("127.0.0.1", 0))
    ours = socket.create_connection(listener.getsockname())
    theirs, _ = listener.accept()
    requests = stdio.Requests(theirs.detach())
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
    ours.close()
    assert await requests.read() == b""
    requests.close()
    listener.close()


async def test_a_regular_file_is_read_to_its_end(tmp_path):
    (tmp_path / "in").write_bytes(b"x" * 300_000)
    requests = stdio.Requests(os.open(tmp_path / "in", os.O_RDONLY))
    assert b"".join([await requests.read(), await requests.read()]) == b"x" * 300_000
    assert await requests.read() == b""
    requests.close()
