"""The text index over a transaction: what it finds, what it never finds again, and what its upkeep must not change."""

import random
import re
from collections import Counter
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_postings import brute_force
from tx_double import TxDouble, run

from octop_bridge.domain import postings
from octop_bridge.storage import textindex
from octop_bridge.storage.textindex import IndexRow

ME = "user:me"
WORDS = [pick.getrandbits(64) - 2**63 for pick in [random.Random(8)] for _ in range(300)]
SLOPE = [1 / (rank + 3) for rank in range(len(WORDS))]


def some_rows(number, seed=1, prefix="row"):
    pick = random.Random(seed)
    return [IndexRow(f"{prefix}{at:05}", 0, pick.choices(WORDS, SLOPE, k=pick.randint(6, 14))) for at in range(number)]


def add(tx, rows, owner=ME, layer="atom"):
    run(textindex.add(tx, owner, layer, rows))


def scopes(tx, *layers, owners=(ME,)):
    return run(textindex.scopes_of(tx, owners, layers or ("atom",)))


def find(tx, terms, k=10, where=None, **more):
    answer = run(textindex.search(tx, where or scopes(tx), terms, k, **more))
    assert answer.complete
    return answer.matches


def ids(matches):
    return [match.id for match in matches]


def merge_all(tx, limit=250):
    return sum(merged for scope, _ in run(textindex.fresh_counts(tx)) for merged in merges(tx, scope, limit))


def merges(tx, scope, limit):
    while merged := run(textindex.merge(tx, scope, limit)):
        yield merged


def ranked(tx, seed=5):
    """Top tens of queries of every kind, without the numbers of rows and scopes."""
    pick = random.Random(seed)
    queries = [pick.sample(WORDS, 4) for _ in range(12)] + [pick.choices(WORDS, SLOPE, k=6) for _ in range(12)]
    return [[match[:4] for match in find(tx, query)] for query in queries]


def table(tx, name):
    return tx.connection.execute(f"SELECT * FROM {name}").fetchall()


@pytest.fixture
def tx():
    return TxDouble()


def test_a_row_is_found_in_the_transaction_that_adds_it(tx):
    add(tx, [IndexRow("a", 0, [1, 2]), IndexRow("b", 3, [2, -5, -5])])
    assert ids(find(tx, [1])) == ["a"]
    assert find(tx, [-5])[0][:2] == ("b", 3)
    assert ids(find(tx, [2])) == ["a", "b"]
    assert find(tx, [99]) == []


def test_a_capture_takes_three_statements_and_a_search_four(tx):
    add(tx, some_rows(1))
    tx.calls.clear()
    add(tx, some_rows(2, prefix="next"))
    assert tx.calls.total() == 3
    merge_all(tx)
    where = scopes(tx)
    tx.calls.clear()
    assert find(tx, WORDS[:5], where=where)
    assert tx.calls.total() == 4
    tx.calls.clear()
    add(tx, [])
    assert run(textindex.search(tx, [], [1], 5)) == ([], True)
    assert run(textindex.search(tx, [1], [], 5)) == ([], True)
    assert run(textindex.search(tx, [1], [1], 0)) == ([], True)
    assert not tx.calls


def test_a_scope_is_made_when_it_is_needed_and_keeps_its_number(tx):
    assert run(textindex.scope_of(tx, ME, "raw", create=False)) is None
    made = run(textindex.scope_of(tx, ME, "raw", create=True))
    assert run(textindex.scope_of(tx, ME, "raw", create=True)) == made
    assert run(textindex.scope_of(tx, "user:you", "raw", create=True)) != made
    assert run(textindex.remove(tx, "user:nobody", "raw", "a")) == []
    assert scopes(tx, "raw", "atom", owners=[ME, "user:nobody"]) == [made]


