"""What an English clause states outright about a thing: "my …", "our …", and what a team names with "the"."""

import re
from typing import Literal

from octop_bridge.domain import rules_words as words
from octop_bridge.domain.reading import Rule, claim, nominal, vague, value_of
from octop_bridge.domain.records import Level, Subject
from octop_bridge.domain.stated import SELF, Stated

_CLOCK = re.compile(
    r"(?:at |to |around |about )?(?:\d{1,2}(?::\d\d| ?[ap]\.?m\b|\.\d\d\b| o'clock|h\d\d)|noon\b|midnight\b)",
    re.IGNORECASE,
)
_MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_DATE = re.compile(
    r"(?:on |in |to |by |from |every )?(?:the )?(?:(?:next |this |every )?(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\d{4}-\d\d|"
    rf"\d{{1,2}}(?:st|nd|rd|th)?(?: of)? (?:{_MONTHS})|(?:{_MONTHS})[a-z]*\b|\d{{1,2}}(?:st|nd|rd|th)\b|tomorrow|next (?:week|month)|"
    r"\d{1,2}\.\d{1,2}\.(?=\s|$|(?:19|20)\d\d\b))",
    re.IGNORECASE,
)
_OF_THE_MOMENT = re.compile(r"(?:parts?|things?|ones?|memor\w+|moments?|pieces?|shots?|ways?|time$)\b")
_AIMS = frozenset(["goal", "dream", "hobby", "hobbies", "passion", "allergy", "allergies", "preference", "specialty"])
_SMALL = re.compile(r"^(?:at|on|in|to|by|from|around|about|due) ")


def _favourite(match: re.Match[str], name: str) -> Stated | None:
    what, value = match["what"].lower(), match["obj"]
    if vague(value.removeprefix("the ")) or _OF_THE_MOMENT.match(what):
        return None
    slot = "favourite_" + re.sub(r"\W+", "_", what).strip("_")
    return claim(match, name, "Preference", value=value_of(value), slot=slot)


def _called(match: re.Match[str], name: str) -> Stated | None:
    kin = match["kin"].lower().replace("-", " ").split()[-1]
    slot = kin if kin in words.ONE_OF_A_KIND else None
    return claim(match, name, "Fact", value=value_of(match["obj"]), slot=slot)


def _kin(match: re.Match[str], name: str) -> Stated | None:
    """What a relative is or does; how they feel just now is nothing to keep."""
    verb, what = match["verb"], match["obj"]
    if vague(what) or (verb in {"is", "are", "isn't"} and not (nominal(what) or re.match(words.STATES, what))):
        return None
    if verb in {"has", "got"} and not words.DURABLE.search(what):
        return None
    who = match.groupdict().get("who")
    kin = match["kin"].lower().split()[-1]
    slot = kin if who is None and verb == "is" and kin in words.ONE_OF_A_KIND and what[0].isupper() else None
    return claim(
        match,
        name,
        "Fact",
        value=value_of(what),
        slot=slot,
        subject=Subject(who, "Person") if who else SELF,
    )


def _mine(match: re.Match[str], name: str) -> Stated | None:
    what, value = match["what"].lower(), match["obj"]
    known = words.ATTRIBUTES.get(what)
    plain = _CLOCK.match(value) or _DATE.match(value)
    if vague(re.sub(r"^(?:to|the) ", "", value)) or (
        not plain and (what in words.FLEETING or what.split()[-1] in words.FLEETING)
    ):
        return None
    if known and known != "job_title" and re.match(r"(?:a|an|the|not|on|in)\b", value):
        return None
    if (known == "phone" and not re.search(r"\d{4}", value)) or (known == "email" and "@" not in value):
        return None
    aim = what.split()[-1] in _AIMS
    if aim and re.search(r" the \w+$|^the ", value):
        return None
    if not (known or plain or aim or nominal(value)) or (known and value.split()[0].lower() in words.VERDICTS):
        return None
    if aim and (what.startswith("prefer") or re.match(r"not\b", value)):
        return claim(match, name, "Preference", value=value_of(value))
    slot = known or (None if aim else re.sub(r"\W+", "_", what).strip("_"))
    weight: Level = "high" if aim and "allerg" in what else "medium"
    return claim(
        match, name, "Fact", value=value_of(value), slot=slot, time="none" if known else "state", importance=weight
    )


def _thing(match: re.Match[str], name: str) -> Stated | None:
    """A thing of the speaker's house or team: when, where or what it is."""
    ours, what, value = match["whose"].lower() == "our", match["what"], match["obj"]
    if vague(value) or (not ours and _head(what) is None) or what.lower() in words.FLEETING:
        return None
    bare = _SMALL.sub("", value)
    slot = _slot_of(what, match["verb"], value, bare, ours=ours)
    if slot is None:
        return None
    time: Literal["state", "none"] = "state" if slot in {"value", "location"} else "none"
    return claim(match, name, "Fact", value=value_of(bare), slot=slot, subject=Subject(what, "Thing"), time=time)


