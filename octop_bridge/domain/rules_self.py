"""What an English clause states outright about its speaker, by rules anchored at the clause's first word.

Order matters: the first rule that reads something wins. What a rule cannot understand outside of its conversation
("I love that", "I use it") it leaves.
"""

import re

from octop_bridge.domain import rules_words as words
from octop_bridge.domain.reading import Rule, claim, place_of, vague, value_of
from octop_bridge.domain.records import Subject
from octop_bridge.domain.stated import Stated
from octop_bridge.domain.third_person import conjugated

_ADV = (
    r"(?:(?:really|also|just|still|currently|now|usually|normally|mostly|absolutely|generally|personally|actually|mainly|definitely|"
    r"typically|do|often|especially|simply|certainly|truly|totally|recently|finally|always|only|both|even|genuinely|originally) )*"
)
_NEG = r"(?P<neg>don't (?:really )?|do not |dont |no longer |never |cannot |can't )?"
_BE = rf"I(?:'m| am|m) {_ADV}(?P<neg>not |no longer )?{_ADV}"
_PAST = (
    "went|came|saw|met|got|bought|sold|left|began|became|flew|took|made|gave|found|lost|won|ran|ate|broke|wrote|spent|built|taught|"
    "drove|led|held|caught|paid|rode|sang|shot|swam|threw|had|did|hiked|visited|attended|finished|started|signed|passed|failed|"
    "adopted|painted|played|joined|celebrated|applied|launched|released|submitted|deployed|interviewed|travelled|traveled|"
    "presented|organised|organized|hosted|volunteered|graduated|retired|married|quit|resigned|repaired|replaced|installed|"
    "upgraded|migrated|moved|ordered|received|planted|cooked|baked|ran|performed|recorded|published|donated|competed|camped"
)
_DOING = (
    "going to|flying|travelling|traveling|driving to|visiting|starting|having|getting|meeting|running|leaving|presenting|hosting|"
    "performing|attending|seeing|taking|speaking at|moving"
)

_RELATIVE = re.compile(r"\b(?:that|which)\b")
_AFTER_NOUN = re.compile(r" (?:who|with|for|from|in|on|at|to|and|of|named|called) |,")
_PASSING = re.compile(
    r"\b(?:interview|show|race|food|park|shelter|idea|offer|question|trip|ride|lesson|problem|issue)\b"
)
_PARTICLE = re.compile(r"(?:\w+ing|to|into|up|out|along|off|on|down|away)\b")
_DISTANCE = re.compile(r"(?:a|an|my|our|every|half|[\d.]+|two|three|five|ten|marathons?)\b")
_DECIDED = re.compile(
    r"(?:(?:decided|agreed|voted|concluded|opted|chose|chosen|picked|settled on) )?(?:(?:to|that|on|for) )?"
)
_OVER = re.compile(r" (?:over|rather than|instead of|more than|better than|to(?= (?!\w+ing)[\w-]+$)) ?")
_TROUBLE = re.compile(
    r"\b(?:errors?|exceptions?|bugs?|tracebacks?|warnings?|issues?|trouble|problems?|crash(?:es)?|config|file)\b"
)


def _lives(match: re.Match[str], name: str) -> Stated | None:
    where, what = match["where"], match["obj"]
    if where not in {"alone", "together"} and vague(what):
        return None
    place = place_of(what) if where == "in" else None
    return claim(match, name, "Fact", value=place or value_of(what) or where, slot="home_city" if place else None)


def _moved(match: re.Match[str], name: str) -> Stated | None:
    place = place_of(match["obj"])
    if place is None or place.split()[0].lower() in words.TOOLS:
        return _switched(match, name)
    return claim(match, name, "Fact", value=place, slot="home_city", time="change")


def _comes_from(match: re.Match[str], name: str) -> Stated | None:
    return claim(match, name, "Fact", value=place_of(match["obj"]) or value_of(match["obj"]), slot="home_town")


def _works(match: re.Match[str], name: str) -> Stated | None:
    how, what = match["how"], match["obj"]
    if how in {"at", "for", "as", "in", "on", "with", "from"} and vague(what):
        return None
    value = value_of(re.sub(r"^(?:a|an|the) ", "", what)) or how
    if how in {"at", "for"}:
        employer = None if what.startswith(("a ", "an ", "my ")) else place_of(what) or value
        return claim(match, name, "Fact", value=employer or value, slot="employer" if employer else None)
    if how == "as":
        return claim(match, name, "Fact", value=re.split(r" (?:at|for|in|with) ", value)[0], slot="job_title")
    return claim(match, name, "Fact", value=value, confidence="high" if how in {"in", "from"} else "medium")


