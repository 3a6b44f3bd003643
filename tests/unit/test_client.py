"""The client against bridges that freeze, die, leave, start slowly and lie; its spool, its forks, its remains."""

from __future__ import annotations

import contextlib
import fcntl
import gc
import itertools
import json
import os
import select
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Empty, SimpleQueue

import pytest
from fake_daemon import HELLO, SILENT, FakeDaemon, Refusal

from octop_bridge import client_spool, client_wire
from octop_bridge.client import CallError, CallTimeout, Client, Unavailable

IN_TIME_S = 10
SLACK_S = 0.4
PROGRAM = Path(__file__).with_name("fake_daemon.py")
COMMAND = [sys.executable, "-I", "-S", str(PROGRAM)]
SOURCES = Path(client_wire.__file__).parent
TURN = {"messages": [{"role": "user", "content": "I own a boat"}], "identity": {"user_id": "ana"}}


@pytest.fixture
def home(monkeypatch):
    """A folder whose path is short enough for a socket. Bridges that were started in it do not outlive the test."""
    folder = Path(tempfile.mkdtemp(prefix="ob-"))
    monkeypatch.delenv("OCTOP_BRIDGE_HOME", raising=False)
    yield folder
    for start in starts(folder):
        with contextlib.suppress(ProcessLookupError):
            os.kill(start["pid"], signal.SIGKILL)
    shutil.rmtree(folder)


@pytest.fixture
def make(home):
    clients = []

    def build(namespace="default", **options):
        given = {"name": "test", "version": "1", "home": home, "command": COMMAND, **options}
        clients.append(Client(namespace, **given))
        return clients[-1]

    yield build
    for each in clients:
        each.close()


@pytest.fixture
def daemon(home):
    with FakeDaemon(home / "bridge.sock") as running:
        yield running


def starts(folder):
    return [json.loads(line) for path in folder.rglob("*.starts") for line in path.read_text().splitlines()]


def stored(folder):
    return [json.loads(line) for path in folder.rglob("*.store") for line in path.read_text().splitlines()]


def spooled(folder):
    return [json.loads(line) for path in folder.glob("spool-*.jsonl") for line in path.read_text().splitlines()]


def rejected(folder):
    return [line for path in folder.glob("spool-*.rejected") for line in path.read_bytes().splitlines()]


def turn(number):
    return {**TURN, "key": f"k{number}", "messages": [{"role": "user", "content": f"number {number}"}]}


def put_lines(client, *lines):
    path = client._spool.path
    path.write_bytes(b"".join(lines))
    return path


def line_of(number, **changes):
    params = {**turn(number), "messages": [{"role": "user", "content": "x", "timestamp": 5}]}
    entry = {"v": 1, "namespace": "default", "key": f"k{number}", "local": False, "at_ms": 5, "params": params}
    return json.dumps({**entry, **changes}).encode() + b"\n"


@contextlib.contextmanager
def within(seconds):
    begun = time.monotonic()
    yield
    assert time.monotonic() - begun < seconds


def wait_for_end(pid):
    """Wait until a process that need not be our child has ended."""
    with contextlib.suppress(ProcessLookupError):
        descriptor = os.pidfd_open(pid)
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        assert poll.poll(IN_TIME_S * 1000), "still runs"
        os.close(descriptor)


def heard(peer, method):
    """The next message of this method that the daemon heard from the peer."""
    while (message := peer.heard.get(timeout=IN_TIME_S)).get("method") != method:
        pass
    return message


# Calls


def test_a_call_answers_and_hello_comes_first_and_says_who_asks(daemon, make):
    client = make(
        "hermes.work", role="person", token="secret", local=True, identity={"user_id": "ana"}, serve=lambda params: {}
    )
    assert client.call("memory.search", {"query": "boat"}) == {"echo": {"query": "boat"}}
    assert daemon.calls[0] == (
        "bridge.hello",
        {
            "protocol": 1,
            "client": {"name": "test", "version": "1"},
            "namespace": "hermes.work",
            "role": "person",
            "local": True,
            "token": "secret",
            "identity": {"user_id": "ana"},
            "offers": ["host.complete"],
        },
    )
    state = client.state()
    assert (state["connected"], state["degraded"], state["since_ms"], state["hello"]) == (True, None, None, HELLO)


def test_an_error_is_raised_as_the_bridge_gave_it(daemon, make):
    def refuse(peer, params, number):
        raise Refusal(-32002, "moved", kind="conflict", retryable=False)

    daemon.on["memory.review"] = refuse
    with pytest.raises(CallError, match="moved") as caught:
        make().call("memory.review", {})
    assert (caught.value.code, caught.value.data) == (-32002, {"kind": "conflict", "retryable": False})


