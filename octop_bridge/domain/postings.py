"""Postings as bytes, and the exact best rows of a query: BM25 in integers, MaxScore in pure Python.

A block holds n postings of one term in one scope, ordinals ascending: n × u32 ordinal little endian, n × u8 term
frequency, n × u8 length code. Integers make the order of rows the same on every machine and both databases: score
descending, then (scope, ordinal) descending.

BM25 after Robertson and Zaragoza, "The Probabilistic Relevance Framework" (2009); MaxScore after Turtle and Flood,
"Query evaluation: strategies and optimizations" (1995).
"""

import math
import re
import sys
from array import array
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b
from heapq import nlargest
from itertools import chain
from typing import NamedTuple

K1 = 1.2
B = 0.75
IMPACT_SCALE = 1024
"""The impact of one occurrence in a row of average length; the largest possible impact is (k1 + 1) times this."""
WEIGHT_SCALE = 256
POSTING_BYTES = 6
BLOCK_POSTINGS_MAX = 4096
CODE_MAX = 255
EXACT_LENGTH_MAX = 64
CODES_PER_DOUBLING = 16
"""Above 64 tokens a length is kept to about 4 %, up to some 250,000 tokens."""

_NOT_ONE = re.compile(rb"[^\x01]")
_NARROW_POSTINGS_MAX = 256
"""Up to here a product a posting is cheaper than a table of products a length code."""
_SEARCH_COST = 8
"""How many steps of a set intersection one binary search costs."""
_PROBE_COST = 12
"""How many postings merged one binary search of one row costs."""
_SURPLUS_COST = 8
"""How many postings merged one repetition costs."""
_LEADERS_COST = 4
"""How many known rows can be ranked at the cost of merging one posting."""
_PROMISE = 2
"""How many times its score so far a leader may be hoped to reach; beyond, completing the leaders is wasted."""


class PostingList(NamedTuple):
    """The postings of one term in one scope, ordinals ascending."""

    scope: int
    average: int
    """The length in tokens that counts as average in this scope."""
    ordinals: "array[int]"
    tfs: bytes
    lengths: bytes


class Term(NamedTuple):
    """A term of a query that some row holds.

    Its score is split in two, so that the few rows that repeat a word do not raise the ceiling of the many that do
    not: the base counts each row as if it held the term once, the surplus adds what repetition earns.
    """

    weight: int
    lists: tuple[PostingList, ...]
    base_rows: int
    base_ceiling: int
    surplus_rows: int
    surplus_ceiling: int


class Query(NamedTuple):
    """A query against given scopes: its terms and what a row of average length with every term once would score."""

    terms: tuple[Term, ...]
    perfect: int


class Hit(NamedTuple):
    """A row and its score in points."""

    points: int
    scope: int
    ordinal: int


def term_hash(token: str) -> int:
    """Signed 64 bits that stand for the token in the index; no dictionary of words is stored."""
    return int.from_bytes(blake2b(token.encode(), digest_size=8).digest(), "little", signed=True)


def length_code(tokens: int) -> int:
    """One byte for a length in tokens: exact up to 64, logarithmic above."""
    if tokens <= EXACT_LENGTH_MAX:
        return tokens
    return min(CODE_MAX, EXACT_LENGTH_MAX + round(CODES_PER_DOUBLING * math.log2(tokens / EXACT_LENGTH_MAX)))


def length_of(code: int) -> float:
    """The length in tokens that a code stands for."""
    if code <= EXACT_LENGTH_MAX:
        return float(code)
    return float(EXACT_LENGTH_MAX * 2 ** ((code - EXACT_LENGTH_MAX) / CODES_PER_DOUBLING))


def encode(ordinals: "array[int]", tfs: bytes, lengths: bytes) -> bytes:
    """A block of the postings, whose ordinals ascend."""
    if sys.byteorder == "big":
        ordinals = ordinals[:]
        ordinals.byteswap()
    return ordinals.tobytes() + bytes(tfs) + bytes(lengths)


def decode(blocks: Iterable[bytes]) -> tuple["array[int]", bytes, bytes]:
    """Ordinals, term frequencies and length codes of the blocks, one after the other."""
    ordinals = array("I")
    tfs: list[bytes] = []
    lengths: list[bytes] = []
    for block in blocks:
        count = len(block) // POSTING_BYTES
        ordinals.frombytes(block[: 4 * count])
        tfs.append(block[4 * count : 5 * count])
        lengths.append(block[5 * count :])
    if sys.byteorder == "big":
        ordinals.byteswap()
    return ordinals, b"".join(tfs), b"".join(lengths)


@lru_cache(maxsize=1024)
def impacts(average: int, tf: int) -> tuple[int, ...]:
    """BM25's term frequency part for each length code, in 1/1024."""
    return tuple(
        round(IMPACT_SCALE * tf * (K1 + 1) / (tf + K1 * (1 - B + B * length_of(code) / average)))
        for code in range(CODE_MAX + 1)
    )


