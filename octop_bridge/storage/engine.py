"""What the store needs of a database: units of work, run whole, each in one transaction.

A unit is a coroutine function over one `Tx`. It may await nothing but that transaction: SQLite runs it in one hop on
the connection's thread, where the awaits never suspend; PostgreSQL awaits it on the event loop. So one text of a unit
serves both, and a unit costs one hop, not one a statement.
"""

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
Row = tuple[Any, ...]
Params = dict[str, Any]
"""Parameters of a named statement. `namespace` is filled in by the transaction and never by its caller."""


class Tx(Protocol):
    """One open transaction on one namespace. Statements are named in queries.sql."""

    @property
    def namespace(self) -> str:
        """The namespace that every statement of this transaction is bound to."""
        ...

    async def all(self, name: str, /, **params: Any) -> list[Row]:
        """Every row of the named statement."""
        ...

    async def one(self, name: str, /, **params: Any) -> Row | None:
        """The first row of the named statement, or None."""
        ...

    async def run(self, name: str, /, **params: Any) -> int:
        """Execute the named statement; the number of rows that it changed."""
        ...

    async def run_many(self, name: str, rows: Sequence[Params], /) -> None:
        """Execute the named statement once a row."""
        ...


Unit = Callable[[Tx], Coroutine[Any, Any, T]]


class Engine(Protocol):
    """A database that holds one namespace's tables, or many namespaces'."""

    async def read(self, unit: Unit[T], *, timeout_s: float | None = None) -> T:
        """Run a unit in a read transaction; a statement still running at the timeout is interrupted (StorageTimeout)."""
        ...

    async def write(self, unit: Unit[T]) -> T:
        """Run a unit in a write transaction; returned = committed and durable.

        It may share its commit with other units; one that raises is rolled back alone.
        """
        ...

    async def close(self) -> None:
        """Finish what was accepted, then release every handle and thread."""
        ...

