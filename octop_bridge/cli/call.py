"""`octop-bridge call`: one method of the table, in this process."""

import argparse
import sys
from typing import Any

import msgspec

from octop_bridge.cli import opening, render


def configure(parser: argparse.ArgumentParser, _: str) -> None:
    """The arguments of the command."""
    parser.add_argument("method", help="as memory.search; bridge.hello lists them")
    parser.add_argument("params", nargs="?", default="{}", help="parameters as JSON; - reads them from stdin")
    parser.add_argument("--role", choices=("host", "model", "person"), help="who calls; default: what you may be")
    opening.add_store_options(parser)
    opening.add_output_options(parser)


def run(args: argparse.Namespace) -> int:
    """Print the result; the exit code."""
    text = sys.stdin.read() if args.params == "-" else args.params
    try:
        params: Any = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        print(f"octop-bridge call: the parameters are no JSON: {error}", file=sys.stderr)
        return 2
    if not isinstance(params, dict):
        print("octop-bridge call: the parameters are a JSON object", file=sys.stderr)
        return 2

    async def work() -> int:
        async with opening.opened(args, args.method) as bridge:
            result = await bridge.call(args.method, params)
        pretty = sys.stdout.isatty() and not args.json
        print(render.json_text(result, pretty=pretty))
        return 0

    return opening.perform(work, as_json=True)
