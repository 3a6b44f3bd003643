"""One definition each of how texts are compared: normal form, skeleton, signature, numbers, names, quotes, tokens' cost."""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from itertools import accumulate

from octop_bridge.domain.folding import HAN, HANGUL, KANA, clusters, extends, normalise, quotable, simplify, skeleton
from octop_bridge.domain.negation import is_negated
from octop_bridge.domain.stopwords import ENGLISH
from octop_bridge.domain.words import NUMBER_WORDS, chinese_numbers, english_numbers, expand, is_number, scan, word_set

__all__ = [
    "estimate_tokens",
    "find_span",
    "is_negated",
    "is_span",
    "names",
    "normalise",
    "numbers",
    "repair",
    "signature",
    "skeleton",
]

PLACEHOLDER = "¤"
"""Stands for the subject in a signature."""

_ARTICLES = frozenset(("a", "an", "the"))
_SPEAKERS = word_set("user i me 用户 我")
_MY = frozenset(("my", "mine"))
_MERE_MARKS = frozenset("|~")
_CONJUGATED = {"am": "is", "are": "is", "were": "was", "has": "have", "does": "do", "goes": "go"}
_ADVERBS = word_set("really also always never often usually now still already currently strongly just mostly mainly")


def signature(text: str, subject: str | None = None) -> str:
    """Return the key under which texts that say the same are one: the words of the skeleton, in order.

    Punctuation and articles go, contractions are written out, number words become digits, traditional Han simplified;
    order, negation, numbers and signs stay. The subject becomes a placeholder; for the user these are "user", "I", "me",
    "my", 用户 and 我, and the verb after it loses its person, so that "I prefer tea" is "User prefers tea".
    A signature is its own signature.
    """
    words = expand([token for token in scan(simplify(skeleton(text))) if _is_said(token)])
    words = ["1" if word == "one" else word for word in english_numbers(words) if word not in _ARTICLES]
    words = chinese_numbers(words)
    if subject is not None:
        words = _folded_subject(words, subject)
    return " ".join(words)


def _is_said(token: str) -> bool:
    """Whether a token of `scan` is said and not mere punctuation. Signs are said: C# is not C++, 👍 not 👎, 5 not 5%."""
    if token[0].isalnum() or token == "%" or len(token) > 1:  # noqa: S105 - a sign
        return True
    return unicodedata.category(token) in {"Sm", "Sc", "So"} and token not in _MERE_MARKS


def _folded_subject(words: Sequence[str], subject: str) -> list[str]:
    key = signature(subject)
    is_speaker = key in {"user", "i", "me", "用 户", "我"}
    forms = [list(key.split())] if key else []
    if is_speaker:
        forms = [list(form) if not form.isascii() else [form] for form in _SPEAKERS]
    found: list[str] = []
    at, fresh = 0, False
    while at < len(words):
        word = words[at]
        form = next(
            (one for one in forms if words[at : at + len(one)] == one and not _is_compound(words, at, one)), None
        )
        if form is not None:
            found.append(PLACEHOLDER)
            at += len(form)
            fresh = is_speaker
            continue
        if is_speaker and word in _MY:
            found += [PLACEHOLDER, "s"]
            fresh = False
        else:
            found.append(_impersonal(word) if fresh else word)
            fresh = fresh and word in _ADVERBS
        at += 1
    return found


def _is_compound(words: Sequence[str], at: int, form: Sequence[str]) -> bool:
    """Whether 我 is a part of another word here: 我们, 自我."""
    after = words[at + 1] if at + 1 < len(words) else ""
    return list(form) == ["我"] and (after in {"们", "国"} or (at > 0 and words[at - 1] in {"自", "忘"}))


def _impersonal(verb: str) -> str:
    """A verb without the ending of the third person, so that "I prefer" and "User prefers" meet."""
    if verb in _CONJUGATED:
        return _CONJUGATED[verb]
    if not verb.isascii() or not verb.isalpha() or not verb.endswith("s") or verb.endswith(("ss", "us", "is")):
        return verb
    if verb.endswith("ies") and len(verb) > 4:
        bare = verb[:-3] + "y"
    elif verb.endswith(("sses", "shes", "ches", "xes", "zes", "oes")):
        bare = verb[:-2]
    else:
        bare = verb[:-1]
    special = len(bare) < 3 or bare in NUMBER_WORDS or bare in _ARTICLES or bare in _SPEAKERS or bare in _MY
    return verb if special else bare


def numbers(text: str) -> tuple[str, ...]:
    """Return the numbers of a text in order, in one spelling each.

    1,000 and "one thousand" are "1000"; versions, times and dates are one number each, full dates in ISO form. Chinese
    numerals count where a measure word, a unit or an ordinal makes them clear; "one" does not count as a pronoun.
    """
    tokens = [token for token in scan(simplify(normalise(text))) if token != "-"]  # noqa: S105 - twenty-five
    return tuple(token for token in chinese_numbers(english_numbers(tokens)) if is_number(token))


_LATIN = "A-Za-zÀ-ÖØ-öø-ɏḀ-ỿ"
_LATIN_WORD = re.compile(rf"[{_LATIN}]+(?:['’][{_LATIN}]+)*")


@cache
def _sentence_start() -> re.Pattern[str]:
    return re.compile(r"(?:^|(?<!\bDr)(?<!\bMr)(?<!\bMs)(?<!\bSt)(?<!\bMrs)[.!?:;…。！？\n])[\s\"'“”‘’«»(\[*_\-•>#]*$")


