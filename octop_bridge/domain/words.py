"""Words of a normalised text, one by one, with contractions written out and numbers as digits.

What signatures, numbers and negation have in common. Every step reads tokens and not characters, so that its own result,
joined with spaces, gives the same tokens again.
"""

import re
from collections.abc import Sequence
from functools import cache

from octop_bridge.domain.folding import HAN, KANA, MARKS, UNSPACED

_NUMBER = (
    r"(?:(?<![^\s(\[])-(?=\d))?(?:"
    r"\d{4} ?年 ?\d{1,2} ?月 ?\d{1,2} ?[日号]|\d{4}-\d{1,2}-\d{1,2}(?!\d)|\d{4}/\d{1,2}/\d{1,2}(?!\d)"
    r"|\d{1,2}\.\d{1,2}\.\d{4}(?![\d.])|\d{1,2}/\d{1,2}/\d{2,4}(?!\d)|\d{1,2}:\d{2}(?::\d{2})?(?!\d)"
    r"|\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)*(?:k(?![^\W_]))?)"
)


def word_set(words: str) -> frozenset[str]:
    """Return the words of a list that is written as a text."""
    return frozenset(words.split())


_CHINESE_DATE = re.compile(r"(\d{4}) ?年 ?(\d{1,2}) ?月 ?(\d{1,2}) ?[日号]")
_DOTTED_DATE = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})")
_ISO_DATE = re.compile(r"(\d{4})[-/](\d{1,2})[-/](\d{1,2})")


@cache
def _ascii_token() -> re.Pattern[str]:
    return re.compile(rf"{_NUMBER}|[a-z]+(?:'[a-z]+)*(?:\+\+|#(?![\w#]))?|\S")


@cache
def _token() -> re.Pattern[str]:
    letter = rf"(?:[^\W\d_{HAN}{KANA}{UNSPACED}]|[{MARKS}])"
    return re.compile(rf"{_NUMBER}|{letter}+(?:'{letter}+)*(?:\+\+|#(?![\w#]))?|[{UNSPACED}]+|\S")


def scan(folded: str) -> list[str]:
    """Return the tokens of a normalised text: words, canonical numbers, single Han and kana characters, single signs."""
    found = (_ascii_token() if folded.isascii() else _token()).findall(folded)
    return [_canonical(token) if is_number(token) else token for token in found]


def is_number(token: str) -> bool:
    """Whether a token of `scan` is a number."""
    return token[0].isdecimal() or (token[0] == "-" and len(token) > 1)


def _canonical(token: str) -> str:
    """One spelling a number: no thousands separators, ISO dates, `10k` as 10000, no zero before an hour."""
    if found := _ISO_DATE.fullmatch(token) or _CHINESE_DATE.fullmatch(token):
        return _date(*found.groups())
    if found := _DOTTED_DATE.fullmatch(token):
        return _date(*reversed(found.groups()))
    if token.endswith("k"):
        return times(token[:-1], 1000) or token
    if ":" in token:
        return token[1:] if token[0] == "0" and token[1].isdigit() else token
    return token.replace(",", "")


def _date(year: str, month: str, day: str) -> str:
    return f"{year}-{month:0>2}-{day:0>2}"


VALUE_DIGITS_MAX = 15
VALUE_MAX = 10**VALUE_DIGITS_MAX
"""Larger numbers are not computed with."""


def times(number: str, factor: int) -> str | None:
    """Return a plain or decimal number times a factor, None where the result is no whole number or out of bounds."""
    whole, _, fraction = number.partition(".")
    if not (whole + fraction).isdecimal() or len(whole + fraction) > VALUE_DIGITS_MAX:
        return None
    value, rest = divmod(int(whole + fraction) * factor, 10 ** len(fraction))
    return str(value) if not rest and value <= VALUE_MAX else None


_NOT = {"won't": "will", "can't": "can", "shan't": "shall", "ain't": "is"}
_APOSTROPHE_LEFT_OUT = word_set("isnt arent wasnt werent dont doesnt didnt hasnt havent hadnt wouldnt couldnt shouldnt")
_BARE_NOT = {word: word[:-2] for word in _APOSTROPHE_LEFT_OUT} | {"cannot": "can", "cant": "can", "aint": "is"}
_ENDINGS = {"re": "are", "ve": "have", "ll": "will", "d": "would", "m": "am"}
_IS = word_set("it he she that this there here what who where when why how everything nothing everyone")