def test_top_tens_are_the_same_fresh_half_merged_merged_and_rebuilt(tx):
    rows = some_rows(600)
    add(tx, rows)
    fresh = ranked(tx)
    (scope,) = scopes(tx)
    assert run(textindex.merge(tx, scope)) >= 250
    assert ranked(tx) == fresh
    merge_all(tx)
    assert run(textindex.fresh_counts(tx)) == []
    assert ranked(tx) == fresh
    assert run(textindex.rebuild(tx, ME, "atom", iter(rows))) == 600
    assert ranked(tx) == fresh


def test_merging_takes_about_as_many_rows_as_it_is_told(tx):
    add(tx, some_rows(100))
    (scope,) = scopes(tx)
    assert run(textindex.fresh_counts(tx)) == [(scope, 100)]
    merged = run(textindex.merge(tx, scope, 16))
    assert 9 <= merged <= 16
    assert run(textindex.fresh_counts(tx)) == [(scope, 100 - merged)]
    assert merge_all(tx, 16) == 100 - merged
    assert run(textindex.merge(tx, scope)) == 0


@pytest.mark.parametrize("with_terms", [True, False, "another version's"])
@pytest.mark.parametrize("merged", [True, False])
def test_what_is_removed_leaves_no_trace_in_any_ranking(tx, merged, with_terms):
    rows = some_rows(300)
    gone = [rows[at] for at in (0, 7, 8, 150, 299)]
    for part in range(0, 300, 50):
        add(tx, rows[part : part + 50])
        if merged:
            merge_all(tx)
    assert gone[3].id in ids(find(tx, gone[3].terms, 3))
    for row in gone:
        hint = {True: row.terms, False: ()}.get(with_terms, [*row.terms[:2], 5, 6])
        (taken,) = run(textindex.remove(tx, ME, "atom", row.id, terms=hint))
        assert taken[:2] == row[:2]
        assert Counter(taken.terms) == Counter(row.terms)
        assert row.id not in ids(find(tx, row.terms, 300))
        assert run(textindex.remove(tx, ME, "atom", row.id)) == []
    other = TxDouble()
    add(other, [row for row in rows if row not in gone])
    assert ranked(tx) == ranked(other)
    assert [row[2:4] for row in table(tx, "term_stats")] == [row[2:4] for row in table(other, "term_stats")]


def test_the_terms_given_for_a_removal_save_reading_other_blocks(tx):
    rows = some_rows(60)
    add(tx, rows)
    merge_all(tx)
    tx.calls.clear()
    run(textindex.remove(tx, ME, "atom", rows[30].id, terms=rows[30].terms))
    assert tx.calls["index_all_blocks_at"] == 0
    run(textindex.remove(tx, ME, "atom", rows[31].id))
    assert tx.calls["index_all_blocks_at"] > 0


def test_a_word_taken_out_of_the_middle_of_a_full_block_is_gone_and_its_neighbours_stay(tx):
    add(tx, [IndexRow(f"{at:05}", 0, [7, 1000 + at]) for at in range(5000)])
    merge_all(tx, 2000)
    run(textindex.remove(tx, ME, "atom", "02500", terms=[7, 3500]))
    assert find(tx, [3500]) == []
    assert ids(find(tx, [3499]) + find(tx, [3501])) == ["02499", "02501"]
    every = ids(find(tx, [7], 6000))
    assert len(every) == 4999
    assert "02500" not in every
    assert [row for row in table(tx, "postings") if row[2] == 3500] == []


def test_an_ordinal_is_never_used_again(tx):
    add(tx, [IndexRow("a", 0, [1])])
    run(textindex.remove(tx, ME, "atom", "a"))
    add(tx, [IndexRow("b", 0, [2])])
    assert [row[2:4] for row in table(tx, "docs")] == [(2, "b")]
    run(textindex.rebuild(tx, ME, "atom", [IndexRow("c", 0, [2])]))
    assert [row[2:4] for row in table(tx, "docs")] == [(3, "c")]


