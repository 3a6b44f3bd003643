"""`scripts/bench spine`: what a user waits for, and what it costs, beside octop-memory in the same minutes."""

from collections.abc import Callable

from benchlib import capturing, searching, starting
from benchlib.errors import BenchError
from benchlib.report import HEAD, USE_HEAD, Found, table
from benchlib.run import Run

PARTS: dict[str, Callable[[Run, Found], None]] = {
    "cold": starting.cold,
    "capture": capturing.capture,
    "search": searching.search,
    "model": searching.beside_model,
}


def measure(run: Run) -> str:
    """All parts, or those that were asked for, as Markdown."""
    unknown = set(run.only or ()) - PARTS.keys()
    if unknown:
        raise BenchError(f"--only: no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    found = Found()
    for name, part in PARTS.items():
        if run.only is None or name in run.only:
            part(run, found)
    goals = [row for row in found.rows if row.goal is not None]
    met = sum(row.verdict() == "PASS" for row in goals)
    return "\n\n".join(
        [
            table(HEAD, [row.cells() for row in found.rows]),
            f"{met} of {len(goals)} goals are met. The best is the least time, and the highest rate of a round.",
            table(USE_HEAD, [use.cells() for use in found.uses]),
            "\n".join(f"- {note}" for note in found.notes),
        ]
    )