def expand(tokens: Sequence[str]) -> list[str]:
    """Return the tokens with contractions written out: can't → can not, it's → it is, Ana's → ana s."""
    found: list[str] = []
    for token in tokens:
        if token in _BARE_NOT:
            found += [_BARE_NOT[token], "not"]
        elif len(token) < 2 or "'" not in token:
            found.append(token)
        elif token.endswith("n't"):
            found += [*expand(_NOT.get(token, token[:-3]).split("'")), "not"]
        else:
            found += expand(_parted(token))
    return found


def _parted(token: str) -> list[str]:
    *before, last = token.split("'")
    if last == "s" and before == ["let"]:
        return ["let", "us"]
    if last == "s" and len(before) == 1 and before[0] in _IS:
        return [before[0], "is"]
    return [*before, _ENDINGS.get(last, last)]


_ONES = (
    "zero|one|two zwei dos deux|three drei tres trois|four vier cuatro quatre|five fünf cinco cinq|six sechs seis"
    "|seven sieben siete|eight acht ocho huit|nine neun nueve neuf|ten zehn diez dix|eleven|twelve zwölf doce douze"
    "|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen"
)
"""English first, then German, Spanish and French words that are nothing else in English."""
_UNITS = {word: value for value, words in enumerate(_ONES.split("|")) for word in words.split()}
_TENS = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
_SCALES = {"dozen": 12, "hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
NUMBER_WORDS = frozenset(_UNITS) | frozenset(_TENS) | frozenset(_SCALES)
_BEFORE_PRONOUN = word_set("no this that which each every any some another other the last next new old wrong right")
_AFTER_PRONOUN = word_set("another of day or thing")


def english_numbers(tokens: Sequence[str]) -> list[str]:
    """Return the tokens with number words as digits. "one" stays where it is a pronoun ("no one", "one of")."""
    found: list[str] = []
    at = 0
    while at < len(tokens):
        value, after = _english(tokens, at)
        if value is None:
            found.append(tokens[at])
            at += 1
        else:
            found.append(value)
            at = after
    return found


def _english(tokens: Sequence[str], at: int) -> tuple[str | None, int]:
    """The number that begins here and where it ends, or None."""
    word = tokens[at]
    if word.isdecimal() or (word[0].isdecimal() and "." in word):
        factor = _SCALES.get(tokens[at + 1], 0) if at + 1 < len(tokens) else 0
        if not factor or (scaled := times(word, factor)) is None:
            return None, at
        value, rest = _spoken(tokens, at + 2, int(scaled), 0, "scale")
        return str(value), rest
    if word not in NUMBER_WORDS or (word == "one" and _is_pronoun(tokens, at)):
        return None, at
    value, after = _spoken(tokens, at, 0, 0, "")
    return str(value), after


def _spoken(tokens: Sequence[str], at: int, total: int, current: int, last: str) -> tuple[int, int]:
    """What the number words from here on add up to, and where they end."""
    while at < len(tokens) and total + current < VALUE_MAX:
        word = tokens[at]
        if word == "and" and last == "scale" and at + 1 < len(tokens) and tokens[at + 1] in _UNITS | _TENS:
            at += 1
            continue
        if word in _UNITS and (last in {"", "scale"} or (last == "tens" and 0 < _UNITS[word] < 10)):
            current, last = current + _UNITS[word], "unit"
        elif word in _TENS and last in {"", "scale"}:
            current, last = current + _TENS[word], "tens"
        elif word in _SCALES and _SCALES[word] < 1000:
            current, last = (current or 1) * _SCALES[word], "scale"
        elif word in _SCALES:
            total, current, last = total + (current or 1) * _SCALES[word], 0, "scale"
        else:
            break
        at += 1
    return total + current, at


def _is_pronoun(tokens: Sequence[str], at: int) -> bool:
    after = tokens[at + 1] if at + 1 < len(tokens) else ""
    return (at > 0 and tokens[at - 1] in _BEFORE_PRONOUN) or after in _AFTER_PRONOUN


_DIGITS = {char: value for value, char in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_POWERS = {"十": 10, "百": 100, "千": 1000}
_MYRIADS = {"万": 10**4, "亿": 10**8}
_NUMERALS = frozenset(_DIGITS) | frozenset(_POWERS) | frozenset(_MYRIADS)
_MEASURES = frozenset(
    "个只条岁年月日号点分秒块元天周次人位名件家台张杯瓶公米斤克吨升钟层楼种套辆匹头口间座部篇首棵朵双对门份期届级度倍"
    "遍趟顿场班节课页组项步季代折寸尺厘毫枚冊歳匹階時刻盒包袋箱碗盘根支把颗粒片"
)
_ORDINALS = frozenset("第周初期拜")
_IDIOMS = word_set("万一 千万 十分 百分 万分 百度 四周 一部分 一次性 一点 一对一 一家人")
_NUMERAL_AFTER_ALL = word_set("分钟 点半 点钟 点整 小时")


def chinese_numbers(tokens: Sequence[str]) -> list[str]:
    """Return the tokens with Chinese numerals as digits, where a unit, a measure word or an ordinal makes them clear."""
    found: list[str] = []
    at = 0
    while at < len(tokens):
        if tokens[at] not in _NUMERALS and not _has_power(tokens, at):
            found.append(tokens[at])
            at += 1
            continue
        end = _run_end(tokens, at)
        value = _value(tokens[at:end]) if _is_clear(tokens, at, end) else None
        found += tokens[at:end] if value is None else [value]
        at = end
    return found


def _has_power(tokens: Sequence[str], at: int) -> bool:
    """Whether digits stand here that a Chinese power of ten follows: 3 万."""
    following = tokens[at + 1] if at + 1 < len(tokens) else ""
    return is_number(tokens[at]) and (following in _POWERS or following in _MYRIADS)


def _run_end(tokens: Sequence[str], at: int) -> int:
    end = at + 1
    while end < len(tokens):
        follows_digit = tokens[end - 1] in _DIGITS or is_number(tokens[end - 1])
        if tokens[end] not in _NUMERALS and (follows_digit or not _has_power(tokens, end)):
            break
        end += 1
    return end


def _is_clear(tokens: Sequence[str], at: int, end: int) -> bool:
    run, after = "".join(tokens[at:end]), "".join(tokens[end : end + 2])
    if after in _NUMERAL_AFTER_ALL:
        return True
    if run in _IDIOMS or run + after[:1] in _IDIOMS or run + after in _IDIOMS:
        return False
    if is_number(run) or (at and tokens[at - 1] in _ORDINALS) or after[:1] in _MEASURES:
        return True
    return len(run) > 2 or any(char in run for char in "百千万亿") or (len(run) > 1 and "十" in run)


def _value(run: Sequence[str]) -> str | None:
    """What the numerals say, None for what is no number (七八个). A last digit counts tenths of its power: 三万五 is 35000."""
    if all(char in _DIGITS for char in run):
        return "".join(str(_DIGITS[char]) for char in run) if len(run) != 2 or "零" in run or "〇" in run else None
    total, section, last, digits = 0, 0, 0, ""
    for part in run:
        if part in {"零", "〇"}:
            last = 0
        elif part in _POWERS or part in _MYRIADS:
            last = _POWERS.get(part) or _MYRIADS[part]
            before = (section if part in _MYRIADS else 0) + (total if part == "亿" else 0)
            whole = digits if "." in digits else str(before + int(digits or not before))
            amount = times(whole, last)
            if amount is None or ("." in digits and before):
                return None
            if part in _POWERS:
                section += int(amount)
            else:
                total, section = int(amount) + (0 if part == "亿" else total), 0
            digits = ""
        elif digits or len(part) > VALUE_DIGITS_MAX or not (part in _DIGITS or part.replace(".", "").isdecimal()):
            return None
        else:
            digits = str(_DIGITS.get(part, part))
    tail = int(digits or 0) * (last // 10 if last > 10 else 1)
    return str(total + section + tail)