def test_threads_share_one_connection_and_answers_in_any_order_find_their_callers(daemon, make):
    held = SimpleQueue()

    def hold(peer, params, number):
        held.put((peer, params, number))
        return SILENT

    daemon.on["memory.get"] = hold
    client = make()
    with ThreadPoolExecutor(8) as pool:
        answers = [pool.submit(client.call, "memory.get", {"id": number}) for number in range(8)]
        asked = [held.get(timeout=IN_TIME_S) for _ in range(8)]
        for peer, params, number in reversed(asked):
            peer.send({"id": number, "result": {"of": params["id"]}})
        assert [answer.result(IN_TIME_S)["of"] for answer in answers] == list(range(8))
    assert daemon.methods().count("bridge.hello") == 1


def test_a_call_that_times_out_is_cancelled_and_its_late_answer_is_nobody_elses(daemon, make):
    daemon.on["memory.get"] = lambda peer, params, number: SILENT
    client = make()
    client.call("bridge.status")
    peer = daemon.joined.get(timeout=IN_TIME_S)
    with within(0.2 + SLACK_S), pytest.raises(CallTimeout):
        client.call("memory.get", {}, timeout=0.2)
    late = heard(peer, "memory.get")["id"]
    assert heard(peer, "$/cancelRequest")["params"] == {"id": late}
    peer.send({"id": late, "result": {"late": True}})
    assert client.call("memory.search", {"query": "now"}) == {"echo": {"query": "now"}}
    assert daemon.methods().count("bridge.hello") == 1


def test_progress_is_told_in_the_calling_thread(daemon, make):
    def work(peer, params, number):
        for done in (1, 2):
            peer.send({"method": "$/progress", "params": {"token": params["progress_token"], "done": done}})
        peer.send({"method": "$/progress", "params": {"token": "another", "done": 9}})
        return {}

    daemon.on["memory.reindex"] = work
    told = []
    make().call("memory.reindex", progress=lambda params: told.append((params["done"], threading.current_thread())))
    assert told == [(1, threading.current_thread()), (2, threading.current_thread())]


def test_what_is_no_protocol_ends_the_connection_and_the_next_call_has_another(daemon, make):
    daemon.on["memory.store"] = lambda peer, params, number: peer.send(b"]nonsense\n") or SILENT
    client = make()
    with pytest.raises(Unavailable, match="outcome unknown: .* not the protocol"):
        client.call("memory.store", {})
    assert client.call("bridge.status") == {"echo": {}}
    assert daemon.methods().count("bridge.hello") == 2


def test_a_request_longer_than_a_bridge_reads_is_refused_here(daemon, make, monkeypatch):
    monkeypatch.setattr(client_wire, "LINE_BYTES_MAX", 1000)
    client = make()
    with pytest.raises(CallError, match="1000") as caught:
        client.capture({"messages": [{"role": "user", "content": "x" * 1000}]})
    assert caught.value.code == -32005
    assert spooled(client._places.home) == []
    assert client.capture(TURN)["stored"] == 1


# The bridge's own requests


def ask(peer, number, method="host.complete", **params):
    peer.send({"id": number, "method": method, "params": params})


def answer_of(peer, number):
    while (message := peer.heard.get(timeout=IN_TIME_S)).get("id") != number or "method" in message:
        pass
    return message


def test_host_complete_is_answered_beside_the_calls_and_a_hosts_secrets_stay_there(daemon, make):
    def complete(params):
        if params["user"] == "fail":
            raise RuntimeError("key sk-123 is wrong")
        if params["user"] == "refuse":
            raise CallError(-32006, "no model", {"kind": "model_unavailable", "retryable": True})
        return {"text": params["user"], "on": threading.current_thread().name}

    client = make(serve=complete)
    client.call("bridge.status")
    peer = daemon.joined.get(timeout=IN_TIME_S)
    ask(peer, "h1", user="hello")
    assert answer_of(peer, "h1")["result"] == {"text": "hello", "on": "octop-bridge-serve"}
    ask(peer, "h2", user="fail")
    failed = answer_of(peer, "h2")["error"]
    assert failed["code"] == -32006
    assert "RuntimeError" in failed["message"]
    assert "sk-123" not in json.dumps(failed)
    ask(peer, "h3", user="refuse")
    assert answer_of(peer, "h3")["error"]["data"]["retryable"] is True
    ask(peer, "h4", method="host.format_disk")
    assert answer_of(peer, "h4")["error"]["code"] == -32601


def test_a_client_without_a_model_refuses_to_complete(daemon, make):
    make().call("bridge.status")
    peer = daemon.joined.get(timeout=IN_TIME_S)
    assert "offers" not in peer.hello
    ask(peer, "h1", user="hello")
    assert answer_of(peer, "h1")["error"]["code"] == -32601


def test_a_cancelled_completion_is_answered_once_and_holds_up_nothing(daemon, make):
    entered, leave = threading.Event(), threading.Event()

    def complete(params):
        entered.set()
        leave.wait(IN_TIME_S)
        return {"text": "late"}

    client = make(serve=complete)
    client.call("bridge.status")
    peer = daemon.joined.get(timeout=IN_TIME_S)
    ask(peer, "h1", user="slow")
    assert entered.wait(IN_TIME_S)
    assert client.call("memory.search") == {"echo": {}}
    peer.send({"method": "$/cancelRequest", "params": {"id": "h1"}})
    assert answer_of(peer, "h1")["error"]["code"] == -32800
    leave.set()
    ask(peer, "h2", method="unknown")
    answer_of(peer, "h2")
    with pytest.raises(Empty):
        peer.heard.get_nowait()


