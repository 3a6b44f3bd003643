"""What hosts, models and memory plugins wrap around a person's words, cut out again.

Three kinds: envelopes that a host puts around a message, the reasoning of a model, and blocks of recalled memory. Each
is known by its shape on lines of its own; the same words in a sentence, or in a code fence, are talk and stay. Every
scan goes forward once, so the time is linear.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator

from octop_bridge.domain.fences import PROMPT_OPEN, SYSTEM_OPEN, TAG

Span = tuple[int, int]

NOTE_CHARS_MAX = 2_000
"""What is kept of one kind of envelope."""
_PREFIXES_MAX = 8
_LOOK_BACK = 120

_HINTS = (
    *(
        "(untrusted",
        "Untrusted context (",
        "System: [",
        "[message_id:",
        "while agent was busy]",
        "[Queue overflow]",
        "<<<",
    ),
    *("[media attached", "[System note: ", "[Triggering message id: "),
)
_PIECES = re.compile(
    r"(?P<label>\(untrusted\b[^()\n]{0,80}\):)|^Untrusted context \([^()\n]{0,100}(?P<context>\)):"
    r"|^System(?: \(untrusted\))?:[ \t]*(?P<system>\[\d{4}-\d\d-\d\d[ T]\d\d:\d\d[^\]\n]{0,30}\][^\n]*)"
    r"|^\[message_id:[ \t]*(?P<message_id>[^\]\n]{1,200})\][ \t]*$"
    r"|^\[(?P<queue>Queued [^\]\n]{0,60}while agent was busy|Queue overflow\] Dropped \d+[^\n]*(?:\nSummary:)?)\]?[ \t]*$"
    r"|^(?:---[ \t]*\n)?Queued #(?P<queued>\d+)\b[^\n]{0,80}$"
    r"|^\[(?P<media>media attached[^\]\n]*)\][ \t]*$"
    r"|^\[(?P<note>System note: [^\n]*|Triggering message id: [^\n]*)\][ \t]*$|^\[System: (?P<hint>[^\n]*)\][ \t]*$"
    r"|^<<<(?P<internal>BEGIN_OPENCLAW_INTERNAL|EXTERNAL_UNTRUSTED)_(?:CONTEXT|CONTENT)\b[^>\n]{0,100}>>>"
    r"|^[ ]{0,3}(?P<fence>```|~~~)",
    re.MULTILINE,
)
_WEAK = frozenset({"queued", "hint"})
"""Shapes that a person might write; they count beside a certain one."""
_LABEL = re.compile(r"[A-Z][\w']*(?: [a-z][\w']*){0,8} $")
_LONG_LABEL = re.compile(r"\b(?:context|history|chain)\b", re.IGNORECASE)
_JSON_OPEN = re.compile(r"(?:[ \t]{0,4}\n){0,2}[ \t]{0,4}```[a-z]*[ \t]*(?P<line>\n?)")
_JSON_CLOSE = {"\n": re.compile(r"\n[ \t]*```"), "": re.compile(r"[}\]]\s{0,4}```")}
_JSON_BARE = re.compile(
    r"(?:[ \t]{0,4}\n){1,2}\{(?:[^\n]*\}[ \t]*$|[ \t]*\n(?:[ \t]+[^\n]*\n){0,200}\}[ \t]*$)", re.MULTILINE
)
_PARAGRAPH = re.compile(r"(?:[ \t]*\n(?![ \t]*[<\n])[^\n]+)*")
_EXTERNAL_END = re.compile(r"<<<END_(?:OPENCLAW_INTERNAL|EXTERNAL_UNTRUSTED)_(?:CONTEXT|CONTENT)\b[^>\n]{0,100}>>>")
_STAMP = r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d)?"
_ZONE = r" ?(?:(?:UTC|GMT)(?:[+-]\d{1,2}(?::?\d\d)?)?|Z|[A-Z]{2,5}|[+-]\d\d:?\d\d)"
_TIME_PREFIX = re.compile(
    rf"\[(?P<timestamp>(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) {_STAMP}(?:{_ZONE})?|{_STAMP}{_ZONE}"
    r"|(?:Telegram|WhatsApp|Discord|Slack|Signal|iMessage|SMS|Feishu|Lark|Teams|Matrix|WebChat|WeChat|LINE|Zalo|Mattermost)\b"
    rf"[^\]\n]{{0,120}} {_STAMP}(?:{_ZONE})?)\][ \t]*"
)
_REPLY_PREFIX = re.compile(r"\[Replying to: \"(?P<reply_to>(?:[^\"]|\"(?!\])){0,4000})\"\]\s*")
_OPEN_ID = re.compile(r"ou_\w{1,64}: ")
_SENDERS = re.compile(r"\"(?:sender|sender_id|name|label|id|username)\"\s*:\s*\"([^\"\n]{1,100})\"")

_FENCE_OPEN = re.compile(r"^[ ]{0,3}(?P<fence>```|~~~)", re.MULTILINE)
_FENCE_END = {mark: re.compile(rf"^[ ]{{0,3}}{mark}+[ \t]*$", re.MULTILINE) for mark in ("```", "~~~")}

_REASONING = re.compile(
    r"^[ ]{0,3}(?P<fence>```|~~~)|(?P<code>`[^`\n]{1,200}`)|(?P<open><(?:think(?:ing)?|reasoning)(?:\s[^>\n]{0,80})?>)"
    r"|</(?:think(?:ing)?|reasoning)\s{0,3}>",
    re.MULTILINE | re.IGNORECASE,
)
_REASONING_END = re.compile(r"</(?:think(?:ing)?|reasoning)\s{0,3}>", re.IGNORECASE)

_FOREIGN_TAGS = (
    *(
        "relevant-memories",
        "relevant_memories",
        "recalled-memories",
        "recalled_memories",
        "recalled_experience",
        "memories",
    ),
    *("memory-context", "supermemory-context", "hindsight_memories", "hindsight_context", "openviking-context"),
    *("active_memory_plugin", "user-persona", "scene-navigation", "memory-tools-guide"),
)
_TAGS = re.compile(rf"<(?P<end>/?)(?P<name>{'|'.join((TAG, *_FOREIGN_TAGS))})(?:[ \t][^>\n]{{0,200}})?>")
_LINE_REST = re.compile(r"[ \t]{0,40}(?:\n|\Z)")
_BLANK_LINE = re.compile(r"\n[ \t]*(?:\n|\Z)")
_HEADING = re.compile(
    r"^(?:## (?:Octop)?Memory Recall[ \t]*|\[memory\] Earlier in this workspace[^\n]*)$", re.MULTILINE
)
_RECALL_LIST = re.compile(
    r"(?:[ \t]{0,4}\n){1,2}[ \t]{0,4}[-*] \[[^\n]*(?:\n(?:[ \t]*[-*] |[ \t]+)[^\n]*)*(?:\n\[/memory\][^\n]*)?"
)

_SYSTEM_TURN = re.compile(
    r"\s*(?:Read HEARTBEAT\.md if (?:it )?exists \(workspace context\).*|\[OpenClaw heartbeat poll\].*"
    r"|\W{0,3}(?:HEARTBEAT_OK|NO_REPLY)\W{0,3})",
    re.DOTALL,
)


def is_system_turn(text: str) -> bool:
    """Return whether a host made this turn for itself: a heartbeat poll, or the answer that nothing is to be said."""
    named = "HEARTBEAT" in text or "heartbeat poll" in text or "NO_REPLY" in text
    return named and bool(_SYSTEM_TURN.fullmatch(text.rstrip()))


def strip_envelopes(text: str) -> tuple[str, dict[str, str]]:
    """Return what the person wrote, and the host's envelopes as metadata by their label."""
    notes: dict[str, str] = {}
    if "[" not in text and "(untrusted" not in text and "<<<" not in text and "Untrusted context (" not in text:
        return text, notes
    cuts: list[Span] = []
    for hint in _HINTS:
        if hint in text:
            cuts = _cut_envelopes(text, notes)
            break
    else:
        if not text.lstrip().startswith("["):
            return text, notes
    senders = frozenset(_SENDERS.findall("\n".join(notes.values()))) if notes else frozenset()
    pieces = [_strip_prefixes(piece, senders, notes) for piece in _between(text, cuts)]
    if not notes:
        return text, notes
    return "\n\n".join(piece for piece in pieces if piece), notes


