"""The stem of a word, by its script: one function for index and query, so that it need not be right, only the same."""

import re
from functools import cache, lru_cache
from importlib import import_module
from typing import Any

try:
    from Stemmer import Stemmer as _Fast
except ImportError:
    # The same algorithms in Python: the same stems, twenty times slower.
    _Fast = None

_IRREGULAR_FORMS = """
be am is are was were been being|have has had|do does did done|go goes went gone|buy bought|bring brought|think thought
teach taught|catch caught|fight fought|seek sought|make made|take took taken|give gave given|get got gotten|come came
become became|run ran|begin began begun|drink drank drunk|sing sang sung|swim swam swum|ring rang rung|eat ate eaten
see saw seen|say said|pay paid|tell told|sell sold|hold held|send sent|spend spent|lend lent|build built|bend bent
keep kept|sleep slept|feel felt|meet met|mean meant|deal dealt|dream dreamt|learn learnt|leave left|lose lost|find found
know knew known|grow grew grown|throw threw thrown|fly flew flown|draw drew drawn|show shown|write wrote written
drive drove driven|ride rode ridden|speak spoke spoken|break broke broken|choose chose chosen|steal stole stolen
wake woke woken|wear wore worn|forget forgot forgotten|hide hid hidden|bite bit bitten|fall fell fallen|sit sat
stand stood|understand understood|win won|hear heard|shoot shot|light lit|lead led|feed fed|breed bred
forbid forbade forbidden|forgive forgave forgiven|shake shook shaken|freeze froze frozen|hang hung|dig dug|stick stuck
strike struck|swear swore sworn|tear tore torn|blow blew blown|rise rose risen|arise arose arisen|burn burnt|sink sank
child children|man men|woman women|person people|foot feet|tooth teeth|mouse mice|goose geese|wife wives|knife knives
half halves|shelf shelves|wolf wolves|die died dies dying|lie lied lying|tie tied tying|sky skies
"""


_OWN_WORDS = frozenset(("left", "rose", "bit", "lit"))
"""Forms that are more often another word."""


@cache
def _bases() -> dict[str, str]:
    rows = _IRREGULAR_FORMS.strip().replace("\n", "|").split("|")
    table = {form: row.split()[0] for row in rows for form in row.split()[1:]}
    return {form: base for form, base in table.items() if form not in _OWN_WORDS}


def irregular_forms(stemmed: str) -> list[str]:
    """Return the irregular English forms that have this stem."""
    return _forms().get(stemmed, [])


@cache
def _forms() -> dict[str, list[str]]:
    forms: dict[str, list[str]] = {}
    for form, base in _bases().items():
        forms.setdefault(stem(base), []).append(form)
    return forms


_NOT_ARABIC = re.compile("[\u0679-\u06d3]")
"""Letters of Persian, Urdu and their neighbours."""
_STEMMERS = (
    ("\u0370", "\u03ff", "greek", "GreekStemmer"),
    ("\u0400", "\u04ff", "russian", "RussianStemmer"),
    ("\u0531", "\u058f", "armenian", "ArmenianStemmer"),
    ("\u0600", "\u06ff", "arabic", "ArabicStemmer"),
    ("\u0900", "\u097f", "hindi", "HindiStemmer"),
    ("\u0b80", "\u0bff", "tamil", "TamilStemmer"),
)


@lru_cache(maxsize=32_768)
def stem(word: str) -> str:
    """Return the stem of a case-folded word. ASCII words are stemmed as English, whatever they are.

    A stemmer keeps state, so every miss makes its own: this runs on several threads.
    """
    if word.isascii():
        if len(word) < 3:
            return word
        return _stemmed("english", "EnglishStemmer", _bases().get(word, word))
    for first, last, language, name in _STEMMERS:
        if first <= word[0] <= last:
            return word if language == "arabic" and _NOT_ARABIC.search(word) else _stemmed(language, name, word)
    return word


def _stemmed(language: str, name: str, word: str) -> str:
    if _Fast is not None:
        return str(_Fast(language).stemWord(word)) or word
    module: Any = import_module(f"snowballstemmer.{language}_stemmer")
    return str(getattr(module, name)().stemWord(word)) or word
