"""Patterns that a person adds to the redaction, made safe before they ever meet a text.

`re` cannot be interrupted, so a pattern's worst case is bounded where it is configured: open-ended repeats are capped,
repeats inside repeats are refused, and the ways in which the rest may share a text are counted.
"""

import importlib
import re
from collections.abc import Iterable, Sequence
from typing import Any

PATTERN_CHARS_MAX = 200
REPEAT_MAX = 128
"""What `*`, `+` and `{n,}` mean in a configured pattern: a longer run gives several matches side by side."""
WAYS_MAX = 1_000
"""Most ways of splitting a text among the repeats of one pattern, per starting place."""

WIDTH_MAX = 4_096
"""Longest text that a pattern may match."""
_UNROLL_MAX = 16
_STEPS_MAX = 20_000

_parser: Any = importlib.import_module("re._parser")
_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|(?P<open>[*+]|\{\d*,\})|.", re.DOTALL)
"""One piece of a pattern: an escape, a class, an open-ended quantifier, or a character."""
_Node = tuple[Any, Any]
_REPEATS = frozenset({"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"})
_PROBES = "".join(map(chr, range(128))) + "éÄß中あЖ한٣８İ\u00a0"
"""Characters by which two classes are compared; those that a pattern names are added."""
_END = "\0end"
"""Stands in a set of following characters for "nothing has to follow"."""


def compile_patterns(patterns: Sequence[str]) -> tuple[re.Pattern[str], ...]:
    """Return the patterns compiled, with open-ended repeats capped at `REPEAT_MAX`.

    Raises ValueError naming the pattern that is too long, does not compile, or may take exponential time.
    """
    return tuple(_compiled(pattern) for pattern in patterns)


def _compiled(pattern: str) -> re.Pattern[str]:
    shown = repr(pattern[:PATTERN_CHARS_MAX])
    if len(pattern) > PATTERN_CHARS_MAX:
        raise ValueError(f"redact pattern {shown}…: longer than {PATTERN_CHARS_MAX} characters")
    try:
        re.compile(pattern)
        capped = _capped(pattern)
        compiled = re.compile(capped)
        tree = _parser.parse(capped)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"redact pattern {shown}: does not compile: {error}") from None
    try:
        ways = _Cost(pattern).ways(list(tree), frozenset({_END}))
    except _TooAmbiguousError as error:
        raise ValueError(f"redact pattern {shown}: {error}, which can take exponential time") from None
    if _width(tree)[1] > WIDTH_MAX:
        raise ValueError(
            f"redact pattern {shown}: may match more than {WIDTH_MAX} characters; give its repeats small bounds"
        )
    if ways > WAYS_MAX:
        raise ValueError(
            f"redact pattern {shown}: several open-ended repeats may match the same characters, which can take very long;"
            " put a fixed character between them or give them small bounds"
        )
    return compiled


def _capped(pattern: str) -> str:
    """The pattern with `*`, `+` and `{n,}` bounded; escapes, classes and suffixes stay as they are."""
    out: list[str] = []
    at = 0
    while at < len(pattern):
        token = _TOKEN.match(pattern, at)
        assert token is not None
        at = token.end()
        if token.lastgroup == "open":
            quantifier = token["open"]
            least = int(quantifier == "+") if quantifier in "*+" else int(quantifier[1:-2] or 0)
            out.append(f"{{{least},{max(least, REPEAT_MAX)}}}")
            if pattern[at : at + 1] in ("?", "+"):
                out.append(pattern[at])
                at += 1
        else:
            out.append(token[0])
    return "".join(out)


class _TooAmbiguousError(ValueError):
    """Why a pattern is refused whatever its size."""


