"""The two systems as a bench sees them: how each is started, asked and read."""

import json
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from benchlib.wire import request

NAMESPACE = "bench"
USER = "ana"
HITS = 5
PARTS = Path(__file__).resolve().parent

Turn = tuple[str, str, str]
"""Session, what the user said, what the assistant said."""


class System(ABC):
    """One of them."""

    name: str
    title: str
    greeting: bytes
    seeder: str
    worker: str

    def __init__(self, environment: Path) -> None:
        self.bin = environment / "bin"
        self.python = str(self.bin / "python")

    @abstractmethod
    def argv(self, store: Path, config: Path | None = None) -> list[str]:
        """Its bridge on stdio, over this store."""

    @abstractmethod
    def config(self, folder: Path, *, extraction: dict[str, Any]) -> Path:
        """A file with its settings, in a form that `argv` takes."""

    @abstractmethod
    def capture(self, number: int, turn: Turn) -> bytes:
        """The request that captures a turn."""

    @abstractmethod
    def stored(self, result: dict[str, Any]) -> int:
        """How many messages a capture has stored."""

    @abstractmethod
    def extract(self, number: int, session: str) -> bytes:
        """The request that makes facts of a session's new messages."""

    @abstractmethod
    def search(self, number: int, query: str) -> bytes:
        """The request that looks for the five best."""

    @abstractmethod
    def texts(self, result: dict[str, Any]) -> list[str]:
        """The texts of a search's hits, best first."""


class Ours(System):
    """This checkout."""

    name = "ours"
    title = "octop-bridge"
    greeting = request(
        0,
        "bridge.hello",
        {"protocol": 1, "client": {"name": "bench", "version": "1"}, "namespace": NAMESPACE},
    )
    seeder = "benchlib.seed_ours"
    worker = "benchlib.worker_ours"

    def argv(self, store: Path, config: Path | None = None) -> list[str]:
        """Its bridge on stdio, over this store."""
        more = ["--config", str(config)] if config else []
        return [str(self.bin / "octop-bridge"), "serve", "--stdio", "--namespace", NAMESPACE, "--db", str(store), *more]

    def config(self, folder: Path, *, extraction: dict[str, Any]) -> Path:
        """A file with its settings."""
        file = folder / "config.toml"
        lines = [f"{name} = {json.dumps(value)}" for name, value in extraction.items()]
        file.write_text("\n".join(["[extraction]", *lines, ""]))
        return file

    def capture(self, number: int, turn: Turn) -> bytes:
        """The request that captures a turn."""
        return request(number, "memory.capture", capture_params(turn))

    def stored(self, result: dict[str, Any]) -> int:
        """How many messages a capture has stored."""
        return int(result["stored"])

    def extract(self, number: int, session: str) -> bytes:
        """The request that makes facts of a session's new messages."""
        return request(number, "memory.extract", {"identity": identity(session)})

    def settle(self, number: int, within_ms: int) -> bytes:
        """The request that is answered when nothing is pending, or when the time is over."""
        return request(number, "bridge.status", {"settle_ms": within_ms})

    def search(self, number: int, query: str) -> bytes:
        """The request that looks for the five best."""
        return request(number, "memory.search", {"query": query, "limit": HITS, "identity": identity("ask")})

    def texts(self, result: dict[str, Any]) -> list[str]:
        """The texts of a search's hits, best first."""
        return [hit["text"] for hit in result["hits"]]


class Peer(System):
    """octop-memory."""

    name = "peer"
    title = "octop-memory 1.0.2"
    greeting = request(0, "handshake", {})
    seeder = "benchlib.seed_peer"
    worker = "benchlib.worker_peer"

    def argv(self, store: Path, config: Path | None = None) -> list[str]:
        """Its bridge on stdio, over this store."""
        more = ["--config-json", config.read_text()] if config else []
        bridge = str(self.bin / "octopmemory-bridge")
        return [bridge, "--namespace", NAMESPACE, "--db-path", str(store), "--log-level", "error", *more]

    def config(self, folder: Path, *, extraction: dict[str, Any]) -> Path:
        """A file with its settings: it takes its model's address."""
        file = folder / "config.json"
        file.write_text(json.dumps({"llm": extraction}))
        return file

    def capture(self, number: int, turn: Turn) -> bytes:
        """The request that captures a turn."""
        session, said, answered = turn
        events = [
            {"event_type": "user_message", "content": said, "payload": {"role": "user"}},
            {"event_type": "assistant_message", "content": answered, "payload": {"role": "assistant"}},
        ]
        return request(number, "capture", {"session_id": session, "user": USER, "host": "bench", "events": events})

    def stored(self, result: dict[str, Any]) -> int:
        """How many messages a capture has stored."""
        return int(result["accepted"])

    def extract(self, number: int, session: str) -> bytes:
        """The request that makes facts of a session's new messages."""
        return request(number, "extract", {"session_id": session})

    def search(self, number: int, query: str) -> bytes:
        """The request that looks for the five best."""
        return request(number, "memory_search", {"query": query, "maxResults": HITS})

    def texts(self, result: dict[str, Any]) -> list[str]:
        """The texts of a search's hits, best first."""
        return [hit["snippet"] for hit in result["hits"]]


def identity(session: str) -> dict[str, str]:
    """Whose turn it is, as octop-bridge is told."""
    return {"channel": "bench", "user_id": USER, "session_id": session, "chat_type": "direct", "timezone": "UTC"}


def capture_params(turn: Turn) -> dict[str, Any]:
    """Parameters of octop-bridge's capture."""
    session, said, answered = turn
    messages = [{"role": "user", "content": said}, {"role": "assistant", "content": answered}]
    return {"messages": messages, "identity": identity(session), "host": "bench"}
