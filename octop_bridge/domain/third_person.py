"""A clause about "I" and "we", retold about a named person: only pronouns and the verbs after them change.

Nothing else is touched, so that numbers, names and negations of the clause stand in the result as they were said.
"""

import re

_UNCHANGED = frozenset(
    [
        *(
            "was",
            "had",
            "did",
            "will",
            "would",
            "can",
            "could",
            "may",
            "might",
            "must",
            "should",
            "shall",
            "cannot",
            "ain't",
        ),
        *(
            "went",
            "came",
            "saw",
            "met",
            "got",
            "bought",
            "sold",
            "left",
            "began",
            "became",
            "flew",
            "took",
            "made",
            "gave",
        ),
        *(
            "found",
            "lost",
            "won",
            "ran",
            "ate",
            "told",
            "said",
            "broke",
            "wrote",
            "spent",
            "built",
            "felt",
            "grew",
            "taught",
        ),
        *(
            "drove",
            "kept",
            "knew",
            "led",
            "heard",
            "held",
            "brought",
            "thought",
            "caught",
            "chose",
            "drank",
            "fell",
            "forgot",
        ),
        *(
            "paid",
            "rode",
            "sang",
            "sat",
            "sent",
            "shot",
            "slept",
            "spoke",
            "stood",
            "swam",
            "threw",
            "woke",
            "wore",
            "meant",
        ),
        *("misspoke", "used to"),
    ]
)
_IRREGULAR = {
    "am": "is",
    "have": "has",
    "do": "does",
    "go": "goes",
    "don't": "doesn't",
    "dont": "doesn't",
    "haven't": "hasn't",
    "were": "was",
    "weren't": "wasn't",
}
_ED_PRESENT = frozenset(["need", "feed", "breed", "bleed", "speed", "embed", "seed", "proceed", "exceed", "succeed"])
_ADVERB = (
    r"(?:also|always|never|still|just|now|currently|usually|normally|mostly|mainly|really|actually|often|sometimes|rarely|"
    r"only|both|already|recently|finally|even|no longer|generally|personally|typically|[a-z]{3,}ly)"
)
_FIRST = re.compile(
    rf"\b(?:(?P<short>[Ii]['’](?:m|ve|ll|d|re)|I(?:m|ve)\b)|[Ii](?![\w'’/.]|-\w)(?: (?P<adverbs>{_ADVERB}(?: {_ADVERB})*))?(?: (?P<verb>[A-Za-z]+(?:['’]t)?))?)",
)
_SHORT = {"m": "is", "ve": "has", "ll": "will", "d": "would", "re": "are"}
_JOINED = re.compile(
    r"(?P<and>,? (?:and|but|or) (?:also |then )?)(?P<verb>don't|do not|prefer|hate|dislike|love|own|live|work|use|run|write|play|"
    r"teach|drive|speak|commute|sail)\b(?! (?:of|in common|life|hard)\b)"
)
_OTHERS = re.compile(
    r"\b(?:(?P<my>[Mm]y(?: own)?|MY)|(?P<mine>[Mm]ine)|(?P<me>[Mm]e)|(?P<myself>[Mm]yself)|(?P<our>[Oo]ur)|(?P<ours>[Oo]urs)|"
    r"(?P<us>us)|(?P<ourselves>[Oo]urselves)|(?P<we>[Ww]e(?:['’](?:re|ve|ll|d))?))(?![\w-])"
)
_WE = {"re": " are", "ve": " have", "ll": " will", "d": " would"}


def third_person(clause: str, name: str) -> str:
    """The clause with the speaker called by that name; "we" becomes the name "and others", later "they"."""
    text, present = clause.replace("’", "'"), False

    def first(match: re.Match[str]) -> str:
        nonlocal present
        if match["short"]:
            return f"{name} {_SHORT[match['short'][1:].lstrip(chr(39))]}"
        verb = match["verb"]
        if verb is None:
            return name + (f" {match['adverbs']}" if match["adverbs"] else "")
        changed = conjugated(verb)
        present = present or (changed != verb and verb not in {"am", "have"})
        return " ".join(part for part in (name, match["adverbs"], changed) if part)

    text = _FIRST.sub(first, text)
    if present and " to " not in text:
        text = _JOINED.sub(lambda match: match["and"] + conjugated(match["verb"]), text)
    return _OTHERS.sub(lambda match: _other(match, name), text)


def conjugated(verb: str) -> str:
    """The third person singular of a verb as it stands after "I"; past forms and modals stay."""
    lower = verb.lower()
    if lower in _IRREGULAR:
        return _IRREGULAR[lower]
    if lower.startswith("do not"):
        return "does not"
    past = lower.endswith("ed") and lower not in _ED_PRESENT
    if lower in _UNCHANGED or past or lower.endswith(("n't", "n’t")):
        return verb
    if lower.endswith(("s", "sh", "ch", "x", "z")):
        return verb + "es"
    if lower.endswith("y") and lower[-2:-1] not in set("aeiou"):
        return verb[:-1] + "ies"
    return verb + "s"


def _other(match: re.Match[str], name: str) -> str:
    kind, starts = match.lastgroup, match.start() == 0
    if kind == "my":
        return f"{name}'s own" if "own" in match[0] else f"{name}'s"
    if kind == "we":
        short = match[0].replace("’", "'").partition("'")[2]
        return (f"{name} and others" if starts else "they") + _WE.get(short, "")
    if kind == "our":
        return "The" if starts else "their"
    return {"mine": f"{name}'s", "me": name, "myself": "themselves", "ours": "theirs", "us": "them"}.get(
        kind or "", "themselves"
    )