def _cut_envelopes(text: str, notes: dict[str, str]) -> list[Span]:
    """The spans of envelopes; their contents go into `notes`. Without a certain shape the doubtful ones are talk."""
    found_all: list[tuple[str, Span, str]] = []
    at = 0
    exhausted: set[object] = set()
    while found := _PIECES.search(text, at):
        kind = str(found.lastgroup)
        at = found.end()
        if kind == "fence":
            at = _after_fence(text, found, exhausted)
        elif kind in ("label", "context"):
            labelled = _labelled(text, found, found_all[-1][1][1] if found_all else 0, exhausted)
            if labelled:
                found_all.append(labelled)
                at = labelled[1][1]
        elif kind == "internal":
            end = _EXTERNAL_END.search(text, at)
            at = end.end() if end else len(text)
            inner = text[found.end() : end.start() if end else at]
            found_all.append(("external context", (found.start(), at), inner))
        else:
            found_all.append((kind, found.span(), found[kind]))
    if all(kind in _WEAK for kind, _, _ in found_all):
        return []
    for kind, _, value in found_all:
        _note(notes, kind, value)
    return [span for _, span, _ in found_all]


def _labelled(text: str, found: re.Match[str], floor: int, exhausted: set[object]) -> tuple[str, Span, str] | None:
    """A label with the JSON or the paragraph that it announces, or None where it is only mentioned."""
    after = found.end()
    line = text[max(floor, found.start() - _LOOK_BACK) : found.start()].rpartition("\n")[2]
    label = "Untrusted context " if found["context"] else (named[0] if (named := _LABEL.search(line)) else None)
    if label is None:
        return None
    start = found.start() - (0 if found["context"] else len(label))
    if (opened := _JSON_OPEN.match(text, after)) and opened["line"] not in exhausted:
        closed = _JSON_CLOSE[opened["line"]].search(text, opened.end() - len(opened["line"]))
        if closed:
            return (label, (start, closed.end()), text[opened.end() : closed.end() - 3])
        exhausted.add(opened["line"])
        return (label, (start, _PARAGRAPH.match(text, after).end()), "")  # type: ignore[union-attr]
    before = line[: len(line) - len(label)].strip() if found["label"] else ""
    if (before and not _TIME_PREFIX.fullmatch(before)) or not _LINE_REST.match(text, after):
        return None
    bare = _JSON_BARE.match(text, after) or (_PARAGRAPH.match(text, after) if _LONG_LABEL.search(label) else None)
    return (label, (start, bare.end()), bare[0]) if bare else None


