"""octop-memory without a wire: captures through its service, in this process."""

import time
from collections.abc import Sequence

from octop_memory import Memory, MemoryService  # type: ignore[import-not-found]

from benchlib import worker
from benchlib.systems import NAMESPACE, USER, Turn

_SYNCHRONOUS = {0: "off", 1: "normal", 2: "full", 3: "extra"}


class Worker:
    """One open memory."""

    def __init__(self) -> None:
        self._memory: Memory | None = None
        self._service: MemoryService | None = None

    def open(self, store: str) -> str:
        """Open the store; its durability, as its connection has it."""
        self._memory = Memory(namespace=NAMESPACE, backend_config={"db_path": store})
        self._service = MemoryService(self._memory)
        connection = self._memory.backend._conn  # noqa: SLF001 - nothing public tells
        return _SYNCHRONOUS[connection.execute("PRAGMA synchronous").fetchone()[0]]

    def capture(self, turns: Sequence[Turn], width: int) -> float:
        """Seconds that the turns took, one after the other: one lock is held for each, so `width` would gain nothing."""
        del width
        service = self._service
        assert service is not None
        started = time.perf_counter()
        for session, said, answered in turns:
            result = service.capture_turn(user=said, assistant=answered, session_id=session, user_id=USER)
            assert result["accepted"] == 2, result
        return time.perf_counter() - started

    def close(self) -> None:
        """Close the store."""
        if self._memory is not None:
            self._memory.backend.close()


if __name__ == "__main__":
    it = Worker()
    worker.serve({"open": it.open, "capture": it.capture, "close": it.close})