def _head(what: str) -> re.Match[str] | None:
    """Whether the thing is one that a house or a team names and gives a time, a place or a value."""
    return words.EVENT_NOUNS.fullmatch(re.split(r" (?:for|with|of|at|to) ", what)[0])


def _slot_of(what: str, verb: str, value: str, bare: str, *, ours: bool) -> str | None:
    """What is said of the thing; None where it is a feeling or not for keeping."""
    if re.match(r"in (?:\d+|an?|two|three|five|ten) (?:min|hour|day|week)", value):
        return None
    if _CLOCK.match(value) or _CLOCK.match(bare):
        return "time"
    if _DATE.match(value):
        return "date"
    if "moved" in verb or re.match(r"(?:at|in|on) (?:(?:the )?[A-Z\d]|the (?:\w+ )?floor)", value):
        return "location"
    known = (ours or re.search(r"\d", bare) is not None) and _head(what) is not None and len(bare.split()) <= 3
    if nominal(bare) or (known and (re.search(r"\d", bare) or bare.split(maxsplit=1)[0].lower() in words.TOOLS)):
        return "value"
    return None


_IS = (
    r"(?:is|are|isn't|aren't|will be)(?: not)?(?: (?:now|still|currently|actually|always|also|usually|set to|called|named|located|"
    r"due|scheduled for|set for|only|just))*"
)
_MOVES = (
    r"(?:(?:has|have|is|was|got|been|being) )*(?:just )?(?:moved|changed|shifted|postponed|rescheduled|pushed|brought forward|renamed|switched)"
    r"(?: back)?(?: from [^,]{1,40}?)? to"
)
_RUNS = r"(?:starts|ends|begins|takes place|happens|costs|runs|lives|uses|opens|closes|expires|listens|leaves|departs|lasts)"
_DOES = r"is|isn't|lives|works|has|plays|studies|teaches|runs|owns|loves|hates|likes|prefers|speaks|doesn't|moved|got"
_WHAT = r"(?P<what>[\w'-]+(?: [\w'-]+){0,4}?)"
_FAVOURITE = (
    rf"[Mm]y (?:all-time |absolute |personal )?favou?rite {_WHAT}(?: (?:is|are|has always been|have always been)| is still|'s)"
    r"(?: not)? (?P<obj>.+)"
)


def _moved_thing(match: re.Match[str], name: str) -> Stated | None:
    """A thing that the speaker's team moved or has at a time."""
    bare = _SMALL.sub("", match["obj"])
    slot = _slot_of(match["what"], "is", match["obj"], bare, ours=True)
    if slot not in {"time", "date"} or vague(match["what"]):
        return None
    return claim(
        match, name, "Fact", value=value_of(bare), slot=slot, subject=Subject(match["what"], "Thing"), time="none"
    )


def _rule(pattern: str, rule: Rule) -> tuple[re.Pattern[str], Rule]:
    return re.compile(pattern), rule


MY_RULES = (
    _rule(_FAVOURITE, _favourite),
    _rule(rf"[Mm]y (?P<kin>{words.KIN})(?:'s name is| is (?:called|named)) (?P<obj>[A-Z].+)", _called),
    _rule(rf"[Mm]y (?P<kin>{words.KIN}),? (?P<who>[A-Z][a-z]+),? (?P<verb>{_DOES}) (?P<obj>.+)", _kin),
    _rule(rf"[Mm]y (?P<kin>{words.KIN}) (?P<verb>{_DOES}) (?P<obj>.+)", _kin),
    _rule(rf"[Mm]y {_WHAT} (?P<verb>{_IS}|{_MOVES}|{_RUNS})(?: (?:at|on|in|around))? (?P<obj>.+)", _mine),
)
WE_RULES = (
    _rule(
        rf"[Ww]e(?:'ve| have)? ?(?:just )?(?:moved|shifted|pushed|rescheduled|postponed|changed) (?:the|our) {_WHAT} (?:from .{{1,40}}? )?"
        r"(?P<obj>(?:to|until) .+)",
        _moved_thing,
    ),
    _rule(rf"[Ww]e have (?:a|our|the) {_WHAT} (?P<obj>(?:at|on|every) .+)", _moved_thing),
)
THING_RULES = (_rule(rf"(?P<whose>[Oo]ur|[Tt]he) {_WHAT} (?P<verb>{_MOVES}|{_IS}|{_RUNS}) (?P<obj>.+)", _thing),)
