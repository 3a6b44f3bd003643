"""Framing, JSON and the envelope: what a line may be, and what becomes of one that is not."""

import itertools
import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octop_bridge.protocol.errors import ParseError
from octop_bridge.server import lines
from octop_bridge.server.lines import EnvelopeError, LineReader, Oversize

PIECES = st.lists(st.sampled_from([b"a", b"bb", b"\n", b"\r\n", b" ", b'{"x":1}', b"0123456789" * 3]), max_size=30)


def read(chunks, limit=1 << 20):
    reader = LineReader(limit)
    found = [line for chunk in chunks for line in reader.feed(chunk)]
    return [line if isinstance(line, Oversize) else bytes(line) for line in [*found, *reader.end()]]


@given(PIECES, st.lists(st.integers(0, 200), max_size=8))
@settings(max_examples=150, deadline=None)
def test_a_stream_gives_the_same_lines_however_it_is_cut(pieces, cuts):
    stream = b"".join(pieces)
    marks = sorted({min(cut, len(stream)) for cut in cuts} | {0, len(stream)})
    chunks = [stream[start:end] for start, end in itertools.pairwise(marks)]
    assert read(chunks, 25) == [
        Oversize(25) if len(line) > 25 else line for line in stream.split(b"\n") if len(line) > 25 or line.strip()
    ]


def test_crlf_ends_a_line_empty_ones_are_left_out_and_the_last_needs_no_end():
    assert [json.loads(line) for line in read([b"1\r\n\r\n \n\n2\n3"])] == [1, 2, 3]


@pytest.mark.promise("R79")
@pytest.mark.promise("octop-P10")
def test_a_line_over_the_limit_is_told_at_once_kept_nowhere_and_the_next_one_works():
    reader = LineReader(100)
    assert list(reader.feed(b"x" * 60)) == []
    assert list(reader.feed(b"x" * 60)) == [Oversize(100)]
    for _ in range(1000):
        assert list(reader.feed(b"x" * 100_000)) == []
    assert len(reader._part) == 0
    assert list(reader.feed(b"the end of it\n12\n")) == [b"12"]
    assert "100" in Oversize(100).error().message


def test_a_line_of_exactly_the_limit_is_served():
    assert read([b"x" * 100 + b"\n"], 100) == [b"x" * 100]
    assert read([b"x" * 101 + b"\n7\n"], 100) == [Oversize(100), b"7"]


@given(st.text(st.sampled_from('\\ud8Dc0"aé\ud800\udbff\udc00\udfff😀\n'), max_size=30))
@settings(max_examples=300, deadline=None)
def test_any_javascript_string_is_read_with_its_unpaired_halves_replaced(text):
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert lines.decode(json.dumps([text]).encode()) == [whole]


@pytest.mark.promise("R16")
@pytest.mark.promise("octop-P1")
@pytest.mark.promise("octop-P7")
def test_a_half_emoji_becomes_a_replacement_character_wherever_it_stands():
    line = rb'{"id":"\ud800","a":"cut \ud83d here","b":"\ud83d\ude00","c":"\\ud83d","\udfff":"\\\ud83d"}'
    assert lines.decode(line) == {
        "id": "�",
        "a": "cut � here",
        "b": "😀",
        "c": "\\ud83d",
        "�": "\\�",
    }


def test_a_line_of_escapes_with_one_bad_half_is_read_in_linear_time():
    assert len(lines.decode(rb'["' + rb"\u0416\\" * 100_000 + rb'\ud83d"]')[0]) == 200_001


@pytest.mark.promise("PUB-20")
@pytest.mark.promise("octop-P2")
@pytest.mark.promise("octop-P4")
@pytest.mark.parametrize(
    "line",
    [
        b"{this is not json",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'["' + b"\\ud83d" + b'",' + b"[" * 100_000,
        b'{"a":"\xff"}',
        b'"\xed\xa0\x80"',
        b'{"id":NaN}',
        b"[1e400,NaN]",
        b"[1e400,Infinity]",
        b'{"a":1}{"a":2}',
        b'"\x00 \\ud83d"',
        b"[1e400",
    ],
    ids=lambda line: repr(line[:20]),
)
def test_what_is_no_json_is_a_parse_error_and_nothing_worse(line):
    with pytest.raises(ParseError):
        lines.decode(line)


@pytest.mark.promise("octop-P6")
def test_a_number_that_no_double_holds_is_json_and_left_to_the_parameters_check():
    assert lines.decode(b'{"limit":1e400}') == {"limit": math.inf}
    assert lines.decode(b'{"limit":' + b"9" * 5000 + b',"b":"\\ud83d"}') == {"limit": math.inf, "b": "�"}
    assert lines.decode(b"[1e30, 18446744073709551616]") == [1e30, 1 << 64]


def test_a_request_is_read_with_its_kind_of_id_and_members_that_nobody_knows():
    assert lines.check_envelope({"jsonrpc": "2.0", "method": "m"}).is_notification
    for known in (0, -1, "", "x" * 128, None):
        request = lines.check_envelope({"jsonrpc": "2.0", "method": "m", "id": known, "meta": {"trace": 1}})
        assert (request.id, request.is_notification, request.params) == (known, False, None)
    assert lines.check_envelope({"jsonrpc": "2.0", "method": "m", "params": []}).params == []


@pytest.mark.promise("octop-P5")
@pytest.mark.parametrize(
    ("changed", "answered_with"),
    [
        ({"id": 1.0}, None),
        ({"id": True}, None),
        ({"id": {}}, None),
        ({"id": math.inf}, None),
        ({"id": "x" * 129}, None),
        ({"jsonrpc": None}, 7),
        ({"jsonrpc": "1.0"}, 7),
        ({"jsonrpc": 2.0}, 7),
        ({"method": 1}, 7),
        ({"params": None}, 7),
        ({"params": False}, 7),
        ({"params": "text"}, 7),
        ({"id": "seven", "params": 3}, "seven"),
        ({"id": [], "jsonrpc": "1.0"}, None),
    ],
    ids=str,
)
def test_a_wrong_envelope_is_refused_with_the_id_where_that_is_valid(changed, answered_with):
    with pytest.raises(EnvelopeError) as caught:
        lines.check_envelope({"jsonrpc": "2.0", "method": "m", "id": 7, **changed})
    assert (caught.value.code, caught.value.request_id) == (-32600, answered_with)


@pytest.mark.parametrize("given", [None, 7, "text", [], [[]], {}, {"id": 4}])
def test_what_is_no_object_or_an_empty_one_is_no_request(given):
    with pytest.raises(EnvelopeError):
        lines.check_envelope(given)
