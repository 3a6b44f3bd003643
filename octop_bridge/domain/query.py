"""What a person or a prompt asks: the words of a query, and the piece of a text that answers them."""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice
from typing import NamedTuple

import msgspec

from octop_bridge.domain.folding import HAN, HANGUL, KANA, UNSPACED, extends, normalise, traditional
from octop_bridge.domain.stems import irregular_forms
from octop_bridge.domain.text import repair
from octop_bridge.domain.tokens import fold_word, index_tokens, query_tokens

QUERY_CHARS_MAX = 2_000
"""What is longer is a whole prompt: the question stands at its end."""
_PHRASES_MAX = 8


@cache
def _phrase() -> re.Pattern[str]:
    return re.compile('"([^"]+)"|“([^“”]+)”|„([^„“”]+)[“”]|「([^「」]+)」|『([^『』]+)』|«([^«»]+)»|＂([^＂]+)＂')


class Query(msgspec.Struct, frozen=True):
    """A query as it was read. No terms: nothing is asked for, nothing is found."""

    text: str
    terms: tuple[str, ...]
    phrases: tuple[str, ...]
    """What stood in quotation marks, in normal form."""


def read_query(text: str) -> Query:
    """Return the query in a text. Every text is one: nothing a person types is a syntax error."""
    if len(text) > QUERY_CHARS_MAX:
        text = text[-QUERY_CHARS_MAX:]
    text = repair(text)
    phrases: dict[str, None] = {}
    for found in _phrase().finditer(text):
        phrase = normalise(found[found.lastindex or 0])
        if any(char.isalnum() for char in phrase):
            phrases[phrase] = None
    return Query(text=text, terms=tuple(query_tokens(text)), phrases=tuple(phrases)[:_PHRASES_MAX])


ELLIPSIS = "…"
_CHARS_MIN = 8
"""In less room no match can be shown: the text's beginning stands there."""
_TERMS_MAX = 24
_PLACES_MAX = 200
"""Places of one term. A frequent word says little about where the answer stands."""
_LOOKS_MAX = 1_000
"""Words looked at for one term: many may begin like it."""
_WORD_CHARS_MAX = 64
_READS_MAX = 50
"""Different words read for one term before only the plain form counts."""
_REPLACED_MAX = 48
"""Replacing so many characters one by one is faster than a table for all."""
_RAGGED_CHARS_MAX = 32
"""How far a cut may move to stand between two words."""

_SPACE = re.compile(r"\s+")


@cache
def _sentence_end() -> re.Pattern[str]:
    return re.compile(r"(?:[.!?…]+[\"'”’)\]*(?=\s)|[。！？]+[」』”’）]*|\n)\s*")


def snippet(text: str, terms: Sequence[str], chars_max: int) -> str:
    """Return the piece of a text around its densest match of the terms (tokens of a query), at most `chars_max` long.

    The whole text if it fits, else whole sentences where they fit, else whole words, with "…" where something is left
    out. A character is never cut from its marks.
    """
    text = text.strip()
    if len(text) <= chars_max:
        return text
    if chars_max < _CHARS_MIN:
        return (text[: _whole(text, chars_max - 1, -1)].rstrip() + ELLIPSIS)[: max(0, chars_max)]
    first, last = _densest(_places(text, terms), chars_max - 2)
    begin, end = _sentences(text, first, last, chars_max) or _words(text, first, last, chars_max)
    piece = text[begin:end].strip()
    return (ELLIPSIS if begin > 0 else "") + piece + (ELLIPSIS if end < len(text) else "")


class _Place(NamedTuple):
    begin: int
    end: int
    term: int


def _places(text: str, terms: Sequence[str]) -> list[_Place]:
    """Where the terms stand in the text, in its order."""
    folded = _folded_alike(text, terms[:_TERMS_MAX])
    found: list[_Place] = []
    for number, term in enumerate(terms[:_TERMS_MAX]):
        by_word = term[0].isalnum() and not _unspaced().match(term)
        for form in _surface_forms(term) if by_word else [term]:
            found += islice(_standing(text, folded, term, form, number, by_word=by_word), _PLACES_MAX)
    return sorted(found)


def _standing(text: str, folded: str, term: str, form: str, number: int, *, by_word: bool) -> Iterator[_Place]:
    """Places of one term, by one of the forms that its words begin with."""
    known: dict[str, bool] = {}
    at = folded.find(form)
    for _ in range(_LOOKS_MAX):
        if at < 0:
            return
        begin, end = at, at + len(form)
        if by_word and at and _is_inside(text[at - 1], text[at]):
            at = folded.find(form, end)
            continue
        if by_word:
            begin, end = _around(text, begin, end)
            word = text[begin:end]
            if word not in known:
                known[word] = word == form or (len(known) < _READS_MAX and term in index_tokens(word))
            if not known[word]:
                at = folded.find(form, end)
                continue
        yield _Place(begin, end, number)
        at = folded.find(form, end)


def _surface_forms(term: str) -> list[str]:
    """What words with this stem begin with, or are."""
    if not term.isascii() or not term.isalpha():
        return [term]
    begins = term[:-1] if len(term) > 3 and term[-1] in "iy" else term
    return [begins, *irregular_forms(term)]


def _is_inside(before: str, char: str) -> bool:
    """Whether no word and no part of one can begin with this ASCII character, after that one."""
    if not (char.isascii() and before.isascii() and before.isalnum()):
        return False
    return not char.isupper() and char.isdigit() == before.isdigit()


