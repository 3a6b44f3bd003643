"""What a prompt is given: blocks fenced as data, the same bytes for the same memory and query. Pure, no clock.

Everything that people wrote is escaped, never deleted, so that no tag or fence can form inside a block.
"""

from collections.abc import Sequence

import msgspec

from octop_bridge.domain import fences
from octop_bridge.domain.moments import day_of
from octop_bridge.domain.query import snippet
from octop_bridge.domain.text import estimate_tokens

_CUT_CHARS_MIN = 40
"""Shorter pieces of a text say nothing."""
_CUT_STEP = 0.75


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that may go into a block."""

    text: str
    status: str
    at_ms: int
    path: str
    valid_to_ms: int | None = None
    other_sides: tuple[tuple[str, int], ...] = ()
    """Texts that dispute it, with when they were said (epoch ms)."""


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """A rendered block, "" where nothing was to say or nothing fitted."""

    text: str
    tokens: int
    kept: tuple[int, ...]
    """Indexes of the lines that it holds."""


def render_prompt(lines: Sequence[Line], terms: Sequence[str], zone: str, budget_tokens: int) -> Block:
    """The lines that fit the budget, best first; a long one is cut around the match instead of being left out."""
    frame = estimate_tokens(f"{fences.PROMPT_OPEN}\n{fences.PROMPT_CLOSE}\n")
    left = budget_tokens - frame
    rows: list[str] = []
    kept: list[int] = []
    for number, line in enumerate(lines):
        row = _fitting(line, terms, zone, left)
        if row is None:
            continue
        rows.append(row)
        kept.append(number)
        left -= estimate_tokens(row + "\n")
    if not rows:
        return Block(text="", tokens=0, kept=())
    text = "\n".join([fences.PROMPT_OPEN, *rows, fences.PROMPT_CLOSE])
    return Block(text=text, tokens=estimate_tokens(text), kept=tuple(kept))


def render_system(texts: Sequence[str], budget_tokens: int) -> Block:
    """What the user has asked for once and for all. No dates: byte-identical until the content changes."""
    frame = estimate_tokens(f"{fences.SYSTEM_OPEN}\n{fences.SYSTEM_CLOSE}\n")
    left = budget_tokens - frame
    rows: list[str] = []
    kept: list[int] = []
    for number, text in enumerate(texts):
        row = f"- {one_line(text)}"
        cost = estimate_tokens(row + "\n")
        if cost <= left:
            rows.append(row)
            kept.append(number)
            left -= cost
    if not rows:
        return Block(text="", tokens=0, kept=())
    text = "\n".join([fences.SYSTEM_OPEN, *rows, fences.SYSTEM_CLOSE])
    return Block(text=text, tokens=estimate_tokens(text), kept=tuple(kept))


def one_line(text: str) -> str:
    """A text as it stands in a block: one line, escaped."""
    return fences.escape(" ".join(text.split()))


def _fitting(line: Line, terms: Sequence[str], zone: str, left: int) -> str | None:
    row = _row(line, line.text, zone)
    if estimate_tokens(row + "\n") <= left:
        return row
    chars = len(line.text)
    while chars > _CUT_CHARS_MIN:
        chars = int(chars * _CUT_STEP)
        row = _row(line, snippet(line.text, tuple(terms), chars), zone)
        if estimate_tokens(row + "\n") <= left:
            return row
    return None


def _row(line: Line, text: str, zone: str) -> str:
    parts = [f"- {one_line(text)}"]
    if line.status in {"historical", "raw"}:
        until = f" until {day_of(line.valid_to_ms, zone)}" if line.valid_to_ms is not None else ""
        parts.append(f"[{'was true' + until if line.status == 'historical' else 'said, not confirmed'}]")
    elif line.valid_to_ms is not None:
        parts.append(f"[until {day_of(line.valid_to_ms, zone)}]")
    for other, when_ms in line.other_sides:
        parts.append(f"[disputed; newer and unconfirmed, {day_of(when_ms, zone)}: {one_line(other)}]")
    parts.append(f"({day_of(line.at_ms, zone)}, {line.path})")
    return " ".join(parts)
