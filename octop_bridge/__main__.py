"""The command `octop-bridge`. `serve` has a path of its own: it answers before anything else is imported."""

import sys
from collections.abc import Sequence


def main(words: Sequence[str] | None = None) -> int:
    """Run the command that the words name (default: the process's arguments); its exit code."""
    given = list(sys.argv[1:] if words is None else words)
    if given[:1] == ["serve"]:
        from octop_bridge.cli import serve  # noqa: PLC0415 - see above

        return serve.main(given[1:])
    from octop_bridge.cli import commands  # noqa: PLC0415 - see above

    return commands.main(given)


if __name__ == "__main__":
    sys.exit(main())
