"""What the index holds of a text and what a query asks for: one function for both, for every script.

A text is read in chunks between white space, each by itself, so that chunks can be remembered. Words are case and accent
folded and stemmed; identifiers stay whole and are split as well; scripts without spaces become overlapping pairs and
single characters. A query leaves out stop words and, but for a character alone, the single characters.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache

from octop_bridge.domain.folding import HAN, HANGUL, KANA, MARKS, UNSPACED, shape, simplify
from octop_bridge.domain.stems import stem
from octop_bridge.domain.stopwords import HAN_CHARS, HAN_WORDS, HANGUL_PARTICLES, KANA_CHARS, STOP_BIGRAMS, STOP_WORDS
from octop_bridge.domain.words import expand

TOKEN_VERSION = 1
"""Goes up with every change of what `index_tokens` gives: the index is rebuilt then."""

_CHUNK_CHARS_MAX = 48
"""Longer chunks are not remembered."""
_SPLIT_CHARS_MAX = 200
"""Longer words (encoded bytes, hashes) are not looked into."""
_EDGES = "\"'()[]{}<>,.;:!?*_`~|=…"

Tokens = tuple[Iterable[str], Iterable[str]]
"""What the index takes, what a query takes: each to be read once."""


def index_tokens(text: str) -> list[str]:
    """Return the tokens of a text as the index holds them, as often as they stand there."""
    found: list[str] = []
    for chunk in text.split():
        if len(chunk) <= _CHUNK_CHARS_MAX:
            found += _remembered(chunk)[0]
        else:
            for tokens, _ in _read(chunk):
                found += tokens
    return found


def query_tokens(text: str) -> list[str]:
    """Return what a query asks for: each token once, in order, no stop words. Nothing but stop words gives []."""
    found: dict[str, None] = {}
    shouted = text.isupper()
    for number, chunk in enumerate(text.split()):
        if len(chunk) <= _CHUNK_CHARS_MAX:
            named = number and not shouted and chunk.strip(_EDGES) in _NAMES_TOO
            found.update(dict.fromkeys(_remembered(chunk)[0 if named else 1]))
        else:
            for _, asked in _read(chunk):
                found.update(dict.fromkeys(asked))
    return list(found)


_NAMES_TOO = frozenset(("Will", "May", "Mark", "US", "IT", "LA", "Al", "Mia", "Sur"))
"""Stop words by their letters that are names where they stand capitalised inside a query."""


@lru_cache(maxsize=32_768)
def term_hash(token: str) -> int:
    """Return the number of a token in the index: its blake2b of eight bytes as a signed integer."""
    return int.from_bytes(hashlib.blake2b(token.encode(), digest_size=8).digest(), "big", signed=True)


@lru_cache(maxsize=16_384)
def _remembered(chunk: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    index: list[str] = []
    query: list[str] = []
    for tokens, asked in _read(chunk):
        index += tokens
        query += asked
    return tuple(index), tuple(query)


def _read(chunk: str) -> Iterable[Tokens]:
    """The tokens of one chunk without white space, piece by piece."""
    if not chunk.isascii():
        return map(_piece, _pieces().finditer(simplify(shape(chunk))))
    if chunk.isalpha() and (chunk.islower() or chunk[1:].islower()):
        return (_word_tokens(chunk),)
    return map(_compound, _ASCII_WORD.findall(chunk))


_JOINT = r"(?:[._@:/\\&+'=-]|,(?=\d)){1,3}"
_ASCII_WORD = re.compile(rf"(?:(?<![a-zA-Z0-9])\.(?=[a-zA-Z]))?[a-zA-Z0-9]+(?:{_JOINT}[a-zA-Z0-9]+)*(?:\+\+|#)?")


@cache
def _pieces() -> re.Pattern[str]:
    letter = rf"(?:[^\W_{HAN}{KANA}{HANGUL}{UNSPACED}]|[{MARKS}])"
    return re.compile(
        rf"(?P<han>[{HAN}{KANA}]+)|(?P<hangul>[{HANGUL}]+)|(?P<unspaced>[{UNSPACED}]+)"
        rf"|(?P<word>(?:(?<![a-zA-Z0-9])\.(?=[a-zA-Z]))?{letter}+(?:{_JOINT}{letter}+)*(?:\+\+|#)?)"
        r"|(?P<sign>[\U0001f1e6-\U0001f1ff]{2}|[\u00a9\u00ae\u2300-\u23ff\u25a0-\u27bf\u2b00-\u2bff]"
        r"|[\U0001f000-\U0001f3fa\U0001f400-\U0001faff])"
    )


def _piece(found: re.Match[str]) -> Tokens:
    text = found[0]
    match found.lastgroup:
        case "han":
            return _grams(text), _asked_han(text)
        case "hangul":
            return _grams(text), _asked_hangul(text)
        case "unspaced":
            return _grams(text), _pairs(text) if len(text) > 1 else [text]
        case "sign":
            return (text,), (text,)
        case _:
            return _compound(text)


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)]


def _grams(run: str) -> list[str]:
    return [*run, *_pairs(run)]


@cache
def _function_words() -> re.Pattern[str]:
    return re.compile("(?:(?<![其吉])(?:" + "|".join(sorted(HAN_WORDS, key=len, reverse=True)) + "))+")


@cache
def _japanese_cut() -> re.Pattern[str]:
    """Particles after a kanji or katakana word; を is nothing else."""
    return re.compile(r"(?<=[\u4e00-\u9fff\u30a1-\u30ff々])(?:[がはへをのも]|には|では|とは)+|を")


def _asked_han(run: str) -> Iterator[str]:
    """Tokens of a query's run of Han and kana: cut at Chinese function words and Japanese particles, then pairs."""
    parts = (_japanese_cut() if re.search("[\u3041-\u309f]", run) else _function_words()).split(run)
    for part in parts:
        if len(part) == 1 and part not in HAN_CHARS and part not in KANA_CHARS:
            yield part
        for pair in _pairs(part):
            if pair not in STOP_BIGRAMS:
                yield pair


