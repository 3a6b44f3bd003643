"""One memory under test, the same over every surface: in-process sessions, or child processes over stdio."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from octop_bridge import assemble, places, settings
from octop_bridge.context import Session
from octop_bridge.protocol.errors import BridgeError

REPLY_TIMEOUT_S = 20


class Failure(Exception):
    """An error reply."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__(f"{body['code']} {body['message']} {body['data']}")
        self.code = body["code"]
        self.message = body["message"]
        self.data = body["data"]


class StdioPeer:
    """A child bridge and the client that speaks to it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self._ids = itertools.count(1)
        self._waiting: dict[Any, asyncio.Future[dict[str, Any]]] = {}
        self.lines: list[bytes] = []
        self._reader = asyncio.create_task(self._read())

    @classmethod
    async def spawn(cls, *args: str, env: dict[str, str] | None = None) -> StdioPeer:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "octop_bridge",
            "serve",
            "--stdio",
            *args,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=64 << 20,
            env={**os.environ, **(env or {})},
        )
        return cls(process)

    async def _read(self) -> None:
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            self.lines.append(line)
            reply = json.loads(line)
            if isinstance(reply, dict) and reply.get("id") in self._waiting:
                self._waiting.pop(reply["id"]).set_result(reply)
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(EOFError("the bridge has gone"))

    async def send(self, raw: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(raw)
        await self.process.stdin.drain()

    def begin(self, method: str, params: Any = None) -> tuple[int, asyncio.Future[dict[str, Any]]]:
        number = next(self._ids)
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        line = json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}})
        assert self.process.stdin is not None
        self.process.stdin.write(line.encode() + b"\n")
        return number, future

    async def call(self, method: str, params: Any = None) -> Any:
        _, future = self.begin(method, params)
        reply = await asyncio.wait_for(future, REPLY_TIMEOUT_S)
        if "error" in reply:
            raise Failure(reply["error"])
        return reply["result"]

    async def close(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        code = await asyncio.wait_for(self.process.wait(), 10)
        await self._reader
        transport = self.process._transport
        transport.close()
        return code


class Memory:
    """A store with a host, a person and a model at it."""

    def __init__(self, surface: str, folder: Path, config: dict[str, dict[str, Any]]) -> None:
        self.surface = surface
        self.folder = folder
        self.config = config
        self.script_file = folder / "script.json"
        self._stack = AsyncExitStack()
        self._sessions: dict[str, Any] = {}
        self._bridge: assemble.Bridge | None = None
        self._numbers = itertools.count(1)

    @property
    def db(self) -> Path:
        return self.folder / "memory.sqlite"

    def script(self, *claims: dict[str, Any]) -> None:
        """What the scripted extractor will claim from now on."""
        self.script_file.write_text(json.dumps({"claims": list(claims)}), encoding="utf-8")

    async def host(self, method: str, **params: Any) -> Any:
        return await self._call("host", method, params)

    async def person(self, method: str, **params: Any) -> Any:
        return await self._call("person", method, params)

    async def model(self, method: str, **params: Any) -> Any:
        return await self._call("model", method, params)

    async def failure(self, role: str, method: str, **params: Any) -> Failure:
        """The error that this call answers; fails where it does not."""
        try:
            result = await self._call(role, method, params)
        except Failure as failure:
            return failure
        raise AssertionError(f"{method} answered {result}")

    async def say(
        self, *texts: str | dict[str, Any], user: str | None = "ana", session: str = "s1", **more: Any
    ) -> dict[str, Any]:
        """Capture messages of a user; a text is a user message with a fresh host id."""
        messages = [
            {"role": "user", "content": text, "id": f"m{next(self._numbers)}"} if isinstance(text, str) else text
            for text in texts
        ]
        return await self.host("memory.capture", messages=messages, identity=who(user, session), **more)

    async def learn(self, *claims: dict[str, Any], user: str = "ana", session: str = "s1") -> dict[str, Any]:
        """Extract with these claims scripted, in this owner's scope."""
        self.script(*claims)
        return await self.host("memory.extract", identity=who(user, session))

    async def found(self, query: str, user: str | None = "ana", **more: Any) -> list[str]:
        """Texts that a search finds."""
        identity = who(user) if user else None
        params = {"identity": identity} if identity else {}
        result = await self.host("memory.search", query=query, **params, **more)
        return [hit["text"] for hit in result["hits"]]

    async def hits(self, query: str, user: str = "ana", **more: Any) -> list[dict[str, Any]]:
        result = await self.host("memory.search", query=query, identity=who(user), **more)
        return list(result["hits"])

    async def _call(self, role: str, method: str, params: dict[str, Any]) -> Any:
        if role not in self._sessions:
            self._sessions[role] = await self._open(role)
        session = self._sessions[role]
        if isinstance(session, StdioPeer):
            return await session.call(method, params)
        try:
            return await session.call(method, params)
        except BridgeError as error:
            raise Failure(error.body()) from error

    async def _open(self, role: str) -> Any:
        if self.surface == "stdio":
            return await self._spawn(role)
        if self._bridge is None:
            loaded = settings.load({}, None, self._overrides())
            self._bridge = assemble.Bridge(loaded, home=self.folder, db=self.db)
            self._stack.push_async_callback(self._bridge.close)
        session = Session(
            session_id=f"cn_{role}", surface="in-process", role=role, namespace="default", namespace_fixed=True
        )
        peer = assemble.InProcess(self._bridge, session)
        if role == "model":
            await peer.call("bridge.hello", hello(identity=who("ana")))
        return peer

    def _overrides(self) -> dict[str, dict[str, Any]]:
        return {section: dict(values) for section, values in self.config.items()}

    async def _spawn(self, role: str) -> StdioPeer:
        config = self.folder / "config.toml"
        lines = []
        for section, values in self._overrides().items():
            lines.append(f"[{section}]")
            lines += [f"{name} = {json.dumps(value)}" for name, value in values.items()]
        config.write_text("\n".join(lines) + "\n")
        env = {"OCTOP_BRIDGE_HOME": str(self.folder), "OCTOP_BRIDGE_OPERATOR_TOKEN": places.operator_token(self.folder)}
        args = ["--db", str(self.db), "--config", str(config), "--role", role]
        peer = await StdioPeer.spawn(*args, env=env)
        self._stack.push_async_callback(peer.close)
        if role == "model":
            await peer.call("bridge.hello", hello(identity=who("ana")))
        return peer

    async def close(self) -> None:
        await self._stack.aclose()