@lru_cache(maxsize=1024)
def _surplus_max(average: int, tf: int) -> int:
    """The most that a row of any length earns by holding a term `tf` times and not once."""
    return max(many - one for many, one in zip(impacts(average, tf), impacts(average, 1), strict=True))


def weight_of(rows: int, documents: int) -> int:
    """The integer weight of a term that `rows` of the `documents` hold: BM25's idf in 1/256, at least 1."""
    return max(1, round(WEIGHT_SCALE * math.log(1 + (documents - rows + 0.5) / (rows + 0.5))))


def plan(words: Iterable[Sequence[PostingList]], documents: int) -> Query:
    """The query of the words, each given as its lists in the scopes searched, which hold `documents` rows together.

    A word that no row holds (no list) counts in the perfect score all the same: a row that has half of what was
    asked for is half a match.
    """
    terms: list[Term] = []
    perfect = 0
    for lists in words:
        rows = sum(len(found.ordinals) for found in lists)
        weight = weight_of(rows, max(documents, rows))
        perfect += weight * IMPACT_SCALE
        if not rows:
            continue
        base = surplus_rows = surplus = 0
        for found in lists:
            shortest = next((code for code in range(CODE_MAX + 1) if code in found.lengths), 0)
            base = max(base, impacts(found.average, 1)[shortest])
            repeated = found.tfs.translate(None, b"\x01")
            if repeated:
                surplus_rows += len(repeated)
                surplus = max(surplus, _surplus_max(found.average, max(repeated)))
        terms.append(Term(weight, tuple(lists), rows, weight * base, surplus_rows, weight * surplus))
    return Query(tuple(terms), perfect)


def top_k(
    query: Query,
    k: int,
    *,
    deadline: Callable[[], bool] | None = None,
    allowed: Collection[tuple[int, int]] | None = None,
    excluded: Collection[tuple[int, int]] = (),
) -> tuple[list[Hit], bool]:
    """The best `k` rows, best first, and whether every term was counted.

    `allowed` and `excluded` are rows as (scope, ordinal); the weights of the terms do not depend on them. When
    `deadline` says so between two terms, the answer is the best `k` so far: the rarest words are counted first.
    """
    if k <= 0 or not query.terms:
        return [], True
    race = _Race(query.terms, k, allowed, excluded)
    complete = race.run(deadline or (lambda: False))
    return race.best(), complete


class _Step(NamedTuple):
    """Half of a term, in the order of what counting it whole would cost."""

    cost: int
    is_base: bool
    ceiling: int
    term: int