def _asked_hangul(run: str) -> Iterator[str]:
    """Tokens of a query's Korean word. A word of two syllables may be one and its particle: 책을 asks for 책, too."""
    if len(run) == 1 and run not in HANGUL_PARTICLES:
        yield run
    if len(run) == 2 and run[1] in HANGUL_PARTICLES and run not in STOP_BIGRAMS:
        yield run[0]
    for pair in _pairs(run):
        if pair not in STOP_BIGRAMS:
            yield pair


_PLAIN_LETTERS = str.maketrans(
    {"æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i", "ё": "е"}
)


@cache
def _stripped() -> re.Pattern[str]:
    """Accents of Latin and Greek, points of Hebrew, vowel signs and the stretch of Arabic. Signs of Indic scripts are letters."""
    return re.compile(r"[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed\u20d0-\u20ff]+")


def fold_word(word: str) -> str:
    """Return a word without case and accents. Cyrillic й keeps its breve, since it is another letter than и."""
    folded = word.casefold()
    if folded.isascii():
        return folded
    if "\u0400" <= folded[0] <= "\u04ff":
        return unicodedata.normalize("NFC", folded).translate(_PLAIN_LETTERS).replace("\u0301", "")
    bare = _stripped().sub("", unicodedata.normalize("NFD", folded.translate(_PLAIN_LETTERS)))
    return unicodedata.normalize("NFC", bare)


def _word_tokens(word: str) -> Tokens:
    """A word of letters alone."""
    folded = fold_word(word)
    if not folded:
        return (), ()
    tokens = (stem(folded),)
    return tokens, () if folded in STOP_WORDS or word.casefold() in STOP_WORDS else tokens


