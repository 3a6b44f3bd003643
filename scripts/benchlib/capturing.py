"""Capture: turns of two messages, each answered when it is on the disk, at both systems with `synchronous=FULL`."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from benchlib.errors import BenchError
from benchlib.report import Found, Row, Use
from benchlib.run import BARE, Run
from benchlib.systems import Ours, System, Turn
from benchlib.wire import Child, result_of

_IN_FLIGHT = 16
_SESSIONS = 16
_MESSAGES = 2
_SETTLE_MS = 60_000
_WIDE_LANES, _NARROW_LANES = 6, 5
_NOTES = """\
Capture: nobody extracts, but in the row that says so; the peer extracts nothing by itself. 16 in flight: the peer \
serves one at a time and is sent 16 ahead; without a wire it is called one after the other in both rows, its fastest way.
Plain SQLite beside captures: the same events with as many rows of the index, in the same schema, 16 turns or one in a \
commit. Beside searches: one FTS5 statement, any of the words, ordered by bm25, on the same texts.
"""


@dataclass
class Lane:
    """One way of capturing: what it is called, how it captures turns, and the rates of its rounds."""

    name: str
    capture: Callable[[Sequence[Turn]], float]
    turns: int
    rates: list[float] = field(default_factory=list)


def capture(run: Run, found: Found) -> None:
    """Turns a second, with and without a wire, 16 at a time and one at a time."""
    rounds, wide, narrow = 1 + run.size(6, 2), run.size(400, 150), run.size(200, 60)
    source = _Turns(run, rounds * (_WIDE_LANES * wide + _NARROW_LANES * narrow))
    with ExitStack() as stack:
        bridges = {system.name: _bridge(run, stack, system, extracting=False) for system in run.systems}
        defaults = _bridge(run, stack, run.ours, extracting=True)
        workers = {system.name: _worker(run, stack, system) for system in run.systems}
        bare = _bare(run, stack, source.peek(rounds * (wide + narrow)))
        lanes = [
            *_lanes("stdio", _over_wire, run, bridges, wide, narrow),
            *_lanes("in-process", _in_process, run, workers, wide, narrow),
            Lane("ours stdio defaults", _with_rest(run.ours, defaults), wide),
            Lane("bare wide", _Bare(bare, _IN_FLIGHT), wide),
            Lane("bare narrow", _Bare(bare, 1), narrow),
        ]
        families = {"stdio": bridges, "in-process": workers}
        begun = {name: _cpu(children) for name, children in families.items()}
        for number in range(rounds):
            run.measure_syncs()
            for lane in lanes if number % 2 == 0 else reversed(lanes):
                rate = lane.turns / lane.capture(source.take(lane.turns))
                # The first round makes the logs grow to the length that they keep, and does not count.
                if number:
                    lane.rates.append(rate)
        _report(found, {lane.name: lane.rates for lane in lanes})
        turns = rounds * (wide + narrow)
        for name, children in families.items():
            spent = {one: _each(begun[name][one], ended, turns) for one, ended in _cpu(children).items()}
            found.uses.append(
                Use(
                    name=f"capture, {name}, {turns:,} turns",
                    ours_mib=children["ours"].peak_mib(),
                    peer_mib=children["peer"].peak_mib(),
                    ours_cpu_ms=spent["ours"],
                    peer_cpu_ms=spent["peer"],
                )
            )
    found.notes += _NOTES.splitlines()


def _report(found: Found, rates: dict[str, list[float]]) -> None:
    for name, width, goal, bare in (
        ("capture, in-process, 16 in flight", "in-process wide", 3.0, "bare wide"),
        ("capture, stdio, 16 in flight", "stdio wide", 1.5, "bare wide"),
        ("capture, in-process, one at a time", "in-process narrow", 0.9, "bare narrow"),
        ("capture, stdio, one at a time", "stdio narrow", 0.9, "bare narrow"),
    ):
        peer = rates[f"peer {width}"]
        found.rows.append(
            Row(name=name, unit="/s", goal=goal, ours=rates[f"ours {width}"], peer=peer, bare=rates[bare])
        )
    name = "the same while rules extract (default settings)"
    found.rows.insert(-2, Row(name=name, unit="/s", ours=rates["ours stdio defaults"], peer=rates["peer stdio wide"]))


def _lanes(
    name: str,
    how: Callable[[System, Child, int], Callable[[Sequence[Turn]], float]],
    run: Run,
    children: dict[str, Child],
    wide: int,
    narrow: int,
) -> list[Lane]:
    return [
        Lane(f"{system.name} {name} {kind}", how(system, children[system.name], width), turns)
        for kind, width, turns in (("wide", _IN_FLIGHT, wide), ("narrow", 1, narrow))
        for system in run.systems
    ]


def _over_wire(system: System, bridge: Child, width: int) -> Callable[[Sequence[Turn]], float]:
    def captured(turns: Sequence[Turn]) -> float:
        requests = [system.capture(number, turn) for number, turn in enumerate(turns, 1)]
        seconds, replies = bridge.pipeline(requests, width)
        for reply in replies:
            result = result_of(reply)
            if system.stored(result) != _MESSAGES:
                raise BenchError(f"{system.title} did not store a turn: {result}")
        return seconds

    return captured


def _with_rest(system: Ours, bridge: Child) -> Callable[[Sequence[Turn]], float]:
    """Capture, and let the extraction that it sets off come to its end, outside of the time measured."""
    capture_turns = _over_wire(system, bridge, _IN_FLIGHT)

    def captured(turns: Sequence[Turn]) -> float:
        seconds = capture_turns(turns)
        if not result_of(bridge.ask(system.settle(0, _SETTLE_MS)).replies[0])["settled"]:
            raise BenchError(f"the extraction of {len(turns)} turns did not end in {_SETTLE_MS / 1000:.0f} s")
        return seconds

    return captured


def _in_process(_: System, worker: Child, width: int) -> Callable[[Sequence[Turn]], float]:
    def captured(turns: Sequence[Turn]) -> float:
        return float(worker.work("capture", turns=turns, width=width))

    return captured


class _Bare:
    """Writes rows that were prepared: which turns they are of does not matter, how many does."""

    at = 0

    def __init__(self, worker: Child, together: int) -> None:
        self._worker = worker
        self._together = together

    def __call__(self, turns: Sequence[Turn]) -> float:
        events = len(turns) * _MESSAGES
        first, _Bare.at = _Bare.at, _Bare.at + events
        return float(self._worker.work("write", events=events, together=self._together * _MESSAGES, at=first))


class _Turns:
    """Turns of the corpus, no text twice, from 16 conversations."""

    def __init__(self, run: Run, count: int) -> None:
        facts = run.corpus.facts(_MESSAGES * count)
        self._turns: list[Turn] = [
            (f"s{number % _SESSIONS}", facts[2 * number][1], facts[2 * number + 1][1]) for number in range(count)
        ]
        self._at = 0

    def take(self, count: int) -> list[Turn]:
        """The next ones. Raises BenchError where there are not so many: fewer would look like a high rate."""
        taken = self._turns[self._at : self._at + count]
        if len(taken) != count:
            raise BenchError(f"{len(taken)} turns are left where {count} are to be captured")
        self._at += count
        return taken

    def peek(self, count: int) -> list[Turn]:
        """The first ones, which are not taken by this."""
        return self._turns[:count]


def _bridge(run: Run, stack: ExitStack, system: System, *, extracting: bool) -> Child:
    folder = run.folder(f"{system.name}-capture")
    config = None if extracting or system is run.peer else system.config(folder, extraction={"kind": "none"})
    bridge = stack.enter_context(run.bridge(system, folder / "store.sqlite", config))
    result_of(bridge.ask(system.greeting).replies[0])
    return bridge


def _worker(run: Run, stack: ExitStack, system: System) -> Child:
    worker = stack.enter_context(run.worker(system, system.worker))
    durability = worker.work("open", store=str(run.folder(f"{system.name}-in-process") / "store.sqlite"))
    if durability != "full":
        raise BenchError(f"{system.title} writes with synchronous={durability}: not to be compared")
    return worker


def _bare(run: Run, stack: ExitStack, turns: Sequence[Turn]) -> Child:
    """A worker that holds the rows that octop-bridge makes of these turns."""
    store = run.folder("prepared") / "store.sqlite"
    with run.worker(run.ours, run.ours.worker) as ours:
        ours.work("open", store=str(store))
        ours.work("capture", turns=turns, width=_IN_FLIGHT)
        ours.work("close")
    bare = stack.enter_context(run.worker(run.ours, BARE))
    schema: Path = run.checkout / "octop_bridge" / "storage" / "schema"
    target = run.folder("bare") / "store.sqlite"
    held = bare.work("take", source=str(store), schema=str(schema), target=str(target))
    if held != len(turns) * _MESSAGES:
        raise BenchError(f"{held} events of {len(turns)} turns")
    _Bare.at = 0
    return bare


def _cpu(children: dict[str, Child]) -> dict[str, float | None]:
    return {name: child.cpu_ms() for name, child in children.items()}


def _each(before: float | None, after: float | None, count: int) -> float | None:
    return None if before is None or after is None else (after - before) / count
