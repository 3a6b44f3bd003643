"""One run of a bench: the systems, the corpus, a folder for its stores, and how large it is."""

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from benchlib import environment
from benchlib.corpus import Corpus
from benchlib.errors import BenchError
from benchlib.systems import PARTS, Ours, Peer, System
from benchlib.wire import Child

_SEED_S = 900


@dataclass(kw_only=True)
class Run:
    """What every part of a bench is given."""

    checkout: Path
    cache: Path
    scratch: Path
    corpus: Corpus
    ours: Ours
    peer: Peer
    quick: bool
    only: list[str] | None
    sync_rates: list[tuple[float, float]] = field(default_factory=list)
    """Appended and overwritten 4 KiB pages synced a second, as they were measured beside captures."""

    @classmethod
    def begin(
        cls,
        stack: ExitStack,
        *,
        checkout: Path,
        cache: Path,
        corpus: Corpus,
        ours: Path,
        peer: Path,
        args: argparse.Namespace,
    ) -> "Run":
        """A run whose scratch folder ends with the stack. It lies in the cache: on a disk, as a user's store does."""
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="run-", dir=cache)))
        return cls(
            checkout=checkout,
            cache=cache,
            scratch=scratch,
            corpus=corpus,
            ours=Ours(ours),
            peer=Peer(peer),
            quick=args.quick,
            only=args.only,
        )

    @property
    def systems(self) -> tuple[System, System]:
        """Ours and the peer."""
        return (self.ours, self.peer)

    def in_turn(self, number: int) -> Sequence[System]:
        """The systems in the order of a round: ours first, then the peer first, so that drift falls on both."""
        return self.systems if number % 2 == 0 else self.systems[::-1]

    def size(self, usual: int, quick: int) -> int:
        """How many, by the size of the run."""
        return quick if self.quick else usual

    def folder(self, name: str) -> Path:
        """A new empty folder."""
        return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.scratch))

    def bridge(self, system: System, store: Path, config: Path | None = None) -> Child:
        """The system's bridge, started over a store."""
        variables = environment.child_variables(self.cache, store.parent)
        return Child(system.argv(store, config), env=variables, log=store.parent / "stderr.log")

    def worker(self, system: System, module: str) -> Child:
        """A worker, started in the system's environment."""
        folder = self.folder("worker")
        variables = environment.worker_variables(self.cache, folder, PARTS.parent)
        return Child([system.python, "-m", module], env=variables, log=folder / "stderr.log")

    def seeded(self, system: System, count: int) -> Path:
        """A copy of the system's store with so many facts, made once for each version of the code that makes it."""
        kept = self._kept(system, count)
        if not kept.exists():
            self._seed(system, count, kept)
        store = self.folder(f"{system.name}-{count}") / "store.sqlite"
        shutil.copy(kept, store)
        return store

    def _kept(self, system: System, count: int) -> Path:
        folders = [PARTS / f"seed_{system.name}.py", self.corpus.file]
        if isinstance(system, Ours):
            package = self.checkout / "octop_bridge"
            folders += [package / "domain", package / "storage", package / "verbs" / "capture.py"]
        digest = environment.code_digest(folders, [system.title])
        return self.cache / "seeds" / f"{system.name}-{count}-{digest}.sqlite"

    def _seed(self, system: System, count: int, kept: Path) -> None:
        kept.parent.mkdir(parents=True, exist_ok=True)
        folder = self.folder("seed")
        store = folder / "store.sqlite"
        print(f"bench: seeding {count} facts of {system.title}", file=sys.stderr)
        argv = [system.python, "-m", system.seeder, str(store), str(count), str(self.corpus.file.parent)]
        variables = environment.worker_variables(self.cache, folder, PARTS.parent)
        done = subprocess.run(argv, env=variables, capture_output=True, text=True, timeout=_SEED_S, check=False)
        if done.returncode:
            raise BenchError(f"{' '.join(argv)} failed:\n{done.stderr[-3000:]}")
        if store.with_name("store.sqlite-wal").exists():
            raise BenchError(f"{store} was not closed: its log is there still")
        print(f"bench: {done.stderr.strip()}", file=sys.stderr)
        for older in kept.parent.glob(f"{system.name}-{count}-*.sqlite"):
            older.unlink()
        store.replace(kept)

    def measure_syncs(self) -> None:
        """How fast the disk is at this moment."""
        self.sync_rates.append(environment.sync_rates(self.scratch))


BARE = "benchlib.worker_bare"
"""The worker that knows neither system."""