@pytest.mark.parametrize("merged", [True, False])
def test_a_row_that_moves_is_found_in_its_new_layer_alone(tx, merged):
    add(tx, [IndexRow("a", 0, [1, 1, 2]), IndexRow("a", 1, [3]), IndexRow("b", 0, [2])])
    add(tx, [IndexRow("c", 0, [9])], layer="atom_past")
    if merged:
        merge_all(tx)
    assert run(textindex.move(tx, ME, "a", "atom", "atom_past", terms=[1, 2, 3])) == 2
    assert ids(find(tx, [1, 2, 3])) == ["b"]
    past = find(tx, [1, 3], where=scopes(tx, "atom_past"))
    assert [(match.id, match.piece) for match in past] == [("a", 0)]
    assert run(textindex.move(tx, ME, "absent", "atom", "atom_past")) == 0


def test_two_scopes_are_ranked_as_one_collection(tx):
    rows = some_rows(200)
    add(tx, rows[:120], layer="atom")
    add(tx, rows[120:], layer="atom_past")
    merge_all(tx, 64)
    where = scopes(tx, "atom", "atom_past")
    held = {(where[0], at + 1): row.terms for at, row in enumerate(rows[:120])}
    held |= {(where[1], at + 1): row.terms for at, row in enumerate(rows[120:])}
    averages = dict.fromkeys(where, textindex.AVERAGE_TOKENS["atom"])
    for terms in (WORDS[:3], WORDS[20:26], [WORDS[0], WORDS[250]]):
        found = [(match.points, match.scope, match.id) for match in find(tx, terms, where=where)]
        expected = brute_force(held, terms, 10, averages)
        assert found == [
            (points, scope, rows[ordinal - 1 + 120 * (scope == where[1])].id) for points, scope, ordinal in expected
        ]


def test_other_owners_and_namespaces_do_not_change_what_i_find(tx):
    add(tx, some_rows(150))
    before = ranked(tx)
    add(tx, some_rows(400, seed=9, prefix="yours"), owner="user:you")
    stranger = TxDouble("other", tx.connection)
    add(stranger, some_rows(400, seed=10, prefix="theirs"))
    merge_all(tx)
    merge_all(stranger)
    assert ranked(tx) == before
    mixed = scopes(tx, owners=[ME, "user:you"])
    assert {match.id[:3] for match in find(tx, WORDS[:4], 300, where=mixed)} == {"row", "you"}
    assert {match.id[:3] for match in find(stranger, WORDS[:4], 300)} == {"the"}


def test_pieces_of_one_id_count_once_with_the_best(tx):
    add(tx, [IndexRow("long", piece, [5] * (1 + piece % 3) + [6] * 4) for piece in range(6)])
    add(tx, [IndexRow("other", 0, [5] + [6] * 9)])
    matches = find(tx, [5], 2)
    assert [(match.id, match.piece) for match in matches] == [("long", 5), ("other", 0)]
    assert 0 < matches[1].points < matches[0].points


def test_the_search_goes_deeper_until_enough_are_kept_and_asks_once_an_id(tx):
    add(tx, [IndexRow(f"{at:03}", 0, [1]) for at in range(200)])
    asked = []

    async def keep(some):
        asked.extend(some)
        return {one for one in some if int(one) % 40 == 0}

    assert ids(find(tx, [1], 3, keep=keep)) == ["160", "120", "080"]
    assert len(asked) == len(set(asked)) < 200
    assert len(find(tx, [1], 9, keep=keep)) == 5
    assert ids(find(tx, [1], 3)) == ["199", "198", "197"]


def test_only_the_ids_named_are_candidates_with_the_points_they_have_anyway(tx):
    rows = some_rows(200)
    add(tx, rows)
    merge_all(tx)
    every = {match.id: match for match in find(tx, WORDS[:3], 200)}
    named = [rows[at].id for at in range(0, 200, 9)] + ["absent"]
    some = find(tx, WORDS[:3], 200, only=named)
    assert some == [match for match in every.values() if match.id in named]
    assert 0 < len(some) < len(every)
    assert find(tx, WORDS[:3], only=[]) == []


