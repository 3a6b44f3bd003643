"""Bytes to requests: framing, JSON, the JSON-RPC envelope. No text mode, no locale, no waiting.

What a line costs is bounded by its length: framing looks at each byte once, and a line over the limit is never kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

import msgspec

from octop_bridge.protocol.errors import InvalidRequestError, ParseError

LINE_BYTES_MAX = 16 << 20
ID_CHARS_MAX = 128
_INT_DIGITS_MAX = 400

Line = bytes | bytearray
_decode = msgspec.json.Decoder().decode


class Oversize(msgspec.Struct, frozen=True):
    """What stands for a line over the limit: given once, as soon as the limit is crossed."""

    limit_bytes: int

    def error(self) -> InvalidRequestError:
        """The -32600 of such a line, which names the limit."""
        return InvalidRequestError(
            f"a line is at most {self.limit_bytes} bytes", hint="send less at once", reason="line_too_long"
        )


class LineReader:
    """Cuts a stream of bytes into lines; CRLF ends one too, empty ones are left out."""

    def __init__(self, limit_bytes: int = LINE_BYTES_MAX) -> None:
        self._limit = limit_bytes
        self._part = bytearray()
        self._draining = False

    def feed(self, data: bytes) -> Iterator[Line | Oversize]:
        """The lines that end in these bytes, in order."""
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            yield from self._take(data[start:end], ends=True)
            start = end + 1
        if start < len(data):
            yield from self._take(data[start:] if start else data, ends=False)

    def end(self) -> Iterator[Line | Oversize]:
        """The last line, where the stream ended without a newline."""
        yield from self._take(b"", ends=True)

    def _take(self, piece: bytes, *, ends: bool) -> Iterator[Line | Oversize]:
        if self._draining:
            self._draining = not ends
        elif len(self._part) + len(piece) > self._limit:
            self._part = bytearray()
            self._draining = not ends
            yield Oversize(self._limit)
        elif not ends:
            self._part += piece
        else:
            line: Line = piece
            if self._part:
                self._part += piece
                line, self._part = self._part, bytearray()
            if line and not line.isspace():
                yield line


class EnvelopeError(InvalidRequestError):
    """JSON that is no request; `request_id` is what it is answered with."""

    def __init__(self, message: str, request_id: str | int | None = None) -> None:
        super().__init__(message)
        self.request_id = request_id


class Request(msgspec.Struct, frozen=True, gc=False):
    """One checked request. `body` is the object as it came, members that nobody knows included."""

    method: str
    params: dict[str, Any] | list[Any] | None
    id: str | int | None
    is_notification: bool
    body: dict[str, Any]


def decode(line: Line) -> Any:
    """The value of a line. Raises ParseError.

    An unpaired surrogate escape, as JavaScript writes where a string was cut in half, becomes U+FFFD.
    """
    try:
        return _decode(line)
    except RecursionError:
        raise ParseError("the line is nested too deeply") from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _second_look(line)


def _second_look(line: Line) -> Any:
    """The value of a line that msgspec refuses for a reason that is ours, not the sender's. Raises ParseError."""
    repaired = repair(line)
    try:
        try:
            return _decode(repaired)
        except msgspec.ValidationError:
            # JSON, but with a number that no double holds: it is for the parameter's check to refuse it by name.
            return _decode_any_number(repaired)
    except RecursionError:
        raise ParseError("the line is nested too deeply") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        detail = str(error).removeprefix("JSON is malformed: ")
        raise ParseError(f"the line is no JSON: {detail}") from None
    except ValueError:
        raise ParseError("the line is no JSON") from None


def _decode_any_number(line: bytes) -> Any:
    import json  # noqa: PLC0415 - only for a line that nearly nobody sends

    def number(digits: str) -> int | float:
        return int(digits) if len(digits) < _INT_DIGITS_MAX else float(digits)

    def refuse(_: str) -> NoReturn:
        raise ValueError

    return json.loads(line, parse_int=number, parse_constant=refuse)


def repair(line: Line) -> bytes:
    """The line with unpaired surrogate escapes replaced by U+FFFD; every other byte as it was. Linear."""
    import re  # noqa: PLC0415 - only for a line that was refused

    if b"\x00" in line:
        return bytes(line)  # No JSON text: nothing that could be repaired.
    # An escaped backslash is no beginning of an escape. In a run of backslashes they pair up from the left.
    text = line.replace(b"\\\\", b"\x00\x00")
    high, low = rb"\\u[dD][89abAB][0-9a-fA-F]{2}", rb"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    text = re.sub(rb"%b(?!%b)|(?<!%b)%b" % (high, low, high, low), rb"\\ufffd", text)
    return bytes(text.replace(b"\x00\x00", b"\\\\"))


def check_envelope(given: Any) -> Request:
    """The request in a decoded value. Raises EnvelopeError."""
    if not isinstance(given, dict):
        raise EnvelopeError("a request is an object")
    request_id = given.get("id")
    kind = type(request_id)
    if not (request_id is None or kind is int or (kind is str and len(request_id) <= ID_CHARS_MAX)):
        raise EnvelopeError(f"id: expected a string of at most {ID_CHARS_MAX} characters, a whole number, or null")
    if given.get("jsonrpc") != "2.0":
        raise EnvelopeError('jsonrpc: expected "2.0"', request_id)
    method = given.get("method")
    if not isinstance(method, str):
        raise EnvelopeError("method: expected a string", request_id)
    params = given.get("params")
    if not isinstance(params, dict | list) and "params" in given:
        raise EnvelopeError("params: expected an object or a list, or no such member", request_id)
    return Request(method, params, request_id, "id" not in given, given)
