"""What the English rules share: how a rule turns its match into a claim, and how objects and values are trimmed."""

import re
from collections.abc import Callable
from typing import Literal

from octop_bridge.domain import rules_words as words
from octop_bridge.domain.records import QUOTE_CHARS_MAX, ClaimType, Level, Subject
from octop_bridge.domain.stated import SELF, Stated
from octop_bridge.domain.text import is_negated
from octop_bridge.domain.third_person import third_person

Rule = Callable[[re.Match[str], str], Stated | None]
"""What a pattern's match states about the speaker of that name."""

_UNSURE = re.compile(
    r"\b(?:would|could|might|maybe|perhaps|wish|hope|probably|possibly|supposedly|kind of|sort of|kinda|almost|guess|wonder|"
    r"wondering|considering|I'd|we'd|should|feel like|feels like)\b"
)
_END_OF_VALUE = re.compile(
    r",? (?:since|because|cause|cuz|for (?:\w+ )?(?:years?|months?|weeks?|now)|now|currently|these days|nowadays|at the moment|right now|until|"
    r"with my|with our|but|so|which|where|who|although|though|from now on|again|anymore|any more|even|when|whenever|as|"
    r"last \w+|yesterday|this (?:week|month|year)|next (?:week|month|year)|a lot|so much|very much|the most|in (?:19|20)\d\d)"
    r"\b|, (?=(?:and|but|so|which|where|who|it|I|the|they|we|because|since|though|a|an|my|our|not|one|especially)\b)|: |[;!(]"
)
_FEELS = re.compile(
    r"(?:a|an|the) (?:bit|lot|mess|joy|blast|delight|nightmare|disaster|real|great|good|big part|way|reminder|treat|must|challenge|test|"
    r"pain|little|best|same|one|only|reason|key|perfect|huge|true|total|constant|source|beautiful|wonderful|lovely|amazing)\b"
)
_PLACE = re.compile(r"[A-Z][\w.'-]*(?: (?:(?:de|da|do|del|la|le|am|an|der|upon|of|the|on) )?[A-Z][\w.'-]*)*")
_LOWER_PLACE = re.compile(
    r"(?!(?:a|an|the|my|our|one|this|that|two|peace|fear|it|here|there|town|school|constant)\b)[a-z]{3,}(?: [a-z]{3,})?$"
)


def claim(
    match: re.Match[str],
    name: str,
    type_: ClaimType,
    *,
    value: str | None = None,
    slot: str | None = None,
    subject: Subject = SELF,
    importance: Level = "medium",
    confidence: Level = "high",
    time: Literal["state", "change", "event", "none"] = "state",
    assertion: str | None = None,
) -> Stated | None:
    """The claim of a matched clause, told in the third person; None where it is too long to be cut to a quote.

    A negated statement fills no slot: it says what is not there.
    """
    behind = _fitting(match.string)
    if behind is None or _UNSURE.search(match.string, 0, behind):
        return None
    if value and behind < len(match.string) and value not in match.string[:behind]:
        value = None
    negated = match.groupdict().get("neg") or (slot is not None and is_negated(match.string[:behind]))
    return Stated(
        type=type_,
        start=0,
        end=behind,
        assertion=assertion or third_person(match.string[:behind], name),
        subject=subject,
        slot=None if negated else slot,
        value=value or None,
        importance=importance,
        confidence=confidence,
        time=time,
    )


def vague(text: str) -> bool:
    """Whether an object means nothing without the conversation around it."""
    return not text or words.VAGUE.match(text) is not None or words.POINTS.search(text) is not None


def value_of(text: str) -> str:
    """The object without what is said about it: when, since when, with whom."""
    cut = _END_OF_VALUE.search(text)
    return (text[: cut.start()] if cut else text).strip(" .,;:!\"'“”`*_")


def place_of(text: str) -> str | None:
    """The place named at the beginning of a text, or None where there is none."""
    found = _PLACE.match(text.removeprefix("the ")) or _LOWER_PLACE.match(value_of(text))
    return found[0].rstrip(".'") if found else None


def nominal(text: str) -> bool:
    """Whether a predicate names something (a number, a name, "a nurse"), rather than how it feels."""
    first = text.split(" ", 1)[0].strip("\"'“”`").lower()
    if not first or first in words.VERDICTS or _FEELS.match(text):
        return False
    return first in {"a", "an", "the"} or text[0].isdigit() or text[0].isupper() or text[0] in '"“`#@+'


def _fitting(core: str) -> int | None:
    """Where a quote of the clause ends: at its own end, or at the last break that fits."""
    if len(core) <= QUOTE_CHARS_MAX:
        return len(core)
    breaks = [
        match.start()
        for match in re.finditer(r",? (?:and|but|so|because|which|where|with) |, ", core[:QUOTE_CHARS_MAX])
    ]
    return breaks[-1] if breaks and breaks[-1] > QUOTE_CHARS_MAX // 3 else None
