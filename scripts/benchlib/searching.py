"""Search: how long it takes, whether it finds the fact, and what becomes of it while a model thinks."""

import json
import time
from collections.abc import Sequence
from contextlib import ExitStack

from benchlib.errors import BenchError
from benchlib.model_stub import LateModel
from benchlib.report import Found, Row, Use
from benchlib.run import BARE, Run
from benchlib.systems import HITS, System
from benchlib.wire import Child, result_of

_ASKED_S = 30.0
_SESSION = "thinking"
_SAID = "I write with vim every single day and I never want another editor"


def search(run: Run, found: Found) -> None:
    """Queries on stores of 1,000 and 10,000 facts, beside one statement of SQLite's own full-text search."""
    for count in (1000,) if run.quick else (1000, 10_000):
        _searched(run, found, count)


def _searched(run: Run, found: Found, count: int) -> None:
    rounds, each = run.size(6, 2), run.size(40, 20)
    queries = run.corpus.queries(rounds * each, count)
    with ExitStack() as stack:
        bridges = {
            system.name: stack.enter_context(run.bridge(system, run.seeded(system, count))) for system in run.systems
        }
        for system in run.systems:
            _ask(system, bridges[system.name], queries[:2], greet=True)
        bare = stack.enter_context(run.worker(run.ours, BARE))
        target = str(run.folder("texts") / "texts.sqlite")
        bare.work("index", target=target, texts=[text for _, text, _ in run.corpus.facts(count)])
        spent: dict[str, list[float]] = {"ours": [], "peer": [], "bare": []}
        begun = {name: bridge.cpu_ms() for name, bridge in bridges.items()}
        for number in range(rounds):
            some = queries[number * each : (number + 1) * each]
            for system in run.in_turn(number):
                spent[system.name] += _ask(system, bridges[system.name], some)
            spent["bare"] += [seconds * 1000 for seconds in bare.work("search", queries=some, limit=HITS)]
        used = {name: _cpu_each(begun[name], bridge.cpu_ms(), len(queries)) for name, bridge in bridges.items()}
        for at, name in ((0.5, "search"), (0.95, "search p95")):
            goal = 0.1 if at == 0.5 else None
            row = Row(
                name=f"{name}, {count:,} facts", unit="ms", goal=goal, at=at, ours=spent["ours"], peer=spent["peer"]
            )
            row.bare = spent["bare"]
            found.rows.append(row)
        ours, peer = ([_gold_share(run, system, bridges[system.name], count)] for system in run.systems)
        name = f"the right fact in the top 5, {count:,} facts"
        found.rows.append(Row(name=name, unit="%", goal=100, ours=ours, peer=peer))
        found.uses.append(
            Use(
                name=f"search, {count:,} facts",
                ours_mib=bridges["ours"].peak_mib(),
                peer_mib=bridges["peer"].peak_mib(),
                ours_cpu_ms=used["ours"],
                peer_cpu_ms=used["peer"],
            )
        )


def _ask(system: System, bridge: Child, queries: Sequence[str], *, greet: bool = False) -> list[float]:
    """Milliseconds that each query took."""
    if greet:
        result_of(bridge.ask(system.greeting).replies[0])
    spent = []
    for number, query in enumerate(queries, 1):
        seconds, replies = bridge.ask(system.search(number, query))
        result_of(replies[0])
        spent.append(seconds * 1000)
    return spent


def _gold_share(run: Run, system: System, bridge: Child, count: int) -> float:
    """Percent of the queries of four words of a fact that have the fact among their hits."""
    asked = run.corpus.gold_queries(run.size(100, 40), count)
    held = 0
    for number, (query, gold) in enumerate(asked, 1):
        held += gold in system.texts(result_of(bridge.ask(system.search(number, query)).replies[0]))[:HITS]
    return 100 * held / len(asked)


def _cpu_each(before: float | None, after: float | None, count: int) -> float | None:
    return None if before is None or after is None else (after - before) / count


# While a model thinks


def beside_model(run: Run, found: Found) -> None:
    """A search that is sent while an extraction waits for its model, which takes seconds."""
    delay_s = run.size(4, 1)
    idle: list[float] = []
    during: dict[str, list[float]] = {"ours": [], "peer": []}
    peaks: dict[str, float | None] = {}
    for _ in range(run.size(2, 1)):
        during["ours"] += _ours_thinking(run, delay_s, idle, peaks)
        during["peer"] += _peer_thinking(run, delay_s, peaks)
    name = f"search during an extraction of {delay_s} s"
    found.rows += [
        Row(name=name, unit="ms", ours=during["ours"], peer=during["peer"]),
        Row(name=f"{name}, ours, p95 beside idle", unit="ms", at=0.95, goal=1.5, ours=during["ours"], peer=idle),
    ]
    found.uses.append(Use(name="search during an extraction", ours_mib=peaks["ours"], peer_mib=peaks["peer"]))
    found.notes.append(
        f"During an extraction: the peer's model is asked twice, {delay_s} s each. In the row beside idle, what stands "
        "under peer is ours too, the same searches before the extraction."
    )


def _ours_thinking(run: Run, delay_s: int, idle: list[float], peaks: dict[str, float | None]) -> list[float]:
    """As many searches as a second allows, at most 40, all of them answered before the extraction is."""
    system = run.ours
    store = run.seeded(system, 1000)
    script = store.with_name("script.json")
    script.write_text(json.dumps({"claims": []}))
    extraction = {"kind": "scripted", "script": str(script), "script_delay_s": float(delay_s)}
    with run.bridge(system, store, system.config(store.parent, extraction=extraction)) as bridge:
        queries = run.corpus.queries(42, 1000)
        _ask(system, bridge, queries[:2], greet=True)
        idle += _ask(system, bridge, queries[2:])
        result_of(bridge.ask(system.capture(1, (_SESSION, _SAID, _SAID[::-1]))).replies[0])
        started = time.perf_counter()
        bridge.send(system.extract(0, _SESSION))
        # A reply to the extraction among these would be the second reply to a request, which is an error.
        spent = _ask(system, bridge, queries[2:])
        result = result_of(bridge.lines()[0])
        if result["events"] != 2 or time.perf_counter() - started < delay_s:
            raise BenchError(f"nothing was extracted meanwhile: {result}")
        peaks[system.name] = bridge.peak_mib()
    return spent


def _peer_thinking(run: Run, delay_s: int, peaks: dict[str, float | None]) -> list[float]:
    """One search, sent when the model has been asked."""
    system = run.peer
    store = run.seeded(system, 1000)
    with LateModel(delay_s).serving() as model:
        config = system.config(store.parent, extraction={"endpoint": model.endpoint, "model": "late"})
        with run.bridge(system, store, config) as bridge:
            queries = run.corpus.queries(3, 1000)
            _ask(system, bridge, queries[:2], greet=True)
            result_of(bridge.ask(system.capture(1, (_SESSION, _SAID, _SAID[::-1]))).replies[0])
            bridge.send(system.extract(100, _SESSION))
            if not model.asked.wait(_ASKED_S):
                raise BenchError("the peer did not ask its model")
            sent = time.perf_counter()
            bridge.send(system.search(101, queries[2]))
            replies: list[bytes] = []
            while len(replies) < 2:
                replies += bridge.lines()
            spent = (time.perf_counter() - sent) * 1000
            ids = [json.loads(reply)["id"] for reply in replies]
            if ids != [100, 101]:
                raise BenchError(f"the peer answered {ids}: its search did not wait, measure it otherwise")
            peaks[system.name] = bridge.peak_mib()
    return [spent]
