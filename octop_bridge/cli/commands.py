"""The commands by name, each in a module of its own that is imported when it is called."""

import argparse
import importlib
import sys
from collections.abc import Sequence

from octop_bridge import __version__

COMMANDS: dict[str, tuple[str, str]] = {
    "serve": ("serve", "answer JSON-RPC on stdin and stdout"),
    "call": ("call", "one method: result as JSON on stdout, error as JSON on stderr"),
    "demo": ("demo", "the main job, shown on a conversation: capture, believe, ask, correct"),
    "review": ("review", "decide what waits for you, one claim at a time"),
    "search": ("short", "find something"),
    "get": ("short", "one thing by path or id, with where it comes from"),
    "recall": ("short", "the block that a prompt would be given"),
    "store": ("short", "state something yourself"),
    "correct": ("short", "replace or retire what is believed"),
    "queue": ("short", "list what waits for you"),
    "status": ("short", "health and counters"),
    "config": ("config", "show the settings in force"),
    "schema": ("schema", "write the JSON Schemas of the methods"),
}
"""Module in this folder, and the line that --help shows."""


def main(words: Sequence[str]) -> int:
    """Run a command; its exit code: 0 done, 1 refused or failed, 2 used wrongly."""
    for stream in (sys.stdout, sys.stderr):
        # Any text can be shown, whatever the locale; half a character is shown as a question mark.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")
    name = words[0] if words else "--help"
    if name in {"-h", "--help", "help"}:
        print(_help())
        return 0 if words else 2
    if name in {"-V", "--version"}:
        print(f"octop-bridge {__version__}")
        return 0
    if name not in COMMANDS:
        print(f"octop-bridge: no command {name!r}{_near(name)}\n\n{_help()}", file=sys.stderr)
        return 2
    module, line = COMMANDS[name]
    command = importlib.import_module(f"octop_bridge.cli.{module}")
    parser = argparse.ArgumentParser(prog=f"octop-bridge {name}", description=line, allow_abbrev=False)
    command.configure(parser, name)
    try:
        args = parser.parse_args(words[1:])
    except SystemExit as leaving:
        return int(leaving.code or 0)
    code: int = command.run(args)
    return code


def _help() -> str:
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {line}" for name, (_, line) in COMMANDS.items()]
    return "\n".join(
        [
            "usage: octop-bridge COMMAND [...]",
            "",
            "A memory for LLM agents that one can trust.",
            "",
            *lines,
            "",
            "octop-bridge COMMAND --help says more; --version says which this is.",
        ]
    )


def _near(name: str) -> str:
    import difflib  # noqa: PLC0415 - only on the way to an error

    found = difflib.get_close_matches(name, COMMANDS, n=1)
    return f"; did you mean {found[0]}?" if found else ""