def _switched(match: re.Match[str], name: str) -> Stated | None:
    if vague(match["obj"]) or match["obj"].startswith("the "):
        return None
    return claim(match, name, "Fact", value=value_of(match["obj"]), time="change")


def _absent(match: re.Match[str], name: str) -> Stated | None:
    """Where one is for a while: worth keeping with its time alone."""
    return claim(match, name, "Fact", importance="low", confidence="medium", time="event")


def _joined(match: re.Match[str], name: str) -> Stated | None:
    if vague(match["obj"]):
        return None
    employer = place_of(match["obj"])
    return claim(
        match,
        name,
        "Fact",
        value=employer or value_of(match["obj"]),
        slot="employer" if employer else None,
        time="change",
    )


def _allergic(match: re.Match[str], name: str) -> Stated | None:
    if vague(match["obj"]):
        return None
    return claim(
        match,
        name,
        "Fact",
        value=value_of(match["obj"]),
        importance="medium" if match.group(0).startswith(("I don", "I do ", "I never")) else "high",
    )


def _diet(match: re.Match[str], name: str) -> Stated | None:
    return claim(match, name, "Fact", value=match["obj"].removeprefix("a "), slot="diet", importance="high")


def _occupation(match: re.Match[str], name: str) -> Stated | None:
    return claim(match, name, "Fact", value=match["obj"], slot="job_title")


def _fact(match: re.Match[str], name: str) -> Stated | None:
    return None if vague(match["obj"]) else claim(match, name, "Fact", value=value_of(match["obj"]))


def _likely(match: re.Match[str], name: str) -> Stated | None:
    if vague(match["obj"]):
        return None
    return claim(match, name, "Fact", value=value_of(match["obj"]), confidence="medium")


def _prefers(match: re.Match[str], name: str) -> Stated | None:
    if match["verb"] in {"stand", "bear"} and not match["neg"]:
        return None
    what = re.sub(r"^to ", "", match["obj"])
    if vague(match["obj"]) or vague(what):
        return None
    if (
        what.startswith("the ")
        and match["verb"] in {"like", "love", "enjoy", "adore"}
        and not words.GENERIC_THE.match(what)
    ):
        return None
    return claim(match, name, "Preference", value=_OVER.split(value_of(what), maxsplit=1)[0])


def _uses(match: re.Match[str], name: str) -> Stated | None:
    """A tool in habitual use; "to read the file" is about work at hand."""
    if vague(match["obj"]) or re.search(r"\bto \w+ (?:the|a)\b|^(?:for|to|in|on|with)\b", match["obj"]):
        return None
    return claim(match, name, "Fact", value=value_of(match["obj"]))


def _fond(match: re.Match[str], name: str) -> Stated | None:
    if vague(match["obj"]):
        return None
    return claim(match, name, "Preference", value=value_of(match["obj"]))


def _possesses(match: re.Match[str], name: str) -> Stated | None:
    """What one owns, or has for long; "I have a server that returns 500" is about work at hand."""
    what = match["obj"]
    if vague(what) or _RELATIVE.search(what):
        return None
    head = _AFTER_NOUN.split(what, maxsplit=1)[0]
    owned = " own " in match[0][: match.start("obj")]
    if not owned and (words.DURABLE.search(head) is None or _PASSING.search(head)):
        return None
    return claim(match, name, "Fact", value=value_of(re.sub(r"^(?:a|an) ", "", what)))


def _pastime(match: re.Match[str], name: str) -> Stated | None:
    what = match["obj"]
    if vague(what) or _RELATIVE.search(what) or _PARTICLE.match(what):
        return None
    if match["verb"] == "run" and not _DISTANCE.match(what):
        return None
    return claim(match, name, "Fact", value=value_of(what))


def _habit(match: re.Match[str], name: str) -> Stated | None:
    if vague(match["obj"]) or conjugated(match["verb"]) == match["verb"]:
        return None
    return claim(match, name, "Fact", value=value_of(match["obj"]), confidence="medium")


def _event(match: re.Match[str], name: str) -> Stated | None:
    if words.POINTS.search(match.string) or vague(match["obj"]) or _TROUBLE.search(match["obj"]):
        return None
    return claim(match, name, "Event", importance="low", confidence="medium", time="event")


def _born(match: re.Match[str], name: str) -> Stated | None:
    value, dated = value_of(match["obj"]), match["how"] == "on"
    slot = "birthday" if dated else "birth_year" if value[:4].isdigit() else "birthplace"
    return claim(match, name, "Fact", value=value, slot=slot, time="none")


def _task(match: re.Match[str], name: str) -> Stated | None:
    if vague(match["obj"]):
        return None
    return claim(match, name, "Task", value=value_of(match["obj"]), confidence="medium", time="none")