_CASES = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_NUMERIC = re.compile(r"v?\d+(?:[.,:/-]\d+)*")
_CLITIC = re.compile(r"(?:'(?:s|re|ve|ll|d|m)|n't)$", re.IGNORECASE)
_JOINTS = re.compile(r"[._@:/\\&+'=#,-]+")
_SEGMENTS = re.compile(r"[@/\\]+")
_PLUS = re.compile(r"[a-z]\+\+")


def _compound(raw: str) -> Tokens:
    """A word, or words joined by signs: the whole, its parts, and parts of parts by case and digits."""
    if raw.isalpha() and (raw.islower() or raw[1:].islower()):
        return _word_tokens(raw)
    if "'" in raw and (split := _apostrophes(raw)) is not None:
        return split
    whole = fold_word(raw)
    if not whole or len(raw) > _SPLIT_CHARS_MAX:
        return ((whole,), (whole,)) if whole else ((), ())
    if _NUMERIC.fullmatch(whole):
        tokens = _once(_number_tokens(whole))
        return tokens, tokens
    parts = [part for part in _JOINTS.split(raw) if part]
    if len(parts) == 1 and raw == parts[0] and not _splits(raw):
        return _word_tokens(raw)
    return _joined(raw, whole, parts)


def _joined(raw: str, whole: str, parts: list[str]) -> Tokens:
    """Whole first. Parts of one letter say nothing; words joined by a hyphen or underscore are one word, too."""
    inner = [piece for part in parts for piece in (_CASES.findall(part) if _splits(part) else [])]
    single = len(parts) == 1
    tokens = [stem(whole) if raw.isalpha() else whole]
    if not single and all(part.isalpha() for part in parts) and not set(raw) & set("./\\:@&+,="):
        tokens.append(stem(fold_word("".join(parts))))
    tokens += _PLUS.findall(whole)
    segments = (one.strip(":.") for one in _SEGMENTS.split(raw))
    tokens += [fold_word(one) for one in segments if _JOINTS.search(one)]
    asked = list(tokens)
    if not single:
        whole_is_idle = all(fold_word(part) in STOP_WORDS for part in parts)
        asked = [] if whole_is_idle else asked
    for piece in [*([] if single and raw[0] != "." else parts), *inner]:
        folded = fold_word(piece)
        if len(folded) < 2 and not folded.isdigit() and folded.isascii():
            continue
        token = stem(folded) if folded.isalpha() else folded
        tokens.append(token)
        if folded not in STOP_WORDS:
            asked.append(token)
    return _once(tokens), _once(asked)


def _splits(word: str) -> bool:
    """Whether a word is several by its case or digits: camelCase, covid19. Not SHOUTED, Capital, PDFs, nor a hash."""
    if not word.isascii() or (word.isalpha() and (word.isupper() or word[1:].islower() or word[:-1].isupper())):
        return False
    return 1 < len(_CASES.findall(word)) <= 4


def _once(tokens: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(tokens))


def _number_tokens(whole: str) -> list[str]:
    """A number: 1,000 is 1000; a version or decimal stays whole; dates, times and ranges whole and in parts."""
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+", whole):
        return [whole.replace(",", "")]
    bare = whole.removeprefix("v")
    parts = [part for part in re.split(r"[,:/-]", bare) if part != bare]
    return [whole, bare, *parts]


def _apostrophes(raw: str) -> Tokens | None:
    """Tokens of a word with an apostrophe: it's, don't, Ana's, l'église; None for one that is as any other sign."""
    whole = fold_word(raw)
    if (clitic := _CLITIC.search(raw)) and clitic.start() > 0:
        base, asked = _compound(raw[: clitic.start()] if clitic[0][0] == "'" else expand([whole])[0])
        return ((whole, *base), ()) if whole in STOP_WORDS else (base, asked)
    if elision := re.match(r"(?:[cdjlmnst]|qu)'(?=\w{2})", raw, re.IGNORECASE):
        rest, asked = _compound(raw[elision.end() :])
        asked = tuple(asked)
        return (whole, *rest), (whole, *asked) if asked and whole not in STOP_WORDS else ()
    return None
