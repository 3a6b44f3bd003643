"""The extractor that needs no model: what people state outright, English and Chinese."""

from collections.abc import Sequence
from typing import Literal

from octop_bridge.domain import rules
from octop_bridge.domain.records import Event
from octop_bridge.models import Answer


class RuleExtractor:
    """Claims by rule."""

    name = "rules"
    mode: Literal["model", "rules"] = "rules"

    async def claims(self, events: Sequence[Event]) -> Answer:
        """What the user states outright in these events."""
        return Answer(claims=tuple(rules.extract(events)))