# Connections that end


def drop_first(daemon, method, then):
    """Drop the connection at the first request of this kind, after it was carried out."""
    turns = itertools.count()

    def handler(peer, params, number):
        result = then(peer, params, number)
        if next(turns) == 0:
            peer.drop()
            return SILENT
        return result

    daemon.on[method] = handler


@pytest.mark.promise("R83")
def test_a_read_is_sent_again_when_its_connection_ends(daemon, make):
    drop_first(daemon, "memory.search", lambda peer, params, number: {"hits": []})
    assert make().call("memory.search", {"query": "boat"}) == {"hits": []}
    assert daemon.methods().count("memory.search") == 2


@pytest.mark.promise("R86")
def test_a_capture_is_sent_again_with_its_key_and_stored_once(daemon, make):
    drop_first(daemon, "memory.capture", daemon.keep)
    client = make()
    assert client.capture(TURN)["duplicates"] == 1
    first, second = [params for method, params in daemon.calls if method == "memory.capture"]
    assert first == second
    assert len(daemon.captured) == 1
    assert spooled(client._places.home) == []


@pytest.mark.promise("R86")
def test_another_write_is_never_sent_twice(daemon, make):
    drop_first(daemon, "memory.store", lambda peer, params, number: {})
    client = make()
    with pytest.raises(Unavailable, match="outcome unknown"):
        client.call("memory.store", {"text": "I own a boat"})
    assert daemon.methods().count("memory.store") == 1
    assert client.call("memory.store", {"text": "I own a boat"}) == {}


def test_one_that_is_leaving_has_done_nothing_so_the_next_is_asked(daemon, make):
    turns = itertools.count()

    def leave(peer, params, number):
        if next(turns) == 0:
            raise Refusal(-32008, "leaving", kind="shutting_down", retryable=True)
        return {"atom_id": "at_1"}

    daemon.on["memory.store"] = leave
    assert make().call("memory.store", {}) == {"atom_id": "at_1"}
    assert daemon.methods().count("bridge.hello") == 2


def test_a_bridge_that_left_for_idleness_is_met_again_at_the_next_call(home, make):
    client = make(spawn=False)
    for _ in range(2):
        with FakeDaemon(home / "bridge.sock") as running:
            assert client.call("bridge.status") == {"echo": {}}
            assert running.methods() == ["bridge.hello", "bridge.status"]
    with pytest.raises(Unavailable, match="no bridge is running"):
        client.call("bridge.status")
    assert client.state()["degraded"] == "no bridge is running"


def test_close_ends_the_calls_under_way_and_a_capture_after_it_is_spooled(daemon, make, home):
    entered = threading.Event()
    daemon.on["memory.extract"] = lambda peer, params, number: entered.set() or SILENT
    client = make()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(client.call, "memory.extract", {}, timeout=60)
        assert entered.wait(IN_TIME_S)
        with within(1):
            client.close()
        with pytest.raises(Unavailable, match="closed"):
            waiting.result(IN_TIME_S)
    with pytest.raises(Unavailable, match="closed"):
        client.call("bridge.status")
    assert client.capture(TURN)["spooled"] is True
    assert len(spooled(home)) == 1


# Frozen


def frozen(daemon):
    """From now on the daemon reads nothing that comes after hello; set what is returned to thaw it."""
    thaw = threading.Event()
    daemon.on["bridge.hello"] = lambda peer, params, number: HELLO
    daemon.on["freeze"] = lambda peer, params, number: thaw.wait(IN_TIME_S) and SILENT
    return thaw


def test_a_frozen_bridge_costs_a_caller_the_deadline_whatever_is_sent(daemon, make, home):
    thaw = frozen(daemon)
    client = make()
    client.call("bridge.status")
    with pytest.raises(CallTimeout):
        client.call("freeze", timeout=0.05)
    try:
        with within(0.2 + SLACK_S), pytest.raises(CallTimeout):
            client.call("memory.search", {"query": "boat"}, timeout=0.2)
        # More than the socket takes: the write itself has to end.
        big = {"messages": [{"role": "user", "content": "x" * 4_000_000}]}
        with within(0.2 + SLACK_S):
            assert client.capture(big, timeout=0.2)["spooled"] is True
        assert len(spooled(home)) == 1
    finally:
        thaw.set()


def test_many_callers_of_a_frozen_bridge_wait_beside_each_other(daemon, make):
    thaw = frozen(daemon)
    client = make()
    with pytest.raises(CallTimeout):
        client.call("freeze", timeout=0.1)
    try:
        with within(0.3 + SLACK_S), ThreadPoolExecutor(10) as pool:
            calls = [pool.submit(client.call, "memory.get", {"id": "x" * 100_000}, timeout=0.3) for _ in range(10)]
            assert {type(call.exception(IN_TIME_S)) for call in calls} <= {CallTimeout, Unavailable}
    finally:
        thaw.set()


