"""JSON lines on stderr: what happened, never what was said.

A line names an exception's type and where it was raised; its text may hold what a person said, a path or a secret, and
is not written. structlog is imported with the first line, since most processes start and answer without one.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import sys
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator

LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}
_FRAMES_MAX = 12
_CAUSES_MAX = 4
_PIECE_BYTES = 512
"""What a pipe that is ready takes at once everywhere (POSIX, PIPE_BUF)."""
_TEMPLATE_CHARS_MAX = 120
_level = "info"


def incident(method: str, error: BaseException) -> str:
    """The id under which an unexpected exception now stands in the log. Never raises."""
    number = f"in_{os.urandom(6).hex()}"
    say("incident", level="error", incident=number, method=method, exceptions=list(_described(error)))
    return number


def say(event: str, *, level: str = "info", **fields: Any) -> None:
    """Write one line. A log that cannot be written stops nobody: then there is none."""
    with contextlib.suppress(Exception):
        _logger().log(LEVELS[level], event, **fields)


def route(level: str = "info") -> None:
    """Send what libraries log here as well, and leave out our own lines below this level.

    For a process of our own: in a host's process its logging is the host's affair.
    """
    global _level  # noqa: PLW0603 - one process, one log
    _level = level
    _logger.cache_clear()
    root = logging.getLogger()
    root.handlers = [_Foreign(logging.WARNING)]
    root.setLevel(logging.WARNING)


class _Foreign(logging.Handler):
    """Takes the records of libraries. Of a message only the first line of its template: the rest may quote anything."""

    def emit(self, record: logging.LogRecord) -> None:
        fields: dict[str, Any] = {"logger": record.name, "at": f"{record.module}:{record.lineno} {record.funcName}"}
        if isinstance(record.msg, str):
            fields["template"] = record.msg.partition("\n")[0][:_TEMPLATE_CHARS_MAX]
        if record.exc_info and record.exc_info[1] is not None:
            fields["exceptions"] = list(_described(record.exc_info[1]))
        say("library", level="error" if record.levelno >= logging.ERROR else "warning", **fields)


def _described(error: BaseException) -> Iterator[dict[str, Any]]:
    """Type and frames of an exception and of what it came from, newest frames last."""
    current: BaseException | None = error
    for _ in range(_CAUSES_MAX):
        if current is None:
            return
        kind = type(current)
        yield {"type": f"{kind.__module__}.{kind.__qualname__}", "frames": _frames(current)}
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)


def _frames(error: BaseException) -> list[str]:
    frames = []
    step = error.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        file = "/".join(code.co_filename.rsplit(os.sep, 3)[-3:])
        frames.append(f"{file}:{step.tb_lineno} {code.co_qualname}")
        step = step.tb_next
    return frames[-_FRAMES_MAX:]


class _Stderr:
    """Standard error as a file that never blocks: where nobody reads it, lines are dropped."""

    def write(self, line: str) -> None:
        """Write one line; less where the pipe is full."""
        data = line.encode("utf-8", "backslashreplace")
        for start in range(0, len(data), _PIECE_BYTES):
            if sys.platform != "win32" and not select.select([], [2], [], 0)[1]:
                return
            os.write(2, data[start : start + _PIECE_BYTES])

    def flush(self) -> None:
        """Nothing is held back."""


def _json(value: Any, **_: Any) -> str:
    try:
        return msgspec.json.encode(value, enc_hook=lambda strange: type(strange).__name__).decode()
    except UnicodeEncodeError:
        return msgspec.json.encode({name: ascii(field) for name, field in value.items()}).decode()


@cache
def _logger() -> Any:
    """The logger, apart from structlog's global configuration, which writes to stdout and may be a host's own."""
    structlog = _import_structlog()
    return structlog.wrap_logger(
        structlog.WriteLogger(_Stderr()),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(serializer=_json),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[_level]),
        context_class=dict,
    )


def _import_structlog() -> Any:
    """The module structlog without rich, which it would import where it is installed: 70 ms for colours that nobody sees."""
    hidden = "rich" not in sys.modules
    if hidden:
        sys.modules["rich"] = None  # type: ignore[assignment]
    try:
        import structlog  # noqa: PLC0415
    finally:
        if hidden:
            sys.modules.pop("rich", None)
    return structlog
