"""A bridge that does as it is told: in a thread of the test, or as a program that a client starts.

It speaks NDJSON on a Unix socket, keeps captures by their key in a file that outlives it, and never thinks. As a program
it takes the daemon's lock, notes each start, and obeys FAKE_GATE (a FIFO to wait for before it listens) and FAKE_HELLO.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import socket
import sys
import threading
from pathlib import Path
from queue import SimpleQueue

HELLO = {"protocol": 1, "server": {"name": "fake", "version": "0"}, "methods": [], "limits": {}, "degraded": []}
SILENT = object()
"""What a handler returns that leaves its caller waiting."""


class Refusal(Exception):
    """A handler's error answer."""

    def __init__(self, code, message="no", **data):
        super().__init__(message)
        self.body = {"code": code, "message": message, "data": data}


class Peer:
    """One client, as the daemon has it."""

    def __init__(self, sock):
        self.sock = sock
        self.heard = SimpleQueue()
        """Every message that came, as it came."""
        self.hello = None
        self._sending = threading.Lock()

    def send(self, message):
        line = message if isinstance(message, bytes) else json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
        with self._sending, contextlib.suppress(OSError):
            self.sock.sendall(line)

    def drop(self):
        with contextlib.suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)


class FakeDaemon:
    """Listens on a path. `on[method] = handler(peer, params, id)` gives a result, raises Refusal, or returns SILENT."""

    def __init__(self, path, store=None):
        self.path = str(path)
        self.store = Path(store) if store else None
        self.on = {"bridge.hello": lambda peer, params, number: HELLO, "memory.capture": self.keep}
        self.peers = []
        self.joined = SimpleQueue()
        self.calls = []
        self.captured = self._load()
        """params by key"""
        self._lock = threading.Lock()
        self._listener = None

    def __enter__(self):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(self.path)
        self._listener.listen(128)
        self._acceptor = threading.Thread(target=self._accept, daemon=True)
        self._acceptor.start()
        return self

    def __exit__(self, *error):
        """Leave as a bridge does: unlink, then refuse, then close."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._acceptor.join(5)
        self._listener.close()
        for peer, reader in self.peers:
            peer.drop()
            reader.join(5)

    def methods(self):
        return [method for method, _ in self.calls]

    def keep(self, peer, params, number):
        with self._lock:
            known = params["key"] in self.captured
            if known and self.captured[params["key"]] != params:
                raise Refusal(-32602, "the key was used for another capture")
            self.captured[params["key"]] = params
            if self.store and not known:
                with self.store.open("a") as file:
                    file.write(json.dumps(params) + "\n")
        return {"results": [], "stored": 0 if known else len(params["messages"]), "duplicates": int(known)}

    def _load(self):
        if self.store is None or not self.store.exists():
            return {}
        rows = [json.loads(line) for line in self.store.read_text().splitlines()]
        return {row["key"]: row for row in rows}

    def _accept(self):
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            peer = Peer(sock)
            reader = threading.Thread(target=self._read, args=(peer,), daemon=True)
            self.peers.append((peer, reader))
            reader.start()

    def _read(self, peer):
        with contextlib.suppress(OSError), peer.sock, peer.sock.makefile("rb") as lines:
            for line in lines:
                if line.endswith(b"\n"):
                    self._take(peer, json.loads(line))

    def _take(self, peer, message):
        peer.heard.put(message)
        method, params, number = message.get("method"), message.get("params"), message.get("id")
        if method is None or number is None:
            return
        self.calls.append((method, params))
        handler = self.on.get(method, lambda peer, params, number: {"echo": params})
        try:
            result = handler(peer, params, number)
        except Refusal as refusal:
            peer.send({"id": number, "error": refusal.body})
            return
        if result is not SILENT:
            peer.send({"id": number, "result": result})
        if method == "bridge.hello":
            peer.hello = params
            self.joined.put(peer)


def main():
    path = sys.argv[sys.argv.index("--socket") + 1]
    facts = {
        "pid": os.getpid(),
        "sid": os.getsid(0),
        "cwd": os.getcwd(),
        "argv": sys.argv,
        "stdin": os.path.realpath("/dev/fd/0"),
        "token": os.environ.get("OCTOP_BRIDGE_OPERATOR_TOKEN"),
        "home": os.environ.get("OCTOP_BRIDGE_HOME"),
    }
    with open(f"{path}.starts", "a") as file:
        file.write(json.dumps(facts) + "\n")
    lock = os.open(f"{path}.daemon.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("another daemon serves this", file=sys.stderr)
        return
    if gate := os.environ.get("FAKE_GATE"):
        with open(gate) as file:
            file.read()
    with FakeDaemon(path, store=f"{path}.store") as daemon:
        daemon.on["die"] = lambda peer, params, number: os._exit(3)
        daemon.on["pid"] = lambda peer, params, number: {"pid": os.getpid()}
        print(json.dumps({"event": "ready", "pid": os.getpid()}), file=sys.stderr, flush=True)
        signal.sigwait({signal.SIGTERM})


if __name__ == "__main__":
    # Before any thread is started, so that none takes the signal that the main one waits for.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    main()
