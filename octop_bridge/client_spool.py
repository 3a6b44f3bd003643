"""The files of the client: where the bridge of a data folder listens, how one is started, and the spool of captures.

The standard library alone, as `client.py`, which tells the whole: a plugin carries a copy of both.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import importlib.util
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

SOCKET_PATH_BYTES_MAX = 103
"""What fits `sockaddr_un` on macOS, the shortest of the platforms."""
SPOOL_BYTES_MAX = 16 << 20
LOG_BYTES_MAX = 5 << 20
START_S_MAX = 8.0
"""How long a bridge may take from its start until it answers."""

_HOME_VARIABLE = "OCTOP_BRIDGE_HOME"
_TOKEN_VARIABLE = "OCTOP_BRIDGE_OPERATOR_TOKEN"  # noqa: S105 - the name of a variable
_HASH_CHARS = 16
_VERSION = 1
_LOCK_POLL_S = 0.02
_SHELL_S_MAX = 5.0
_REJECT_S_MAX = 1.0
# The shell leaves at once, so the bridge is nobody's child: no zombie waits in a host that never looks at it.
_DETACH = '"$@" >/dev/null & echo $!'

Fate = Literal["done", "rejected", "kept", "stop"]
"""What became of a spooled capture: stored, never storable, for another time, or that nothing can be sent now."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where one namespace's bridge is met and where its captures wait. Absolute paths."""

    home: Path
    socket: str
    spool: Path
    db: str | None
    hashed: bool
    """The socket has a short path in a folder that other users may have made first."""

    @property
    def log(self) -> Path:
        """What a bridge that was started from here writes to stderr."""
        return self.home / "bridge.log"

    def prepare(self) -> None:
        """Make the folders. Raises OSError, also where the socket's short folder is not this user's alone."""
        for folder in (Path(self.socket).parent, self.home):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.check()

    def check(self) -> None:
        """Raise OSError where another user could have put a socket in our place."""
        if not self.hashed:
            return
        with contextlib.suppress(FileNotFoundError):
            seen = Path(self.socket).parent.lstat()
            if not stat.S_ISDIR(seen.st_mode) or seen.st_uid != os.getuid() or seen.st_mode & 0o077:
                raise PermissionError(errno.EPERM, "the socket's folder is not this user's alone")


def places(
    namespace: str, home: str | os.PathLike[str] | None = None, db: str | os.PathLike[str] | None = None
) -> Places:
    """Where things lie for a namespace of a data folder (default: the platform's), or of one database file."""
    folder = _absolute(home) if home is not None else home_folder()
    if db is None:
        name = unicodedata.normalize("NFC", namespace).encode("utf-8", "surrogatepass")
        digest = hashlib.sha256(name).hexdigest()[:_HASH_CHARS]
        file, long, spool = None, str(folder / "bridge.sock"), folder / f"spool-{digest}.jsonl"
    else:
        file = os.path.realpath(Path(db).expanduser())
        long, spool = f"{file}.sock", Path(f"{file}.spool.jsonl")
    short = socket_path(long)
    return Places(folder, short, spool, file, hashed=short != long)


def home_folder() -> Path:
    """The data folder: `$OCTOP_BRIDGE_HOME`, else the platform's."""
    if given := os.environ.get(_HOME_VARIABLE):
        return _absolute(given)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "octop-bridge"
    named = Path(os.environ.get("XDG_DATA_HOME", ""))
    return (named if named.is_absolute() else Path.home() / ".local" / "share") / "octop-bridge"


def socket_path(path: str) -> str:
    """The path itself where a socket can have it, else a short one that is made of its hash."""
    if len(os.fsencode(path)) <= SOCKET_PATH_BYTES_MAX:
        return path
    name = f"{hashlib.sha256(os.fsencode(path)).hexdigest()[:_HASH_CHARS]}.sock"
    own = f"octop-bridge-{os.getuid()}"
    runtime = Path(os.environ.get("XDG_RUNTIME_DIR", ""))
    folders = [runtime / "octop-bridge"] if runtime.is_absolute() and runtime.is_dir() else []
    folders += [Path(tempfile.gettempdir()) / own]
    fitting = (folder / name for folder in folders if len(os.fsencode(folder / name)) <= SOCKET_PATH_BYTES_MAX)
    return str(next(fitting, Path("/tmp") / own / name))  # noqa: S108 - its owner and mode are checked


def _absolute(path: str | os.PathLike[str]) -> Path:
    """The absolute path without its dots; links stay, as the path is hashed by every client alike."""
    return Path(os.path.abspath(Path(path).expanduser()))  # noqa: PTH100 - resolve() would follow links


