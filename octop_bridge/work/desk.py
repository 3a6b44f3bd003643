"""What runs by itself on one store: extraction when it is due, the index's upkeep, the worker lease.

One process holds the lease of a store and alone extracts and merges; any other may open, capture and read.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable

from octop_bridge.models import Extractor, ExtractorError
from octop_bridge.settings import ExtractionSettings
from octop_bridge.storage.engine import Tx
from octop_bridge.storage.store import Store
from octop_bridge.work.extraction import Extraction, Report

_LOOK_EVERY_S = 5.0
"""How often the desk looks for what other processes captured."""
_BACKOFF_MAX_S = 300.0
_CHARS_A_TOKEN = 4
_MERGE_AT_ROWS = 500


class Desk:
    """The worker of one store."""

    def __init__(
        self,
        store: Store,
        extractor: Extractor | None,
        settings: ExtractionSettings,
        *,
        clock: Callable[[], int],
        new_id: Callable[[str, int], str],
        on_error: Callable[[str, BaseException], str],
    ) -> None:
        self._store = store
        self._extractor = extractor
        self._settings = settings
        self._clock = clock
        self._on_error = on_error
        self._turn = asyncio.Lock()
        self._wake = asyncio.Event()
        self._hurry = False
        self._task: asyncio.Task[None] | None = None
        self._failures = 0
        self._not_before = 0.0
        self.last_failure: ExtractorError | None = None
        self.failing_since_ms: int | None = None
        self._extraction = _extraction(store, extractor, settings, new_id, on_error) if extractor else None

    @property
    def mode(self) -> str:
        """Who makes claims: model, rules or none."""
        return self._extractor.mode if self._extractor else "none"

    @property
    def is_worker(self) -> bool:
        """Whether this process holds the store's lease."""
        return self._store.lease.held

    async def start(self) -> None:
        """Take the lease if it is free, finish what a killed process left, and begin to watch."""
        if self._store.lease.acquire():
            await self._store.heal()
        self._task = asyncio.create_task(self._watch(), name="desk")

    def captured(self) -> None:
        """Something was captured: see whether work is due."""
        self._wake.set()

    def hurry(self) -> None:
        """Make due now what waits for quiet."""
        self._hurry = True
        self._wake.set()

    async def extract(
        self,
        *,
        owner: str | None = None,
        session_id: str | None = None,
        limit: int | None = None,
        now_ms: int | None = None,
    ) -> Report:
        """Extract everything that is pending in this scope now, up to `limit` events. A failure is in the report."""
        report = Report()
        if self._extraction is None:
            report.failure = ExtractorError("model_unavailable", "extraction is switched off", retryable=False)
            return report
        async with self._turn:
            if not self._store.lease.acquire():
                report.failure = ExtractorError("not_worker", "another process extracts for this store")
                return report
            now = self._clock() if now_ms is None else now_ms
            try:
                await self._finish_left_over(report, now)
                while limit is None or report.events < limit:
                    left = 1 << 30 if limit is None else limit - report.events
                    if not await self._extraction.run(report, now, owner, session_id, left):
                        break
                self._failures, self.last_failure, self.failing_since_ms = 0, None, None
            except ExtractorError as error:
                await self._note_failure(error)
                report.failure = error
        return report

    async def _finish_left_over(self, report: Report, now_ms: int) -> None:
        """Decide claims that a killed process had stored and not decided."""
        assert self._extraction is not None
        while left := await self._store.pending_candidates():
            report.items += await self._extraction.decide_all(left, now_ms)

    async def settle(self, timeout_s: float) -> bool:
        """Whether nothing is pending that can go on; waits for it, making due now what waits for quiet."""
        deadline = time.monotonic() + timeout_s
        while not await self.is_settled():
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            self.hurry()
            await asyncio.sleep(min(0.02, left))
        return True

    async def is_settled(self) -> bool:
        """Whether nothing is pending that could go on by itself in this process or the one that works."""
        if self._extractor is None or self.last_failure is not None:
            return True
        events, _, _ = await self._store.pending_summary()
        return events == 0 and not await self._store.pending_candidates()

    async def close(self) -> None:
        """Stop; a running extraction is abandoned, its events stay pending."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        self._store.lease.release()

    async def _watch(self) -> None:
        while True:
            # Not wait_for: on 3.11 it loses a cancellation that comes in the moment of the wake-up.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_EVERY_S):
                    await self._wake.wait()
            self._wake.clear()
            try:
                await self._look()
            except Exception as error:  # noqa: BLE001 - the watch outlives whatever one look meets
                self._on_error("schedule", error)
                self._not_before = time.monotonic() + _LOOK_EVERY_S

    async def _look(self) -> None:
        if not self._store.lease.acquire():
            return
        await self._store.merge_index(at_rows=_MERGE_AT_ROWS)
        if self._extraction is None or time.monotonic() < self._not_before:
            return
        events, newest_ms, chars = await self._store.pending_summary()
        quiet_ms = self._clock() - (newest_ms or 0)
        due = events and (
            self._hurry
            or events >= self._settings.events_max
            or chars >= self._settings.tokens_max * _CHARS_A_TOKEN
            or quiet_ms >= self._settings.quiet_s * 1000
        )
        self._hurry = False
        if due:
            await self.extract()
        elif await self._store.pending_candidates():
            # Claims that a killed process had stored; events that are not due yet stay where they are.
            await self.extract(limit=0)

    async def _note_failure(self, error: ExtractorError) -> None:
        self._failures += 1
        self.last_failure = error
        self.failing_since_ms = self.failing_since_ms or self._clock()
        self._not_before = time.monotonic() + min(_BACKOFF_MAX_S, 5.0 * 2 ** min(self._failures, 8))

        async def count(tx: Tx) -> None:
            await tx.run("count_up", name="model.failures", n=1)

        await self._store.write(count)


def _extraction(
    store: Store,
    extractor: Extractor,
    settings: ExtractionSettings,
    new_id: Callable[[str, int], str],
    on_error: Callable[[str, BaseException], str],
) -> Extraction:
    return Extraction(
        store,
        extractor,
        new_id=new_id,
        on_error=on_error,
        slice_events_max=settings.slice_events_max,
        slice_chars_max=settings.tokens_max * _CHARS_A_TOKEN * 2,
    )