def hello(**more: Any) -> dict[str, Any]:
    return {"protocol": 1, "client": {"name": "test", "version": "1"}, **more}


def who(user: str | None, session: str | None = None, **more: Any) -> dict[str, Any]:
    identity: dict[str, Any] = dict(more)
    if user is not None:
        identity["user_id"] = user
    if session is not None:
        identity["session_id"] = session
    return identity


def claim(quote: str, assertion: str | None = None, **more: Any) -> dict[str, Any]:
    """A claim as a model would give it, about the user unless said otherwise."""
    return {
        "type": "Fact",
        "assertion": assertion or quote,
        "quote": quote,
        "event": "*",
        "subject": {"name": "user", "kind": "Person"},
        "slot": None,
        "value": None,
        "importance": "medium",
        "confidence": "high",
        **more,
    }


@asynccontextmanager
async def open_memory(surface: str, folder: Path, **config: dict[str, Any]) -> AsyncIterator[Memory]:
    """A fresh memory; extraction is scripted unless `extraction` says otherwise, and never starts by itself."""
    extraction = {
        "kind": "scripted",
        "script": str(folder / "script.json"),
        "quiet_s": 3600,
        "events_max": 100000,
        "tokens_max": 100000000,
    }
    merged = {**config, "extraction": {**extraction, **config.get("extraction", {})}}
    memory = Memory(surface, folder, merged)
    memory.script()
    try:
        yield memory
    finally:
        await memory.close()
