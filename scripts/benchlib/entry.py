"""The command line of `scripts/bench`: arguments, the header of a report, and where a report is written."""

import argparse
import importlib
import shlex
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType

from benchlib import corpus, environment, report
from benchlib.errors import BenchError
from benchlib.run import Run

CHECKOUT = Path(__file__).resolve().parents[2]
README = CHECKOUT / "scripts" / "README.md"
SUBCOMMANDS = {
    "spine": "cold start, capture, search, search while a model thinks, memory: beside octop-memory",
}
"""Each is a module of this folder with `measure(run) -> str`, which gives the Markdown below the header."""


def main(words: Sequence[str]) -> int:
    """Run one subcommand; 0 where it ran to its end, goals missed or not, 1 where it could not, 2 used wrongly."""
    args = _parser().parse_args(list(words))
    module = importlib.import_module(f"benchlib.{args.subcommand}")
    command = shlex.join(["scripts/bench", *words])
    try:
        return _measured(module, args, command)
    except BenchError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/bench", description="Measure octop-bridge beside its peers.")
    subcommands = parser.add_subparsers(dest="subcommand", required=True, metavar="SUBCOMMAND")
    for name, line in SUBCOMMANDS.items():
        one = subcommands.add_parser(name, help=line, description=line)
        one.add_argument("--quick", action="store_true", help="a smoke run of half a minute: small and noisy")
        one.add_argument("--write", action="store_true", help="put the result into scripts/README.md")
        one.add_argument("--only", metavar="PART", action="append", help="only this part; may be repeated")
        one.add_argument(
            "--corpus",
            metavar="DIR",
            type=Path,
            default=CHECKOUT.parent / "shared" / "bench",
            help="folder of corpus.py, which makes the facts and queries (default: ../shared/bench)",
        )
        one.add_argument("--cache", metavar="DIR", type=Path, help="where environments and seeded stores are kept")
        one.add_argument("--ours", metavar="VENV", type=Path, help="an environment that has octop-bridge, as it is")
        one.add_argument("--peer", metavar="VENV", type=Path, help="an environment that has octop-memory, as it is")
    return parser


def _measured(module: ModuleType, args: argparse.Namespace, command: str) -> int:
    facts = corpus.load(args.corpus)
    cache: Path = args.cache or environment.cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    ours = args.ours or environment.ours(cache, CHECKOUT)
    peer = args.peer or environment.peer(cache)
    with ExitStack() as stack:
        run = Run.begin(stack, checkout=CHECKOUT, cache=cache, corpus=facts, ours=ours, peer=peer, args=args)
        load_before = environment.load_average()
        body = module.measure(run)
        header = report.header(command, run, load_before, environment.load_average())
    text = f"{header}\n\n{body}\n"
    print(text)
    if args.write:
        report.write(README, args.subcommand, text)
        print(f"written to {README.relative_to(CHECKOUT)}", file=sys.stderr)
    return 0
