"""What a rule reads off one clause."""

from typing import Literal

import msgspec

from octop_bridge.domain.records import SPEAKER, ClaimType, Level, Subject

SELF = Subject(SPEAKER, "Person")


class Stated(msgspec.Struct, frozen=True, kw_only=True):
    """A claim before it has evidence. It rests on `[start, end)` of its clause."""

    type: ClaimType
    start: int
    end: int
    assertion: str
    subject: Subject = SELF
    slot: str | None = None
    value: str | None = None
    importance: Level = "medium"
    confidence: Level = "high"
    time: Literal["state", "change", "event", "none"] = "state"
    """How a time in the text bounds it: a state, the beginning of one, an event that counts only with its time, not at all."""
    addressed: bool = False
    """Said to the listener ("remember …"): among people the listener is one of them, not the agent."""
