"""Processes that die, leave, share a file, or are asked nonsense."""

from __future__ import annotations

import asyncio
import json
import random
import signal
import time

import pytest
from contract.harness import Failure, StdioPeer, claim, hello, open_memory, who


async def spawn(folder, *args, **config):
    lines = ["[extraction]", 'kind = "rules"', "quiet_s = 3600", "events_max = 100000", "tokens_max = 100000000"]
    for section, values in config.items():
        lines.append(f"[{section}]")
        lines += [f"{name} = {json.dumps(value)}" for name, value in values.items()]
    (folder / "config.toml").write_text("\n".join(lines) + "\n")
    return await StdioPeer.spawn(
        "--db",
        str(folder / "m.sqlite"),
        "--config",
        str(folder / "config.toml"),
        *args,
        env={"OCTOP_BRIDGE_HOME": str(folder)},
    )


def turn(number):
    return {
        "messages": [
            {"role": "user", "content": f"I own boat number {number}", "id": f"u{number}"},
            {"role": "assistant", "content": f"Noted {number}", "id": f"a{number}"},
        ],
        "identity": who("ana", f"s{number // 10}"),
    }


async def reap(peer):
    await peer.process.wait()
    await peer._reader
    peer.process._transport.close()


async def test_kill_9_at_random_points_loses_nothing_and_doubles_nothing(tmp_path):
    """200 turns are sent with extractions between them; the process is killed again and again at any point."""
    chance = random.Random(7)
    acknowledged: set[str] = set()
    sent = 0
    kills = 0
    while sent < 200:
        peer = await spawn(tmp_path)
        stop_after = chance.randrange(5, 40)
        futures = []
        while sent < 200 and len(futures) < stop_after:
            futures.append((sent, peer.begin("memory.capture", turn(sent))[1]))
            if chance.random() < 0.3:
                peer.begin("memory.extract", {})
            sent += 1
        await peer.process.stdin.drain()
        target = chance.randrange(len(futures))
        await asyncio.wait([futures[target][1]], timeout=20)
        peer.process.kill()
        kills += 1
        await reap(peer)
        for number, future in futures:
            if future.done() and future.exception() is None and "result" in future.result():
                acknowledged.add(f"u{number}")
    peer = await spawn(tmp_path)
    for number in range(200):
        reply = await peer.call("memory.capture", turn(number))
        if f"u{number}" in acknowledged:
            assert reply["duplicates"] == 2, f"turn {number} was acknowledged and lost"
    while (await peer.call("memory.extract", {}))["pending"]:
        pass
    status = await peer.call("bridge.status", {"settle_ms": 10000})
    assert kills >= 5
    assert status["events"]["stored"] == 400
    assert status["events"]["pending"] == 0
    assert status["candidates"].get("pending", 0) == 0
    assert status["atoms"]["current"] == 200
    for number in (0, 57, 199):
        found = await peer.call("memory.search", {"query": f"boat number {number}", "identity": who("ana")})
        assert found["hits"][0]["text"].endswith(f"boat number {number}")
    await peer.close()


@pytest.mark.promise("R77")
@pytest.mark.parametrize("how", ["eof", "sigterm"])
async def test_leaving_takes_no_two_seconds_also_while_an_extraction_runs(tmp_path, how):
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"claims": []}))
    extraction = {"kind": "scripted", "script": str(script), "script_delay_s": 60, "quiet_s": 3600}
    peer = await StdioPeer.spawn(
        "--db",
        str(tmp_path / "m.sqlite"),
        env={
            "OCTOP_BRIDGE_HOME": str(tmp_path),
            **{f"OCTOP_BRIDGE_EXTRACTION_{name.upper()}": str(value) for name, value in extraction.items()},
        },
    )
    await peer.call("memory.capture", turn(1))
    peer.begin("memory.extract", {})
    _, last = peer.begin("memory.capture", turn(2))
    await peer.process.stdin.drain()
    started = time.monotonic()
    if how == "eof":
        peer.process.stdin.close()
    else:
        await last
        peer.process.send_signal(signal.SIGTERM)
    assert await asyncio.wait_for(peer.process.wait(), 10) == 0
    assert time.monotonic() - started < 2
    assert (await last)["result"]["stored"] == 2
    await reap(peer)
    again = await spawn(tmp_path)
    assert (await again.call("bridge.status"))["events"]["pending"] == 4
    await again.close()


@pytest.mark.promise("PUB-19")
@pytest.mark.promise("R66")
@pytest.mark.promise("octop-S1")
async def test_four_processes_share_one_file(tmp_path):
    peers = [await spawn(tmp_path) for _ in range(4)]
    worker, *others = peers
    await worker.call("bridge.hello", hello())
    await worker.call("memory.capture", {"messages": [{"role": "user", "content": "I own a lighthouse"}]})

    async def store(peer, who_sends):
        slowest = 0.0
        for number in range(100):
            started = time.monotonic()
            message = {"role": "user", "content": f"event {number} of {who_sends}", "id": f"{who_sends}-{number}"}
            reply = await peer.call("memory.capture", {"messages": [message], "identity": who("ana", who_sends)})
            slowest = max(slowest, time.monotonic() - started)
            assert reply["stored"] == 1
        return slowest

    async def extract():
        for _ in range(20):
            await worker.call("memory.extract", {})

    *slowest, _ = await asyncio.gather(*(store(peer, f"w{n}") for n, peer in enumerate(others)), extract())
    assert max(slowest) < 5
    status = await worker.call("bridge.status")
    assert status["events"]["stored"] == 301
    report = await others[0].call("memory.extract", {})
    assert report["failure"]["kind"] == "not_worker"
    for peer in peers:
        assert await peer.close() == 0


