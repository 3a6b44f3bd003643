"""`octop-bridge config show`: the settings in force."""

import argparse

from octop_bridge import settings
from octop_bridge.cli import opening, render
from octop_bridge.protocol import errors


def configure(parser: argparse.ArgumentParser, _: str) -> None:
    """The arguments of the command."""
    parser.add_argument("action", choices=("show",), help="show every setting with its value")
    opening.add_store_options(parser)
    opening.add_output_options(parser)


def run(args: argparse.Namespace) -> int:
    """Print the settings; the exit code."""
    try:
        shown = settings.show(opening.load_settings(args))
    except errors.ConfigError as error:
        opening.tell(error, as_json=args.json)
        return 2
    screen = render.screen(quiet=args.quiet)
    if args.json:
        screen.line(render.json_text(shown, pretty=False))
        return 0
    rows = [(row.name, _text(shown[row.name]), row.default, row.help) for row in settings.rows()]
    screen.table(("setting", "value", "default", "what it is"), rows)
    return 0


def _text(value: object) -> str:
    if value is None:
        return "none"
    return value if isinstance(value, str) else render.json_text(value, pretty=False)
