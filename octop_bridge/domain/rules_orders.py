"""What an English clause asks of the agent for good, takes back, or asks to be reminded of."""

import re

from msgspec.structs import replace

from octop_bridge.domain import rules_words as words
from octop_bridge.domain.reading import Rule, claim, vague, value_of
from octop_bridge.domain.records import Subject
from octop_bridge.domain.stated import Stated
from octop_bridge.domain.third_person import third_person

_AGENT = Subject("agent", "Agent")
_LANGUAGES = (
    "english|german|french|spanish|italian|portuguese|dutch|polish|russian|ukrainian|turkish|arabic|hindi|chinese|mandarin|"
    "cantonese|japanese|korean|vietnamese|thai|swedish|norwegian|danish|finnish|greek|czech|hungarian|romanian|hebrew"
)
_IN_LANGUAGE = re.compile(
    rf"\b(?:answer|reply|respond|write|speak|talk)\b.{{0,20}}? in ({_LANGUAGES})\b", re.IGNORECASE
)
_FORM = "short|brief|plain|simple|bullet|concise|full|complete|formal|informal|one sentence|two sentences|a few words|lower ?case"
_POLITE = re.compile(
    r"^(?:please |you (?:should|must|need to|have to|can) |I(?:'d like| want| need| would like) you to )+",
    re.IGNORECASE,
)
_NOT = re.compile(r"^(?:don't|do not)(?: ever)? ", re.IGNORECASE)
_YOU = tuple(
    (re.compile(pattern, re.IGNORECASE), its)
    for pattern, its in (
        (r"\byours?\b", "its"),
        (r"\byourself\b", "itself"),
        (r"\byou(?:'re| are)\b", "it is"),
        (r"\byou\b", "it"),
    )
)
_VERB = re.compile(
    r"(?:always |never |only |don't |do not |ever |please |you (?:should|must|can) |I(?:'d like| want) you to )*(\w+)",
    re.IGNORECASE,
)
_SAYING = re.compile(
    r"(?:never|always|don't ever) (?:say (?:never|die)|give (?:up|in)|stop (?:believ|dream|try|learn|be)\w*|be (?:yourself|afraid|proud|too)|"
    r"do (?:what|that)|make it)",
    re.IGNORECASE,
)
_NO_NAME = re.compile(
    r"(?:back|later|when|if|crazy|at|on|a|an|the|old|maybe|in|tomorrow|again|anytime|names?|every|whatever|to|and|for|about|now|soon)\b",
    re.IGNORECASE,
)


def _told(rest: str, name: str) -> str:
    """What the agent is told, in the third person."""
    rest = _POLITE.sub("", rest)
    rest = _NOT.sub(lambda match: "never " if "ever" in match[0].lower() else "not ", rest)
    rest = third_person(rest[:1].lower() + rest[1:], name)
    for pattern, its in _YOU:
        rest = pattern.sub(its, rest)
    return rest


def _instruct(
    match: re.Match[str], name: str, lead: str = "", slot: str | None = None, value: str | None = None
) -> Stated | None:
    return claim(
        match,
        name,
        "Instruction",
        subject=_AGENT,
        slot=slot,
        value=value,
        importance="high",
        time="none",
        assertion=f"{lead}the agent should {_told(match['obj'], name)}",
    )


def _standing(match: re.Match[str], name: str, lead: str = "") -> Stated | None:
    """An order for good, where its verb is one that an assistant can follow."""
    told = match["obj"]
    verb = _VERB.match(told)
    if verb is None or verb[1].lower() not in words.AGENT_VERBS or _SAYING.match(told) or ":" in told:
        return None
    language = _IN_LANGUAGE.search(told)
    return _instruct(match, name, lead, "answer_language" if language else None, language[1] if language else None)


def _from_now_on(match: re.Match[str], name: str) -> Stated | None:
    if match["obj"].lower().startswith("no "):
        told = f"From now on the agent should give {match['obj']}"
        return claim(match, name, "Instruction", subject=_AGENT, importance="high", time="none", assertion=told)
    return _standing(match, name, "From now on ")


def _call_me(match: re.Match[str], name: str) -> Stated | None:
    called = match["called"].strip("\"'“”")
    if _NO_NAME.match(called) or len(called.split()) > 3:
        return None
    return _instruct(match, name, slot="form_of_address", value=called)


def _take_back(match: re.Match[str], name: str) -> Stated | None:
    """Something said before is taken back. The whole clause stands in the assertion: it says what."""
    text = match.string
    said = third_person(text, name)
    if text.startswith("I"):
        assertion = said
    elif text[:4].lower() in {"that", "what"}:
        assertion = f"{name} says: {said[:1].lower()}{said[1:]}"
    else:
        assertion = f"{name} asks to {said[:1].lower()}{said[1:]}"
    about = match.groupdict().get("obj")
    return claim(match, name, "Retraction", value=value_of(about) if about else None, assertion=assertion, time="none")