def command_of(given: str | Sequence[str] | None) -> list[str]:
    """The words that start octop-bridge: what was given, this interpreter where it has the package, else PATH's."""
    if given is not None:
        return [given] if isinstance(given, str) else list(given)
    if sys.executable and importlib.util.find_spec("octop_bridge") is not None:
        return [sys.executable, "-m", "octop_bridge"]
    if found := shutil.which("octop-bridge"):
        return [found]
    raise FileNotFoundError(errno.ENOENT, "octop-bridge is not installed: neither in this Python nor on PATH")


def start(where: Places, command: str | Sequence[str] | None) -> int:
    """Start a bridge in a session of its own; its pid. Raises OSError or subprocess.SubprocessError."""
    words = [*command_of(command), "serve", "--socket", where.socket]
    if where.db is not None:
        words += ["--db", where.db]
    env = {name: value for name, value in os.environ.items() if name != _TOKEN_VARIABLE}
    if _HOME_VARIABLE in env or where.home != home_folder():
        # Only then: where the variable is set, the configuration is looked for there too.
        env[_HOME_VARIABLE] = str(where.home)
    with contextlib.suppress(FileNotFoundError):
        if where.log.stat().st_size > LOG_BYTES_MAX:
            where.log.replace(where.log.with_name("bridge.log.1"))
    log = os.open(where.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        done = subprocess.run(  # noqa: S603 - the words are ours or the host program's
            ["/bin/sh", "-c", _DETACH, "sh", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            cwd="/",
            env=env,
            start_new_session=True,
            timeout=_SHELL_S_MAX,
            check=True,
        )
    finally:
        os.close(log)
    return int(done.stdout)


def alive(pid: int) -> bool:
    """Whether the process runs; a zombie does not, whoever forgot to wait for it."""
    try:
        os.kill(pid, 0)
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except ProcessLookupError:
        return False
    except OSError:
        return True  # another user's, or a platform without /proc
    return text.rpartition(")")[2].split()[0] not in "ZX"


class SpawnLock:
    """The lock under which one client at a time, of all processes, starts a bridge. It names the one started last."""

    def __init__(self, path: str) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        self._held = False

    def take(self) -> bool:
        """Take the lock without waiting; False while another has it."""
        self._held = _flock(self._descriptor, time.monotonic())
        return self._held

    def starting(self) -> int | None:
        """The pid of a bridge that was started a moment ago and may still come to answer."""
        age_s = time.time() - os.fstat(self._descriptor).st_mtime
        text = os.pread(self._descriptor, 20, 0)
        pid = int(text) if text.isdigit() else 0
        return pid if pid and 0 <= age_s < START_S_MAX and alive(pid) else None

    def started(self, pid: int) -> None:
        """Note who was started, for the next one who takes the lock."""
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, str(pid).encode(), 0)

    def release(self) -> None:
        """Give the lock up and close its file."""
        _close(self._descriptor, held=self._held)


class SpoolFullError(OSError):
    """The spool holds as much as it may: this capture is not kept."""


class Spool:
    """Captures that could not be delivered: a file with one JSON line each, appended to and emptied under its lock."""

    def __init__(self, path: Path, namespace: str, *, local: bool, bytes_max: int = SPOOL_BYTES_MAX) -> None:
        self.path = path
        self.bytes_max = bytes_max
        self._namespace = namespace
        self._local = local
        self._rejected = Path(f"{path}.rejected")

    def state(self) -> dict[str, int]:
        """How many captures wait, their bytes, and how many can never be stored."""
        counts = []
        for path in (self.path, self._rejected):
            try:
                counts.append(path.read_bytes())
            except OSError:
                counts.append(b"")
        waiting, rejected = counts
        return {"pending": waiting.count(b"\n"), "bytes": len(waiting), "rejected": rejected.count(b"\n")}

    def waits(self) -> bool:
        """Whether there is anything to replay."""
        try:
            return self.path.stat().st_size > 0
        except OSError:
            return False

    def append(self, params: dict[str, Any], at_ms: int, deadline: float) -> None:
        """Keep a capture; it is on the disk when this returns. Raises OSError, SpoolFullError among them."""
        entry = {
            "v": _VERSION,
            "namespace": self._namespace,
            "key": params["key"],
            "local": self._local,
            "at_ms": at_ms,
            "params": params,
        }
        line = json.dumps(entry, allow_nan=False, separators=(",", ":")).encode() + b"\n"
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _locked(self.path, os.O_CREAT, deadline) as descriptor:
            if descriptor is None:
                raise TimeoutError(errno.ETIMEDOUT, "the spool is locked by another process")
            size = os.fstat(descriptor).st_size
            if size and os.pread(descriptor, 1, size - 1) != b"\n":
                line = b"\n" + line  # a torn line stands before: it must not take this one with it
            if size + len(line) > self.bytes_max:
                raise SpoolFullError(errno.EFBIG, f"the spool is full: {self.bytes_max} bytes")
            _append(descriptor, line, size)
            if not size:
                _sync_folder(self.path.parent)

    def replay(self, deliver: Callable[[dict[str, Any]], Fate]) -> int:
        """Deliver what waits, in order; how many were. Nothing is done while another replays. Raises OSError."""
        try:
            with _locked(self.path, 0, time.monotonic()) as descriptor:
                return 0 if descriptor is None else self._empty(descriptor, deliver)
        except FileNotFoundError:
            return 0

    def _empty(self, descriptor: int, deliver: Callable[[dict[str, Any]], Fate]) -> int:
        content, side = _content(descriptor), Path(f"{self.path}.rest")
        with contextlib.suppress(FileNotFoundError):
            content += b"\n" + side.read_bytes()
        *lines, torn = content.split(b"\n")
        kept, rejected, done, going = [], [], 0, True
        if self._entry(torn) is not None:
            lines.append(torn)  # complete but for its end
        for line in filter(None, lines):
            entry = self._entry(line)
            fate: Fate = "kept" if entry is not None else "rejected"
            if entry is not None and going and self._ours(entry):
                fate = deliver(entry["params"])
            going = going and fate != "stop"
            done += fate == "done"
            if fate == "rejected":
                rejected.append(line)
            elif fate != "done":
                kept.append(line)
        if rejected:
            self._reject(rejected)
        rest = b"".join(line + b"\n" for line in kept)
        if rest != content:
            # Rewritten in place, since others wait for the lock of this very file. A death on the way leaves lines
            # twice, here and in the copy at the side, which their keys make harmless.
            _overwrite(side, rest)
            os.pwrite(descriptor, rest, 0)
            os.ftruncate(descriptor, len(rest))
            os.fsync(descriptor)
            side.unlink(missing_ok=True)
        return done

    def _ours(self, entry: dict[str, Any]) -> bool:
        """Whether it is for this connection to deliver: another `local` would give the turn another owner."""
        whose = (entry["v"], entry.get("namespace"), entry.get("local", False))
        return whose == (_VERSION, self._namespace, self._local)

    @staticmethod
    def _entry(line: bytes) -> dict[str, Any] | None:
        """What a line says, or None where it is broken."""
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            return None
        if not isinstance(entry, dict) or not isinstance(entry.get("v"), int):
            return None
        known = isinstance(entry.get("params"), dict) and "namespace" in entry
        return entry if known or entry["v"] > _VERSION else None

    def _reject(self, lines: list[bytes]) -> None:
        with _locked(self._rejected, os.O_CREAT, time.monotonic() + _REJECT_S_MAX) as descriptor:
            if descriptor is None:
                raise TimeoutError(errno.ETIMEDOUT, "the rejected captures are locked by another process")
            size = os.fstat(descriptor).st_size
            if size < self.bytes_max:
                _append(descriptor, b"".join(line + b"\n" for line in lines), size)


@contextlib.contextmanager
def _locked(path: Path, flags: int, deadline: float) -> Iterator[int | None]:
    """A descriptor of the file under its lock, None where another holds that beyond the deadline."""
    descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | flags, 0o600)
    held = False
    try:
        held = _flock(descriptor, deadline)
        yield descriptor if held else None
    finally:
        _close(descriptor, held=held)


def _flock(descriptor: int, deadline: float) -> bool:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_LOCK_POLL_S)
        else:
            return True


def _close(descriptor: int, *, held: bool) -> None:
    """Close, and unlock before: a fork's copy of the descriptor would keep the lock."""
    if held:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


def _append(descriptor: int, content: bytes, size: int) -> None:
    """One write at the end of the file, to the disk; what was written in part is taken back."""
    try:
        written = os.pwrite(descriptor, content, size)
        if written < len(content):
            raise OSError(errno.ENOSPC, "the disk is full")
        os.fsync(descriptor)
    except OSError:
        os.ftruncate(descriptor, size)
        raise


def _overwrite(path: Path, content: bytes) -> None:
    """Make the file hold this, on the disk; nothing at all where there is nothing to hold."""
    if content:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(descriptor)


def _content(descriptor: int) -> bytes:
    with os.fdopen(os.dup(descriptor), "rb") as file:
        file.seek(0)
        return file.read()


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
