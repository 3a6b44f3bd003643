"""Patterns that a person adds to the redaction, made safe before they ever meet a text.

`re` cannot be interrupted, so a pattern's worst case is bounded where it is configured: open-ended repeats are capped,
repeats inside repeats are refused, and the steps that the rest may cost at one place of a text are counted.
"""

import importlib
import re
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

PATTERN_CHARS_MAX = 200
REPEAT_MAX = 128
"""What `*`, `+` and `{n,}` mean in a configured pattern: a longer run gives several matches side by side."""
STEPS_MAX = 600
"""Most steps that a pattern may cost at one place of a text, when everything nearly matches."""
WIDTH_MAX = 1_024
"""Longest text that a pattern may match."""
_UNROLL_MAX = 16
_VISITS_MAX = 20_000

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
    if _width(tree)[1] > WIDTH_MAX:
        raise ValueError(
            f"redact pattern {shown}: may match more than {WIDTH_MAX} characters; give its repeats small bounds"
        )
    try:
        steps = _Cost(pattern).steps(list(tree), frozenset({_END}), 0)
    except _TooAmbiguousError as error:
        raise ValueError(f"redact pattern {shown}: {error}, which can take exponential time") from None
    if steps > STEPS_MAX:
        raise ValueError(
            f"redact pattern {shown}: open-ended repeats may match the same characters, which can take very long;"
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
    """How many steps a backtracking matcher may take at one place of a text."""

    def __init__(self, pattern: str) -> None:
        self.probes = frozenset(_PROBES + pattern + pattern.swapcase())
        self.visits = 0

    def steps(self, nodes: Sequence[_Node], follow: frozenset[str], rest: int) -> int:
        """The steps of a sequence that `follow` may come after, where what comes after costs `rest`."""
        total = rest
        for place in range(len(nodes) - 1, -1, -1):
            self.visits += 1
            if self.visits > _VISITS_MAX or total > STEPS_MAX:
                return STEPS_MAX + 1
            total = self._steps_of(nodes[place], self.first(nodes[place + 1 :], follow), total)
        return total

    def _steps_of(self, node: _Node, follow: frozenset[str], rest: int) -> int:
        name, value = str(node[0]), node[1]
        if name in _REPEATS:
            return self._steps_of_repeat(name, value, follow, rest)
        if name in ("SUBPATTERN", "ATOMIC_GROUP"):
            return self.steps(list(value[3] if name == "SUBPATTERN" else value), follow, rest)
        if name in ("ASSERT", "ASSERT_NOT"):
            return rest + self.steps(list(value[1]), frozenset({_END}), 0)
        if name == "BRANCH":
            steps = [self.steps(list(branch), follow, rest) for branch in value[1]]
            return sum(steps) if self._alike([node]) else max(steps) + len(steps)
        if name in ("GROUPREF_EXISTS", "GROUPREF"):
            raise _TooAmbiguousError("it refers back to a group")
        return rest + 1

    def _steps_of_repeat(self, name: str, value: Any, follow: frozenset[str], rest: int) -> int:
        """Each turn once; and the rest after every turn where the text does not say when to stop."""
        least, most, inner = int(value[0]), int(value[1]), list(value[2])
        if rest == 0 and follow == {_END}:
            # Nothing comes after that could fail: the match ends here, once.
            most = least
        starts = self.first(inner, frozenset())
        open_end = name != "POSSESSIVE_REPEAT" and bool(starts & follow)
        rests = (most - least + 1) * rest if open_end else rest
        least_width, most_width = _width(inner)
        if least_width == most_width and not self._alike(inner):
            return rests + most * self.steps(inner, starts | follow, 0)
        if most > _UNROLL_MAX:
            raise _TooAmbiguousError("a repeat or a choice stands inside a repeated group")
        return rests + self.steps(inner * most, starts | follow, rest)

    def _alike(self, nodes: Iterable[_Node]) -> bool:
        """Whether alternatives inside may both match at one place; two words do not, unless one begins the other."""
        for name, value in nodes:
            if str(name) == "SUBPATTERN" and self._alike(list(value[3])):
                return True
            branches = [list(branch) for branch in value[1]] if str(name) == "BRANCH" else []
            for one, other in combinations(branches, 2):
                word, other_word = _word(one), _word(other)
                if word is not None and other_word is not None:
                    if word.startswith(other_word) or other_word.startswith(word):
                        return True
                elif self.first(one, frozenset()) & self.first(other, frozenset()):
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


def _word(nodes: Sequence[_Node]) -> str | None:
    """The text of a sequence of plain characters, folded, or None where it is more than that."""
    if all(str(name) == "LITERAL" for name, _ in nodes):
        return "".join(chr(value) for _, value in nodes).casefold()
    return None


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
