"""The character level of text: which characters are one, which are none, and which only look alike.

Tables are read on the first text that needs them; ASCII text never does.
"""

import re
import unicodedata
from functools import cache
from pathlib import Path

HAN = (
    r"\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u31c0-\u31ef\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
KANA = (
    r"\u3031-\u3035\u3041-\u3096\u3099-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f\U0001aff0-\U0001b16f"
)
HANGUL = r"\u1100-\u11ff\u3131-\u318e\ua960-\ua97f\uac00-\ud7ff"
UNSPACED = r"\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u0edc-\u0edf\u1000-\u103f\u1050-\u109f\u1780-\u17d3\uaa60-\uaa7f"
"""Thai, Lao, Burmese, Khmer: letters and vowel signs, written without spaces between words."""
MARKS = (
    r"\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    r"\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0711\u0730-\u074a\u07a6-\u07b0\u0816-\u082d\u08ca-\u0903"
    r"\u093a-\u094f\u0951-\u0957\u0962\u0963\u0981-\u0983\u09bc-\u09d7\u0a01-\u0a03\u0a3c-\u0a51\u0a70\u0a71\u0a75"
    r"\u0a81-\u0a83\u0abc-\u0acd\u0b01-\u0b03\u0b3c-\u0b57\u0b82\u0bbe-\u0bcd\u0bd7\u0c00-\u0c04\u0c3c-\u0c56"
    r"\u0c81-\u0c83\u0cbc-\u0cd6\u0d00-\u0d03\u0d3b-\u0d57\u0d81-\u0d83\u0dca-\u0ddf\u0f18-\u0f3f\u0f71-\u0fbc"
    r"\u135d-\u135f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\u2de0-\u2dff\u302a-\u302f\ufe20-\ufe2f"
)
"""Combining marks outside the unspaced scripts. Regular expressions do not count them to words by themselves."""

_JOINED = (
    MARKS + r"\u3099\u309a\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u102b-\u103e\u17b4-\u17d3"
)
EXTENDING = (
    _JOINED
    + r"\u1160-\u11ff\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\ufe00-\ufe0f\uff9e\uff9f"
    + (r"\U0001f3fb-\U0001f3ff\U000e0000-\U000e0fff")
)
"""What belongs to the character before it: nothing is cut there."""

_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
_QUOTES = dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u2035\u02bc\u02b9\u00b4\uff07\u2039\u203a", "'")
_QUOTES |= dict.fromkeys(
    "\u201c\u201d\u201e\u201f\u2033\u2036\u00ab\u00bb\u300c\u300d\u300e\u300f\uff02\u301d\u301e", '"'
)
_DASHES = dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u2e3a\u2e3b\ufe58\ufe63\uff0d\u30a0\u02d7", "-")
_FIXED = _QUOTES | _DASHES
_KNOWN_MAX = 20_000
"""Code points whose fold is remembered: more than any text uses, less than an attack would like."""

_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1b\x7f]+")
_TABLES = Path(__file__).with_name("tables")


class _Fold(dict[int, str]):
    """A table for `str.translate` that fills itself, one code point at a time."""

    def __init__(self, *, cased: bool, dropped: str = "") -> None:
        super().__init__()
        self._cased, self._dropped = cased, dropped

    def __missing__(self, code: int) -> str:
        char = chr(code)
        folded = "" if char in self._dropped else _fold(char, cased=self._cased)
        if len(self) < _KNOWN_MAX:
            self[code] = folded
        return folded


def _fold(char: str, *, cased: bool) -> str:
    if char in _FIXED:
        return _FIXED[char]
    if char.isspace():
        return " "
    category = unicodedata.category(char)
    if (
        category in {"Cf", "Cc"}
        or char in _BLANK
        or "\ufe00" <= char <= "\ufe0f"
        or "\U000e0100" <= char <= "\U000e01ef"
    ):
        return ""
    if category == "Cs":
        return "\ufffd"
    if category == "Nd":
        return str(unicodedata.decimal(char))
    plain = unicodedata.normalize("NFKD", char)
    if not cased:
        plain = unicodedata.normalize("NFKD", plain.casefold())
    if plain == char:
        return char
    return "".join(one if one == char else _fold(one, cased=cased) for one in plain)


