"""English time expressions: found by pattern, resolved against a wall clock.

A word that is a time only by its company ("May", "march", "2023", "Friday") counts where a preposition or a date stands
beside it; elsewhere it is weak, which is to say: at most one end of a range.
"""

import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

from octop_bridge.domain import civil
from octop_bridge.domain.civil import Lean, Phrase, Span

_Resolve = Callable[[datetime, Lean], Span | None]


def _numbered(*rows: str) -> dict[str, int]:
    return {name: number for number, names in enumerate(rows) for name in names.split()}


_MONTHS = _numbered(
    "", "january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug",
    "september sept sep", "october oct", "november nov", "december dec",
)  # fmt: skip
_WEEKDAYS = _numbered(
    "monday mon", "tuesday tues tue", "wednesday wed", "thursday thurs thur thu", "friday fri", "saturday sat", "sunday sun"
)  # fmt: skip
_COUNTS = _numbered(
    "", "a an one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"
)
_COUNTS |= {"a couple of": 2, "couple of": 2, "fifteen": 15, "twenty": 20, "thirty": 30}
_HOURS = {"morning": (4, 12), "afternoon": (12, 18), "evening": (18, 24), "night": (18, 30)}
"""Parts of a day; a night ends at six of the next one."""


def _one_of(words: dict[str, int]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


_MONTH, _WEEKDAY, _COUNT = _one_of(_MONTHS), _one_of(_WEEKDAYS), r"\d{1,3}|" + _one_of(_COUNTS)
_UNITS = "day|week|month|year"
_YEAR = r"(?:19|20)\d\d"
_DAY = r"(?:the )?(\d{1,2})(?:st|nd|rd|th)?"
_BEGIN, _DATE_BEGIN, _END = r"(?<![\w-])", r"(?<![\w.,:/-])", r"(?![\w-]|[.:,/]\d)"


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


_ISO = _pattern(rf"(?<![\w.-])({_YEAR})-(\d\d)(?:-(\d\d))?(?![\d-])")
_SLASHED = _pattern(rf"(?<![\w./-])({_YEAR})/(\d\d?)/(\d\d?)(?![\d/])")
_DOTTED = _pattern(rf"(?<![\w.-])(\d\d?)\.(\d\d?)\.({_YEAR})(?!\d|\.\d)")
_DAYS_OF_MONTH = _pattern(
    rf"{_DATE_BEGIN}(?:(?:between|from) )?{_DAY} ?(?:and|to|until|till|through|-|–) ?{_DAY}(?: of)? ({_MONTH})\b\.?(?:,? ({_YEAR}))?{_END}"
)
_DAY_MONTH = _pattern(rf"{_DATE_BEGIN}{_DAY}(?: of)? ({_MONTH})\b\.?(?:,? ({_YEAR}))?{_END}")
_MONTH_DAY = _pattern(rf"{_BEGIN}({_MONTH})\b\.? {_DAY}(?:,? ({_YEAR}))?{_END}")
_MONTH_YEAR = _pattern(rf"{_BEGIN}({_MONTH})\b\.?(?:,| of)? ({_YEAR}){_END}")
_BARE_MONTH = _pattern(rf"{_BEGIN}(?:(last|this|next) )?({_MONTH})(?![\w'’-])")
_BARE_YEAR = _pattern(
    rf"{_DATE_BEGIN}{_YEAR}{_END}"
    r"(?! (?:words|people|lines|files|pages|rows|users|euros?|dollars|times|steps|points|k?m|km|miles|[kmgt]b|ms|k?g)\b)"
)
_DAY_WORD = _pattern(
    rf"{_BEGIN}(?:(the day before yesterday|yesterday|today|the day after tomorrow|tomorrow)"
    r"(?: (morning|afternoon|evening|night))?|(last night|tonight|this morning|this afternoon|this evening))(?![\w-])"
)
_UNIT = _pattern(rf"{_BEGIN}(last|previous|this|current|next|coming)(?: calendar)? (week|month|year|weekend)(?![\w-])")
_AGO = _pattern(rf"{_BEGIN}(?:about |around |exactly )?({_COUNT}) ({_UNITS})s? ago(?![\w-])")
_ROLLING = _pattern(rf"{_BEGIN}(?:the )?(?:(?:last|past|previous) ({_COUNT}) ({_UNITS})s|past ({_UNITS}))(?![\w-])")
_AHEAD = _pattern(
    rf"{_BEGIN}(?:in ({_COUNT}) ({_UNITS})s?(?:['’] time)?|({_COUNT}) ({_UNITS})s? from (?:now|today))(?![\w-])"
)
_NAMED_DAY = _pattern(
    rf"{_BEGIN}(?:(last|this|next|coming) )?({_WEEKDAY})(?: (morning|afternoon|evening|night))?(?![\w'’-])"
)
_COMPANY = _pattern(
    rf"{_BEGIN}(in|on|since|from|until|till|til|by|during|through|throughout|starting|beginning|before|after|early|late|mid|"
    r"for|of)(?: early| late| mid| the)?[ -]$"
)
_FIRM = {"in", "since", "during", "until", "last", "next", "on"}
"""Words after which even a lower-case "may" or "march" is the month."""
_OTHER_WORDS = {"may", "march", "mar", "dec", "sat", "sun", "wed", "mon", "fri", "tue", "thu"}
_WORD = re.compile(r"[a-z]+|\d+")
_RELATIVE_WORDS = frozenset(
    _numbered(
        "yesterday today tomorrow tonight night morning afternoon evening",
        "day days week weeks weekend month months year years",
    )
)
_HABIT = _pattern(r"\b(?:every|each|most|any)(?: other| single)? $")
_RUN_BEGINS = _pattern(rf"(?: to | through |-|–)(?:{_WEEKDAY})\b")
_RUN_ENDS = _pattern(rf"\b(?:{_WEEKDAY})(?: to | through |-|–)$")


def phrases(text: str) -> Iterator[Phrase]:
    """Every English time expression of the text, in no order, overlapping ones included."""
    words = set(_WORD.findall(text.lower()))
    found: list[_Found] = []
    months, digits = not words.isdisjoint(_MONTHS), any(word.isdigit() for word in words)
    if months or digits:
        found += [_dates(text), _months_and_years(text)] if months else [_numeric(text), _years(text)]
    if not words.isdisjoint(_RELATIVE_WORDS):
        found.append(_relative(text))
    if not words.isdisjoint(_WEEKDAYS):
        found.append(_named_days(text))
    for source in found:
        for match, phrase in source:
            if _HABIT.search(text, max(0, match.start() - 20), match.start()) is None:
                yield phrase


_Found = Iterator[tuple[re.Match[str], Phrase]]


def _numeric(text: str) -> _Found:
    for pattern, year, month, day in ((_ISO, 1, 2, 3), (_SLASHED, 1, 2, 3), (_DOTTED, 3, 2, 1)):
        for match in pattern.finditer(text):
            yield match, _phrase(match, _date(match[year], int(match[month]), match[day]))


def _years(text: str) -> _Found:
    for match in _BARE_YEAR.finditer(text):
        weak = _company(text, match.start()) in {"", "on", "for", "of"}
        yield match, _phrase(match, _year(int(match[0])), weak=weak)


def _dates(text: str) -> _Found:
    yield from _numeric(text)
    for pattern, month, day in ((_DAY_MONTH, 2, 1), (_MONTH_DAY, 1, 2)):
        for match in pattern.finditer(text):
            if match[3] or _is_month(match[month], text, match.start()):
                resolve = _date(match[3], _MONTHS[match[month].lower()], match[day])
                yield match, _phrase(match, resolve, floating=not match[3])
    for match in _DAYS_OF_MONTH.finditer(text):
        if match[4] or _is_month(match[3], text, match.start()):
            yield match, _phrase(match, _days_of_month(match))


def _months_and_years(text: str) -> _Found:
    yield from _years(text)
    for match in _MONTH_YEAR.finditer(text):
        yield match, _phrase(match, _date(match[2], _MONTHS[match[1].lower()], None))
    for match in _BARE_MONTH.finditer(text):
        which = (match[1] or "").lower()
        company = which or _company(text, match.start())
        weak = not company or not _is_month(match[2], text, match.start(), which)
        resolve = _month(_MONTHS[match[2].lower()], which)
        yield match, _phrase(match, resolve, weak=weak, floating=not which, over=which == "last")


def _relative(text: str) -> _Found:
    for match in _DAY_WORD.finditer(text):
        over = match[0].lower().startswith(("yesterday", "last", "the day before"))
        yield match, _phrase(match, _day_word(match), over=over)
    for match in _UNIT.finditer(text):
        shift = {"last": -1, "previous": -1, "next": 1, "coming": 1}.get(match[1].lower(), 0)
        yield match, _phrase(match, _unit(match[2].lower(), shift), over=shift < 0)
    for match in _AGO.finditer(text):
        yield match, _phrase(match, _unit(match[2].lower(), -_count(match[1])), over=True)
    for match in _ROLLING.finditer(text):
        yield match, _phrase(match, _past((match[2] or match[3]).lower(), _count(match[1] or "one")), over=True)
    for match in _AHEAD.finditer(text):
        name, count = (match[2] or match[4]).lower(), _count(match[1] or match[3])
        yield match, _phrase(match, _unit(name, count) if match[3] else _in_the_future(name, count))


def _named_days(text: str) -> _Found:
    """Weekdays; "Monday to Friday" without a "from" is a habit."""
    for match in _NAMED_DAY.finditer(text):
        which, name, part = (match[1] or "").lower(), match[2].lower(), match[3]
        company = which or _company(text, match.start())
        if name in _OTHER_WORDS and (not company or match[2].islower()):
            continue
        alone = not company and not part and re.match(r"\s*(?:[.,;:!?)]|$)", text[match.end() :]) is None
        if _RUN_BEGINS.match(text, match.end()) or _RUN_ENDS.search(text, max(0, match.start() - 24), match.start()):
            alone = True
        hours = _HOURS[part.lower()] if part else (0, 24)
        resolve = _weekday(_WEEKDAYS[name], which, hours)
        yield match, _phrase(match, resolve, weak=alone, floating=not which, over=which == "last")


def _phrase(
    match: re.Match[str], resolve: _Resolve, *, weak: bool = False, floating: bool = False, over: bool = False
) -> Phrase:
    return Phrase(match.start(), match.end(), resolve, weak, floating, over)


def _company(text: str, start: int) -> str:
    """The preposition before a position, or nothing."""
    match = _COMPANY.search(text, max(0, start - 24), start)
    return match[1].lower() if match else ""


def _is_month(name: str, text: str, start: int, which: str = "") -> bool:
    """Whether a month's name, which may be another word, is one: by its capital or by the word before it."""
    return not name.islower() or name not in _OTHER_WORDS or (which or _company(text, start)) in _FIRM


def _count(word: str) -> int:
    return int(word) if word.isdigit() else _COUNTS[word.lower()]


def _date(year: str | None, month: int, day: str | None) -> _Resolve:
    return lambda now, lean: civil.date(int(year) if year else None, month, int(day) if day else None, now, lean)


def _days_of_month(match: re.Match[str]) -> _Resolve:
    def resolve(now: datetime, lean: Lean) -> Span | None:
        year, month = (int(match[4]) if match[4] else None), _MONTHS[match[3].lower()]
        last = civil.date(year, month, int(match[2]), now, lean)
        first = last and civil.date(last.start.year, month, int(match[1]), now, lean)
        return Span(first.start, last.end) if first and last and first.start <= last.start else None

    return resolve


def _month(number: int, which: str) -> _Resolve:
    def resolve(now: datetime, lean: Lean) -> Span | None:
        if which == "last":
            return civil.date(None, number, None, civil.month(now).start - timedelta(days=1), "past")
        if which == "next":
            return civil.date(None, number, None, civil.month(now).end, "future")
        return civil.date(now.year if which else None, number, None, now, lean)

    return resolve


def _year(number: int) -> _Resolve:
    return lambda now, _lean: civil.year(now, number - now.year)


def _unit(name: str, shift: int) -> _Resolve:
    return lambda now, _lean: civil.unit(name, now, shift)


def _in_the_future(name: str, count: int) -> _Resolve:
    """A date of what lies ahead; elsewhere nothing, for "in three days" is as often a duration."""
    return lambda now, lean: civil.unit(name, now, count) if lean == "future" else None


def _past(name: str, count: int) -> _Resolve:
    return lambda now, _lean: civil.past(name, now, count)


def _day_word(match: re.Match[str]) -> _Resolve:
    word, part = (match[1] or match[3]).lower(), (match[2] or "").lower()
    if match[3]:
        part = "night" if word in {"last night", "tonight"} else word.removeprefix("this ")
    shift = {
        "the day before yesterday": -2,
        "yesterday": -1,
        "last night": -1,
        "tomorrow": 1,
        "the day after tomorrow": 2,
    }
    hours = _HOURS[part] if part else (0, 24)
    return lambda now, _lean: civil.day(now, shift.get(word, 0), hours)


def _weekday(number: int, which: str, hours: tuple[int, int]) -> _Resolve:
    def resolve(now: datetime, lean: Lean) -> Span:
        if which == "last":
            found = civil.weekday(number, now - timedelta(days=1), "past")
        elif which in {"this", "next"}:
            found = civil.weekday_of_week(number, now, 1 if which == "next" else 0)
        else:
            found = civil.weekday(number, now, "future" if which else lean)
        return civil.day(found.start, 0, hours)

    return resolve
