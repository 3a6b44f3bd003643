"""The worker lease of a SQLite store: which one process extracts, maintains and migrates."""

import fcntl
import os
import socket
from pathlib import Path

import msgspec

from octop_bridge.storage.engine import StorageError, file_error

_HINT_OTHER_HOST = "the store is in use on another machine: use PostgreSQL"


class Holder(msgspec.Struct, frozen=True):
    """What stands in the lock file: whose it is, for people and for the check of the host."""

    pid: int
    host: str


class WorkerLease:
    """A lock of the whole machine on `<store>.lock`, which the kernel frees when its process ends, however it ends.

    It never touches the database file: closing any descriptor of that would drop the locks SQLite holds on it. The
    lock file is never removed, since a removed one could be held by one process and made anew by another.
    """

    def __init__(self, store: Path) -> None:
        self.path = Path(os.path.realpath(store) + ".lock")
        self._descriptor: int | None = None
        self._pid = 0

    @property
    def held(self) -> bool:
        """Whether this process holds the lease; never true of a fork of the process that took it."""
        return self._descriptor is not None and self._pid == os.getpid()

    def acquire(self) -> bool:
        """Take the lease without waiting; False while another process of this machine has it.

        Raises StorageError when the holder is on another machine, where SQLite's own locks cannot be relied upon, and
        when the lock file cannot be written.
        """
        if self.held:
            return True
        self._close()
        try:
            # Python opens with O_CLOEXEC, so a program started from here does not keep the lock.
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise file_error(error) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = _read(descriptor)
            os.close(descriptor)
            if holder is not None and holder.host != socket.gethostname():
                raise StorageError(f"{self.path} is held on {holder.host}", hint=_HINT_OTHER_HOST) from None
            return False
        except BaseException:
            os.close(descriptor)
            raise
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, msgspec.json.encode(Holder(os.getpid(), socket.gethostname())), 0)
        self._descriptor, self._pid = descriptor, os.getpid()
        return True

    def release(self) -> None:
        """Give the lease up; without effect where it is not held."""
        if self.held and self._descriptor is not None:
            os.ftruncate(self._descriptor, 0)
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        self._close()

    def _close(self) -> None:
        # In a fork this closes the copy of the descriptor alone: the parent keeps its lock.
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _read(descriptor: int) -> Holder | None:
    try:
        return msgspec.json.decode(os.pread(descriptor, 4096, 0), type=Holder)
    except msgspec.MsgspecError:
        # Empty between the holder's lock and its writing, or after a release.
        return None
