"""Blocks, BM25 in integers, and the exact best rows: held against a scorer that looks at every row."""

import itertools
import math
import random
from array import array

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octop_bridge.domain import postings

AVERAGE = 12
quick = settings(max_examples=60, deadline=None)


def impact(tf, length, average=AVERAGE):
    return round(1024 * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * length / average)))


def brute_force(rows, words, k, averages, allowed=None, excluded=()):
    """`rows` maps (scope, ordinal) to terms with repetition; lengths up to 64, where the code is exact."""
    points = dict.fromkeys(rows, 0)
    for word in set(words):
        df = sum(word in terms for terms in rows.values())
        weight = max(1, round(256 * math.log(1 + (len(rows) - df + 0.5) / (df + 0.5))))
        for row, terms in rows.items():
            if word in terms:
                points[row] += weight * impact(terms.count(word), len(terms), averages[row[0]])
    scored = [
        (score, *row)
        for row, score in points.items()
        if score and row not in excluded and (allowed is None or row in allowed)
    ]
    return sorted(scored, reverse=True)[:k]


def query_of(rows, words, averages):
    def found(word, scope):
        ordinals = sorted(ordinal for place, ordinal in rows if place == scope and word in rows[place, ordinal])
        held = [rows[scope, ordinal] for ordinal in ordinals]
        return postings.PostingList(
            scope,
            averages[scope],
            array("I", ordinals),
            bytes(terms.count(word) for terms in held),
            bytes(map(len, held)),
        )

    scopes = sorted({scope for scope, _ in rows})
    return postings.plan([[found(word, scope) for scope in scopes] for word in dict.fromkeys(words)], len(rows))


corpora = st.dictionaries(
    st.tuples(st.integers(1, 3), st.integers(0, 40)),
    st.lists(st.integers(0, 7), min_size=1, max_size=9),
    min_size=1,
    max_size=60,
)


@quick
@given(corpora, st.lists(st.integers(0, 9), min_size=1, max_size=6), st.integers(1, 12), st.data())
def test_the_best_rows_are_those_of_a_scorer_that_looks_at_every_row(rows, words, k, data):
    averages = {1: 12, 2: 12, 3: 5}
    some = st.none() | st.frozensets(st.sampled_from(sorted(rows)))
    allowed, excluded = data.draw(some), data.draw(some) or frozenset()
    expected = brute_force(rows, words, k, averages, allowed, excluded)
    hits, complete = postings.top_k(query_of(rows, words, averages), k, allowed=allowed, excluded=excluded)
    assert complete
    assert [tuple(hit) for hit in hits] == expected


@pytest.mark.parametrize("seed", range(6))
def test_long_lists_that_are_only_looked_up_in_change_no_rank(seed):
    pick = random.Random(seed)
    weights = [1 / (rank + 2) for rank in range(120)]
    rows = {
        (scope, ordinal): pick.choices(range(120), weights, k=pick.randint(3, 16))
        for scope in (1, 2)
        for ordinal in range(700)
    }
    averages = {1: 12, 2: 24}
    for k in (1, 5, 30):
        words = [*pick.choices(range(120), weights, k=pick.randint(2, 8)), pick.randrange(60, 140)]
        hits, _ = postings.top_k(query_of(rows, words, averages), k)
        assert [tuple(hit) for hit in hits] == brute_force(rows, words, k, averages)


def test_rows_of_equal_points_stand_by_scope_and_ordinal_descending():
    rows = {(1, 7): [1], (2, 3): [1], (1, 9): [1], (2, 1): [1, 1]}
    hits, _ = postings.top_k(query_of(rows, [1], {1: 12, 2: 12}), 4)
    assert [(hit.scope, hit.ordinal) for hit in hits] == [(2, 1), (2, 3), (1, 9), (1, 7)]


def test_a_row_of_average_length_with_every_word_once_is_perfect():
    others = {(1, ordinal): [9] * AVERAGE for ordinal in range(2, 30)}
    rows = others | {(1, 1): [1, 2, *range(20, 30)]}
    query = query_of(rows, [1, 2], {1: AVERAGE})
    hits, _ = postings.top_k(query, 1)
    assert hits[0].points == query.perfect


def test_a_word_that_no_row_holds_counts_in_the_perfect_score():
    rows = {(1, ordinal): [ordinal, *[99] * (AVERAGE - 1)] for ordinal in range(30)}
    query = query_of(rows, [5, 1000], {1: AVERAGE})
    hits, _ = postings.top_k(query, 1)
    assert 0.4 < hits[0].points / query.perfect < 0.5
    assert query_of(rows, [5], {1: AVERAGE}).perfect < query.perfect


def test_a_query_without_words_or_without_rows_finds_nothing():
    assert postings.top_k(postings.plan([], 5), 3) == ([], True)
    assert postings.top_k(postings.plan([[]], 5), 3) == ([], True)
    assert postings.top_k(query_of({(1, 1): [4]}, [4], {1: 12}), 0) == ([], True)


