"""The facts and queries that every system is given, made by the `corpus.py` of another folder."""

import hashlib
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from benchlib.errors import BenchError

Fact = tuple[str, str, str]
"""What it is about, the sentence, when it was said (ISO-8601)."""


class Corpus(NamedTuple):
    """Deterministic: the same numbers give the same texts."""

    file: Path
    digest: str
    facts: Callable[..., list[Fact]]
    queries: Callable[..., list[str]]
    gold_queries: Callable[..., list[tuple[str, str]]]


def load(folder: Path) -> Corpus:
    """The corpus of a folder. Raises BenchError where there is none."""
    file = folder / "corpus.py"
    if not file.is_file():
        raise BenchError(f"{file} is missing: name the folder that holds it with --corpus DIR")
    spec = importlib.util.spec_from_file_location("bench_corpus", file)
    if spec is None or spec.loader is None:
        raise BenchError(f"{file} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()[:12]
    return Corpus(file, digest, module.facts, module.queries, module.gold_queries)
