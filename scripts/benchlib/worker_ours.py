"""octop-bridge without a wire: captures through the table of methods, in this process."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from benchlib import worker
from benchlib.systems import NAMESPACE, Turn, capture_params
from octop_bridge import settings
from octop_bridge.assemble import InProcess, open_bridge


class Worker:
    """One open bridge on one loop."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        self._stack = AsyncExitStack()
        self._bridge: InProcess | None = None

    def open(self, store: str) -> str:
        """Open the store; nobody extracts, as nobody does at the peer's. Its durability."""
        given = settings.load({}, None, {"extraction": {"kind": "none"}})
        opening = open_bridge(given, home=Path(store).parent, db=Path(store), namespace=NAMESPACE)
        self._bridge = self._runner.run(self._stack.enter_async_context(opening))
        return given.store.durability

    def capture(self, turns: Sequence[Turn], width: int) -> float:
        """Seconds that the turns took, `width` of them at a time."""
        return self._runner.run(self._captured([capture_params(turn) for turn in turns], width))

    def close(self) -> None:
        """Close the store."""
        self._runner.run(self._stack.aclose())

    async def _captured(self, calls: list[dict[str, Any]], width: int) -> float:
        bridge = self._bridge
        assert bridge is not None
        waiting = iter(calls)

        async def one(waiting: Iterator[dict[str, Any]]) -> None:
            for params in waiting:
                result = await bridge.call("memory.capture", params)
                assert result["stored"] == len(params["messages"]), result

        started = time.perf_counter()
        await asyncio.gather(*(one(waiting) for _ in range(width)))
        return time.perf_counter() - started


if __name__ == "__main__":
    it = Worker()
    worker.serve({"open": it.open, "capture": it.capture, "close": it.close})
