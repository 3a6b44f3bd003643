"""What the store needs of a database: units of work, run whole, each in one transaction.

A unit is a coroutine function over one `Tx`. It may await nothing but that transaction: SQLite runs it in one hop on
the connection's thread, where the awaits never suspend; PostgreSQL awaits it on the event loop. So one text of a unit
serves both, and a unit costs one hop, not one a statement.
"""

import errno
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, ClassVar, Protocol, TypeVar

T = TypeVar("T")
Row = tuple[Any, ...]
Params = dict[str, Any]
"""Parameters of a named statement. `namespace` is filled in by the transaction and never by its caller."""


class Tx(Protocol):
    """One open transaction on one namespace. Statements are named in queries/*.sql."""

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
        """Execute the named statement, one that returns no rows; the number of rows that it changed."""
        ...

    async def run_many(self, name: str, rows: Sequence[Params], /) -> None:
        """Execute the named statement once a row. The rows belong to the transaction from then on: it fills them in."""
        ...


Unit = Callable[[Tx], Coroutine[Any, Any, T]]


class Engine(Protocol):
    """A database that holds one namespace's tables, or many namespaces'. Its own failures are StorageErrors."""

    async def read(self, unit: Unit[T], *, timeout_s: float | None = None) -> T:
        """Run a unit in a read transaction; a statement still running at the timeout is interrupted (StorageTimeout)."""
        ...

    async def write(self, unit: Unit[T]) -> T:
        """Run a unit in a write transaction. Returned = committed and durable.

        Units may share a commit; one that raises is rolled back alone. A caller cancelled before its unit began leaves
        no trace; after that the unit is finished and committed without it.
        """
        ...

    async def close(self) -> None:
        """Finish what was accepted, then release every handle and thread."""
        ...


Waiter = Callable[[], Awaitable[None]]


class StorageError(Exception):
    """A failure of the database, not of what was asked.

    The text is for the log and may name files and SQL; `hint` may be shown to anyone; `retryable` says whether the
    same call can succeed later with nothing done about it. `kind` is the word for it on the wire.

        StorageError ─┬─ StorageBusy      another process holds the write lock
                      ├─ StorageTimeout   a read took longer than it was given
                      ├─ StorageFull      the disk or the quota is full
                      ├─ StorageReadOnly  no right to write the file or its folder
                      ├─ StorageDamaged   not a database, or a broken one
                      ├─ StorageClosed    called after close
                      └─ SchemaTooNew     written by a newer version
    """

    kind: ClassVar[str] = "down"
    retryable: bool = False
    hint: str = "the database failed: the log says how"

    def __init__(self, message: str = "", *, hint: str | None = None) -> None:
        super().__init__(message or hint or self.hint)
        if hint is not None:
            self.hint = hint


class StorageBusy(StorageError):  # noqa: N818  a state of the database, as are those below
    """Another process held the write lock for longer than the busy timeout. Nothing was written."""

    kind = "busy"
    retryable = True
    hint = "another process is writing to the store: try again"


class StorageTimeout(StorageError):  # noqa: N818
    """A read was stopped at its deadline."""

    kind = "timeout"
    retryable = True
    hint = "the read took longer than its deadline: try again, or ask for less"


class StorageFull(StorageError):  # noqa: N818
    """No room for the write. Nothing of it was kept."""

    kind = "full"
    retryable = True
    hint = "the disk is full: free some space"


class StorageReadOnly(StorageError):  # noqa: N818
    """The file or its folder cannot be written."""

    kind = "read_only"
    hint = "the store cannot be written: look at the owner and mode of its file and folder"


class StorageDamaged(StorageError):  # noqa: N818
    """The file is not a database, or a broken one."""

    kind = "damaged"
    hint = "the file is damaged or not a database: restore a backup, or move it away"


class StorageClosed(StorageError):  # noqa: N818
    """The engine was closed before the call."""

    kind = "closed"
    hint = "the store is shutting down"


class SchemaTooNew(StorageError):  # noqa: N818
    """The database was upgraded by a newer version, perhaps while this process ran."""

    kind = "upgraded"
    hint = "upgraded by another process: restart"


def file_error(error: OSError) -> StorageError:
    """The failure of the store that a failure of the file system means."""
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return StorageReadOnly(str(error))
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageFull(str(error))
    return StorageError(str(error), hint="the store's file or folder cannot be opened: the log says why")
