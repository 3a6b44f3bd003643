"""Who makes claims of evidence: an extractor is asked with no transaction open, and is never trusted."""

from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec

from octop_bridge.domain.records import Claim, Event


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What an extractor says of one slice of events."""

    claims: tuple[Claim, ...]
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


class ExtractorError(Exception):
    """An extractor that gave no usable answer; the events stay pending."""

    def __init__(self, kind: str, message: str, *, retryable: bool = True) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.retryable = retryable


class Extractor(Protocol):
    """Claims of a slice: one session, one owner, oldest event first."""

    name: str
    """Goes into the actor of what it claims."""
    mode: Literal["model", "rules"]

    async def claims(self, events: Sequence[Event]) -> Answer:
        """What the slice says. Raises ExtractorError."""
        ...