_NO_NAMES = word_set(
    "monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september"
    " october november december mon tue wed thu fri sat sun jan feb mar apr jun jul aug sep sept oct nov dec ok okay am pm"
    " tv pc id ceo cto faq asap fyi eta diy mr mrs ms dr user users agent assistant however yesterday"
    " today tomorrow tonight recently currently finally sometimes usually later i'm i'd i've i'll im"
)
_PREDICATES = word_set(
    "is was has had will can lives lived works worked likes liked loves loved hates prefers preferred manages managed owns"
    " moved said says wants wanted needs needed uses used plays played married joined left became got knows met told asked"
    " bought sold runs ran leads led teaches studies speaks drives eats drinks and or"
)
_GERMAN = word_set("der das und ist nicht ein eine einen mit für auf den dem sich hat wird ich wir")


def names(text: str) -> frozenset[str]:
    """Return the proper names of a text in Latin script, one word each, case folded as `normalise` does.

    The first word of a sentence counts only where another name, a possessive or a plain predicate follows, since any
    word may stand there; all nouns of a German sentence are capitalised, so that there only odd capitals count.
    """
    words = list(_LATIN_WORD.finditer(unicodedata.normalize("NFC", repair(text))))
    folded = [normalise(word[0]) for word in words]
    german = len(_GERMAN & set(folded)) > 1
    found: set[str] = set()
    for at, word in enumerate(words):
        name = folded[at].removesuffix("'s")
        if not _looks_like_a_name(word[0], odd=german) or name in _NO_NAMES or name in ENGLISH:
            continue
        if _sentence_start().search(word.string, max(0, word.start() - 12), word.start()) and not word[0][1:].isupper():
            beside = at + 1 < len(words) and word.string[word.end() : words[at + 1].start()].isspace()
            following = words[at + 1][0] if beside else ""
            is_named = folded[at].endswith("'s") or following in _PREDICATES or _looks_like_a_name(following, odd=False)
            if not is_named or name.endswith(("ing", "ed")):
                continue
        found.add(name)
    return frozenset(found)


def _looks_like_a_name(word: str, *, odd: bool) -> bool:
    return len(word) > 1 and (any(char.isupper() for char in word[1:]) or (word[0].isupper() and not odd))


def find_span(quote: str, text: str) -> tuple[int, int] | None:
    """Return where the quote stands in the text, as offsets of the text as given, or None. An empty quote stands nowhere.

    Both are compared in normal form without marks of emphasis. Linear in the text.
    """
    needle = quotable(quote)
    if not needle:
        return None
    bare = quote.strip()
    at = text.find(bare)
    if at >= 0 and not extends(text[at + len(bare) : at + len(bare) + 1]):
        return at, at + len(bare)
    if needle not in quotable(text):
        return None
    width = max(_WINDOW_CHARS, 4 * len(quote))
    for begin in range(0, len(text), width):
        end = min(len(text), begin + 2 * width)
        if needle in quotable(text[begin:end]) and not extends(text[end : end + 1]) and not extends(text[begin]):
            span = _located(needle, text[begin:end])
            return span and (begin + span[0], begin + span[1])
    return _located(needle, text)


_WINDOW_CHARS = 4096
"""Where a quote is not verbatim, the text is read in windows first: folding is fast, keeping offsets is not."""


def is_span(quote: str, text: str) -> bool:
    """Whether the quote stands in the text."""
    return find_span(quote, text) is not None


def _located(needle: str, text: str) -> tuple[int, int] | None:
    """The span of a folded needle, found in the text's clusters folded one by one."""
    pieces = clusters(text)
    known: dict[str, str] = {}
    folded: list[str] = []
    blank = True
    for piece in pieces:
        form = known.get(piece)
        if form is None:
            form = known[piece] = quotable(f"a{piece}a")[1:-1]
        if form == " ":
            form, blank = ("" if blank else " "), True
        elif form:
            blank = False
        folded.append(form)
    at = "".join(folded).find(needle)
    if at < 0:
        return None
    ends = list(accumulate(map(len, folded)))
    first, last = _covering(ends, at), _covering(ends, at + len(needle) - 1)
    starts = [0, *accumulate(len(piece) for piece in pieces[: last + 1])]
    return starts[first], starts[last + 1]


def _covering(ends: Sequence[int], at: int) -> int:
    from bisect import bisect_right  # noqa: PLC0415 - only where a quote is not verbatim

    return bisect_right(ends, at)


@cache
def _wide() -> re.Pattern[str]:
    return re.compile(rf"[{HAN}{KANA}{HANGUL}\u3000-\u3003\u3008-\u3020\u302a-\u3030\u30fb\uff01-\uff65]+")


def estimate_tokens(text: str) -> int:
    """Return about how many tokens a model reads, never too few for Chinese, Japanese and Korean.

    One a character there, one for four ASCII characters, one for two bytes of any other script.
    """
    if text.isascii():
        return (len(text) + 3) // 4
    narrow = _wide().sub("", text)
    ascii_chars = len(narrow.encode("ascii", "ignore"))
    other_bytes = len(narrow.encode("utf-8", "surrogatepass")) - ascii_chars
    return len(text) - len(narrow) + (ascii_chars + 3) // 4 + (other_bytes + 1) // 2


_BROKEN = re.compile("[\x00\ud800-\udfff]")


def repair(text: str) -> str:
    """Return the text with what no store or wire can carry, NUL and lone surrogates, as U+FFFD. Pairs are joined."""
    if not _BROKEN.search(text):
        return text
    return text.replace("\x00", "\ufffd").encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