def test_a_hello_that_is_not_answered_costs_the_deadline_and_then_nothing(daemon, make):
    daemon.on["bridge.hello"] = lambda peer, params, number: SILENT
    now = [0.0]
    client = make(connect_timeout_s=0.2, ticks=lambda: now[0], clock=lambda: 7.0)
    with within(1.4 + SLACK_S), pytest.raises(Unavailable, match="does not answer"):
        client.call("bridge.status", timeout=5)
    with within(0.1), pytest.raises(Unavailable, match="does not answer"):
        client.call("bridge.status", timeout=5)
    assert daemon.methods().count("bridge.hello") == 3
    state = client.state()
    assert (state["connected"], state["since_ms"], state["retry_in_s"]) == (False, 7000, 1.0)
    daemon.on["bridge.hello"] = lambda peer, params, number: HELLO
    now[0] += 1.1
    assert client.call("bridge.status") == {"echo": {}}
    assert client.state()["degraded"] is None


def test_a_full_queue_of_connections_costs_the_deadline(home, make):
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket(socket.AF_UNIX))
        listener.bind(str(home / "bridge.sock"))
        listener.listen(0)
        with contextlib.suppress(BlockingIOError):
            for _ in range(100):
                one = stack.enter_context(socket.socket(socket.AF_UNIX))
                one.setblocking(False)
                one.connect(str(home / "bridge.sock"))
        with within(0.3 + SLACK_S), pytest.raises(Unavailable):
            make().call("bridge.status", timeout=0.3)
    assert starts(home) == []


# Pauses


@pytest.mark.promise("R88")
def test_three_tries_then_a_pause_that_grows_in_which_nothing_is_started(home, make, monkeypatch):
    monkeypatch.setattr(client_wire, "_BACKOFF_S", 0.01)
    attempts = home / "attempts"
    now = [100.0]
    script = f"echo x >> {attempts}; exit 1"
    client = make(command=["/bin/sh", "-c", script, "octop-bridge"], ticks=lambda: now[0])

    def tries():
        return len(attempts.read_text().splitlines())

    with pytest.raises(Unavailable, match="ended while it started"):
        client.call("bridge.status")
    assert tries() == 3
    pauses = []
    for _ in range(8):
        with within(0.1), pytest.raises(Unavailable, match="ended while it started"):
            client.call("bridge.status")
        pauses.append(client.state()["retry_in_s"])
        now[0] += pauses[-1]
        with pytest.raises(Unavailable):
            client.call("bridge.status")
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60]
    assert tries() == 3 + 8
    client._command = COMMAND
    now[0] += 60
    assert client.call("pid")["pid"] == starts(home)[0]["pid"]
    assert client.state()["degraded"] is None


def test_a_bridge_that_dies_of_every_request_is_paused_for_too(daemon, make, monkeypatch):
    monkeypatch.setattr(client_wire, "_BACKOFF_S", 0.01)
    daemon.on["memory.search"] = lambda peer, params, number: peer.drop() or SILENT
    now = [100.0]
    client = make(ticks=lambda: now[0])
    for _ in range(3):
        with pytest.raises(Unavailable):
            client.call("memory.search")
    assert daemon.methods().count("memory.search") == 3
    now[0] += 1
    assert client.call("bridge.status") == {"echo": {}}


def test_a_version_that_is_not_served_is_final_and_captures_wait_for_a_better_one(daemon, make, home):
    def refuse(peer, params, number):
        raise Refusal(-32009, "protocol 1 is not served")

    daemon.on["bridge.hello"] = refuse
    now = [0.0]
    client = make(ticks=lambda: now[0])
    for _ in range(2):
        with pytest.raises(Unavailable, match="protocol 1 is not served"):
            client.call("bridge.status")
        now[0] += 3600
    assert daemon.methods() == ["bridge.hello"]
    assert client.capture(TURN)["spooled"] is True


# Starting one