_FOLDED = _Fold(cased=False)
_SHAPED = _Fold(cased=True)
_QUOTABLE = _Fold(cased=False, dropped="*_`")
"""As quotes are compared: marks of emphasis and code ticks are not part of what was said."""


def normalise(text: str) -> str:
    """Return the text as it is compared: NFKC, case folded, nothing invisible, one kind of quote, dash, digit and space.

    Digits of every script become ASCII ones, a lone surrogate becomes U+FFFD, so the result can always be encoded.
    Normalising twice changes nothing.
    """
    if text.isascii():
        return " ".join(_CONTROLS.sub("", text).lower().split())
    return _composed(text.translate(_FOLDED))


def quotable(text: str) -> str:
    """`normalise`, with marks of emphasis (`*`, `_`) and code ticks left out."""
    return _composed(text.translate(_QUOTABLE))


def shape(text: str) -> str:
    """Return the text as `normalise` sees it, but with its case and its white space."""
    return text if text.isascii() else unicodedata.normalize("NFC", text.translate(_SHAPED))


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", " ".join(text.split()))


@cache
def _extending() -> re.Pattern[str]:
    return re.compile(rf"[{EXTENDING}]")


@cache
def _clusters() -> re.Pattern[str]:
    return re.compile(rf"[\s\S][{EXTENDING}]*")


def clusters(text: str) -> list[str]:
    """The text in pieces that are read as one character: a letter with its marks, an emoji with its modifiers."""
    if text.isascii() or not _extending().search(text):
        return list(text)
    return _clusters().findall(text)


def extends(char: str) -> bool:
    """Whether a character belongs to the one before it."""
    return not char.isascii() and _extending().match(char) is not None


def simplify(text: str) -> str:
    """Return the text with traditional Han characters in their simplified form. The length stays."""
    if text.isascii() or not _han().search(text):
        return text
    return text.translate(_simplified())


@cache
def _han() -> re.Pattern[str]:
    return re.compile(rf"[{HAN}]")


@cache
def _simplified() -> dict[int, str]:
    table: dict[int, str] = {}
    for row in _rows("simplified.txt"):
        traditional, _, plain = row.partition("\t")
        table.update(zip(map(ord, traditional), plain, strict=True))
    return table


def traditional(char: str) -> str:
    """Return the traditional characters that a simplified one stands for, "" for any other character."""
    return "" if char < "\u2e80" else _traditional().get(char, "")


@cache
def _traditional() -> dict[str, str]:
    forms: dict[str, str] = {}
    for code, plain in _simplified().items():
        forms[plain] = forms.get(plain, "") + chr(code)
    return forms


def skeleton(text: str) -> str:
    """Return `normalise(text)` with every letter that passes for a basic Latin one replaced by it (Unicode TR39).

    Capitals are replaced before their case is folded, where they stand in one word with basic Latin letters: Greek Ν
    passes for N, its small form ν for v. ASCII is its own skeleton, so digits stay apart from letters.
    """
    if text.isascii():
        return normalise(text)
    capitals, small = _confusables()
    shaped = _mixed_word().sub(lambda word: word[0].translate(capitals), shape(text))
    bare = _overlay().sub("", normalise(shaped).translate(small))
    return normalise(bare)


@cache
def _mixed_word() -> re.Pattern[str]:
    return re.compile(r"\b(?=\w*[a-zA-Z])(?=\w*[^\W\x00-\x7f])\w+")


@cache
def _overlay() -> re.Pattern[str]:
    """Strokes and circles laid over letters."""
    return re.compile(r"[\u0334-\u0338\u20d2\u20d3\u20d8-\u20da\u20dd-\u20e0\u20e2-\u20eb]+")


@cache
def _confusables() -> tuple[dict[int, str], dict[int, str]]:
    capitals: dict[int, str] = {}
    small: dict[int, str] = {}
    for row in _rows("confusables.txt"):
        target, _, chars = row.partition(" ")
        (capitals if target.isupper() else small).update(dict.fromkeys(map(ord, chars), target))
    return capitals, small


def _rows(name: str) -> list[str]:
    """Rows of a table that ships with the package, without its header."""
    text = (_TABLES / name).read_text(encoding="utf-8")
    return [row for row in text.split("\n") if row and not row.startswith("#")]