def _decided(match: re.Match[str], name: str) -> Stated | None:
    if vague(match["obj"]):
        return None
    value = _DECIDED.sub("", match["obj"], count=1)
    if vague(re.sub(r"^not (?:to )?", "", value)):
        return None
    return claim(match, name, "Decision", value=value, importance="high", time="none")


def _age(match: re.Match[str], name: str) -> Stated | None:
    return claim(match, name, "Fact", value=match["obj"], slot="age")


def _favourite_named(match: re.Match[str], name: str) -> Stated | None:
    slot = "favourite_" + "_".join(match["what"].lower().split())
    return claim(match, name, "Preference", value=value_of(match["obj"]), slot=slot)


def _relative_named(match: re.Match[str], name: str) -> Stated | None:
    return claim(match, name, "Fact", value=match["kin"], subject=Subject(match["who"], "Person"))


def _rule(pattern: str, rule: Rule) -> tuple[re.Pattern[str], Rule]:
    return re.compile(pattern), rule


I_RULES = (
    _rule(
        rf"I {_ADV}{_NEG}live (?P<where>in|at|near|on|with|by|outside|between|together|alone)\b ?(?P<obj>.*)", _lives
    ),
    _rule(r"I(?:'ve| have) (?:been living|lived) (?P<where>in) (?P<obj>.+)", _lives),
    _rule(rf"{_BE}(?:living|based|located) (?P<where>in) (?P<obj>.+)", _lives),
    _rule(
        r"I(?:'ve| have)? ?(?:just |recently |finally )?(?:moved|relocated) (?:back )?(?:from [^,]{2,40}? )?to (?P<obj>.+)",
        _moved,
    ),
    _rule(rf"{_BE}(?:moving|relocating) (?:back )?(?:from [^,]{{2,40}}? )?to (?P<obj>[A-Z].+)", _likely),
    _rule(rf"(?:{_BE}|I {_ADV}(?:come|hail) )from (?P<obj>[A-Z].+)", _comes_from),
    _rule(r"I grew up (?:in|on|near|with) (?P<obj>.+)", _fact),
    _rule(
        rf"I {_ADV}{_NEG}work (?P<how>at|for|as|in|on|from|with|remotely|part-time|full-time|freelance|nights|night shifts|weekends)\b ?(?P<obj>.*)",
        _works,
    ),
    _rule(rf"{_BE}working (?P<how>at|for|as) (?P<obj>.+)", _works),
    _rule(
        r"I(?:'ve| have)? ?(?:just |recently )?(?:started (?:working|a (?:new )?(?:job|position|role)) (?:at|for|with)|joined) (?P<obj>.+)",
        _joined,
    ),
    _rule(rf"{_BE}(?:\w+ly |very )?(?:allergic|intolerant) to (?P<obj>.+)", _allergic),
    _rule(rf"{_BE}(?P<obj>(?:lactose|gluten|fructose|histamine)[ -]intolerant)\b", _allergic),
    _rule(r"I (?P<neg>can't|cannot|can not|don't|do not|never) (?:eat|drink|tolerate) (?P<obj>.+)", _allergic),
    _rule(rf"{_BE}(?P<obj>{words.DIETS})(?=$|,| (?:and|but|since|now|for|so|who|because))", _diet),
    _rule(rf"{_BE}(?P<obj>{words.STATES})(?=$|,| (?:and|but|since|now|for|so|with))", _fact),
    _rule(rf"{_BE}(?P<obj>\d{{1,2}})(?: years? old)?$", _age),
    _rule(
        rf"{_BE}(?:a|an) (?P<obj>(?:(?!of\b|fan\b)[\w'-]+ ){{0,4}}?{words.OCCUPATION.pattern})(?=$|,| (?:at|for|in|with|from|by|working|based|on|and|by)\b)",
        _occupation,
    ),
    _rule(
        rf"{_BE}(?:a )?(?:(?:big|huge|great|massive|lifelong|total) )?(?:fan of|into|keen on|fond of|passionate about) (?P<obj>.+)",
        _fond,
    ),
    _rule(rf"{_BE}(?:afraid|scared|terrified|frightened) of (?P<obj>.+)", _fact),
    _rule(r"I (?:lived|worked|studied) (?P<obj>(?:in|at|for|as|with|near) .+)", _fact),
    _rule(
        r"I(?:'ve| have)? ?(?:just |recently |finally )?(?:switched|changed|migrated|converted) (?:over )?(?:from .{2,40}? )?to (?P<obj>.+)",
        _switched,
    ),
    _rule(
        rf"{_BE}(?P<obj>(?:away|out of (?:the )?office|off work|on (?:leave|holiday|vacation|parental leave|sabbatical|call|a trip)\b.*|in [A-Z]\w+.*))",
        _absent,
    ),
    _rule(r"I was born (?:and raised )?(?P<how>on|in) (?P<obj>.+)", _born),
    _rule(r"I(?:'ve| have) been working (?P<how>at|for|as) (?P<obj>.+)", _works),
    _rule(
        rf"I {_ADV}{_NEG}(?P<verb>prefer|like|love|hate|dislike|enjoy|adore|detest|despise|loathe|stand|bear)(?: (?:eating|drinking|having))? (?P<obj>.+)",
        _prefers,
    ),
    _rule(rf"I {_ADV}{_NEG}use (?P<obj>.+)", _uses),
    _rule(rf"{_BE}using (?P<obj>.+ (?:for|as|with|on) .+)", _likely),
    _rule(
        rf"I(?:'ve got| {_ADV}{_NEG}(?:have got|have|own)) (?P<obj>(?:a|an|one|two|three|four|five|six|several|some|no|my own|\d+) .+)",
        _possesses,
    ),
    _rule(rf"I {_ADV}{_NEG}(?P<verb>own|speak) (?P<obj>.+)", _pastime),
    _rule(
        r"I(?:'ve| have)? ?(?:just |finally |also )?(?:decided|chosen|opted|chose) (?P<obj>(?:to|on|against|not to|that|for) .+)",
        _decided,
    ),
    _rule(r"I used to (?P<obj>(?!be\b|think|say|love|have|get|feel).+)", _fact),
    _rule(
        r"I(?:'ve| have) (?:also |always )?(?=(?:been )?(?P<obj>.+))(?:been (?!thinking|feeling|looking|trying|meaning|waiting|having|seeing|wondering|dealing|going|"
        r"reading|hearing|working|doing|getting|struggling|so|really|really|a bit|there|able|through|super|keeping)(?:\w+ing\b|a\b|an\b|married|vegan|vegetarian)|"
        r"had|worked|played|known|owned|used|practi[sc]ed) .*\b(?:for (?:[\w-]+ ){0,3}(?:years?|months?|weeks?|decades?)|since)\b",
        _fact,
    ),
    _rule(
        rf"{_BE}(?:learning|studying|training for|taking (?=.*(?:class|course|lesson))|writing (?=a|my)|saving (?:up )?for|expecting a) ?(?P<obj>.+)",
        _likely,
    ),
    _rule(rf"I {_ADV}(?:(?:need|have) to|must) (?P<obj>(?:{words.ERRANDS})\b.+)", _task),
    _rule(rf"I {_ADV}(?P<verb>{words.PASTIMES}) (?P<obj>.+)", _pastime),
    _rule(
        r"I (?:always|usually|never|normally|typically) (?P<verb>(?!forget|think|know|get|see|hear|remember|feel|want|like|love|have|had|"
        r"been|be|wonder|wanted|thought|imagined|said|knew|expected|seem|end|try|tell|say|find|found|could|can|will)[a-z]+(?<!ed)) (?P<obj>.+)",
        _habit,
    ),
    _rule(rf"I (?:just |also |finally |recently )?(?:{_PAST}) (?P<obj>.+)", _event),
    _rule(rf"{_BE}(?:{_DOING}) ?(?P<obj>.+)", _event),
)
WE_RULES = (
    _rule(
        r"[Ww]e(?:'ve| have)? ?(?:all |just |finally |also |both )?"
        r"(?P<obj>(?:decided|agreed|voted|concluded|opted) (?:not )?(?:to|that|on|against|for) .+|(?:chose|chosen|picked|settled on) .+)",
        _decided,
    ),
    _rule(
        rf"[Ww]e {_ADV}{_NEG}(?:(?:use|deploy|ship|release|host|run|store)(?= )|(?:live|meet|work|speak)(?= (?:in|on|at|for|with|near|every)\b)) "
        r"(?P<obj>.+)",
        _likely,
    ),
    _rule(r"[Ww]e(?:'re| are) (?P<obj>(?:a team of|based in|hosted on|moving (?:from .+ )?to) .+)", _likely),
    _rule(rf"[Ww]e (?:just |also |finally |recently |even |all )?(?:{_PAST}) (?P<obj>.+)", _event),
)
NAMED_RULES = (
    _rule(
        r"(?P<obj>[A-Z].{1,40}) is my (?:all-time |absolute )?favou?rite (?P<what>[\w-]+(?: [\w-]+)?)", _favourite_named
    ),
    _rule(rf"(?P<who>[A-Z][a-z]+(?: [A-Z][a-z]+)?) is my (?P<kin>{words.KIN})\b", _relative_named),
)