def _remember_to(match: re.Match[str], name: str) -> Stated | None:
    """A reminder, or, where an assistant can do it, an order."""
    what = match["obj"]
    if what.split()[0].lower() in words.AGENT_VERBS:
        return claim(
            match, name, "Instruction", subject=_AGENT, importance="high", confidence="medium", time="none",
            assertion=f"The agent should remember to {_told(what, name)}",
        )  # fmt: skip
    asked = f"{name} wants to be reminded to {third_person(what, name)}"
    found = None if vague(what) else claim(match, name, "Task", value=value_of(what), time="none", assertion=asked)
    return replace(found, addressed=True) if found is not None else None


def _remind(match: re.Match[str], name: str) -> Stated | None:
    asked = f"{name} wants to be reminded {third_person(match['rest'], name)}"
    return claim(match, name, "Task", value=value_of(match["obj"]), time="none", assertion=asked)


def _to_do(match: re.Match[str], name: str) -> Stated | None:
    if vague(match["obj"]):
        return None
    return claim(match, name, "Task", value=match["obj"], time="none", assertion=f"{name} has to do: {match['obj']}")


def _rule(pattern: str, rule: Rule) -> tuple[re.Pattern[str], Rule]:
    return re.compile(pattern, re.IGNORECASE), rule


_SAID = r"what I (?:just )?(?:said|told you|wrote)"
BACK_RULES = (
    _rule(r"I (?:misspoke|mis-spoke)\b[,:.]?\s*(?:about |when I said )?(?P<obj>.*)", _take_back),
    _rule(
        r"I (?:was|am) (?:only |just )?(?:wrong|joking|kidding|mistaken) (?:about|when I said) (?P<obj>.+)", _take_back
    ),
    _rule(r"I was (?:only |just )?(?:joking|kidding)$", _take_back),
    _rule(r"I take (?:that|it) back|I take back (?P<obj>.+)", _take_back),
)
FORGET_RULES = (
    _rule(
        rf"(?:forget|scratch|disregard|strike)(?: about)? (?:that|{_SAID})(?: last (?:bit|part|message|one)| again)?$",
        _take_back,
    ),
    _rule(
        rf"(?:forget|ignore|disregard)(?: about)? (?:that (?=I\b|my\b|we\b|our\b|the\b)|{_SAID} (?:about|earlier|before|on)|"
        r"the (?:thing|part|bit|note) about|I said|I (?:ever )?told you|I mentioned)(?P<obj>.*)",
        _take_back,
    ),
)
THAT_RULES = (
    _rule(
        rf"(?:that|{_SAID}(?: about .+?)?) was (?:all |just |completely |actually |only )?(?:wrong|not true|not right|incorrect|a mistake|"
        r"an error|a lie|a joke|untrue|false)(?P<obj>)$",
        _take_back,
    ),
)
REMEMBER_TO_RULES = (_rule(r"(?:remember|don't forget|do not forget) to (?P<obj>.+)", _remember_to),)
ORDER_RULES = (_rule(r"(?P<obj>(?:don't|do not) ever .+|never .+|always .+)", _standing),)
ANSWER_RULES = (
    _rule(
        rf"(?P<obj>(?:answer|reply|respond|write|speak|talk)(?: to me| me| back)?(?: only| always)? in (?:{_LANGUAGES}|{_FORM})\b.{{0,40}})$",
        _standing,
    ),
    _rule(
        r"(?P<obj>(?:keep|make) (?:your|all) (?:answers?|replies|responses|messages|explanations?|summar(?:y|ies))\b.+)",
        _standing,
    ),
    _rule(
        r"(?P<obj>be (?:more |less )?(?:brief|concise|short|direct|formal|informal|polite|blunt|terse|verbose)\b.*)",
        _standing,
    ),
    _rule(
        r"(?P<obj>stop (?:using|adding|asking|calling|writing|answering|replying|apologi[sz]ing|repeating|suggesting|sending|ending|starting|"
        r"explaining|praising)\b.*)",
        _standing,
    ),
)
CALL_RULES = (_rule(r"(?P<obj>(?:just |you (?:can|may) )?call me (?P<called>.+))", _call_me),)
FROM_NOW_RULES = (
    _rule(
        r"(?:from now on|going forward|in (?:the )?future|from today on(?:wards)?|henceforth|starting now),? (?P<obj>.+)",
        _from_now_on,
    ),
)
REMIND_RULES = (_rule(r"(?:can you |could you )?remind me (?P<rest>(?:to|that|about|of) (?P<obj>.+))", _remind),)
WANT_RULES = (_rule(r"I(?:'d like| want| would like| need) you to (?P<obj>(?:always|never|only|stop) .+)", _standing),)
TODO_RULES = (_rule(r"to-?do:? (?P<obj>.+)", _to_do),)
