"""When something is true, and which time a query means: phrases resolved against the time and zone of what was said.

No clock is read. Windows and validities are half-open and follow the zone's daylight saving. What is not understood is
None, never a guess: "two weeks before my trip" is words.
"""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta

import msgspec

from octop_bridge.domain import civil, time_chinese, time_english
from octop_bridge.domain.civil import Lean, Phrase, Span

_CHARS_MAX = 1_000
"""Nobody dates a statement or a question behind its thousandth character."""


class Window(msgspec.Struct, frozen=True):
    """The time that a query means, `[from_ms, to_ms)`, and the words that say so with their place in the query."""

    from_ms: int
    to_ms: int
    phrase: str
    span: tuple[int, int]


class Validity(msgspec.Struct, frozen=True):
    """When a statement is true, `[valid_from_ms, valid_to_ms)`, None = unbounded; and the words that say so."""

    valid_from_ms: int | None
    valid_to_ms: int | None
    phrase: str
    point_ms: tuple[int, int] | None = None
    """The stretch that the phrase names, where it is one ("last week", "in March"), whatever follows from it."""


class _Said(msgspec.Struct, frozen=True):
    """One phrase with the words around it that say how it bounds."""

    phrase: Phrase
    how: str
    """in, from, since, until, before or after."""
    start: int
    end: int
    habit: bool = False
    """Days of no certain week ("from Monday to Friday"): a query means the last ones, a statement every week."""


_FROM_BEFORE = r"as of|as from|effective(?: from)?|(?:starting|beginning)(?: from| in| on)?"
_BEFORE = re.compile(
    r"(?<![\w-])(?:(since)|("
    + _FROM_BEFORE
    + r")|(from)|(until|till|til|up to|up until|through|by)|(before|prior to)|(after)|"
    r"in|on|during|throughout|within|over|for)(?: early| late| mid| the| this)?[ -]$",
    re.IGNORECASE,
)
_BEFORE_KINDS = (None, "since", "from", "from?", "until", "before", "after")
_AFTER = re.compile(r"(?: onwards?| on(?= ?[,.;!]|$)| forward)(?!\w)", re.IGNORECASE)
_FAR = re.compile(
    r"(?<!\w)(?:(?:days?|weeks?|months?|years?|nights?|hours?|mornings?|evenings?|weekends?) (?:before|after|prior to|from|since))\s*$",
    re.IGNORECASE,
)
_WEEK_OF = re.compile(r"(?<!\w)(?:the )?week of(?: the)? $", re.IGNORECASE)
_BEFORE_ZH = re.compile(r"(?:(自从|自)|(从)|(截至|截止到?|直到|到|至)|[在于])$")
_AFTER_ZH = re.compile(r"(?:的时候)?(?:(以来)|(起|开始)|(为止|截止)|(之前|以前|前)|(之后|以后|后))")
_AFTER_ZH_KINDS = (None, "since", "from", "until", "before", "after")
_BETWEEN = re.compile(r"(?<![\w-])(between|from)(?: the)? $", re.IGNORECASE)
_AND = re.compile(r" ?(?:and|to|until|till|through|-|–|—)(?: the)? ?|\s*(?:到|至|和|~|—|-)\s*", re.IGNORECASE)
_NOW = re.compile(
    r"(?<![\w-])(?:(?:from|as of|starting|effective) (?:now|today|right now|this moment)(?: on(?:wards?)?)?|effective immediately)(?![\w-])"
    r"|从现在起|从现在开始|从今以后|从今往后|从今天起|从今天开始",
    re.IGNORECASE,
)
_CHANGE = re.compile(
    r"\b(?:moved|relocated|started|joined|switched|began|became|changed|got|adopted|bought|renamed|replaced|quit|left|sold|stopped)\b"
    r"|搬到|搬家|换成|改成|改为|改用|开始|加入|买了|入职|辞职",
    re.IGNORECASE,
)
_RELATIVE = re.compile(
    r"(?:(?:on|in|over|during) (?:the )?)?(?:the day |yesterday|today|tomorrow|tonight|last |this |next |previous |\w+ (?:\w+ )?(?:of )?(?:days?|weeks?|months?|years?) ago|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day)|[在于]?(?:[昨今明去前]|[上下这本]|大?[前后]天|周|星期|礼拜|.{1,3}(?:天|周|月|年)前)",
    re.IGNORECASE,
)
"""Phrases that mean something only beside the day on which they were said."""
_PAST = re.compile(
    r"\b(?:was|were|did|didn't|had|went|came|saw|met|got|bought|sold|left|began|became|flew|took|made|gave|found|lost|won|"
    r"ran|ate|told|said|broke|wrote|spent|built|felt|grew|taught|drove|[a-z]{3,}ed)\b|[了过曾]",
    re.IGNORECASE,
)
_PRESENT = re.compile(r"\b(?:is|are|am|isn't|aren't)\b|\w'(?:s|re|m)\b", re.IGNORECASE)
_FUTURE = re.compile(
    r"\b(?:will|won't|'ll|going to|gonna|shall|due|deadline|plans? to|planning|starts?|begins?|leaving|flying|upcoming|moving)\b"
    r"|'ll\b|[将会要]|打算|计划",
    re.IGNORECASE,
)


