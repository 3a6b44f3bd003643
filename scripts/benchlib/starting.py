"""Cold start: from the start of a process to its first words, and to the reply to a first search."""

import time

from benchlib.report import Found, Row, Use, median_or_none
from benchlib.run import Run
from benchlib.wire import Child, result_of

_FACTS = 1000


def cold(run: Run, found: Found) -> None:
    """Start, hello, its reply, search, its reply; on a store that is there already."""
    stores = {system.name: run.seeded(system, _FACTS) for system in run.systems}
    greeted: dict[str, list[float]] = {system.name: [] for system in run.systems}
    searched: dict[str, list[float]] = {system.name: [] for system in run.systems}
    cpus: dict[str, list[float | None]] = {system.name: [] for system in run.systems}
    peaks: dict[str, float | None] = {}
    query = run.corpus.queries(1, _FACTS)[0]
    # The first round compiles what is not compiled yet, and does not count.
    for number in range(1 + run.size(15, 4)):
        for system in run.in_turn(number):
            with run.bridge(system, stores[system.name]) as bridge:
                result_of(bridge.ask(system.greeting).replies[0])
                hello_ms = _age_ms(bridge)
                result_of(bridge.ask(system.search(1, query)).replies[0])
                search_ms = _age_ms(bridge)
                peaks[system.name], cpu_ms = bridge.peak_mib(), bridge.cpu_ms()
            if number:
                greeted[system.name].append(hello_ms)
                searched[system.name].append(search_ms)
                cpus[system.name].append(cpu_ms)
    found.rows += [
        Row(name="spawn to hello, existing store", unit="ms", goal=1.0, ours=greeted["ours"], peer=greeted["peer"]),
        Row(name="spawn to first search reply", unit="ms", goal=1.2, ours=searched["ours"], peer=searched["peer"]),
    ]
    found.uses.append(
        Use(
            name=f"start, hello, one search ({_FACTS:,} facts)",
            ours_mib=peaks["ours"],
            peer_mib=peaks["peer"],
            ours_cpu_ms=median_or_none(cpus["ours"]),
            peer_cpu_ms=median_or_none(cpus["peer"]),
        )
    )


def _age_ms(bridge: Child) -> float:
    return (time.perf_counter() - bridge.started) * 1000
