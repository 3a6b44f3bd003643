"""An application without a store, for tests of the wire: in this process, or as a child that is run from this file."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from octop_bridge import dispatch, logs
from octop_bridge.context import Call, Host, Session
from octop_bridge.protocol import errors
from octop_bridge.settings import ServerSettings, Settings

Perform = Callable[[Any, Session], Awaitable[Any]]


class FakeApplication:
    """Greets as the real one does; any other method is answered by `on[method](params, session)`, or by its params."""

    def __init__(self, *, failure: errors.BridgeError | None = None, **limits: int) -> None:
        settings = Settings(server=ServerSettings(**limits))
        self._failure = failure
        self.on: dict[str, Perform] = {}
        self.performed: list[tuple[str, Any]] = []
        """Calls in the order in which they arrived."""
        self.may_open = asyncio.Event()
        self.may_open.set()
        self.readied = False
        self.host = Host(
            settings=settings,
            clock=lambda: 1_700_000_000_000,
            started_ms=1_700_000_000_000,
            backend="none",
            methods=dispatch.methods_for,
            limits=settings.server.limits(),
            degraded=list,
            connections=lambda: 1,
            check_token=lambda token: token == "operator",
        )

    def failed(self) -> errors.BridgeError | None:
        return self._failure

    async def ready(self) -> None:
        self.readied = True

    async def opened(self, session: Session) -> None:
        await self.may_open.wait()

    async def perform(self, method: dispatch.Method, params: Any, session: Session) -> bytes:
        self.performed.append((method.name, params))
        if method.name in self.on:
            return dispatch.encode(await self.on[method.name](params, session))
        if method.in_reader:
            return dispatch.encode(await dispatch.perform(method, params, Call(session, self.host), logs.incident))
        return dispatch.encode(dispatch.read_params(method, params))


async def shout(params: Any, session: Session) -> Any:
    """What a careless library does: it prints. The replies must not notice."""
    print("🔄 Attempting recovery from backup...")
    sys.stdout.write("half a line")
    sys.stdout.flush()
    os.write(1, b"straight to the descriptor\n")
    return {"heard": params, "stdin": os.read(0, 10).decode()}


async def big(params: Any, session: Session) -> Any:
    return {"text": "ж" * params["limit"]}


async def hang(params: Any, session: Session) -> Any:
    await asyncio.Event().wait()


async def fail(params: Any, session: Session) -> Any:
    raise ValueError("what a person said")


async def main() -> int:
    from octop_bridge.server import stdio

    failure = errors.ConfigError("store.dbb: unknown setting", path="store.dbb", hint="did you mean store.db?")
    application = FakeApplication(failure=failure if "--config-error" in sys.argv else None)
    application.on = {
        "memory.get": shout,
        "memory.queue": big,
        "memory.extract": hang,
        "memory.search": hang if "--hang" in sys.argv else fail,
    }
    if "--hang" in sys.argv:
        application.on["memory.capture"] = hang
    session = Session(session_id="cn_test", surface="stdio", role="person")
    return await stdio.serve(application, session, FDS, leave_within_s=0.5 if "--hang" in sys.argv else stdio.LEAVE_S)


if __name__ == "__main__":
    from octop_bridge.server.stdio import claim

    FDS = claim()
    sys.stderr.write(json.dumps({"event": "up"}) + "\n")
    sys.exit(asyncio.run(main()))