def find_window(text: str, now_ms: int, zone: str) -> Window | None:
    """The time that the first understood phrase of a query means, or None. Dates without a year lie in the past."""
    now = civil.wall(now_ms, zone)
    try:
        for said in _all_said(text, now, "past"):
            span = _bounds(said, now)
            if span is not None and span.start < span.end:
                window = Window(
                    civil.instant(span.start, zone),
                    civil.instant(span.end, zone),
                    text[said.start : said.end],
                    (said.start, said.end),
                )
                if window.from_ms < window.to_ms:
                    return window
    except (OverflowError, ValueError):
        return None
    return None


def find_validity(text: str, at_ms: int, zone: str) -> Validity | None:
    """When a statement said at that time is true, as far as it says so, or None.

    A change at a point ("moved last year") opens a state: its start is known and its end is not.
    """
    now = civil.wall(at_ms, zone)
    begins = _NOW.search(text, 0, _CHARS_MAX)
    if begins is not None:
        return Validity(at_ms, None, begins[0])
    try:
        return _validity(text, now, zone)
    except (OverflowError, ValueError):
        return None


def day_of(instant_ms: int, zone: str) -> str:
    """The ISO date of an instant in the zone."""
    return civil.wall(instant_ms, zone).date().isoformat()


def instant_of(value: str | None, zone: str) -> int | None:
    """Epoch milliseconds of an ISO date (its beginning), month, year or date and time; without an offset in the zone."""
    if not isinstance(value, str):
        return None
    text = value.strip()
    if re.fullmatch(r"\d{4}(?:-\d\d)?", text):
        text += "-01" if len(text) == 7 else "-01-01"
    try:
        return civil.instant(datetime.fromisoformat(text), zone)
    except (ValueError, OverflowError):
        return None


def spelled(validity: Validity, zone: str) -> str | None:
    """The date that stands for a phrase told from the day of speaking: "last week" becomes "in the week of 2026-05-04".

    Chinese phrases become Chinese ones. None where the phrase says its own date, or says no more than a bound.
    """
    if validity.point_ms is None or not _RELATIVE.match(validity.phrase):
        return None
    start, end = (civil.wall(bound, zone) for bound in validity.point_ms)
    length, day = end - start, start.date().isoformat()
    chinese = re.search(r"[\u4e00-\u9fff]", validity.phrase) is not None
    if start.hour:
        part = "night" if length > timedelta(hours=8) else {4: "morning", 12: "afternoon"}.get(start.hour, "evening")
        return None if chinese else f"in the {part} of {day}"
    if length <= timedelta(days=1):
        return day if chinese else f"on {day}"
    if length == timedelta(days=2) and start.weekday() == 5:
        return f"{day}那个周末" if chinese else f"on the weekend of {day}"
    if length == timedelta(days=7) and start.weekday() == 0:
        return f"{day}那周" if chinese else f"in the week of {day}"
    if civil.month(start) == Span(start, end):
        return f"{start.year}年{start.month}月" if chinese else f"in {day[:7]}"
    if civil.year(start) == Span(start, end):
        return f"{start.year}年" if chinese else f"in {start.year}"
    return None


def _validity(text: str, now: datetime, zone: str) -> Validity | None:
    start: datetime | None = None
    end: datetime | None = None
    point: Span | None = None
    words: list[str] = []
    lean = _lean(text)
    for said in _all_said(text, now, lean):
        if said.habit:
            continue
        how = "in" if said.how == "from?" and said.phrase.over else said.how
        wanted: Lean = "past" if how == "since" else "future" if how in {"until", "before"} else lean
        span = said.phrase.resolve(now, wanted)
        if span is None or how == "after":
            continue
        if how in {"since", "from", "from?"} and start is None:
            start = span.start
        elif how in {"until", "before"} and end is None:
            end = span.start if how == "before" else span.end
        elif how == "in" and not words:
            start, end = span.start, None if _CHANGE.search(text, 0, _CHARS_MAX) else span.end
            point = span
        else:
            continue
        words.append(text[said.start : said.end])
    if not words or (start is not None and end is not None and start >= end):
        return None
    return Validity(
        civil.instant(start, zone) if start is not None else None,
        civil.instant(end, zone) if end is not None else None,
        " ".join(words),
        (civil.instant(point.start, zone), civil.instant(point.end, zone))
        if point is not None and len(words) == 1
        else None,
    )


def _lean(text: str) -> Lean:
    """Where a date without a year lies, by the tense around it; "is closed" is no past."""
    if _PAST.search(text, 0, _CHARS_MAX) and not _PRESENT.search(text, 0, _CHARS_MAX):
        return "past"
    return "future" if _FUTURE.search(text, 0, _CHARS_MAX) else "near"