def _around(text: str, begin: int, end: int) -> tuple[int, int]:
    """The bounds of the word that a match is a part of."""
    low, high = max(0, begin - _WORD_CHARS_MAX), min(len(text), end + _WORD_CHARS_MAX)
    while begin > low and (text[begin - 1].isalnum() or extends(text[begin - 1])):
        begin -= 1
    while end < high and (text[end].isalnum() or extends(text[end])):
        end += 1
    return begin, end


@cache
def _unspaced() -> re.Pattern[str]:
    return re.compile(rf"[{HAN}{KANA}{HANGUL}{UNSPACED}]")


def _folded_alike(text: str, terms: Sequence[str]) -> str:
    """The text as tokens are folded, as far as these terms can stand in it, character by character: offsets stay."""
    folded = text.lower()
    if len(folded) != len(text):
        folded = "".join(low if len(low := char.lower()) == 1 else char for char in text)
    if folded.isascii():
        return folded
    table = {char: fold_word(normalise(char)) for char in set(_foldable().findall(folded))}
    table |= {variant: char for char in set("".join(terms)) for variant in traditional(char) if variant in folded}
    table = {char: form for char, form in table.items() if len(form) == 1 and form != char}
    if len(table) > _REPLACED_MAX:
        return folded.translate({ord(char): form for char, form in table.items()})
    for char, form in table.items():
        folded = folded.replace(char, form)
    return folded


@cache
def _foldable() -> re.Pattern[str]:
    """Lower-case letters that fold to another one: accented Latin and Greek, ё, full-width forms."""
    return re.compile(
        "[\u00aa\u00b5\u00ba\u00df-\u024f\u0390\u03ac-\u03b0\u03c2\u03ca-\u03ce\u0451\u1e00-\u1fff\uff10-\uff5a]"
    )


def _densest(places: Sequence[_Place], width: int) -> tuple[int, int]:
    """The bounds of the matches that say most within a width: different terms first, the rarer the better."""
    counts = Counter(place.term for place in places)
    held: Counter[int] = Counter()
    best, bounds, left = 0.0, (0, 0), 0
    worth = 0.0
    for right, place in enumerate(places):
        if not held[place.term]:
            worth += 1 + 1 / counts[place.term]
        held[place.term] += 1
        while left < right and (place.end - places[left].begin > width or held[places[left].term] > 1):
            held[places[left].term] -= 1
            if not held[places[left].term]:
                worth -= 1 + 1 / counts[places[left].term]
            left += 1
        if worth > best + 1e-9:
            best, bounds = worth, (places[left].begin, min(place.end, places[left].begin + width))
    return bounds


def _sentences(text: str, first: int, last: int, chars_max: int) -> tuple[int, int] | None:
    """Bounds of the whole sentences around a match that fit, None where not even its own do."""
    low, high = max(0, first - chars_max), min(len(text), last + chars_max)
    ends = [found.end() for found in _sentence_end().finditer(text, low, high)]
    borders = sorted({*ends, *([0] if low == 0 else []), *([len(text)] if high == len(text) else [])})
    at, to = bisect_right(borders, first) - 1, bisect_left(borders, max(last, first + 1))
    if at < 0 or to >= len(borders) or _length(text, borders[at], borders[to]) > chars_max:
        return None
    grown = True
    while grown:
        grown = False
        if to + 1 < len(borders) and _length(text, borders[at], borders[to + 1]) <= chars_max:
            to, grown = to + 1, True
        if at > 0 and _length(text, borders[at - 1], borders[to]) <= chars_max:
            at, grown = at - 1, True
    return borders[at], borders[to]


def _length(text: str, begin: int, end: int) -> int:
    return len(text[begin:end].strip()) + (begin > 0) + (end < len(text))


def _words(text: str, first: int, last: int, chars_max: int) -> tuple[int, int]:
    """Bounds of the whole words around a match, from the start of its sentence where that is near."""
    room = chars_max - 2
    lead = (room - (last - first)) // 3
    near = [found.end() for found in _sentence_end().finditer(text, max(0, last - room), first)]
    begin = near[0] if near else max(0, first - max(0, lead))
    if begin == 0 or last <= room:
        begin, room = 0, chars_max - 1
    elif not near:
        space = _SPACE.search(text, begin, min(first, begin + _RAGGED_CHARS_MAX))
        begin = space.end() if space else _whole(text, begin, 1)
    end = min(len(text), begin + room)
    if end < len(text):
        space_at = max(
            text.rfind(" ", end - _RAGGED_CHARS_MAX, end + 1), text.rfind("\n", end - _RAGGED_CHARS_MAX, end + 1)
        )
        end = space_at if space_at >= max(last, begin + 1) else max(begin, _whole(text, end, -1))
    return begin, end


def _whole(text: str, at: int, step: int) -> int:
    """The nearest place in one direction that cuts no character from its marks, no flag and no joined emoji in two."""
    while 0 < at < len(text) and (extends(text[at]) or text[at - 1] == "\u200d" or _halves(text, at)):
        at += step
    return at


def _halves(text: str, at: int) -> bool:
    if "\ud800" <= text[at - 1] <= "\udbff":
        return "\udc00" <= text[at] <= "\udfff"
    flags = 0
    while flags < at and "\U0001f1e6" <= text[at - 1 - flags] <= "\U0001f1ff":
        flags += 1
    return flags % 2 == 1 and "\U0001f1e6" <= text[at] <= "\U0001f1ff"