def _strip_prefixes(piece: str, senders: frozenset[str], notes: dict[str, str]) -> str:
    """A stretch of text without the times, quoted replies and known names that hosts put before it."""
    piece = piece.strip()
    for _ in range(_PREFIXES_MAX):
        if piece.startswith("[") and (found := _TIME_PREFIX.match(piece) or _REPLY_PREFIX.match(piece)):
            _note(notes, str(found.lastgroup), found[str(found.lastgroup)])
            piece = piece[found.end() :].lstrip()
            continue
        name = next((name for name in senders if piece.startswith((f"{name}: ", f"[{name}] "))), None)
        if name is not None:
            piece = piece[len(name) + (3 if piece.startswith("[") else 2) :].lstrip()
        elif notes and (found := _OPEN_ID.match(piece)):
            piece = piece[found.end() :].lstrip()
        else:
            break
    return piece


def _note(notes: dict[str, str], label: str, value: str) -> None:
    key = re.sub(r"\W+", "_", label.strip().lower())
    known = f"{notes[key]}\n" if key in notes else ""
    notes[key] = (known + value.strip())[:NOTE_CHARS_MAX]


def strip_reasoning(text: str) -> str:
    """Return a model's text without its reasoning; tags inside code stay.

    A closing tag alone ends reasoning whose opening the host has cut, an opening tag alone starts reasoning that was
    cut short.
    """
    if "<" not in text:
        return text
    kept: list[str] = []
    exhausted: set[object] = set()
    start = at = 0
    while found := _REASONING.search(text, at):
        at = found.end()
        if found["fence"]:
            at = _after_fence(text, found, exhausted)
        elif found["open"]:
            kept.append(text[start : found.start()])
            end = _REASONING_END.search(text, at)
            start = at = end.end() if end else len(text)
        elif not found["code"]:
            kept.clear()
            start = at
    if start == 0:
        return text
    return "".join((*kept, text[start:])).strip()