def _bounds(said: _Said, now: datetime) -> Span | None:
    """The stretch that a query means by a phrase; "since" reaches to the end of today."""
    span = said.phrase.resolve(now, "future" if said.how == "until" else "past")
    if span is None:
        return None
    tonight = civil.day(now).end
    if said.how in {"since", "from"}:
        return Span(span.start, tonight)
    if said.how == "after":
        return Span(span.end, tonight)
    if said.how == "before":
        return Span(civil.BEGINNING, span.start)
    if said.how == "until":
        return Span(civil.BEGINNING, span.end)
    return span


def _all_said(text: str, now: datetime, lean: Lean) -> Iterator[_Said]:
    """The understood phrases in reading order, none overlapping; ranges as one."""
    folded = time_chinese.fold(text[:_CHARS_MAX])
    every = sorted(
        (*time_english.phrases(folded), *time_chinese.phrases(folded)), key=lambda one: (one.start, -one.end)
    )
    chosen: list[Phrase] = []
    for phrase in every:
        if not chosen or phrase.start >= chosen[-1].end:
            chosen.append(phrase)
        elif chosen[-1].weak and not phrase.weak and phrase.end > chosen[-1].end:
            chosen[-1] = phrase
    index = 0
    while index < len(chosen):
        said = _range(folded, chosen[index : index + 2], now, lean)
        index += 2 if said is not None else 1
        if said is None and not chosen[index - 1].weak:
            said = _context(folded, chosen[index - 1])
        if said is not None:
            yield said


def _range(text: str, pair: list[Phrase], now: datetime, lean: Lean) -> _Said | None:
    """Two phrases as one, where they are the ends of a range."""
    if len(pair) < 2 or _AND.fullmatch(text, pair[0].end, pair[1].start) is None:
        return None
    first, last = pair
    opened = _BETWEEN.search(text, max(0, first.start - 16), first.start)
    chinese = text[first.end : last.start].strip() in {"到", "至", "~", "—"}
    spaced = text[first.end : last.start].strip() in {"to", "until", "till", "through", "-", "–"} and not first.weak
    if opened is None and not chinese and not spaced:
        return None
    begin = opened.start() if opened else first.start - (1 if text[: first.start].endswith("从") else 0)
    span = _from_to(first, last, now, lean)
    if span is None:
        return None
    habit = first.floating and last.floating and span.end - span.start <= timedelta(days=7)
    habit = habit and not re.search(r"\d|[月日号]", text[first.start : last.end])
    return _Said(Phrase(begin, last.end, lambda _now, _lean: span), "in", begin, last.end, habit)


def _from_to(first: Phrase, last: Phrase, now: datetime, lean: Lean) -> Span | None:
    """The stretch from one phrase to the other; the one that floats is the nearest on its side of the other."""
    if first.floating and not last.floating:
        end = last.resolve(now, lean)
        start = end and first.resolve(end.start, "past")
    else:
        start = first.resolve(now, lean)
        end = start and last.resolve(start.start if last.floating else now, "future" if last.floating else lean)
    if start is None or end is None or start.start >= end.end:
        return None
    return Span(start.start, end.end)


def _context(text: str, phrase: Phrase) -> _Said | None:
    """The phrase with the words before and after it that say how it bounds; None where they point elsewhere."""
    start, end, how = phrase.start, phrase.end, "in"
    before = _BEFORE.search(text, max(0, start - 24), start)
    near = max(0, start - 48)
    if _FAR.search(text, near, start) or (before is not None and _FAR.search(text, near, before.end())):
        return None
    if before is not None:
        start, how = before.start(), _BEFORE_KINDS[before.lastindex or 0] or "in"
        onwards = _AFTER.match(text, end)
        if onwards is not None and how in {"in", "from?"}:
            end, how = onwards.end(), "from"
    elif (whole := _WEEK_OF.search(text, max(0, start - 20), start)) is not None:
        return _Said(_whole_week(phrase), "in", whole.start(), end)
    chinese = _BEFORE_ZH.search(text, max(0, start - 3), start)
    if chinese is not None:
        start, how = chinese.start(), (None, "since", "from?", "until")[chinese.lastindex or 0] or "in"
    after = _AFTER_ZH.match(text, end)
    if after is not None:
        end, how = after.end(), _after_zh(after, how)
    return _Said(phrase, how, start, end)


def _after_zh(match: re.Match[str], how: str) -> str:
    """What a Chinese word after a phrase makes of the word before it: "自五月起" begins in any May, "到五月为止" ends."""
    kind = _AFTER_ZH_KINDS[match.lastindex or 0] or "in"
    return "until" if how == "until" and kind == "before" else kind


def _whole_week(phrase: Phrase) -> Phrase:
    def resolve(now: datetime, lean: Lean) -> Span | None:
        span = phrase.resolve(now, lean)
        return civil.week(span.start) if span is not None and span.end - span.start <= timedelta(days=1) else span

    return Phrase(phrase.start, phrase.end, resolve)
