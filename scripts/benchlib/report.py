"""Measurements as Markdown, and a report's place in a file."""

import datetime as dt
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from benchlib import environment
from benchlib.errors import BenchError
from benchlib.run import Run


@dataclass(kw_only=True)
class Row:
    """One measure of both systems. A ratio is of the values at `at`, ours to the peer's."""

    name: str
    unit: Literal["ms", "/s", "%"]
    ours: list[float]
    peer: list[float] = field(default_factory=list)
    bare: list[float] = field(default_factory=list)
    """The same rows or texts by plain SQLite."""
    goal: float | None = None
    """The ratio, or for a share the value, that is to be reached: at most, for times, at least, for all else."""
    at: float = 0.5

    @property
    def ratio(self) -> float | None:
        """Ours to the peer's."""
        return quantile(self.ours, self.at) / quantile(self.peer, self.at) if self.peer else None

    def verdict(self) -> str:
        """PASS or miss, empty where there is no goal."""
        value = quantile(self.ours, self.at) if self.unit == "%" else self.ratio
        if self.goal is None or value is None:
            return ""
        return "PASS" if (value <= self.goal if self.unit == "ms" else value >= self.goal) else "miss"

    def cells(self) -> list[str]:
        """The row's cells, in the order of `HEAD`."""
        sign = "≤" if self.unit == "ms" else "≥"
        goal = "" if self.goal is None else f"{sign} {self.goal:g}{' %' if self.unit == '%' else ''}"
        ratio = "" if self.ratio is None or self.unit == "%" else f"{self.ratio:.3g}"
        beside = f"{quantile(self.ours, self.at) / quantile(self.bare, self.at):.3g}" if self.bare else ""
        shown = [self._shown(values) for values in (self.ours, self.peer)]
        return [f"{self.name}, {self.unit}", *shown, ratio, goal, self.verdict(), self._shown(self.bare), beside]

    def _shown(self, values: list[float]) -> str:
        if not values:
            return ""
        if len(values) == 1 or self.unit == "%":
            return number(quantile(values, self.at))
        best = min(values) if self.unit == "ms" else max(values)
        return f"{number(quantile(values, self.at))} ({number(best)})"


HEAD = ["measure", "ours: p50 (best)", "peer: p50 (best)", "ours/peer", "goal", "", "plain SQLite", "ours/plain"]


@dataclass(kw_only=True)
class Use:
    """What one scenario took of the machine: peak of resident memory, and processor time for each operation."""

    name: str
    ours_mib: float | None
    peer_mib: float | None
    ours_cpu_ms: float | None = None
    peer_cpu_ms: float | None = None

    def cells(self) -> list[str]:
        """The row's cells, in the order of `USE_HEAD`."""
        values = (self.ours_mib, self.peer_mib, self.ours_cpu_ms, self.peer_cpu_ms)
        return [self.name, *("" if value is None else number(value) for value in values)]


USE_HEAD = ["scenario", "ours: peak MiB", "peer: peak MiB", "ours: CPU ms an operation", "peer: CPU ms an operation"]


@dataclass
class Found:
    """What was measured, in order."""

    rows: list[Row] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def quantile(values: Sequence[float], at: float) -> float:
    """The value at a share of the sorted values; the median proper at 0.5."""
    if at == 0.5:
        return statistics.median(values)
    return sorted(values)[min(len(values) - 1, int(at * len(values)))]


def median_or_none(values: Sequence[float | None]) -> float | None:
    """The median of the values that there are."""
    known = [value for value in values if value is not None]
    return quantile(known, 0.5) if known else None


def number(value: float) -> str:
    """Three digits that count, and no exponent."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def header(command: str, run: Run, load_before: str, load_after: str) -> str:
    """What was run, on what, when and where."""
    lines = [
        f"- Command: `{command}`, {dt.datetime.now(dt.UTC):%Y-%m-%d %H:%M} UTC",
        f"- Data: `{run.corpus.file.name}` (sha256 {run.corpus.digest}), the same facts and queries for both systems",
        f"- Systems: {run.ours.title} of this checkout; {run.peer.title}, both on their stdio unless said",
        f"- Machine: {environment.machine(Path(run.ours.python))}",
        f"- Load before {load_before}, after {load_after}",
    ]
    if run.sync_rates:
        appended, overwritten = (quantile(rates, 0.5) for rates in zip(*run.sync_rates, strict=True))
        lines.append(
            f"- Disk, beside the captures: 4 KiB appended and synced {number(appended)} /s, "
            f"overwritten and synced {number(overwritten)} /s"
        )
    return "\n".join(lines)


def write(file: Path, name: str, text: str) -> None:
    """Replace the section of this name. Raises BenchError where the file has none."""
    mark = f"<!-- bench:{name} -->"
    before, found, rest = file.read_text().partition(mark)
    _, ended, after = rest.partition(mark)
    if not found or not ended:
        raise BenchError(f"{file} has no two lines {mark}")
    file.write_text(f"{before}{mark}\n\n{text}\n{mark}{after}")
