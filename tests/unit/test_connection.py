"""One connection over a wire of queues: what runs beside what, what is refused, what ends what."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager

import pytest
from wire_double import FakeApplication

from octop_bridge.context import Session
from octop_bridge.protocol import errors
from octop_bridge.server.connection import Connection

IN_TIME_S = 5
CAPTURE = {"messages": [{"role": "user", "content": "hello"}], "identity": {"session_id": "s1"}}
HELLO = {"protocol": 1, "client": {"name": "test", "version": "1"}}


def strict(text):
    def refuse(name):
        raise AssertionError(f"{name} is no JSON")

    return json.loads(text, parse_constant=refuse)


class Peer:
    """The other end: what it says, and every line that it heard."""

    def __init__(self):
        self._said = asyncio.Queue()
        self._news = asyncio.Event()
        self._number = 1000
        self.lines = []
        self.writes = 0
        self.reads = asyncio.Event()
        self.reads.set()
        self.is_dead = False

    async def read(self):
        return await self._said.get()

    async def write(self, data):
        await self.reads.wait()
        if self.is_dead:
            raise BrokenPipeError
        self.writes += 1
        assert data.endswith(b"\n")
        self.lines += [strict(line.decode("utf-8")) for line in data.splitlines()]
        self._news.set()

    def say(self, *values):
        """Send these lines in one piece: bytes as they are, anything else as JSON."""
        lines = [value if isinstance(value, bytes) else json.dumps(value).encode() for value in values]
        self._said.put_nowait(b"".join(line + b"\n" for line in lines))

    def ask(self, method, params=None, **more):
        self._number += 1
        self.say(request(self._number, method, params, **more))
        return self._number

    def hang_up(self):
        self._said.put_nowait(b"")

    async def until(self, condition):
        async with asyncio.timeout(IN_TIME_S):
            while not condition():
                self._news.clear()
                await self._news.wait()

    async def reply(self, request_id):
        """The reply of this id."""

        def find():
            return next((line for line in self.lines if isinstance(line, dict) and line.get("id") == request_id), None)

        await self.until(find)
        return find()

    async def call(self, method, params=None):
        return await self.reply(self.ask(method, params))

    async def code(self, request_id):
        return (await self.reply(request_id))["error"]["code"]


def request(number, method, params=None, **more):
    given = {} if params is None else {"params": params}
    return {"jsonrpc": "2.0", "id": number, "method": method, **given, **more}


def note(method, params=None):
    return {"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})}


def cancel(number):
    return note("$/cancelRequest", {"id": number})


@asynccontextmanager
async def connected(application, role="host", **more):
    peer = Peer()
    session = Session(session_id="cn_1", surface="test", role=role)
    connection = Connection(application, session, peer.read, peer.write, **more)
    peer.serving = asyncio.create_task(connection.serve())
    peer.connection, peer.session = connection, session
    try:
        yield peer
    finally:
        connection.leave()
        async with asyncio.timeout(IN_TIME_S):
            await peer.serving


def slow(application, method, *, cleanup=None):
    """Make a method wait until it is let go; what it has begun and what was cancelled is counted."""
    gate = asyncio.Event()
    gate.began = asyncio.Semaphore(0)
    gate.cancelled = 0

    async def handler(params, session):
        gate.began.release()
        try:
            await gate.wait()
        except asyncio.CancelledError:
            gate.cancelled += 1
            raise
        return {"done": method}

    application.on[method] = handler
    return gate


async def answer_at_once(params, session):
    return {"query": params.get("query")}


# One line, one answer


async def test_a_call_is_answered_by_its_id_and_members_nobody_knows_are_no_matter():
    async with connected(FakeApplication()) as peer:
        peer.say(request("a", "memory.search", {"query": "boat"}, traceparent="00-1"))
        assert (await peer.reply("a"))["result"]["query"] == "boat"
        peer.say(request(2, "memory.search", ["boat"]))
        assert (await peer.reply(2))["result"]["query"] == "boat"


@pytest.mark.promise("PUB-20")
@pytest.mark.promise("R80")
@pytest.mark.promise("R81")
@pytest.mark.promise("octop-P5")
async def test_bad_lines_are_answered_each_and_the_next_good_one_works():
    async with connected(FakeApplication()) as peer:
        peer.say(
            b"{this is not json",
            [],
            note("bridge.status"),
            {"method": "bridge.status", "id": 4},
            b'{"jsonrpc":"2.0","id":5,"method":"bridge.status","params":' + b"[" * 50_000 + b"]" * 50_000 + b"}",
            b'{"jsonrpc":"2.0","id":NaN,"method":"bridge.status"}',
            b'{"jsonrpc":"2.0","id":"\xff","method":"bridge.status"}',
            request(6, "bridge.status"),
        )
        assert "result" in await peer.reply(6)
        errors_seen = [(line["error"]["code"], line["id"]) for line in peer.lines if "error" in line]
        assert errors_seen == [(-32700, None), (-32600, None), (-32600, 4), *[(-32700, None)] * 3]
        assert len(peer.lines) == 7


async def test_an_error_has_its_six_fields():
    async with connected(FakeApplication()) as peer:
        reply = await peer.call("memory.serch")
        assert reply["error"]["code"] == -32601
        assert set(reply["error"]["data"]) == {"kind", "retryable", "hint", "path", "reason", "incident"}
        assert "memory.search" in reply["error"]["data"]["hint"]


@pytest.mark.promise("octop-P6")
@pytest.mark.parametrize("limit", [b"1e30", b"1e400", b"2.9", b"true", b'["all"]', b"{}", b"0", b"201", b"9" * 5000])
async def test_a_wrong_parameter_is_named_whatever_is_wrong_with_it(limit):
    async with connected(FakeApplication()) as peer:
        peer.say(b'{"jsonrpc":"2.0","id":1,"method":"memory.search","params":{"query":"x","limit":' + limit + b"}}")
        error = (await peer.reply(1))["error"]
        assert (error["code"], error["data"]["path"]) == (-32602, "params.limit")


async def test_a_method_for_another_role_is_forbidden():
    async with connected(FakeApplication()) as peer:
        assert (await peer.call("memory.queue"))["error"]["code"] == -32004
    async with connected(FakeApplication(), role="person") as peer:
        assert "result" in await peer.call("memory.queue")


async def test_a_notification_is_performed_and_never_answered_not_even_its_error():
    application = FakeApplication()
    async with connected(application) as peer:
        peer.say(
            note("memory.search", {"query": "x"}),
            note("memory.search", {"wrong": 1}),
            note("memory.nothing"),
            note("memory.queue"),
            note("$/whatever"),
            cancel("nobody"),
        )
        await peer.call("memory.search", {"query": "last"})
        assert [params.get("query") for _, params in application.performed] == ["x", None, "last"]
        assert len(peer.lines) == 1


async def test_a_request_with_a_null_id_is_a_request():
    async with connected(FakeApplication()) as peer:
        peer.say(request(None, "memory.search", {"query": "x"}))
        await peer.until(lambda: peer.lines)
        assert peer.lines[0]["id"] is None
        assert "result" in peer.lines[0]


# Batches


async def test_a_batch_is_answered_in_one_line_and_a_bad_element_answers_for_itself():
    async with connected(FakeApplication()) as peer:
        peer.say(
            [
                request(1, "memory.search", {"query": "x"}),
                7,
                note("memory.search", {"query": "y"}),
                {"jsonrpc": "2.0", "id": 3},
                request(4, "memory.nothing"),
                [],
                request(5, "bridge.status"),
            ]
        )
        await peer.until(lambda: peer.lines)
        (replies,) = peer.lines
        assert sorted((str(reply["id"]), reply.get("error", {}).get("code")) for reply in replies) == [
            ("1", None),
            ("3", -32600),
            ("4", -32601),
            ("5", None),
            ("None", -32600),
            ("None", -32600),
        ]


async def test_a_batch_has_1_to_100_elements_and_one_of_notifications_is_answered_by_nothing():
    async with connected(FakeApplication()) as peer:
        peer.say(
            [],
            [request(n, "memory.search", {"query": "x"}) for n in range(101)],
            [note("memory.search", {"query": "x"}), cancel(1)],
            [request(n, "memory.search", {"query": "x"}) for n in range(100)],
            request("last", "bridge.status"),
        )
        await peer.reply("last")
        await peer.until(lambda: len(peer.lines) == 4)
        assert [line["error"]["code"] for line in peer.lines if "error" in line] == [-32600, -32600]
        (batch,) = [line for line in peer.lines if isinstance(line, list)]
        assert sorted(reply["id"] for reply in batch) == list(range(100))


async def test_a_slow_element_of_a_batch_delays_its_batch_and_nothing_else():
    application = FakeApplication()
    gate = slow(application, "memory.extract")
    async with connected(application) as peer:
        peer.say([request(1, "memory.extract"), request(2, "memory.search", {"query": "x"})])
        assert "result" in await peer.call("memory.search", {"query": "y"})
        assert not any(isinstance(line, list) for line in peer.lines)
        peer.say(cancel(1))
        await peer.until(lambda: isinstance(peer.lines[-1], list))
        assert {reply["id"]: "error" in reply for reply in peer.lines[-1]} == {1: True, 2: False}
        assert gate.cancelled == 1


# Beside each other


@pytest.mark.promise("PUB-22")
@pytest.mark.promise("R82")
@pytest.mark.promise("octop-P8")
async def test_a_search_does_not_wait_for_an_extraction_that_was_asked_before_it():
    application = FakeApplication()
    gate = slow(application, "memory.extract")
    async with connected(application) as peer:
        extraction = peer.ask("memory.extract")
        await gate.began.acquire()
        for _ in range(20):
            assert "result" in await peer.call("memory.search", {"query": "bees"})
        assert all(line["id"] != extraction for line in peer.lines)
        gate.set()
        assert (await peer.reply(extraction))["result"] == {"done": "memory.extract"}


async def test_waits_for_a_model_hold_no_slot():
    application = FakeApplication(slots=1)
    gate = slow(application, "memory.extract")
    async with connected(application) as peer:
        for _ in range(50):
            peer.ask("memory.extract")
        for _ in range(50):
            await gate.began.acquire()
        assert "result" in await peer.call("memory.search", {"query": "bees"})


async def test_only_so_many_work_at_the_store_at_once_and_the_next_follow_in_order():
    application = FakeApplication(slots=2)
    gate = slow(application, "memory.search")
    async with connected(application) as peer:
        await peer.call("memory.get", {"id": "x"})
        application.performed.clear()
        numbers = [peer.ask("memory.search", {"query": str(n)}) for n in range(5)]
        await gate.began.acquire()
        await gate.began.acquire()
        assert "result" in await peer.call("bridge.status")
        assert [params["query"] for name, params in application.performed if name == "memory.search"] == ["0", "1"]
        gate.set()
        for number in numbers:
            assert "result" in await peer.reply(number)
        assert [params["query"] for name, params in application.performed if name == "memory.search"] == list("01234")


async def test_captures_keep_their_order_through_opening_slots_and_whatever_is_between_them():
    application = FakeApplication(slots=3)
    application.may_open.clear()
    async with connected(application) as peer:
        for number in range(40):
            peer.say(request(number, "memory.capture", {**CAPTURE, "key": str(number)}))
            peer.say(request(f"s{number}", "memory.search", {"query": "x"}))
            if number == 20:
                application.may_open.set()
        peer.say([request(number, "memory.capture", {**CAPTURE, "key": str(number)}) for number in range(40, 80)])
        await peer.until(lambda: len(peer.lines) == 81)
        keys = [params["key"] for name, params in application.performed if name == "memory.capture"]
        assert keys == [str(number) for number in range(80)]


async def test_replies_that_are_ready_together_leave_in_one_write():
    async with connected(FakeApplication()) as peer:
        await peer.call("memory.search", {"query": "x"})
        before = peer.writes
        peer.say(*[request(number, "memory.search", {"query": "x"}) for number in range(100, 116)])
        await peer.until(lambda: len(peer.lines) == 17)
        assert peer.writes == before + 1


# Too much


async def test_the_257th_waiting_request_is_told_busy_at_once_and_the_first_ones_are_served():
    application = FakeApplication()
    gate = slow(application, "memory.extract")
    async with connected(application) as peer:
        numbers = [peer.ask("memory.extract") for _ in range(257)]
        error = (await peer.reply(numbers[-1]))["error"]
        assert (error["code"], error["data"]["kind"], error["data"]["retryable"]) == (-32007, "busy", True)
        assert "result" in await peer.call("bridge.status")
        assert "result" in await peer.call("memory.search", {"query": "a read has slots of its own"})
        gate.set()
        for number in numbers[:-1]:
            assert "result" in await peer.reply(number)


async def test_running_requests_are_not_counted_as_waiting():
    application = FakeApplication(slots=4, waiting_max=6)
    gate = slow(application, "memory.search")
    async with connected(application) as peer:
        await peer.call("memory.get", {"id": "x"})
        numbers = [peer.ask("memory.search", {"query": "x"}) for _ in range(12)]
        assert [await peer.code(number) for number in numbers[10:]] == [-32007, -32007]
        gate.set()
        for number in numbers[:10]:
            assert "result" in await peer.reply(number)
        assert "result" in await peer.call("memory.search", {"query": "room again"})


async def test_requests_may_wait_with_so_many_bytes_and_a_single_one_always_may():
    application = FakeApplication(waiting_bytes_max=1000)
    gate = slow(application, "memory.search")
    async with connected(application) as peer:
        large = peer.ask("memory.search", {"query": "x" * 2000})
        assert await peer.code(peer.ask("memory.search", {"query": "x"})) == -32007
        assert "result" in await peer.call("bridge.status")
        gate.set()
        assert "result" in await peer.reply(large)
        assert "result" in await peer.call("memory.search", {"query": "x" * 500})


@pytest.mark.promise("R79")
async def test_a_line_over_the_limit_is_answered_and_the_next_one_works():
    async with connected(FakeApplication(line_bytes_max=1000)) as peer:
        peer.say(b"x" * 5000, request(1, "bridge.status"))
        assert "result" in await peer.reply(1)
        assert (peer.lines[0]["id"], peer.lines[0]["error"]["code"]) == (None, -32600)
        assert "1000" in peer.lines[0]["error"]["message"]


async def test_nothing_is_read_from_a_peer_that_reads_nothing(monkeypatch):
    monkeypatch.setattr("octop_bridge.server.outbox.UNSENT_BYTES_MAX", 10_000)
    application = FakeApplication()

    async def large(params, session):
        return "x" * 5000

    application.on["memory.search"] = large
    async with connected(application) as peer:
        peer.reads.clear()
        peer.say(*[request(n, "memory.search", {"query": "x"}) for n in range(5)])
        while not peer.connection._outbox.is_full:
            await asyncio.sleep(0)
        peer.say(request(5, "bridge.status"))
        peer.say(request(6, "memory.search", {"query": "too much"}))
        for _ in range(50):
            await asyncio.sleep(0)
        peer.session.notify("$/progress", {"token": "t", "done": 1, "total": 2, "message": "dropped"})
        assert {"query": "too much"} not in [params for _, params in application.performed]
        peer.reads.set()
        assert "result" in await peer.reply(6)
        assert {line["id"] for line in peer.lines} == set(range(7))


# Ids and cancelling


async def test_an_id_that_is_in_flight_is_refused_and_free_again_afterwards():
    application = FakeApplication()
    gate = slow(application, "memory.extract")
    async with connected(application) as peer:
        peer.say(request(1, "memory.extract"), request(1, "memory.search", {"query": "x"}))
        assert await peer.code(1) == -32600
        peer.lines.clear()
        gate.set()
        assert (await peer.reply(1))["result"] == {"done": "memory.extract"}
        peer.lines.clear()
        peer.say(request(1, "memory.search", {"query": "x"}), request("1", "memory.search", {"query": "x"}))
        assert "result" in await peer.reply(1)
        assert "result" in await peer.reply("1")


@pytest.mark.promise("octop-P17")
async def test_a_cancelled_request_answers_so_at_once_and_others_go_on():
    application = FakeApplication()
    gate = slow(application, "memory.extract")
    async with connected(application) as peer:
        first, second = peer.ask("memory.extract"), peer.ask("memory.extract")
        await gate.began.acquire()
        await gate.began.acquire()
        peer.say(cancel(first))
        assert await peer.code(first) == -32800
        gate.set()
        assert "result" in await peer.reply(second)
        assert gate.cancelled == 1


@pytest.mark.parametrize("method", ["memory.extract", "memory.search", "bridge.status", "memory.capture"])
async def test_a_cancellation_in_the_same_piece_as_its_request_is_not_lost(method):
    application = FakeApplication()
    slow(application, method)
    async with connected(application) as peer:
        peer.say(request(1, method, {}), cancel(1))
        assert await peer.code(1) == -32800
        assert (method, {}) not in application.performed


async def test_what_waits_for_a_slot_or_for_the_store_can_be_cancelled_and_is_never_performed():
    application = FakeApplication(slots=1)
    application.may_open.clear()
    gate = slow(application, "memory.search")
    async with connected(application) as peer:
        held = peer.ask("memory.capture", CAPTURE)
        peer.say(cancel(held))
        assert await peer.code(held) == -32800
        application.may_open.set()
        running, queued = peer.ask("memory.search", {"query": "x"}), peer.ask("memory.capture", CAPTURE)
        await gate.began.acquire()
        peer.say(cancel(queued))
        assert await peer.code(queued) == -32800
        gate.set()
        assert "result" in await peer.reply(running)
        assert [name for name, _ in application.performed] == ["memory.search"]


async def test_a_write_that_the_store_has_answers_what_became_of_it():
    application = FakeApplication()
    gate = slow(application, "memory.capture")
    async with connected(application) as peer:
        number = peer.ask("memory.capture", CAPTURE)
        await gate.began.acquire()
        peer.say(cancel(number), request("after", "bridge.status"))
        await peer.reply("after")
        assert gate.cancelled == 0
        gate.set()
        assert (await peer.reply(number))["result"] == {"done": "memory.capture"}


async def test_a_cancellation_of_nothing_or_with_an_id_of_its_own_harms_nobody():
    async with connected(FakeApplication()) as peer:
        peer.say(
            cancel(99), cancel(None), cancel({}), cancel([1]), note("$/cancelRequest"), note("$/cancelRequest", [1])
        )
        peer.say(request(1, "$/cancelRequest", {"id": 1}))
        assert await peer.code(1) == -32600
        assert len(peer.lines) == 1


# Greetings


async def test_hello_and_status_answer_while_the_store_is_opening():
    application = FakeApplication()
    application.may_open.clear()
    async with connected(application) as peer:
        search = peer.ask("memory.search", {"query": "x"})
        assert (await peer.call("bridge.hello", HELLO))["result"]["protocol"] == 1
        assert "result" in await peer.call("bridge.status")
        assert all(line["id"] != search for line in peer.lines)
        application.may_open.set()
        assert "result" in await peer.reply(search)


async def test_what_follows_a_hello_in_the_same_piece_has_its_role():
    application = FakeApplication()
    async with connected(application) as peer:
        peer.session.role_fixed = False
        peer.say(
            request(1, "memory.queue"),
            request(2, "bridge.hello", {**HELLO, "role": "person", "token": "operator"}),
            request(3, "memory.queue"),
            request(4, "bridge.hello", HELLO),
        )
        assert await peer.code(4) == -32600
        assert await peer.code(1) == -32004
        assert "result" in await peer.reply(3)


async def test_a_status_that_waits_stops_no_reader_and_many_of_them_are_too_many():
    application = FakeApplication(waiting_max=3)
    gate = slow(application, "bridge.status")
    async with connected(application) as peer:
        waiting = [peer.ask("bridge.status", {"settle_ms": 600_000}) for _ in range(4)]
        assert await peer.code(waiting[3]) == -32007
        assert "result" in await peer.call("memory.search", {"query": "x"})
        gate.set()
        assert "result" in await peer.reply(waiting[0])


@pytest.mark.promise("octop-P14")
async def test_a_wrong_setting_is_the_answer_to_every_request():
    failure = errors.ConfigError("store.dbb: unknown", path="store.dbb", hint="did you mean store.db?")
    async with connected(FakeApplication(failure=failure)) as peer:
        peer.say(note("memory.search"), request(1, "bridge.hello", HELLO), request(2, "memory.nothing"))
        for number in (1, 2):
            error = (await peer.reply(number))["error"]
            assert (error["code"], error["data"]["kind"], error["data"]["hint"]) == (-32602, "config", failure.hint)
        assert len(peer.lines) == 2


async def test_progress_goes_between_the_replies():
    application = FakeApplication()

    async def maintain(params, session):
        session.notify("$/progress", {"token": "t", "done": 1, "total": 2, "message": "half \ud83d"})
        return {}

    application.on["memory.search"] = maintain
    async with connected(application) as peer:
        await peer.call("memory.search", {"query": "x"})
        assert peer.lines[0] == note("$/progress", {"token": "t", "done": 1, "total": 2, "message": "half �"})


# Failures inside


async def test_an_unexpected_exception_is_an_incident_and_its_text_goes_nowhere(capfd):
    application = FakeApplication()

    async def fail(params, session):
        raise ValueError("what a person said")

    application.on = {"memory.search": fail, "bridge.status": fail}
    async with connected(application) as peer:
        for method, params in (("memory.search", {"query": "x"}), ("bridge.status", None)):
            error = (await peer.call(method, params))["error"]
            assert error["code"] == -32603
            assert error["data"]["incident"]
            assert error["data"]["incident"] in (logged := capfd.readouterr().err)
            assert "ValueError" in logged
            assert "what a person said" not in logged + json.dumps(peer.lines)


@pytest.mark.promise("octop-P1")
@pytest.mark.promise("R16")
async def test_replies_are_strict_json_whatever_is_in_them():
    application = FakeApplication()

    async def poisoned(params, session):
        return {"text": ["cut \ud83d", {"\ude00": float("nan")}], "sent": params}

    async def refuse(params, session):
        raise errors.RefusedError("because \ud83d", hint="\udfff")

    application.on = {"memory.search": poisoned, "memory.get": refuse}
    async with connected(application) as peer:
        peer.say(rb'{"jsonrpc":"2.0","id":"\ud800","method":"memory.search","params":{"query":"boat \ud83d"}}')
        reply = await peer.reply("�")
        assert reply["result"] == {"text": ["cut �", {"�": None}], "sent": {"query": "boat �"}}
        error = (await peer.call("memory.get", {"id": "x"}))["error"]
        assert (error["message"], error["data"]["hint"]) == ("because �", "�")


# The end


@pytest.mark.promise("R77")
async def test_the_end_of_the_input_stops_waits_and_lets_captures_and_quick_reads_answer():
    application = FakeApplication()
    extraction, capture = slow(application, "memory.extract"), slow(application, "memory.capture")
    application.on["memory.search"] = answer_at_once
    async with connected(application, grace_s=IN_TIME_S) as peer:
        numbers = [peer.ask("memory.extract"), peer.ask("memory.capture", CAPTURE)]
        await extraction.began.acquire()
        await capture.began.acquire()
        search = peer.ask("memory.search", {"query": "the last"})
        peer.hang_up()
        assert await peer.code(numbers[0]) == -32008
        assert "result" in await peer.reply(search)
        assert not peer.serving.done()
        capture.set()
        assert "result" in await peer.reply(numbers[1])
        await peer.serving
        assert (extraction.cancelled, capture.cancelled) == (1, 0)


async def test_a_read_that_takes_longer_than_its_grace_is_stopped():
    application = FakeApplication()
    gate = slow(application, "memory.search")
    async with connected(application, grace_s=0) as peer:
        number = peer.ask("memory.search", {"query": "x"})
        await gate.began.acquire()
        peer.hang_up()
        assert await peer.code(number) == -32008
        assert gate.cancelled == 1


async def test_captures_that_still_wait_are_written_before_the_end():
    application = FakeApplication(slots=1)
    application.may_open.clear()
    async with connected(application) as peer:
        numbers = [peer.ask("memory.capture", CAPTURE) for _ in range(5)]
        peer.hang_up()
        application.may_open.set()
        for number in numbers:
            assert "result" in await peer.reply(number)


async def test_a_peer_that_reads_no_more_ends_the_connection_but_not_its_captures():
    application = FakeApplication()
    search, capture = slow(application, "memory.search"), slow(application, "memory.capture")
    async with connected(application, grace_s=60) as peer:
        peer.ask("memory.search", {"query": "x"})
        peer.ask("memory.capture", CAPTURE)
        await search.began.acquire()
        await capture.began.acquire()
        peer.is_dead = True
        peer.ask("bridge.status")
        while not search.cancelled:
            await asyncio.sleep(0)
        assert not peer.serving.done()
        capture.set()
        async with asyncio.timeout(IN_TIME_S):
            await peer.serving
        assert capture.cancelled == 0


async def test_the_last_line_needs_no_newline():
    async with connected(FakeApplication()) as peer:
        peer._said.put_nowait(json.dumps(request(1, "memory.search", {"query": "x"})).encode())
        peer.hang_up()
        assert "result" in await peer.reply(1)
        await peer.serving


async def test_a_reader_that_breaks_ends_the_connection_in_order(capfd):
    application = FakeApplication()
    ended = []

    async def broken():
        raise RuntimeError("the transport has a bug")

    peer = Peer()
    connection = Connection(application, Session("cn_1", "test"), broken, peer.write, on_end=lambda: ended.append(True))
    async with asyncio.timeout(IN_TIME_S):
        await connection.serve()
    assert ended == [True]
    assert "RuntimeError" in capfd.readouterr().err
