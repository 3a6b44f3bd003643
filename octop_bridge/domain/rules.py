"""The rule extractor: what people state outright, English and Chinese, so that a first run without a model remembers.

Precision before recall: only clauses that begin as a statement of the speaker are read, each assertion is the clause
itself in the third person, and each quote is the clause as it stands in the event.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from octop_bridge.domain import moments, rules_chinese, rules_english
from octop_bridge.domain.clauses import clauses
from octop_bridge.domain.records import ASSERTION_CHARS_MAX, QUOTE_CHARS_MAX, Claim, Event
from octop_bridge.domain.stated import Stated

CLAIMS_MAX = 20
"""Claims of one slice. Whoever states more pastes a document."""
CONTENT_CHARS_MAX = 20_000
"""Read of one message; what stands behind it was pasted."""
_RANK = {"high": 0, "medium": 1, "low": 2}
_HAN = re.compile(r"[\u4e00-\u9fff]")


def extract(events: Sequence[Event]) -> list[Claim]:
    """What the users among the speakers state outright, in reading order; the weightier where there is too much."""
    found: list[Claim] = []
    for event in events:
        if event.role == "user" and event.kind == "turn":
            seen: set[str] = set()
            for claim in islice(_claims(event), 3 * CLAIMS_MAX):
                if claim.assertion not in seen:
                    seen.add(claim.assertion)
                    found.append(claim)
    if len(found) <= CLAIMS_MAX:
        return found
    weighty = sorted(range(len(found)), key=lambda at: (_RANK[found[at].importance], _RANK[found[at].confidence], at))
    return [found[at] for at in sorted(weighty[:CLAIMS_MAX])]


def _claims(event: Event) -> Iterator[Claim]:
    content = event.content[:CONTENT_CHARS_MAX]
    speaker = event.speaker_name if event.chat_type == "group" else None
    for clause in clauses(content):
        chinese = _HAN.search(clause.text) is not None
        read, name = (rules_chinese.read, speaker or "用户") if chinese else (rules_english.read, speaker or "User")
        stated = read(clause.text, name)
        if stated is not None and not (stated.addressed and event.chat_type == "group"):
            claim = _claim(event, clause.start, stated)
            if claim is not None:
                yield claim


def _claim(event: Event, offset: int, stated: Stated) -> Claim | None:
    """The claim with its quote and validity; None where it counts only with a time and none is understood."""
    quote = event.content[offset + stated.start : offset + stated.end].strip()
    if not quote or len(quote) > QUOTE_CHARS_MAX or len(stated.assertion) > ASSERTION_CHARS_MAX:
        return None
    assertion = stated.assertion
    valid = None if stated.time == "none" else moments.find_validity(quote, event.at_ms, event.zone)
    start, end = (valid.valid_from_ms, valid.valid_to_ms) if valid else (None, None)
    if stated.time == "change":
        end = None
    elif valid and valid.point_ms and stated.time == "event":
        start, end = valid.point_ms
    if stated.time == "event" and valid is None:
        return None
    date = moments.spelled(valid, event.zone) if valid else None
    if valid and date:
        assertion = re.sub(re.escape(valid.phrase), date, assertion, count=1, flags=re.IGNORECASE)
        assertion = assertion[:1].upper() + assertion[1:]
    return Claim(
        type=stated.type,
        assertion=assertion,
        quote=quote,
        event_ids=(event.event_id,),
        subject=stated.subject,
        slot=stated.slot,
        value=stated.value,
        valid_from_ms=start,
        valid_to_ms=end,
        importance=stated.importance,
        confidence=stated.confidence,
    )
