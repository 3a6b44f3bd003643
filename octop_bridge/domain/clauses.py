"""What a person states in a message, clause by clause, with its place in the text.

Left out: code blocks, quoted lines and quotations, forwarded mail, other speakers' lines of a pasted chat, questions,
conditions, suppositions, what others are said to say, and jokes that say so. Linear in the length of the text.
"""

import re
from collections.abc import Iterator

import msgspec

SENTENCE_CHARS_MAX = 600
"""A longer sentence is a list or a paste: nobody states a fact in it outright."""


class Clause(msgspec.Struct, frozen=True):
    """A clause that may state something: the text and where it stands."""

    text: str
    start: int


_MASK = "\x00"
_CODE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|<(pre|code|quote|blockquote)>.*?(?:</\1>|\Z)", re.DOTALL)
_QUOTED_LINE = re.compile(r"^[ \t]*[>|].*$", re.MULTILINE)
_FORWARDED = re.compile(
    r"^(?:[-_=* ]*(?:forwarded|original|begin forwarded) message\b|on .{5,80} wrote:\s*$|from: .+@|-----+ *$|发件人[:：]).*\Z",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)
_QUOTATION = re.compile(
    r"“[^“”\n]{1,600}”|「[^「」\n]{1,600}」|『[^『』\n]{1,600}』|‘[^‘’\n]{1,600}’(?!\w)|\"[^\"\n]{1,600}\"|(?<!\w)'[^'\n]{1,300}'(?!\w)"
)
_OTHER_SPEAKER = re.compile(
    r"^[ \t]*(?:[\[(]?\d{1,2}:\d\d(?::\d\d)?(?: ?[ap]m)?[\])]?,?\s*)?[*_]{0,2}"
    r"(?!(?i:note|notes|update|correction|edit|ps|fyi|tl;?dr|reminder|fact|context|btw|background|preference|decision|important|"
    r"also|info|remember|todo|task|please|rule|instruction|example|question|answer)\b)"
    r"(?:[A-Z][\w.'-]{0,20}(?: [A-Z][\w.'-]{0,20})?)[*_]{0,2}(?:\s?\([^)\n]{1,20}\))?:[*_]{0,2} .*$",
    re.MULTILINE,
)
_STOP = re.compile(
    r"[.!?…]+[\"”')\]*_]*(?=\s|$|[\u4e00-\u9fff])|[。！？；!?]+[”」』）)]*|[\n\r]+|[\u2600-\u27bf\U0001f300-\U0001faff\ufe0f]+"
)
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:mr|mrs|ms|dr|prof|st|vs|e\.g|i\.e|etc|approx|no|inc|ltd|jr|sr|dept|cf|fig|vol|max|min|[ap]\.m|u\.s|[a-z])$",
    re.IGNORECASE,
)
_SPLIT = re.compile(
    r"; +|[，；]\s*| +[—–-]{1,2} +"
    r"|,? +(?:and|but|so|because|'?cause|although|though|while|whereas|yet|plus) +"
    r"(?=(?:I|i|my|we|our|it|that|this|they|he|she|you|there|please|remember|keep|avoid|make sure)\b)"
    r"|, +(?:so|but|because|'?cause|although|though|while|whereas) +"
    r"|, +(?:and )?(?=(?:I|i|my|we|our|it|that|he|she|they|you|which|this|there|please|remember|keep|make|avoid|call|can|could|what|how|"
    r"where|why|when|do|does|did|is|are|would|should|any|never|always|don't|from now on|who|thanks|lol|haha)\b)"
)
_ASKS = re.compile(
    r"(?:and |but |so |ok(?:ay)?,? |hey,? |please )*"
    r"(?:what|who|whom|whose|which|why|how|where|when)\b(?! (?:I|we|my)\b.*,)"
    r"|(?:and |but |so )*(?:do|does|did|is|are|am|was|were|can|could|will|would|should|shall|may|have|has|had|don't|doesn't|didn't|isn't|"
    r"aren't|can't|won't|wouldn't|haven't) (?:I|you|we|he|she|it|they|there|this|that|the|my|your|our|anyone|someone|any)\b",
    re.IGNORECASE,
)
_ASKS_ZH = re.compile(
    r"[吗呢么嘛]$|什么|怎么|怎样|为何|为啥|是不是|有没有|能不能|可不可以|会不会|要不要|哪[里个些儿种]|几点|多少|谁"
)
_WORD = re.compile(r"[a-z']+")
_SUPPOSING = frozenset(
    ["if", "unless", "suppose", "supposing", "imagine", "pretend", "hypothetically", "assuming", "whether"]
)
_JOKING = frozenset(["lol", "lmao", "rofl", "lmfao", "jk", "kidding"])
_SUPPOSES = re.compile(
    r"let's say|say i\b|in case|as though|如果|要是|假如|假设|假使|万一|的话|倘若|若是|比如说|例如|好像|似乎"
)
_JOKES = re.compile(r"yeah right|as if|not really|(?:^|\s)/s(?:\s|$)|\U0001f644|开玩笑的")
_OPENS = re.compile(
    r"\W*(?:(?:and|but|so|ok|okay|sorry|oh|no|actually),? )*(?:from now on|going forward|in (?:the )?future|from today on|I misspoke|please|"
    r"remember|note|correction|以后|今后|从现在起|从现在开始|我说错了|记住|记一下|请记住)",
    re.IGNORECASE,
)
"""What belongs to the clause after the comma."""
_REPEATS = re.compile(r"(?:and |but |so )?(?:like|as) I (?:said|told you|mentioned|wrote)\b", re.IGNORECASE)
_STANDING = re.compile(r"\W*(?:please,? )?(?:from now on|always|never|don't ever|以后|从现在起|今后)", re.IGNORECASE)
_TEXT_TASK = re.compile(
    r"\b(?:translate|proofread|rewrite|rephrase|paraphrase|summari[sz]e|edit|correct|improve|fix|polish|shorten|write|draft|compose|"
    r"role-?play|act as|continue|classify|analy[sz]e)\b[^\n.!?:]{0,80}:\s.*\Z|(?:翻译|改写|润色|总结|概括|续写|修改|写一[篇封段个首])[^\n。！？:：]{0,40}[:：].*\Z",
    re.IGNORECASE | re.DOTALL,
)
"""A request to work on a text: what follows it is the text."""
_REPORTS = re.compile(
    r"\b(?:said|says|say|saying|told|tells|tell|thinks?|thought|believes?|asked|asks|claims?|claimed|wrote|writes|replied|texted|"
    r"heard|according to|goes|went like|called out|quote|reads?|titled|lyrics?|translate|rewrite|rephrase|proofread|sentence)\b"
    r"[^.!?]{0,40}$|(?:说|问|觉得|认为|告诉我?|写道|翻译|改写|润色)[:：“\"]?$",
    re.IGNORECASE,
)


