"""The virtual paths under which things are read: `atom/<id>.md`, `raw/<UTC date>/<id>.md`."""

import re
from datetime import UTC, datetime
from typing import Literal, NamedTuple

Kind = Literal["atom", "raw"]
_ATOM = re.compile(r"atom/(at_[0-9a-z]{26})\.md")
_RAW = re.compile(r"raw/(\d{4}-\d{2}-\d{2})/(ev_[0-9a-z]{26})\.md")
_ID = re.compile(r"(at|ev)_[0-9a-z]{26}")


class Target(NamedTuple):
    """What a path or an id names."""

    kind: Kind
    id: str
    date: str | None = None
    """UTC day that a raw path claims; it must be the event's own."""


def atom_path(atom_id: str) -> str:
    """Path of an atom."""
    return f"atom/{atom_id}.md"


def raw_path(event_id: str, at_ms: int) -> str:
    """Path of an event, under the UTC day on which it was said."""
    return f"raw/{utc_date(at_ms)}/{event_id}.md"


def utc_date(at_ms: int) -> str:
    """ISO date in UTC."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d")


def read_path(path: str) -> Target | None:
    """What a path names, or None where no path has this form."""
    if match := _ATOM.fullmatch(path):
        return Target("atom", match[1])
    if match := _RAW.fullmatch(path):
        return Target("raw", match[2], match[1])
    return None


def read_id(given: str) -> Target | None:
    """What a bare id names, or None where no id has this form."""
    if not _ID.fullmatch(given):
        return None
    return Target("atom" if given.startswith("at_") else "raw", given)
