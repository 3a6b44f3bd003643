"""Postings as bytes, and the exact best rows of a query: BM25 in integers, MaxScore in pure Python.

A block holds n postings of one term in one scope, ordinals ascending: n × u32 ordinal little endian, n × u8 term
frequency, n × u8 length code. Integers make the order of rows the same on every machine and both databases: score
descending, then (scope, ordinal) descending.

BM25 after Robertson and Zaragoza, "The Probabilistic Relevance Framework" (2009); MaxScore after Turtle and Flood,
"Query evaluation: strategies and optimizations" (1995).
"""

import math
import re
import struct
import sys
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache
from heapq import nlargest
from itertools import chain
from typing import NamedTuple

K1, B = 1.2, 0.75
IMPACT_SCALE = 1024
"""The impact of one occurrence in a row of average length; the largest possible impact is (k1 + 1) times this."""
WEIGHT_SCALE = 256
POSTING_BYTES = 6
PACKED = struct.Struct("<qIBB")
"""A posting that is in no block yet: term, ordinal, term frequency, length code."""
BLOCK_POSTINGS_MAX = 4096
TF_MAX = 255
CODE_MAX = 255
EXACT_LENGTH_MAX = 64
CODES_PER_DOUBLING = 16
LENGTHS = tuple(
    code if code <= EXACT_LENGTH_MAX else EXACT_LENGTH_MAX * 2 ** ((code - EXACT_LENGTH_MAX) / CODES_PER_DOUBLING)
    for code in range(CODE_MAX + 1)
)
"""The length in tokens that each code stands for: above 64 to about 2 %, up to some 250,000 tokens."""

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

Rows = Collection[tuple[int, int]]
"""Rows as (scope, ordinal)."""
Deadline = Callable[[], bool]
"""Whether the time is over."""


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


def length_code(tokens: int) -> int:
    """One byte for a length in tokens: exact up to 64, logarithmic above."""
    if tokens <= EXACT_LENGTH_MAX:
        return tokens
    return min(CODE_MAX, EXACT_LENGTH_MAX + round(CODES_PER_DOUBLING * math.log2(tokens / EXACT_LENGTH_MAX)))


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


def without(block: bytes, ordinal: int) -> tuple[bytes, int] | None:
    """The block without the row, and how often the row held the term; None if it does not hold it."""
    if ordinal.to_bytes(4, "little") not in block:
        return None
    ordinals, tfs, lengths = decode([block])
    at = bisect_left(ordinals, ordinal)
    if at == len(ordinals) or ordinals[at] != ordinal:
        return None
    del ordinals[at]
    return encode(ordinals, tfs[:at] + tfs[at + 1 :], lengths[:at] + lengths[at + 1 :]), tfs[at]


def pack(ordinal: int, terms: Sequence[int]) -> bytes:
    """The postings of a row that is in no block yet."""
    code = length_code(len(terms))
    return b"".join([PACKED.pack(term, ordinal, min(tf, TF_MAX), code) for term, tf in Counter(terms).items()])


def invert(packed: bytes) -> dict[int, bytes]:
    """A block for each term of packed postings whose ordinals ascend, however many postings that makes."""
    found: dict[int, list[list[int]]] = {}
    for term, *posting in PACKED.iter_unpack(packed):
        found.setdefault(term, []).append(posting)
    columns = ((term, zip(*group, strict=True)) for term, group in found.items())
    return {term: encode(array("I", next(each)), bytes(next(each)), bytes(next(each))) for term, each in columns}


def gather(scope: int, average: int, blocks: Iterable[bytes], packed: bytes, term: int) -> PostingList:
    """The postings of the term in its blocks and among packed ones, whose ordinals are above those of the blocks.

    The term's bytes are searched for: that skips over a hundred thousand packed bytes in 0.1 ms.
    """
    ordinals, tfs, lengths = decode(blocks)
    wanted = term.to_bytes(8, "little", signed=True)
    late = []
    at = packed.find(wanted)
    while at >= 0:
        if at % PACKED.size == 0:
            late.append(PACKED.unpack_from(packed, at)[1:])
        at = packed.find(wanted, at + 1)
    ordinals.extend(entry[0] for entry in late)
    tfs += bytes(entry[1] for entry in late)
    lengths += bytes(entry[2] for entry in late)
    return PostingList(scope, average, ordinals, tfs, lengths)


