"""An extractor that reads its claims from a file, for demos and tests: a model whose answers are known.

The file is JSON: `{"claims": [...]}`, items as a model would give them, where `event` is an event id, a host's message
id, or `*` for the first event of the slice that holds the quote. A claim is given with the slice that holds its event.
"""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from octop_bridge.domain.moments import instant_of
from octop_bridge.domain.records import CLAIM_TYPES, QUOTE_CHARS_MAX, Claim, Event, Level, Subject
from octop_bridge.domain.text import find_span
from octop_bridge.models import Answer, ExtractorError

_LEVELS: dict[str, Level] = {"low": "low", "medium": "medium", "high": "high"}


class ScriptedExtractor:
    """Claims from a script, after an optional delay in seconds."""

    name = "scripted"
    mode: Literal["model", "rules"] = "model"

    def __init__(self, script: Path, delay_s: float = 0) -> None:
        self._script = script
        self._delay_s = delay_s

    async def claims(self, events: Sequence[Event]) -> Answer:
        """The scripted claims that belong to these events."""
        if self._delay_s:
            await asyncio.sleep(self._delay_s)
        try:
            items = json.loads(self._script.read_text(encoding="utf-8"))["claims"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ExtractorError("unusable_reply", "the script has no list of claims", retryable=False) from error
        found = [claim for item in items if (claim := claim_of(item, events)) is not None]
        return Answer(claims=tuple(found), calls=1)


def claim_of(item: dict[str, Any], events: Sequence[Event]) -> Claim | None:
    """The claim of one scripted item, or None where it is about other events."""
    event = _event_of(str(item.get("event", "*")), str(item.get("quote", "")), events)
    if event is None:
        return None
    subject = item.get("subject") or {}
    kind = item.get("type")
    return Claim(
        type=kind if kind in CLAIM_TYPES else "Fact",
        assertion=str(item.get("assertion", "")),
        quote=str(item.get("quote", ""))[:QUOTE_CHARS_MAX],
        event_ids=(event.event_id,),
        subject=Subject(str(subject.get("name") or "user"), str(subject.get("kind") or "Person")),
        slot=item.get("slot"),
        value=item.get("value"),
        valid_from_ms=instant_of(item.get("valid_from"), event.zone),
        valid_to_ms=instant_of(item.get("valid_to"), event.zone),
        importance=_LEVELS.get(str(item.get("importance")), "medium"),
        confidence=_LEVELS.get(str(item.get("confidence")), "medium"),
        retracts=item.get("retracts"),
        recommended=item.get("recommended"),
    )


def _event_of(named: str, quote: str, events: Sequence[Event]) -> Event | None:
    if named == "*":
        return next((event for event in events if find_span(quote, event.content) is not None), None)
    return next((event for event in events if named in {event.event_id, event.host_id}), None)