class _Race:
    """Scores of the rows that can still be among the best k, while terms are counted one by one.

    A bound on what is left to count (`rest`) is compared with the k-th best score so far (`threshold`): below it, no
    row unseen can get in, and known rows that cannot reach it are dropped. Equality is not below: a tie is decided by
    the ordinal.
    """

    def __init__(
        self,
        terms: Sequence[Term],
        k: int,
        allowed: Collection[tuple[int, int]] | None,
        excluded: Collection[tuple[int, int]],
    ) -> None:
        self.terms = terms
        self.k = k
        self.known: dict[int, dict[int, int]] = {}
        self.excluded: dict[int, set[int]] = {}
        self.threshold = 0
        self.grows = allowed is None
        for scope, ordinal in excluded:
            self.excluded.setdefault(scope, set()).add(ordinal)
        for scope, ordinal in set(allowed or ()).difference(excluded):
            self.known.setdefault(scope, {})[ordinal] = 0
        self.steps = sorted(
            step
            for at, term in enumerate(terms)
            for step in (
                _Step(term.base_rows, True, term.base_ceiling, at),
                _Step(term.surplus_rows * _SURPLUS_COST, False, term.surplus_ceiling, at),
            )
            if step.cost
        )
        self.rest = sum(step.ceiling for step in self.steps)
        self.pending: dict[int, list[_Step]] = {}
        for step in self.steps:
            self.pending.setdefault(step.term, []).append(step)

    def run(self, deadline: Callable[[], bool]) -> bool:
        """Count every term; False if the deadline came first."""
        for number, step in enumerate(self.steps):
            if number and self.grows and deadline():
                return False
            self.grows = self.grows and not self._is_closed(step)
            if not self.grows:
                break
            self._grow(step)
            self._settle(step)
        for number, steps in enumerate(list(self.pending.values())):
            if number and deadline():
                return False
            self._prune()
            for found in self.terms[steps[0].term].lists:
                self._look_up(steps, found)
            for step in list(steps):
                self._settle(step)
        return True

    def _settle(self, step: _Step) -> None:
        """Take the step out of what is left to count."""
        self.rest -= step.ceiling
        self.pending[step.term].remove(step)
        if not self.pending[step.term]:
            del self.pending[step.term]

    def best(self) -> list[Hit]:
        """The best k rows of those known, best first."""
        least = max(1, min(self._leaders(), default=0))
        rows = [
            Hit(points, scope, ordinal)
            for scope, scores in self.known.items()
            for ordinal, points in scores.items()
            if points >= least
        ]
        return sorted(rows, reverse=True)[: self.k]

    def _leaders(self) -> list[int]:
        """The k best scores so far."""
        return nlargest(self.k, chain.from_iterable(scores.values() for scores in self.known.values()))

    def _is_closed(self, step: _Step) -> bool:
        """Whether no row unseen can get in any more, found out at less than the cost of the step.

        The leaders' scores so far are a weak threshold; their scores over all terms cost k binary searches a term and
        often save growing by several long lists.
        """
        known = sum(map(len, self.known.values()))
        if known < self.k or known > _LEADERS_COST * step.cost:
            return False
        scores = self._leaders()
        self.threshold = max(self.threshold, scores[-1])
        hopeless = scores[-1] * _PROMISE < self.rest
        if self.rest < self.threshold or hopeless or self.k * len(self.pending) * _PROBE_COST > step.cost:
            return self.rest < self.threshold
        completed = [hit.points + self._missing(hit) for hit in self.best()]
        self.threshold = max(self.threshold, min(completed))
        return self.rest < self.threshold

    def _missing(self, hit: Hit) -> int:
        """What the terms left to count add to a row's points."""
        points = 0
        row = {hit.ordinal: 0}
        for steps in self.pending.values():
            for found in self.terms[steps[0].term].lists:
                if found.scope == hit.scope:
                    points += sum(gain for _, gain in self._gains(steps, found, row))
        return points

    def _prune(self) -> None:
        """Drop the rows that cannot reach the k-th best any more."""
        scores = self._leaders()
        if len(scores) == self.k:
            self.threshold = max(self.threshold, scores[-1])
        least = self.threshold - self.rest
        if least > 0:
            for scope, rows in self.known.items():
                self.known[scope] = {ordinal: points for ordinal, points in rows.items() if points >= least}

    def _grow(self, step: _Step) -> None:
        """Add the step's points to its rows, known or not."""
        term = self.terms[step.term]
        for found in term.lists:
            if step.is_base:
                new = dict(zip(found.ordinals, _base_points(found, term.weight), strict=True))
            else:
                new = _surplus_points(found, term.weight)
            for ordinal in new.keys() & self.excluded.get(found.scope, ()):
                del new[ordinal]
            rows = self.known.setdefault(found.scope, {})
            for ordinal in rows.keys() & new.keys():
                new[ordinal] += rows[ordinal]
            if len(new) <= len(rows):
                rows.update(new)
            else:
                self.known[found.scope] = rows | new

    def _look_up(self, steps: Sequence[_Step], found: PostingList) -> None:
        """Add the points of what is left of a term to known rows alone."""
        rows = self.known.get(found.scope)
        if rows:
            for ordinal, gain in self._gains(steps, found, rows):
                rows[ordinal] += gain

    def _gains(
        self, steps: Sequence[_Step], found: PostingList, rows: dict[int, int]
    ) -> list[tuple[int, int]]:
        """The rows that hold the term, each with the points that these steps of it add."""
        ordinals, tfs, lengths, average = found.ordinals, found.tfs, found.lengths, found.average
        weight = self.terms[steps[0].term].weight
        with_base = any(step.is_base for step in steps)
        with_surplus = len(steps) == 2 or not with_base
        once = impacts(average, 1)
        end = len(ordinals)
        gains = []
        for ordinal in list(rows) if len(rows) * _SEARCH_COST < end else rows.keys() & ordinals:
            at = bisect_left(ordinals, ordinal)
            if at < end and ordinals[at] == ordinal:
                code = lengths[at]
                impact = once[code] if with_base else 0
                if with_surplus and tfs[at] > 1:
                    impact += impacts(average, tfs[at])[code] - once[code]
                gains.append((ordinal, weight * impact))
        return gains


def _base_points(found: PostingList, weight: int) -> Iterable[int]:
    """Points of each posting as if it held the term once."""
    once = impacts(found.average, 1)
    if len(found.lengths) <= _NARROW_POSTINGS_MAX:
        return [weight * once[code] for code in found.lengths]
    return map([weight * impact for impact in once].__getitem__, found.lengths)


def _surplus_points(found: PostingList, weight: int) -> dict[int, int]:
    """What repetition adds to the base points, for the rows that hold the term more than once."""
    once = impacts(found.average, 1)
    points = {}
    for match in _NOT_ONE.finditer(found.tfs):
        at = match.start()
        code = found.lengths[at]
        points[found.ordinals[at]] = weight * (impacts(found.average, found.tfs[at])[code] - once[code])
    return points