def test_one_that_is_started_is_nobodys_child_and_is_told_no_secret(home, make, monkeypatch):
    monkeypatch.setenv("OCTOP_BRIDGE_OPERATOR_TOKEN", "secret-1")
    client = make(role="person", token="secret-2")
    pid = client.call("pid")["pid"]
    (fact,) = starts(home)
    assert fact["pid"] == pid
    assert fact["argv"][1:] == ["serve", "--socket", str(home / "bridge.sock")]
    assert (fact["cwd"], fact["stdin"], fact["token"], fact["home"]) == ("/", "/dev/null", None, str(home))
    assert fact["sid"] != os.getsid(0)
    command_line = Path(f"/proc/{pid}/cmdline")
    assert not command_line.exists() or b"secret" not in command_line.read_bytes()
    assert stat.S_IMODE((home / "bridge.log").stat().st_mode) == 0o600
    assert '"ready"' in (home / "bridge.log").read_text()
    with pytest.raises(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
    assert client.call("bridge.status") == {"echo": {}}
    assert client.state()["counters"]["started"] == 1


@pytest.mark.promise("R88")
@pytest.mark.promise("R91")
def test_twenty_that_want_a_bridge_at_once_start_one(home, make):
    """Clients in threads here, and in processes of their own."""
    program = f"""
import sys; sys.path.insert(0, {str(SOURCES)!r})
import client
one = client.Client(name="t", version="1", home={str(home)!r}, command={COMMAND!r})
sys.stdin.read()
print(one.call("pid", timeout=10)["pid"])
one.close()
"""
    words = [sys.executable, "-I", "-S", "-c", program]
    processes = [subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(6)]
    gate = threading.Barrier(14)

    def ask_pid():
        client = make()
        gate.wait(IN_TIME_S)
        return client.call("pid", timeout=IN_TIME_S)["pid"]

    with ThreadPoolExecutor(14) as pool:
        for process in processes:
            process.stdin.close()
            process.stdin = None
        answers = [pool.submit(ask_pid) for _ in range(14)]
        pids = [answer.result(IN_TIME_S) for answer in answers]
    pids += [int(process.communicate(timeout=IN_TIME_S)[0]) for process in processes]
    assert len(starts(home)) == 1
    assert set(pids) == {starts(home)[0]["pid"]}


def test_a_caller_with_less_time_than_a_start_takes_leaves_it_to_the_next(home, make, monkeypatch):
    gate = home / "gate"
    os.mkfifo(gate)
    monkeypatch.setenv("FAKE_GATE", str(gate))
    client, other = make(), make()
    for each in (client, client, other):
        with within(0.3 + SLACK_S), pytest.raises(Unavailable, match="still starting"):
            each.call("pid", timeout=0.3)
    gate.write_text("now")
    assert client.call("pid") == other.call("pid")
    assert len(starts(home)) == 1


def test_no_program_is_a_reason_and_not_a_traceback(home, make):
    client = make(command=None, connect_timeout_s=0.1)
    client._command = str(home / "no-such-program")
    with pytest.raises(Unavailable, match=r"bridge\.log says why"):
        client.call("bridge.status", timeout=2)
    assert "no-such-program" in (home / "bridge.log").read_text()


def test_the_command_is_found_here_or_on_the_path(monkeypatch, tmp_path):
    assert client_spool.command_of("octop-bridge") == ["octop-bridge"]
    assert client_spool.command_of(["uvx", "octop-bridge"]) == ["uvx", "octop-bridge"]
    assert client_spool.command_of(None) == [sys.executable, "-m", "octop_bridge"]
    monkeypatch.setattr(client_spool.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FileNotFoundError):
        client_spool.command_of(None)
    program = tmp_path / "octop-bridge"
    program.touch(0o700)
    assert client_spool.command_of(None) == [str(program)]


def test_a_long_log_is_moved_aside(home, make, monkeypatch):
    monkeypatch.setattr(client_spool, "LOG_BYTES_MAX", 10)
    (home / "bridge.log").write_text("a long story")
    make().call("bridge.status")
    assert (home / "bridge.log.1").read_text() == "a long story"
    assert "long story" not in (home / "bridge.log").read_text()


@pytest.mark.promise("R83")
@pytest.mark.promise("R87")
def test_killed_under_load_it_is_started_again_and_every_capture_is_stored_once(home, make):
    client = make()
    kills = {10, 30, 50}
    done = itertools.count(1)
    lock = threading.Lock()

    def work(first):
        for number in range(first, first + 10):
            client.capture(turn(number), timeout=5)
            with lock:
                if next(done) in kills:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(starts(home)[-1]["pid"], signal.SIGKILL)

    with ThreadPoolExecutor(8) as pool:
        for each in [pool.submit(work, first) for first in range(0, 80, 10)]:
            each.result(60)
    client.call("bridge.status")
    client.capture(turn(80))
    keys = [row["key"] for row in stored(home)]
    assert sorted(keys) == sorted(f"k{number}" for number in range(81))
    assert client.state()["spool"] == {"pending": 0, "bytes": 0, "rejected": 0}
    assert len(starts(home)) >= 4


def test_a_stopped_process_costs_the_deadline_and_its_captures_come_after_it_goes_on(home, make):
    client = make()
    pid = client.call("pid")["pid"]
    os.kill(pid, signal.SIGSTOP)
    with within(0.2 + SLACK_S):
        assert client.capture(turn(1), timeout=0.2)["reason"] == "the bridge did not answer in time"
    with within(0.2 + SLACK_S), pytest.raises(CallTimeout):
        client.call("memory.search", timeout=0.2)
    os.kill(pid, signal.SIGCONT)
    assert client.capture(turn(2))["stored"] == 1
    assert [row["key"] for row in stored(home)] == ["k1", "k2"]
    assert spooled(home) == []
    assert client.state()["counters"] | {"calls": 0} == {
        "calls": 0,
        "connected": 1,
        "replayed": 1,
        "spooled": 1,
        "started": 1,
        "timeouts": 2,
    }


# The spool


@pytest.mark.promise("R87")
def test_a_capture_that_finds_no_bridge_is_on_the_disk_as_it_will_be_sent(home, make):
    client = make(spawn=False, local=True, identity={"user_id": "ana"}, clock=lambda: 1.5)
    messages = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b", "timestamp": 3}]
    given = {"messages": messages, "key": "mine"}
    answer = client.capture(given)
    assert answer == {"spooled": True, "key": "mine", "reason": "no bridge is running"}
    assert given == {"messages": messages, "key": "mine"}
    assert spooled(home) == [
        {
            "v": 1,
            "namespace": "default",
            "key": "mine",
            "local": True,
            "at_ms": 1500,
            "params": {
                "messages": [
                    {"role": "user", "content": "a", "timestamp": 1500},
                    {"role": "assistant", "content": "b", "timestamp": 3},
                ],
                "key": "mine",
                "identity": {"user_id": "ana"},
            },
        }
    ]
    assert stat.S_IMODE(client._spool.path.stat().st_mode) == 0o600
    assert client._spool.path.name == "spool-37a8eec1ce19687d.jsonl"
    assert len(client.capture({"messages": []})["key"]) == 32
    state = client.state()
    assert state["spool"]["pending"] == 2
    assert state["spool"]["bytes"] == client._spool.path.stat().st_size
    assert state["degraded"] == "no bridge is running"


@pytest.mark.promise("R87")
def test_what_was_spooled_is_stored_before_the_next_capture_in_order_and_once(home, make):
    client = make(spawn=False)
    for number in range(3):
        client.capture(turn(number))
    with FakeDaemon(home / "bridge.sock") as daemon:
        client.capture(turn(3))
        client.capture(turn(4))
        assert list(daemon.captured) == ["k0", "k1", "k2", "k3", "k4"]
        assert daemon.methods().count("memory.capture") == 5
    assert client._spool.path.read_bytes() == b""
    assert sorted(path.name for path in home.glob("spool-*")) == [client._spool.path.name]


@pytest.mark.promise("R86")
def test_one_that_timed_out_and_was_stored_all_the_same_is_the_same_when_it_is_replayed(daemon, make):
    turns = itertools.count()

    def late(peer, params, number):
        result = daemon.keep(peer, params, number)
        return SILENT if next(turns) == 0 else result

    daemon.on["memory.capture"] = late
    client = make(identity={"user_id": "ana"})
    assert client.capture({"messages": [{"role": "user", "content": "x"}]}, timeout=0.1)["spooled"] is True
    client.capture(TURN)
    assert client.state()["spool"] == {"pending": 0, "bytes": 0, "rejected": 0}
    assert len(daemon.captured) == 2


def test_broken_lines_are_set_aside_and_hold_up_nothing(daemon, make, home):
    client = make()
    path = put_lines(client, line_of(1), b'{"v":1,"broken\n', b"[1]\n", b'{"v":1}\n', line_of(2), b'{"v":1,"torn')
    client.capture(turn(3))
    assert list(daemon.captured) == ["k1", "k2", "k3"]
    assert rejected(home) == [b'{"v":1,"broken', b"[1]", b'{"v":1}']
    assert path.read_bytes() == b""
    assert client.state()["spool"] == {"pending": 0, "bytes": 0, "rejected": 3}


def test_a_torn_line_takes_nothing_with_it_that_is_spooled_after_it(home, make):
    client = make(spawn=False)
    put_lines(client, line_of(1), b'{"v":1,"torn')
    client.capture(turn(2))
    with FakeDaemon(home / "bridge.sock") as daemon:
        client.capture(turn(3))
        assert list(daemon.captured) == ["k1", "k2", "k3"]


def test_a_last_line_that_only_lacks_its_end_is_whole(daemon, make):
    client = make()
    put_lines(client, line_of(1).rstrip(b"\n"))
    client.capture(turn(2))
    assert list(daemon.captured) == ["k1", "k2"]


@pytest.mark.parametrize(
    ("code", "delivered", "left", "aside"),
    [
        (-32602, ["k2"], [], ["k1"]),
        (-32005, ["k2"], [], ["k1"]),
        (-32603, ["k2"], ["k1"], []),
        (-32004, ["k2"], ["k1"], []),
        (-32007, [], ["k1", "k2"], []),
        (-32008, [], ["k1", "k2"], []),
    ],
)
def test_what_an_error_means_for_a_line_of_the_spool(daemon, make, home, code, delivered, left, aside):
    def fussy(peer, params, number):
        if params["key"] == "k1":
            raise Refusal(code)
        return daemon.keep(peer, params, number)

    daemon.on["memory.capture"] = fussy
    client = make()
    put_lines(client, line_of(1), line_of(2))
    client.capture(turn(3))
    assert list(daemon.captured) == [*delivered, "k3"]
    assert [line["key"] for line in spooled(home)] == left
    assert [json.loads(line)["key"] for line in rejected(home)] == aside


def test_a_capture_that_can_never_be_stored_is_raised_and_one_that_can_is_spooled(daemon, make, home):
    codes = iter([-32602, -32005, -32004, -32007, -32603])

    def refuse(peer, params, number):
        raise Refusal(next(codes))

    daemon.on["memory.capture"] = refuse
    client = make()
    for _ in range(3):
        with pytest.raises(CallError):
            client.capture(TURN)
    assert spooled(home) == []
    assert client.capture(TURN)["spooled"] is True


def test_lines_of_others_stay_for_them(daemon, make, home):
    client = make()
    later = b'{"v":2,"something":"new"}\n'
    others = [line_of(1, local=True), line_of(2, namespace="another"), later]
    path = put_lines(client, *others)
    client.capture(turn(3))
    assert path.read_bytes() == b"".join(others)
    path.write_bytes(b"".join([*others, line_of(4)]))
    client.capture(turn(5))
    assert path.read_bytes() == b"".join(others)
    assert list(daemon.captured) == ["k3", "k4", "k5"]


def test_a_full_spool_refuses_the_newest_and_says_so(home, make):
    client = make(spawn=False)
    client.capture(turn(1))
    client._spool.bytes_max = client._spool.path.stat().st_size + 20
    with pytest.raises(Unavailable, match="the spool is full"):
        client.capture(turn(2))
    assert client.state()["counters"]["spool_full"] == 1
    assert [line["key"] for line in spooled(home)] == ["k1"]


def test_without_a_spool_a_capture_that_cannot_be_delivered_is_an_error(home, make):
    client = make(spawn=False, spool=False)
    with pytest.raises(Unavailable, match="no bridge is running"):
        client.capture(TURN)
    assert list(home.iterdir()) == []


def test_a_spool_that_another_process_holds_is_passed_by_and_waited_for_a_little(daemon, make, monkeypatch):
    monkeypatch.setattr("octop_bridge.client._SPOOL_S_MIN", 0.1)
    client = make()
    path = put_lines(client, line_of(1))
    with path.open("rb+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        client.capture(turn(2))
        assert list(daemon.captured) == ["k2"]
        daemon.on["memory.capture"] = lambda peer, params, number: SILENT
        with within(0.2 + SLACK_S), pytest.raises(Unavailable, match="locked"):
            client.capture(turn(3), timeout=0.1)
    daemon.on["memory.capture"] = daemon.keep
    client.capture(turn(4))
    assert list(daemon.captured) == ["k2", "k1", "k4"]


def test_a_death_while_the_spool_is_shortened_loses_nothing(daemon, make, home, monkeypatch):
    def fussy(peer, params, number):
        if params["key"] == "k2":
            raise Refusal(-32007)
        return daemon.keep(peer, params, number)

    daemon.on["memory.capture"] = fussy
    client = make()
    path = put_lines(client, line_of(1), line_of(2), line_of(3))

    def die(descriptor, content, offset):
        os.ftruncate(descriptor, 30)
        raise OSError(5, "dead")

    with monkeypatch.context() as patch:
        patch.setattr(client_spool.os, "pwrite", die)
        client.capture(turn(4))
    assert client.state()["counters"]["replay_failed"] == 1
    assert path.stat().st_size == 30
    daemon.on["memory.capture"] = daemon.keep
    client.capture(turn(5))
    assert list(daemon.captured) == ["k1", "k4", "k2", "k3", "k5"]
    assert sorted(each.name for each in home.glob("spool-*.rest")) == []


def test_a_disk_that_is_full_leaves_no_part_of_a_line(home, make, monkeypatch):
    client = make(spawn=False)
    client.capture(turn(1))
    before = client._spool.path.read_bytes()
    write = os.pwrite
    with monkeypatch.context() as patch:
        patch.setattr(client_spool.os, "pwrite", lambda descriptor, content, at: write(descriptor, content[:9], at))
        with pytest.raises(Unavailable, match="disk is full"):
            client.capture(turn(2))
    assert client._spool.path.read_bytes() == before
    assert client.state()["counters"]["spool_failed"] == 1


# Places


@pytest.mark.promise("R85")
def test_a_home_with_a_long_path_has_a_short_socket_in_a_folder_of_ones_own(home, make, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(home))
    deep = home / ("d" * 130)
    client = make(home=deep)
    path = client.state()["socket"]
    assert len(path) <= 103
    assert Path(path).parent == home / "octop-bridge"
    assert client.call("pid")["pid"] == starts(home)[0]["pid"]
    assert stat.S_IMODE(Path(path).parent.stat().st_mode) == 0o700
    assert (deep / "bridge.log").exists()
    client.close()
    Path(path).parent.chmod(0o755)
    with pytest.raises(Unavailable, match="not this user's alone"):
        make(home=deep).call("pid", timeout=0.1)


def test_a_short_folder_that_is_a_link_is_not_trusted(home, make, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(home))
    (home / "elsewhere").mkdir(0o700)
    (home / "octop-bridge").symlink_to(home / "elsewhere")
    with pytest.raises(Unavailable, match="not this user's alone"):
        make(home=home / ("d" * 130)).call("pid", timeout=0.1)
    assert starts(home) == []


def test_where_things_lie(home, monkeypatch):
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", "/tmp")
    at = client_spool.places("é", home)
    same = client_spool.places("e\u0301", home)
    assert (at.socket, at.log, at.db) == (str(home / "bridge.sock"), home / "bridge.log", None)
    assert (
        at.spool == same.spool == home / "spool-4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c"[:0]
        or at
    )
    (home / "link").symlink_to(home / "m.sqlite")
    beside = client_spool.places("x", home, home / "link")
    assert (beside.db, beside.socket) == (str(home / "m.sqlite"), str(home / "m.sqlite.sock"))
    assert beside.spool == home / "m.sqlite.spool.jsonl"
    long = client_spool.places("x", home / ("d" * 130))
    assert long.hashed
    assert Path(long.socket).parent == Path(f"/tmp/octop-bridge-{os.getuid()}")
    monkeypatch.setenv("OCTOP_BRIDGE_HOME", str(home / "a" / ".." / "b"))
    assert client_spool.home_folder() == home / "b"
    monkeypatch.delenv("OCTOP_BRIDGE_HOME")
    if sys.platform != "darwin":
        monkeypatch.setenv("XDG_DATA_HOME", str(home))
        assert client_spool.home_folder() == home / "octop-bridge"
        monkeypatch.setenv("XDG_DATA_HOME", "relative")
        assert client_spool.home_folder() == Path.home() / ".local" / "share" / "octop-bridge"


def test_the_places_are_those_that_the_bridge_itself_reckons(home, monkeypatch):
    from octop_bridge import places

    for name, value in [("OCTOP_BRIDGE_HOME", str(home)), ("XDG_DATA_HOME", str(home)), ("XDG_DATA_HOME", "x")]:
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            assert client_spool.home_folder() == places.home()


# Forks, remains, ends


def in_a_fork(work):
    """What the work returned in a fork of this process."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # Forking beside threads is what is tested.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        try:
            os.write(writing, json.dumps(work()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as file:
        text = file.read()
    os.waitpid(pid, 0)
    return json.loads(text)


def test_a_fork_has_its_own_connection_and_leaves_its_parents_alone(daemon, make):
    client = make()
    assert client.call("memory.get", {"id": 1}) == {"echo": {"id": 1}}
    # The lock of another thread of the parent's is nobody's to release in the child.
    with client._connecting, client._counting:
        assert in_a_fork(lambda: client.call("memory.get", {"id": 2})) == {"echo": {"id": 2}}
    assert client.call("memory.get", {"id": 3}) == {"echo": {"id": 3}}
    assert daemon.methods().count("bridge.hello") == 2


def test_a_fork_that_never_asks_does_not_hold_the_connection_open(daemon, make):
    client = make()
    client.call("bridge.status")
    peer = daemon.joined.get(timeout=IN_TIME_S)
    assert in_a_fork(lambda: client._conn is None) is True
    assert client.call("bridge.status") == {"echo": {}}
    assert peer.hello["protocol"] == 1


def remains():
    handles = len(os.listdir("/dev/fd"))
    return handles, [each.name for each in threading.enumerate() if each.name.startswith("octop-bridge")]


@pytest.mark.promise("R91")
def test_two_hundred_connections_leave_no_handle_thread_or_process(home, make):
    make().call("pid")
    before = remains()
    for _ in range(200):
        with Client(name="t", version="1", home=home, command=COMMAND) as client:
            client.call("bridge.status")
    assert remains() == before
    assert len(starts(home)) == 1
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


@pytest.mark.promise("R91")
def test_clients_that_a_host_forgets_leave_nothing_either(daemon, home):
    before = remains()
    for _ in range(20):
        client = Client(name="t", version="1", home=home)
        client.call("bridge.status")
        reader = client._conn._reader
        del client
        gc.collect()
        reader.join(IN_TIME_S)
        assert not reader.is_alive()
    assert remains()[1] == before[1]


PROGRAM_THAT_ENDS = """
import atexit, os, signal, sys
sys.path.insert(0, sys.argv[1])
import client
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
one = client.Client(name="t", version="1", home=sys.argv[2], command=eval(sys.argv[3]))
pid = one.call("pid")["pid"]
two = client.Client(name="t", version="1", home=sys.argv[2] + "/other", command=["/bin/false"])
atexit.register(lambda: print(two.capture({"messages": []}, timeout=1)["spooled"]))
try:
    one.call("die")
except client.Unavailable as error:
    print(error.reason.split(":")[0])
print(one.call("pid")["pid"] != pid, {name for name in sys.modules if name.startswith("octop")})
"""


@pytest.mark.promise("R83")
def test_siblings_without_their_package_survive_a_dead_bridge_and_the_end_of_the_interpreter(home, tmp_path):
    for name in ("client.py", "client_spool.py", "client_wire.py"):
        shutil.copy(SOURCES / name, tmp_path)
    words = [sys.executable, "-I", "-S", "-c", PROGRAM_THAT_ENDS, str(tmp_path), str(home), repr(COMMAND)]
    with within(IN_TIME_S):
        done = subprocess.run(words, capture_output=True, text=True, timeout=IN_TIME_S, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["outcome unknown", "True set()", "True"]
