"""The environments that the systems run in, and what a reader must know of the machine."""

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchlib.errors import BenchError

PEER = "octop-memory==1.0.2"
_SYNC_S = 0.4
_PAGE = b"\0" * 4096


def cache_folder() -> Path:
    """Where environments and seeded stores are kept between runs."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "octop-bridge" / "bench"


def ours(cache: Path, checkout: Path) -> Path:
    """An environment with this checkout, installed anew when its pyproject.toml has changed."""
    project = (checkout / "pyproject.toml").read_bytes()
    stamp = f"{checkout} {hashlib.sha256(project).hexdigest()}"
    return _venv(cache / "ours", ["-e", str(checkout)], stamp)


def peer(cache: Path) -> Path:
    """An environment with the peer."""
    return _venv(cache / "peer", [PEER], PEER)


def _venv(folder: Path, install: list[str], stamp: str) -> Path:
    mark = folder / "bench.installed"
    if mark.is_file() and mark.read_text() == stamp:
        return folder
    print(f"bench: making {folder}", file=sys.stderr)
    if not (folder / "bin" / "python").exists():
        _checked([str(_python()), "-m", "venv", str(folder)])
    _checked([str(folder / "bin" / "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check", *install])
    mark.write_text(stamp)
    return folder


def _python() -> Path:
    """A Python 3.12, which the peer needs; both systems run on the same one."""
    for candidate in _candidates():
        code = "import sys; sys.exit(sys.version_info[:2] != (3, 12))"
        try:
            if subprocess.run([candidate, "-c", code], capture_output=True, timeout=30, check=False).returncode == 0:
                return candidate
        except OSError:
            continue
    raise BenchError("Python 3.12 is needed for the environments: none on PATH as python3.12, none in ~/.pyenv")


def _candidates() -> Iterator[Path]:
    found = shutil.which("python3.12")
    if found:
        yield Path(found)
    yield from sorted(Path.home().glob(".pyenv/versions/3.12*/bin/python"), reverse=True)
    yield Path(sys.executable)


def _checked(argv: list[str]) -> None:
    done = subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise BenchError(f"{' '.join(argv)} failed:\n{done.stderr[-2000:]}")


def child_variables(cache: Path, home: Path) -> dict[str, str]:
    """What both systems get as their environment: none of the caller's settings, compiled code outside of the tree."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "OCTOP"))}
    return {**kept, "PYTHONPYCACHEPREFIX": str(cache / "compiled"), "OCTOP_BRIDGE_HOME": str(home)}


def worker_variables(cache: Path, home: Path, scripts: Path) -> dict[str, str]:
    """The same for a process that runs a module of ours in a system's environment."""
    return {**child_variables(cache, home), "PYTHONPATH": str(scripts), "PYTHONSAFEPATH": "1"}


def code_digest(folders: list[Path], more: list[str]) -> str:
    """Names a version of the code in these folders."""
    state = hashlib.sha256("\0".join(more).encode())
    for folder in folders:
        files = sorted(folder.rglob("*")) if folder.is_dir() else [folder]
        for file in files:
            if file.suffix in {".py", ".sql", ".json"} and file.is_file():
                state.update(file.name.encode() + b"\0" + file.read_bytes())
    return state.hexdigest()[:16]


def load_average() -> str:
    """The machine's load over 1, 5 and 15 minutes."""
    return " ".join(f"{one:.2f}" for one in os.getloadavg())


def machine(python: Path) -> str:
    """Processor, cores, memory, system, and the Python and SQLite that the systems run on."""
    code = "import platform, sqlite3; print(platform.python_version(), sqlite3.sqlite_version)"
    versions = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    return (
        f"{_processor()}, {os.cpu_count()} cores, {memory:.0f} GiB, {platform.system()} {platform.release()}; "
        f"Python {versions[0]}, SQLite {versions[1]}"
    )


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def sync_rates(folder: Path) -> tuple[float, float]:
    """How often a second 4 KiB can be written and synced: to the end of a file that grows, and over what is there."""
    file = folder / "sync.probe"
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        appended = _syncs(descriptor, lambda number: number * len(_PAGE), os.fsync)
        written = os.fstat(descriptor).st_size // len(_PAGE)
        sync = getattr(os, "fdatasync", os.fsync)
        return appended, _syncs(descriptor, lambda number: number % written * len(_PAGE), sync)
    finally:
        os.close(descriptor)
        file.unlink()


def _syncs(descriptor: int, place: Callable[[int], int], sync: Callable[[int], None]) -> float:
    number, started = 0, time.perf_counter()
    while (spent := time.perf_counter() - started) < _SYNC_S:
        os.pwrite(descriptor, _PAGE, place(number))
        sync(descriptor)
        number += 1
    return number / spent