def test_a_deadline_gives_the_rows_of_the_rarest_word_and_says_that_it_is_not_all(tx):
    add(tx, [IndexRow(f"{at:03}", 0, [1, 2] if at == 7 else [2]) for at in range(300)])
    answer = run(textindex.search(tx, scopes(tx), [1, 2], 5, deadline=lambda: True))
    assert not answer.complete
    assert ids(answer.matches) == ["007"]
    assert run(textindex.search(tx, scopes(tx), [1, 2], 5, deadline=lambda: False)).complete


def test_a_deadline_on_the_way_down_keeps_what_was_found(tx):
    add(tx, [IndexRow(f"{at:03}", 0, [1, 2] if at % 2 else [2]) for at in range(300)])
    over = count()

    async def keep(some):
        return {"299", "297"} & set(some)

    answer = run(textindex.search(tx, scopes(tx), [1, 2], 5, deadline=lambda: next(over) > 2, keep=keep))
    assert not answer.complete
    assert ids(answer.matches) == ["299", "297"]


def test_a_score_is_a_share_of_what_was_asked_for(tx):
    add(tx, some_rows(100))
    add(tx, [IndexRow("whole", 0, [11, 12, *WORDS[-10:]]), IndexRow("half", 0, [12, *WORDS[-11:]])])
    found = {match.id: match.score for match in find(tx, [11, 12], 5)}
    assert found["whole"] == pytest.approx(1.0)
    assert 0.35 < found["half"] < 0.5
    assert 0.4 < find(tx, [11, 31337], 1)[0].score < 0.5
    assert max(match.score for match in find(tx, [WORDS[0]])) <= 1


@pytest.mark.promise("R65")
@pytest.mark.parametrize("merged", [True, False])
def test_a_rare_word_among_five_thousand_rows_is_found(tx, merged):
    rows = [IndexRow(f"{at:04}", 0, [1, 2 + at % 40]) for at in range(5000)]
    rows[1234] = IndexRow("1234", 0, [1, 777])
    add(tx, rows)
    if merged:
        merge_all(tx, 2500)
    assert ids(find(tx, [777])) == ["1234"]
    assert ids(find(tx, [1, 777], 1)) == ["1234"]


def test_a_common_word_ends_up_in_few_full_blocks_that_ascend(tx):
    for at in range(0, 9000, 300):
        add(tx, [IndexRow(f"{at + more:05}", 0, [1, 10 + more]) for more in range(300)])
        merge_all(tx, 300)
    blocks = [(first, n, data) for _, _, term, first, n, data in table(tx, "postings") if term == 1]
    sizes = [n for _, n, _ in sorted(blocks)]
    assert sum(sizes) == 9000
    assert sizes[:2] == [postings.BLOCK_POSTINGS_MAX] * 2
    assert len(sizes) <= 2 + postings.BLOCK_POSTINGS_MAX // textindex.SMALL_BLOCK_MAX
    ordinals, _, _ = postings.decode(data for _, _, data in sorted(blocks))
    assert ordinals.tolist() == list(range(1, 9001))
    rare = [n for _, _, term, _, n, _ in table(tx, "postings") if term == 10]
    assert rare == [30]


def test_rows_of_another_token_version_show_until_they_are_rebuilt(tx):
    run(textindex.add(tx, ME, "atom", some_rows(5), token_version=1))
    run(textindex.add(tx, ME, "raw", some_rows(5), token_version=2))
    assert [found[:2] for found in run(textindex.stale(tx, 2))] == [(ME, "atom")]
    run(textindex.rebuild(tx, ME, "atom", some_rows(5, seed=2), token_version=2))
    assert run(textindex.stale(tx, 2)) == []


def test_dropping_all_empties_this_namespace_alone(tx):
    add(tx, some_rows(40))
    other = TxDouble("other", tx.connection)
    add(other, some_rows(40))
    for each in (tx, other):
        run(textindex.merge(each, scopes(each)[0], 20))
    before = ranked(other)
    run(textindex.drop_all(tx))
    assert scopes(tx) == []
    assert {row[0] for name in ("docs", "fresh", "postings", "scopes", "term_stats") for row in table(tx, name)} == {
        "other"
    }
    assert ranked(other) == before
    add(tx, some_rows(40))
    assert ranked(tx) == before


