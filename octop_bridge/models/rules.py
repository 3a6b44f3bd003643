"""The extractor that needs no model: what people state outright, English and Chinese."""

import asyncio
from collections.abc import Sequence
from typing import Literal

from octop_bridge.domain.records import Claim, Event
from octop_bridge.models import Answer


class RuleExtractor:
    """Claims by rule."""

    name = "rules"
    mode: Literal["model", "rules"] = "rules"

    async def claims(self, events: Sequence[Event]) -> Answer:
        """What the user states outright in these events."""
        return Answer(claims=await asyncio.to_thread(_extract, events))


def _extract(events: Sequence[Event]) -> tuple[Claim, ...]:
    from octop_bridge.domain.rules import extract  # noqa: PLC0415 - its patterns take 0.1 s to compile: at the first use

    return tuple(extract(events))
