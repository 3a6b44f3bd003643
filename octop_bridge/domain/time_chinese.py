"""Chinese time expressions: found by pattern, resolved against a wall clock."""

import re
from collections.abc import Callable, Iterator
from datetime import datetime

from octop_bridge.domain import civil
from octop_bridge.domain.civil import Lean, Phrase, Span

_Resolve = Callable[[datetime, Lean], Span | None]

_FOLD = str.maketrans(
    "週禮個號後這從開過為內兩幾間點來時０１２３４５６７８９", "周礼个号后这从开过为内两几间点来时0123456789"
)
"""Traditional characters and full-width digits, one for one, so that positions stay."""
_DIGITS = {character: number for number, character in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_NUMBER = r"\d{1,3}|[一二三四五六七八九两]?十[一二三四五六七八九]?|[一二三四五六七八九两]"
_YEAR = r"(?:(?:19|20)\d\d|[一二]?[〇零一二三四五六七八九]{3})年"
_UNITS = {"天": "day", "日": "day", "周": "week", "星期": "week", "礼拜": "week", "月": "month", "年": "year"}
_UNIT = "天|日|个?星期|个?礼拜|周|个月|年"
_WEEKDAYS = {"一": 0, "二": 1, "三": 2, "四": 3, "五": 4, "六": 5, "日": 6, "天": 6}
_DAYS = {
    "大前天": -3,
    "前天": -2,
    "昨天": -1,
    "昨日": -1,
    "今天": 0,
    "今日": 0,
    "明天": 1,
    "明日": 1,
    "后天": 2,
    "大后天": 3,
}
_HOURS = {
    "早上": (4, 12),
    "早晨": (4, 12),
    "上午": (4, 12),
    "中午": (11, 14),
    "下午": (12, 18),
    "傍晚": (17, 20),
    "晚上": (18, 30),
    "夜里": (18, 30),
}
_PART = "|".join(_HOURS)
_SHIFTS = {"上上": -2, "上": -1, "这": 0, "本": 0, "下": 1, "下下": 2}
_YEARS = {"前年": -2, "去年": -1, "今年": 0, "明年": 1, "后年": 2}

_DATE = re.compile(
    rf"(?:({_YEAR})|({'|'.join(_YEARS)}))(?:({_NUMBER})月(?:份|({_NUMBER})[日号])?)?(?!\d|轻)"
    rf"|(?<![\d第个])({_NUMBER})月(?!天)(?:份|({_NUMBER})[日号])?"
)
_DAY_WORD = re.compile(
    rf"(大前天|(?<![以之目提])前天(?![气天])|昨[天日]|今[天日]|明[天日]|大后天|(?<!先)后天)({_PART})?"
)
_NIGHT = re.compile(r"(昨|今)(晚|早|夜)(?!饭|餐)")
_WEEK = re.compile(r"(上上|下下|[上下这本])个?(?:周|星期|礼拜)(?![围边刊岁])(?:([一二三四五六日天])|(末))?")
_MONTH = re.compile(rf"(上上|[上下这本])个?月(?:({_NUMBER})[日号])?")
_AGO = re.compile(rf"(?<![\d第])({_NUMBER})({_UNIT})(?:之|以)?前")
_ROLLING = re.compile(rf"(?:最近|过去|近)(?:的)?({_NUMBER})({_UNIT})")
_NAMED_DAY = re.compile(r"(?<![一二两三四五六七八九十每几\d上下这本个])(?:周|星期|礼拜)([一二三四五六日天])(?![天次])")
_CUE = re.compile(r"[年月周天日晚早夜]|星期|礼拜")
_HABIT = re.compile(r"每(?:个|年|周)?$")


def fold(text: str) -> str:
    """The text in simplified characters as far as times need it, position by position."""
    return text.translate(_FOLD)


def phrases(text: str) -> Iterator[Phrase]:
    """Every Chinese time expression of a folded text, in no order, overlapping ones included."""
    if _CUE.search(text) is None:
        return
    for match, phrase in (*_dates(text), *_days(text), *_weeks(text), *_distances(text)):
        if _HABIT.search(text, max(0, match.start() - 2), match.start()) is None:
            yield phrase


_Found = Iterator[tuple[re.Match[str], Phrase]]


def _phrase(match: re.Match[str], resolve: _Resolve, *, over: bool = False, floating: bool = False) -> Phrase:
    return Phrase(match.start(), match.end(), resolve, over=over, floating=floating)


def _dates(text: str) -> _Found:
    for match in _DATE.finditer(text):
        year, relative, month, day = match[1], match[2], match[3] or match[5], match[4] or match[6]
        if relative and text[: match.start()].endswith("过"):
            continue
        if _number(month or "1") > 12 or _number(day or "1") > 31:
            continue
        resolve = _date(year, relative, month, day)
        yield match, _phrase(match, resolve, over=relative in {"前年", "去年"}, floating=not year and not relative)


def _days(text: str) -> _Found:
    for match in _DAY_WORD.finditer(text):
        shift = _DAYS[match[1]]
        yield match, _phrase(match, _day(shift, _HOURS[match[2]] if match[2] else (0, 24)), over=shift < 0)
    for match in _NIGHT.finditer(text):
        shift = -1 if match[1] == "昨" else 0
        yield match, _phrase(match, _day(shift, _HOURS["早上" if match[2] == "早" else "晚上"]), over=shift < 0)


def _weeks(text: str) -> _Found:
    for match in _WEEK.finditer(text):
        shift = _SHIFTS[match[1]]
        yield match, _phrase(match, _week(shift, match[2], weekend=match[3] is not None), over=shift < 0)
    for match in _MONTH.finditer(text):
        shift = _SHIFTS[match[1]]
        yield match, _phrase(match, _month(shift, match[2]), over=shift < 0)
    for match in _NAMED_DAY.finditer(text):
        yield match, _phrase(match, _named_day(_WEEKDAYS[match[1]]), floating=True)


def _distances(text: str) -> _Found:
    for match in _AGO.finditer(text):
        yield match, _phrase(match, _unit(_unit_name(match[2]), -_number(match[1])), over=True)
    for match in _ROLLING.finditer(text):
        yield match, _phrase(match, _past(_unit_name(match[2]), _number(match[1])), over=True)


def _number(text: str) -> int:
    """The number of digits or of characters up to 99."""
    if text.isdigit() and text.isascii():
        return int(text)
    tens, ten, ones = text.partition("十")
    if not ten:
        return _DIGITS[text]
    return 10 * (_DIGITS[tens] if tens else 1) + (_DIGITS[ones] if ones else 0)


def _year_number(text: str) -> int:
    """The year of "2024年" or "二〇二四年"."""
    digits = text.removesuffix("年")
    return int(digits) if digits.isascii() else int("".join(str(_DIGITS[one]) for one in digits))


def _unit_name(text: str) -> str:
    return _UNITS[text.removeprefix("个")]


def _date(year: str | None, relative: str | None, month: str | None, day: str | None) -> _Resolve:
    def resolve(now: datetime, lean: Lean) -> Span | None:
        number = _year_number(year) if year else now.year + _YEARS[relative] if relative else None
        if number is not None and number not in civil.YEARS:
            return None
        if month is None:
            return civil.year(now, number - now.year) if number is not None else None
        return civil.date(number, _number(month), _number(day) if day else None, now, lean)

    return resolve


def _day(shift: int, hours: tuple[int, int]) -> _Resolve:
    return lambda now, _lean: civil.day(now, shift, hours)


def _week(shift: int, day: str | None, *, weekend: bool) -> _Resolve:
    if day:
        return lambda now, _lean: civil.weekday_of_week(_WEEKDAYS[day], now, shift)
    return lambda now, _lean: (civil.weekend if weekend else civil.week)(now, shift)


def _month(shift: int, day: str | None) -> _Resolve:
    def resolve(now: datetime, lean: Lean) -> Span | None:
        found = civil.month(now, shift)
        return civil.date(found.start.year, found.start.month, _number(day), now, lean) if day else found

    return resolve


def _named_day(number: int) -> _Resolve:
    return lambda now, lean: civil.weekday(number, now, lean)


def _unit(name: str, shift: int) -> _Resolve:
    return lambda now, _lean: civil.unit(name, now, shift)


def _past(name: str, count: int) -> _Resolve:
    return lambda now, _lean: civil.past(name, now, count)