def test_a_deadline_leaves_the_rows_of_the_rarest_word_and_says_so():
    rows = {(1, ordinal): [1] * (ordinal % 2) + [2] + [3] * (ordinal == 17) for ordinal in range(400)}
    query = query_of(rows, [1, 2, 3], {1: AVERAGE})
    full, complete = postings.top_k(query, 10)
    assert complete
    asked = itertools.count(1)
    hits, complete = postings.top_k(query, 10, deadline=lambda: next(asked) >= 1)
    assert not complete
    assert [(hit.scope, hit.ordinal) for hit in hits] == [(1, 17)]
    assert 0 < hits[0].points < full[0].points


@pytest.mark.parametrize("words_counted", range(1, 8))
def test_a_deadline_at_any_point_gives_rows_that_fit_with_no_more_than_their_points(words_counted):
    pick = random.Random(3)
    rows = {(1, ordinal): pick.choices(range(12), range(1, 13), k=10) for ordinal in range(900)}
    query = query_of(rows, range(12), {1: AVERAGE})
    true_points = {
        (scope, ordinal): points for points, scope, ordinal in brute_force(rows, range(12), 900, {1: AVERAGE})
    }
    asked = itertools.count(1)
    hits, complete = postings.top_k(query, 10, deadline=lambda: next(asked) >= words_counted)
    assert not complete
    assert len({(hit.scope, hit.ordinal) for hit in hits}) == 10
    assert all(0 < hit.points <= true_points[hit.scope, hit.ordinal] for hit in hits)
    assert hits == sorted(hits, reverse=True)


ordinals = st.sets(st.integers(0, 2**32 - 1), min_size=1, max_size=30).map(sorted)


@quick
@given(ordinals, st.data())
def test_a_block_holds_what_was_put_in_and_loses_what_is_taken_out(numbers, data):
    byte_lists = st.lists(st.integers(1, 255), min_size=len(numbers), max_size=len(numbers))
    tfs, lengths = bytes(data.draw(byte_lists)), bytes(data.draw(byte_lists))
    block = postings.encode(array("I", numbers), tfs, lengths)
    assert len(block) == postings.POSTING_BYTES * len(numbers)
    assert block[:4] == numbers[0].to_bytes(4, "little")
    assert postings.decode([block]) == (array("I", numbers), tfs, lengths)
    at = data.draw(st.integers(0, len(numbers) - 1))
    left, tf = postings.without(block, numbers[at])
    assert tf == tfs[at]
    assert postings.decode([left])[0].tolist() == numbers[:at] + numbers[at + 1 :]
    assert postings.without(left, numbers[at]) is None


@quick
@given(st.lists(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=5), min_size=1, max_size=6))
def test_packed_rows_give_the_same_postings_before_and_after_they_are_inverted(rows):
    packed = b"".join(postings.pack(number, terms) for number, terms in enumerate(rows))
    blocks = postings.invert(packed)
    for term in {term for terms in rows for term in terms}:
        fresh = postings.gather(1, 12, [], packed, term)
        assert fresh == postings.gather(1, 12, [blocks[term]], b"", term)
        assert fresh.ordinals.tolist() == [number for number, terms in enumerate(rows) if term in terms]


def test_bytes_that_look_like_a_term_across_two_fields_are_no_hit():
    term = int.from_bytes(bytes([5, 1, 0, 0, 0, 1, 1, 9]), "little")
    # The last byte of the first posting's term, its ordinal, frequency and length, and the next term's first byte.
    packed = postings.PACKED.pack(5 << 56, 1, 1, 1) + postings.PACKED.pack(9, 2, 1, 1)
    assert term.to_bytes(8, "little") in packed
    assert not postings.gather(1, 12, [], packed, term).ordinals
    assert postings.gather(1, 12, [], packed + postings.PACKED.pack(term, 3, 1, 1), term).ordinals.tolist() == [3]


def test_lengths_are_exact_to_64_tokens_and_never_shrink_above():
    codes = [postings.length_code(tokens) for tokens in range(3000)]
    assert codes[:65] == list(range(65))
    assert codes == sorted(codes)
    assert all(abs(postings.LENGTHS[code] / tokens - 1) < 0.03 for tokens, code in enumerate(codes) if tokens)
    assert postings.length_code(10**9) == 255


def test_more_of_a_word_and_less_around_it_never_score_less():
    for tf in (1, 2, 7, 254):
        row = postings.impacts(AVERAGE, tf)
        assert list(row) == sorted(row, reverse=True)
        assert all(more >= one for more, one in zip(postings.impacts(AVERAGE, tf + 1), row, strict=True))
    assert postings.impacts(AVERAGE, 1)[AVERAGE] == postings.IMPACT_SCALE
    assert min(postings.impacts(AVERAGE, 1)) > 0