@pytest.mark.promise("R67")
@pytest.mark.promise("octop-P9")
async def test_a_second_process_reads_while_another_holds_the_write_lock(tmp_path):
    import sqlite3

    first = await spawn(tmp_path)
    await first.call("memory.capture", turn(1))
    holder = sqlite3.connect(tmp_path / "m.sqlite", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    second = await spawn(tmp_path)
    started = time.monotonic()
    found = await second.call("memory.search", {"query": "boat", "identity": who("ana")})
    assert found["hits"]
    assert time.monotonic() - started < 3
    waiting = asyncio.create_task(first.call("memory.capture", turn(2)))
    assert (await first.call("memory.search", {"query": "boat", "identity": who("ana")}))["hits"]
    holder.execute("COMMIT")
    holder.close()
    assert (await waiting)["stored"] == 2
    await first.close()
    await second.close()


@pytest.mark.promise("PUB-22")
@pytest.mark.promise("R82")
@pytest.mark.promise("octop-P8")
async def test_a_search_does_not_wait_for_an_extraction(tmp_path):
    async with open_memory("stdio", tmp_path, extraction={"script_delay_s": 4}) as m:
        await m.say("I keep bees on the roof")
        peer = m._sessions["host"]
        m.script(claim("I keep bees on the roof", "User keeps bees on the roof"))
        _, extraction = peer.begin("memory.extract", {"identity": who("ana", "s1")})
        for _ in range(20):
            started = time.monotonic()
            assert (await peer.call("memory.search", {"query": "bees", "identity": who("ana")}))["hits"]
            assert time.monotonic() - started < 0.5
        assert not extraction.done()
        assert (await asyncio.wait_for(extraction, 10))["result"]["promoted"] == 1
        assert all(isinstance(json.loads(line), dict) for line in peer.lines)


async def test_cancelling_an_extraction_loses_nothing(tmp_path):
    async with open_memory("stdio", tmp_path, extraction={"script_delay_s": 60}) as m:
        await m.say("I keep bees on the roof")
        peer = m._sessions["host"]
        number, extraction = peer.begin("memory.extract", {})
        cancel = {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": number}}
        await peer.send(json.dumps(cancel).encode() + b"\n")
        reply = await asyncio.wait_for(extraction, 5)
        assert reply["error"]["code"] == -32800
        assert (await peer.call("bridge.status"))["events"]["pending"] == 1


@pytest.mark.promise("octop-P13")
async def test_a_store_that_cannot_be_opened_says_so_and_the_process_lives(tmp_path):
    (tmp_path / "m.sqlite").write_bytes(b"this is not a database at all" * 100)
    peer = await spawn(tmp_path)
    assert (await peer.call("bridge.hello", hello()))["protocol"] == 1
    with pytest.raises(Failure) as caught:
        await peer.call("memory.search", {"query": "x"})
    assert caught.value.code == -32007
    assert caught.value.data["hint"]
    assert str(tmp_path) not in json.dumps(caught.value.data)
    status = await peer.call("bridge.status")
    assert status["degraded"][0]["what"] == "storage"
    await peer.close()


@pytest.mark.promise("octop-P14")
async def test_a_misspelt_setting_is_the_first_answer(tmp_path):
    (tmp_path / "bad.toml").write_text("[capture]\nmax_text_byte = 5\n")
    peer = await StdioPeer.spawn("--config", str(tmp_path / "bad.toml"), env={"OCTOP_BRIDGE_HOME": str(tmp_path)})
    with pytest.raises(Failure) as caught:
        await peer.call("bridge.hello", hello())
    assert (caught.value.code, caught.value.data["kind"]) == (-32602, "config")
    assert "max_text_byte" in caught.value.message
    assert "max_text_bytes" in (caught.value.data["hint"] or "") + caught.value.message
    assert await peer.close() == 2


async def test_hello_is_answered_before_anything_heavy_is_imported(tmp_path):
    import os
    import subprocess
    import sys

    program = (
        "import sys, threading, octop_bridge.server.stdio as s\n"
        "heavy = 'numpy psycopg httpx rich pydantic jinja2 sqlalchemy click jsonrpcserver aiosqlite sqlite3 structlog'\n"
        "from octop_bridge import __main__\n"
        "import octop_bridge.assemble, octop_bridge.dispatch, octop_bridge.settings, octop_bridge.verbs.greeting\n"
        "print([name for name in heavy.split() if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env={**os.environ}
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.promise("octop-P16")
async def test_a_wrong_method_and_a_foreign_id_say_what_to_do(tmp_path):
    peer = await spawn(tmp_path)
    with pytest.raises(Failure) as caught:
        await peer.call("memory.serch", {"query": "x"})
    assert caught.value.code == -32601
    assert "memory.search" in caught.value.data["hint"]
    with pytest.raises(Failure) as caught:
        await peer.call("memory.review", {})
    assert caught.value.code == -32004
    with pytest.raises(Failure) as caught:
        await peer.call("memory.get", {"id": "at_" + "0" * 26})
    assert (caught.value.code, bool(caught.value.data["hint"])) == (-32001, True)
    with pytest.raises(Failure) as caught:
        await peer.call("bridge.hello", hello(protocol=99))
    assert caught.value.code == -32009
    await peer.close()