def clauses(content: str) -> Iterator[Clause]:
    """The clauses of a message that state something, in reading order."""
    masked = _masked(content)
    before = ""
    for start, end, stop in _sentences(masked):
        sentence = masked[start:end]
        reported = before.endswith((":", "：")) and _REPORTS.search(before[-80:]) is not None
        before = sentence.rstrip()
        if end - start <= SENTENCE_CHARS_MAX and not reported and _in_earnest(sentence):
            yield from _stated(content, masked, start, end, asked="?" in stop or "？" in stop)


def _in_earnest(sentence: str) -> bool:
    """Whether a sentence neither supposes nor jokes. What is asked for from now on may have conditions."""
    lower = sentence.lower()
    words = _WORD.findall(lower)
    if not _JOKING.isdisjoint(words) or _JOKES.search(lower):
        return False
    supposes = not _SUPPOSING.isdisjoint(words) or _SUPPOSES.search(lower)
    return not supposes or _STANDING.match(sentence) is not None


def _stated(content: str, masked: str, start: int, end: int, *, asked: bool) -> Iterator[Clause]:
    """The clauses of one sentence; of a question only those before the one that asks."""
    parts = _parts(masked, start, end)
    if asked:
        last = masked[parts[-1][0] : parts[-1][1]]
        asks = _ASKS_ZH.search(last) or (_ASKS.match(last) and len(last.split()) > 2)
        if len(parts) == 1 or not asks:
            return
        parts = parts[:-1]
    said = ""
    for first, behind in parts:
        text = masked[first:behind]
        reported = said != "" and _REPORTS.search(said) is not None
        said = "" if _REPEATS.match(text) else text.rstrip()
        if reported or text.startswith(_MASK) or not text.strip(_MASK + " "):
            continue
        if _ASKS.match(text) or (not text.isascii() and _ASKS_ZH.search(text)):
            continue
        yield Clause(content[first:behind], first)


def _parts(masked: str, start: int, end: int) -> list[tuple[int, int]]:
    """Where the clauses of a sentence begin and end; blanks around them left out."""
    cuts = [start]
    for match in _SPLIT.finditer(masked, start, end):
        if _OPENS.fullmatch(masked, cuts[-1], match.start()):
            continue
        cuts += [match.start(), match.end()]
    cuts.append(end)
    found = []
    for first, behind in zip(cuts[::2], cuts[1::2], strict=True):
        text = masked[first:behind]
        if text.strip():
            found.append((first + len(text) - len(text.lstrip()), behind - len(text) + len(text.rstrip())))
    return found or [(start, end)]


def _sentences(masked: str) -> Iterator[tuple[int, int, str]]:
    """Where sentences begin and end, each with what stopped it."""
    start = 0
    for match in _STOP.finditer(masked):
        dot = match[0].rstrip("\"”')]*_") == "."
        if dot and _ABBREVIATION.search(masked, max(start, match.start() - 8), match.start()):
            continue
        if masked[start : match.start()].strip():
            yield start, match.start(), match[0]
        start = match.end()
    if masked[start:].strip():
        yield start, len(masked), ""


def _masked(content: str) -> str:
    """The text with what is not the person's own statement blanked out, position by position.

    A quotation is only hidden, so that a value in quotation marks stays part of its clause.
    """
    text = content.replace("’", "'") if "‘" not in content else content
    if "```" in text or "~~~" in text or "</" in text:
        text = _CODE.sub(_blank, text)
    text = _FORWARDED.sub(_blank, text)
    if ":" in text or "：" in text:
        text = _OTHER_SPEAKER.sub(_blank, _TEXT_TASK.sub(_blank, text))
    return _QUOTATION.sub(_hush, _QUOTED_LINE.sub(_blank, text))


def _blank(match: re.Match[str]) -> str:
    return "\n" * len(match[0])


def _hush(match: re.Match[str]) -> str:
    return _MASK * len(match[0])
