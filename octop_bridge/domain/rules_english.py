"""What an English clause states outright: filler stripped, then the rules for its first word."""

import re

from msgspec.structs import replace

from octop_bridge.domain import rules_orders, rules_self, rules_things
from octop_bridge.domain.reading import Rule, claim, vague
from octop_bridge.domain.records import Subject
from octop_bridge.domain.stated import SELF, Stated
from octop_bridge.domain.third_person import third_person

_LEAD = re.compile(
    r"(?:[\s\"'(\[*•_~#–—-]|\d{1,2}[.)]\s)*"
    r"(?:(?:(?:and|but|so|well|oh|okay|ok|also|btw|by the way|honestly|frankly|fyi|besides|plus|personally|tbh|hey|hi|hello|wow|thanks|please|"
    r"because|although|though|while|whereas|for the record|for context|just so you know|so you know|just to let you know|to be clear|"
    r"to be honest|fun fact|(?:as|like) I (?:said|mentioned|told you)(?: before)?|as you know|as mentioned|in fact|one more thing|ps|"
    r"quick update|update|unfortunately|luckily|sadly|hmm|haha|good news|personal note|kindly|of course)[,:!.]*"
    r"|(?:no|yes|yeah|yep|nope|sure|right|great|cool|thank you|anyway|note|(?:hey|hi|hello|thanks|thank you),? [A-Z]\w+)[,:!.]+)\s+)*",
    re.IGNORECASE,
)
_SIGNAL = re.compile(r"(?:(?:actually|correction|sorry)[,:]?\s+)+", re.IGNORECASE)
_WHEN = re.compile(
    r"(?:now|currently|nowadays|these days|at the moment|right now|"
    r"(?:since|as of|from|starting|until|last|next|this|in|on) (?:[\w-]+ ){0,2}?[\w-]+|yesterday|today|tomorrow),?\s+(?=(?:I|we|our|my|the)\b)",
    re.IGNORECASE,
)
_PUNCTUATION = ' \t.,;:!…)]*_~"”-'
_LAST_WORDS = re.compile(
    r"[\s,]+(?:too|as well|though|btw|by the way|anyway|haha+|hehe|please|you know|of course|obviously|thanks|thank you|for sure|"
    r"to be honest|tbh|ok|okay|right|either|:D|<3)$",
    re.IGNORECASE,
)
_WORD = re.compile(r"[A-Za-z]*")
_THING = re.compile(
    r"(?:the|our|a|an) ((?:[\w'-]+ ){0,3}?[\w'-]+) (?:is|are|was|has|have|lives?|needs?|must|can|goes|costs)\b",
    re.IGNORECASE,
)


def read(clause: str, name: str) -> Stated | None:
    """What the clause states about its speaker, called `name`, or about a thing; or None."""
    text = clause.replace("’", "'")
    start = _end(_LEAD, text, 0)
    spoken = _end(_SIGNAL, text, start)
    at = _end(_WHEN, text, spoken)
    core = text[at : _tail(text)]
    if core.startswith(("i ", "i'", "im ", "ive ")):
        core = "I" + core[1:]
    if not 6 <= len(core) <= 400 or "[redacted:" in core:
        return None
    found = _first(core, name)
    if found is None:
        return None
    assertion = third_person(text[spoken:at], name) + found.assertion if at > spoken else found.assertion
    begin = at + found.start if found.start else start
    return replace(found, start=begin, end=at + found.end, assertion=assertion[:1].upper() + assertion[1:])


def _tail(text: str) -> int:
    """Where a clause ends before its punctuation and its last filler."""
    end = len(text.rstrip(_PUNCTUATION))
    while (filler := _LAST_WORDS.search(text, max(0, end - 20), end)) is not None:
        end = len(text[: filler.start()].rstrip(_PUNCTUATION))
    return end


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at


def _first(core: str, name: str) -> Stated | None:
    """What the first rule for the clause's first word reads."""
    word = _WORD.match(core)
    for pattern, rule in _RULES.get(word[0].lower() if word else "", rules_self.NAMED_RULES):
        match = pattern.match(core)
        found = rule(match, name) if match else None
        if found is not None:
            return found
    return None


def _remember(match: re.Match[str], name: str) -> Stated | None:
    """What is asked to be remembered: by its own rule, else as it is said. A mere "note that" is often about code."""
    begin, rest = match.start("obj"), match["obj"]
    known = _first(rest, name) if len(rest) >= 6 else None
    if known is not None:
        return replace(known, start=begin, end=begin + known.end, confidence="high")
    firmly = match["firmly"] or re.match(r"(?:I|my|our|we)\b", rest) is not None
    if not firmly or vague(rest) or re.match(r"(?:when|how|the time|to|[a-zA-HJ-Z])\b", rest):
        return None
    thing = _THING.match(rest)
    subject = Subject(thing[1], "Thing") if thing is not None else SELF
    found = claim(match, name, "Fact", assertion=third_person(rest, name), subject=subject)
    return replace(found, start=begin, addressed=True) if found is not None else None


_MEMORY_RULES: tuple[tuple[re.Pattern[str], Rule], ...] = (
    (
        re.compile(
            r"(?:(?P<firmly>remember|memori[sz]e|don't forget|do not forget)|note|keep in mind|bear in mind|make a note|take note)"
            r"(?: for (?:me|later|the future|next time))?(?:,? that|:|,|(?= (?:my|our|I|I'm|we)\b)) (?P<obj>.+)",
            re.IGNORECASE,
        ),
        _remember,
    ),
    *rules_orders.REMEMBER_TO_RULES,
)
_RULES: dict[str, tuple[tuple[re.Pattern[str], Rule], ...]] = {
    "i": (*rules_orders.BACK_RULES, *rules_orders.WANT_RULES, *rules_self.I_RULES),
    "we": (*rules_things.WE_RULES, *rules_self.WE_RULES),
    "my": rules_things.MY_RULES,
    **dict.fromkeys(("im", "ive"), rules_self.I_RULES),
    **dict.fromkeys(("our", "the"), rules_things.THING_RULES),
    **dict.fromkeys(("that", "what"), rules_orders.THAT_RULES),
    **dict.fromkeys(("remember", "note", "memorise", "memorize", "take", "bear"), _MEMORY_RULES),
    **dict.fromkeys(("don", "do"), (*rules_orders.ORDER_RULES, *_MEMORY_RULES)),
    **dict.fromkeys(("never", "always"), rules_orders.ORDER_RULES),
    **dict.fromkeys(("from", "going", "in", "henceforth", "starting"), rules_orders.FROM_NOW_RULES),
    **dict.fromkeys(("call", "just", "you"), rules_orders.CALL_RULES),
    **dict.fromkeys(("answer", "reply", "respond", "write", "speak", "talk", "be", "stop"), rules_orders.ANSWER_RULES),
    **dict.fromkeys(("keep", "make"), (*rules_orders.ANSWER_RULES, *_MEMORY_RULES)),
    **dict.fromkeys(("forget", "scratch", "ignore", "disregard", "strike"), rules_orders.FORGET_RULES),
    "remind": rules_orders.REMIND_RULES,
    **dict.fromkeys(("todo", "to"), rules_orders.TODO_RULES),
}
"""Rules by the first word of a clause; every other word may be a name."""