class _Cost:
    """How many ways a backtracking matcher may have to try at one place of a text."""

    def __init__(self, pattern: str) -> None:
        self.probes = frozenset(_PROBES + pattern + pattern.swapcase())
        self.steps = 0

    def ways(self, nodes: Sequence[_Node], follow: frozenset[str]) -> int:
        """The product over all ambiguous repeats and branches of a sequence that `follow` may come after."""
        total = 1
        for place in range(len(nodes) - 1, -1, -1):
            self.steps += 1
            if self.steps > _STEPS_MAX or total > WAYS_MAX:
                return WAYS_MAX + 1
            total *= self._ways_of(nodes[place], self.first(nodes[place + 1 :], follow))
        return total

    def _ways_of(self, node: _Node, follow: frozenset[str]) -> int:
        name, value = str(node[0]), node[1]
        if name in _REPEATS:
            return self._ways_of_repeat(int(value[0]), int(value[1]), list(value[2]), follow)
        if name in ("SUBPATTERN", "ATOMIC_GROUP"):
            return self.ways(list(value[3] if name == "SUBPATTERN" else value), follow)
        if name in ("ASSERT", "ASSERT_NOT"):
            return self.ways(list(value[1]), frozenset({_END}))
        if name == "BRANCH":
            ways = [self.ways(list(branch), follow) for branch in value[1]]
            return sum(ways) if self._alike([node]) else max(ways)
        if name in ("GROUPREF_EXISTS", "GROUPREF"):
            raise _TooAmbiguousError("it refers back to a group")
        return 1

    def _ways_of_repeat(self, least: int, most: int, inner: list[_Node], follow: frozenset[str]) -> int:
        """The ways of one repeat: how often it turns where the text leaves a choice, and what happens in each turn."""
        least_width, most_width = _width(inner)
        varies = least_width != most_width or self._alike(inner)
        if varies and most > _UNROLL_MAX:
            raise _TooAmbiguousError("a repeat or a choice stands inside a repeated group")
        starts = self.first(inner, frozenset())
        turns = most - least + 1 if starts & follow else 1
        return turns * (self.ways(inner * most, follow) if varies else self.ways(inner, starts | follow))

    def _alike(self, nodes: Iterable[_Node]) -> bool:
        """Whether alternatives inside may begin alike."""
        for name, value in nodes:
            if str(name) == "BRANCH":
                seen: set[str] = set()
                for branch in value[1]:
                    starts = self.first(list(branch), frozenset())
                    if seen & starts:
                        return True
                    seen |= starts
            elif str(name) == "SUBPATTERN" and self._alike(list(value[3])):
                return True
        return False

    def first(self, nodes: Sequence[_Node], follow: frozenset[str]) -> frozenset[str]:
        """The probe characters that a sequence may begin with, `follow` included where it may be empty."""
        starts: frozenset[str] = frozenset()
        for node in nodes:
            starts |= self._starts(node)
            if _width([node])[0] > 0:
                return starts
        return starts | follow

    def _starts(self, node: _Node) -> frozenset[str]:
        name, value = str(node[0]), node[1]
        if name in _REPEATS:
            return self.first(list(value[2]), frozenset())
        if name == "SUBPATTERN":
            return self.first(list(value[3]), frozenset())
        if name == "ATOMIC_GROUP":
            return self.first(list(value), frozenset())
        if name == "BRANCH":
            return frozenset().union(*(self.first(list(branch), frozenset()) for branch in value[1]))
        if name in ("AT", "ASSERT", "ASSERT_NOT"):
            return frozenset()
        if name == "LITERAL":
            return frozenset({chr(value), chr(value).swapcase()})
        # Classes are compared by their characters where that is simple, and count as "anything" where it is not.
        return frozenset(char for char in self.probes if _in_class(name, value, char))


def _in_class(name: str, value: Any, char: str) -> bool:
    """Whether one character may match a single-character node, with case ignored."""
    if name == "NOT_LITERAL":
        return chr(value) != char
    if name != "IN":
        return True
    items = list(value)
    negated = str(items[0][0]) == "NEGATE"
    return any(
        any(_in_item(str(kind), item, each) for kind, item in items) != negated for each in (char, char.swapcase())
    )


def _in_item(kind: str, item: Any, char: str) -> bool:
    if len(char) != 1:
        return False
    if kind == "LITERAL":
        return chr(item) == char
    if kind == "RANGE":
        return bool(item[0] <= ord(char) <= item[1])
    if kind == "CATEGORY":
        category = str(item).removeprefix("CATEGORY_")
        tests = {"DIGIT": char.isdigit(), "SPACE": char.isspace(), "WORD": char.isalnum() or char == "_"}
        return tests[category.removeprefix("NOT_")] != category.startswith("NOT_")
    return False


def _width(nodes: Iterable[_Node]) -> tuple[int, int]:
    """The least and the greatest number of characters that a sequence may match."""
    low = high = 0
    for name, value in nodes:
        kind = str(name)
        if kind in _REPEATS:
            inner = _width(list(value[2]))
            low, high = low + inner[0] * int(value[0]), high + inner[1] * int(value[1])
        elif kind == "SUBPATTERN":
            inner = _width(list(value[3]))
            low, high = low + inner[0], high + inner[1]
        elif kind == "ATOMIC_GROUP":
            inner = _width(list(value))
            low, high = low + inner[0], high + inner[1]
        elif kind == "BRANCH":
            widths = [_width(list(branch)) for branch in value[1]]
            low, high = low + min(each[0] for each in widths), high + max(each[1] for each in widths)
        elif kind not in ("AT", "ASSERT", "ASSERT_NOT"):
            low, high = low + 1, high + 1
    return low, high