LOOKED_UP_BY = {
    "owner=? AND layer=?": ["index_scopes", "index_reserve"],
    "scope=?": ["index_stats", "index_fresh"],
    "scope=? AND ord=?": ["index_ids", "index_take_fresh"],
    "id=? AND scope=?": ["index_rows_of", "index_take_docs"],
    "scope=? AND term=?": ["index_postings", "index_tails", "index_blocks_at"],
    "scope=? AND term=? AND first=?": ["index_all_blocks_at"],
}


@pytest.mark.parametrize(("columns", "name"), [(key, name) for key, names in LOOKED_UP_BY.items() for name in names])
def test_no_statement_reads_rows_that_it_does_not_need(tx, columns, name):
    statement = tx.statements[name]
    names = set(re.findall(r":(\w+)", statement.sql))
    plan = tx.connection.execute(f"EXPLAIN QUERY PLAN {statement.sql}", dict.fromkeys(names, "[1]")).fetchall()
    steps = [row[3] for row in plan if "json_each" not in row[3]]
    assert any(f"(namespace=? AND {columns})" in step for step in steps), steps
    assert not [step for step in steps if step.startswith("SCAN") and step != "SCAN q"], steps


moves = st.lists(
    st.tuples(st.sampled_from(["add", "add", "remove", "move", "merge"]), st.integers(0, 9), st.integers(0, 10**6)),
    min_size=4,
    max_size=25,
)


@settings(max_examples=40, deadline=None)
@given(moves)
def test_whatever_is_added_moved_removed_and_merged_the_ranking_is_that_of_every_row_looked_at(steps):
    tx = TxDouble()
    layers = ("raw", "raw_cited")
    where = [run(textindex.scope_of(tx, ME, layer, create=True)) for layer in layers]
    held = {}
    for step, at, seed in steps:
        one = f"id{at}"
        layer = next((layer for layer in layers for row in held if row[:2] == (layer, one)), None)
        if step == "add" and layer is None:
            pick = random.Random(seed)
            rows = [IndexRow(one, piece, pick.choices(range(8), k=pick.randint(1, 9))) for piece in range(at % 3 + 1)]
            add(tx, rows, layer=layers[seed % 2])
            held |= {(layers[seed % 2], one, row.piece): list(row.terms) for row in rows}
        elif step == "merge":
            run(textindex.merge(tx, where[at % 2], 1 + seed % 20))
        elif layer and step in {"remove", "move"}:
            mine = {key: terms for key, terms in held.items() if key[1] == one}
            hint = {term for terms in mine.values() for term in terms} if seed % 2 else ()
            held = {key: terms for key, terms in held.items() if key[1] != one}
            if step == "remove":
                run(textindex.remove(tx, ME, layer, one, terms=hint))
            else:
                target = layers[layer == layers[0]]
                run(textindex.move(tx, ME, one, layer, target, terms=hint))
                held |= {(target, one, piece): terms for (_, _, piece), terms in mine.items()}
    named = [row[1:5] for row in table(tx, "docs")]
    places = {(scope, ordinal): (layers[where.index(scope)], one, piece) for scope, ordinal, one, piece in named}
    rows = {place: held[name] for place, name in places.items()}
    assert len(rows) == len(held)
    for terms in ([0], [1, 2, 3], range(9)):
        best = {}
        for points, *place in brute_force(rows, terms, 99, dict.fromkeys(where, textindex.AVERAGE_TOKENS["raw"])):
            _, one, piece = places[tuple(place)]
            best.setdefault(one, (one, piece, points))
        found = find(tx, list(terms), 30, where=where)
        assert [(match.id, match.piece, match.points) for match in found] == list(best.values())
