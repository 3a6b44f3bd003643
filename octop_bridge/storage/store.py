"""One namespace's store: an engine, its worker lease, and the few questions that more than one room asks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar

from octop_bridge.domain.tokens import TOKEN_VERSION
from octop_bridge.storage import reindex, textindex
from octop_bridge.storage.engine import Engine, Tx, Unit

T = TypeVar("T")


class Lease(Protocol):
    """The right to work on a store: one process has it."""

    @property
    def held(self) -> bool:
        """Whether this process has it."""
        ...

    def acquire(self) -> bool:
        """Take it if it is free; whether this process has it now."""
        ...

    def release(self) -> None:
        """Give it up."""
        ...


class Store:
    """One namespace, open."""

    def __init__(
        self,
        engine: Engine,
        lease: Lease,
        *,
        namespace: str,
        backend: str,
        schema_version: int,
        sizes: Callable[[], tuple[int, int]],
    ) -> None:
        self.lease = lease
        self.namespace = namespace
        self.backend = backend
        self.schema_version = schema_version
        self.sizes = sizes
        """Bytes of the database and of its write-ahead log."""
        self._engine = engine

    async def read(self, unit: Unit[T], *, timeout_s: float | None = None) -> T:
        """Run a unit in a read transaction (see Engine)."""
        return await self._engine.read(unit, timeout_s=timeout_s)

    async def write(self, unit: Unit[T]) -> T:
        """Run a unit in a write transaction; returned = durable (see Engine)."""
        return await self._engine.write(unit)

    async def close(self) -> None:
        """Finish what was accepted and release every handle."""
        await self._engine.close()

    async def pending_summary(self) -> tuple[int, int | None, int]:
        """Pending events: how many, when the newest arrived (epoch ms), how many characters."""

        async def unit(tx: Tx) -> tuple[int, int | None, int]:
            row = await tx.one("pending_summary")
            return (row[0], row[1], row[2] or 0) if row else (0, None, 0)

        return await self.read(unit)

    async def pending_candidates(self, limit: int = 200) -> list[str]:
        """Ids of stored claims that nobody has decided, oldest first."""

        async def unit(tx: Tx) -> list[str]:
            return [row[0] for row in await tx.all("pending_candidates", limit=limit)]

        return await self.read(unit)

    async def merge_index(self, *, at_rows: int) -> None:
        """Move fresh index rows into blocks, where a scope has at least `at_rows` of them. A little a transaction."""

        async def counts(tx: Tx) -> list[tuple[int, int]]:
            return await textindex.fresh_counts(tx)

        for scope, rows in await self.read(counts):
            while rows >= at_rows:
                merged = await self.write(lambda tx, scope=scope: textindex.merge(tx, scope))  # type: ignore[misc]
                if not merged:
                    break
                rows -= merged  # noqa: PLW2901 - counts down what is left of this scope

    async def heal(self) -> bool:
        """Rebuild the index where its tokens are of another version; whether it was. For the holder of the lease."""

        async def stale(tx: Tx) -> bool:
            return bool(await textindex.stale(tx, TOKEN_VERSION))

        if not await self.read(stale):
            return False
        await self.write(reindex.rebuild)
        return True


async def open_sqlite(path: Path, namespace: str, *, durability: str, clock: Callable[[], int]) -> Store:
    """The store of a file, made and migrated where needed. Raises StorageError.

    A file belongs to one namespace; its name stands in a meta row, since a file name cannot hold every name.
    """
    from octop_bridge.storage.lease import WorkerLease  # noqa: PLC0415 - only SQLite needs these
    from octop_bridge.storage.sqlite import SqliteEngine  # noqa: PLC0415

    engine = await SqliteEngine.open(
        path, namespace=namespace, durability="normal" if durability == "normal" else "full", clock=clock
    )
    try:
        return Store(
            engine,
            WorkerLease(path),
            namespace=namespace,
            backend="sqlite",
            schema_version=engine.schema_version,
            sizes=lambda: (_size(path), _size(path.with_name(path.name + "-wal"))),
        )
    except BaseException:
        await engine.close()
        raise


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