def strip_recalled(text: str) -> str:
    """Return the text without blocks of recalled memory, ours and those of other plugins.

    What stood on both sides of a block is joined by a new line, so that no tag can form from the two.
    """
    cuts = _cut_tags(text) if "<" in text else []
    if "Memory Recall" in text or "[memory] Earlier" in text:
        cuts = sorted(cuts + list(_cut_headings(text)))
    return "\n".join(piece for piece in map(str.strip, _between(text, cuts)) if piece) if cuts else text


def _cut_tags(text: str) -> list[Span]:
    """The spans of tagged blocks that stand on lines of their own, and of our own wherever they stand."""
    tags = list(_TAGS.finditer(text))
    closing = _pairs(tags)
    fences = _fences(text) if tags else []
    cuts: list[Span] = []
    cursor = 0
    for place, tag in enumerate(tags):
        ours = tag["name"] == TAG
        if tag.start() < cursor or (not ours and _is_within(fences, tag.start())):
            continue
        at_start, at_end = _starts_line(text, tag.start(), cursor), bool(_LINE_REST.match(text, tag.end()))
        if tag["end"]:
            end = tag.end() if at_start and at_end else None
        elif close := closing.get(place):
            last = tags[close]
            block = at_end and (_starts_line(text, last.start(), 0) or bool(_LINE_REST.match(text, last.end())))
            end = last.end() if at_start or block or tag[0] in (PROMPT_OPEN, SYSTEM_OPEN) else None
        else:
            blank = _BLANK_LINE.search(text, tag.end()) if at_start and (at_end or ours) else None
            end = blank.start() if blank else len(text) if at_start and (at_end or ours) else None
        if end is not None:
            cuts.append((tag.start(), end))
            cursor = end
    return cuts


def _pairs(tags: list[re.Match[str]]) -> dict[int, int]:
    """The closing tag of each opening one by place; an opening one too many shares the next closing tag."""
    pairs: dict[int, int] = {}
    waiting: dict[str, list[int]] = {}
    for place, tag in enumerate(tags):
        opened = waiting.setdefault(tag["name"], [])
        if not tag["end"]:
            opened.append(place)
        elif opened:
            pairs[opened.pop()] = place
            if opened:
                pairs.update((each, place) for each in opened[-1:])
    return pairs


def _cut_headings(text: str) -> Iterator[Span]:
    """The spans of recall blocks under a heading: such a list anywhere, anything where it begins the message."""
    fences = _fences(text)
    first = len(text) - len(text.lstrip())
    cursor = 0
    for found in _HEADING.finditer(text):
        if found.start() < cursor or _is_within(fences, found.start()):
            continue
        if items := _RECALL_LIST.match(text, found.end()):
            cursor = items.end()
        elif found.start() <= first and not _BLANK_LINE.match(text, found.end()):
            blank = _BLANK_LINE.search(text, found.end())
            cursor = blank.start() if blank else len(text)
        else:
            continue
        yield (found.start(), cursor)


def _starts_line(text: str, at: int, floor: int) -> bool:
    """Whether only blanks stand between a place and the start of its line, or a floor above which all is cut."""
    window = text[max(floor, at - _LOOK_BACK) : at]
    line = window.rpartition("\n")[2]
    return not line.strip() and (len(line) < len(window) or at - len(window) == floor)


def _after_fence(text: str, found: re.Match[str], exhausted: set[object]) -> int:
    """The place after a closed code fence that `found` opens; an unclosed one is no fence."""
    mark = found["fence"]
    if mark not in exhausted:
        line_end = text.find("\n", found.end())
        closed = _FENCE_END[mark].search(text, line_end + 1) if line_end >= 0 else None
        if closed:
            return closed.end()
        exhausted.add(mark)
    return found.end()


def _fences(text: str) -> list[Span]:
    """The spans of closed code fences."""
    spans: list[Span] = []
    exhausted: set[object] = set()
    at = 0
    while found := _FENCE_OPEN.search(text, at):
        at = _after_fence(text, found, exhausted)
        if at > found.end():
            spans.append((found.start(), at))
    return spans


def _is_within(spans: list[Span], at: int) -> bool:
    place = bisect_right(spans, (at, at)) - 1
    return place >= 0 and spans[place][0] <= at < spans[place][1]


def _between(text: str, cuts: list[Span]) -> Iterator[str]:
    """The stretches of text that no cut covers."""
    at = 0
    for start, end in cuts:
        if start > at:
            yield text[at:start]
        at = max(at, end)
    yield text[at:]
