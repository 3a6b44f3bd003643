"""`octop-bridge schema`: what is generated from the table, written or compared."""

import argparse
import sys
from pathlib import Path

from octop_bridge import schema


def configure(parser: argparse.ArgumentParser, _: str) -> None:
    """The arguments of the command."""
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where a file differs")
    parser.add_argument("--root", type=Path, default=Path(), metavar="DIR", help="the checkout; default: this folder")


def run(args: argparse.Namespace) -> int:
    """Write what differs, or name it; the exit code."""
    if not (args.root / "pyproject.toml").is_file():
        print("octop-bridge schema: this is no checkout (no pyproject.toml): name one with --root", file=sys.stderr)
        return 2
    missing = schema.missing_markers(args.root)
    for marker in missing:
        print(f"README.md has no place for a table: <!-- {marker} --> and <!-- /{marker} -->", file=sys.stderr)
    if args.check:
        differing = schema.differing(args.root)
        for name in differing:
            print(f"{name} differs from what the table gives: octop-bridge schema writes it", file=sys.stderr)
        return 1 if differing or missing else 0
    for name in schema.write(args.root):
        print(name)
    return 1 if missing else 0
