"""Wall-clock time: days, weeks, months and years of a zone, and the instants at which they begin.

Everything is counted on naive wall-clock times and turned into instants last, so that a day has 23, 24 or 25 hours as
its zone has it. An hour that a zone skips stands for the instant of the jump, a repeated one for its first pass.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Literal
from zoneinfo import ZoneInfo

import msgspec

Lean = Literal["past", "future", "near"]
"""Where a date without a year lies: the last one, the next one, or the nearer of the two."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)
_INSTANT_MAX = 253_000_000_000_000
"""Epoch milliseconds late in the year 9987: beyond it calendar arithmetic could leave the range of years."""
_INSTANT_MIN = -61_000_000_000_000
BEGINNING = datetime(1970, 1, 2)  # noqa: DTZ001 - wall clock
"""Before anything that a memory holds: where "until Friday" begins."""
YEARS = range(1900, 2101)
"""Four digits outside are a number, not a year."""


class Span(msgspec.Struct, frozen=True):
    """A stretch of wall-clock time, `[start, end)`."""

    start: datetime
    end: datetime


class Phrase(msgspec.Struct, frozen=True):
    """A time expression of a text: where it stands and how its span follows from "now" and a lean (None = it does not)."""

    start: int
    end: int
    resolve: Callable[[datetime, Lean], Span | None]
    weak: bool = False
    """Too ordinary a word to be a time by itself ("May", "2023"): counts only as one end of a range."""
    floating: bool = False
    """The lean or its neighbour decides which one it is: no year is said, or no week."""
    over: bool = False
    """Past by its wording ("yesterday", "last year"): nothing can start "from" it."""


def zone_of(name: str) -> tzinfo:
    """The zone of that IANA name; UTC where there is none."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return UTC


def wall(instant_ms: int, zone: str) -> datetime:
    """What a clock on the wall of the zone shows at an instant; instants outside of the calendar are pulled into it."""
    instant = _EPOCH + min(max(instant_ms, _INSTANT_MIN), _INSTANT_MAX) * _MS
    return instant.astimezone(zone_of(zone)).replace(tzinfo=None)


def instant(when: datetime, zone: str) -> int:
    """Epoch milliseconds at which a clock on the wall of the zone shows `when`; an offset in `when` outranks the zone."""
    aware = when if when.tzinfo is not None else when.replace(tzinfo=zone_of(zone))
    return (aware - _EPOCH) // _MS


def midnight(when: datetime) -> datetime:
    """The beginning of that day."""
    return when.replace(hour=0, minute=0, second=0, microsecond=0)


def day(when: datetime, shift: int = 0, hours: tuple[int, int] = (0, 24)) -> Span:
    """The day `shift` days away, or those hours of it (over 24 = into the next day)."""
    start = midnight(when) + timedelta(days=shift)
    return Span(start + timedelta(hours=hours[0]), start + timedelta(hours=hours[1]))


def week(when: datetime, shift: int = 0) -> Span:
    """The calendar week, from Monday, `shift` weeks away."""
    start = midnight(when) + timedelta(days=7 * shift - when.weekday())
    return Span(start, start + timedelta(days=7))


def weekend(when: datetime, shift: int = 0) -> Span:
    """Saturday and Sunday of the calendar week `shift` weeks away."""
    found = week(when, shift)
    return Span(found.start + timedelta(days=5), found.end)


def month(when: datetime, shift: int = 0) -> Span:
    """The calendar month `shift` months away."""
    return Span(_month_start(when.year, when.month + shift), _month_start(when.year, when.month + shift + 1))


def year(when: datetime, shift: int = 0) -> Span:
    """The calendar year `shift` years away."""
    return Span(datetime(when.year + shift, 1, 1), datetime(when.year + shift + 1, 1, 1))  # noqa: DTZ001 - wall clock


def unit(name: str, when: datetime, shift: int) -> Span:
    """The day, week, weekend, month or year `shift` of them away."""
    if name == "day":
        return day(when, shift)
    return {"week": week, "weekend": weekend, "month": month, "year": year}[name](when, shift)


def past(name: str, when: datetime, count: int) -> Span:
    """The `count` days, weeks, months or years up to the end of today."""
    end = midnight(when) + timedelta(days=1)
    if name in {"day", "week"}:
        return Span(end - timedelta(days=count * (7 if name == "week" else 1)), end)
    months = count * (12 if name == "year" else 1)
    first = _month_start(when.year, when.month - months)
    last_day = (month(first).end - timedelta(days=1)).day
    return Span(first.replace(day=min(when.day, last_day)), end)


def weekday(number: int, when: datetime, lean: Lean) -> Span:
    """The last (today counts) or the next such day, 0 = Monday. The nearer of both is the next: plans name weekdays."""
    ahead = (number - when.weekday()) % 7
    return day(when, ahead - 7 if lean == "past" and ahead else ahead)


def weekday_of_week(number: int, when: datetime, shift: int) -> Span:
    """That day of the calendar week `shift` weeks away, 0 = Monday."""
    return day(week(when, shift).start, number)


def date(year_: int | None, month_: int, day_: int | None, when: datetime, lean: Lean) -> Span | None:
    """The day, or the month where `day_` is None; without a year the one that the lean says. None = no such date."""
    if year_ is not None:
        return _date(year_, month_, day_)
    around = range(when.year - 8, when.year + 9)
    found = [span for one in around if (span := _date(one, month_, day_)) is not None]
    begun = [span for span in found if span.start <= when]
    ahead = [span for span in found if span.end > when]
    if not begun or not ahead:
        return None
    if lean == "past":
        return begun[-1]
    if lean == "future" or begun[-1].end > when:
        return ahead[0]
    return begun[-1] if when - begun[-1].end <= ahead[0].start - when else ahead[0]


def _date(year_: int, month_: int, day_: int | None) -> Span | None:
    try:
        first = datetime(year_, month_, day_ or 1)  # noqa: DTZ001 - wall clock
    except ValueError:
        return None
    return day(first) if day_ is not None else month(first)


def _month_start(year_: int, month_: int) -> datetime:
    """The first of a month, where months under 1 and over 12 run into other years."""
    return datetime(year_ + (month_ - 1) // 12, (month_ - 1) % 12 + 1, 1)  # noqa: DTZ001 - wall clock