@lru_cache(maxsize=1024)
def impacts(average: int, tf: int) -> tuple[int, ...]:
    """BM25's term frequency part for each length code, in 1/1024; at least 1, so that no row that fits is lost."""
    return tuple(
        max(1, round(IMPACT_SCALE * tf * (K1 + 1) / (tf + K1 * (1 - B + B * length / average)))) for length in LENGTHS
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

    A word that no row holds counts in the perfect score all the same: half of what was asked for is half a match.
    """
    terms: list[Term] = []
    perfect = 0
    for word in words:
        lists = tuple(found for found in word if found.ordinals)
        rows = sum(len(found.ordinals) for found in lists)
        weight = weight_of(rows, max(documents, rows))
        perfect += weight * IMPACT_SCALE
        if not rows:
            continue
        base = surplus_rows = surplus = 0
        for found in lists:
            shortest = next(code for code in range(CODE_MAX + 1) if code in found.lengths)
            base = max(base, impacts(found.average, 1)[shortest])
            repeated = found.tfs.translate(None, b"\x01")
            if repeated:
                surplus_rows += len(repeated)
                surplus = max(surplus, _surplus_max(found.average, max(repeated)))
        terms.append(Term(weight, lists, rows, weight * base, surplus_rows, weight * surplus))
    return Query(tuple(terms), perfect)


def top_k(
    query: Query, k: int, *, deadline: Deadline | None = None, allowed: Rows | None = None, excluded: Rows = ()
) -> tuple[list[Hit], bool]:
    """The best `k` rows, best first, and whether every term was counted.

    The weights of the terms do not depend on the rows `allowed` and `excluded`. When `deadline` says so between two
    terms, the answer is the best `k` so far: the rarest words are counted first.
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

    def __init__(self, terms: Sequence[Term], k: int, allowed: Rows | None, excluded: Rows) -> None:
        self.terms = terms
        self.k = k
        self.known: dict[int, dict[int, int]] = {}
        self.excluded = frozenset(excluded)
        self.threshold = 0
        self.grows = allowed is None
        for scope, ordinal in set(allowed or ()) - self.excluded:
            self.known.setdefault(scope, {})[ordinal] = 0
        # The rarest term comes first in any case: its rows are the best answer if time is over then.
        rarest = min(term.base_rows for term in terms)
        self.steps = sorted(
            step
            for at, term in enumerate(terms)
            for step in (
                _Step(term.base_rows, True, term.base_ceiling, at),
                _Step(rarest + term.surplus_rows * _SURPLUS_COST, False, term.surplus_ceiling, at),
            )
            if step.ceiling
        )
        self.rest = sum(step.ceiling for step in self.steps)
        self.pending: dict[int, list[_Step]] = {}
        for step in self.steps:
            self.pending.setdefault(step.term, []).append(step)

    def run(self, deadline: Deadline) -> bool:
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
                self._look_up(steps, found, self.known.get(found.scope, {}))
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
        leading = [
            Hit(points, scope, ordinal)
            for scope, rows in self.known.items()
            for ordinal, points in rows.items()
            if points >= least
        ]
        return sorted(leading, reverse=True)[: self.k]

    def _leaders(self) -> list[int]:
        """The k best scores so far."""
        return nlargest(self.k, chain.from_iterable(rows.values() for rows in self.known.values()))

    def _is_closed(self, step: _Step) -> bool:
        """Whether no row unseen can get in any more, found out at less than the cost of the step.

        The leaders' scores so far are a weak threshold; their scores over all terms cost k binary searches a term and
        often save growing by several long lists.
        """
        if not self.k <= sum(map(len, self.known.values())) <= _LEADERS_COST * step.cost:
            return False
        scores = self._leaders()
        self.threshold = max(self.threshold, scores[-1])
        hopeless = scores[-1] * _PROMISE < self.rest
        if self.rest >= self.threshold and not hopeless and self.k * len(self.pending) * _PROBE_COST <= step.cost:
            completed = [self._completed(hit) for hit in self.best()]
            if len(completed) == self.k:
                self.threshold = max(self.threshold, min(completed))
        return self.rest < self.threshold

    def _completed(self, hit: Hit) -> int:
        """The row's points over all terms."""
        row = {hit.ordinal: hit.points}
        for steps in self.pending.values():
            for found in self.terms[steps[0].term].lists:
                if found.scope == hit.scope:
                    self._look_up(steps, found, row)
        return row[hit.ordinal]

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
            new = _points(found, term.weight, is_base=step.is_base)
            if self.excluded:
                new = {row: points for row, points in new.items() if (found.scope, row) not in self.excluded}
            rows = self.known.get(found.scope, {})
            for ordinal in rows.keys() & new.keys():
                new[ordinal] += rows[ordinal]
            rows.update(new)
            self.known[found.scope] = rows

    def _look_up(self, steps: Sequence[_Step], found: PostingList, rows: dict[int, int]) -> None:
        """Add the points of these steps of a term to those of the rows that hold it."""
        ordinals, tfs, lengths, average = found.ordinals, found.tfs, found.lengths, found.average
        weight = self.terms[steps[0].term].weight
        with_base = any(step.is_base for step in steps)
        with_surplus = len(steps) == 2 or not with_base
        once = impacts(average, 1)
        end = len(ordinals)
        for ordinal in list(rows) if len(rows) * _SEARCH_COST < end else rows.keys() & ordinals:
            at = bisect_left(ordinals, ordinal)
            if at < end and ordinals[at] == ordinal:
                code = lengths[at]
                impact = once[code] if with_base else 0
                if with_surplus and tfs[at] > 1:
                    impact += impacts(average, tfs[at])[code] - once[code]
                rows[ordinal] += weight * impact


def _points(found: PostingList, weight: int, *, is_base: bool) -> dict[int, int]:
    """The rows of a list with their base points, or those that repeat the term with what repetition adds."""
    once = impacts(found.average, 1)
    if not is_base:
        repeated = [match.start() for match in _NOT_ONE.finditer(found.tfs)]
        gains = [impacts(found.average, found.tfs[at])[found.lengths[at]] - once[found.lengths[at]] for at in repeated]
        return {found.ordinals[at]: weight * gain for at, gain in zip(repeated, gains, strict=True)}
    points: Iterable[int] = (weight * once[code] for code in found.lengths)
    if len(found.lengths) > _NARROW_POSTINGS_MAX:
        points = map([weight * impact for impact in once].__getitem__, found.lengths)
    return dict(zip(found.ordinals, points, strict=True))
