"""What a terminal shows: plain lines and tables; colour only where a person looks and has not said NO_COLOR."""

import json
import os
import shutil
import sys
import time
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TextIO

Style = Literal["bold", "dim", "red", "green", "yellow", "cyan"]
_CODES: dict[Style, str] = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_GAP = "  "
_CELL_WIDTH_MIN = 12
_PIPE_WIDTH = 1 << 30


@dataclass(frozen=True, slots=True)
class Screen:
    """Where results and notes go. `width` is in columns; a pipe has no end."""

    out: TextIO = field(default_factory=lambda: sys.stdout)
    err: TextIO = field(default_factory=lambda: sys.stderr)
    colour: bool = False
    width: int = _PIPE_WIDTH
    quiet: bool = False

    def line(self, text: str = "") -> None:
        """A line of the result."""
        print(text, file=self.out)

    def note(self, text: str) -> None:
        """A line about the result, on stderr; silent where quiet was asked for."""
        if not self.quiet:
            print(text, file=self.err)

    def paint(self, text: str, *styles: Style) -> str:
        """The text in these styles, where there is colour."""
        if not self.colour or not text:
            return text
        return f"\x1b[{';'.join(_CODES[style] for style in styles)}m{text}\x1b[0m"

    def table(self, heads: Sequence[str], rows: Sequence[Sequence[str]], *, indent: str = "") -> None:
        """Rows in columns; the last column takes what is left of the line and is cut there."""
        cells = [[flat(cell) for cell in row] for row in rows]
        widths = [max(columns(row[number]) for row in [list(heads), *cells]) for number in range(len(heads))]
        left = max(_CELL_WIDTH_MIN, self.width - len(indent) - sum(widths[:-1]) - len(_GAP) * (len(widths) - 1))
        widths[-1] = min(widths[-1], left)
        self.line(indent + self.paint(_row([head.upper() for head in heads], widths), "dim"))
        for row in cells:
            self.line(indent + _row(row, widths))


def screen(*, quiet: bool = False) -> Screen:
    """The terminal or pipe that this process writes to."""
    terminal = sys.stdout.isatty()
    return Screen(
        colour=terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb",
        width=shutil.get_terminal_size().columns if terminal else _PIPE_WIDTH,
        quiet=quiet,
    )


def json_text(value: Any, *, pretty: bool) -> str:
    """JSON: one line, or indented for a person."""
    return json.dumps(value, ensure_ascii=False, indent=2 if pretty else None)


def harmless(text: str) -> str:
    """A text as a terminal may show it: what people wrote can neither move the cursor nor turn the line around."""
    return "".join(" " if _commands(sign) else sign for sign in text)


def flat(text: str) -> str:
    """The same on one line."""
    return " ".join(harmless(text).split())


def _commands(sign: str) -> bool:
    is_control = unicodedata.category(sign) == "Cc" and sign not in "\n\t"
    return is_control or "\u202a" <= sign <= "\u202e" or "\u2066" <= sign <= "\u2069"


def columns(text: str) -> int:
    """How many columns a text takes: two for wide characters, none for marks that stand on others."""
    return sum(_width(character) for character in text)


def cut(text: str, width: int) -> str:
    """The text in at most this many columns, with an ellipsis where something is missing."""
    if columns(text) <= width:
        return text
    kept, used = [], 1
    for character in text:
        used += _width(character)
        if used > width:
            break
        kept.append(character)
    return "".join(kept) + "…"


def moment(at_ms: int | None) -> str:
    """A time as this machine's clock would show it, to the minute; "-" where there is none."""
    return "-" if at_ms is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(at_ms / 1000))


def span(duration_ms: int) -> str:
    """A length of time in its largest unit."""
    for unit, length_ms in (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000)):
        if duration_ms >= length_ms:
            return f"{duration_ms // length_ms} {unit}"
    return f"{duration_ms} ms"


def _width(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in {"Cf", "Mn"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    shown = [cut(cell, width) for cell, width in zip(cells, widths, strict=True)]
    padded = [cell + " " * (width - columns(cell)) for cell, width in zip(shown, widths, strict=True)]
    return _GAP.join(padded).rstrip()
