"""The text index of a namespace: rows by owner and layer, found by the hashes of their terms, exactly and in order.

A row is written to `docs` and, packed, to `fresh`, in the transaction of what it indexes; merging moves it into blocks
of postings later. Both are read by a search, so nothing has to wait for a merge. Every function is part of a unit and
awaits nothing but its transaction. Each change of a scope writes the scope's row of `term_stats` first, which keeps two
changes of it apart on PostgreSQL.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from itertools import islice
from math import ceil
from typing import Final, Literal, NamedTuple

from octop_bridge.domain import postings
from octop_bridge.domain.tokens import TOKEN_VERSION
from octop_bridge.storage.engine import Params, Row, Tx

IndexLayer = Literal["atom", "atom_past", "raw", "raw_cited", "derived", "host"]
AVERAGE_TOKENS: Final[Mapping[str, int]] = {
    "atom": 12,
    "atom_past": 12,
    "raw": 24,
    "raw_cited": 24,
    "derived": 48,
    "host": 48,
}
"""The length that BM25 takes for the average of a layer. Fixed, so that nothing is rewritten when the real one drifts."""

FRESH_ROWS_TOGETHER: Final = 8
"""Rows that share a row of `fresh`: reading a thousand takes 0.1 ms so, and 1 to 2 ms one by one."""
SMALL_BLOCK_MAX: Final = 512
"""A merge rewrites the last block of a term up to here. Larger ones stay until they fill a block together."""
LARGE_BLOCK_MIN: Final = 3072
"""Blocks from here on are left alone for good."""
_SCAN_TERMS = 500
_BULK_ROWS = 5_000
_SCOPE_TRIES = 16

Keep = Callable[[list[str]], Awaitable[Collection[str]]]


class IndexRow(NamedTuple):
    """What is indexed of an id: one piece of its text, its terms with repetition."""

    id: str
    piece: int
    terms: Sequence[int]


class Match(NamedTuple):
    """An id that fits, with its best piece. `score` is 1 for a row of average length that holds every term once."""

    id: str
    piece: int
    points: int
    score: float
    scope: int


class Answer(NamedTuple):
    """Matches, best first; not complete where the deadline came before the last term was counted."""

    matches: list[Match]
    complete: bool


async def scope_of(
    tx: Tx, owner: str, layer: IndexLayer, *, create: bool, token_version: int = TOKEN_VERSION
) -> int | None:
    """The number of an owner's layer, None if there is none and none is wanted."""
    for _ in range(_SCOPE_TRIES):
        found = await tx.one("index_scope", owner=owner, layer=layer)
        if found or not create:
            return int(found[0]) if found else None
        if await tx.run("index_new_scope", owner=owner, layer=layer):
            break
    scope = await scope_of(tx, owner, layer, create=False)
    if scope is not None:
        await tx.run("index_new_stats", scope=scope, token_version=token_version)
    return scope


async def scopes_of(tx: Tx, owners: Iterable[str] | None, layers: Iterable[IndexLayer]) -> list[int]:
    """The numbers of those layers of those owners (None: of everybody) that hold or held a row, ascending."""
    if owners is None:
        return [row[0] for row in await tx.all("index_scopes_of_everybody", layers=list(layers))]
    return sorted(row[0] for row in await tx.all("index_scopes", owners=list(owners), layers=list(layers)))


async def stale(tx: Tx, token_version: int) -> list[tuple[str, str, int]]:
    """Owner, layer and number of the scopes whose rows were made of another version's tokens: to be rebuilt."""
    return [(row[0], row[1], row[2]) for row in await tx.all("index_stale", token_version=token_version)]


async def add(
    tx: Tx, owner: str, layer: IndexLayer, rows: Sequence[IndexRow], *, token_version: int = TOKEN_VERSION
) -> None:
    """Index the rows. Three statements, however many they are; `token_version` counts for a new scope alone.

    An id's piece that the layer holds already is an error of the database: remove it first.
    """
    if not rows:
        return
    tokens = sum(len(row.terms) for row in rows)
    scope, first = await _reserve(tx, owner, layer, docs=len(rows), tokens=tokens, token_version=token_version)
    await tx.run_many("index_add_doc", [_doc(scope, ordinal, row) for ordinal, row in enumerate(rows, first)])
    chunks: dict[int, list[bytes]] = {}
    for ordinal, row in enumerate(rows, first):
        chunks.setdefault(_chunk_of(ordinal), []).append(postings.pack(ordinal, row.terms))
    await tx.run_many(
        "index_add_fresh",
        [{"scope": scope, "ord": at, "n": len(packed), "terms": b"".join(packed)} for at, packed in chunks.items()],
    )


async def _reserve(
    tx: Tx, owner: str, layer: IndexLayer, *, docs: int = 0, tokens: int = 0, token_version: int
) -> tuple[int, int]:
    """The scope, made if need be, and the first of the ordinals taken for so many rows."""
    taken = await tx.all("index_reserve", owner=owner, layer=layer, docs=docs, tokens=tokens)
    if not taken:
        await scope_of(tx, owner, layer, create=True, token_version=token_version)
        taken = await tx.all("index_reserve", owner=owner, layer=layer, docs=docs, tokens=tokens)
    return taken[0][0], taken[0][1] - docs


def _chunk_of(ordinal: int) -> int:
    return ordinal - ordinal % FRESH_ROWS_TOGETHER


def _doc(scope: int, ordinal: int, row: IndexRow) -> Params:
    return {
        "scope": scope,
        "ord": ordinal,
        "id": row.id,
        "piece": row.piece,
        "token_count": len(row.terms),
        "term_count": len(set(row.terms)),
    }


async def remove(tx: Tx, owner: str, layer: IndexLayer, doc_id: str, *, terms: Iterable[int] = ()) -> list[IndexRow]:
    """Take every piece of the id out of the index; what was taken out.

    `terms`, those of all its pieces, say where merged postings stand: a dozen blocks are read and rewritten. Left out,
    or not all of them, the result is the same but a block of every term is read, a hundred times as slow.
    """
    held = await tx.all("index_reserve", owner=owner, layer=layer, docs=0, tokens=0)
    docs = await tx.all("index_take_docs", scope=held[0][0], id=doc_id) if held else []
    if not docs:
        return []
    scope = held[0][0]
    await tx.run("index_release", scope=scope, docs=len(docs), tokens=sum(tokens for _, _, tokens, _ in docs))
    found = await _take_fresh(tx, scope, [ordinal for ordinal, *_ in docs])
    hint = sorted(set(terms))
    taken: list[IndexRow] = []
    for ordinal, piece, _, term_count in sorted(docs):
        counts = found[ordinal]
        if len(counts) < term_count and hint:
            blocks = await tx.all("index_blocks_at", scope=scope, ord=ordinal, terms=hint)
            counts |= await _take_postings(tx, scope, ordinal, blocks)
        after = -(2**63)
        while len(counts) < term_count:
            blocks = await tx.all("index_all_blocks_at", scope=scope, ord=ordinal, after=after, limit=_SCAN_TERMS)
            if not blocks:
                break
            counts |= await _take_postings(tx, scope, ordinal, blocks)
            after = blocks[-1][0]
        taken.append(IndexRow(doc_id, piece, [term for term, tf in counts.items() for _ in range(tf)]))
    return taken


async def _take_fresh(tx: Tx, scope: int, ordinals: Sequence[int]) -> dict[int, dict[int, int]]:
    """Take the rows out of `fresh`; for each its terms with their frequencies, none if it is merged."""
    counts: dict[int, dict[int, int]] = {ordinal: {} for ordinal in ordinals}
    left: list[Params] = []
    for at, n, packed in await tx.all("index_take_fresh", scope=scope, ords=sorted(set(map(_chunk_of, ordinals)))):
        kept = bytearray()
        gone = set()
        for start, (term, ordinal, tf, _) in enumerate(postings.PACKED.iter_unpack(packed)):
            if ordinal in counts:
                counts[ordinal][term] = tf
                gone.add(ordinal)
            else:
                kept += packed[start * postings.PACKED.size : (start + 1) * postings.PACKED.size]
        if n > len(gone):
            left.append({"scope": scope, "ord": at, "n": n - len(gone), "terms": bytes(kept)})
    await tx.run_many("index_add_fresh", left)
    return counts


async def _take_postings(tx: Tx, scope: int, ordinal: int, blocks: Iterable[Row]) -> dict[int, int]:
    """Take the row out of these blocks; the terms of those that held it, with their frequencies."""
    counts: dict[int, int] = {}
    rewritten: list[Params] = []
    emptied: list[Params] = []
    for term, first, data in blocks:
        without = postings.without(data, ordinal)
        if without is None:
            continue
        left, counts[term] = without
        key: Params = {"scope": scope, "term": term, "first": first}
        if left:
            rewritten.append(key | {"n": len(left) // postings.POSTING_BYTES, "data": left})
        else:
            emptied.append(key)
    await tx.run_many("index_write_block", rewritten)
    await tx.run_many("index_drop_block", emptied)
    return counts


async def move(
    tx: Tx,
    owner: str,
    doc_id: str,
    from_layer: IndexLayer,
    to_layer: IndexLayer,
    *,
    terms: Iterable[int] = (),
    token_version: int = TOKEN_VERSION,
) -> int:
    """Take the id out of one layer and put it into another with the same terms; how many pieces. See `remove`."""
    rows = await remove(tx, owner, from_layer, doc_id, terms=terms)
    await add(tx, owner, to_layer, rows, token_version=token_version)
    return len(rows)


async def search(
    tx: Tx,
    scopes: Sequence[int],
    terms: Sequence[int],
    k: int,
    *,
    deadline: postings.Deadline | None = None,
    keep: Keep | None = None,
    only: Collection[str] | None = None,
) -> Answer:
    """The `k` ids of the scopes that fit best, each with its best piece. Order: points, scope, ordinal, descending.

    `only` names the ids that count, where they are known and few. `keep` is asked which of some ids count, best first
    and no id twice; the search goes on, twice as deep each time, until k are kept or nothing is left.
    """
    if k <= 0 or not scopes or not terms:
        return Answer([], complete=True)
    query = await _query(tx, scopes, terms)
    allowed: set[tuple[int, int]] | None = None
    if only is not None:
        listed = await tx.all("index_rows_of", ids=list(only), scopes=list(scopes))
        allowed = {(scope, ordinal) for scope, ordinal in listed}
    matches: list[Match] = []
    seen: set[str] = set()
    depth, looked_at = k, 0
    while True:
        hits, complete = postings.top_k(query, depth, deadline=deadline, allowed=allowed)
        if looked_at and not complete:
            return Answer(matches, complete=False)
        # The hits of the round before stand first again. Of an id's pieces the first to come is the best.
        new: dict[str, Match] = {}
        for match in await _named(tx, hits[looked_at:], query.perfect):
            if match.id not in seen:
                new.setdefault(match.id, match)
        seen |= new.keys()
        kept = await keep(list(new)) if keep and new else seen
        matches += [match for match in new.values() if match.id in kept]
        if len(matches) >= k or len(hits) < depth or not complete:
            return Answer(matches[:k], complete)
        looked_at = depth
        depth *= 2


async def _query(tx: Tx, scopes: Sequence[int], terms: Sequence[int]) -> postings.Query:
    """The query of the terms against the scopes: three statements, whatever the size of either."""
    words = list(dict.fromkeys(terms))
    known = await tx.all("index_stats", scopes=list(scopes))
    blocks: dict[tuple[int, int], list[bytes]] = {}
    for scope, term, data in await tx.all("index_postings", scopes=list(scopes), terms=words):
        blocks.setdefault((scope, term), []).append(data)
    chunks: dict[int, list[bytes]] = {}
    for scope, packed in await tx.all("index_fresh", scopes=list(scopes)):
        chunks.setdefault(scope, []).append(packed)
    fresh = [(scope, AVERAGE_TOKENS[layer], b"".join(chunks.get(scope, ()))) for scope, layer, _ in known]
    lists = [
        [
            postings.gather(scope, average, blocks.get((scope, term), ()), packed, term)
            for scope, average, packed in fresh
        ]
        for term in words
    ]
    return postings.plan(lists, sum(docs for _, _, docs in known))


async def _named(tx: Tx, hits: Sequence[postings.Hit], perfect: int) -> list[Match]:
    """The hits with the ids that they stand for, in the same order."""
    if not hits:
        return []
    scopes, ordinals = sorted({hit.scope for hit in hits}), [hit.ordinal for hit in hits]
    rows = await tx.all("index_ids", scopes=scopes, ords=ordinals)
    names = {(scope, ordinal): (one, piece) for scope, ordinal, one, piece in rows}
    return [
        Match(*names[hit.scope, hit.ordinal], hit.points, min(1.0, hit.points / perfect), hit.scope) for hit in hits
    ]


async def fresh_counts(tx: Tx) -> list[tuple[int, int]]:
    """The scopes that have rows to merge, each with their number."""
    return [(scope, rows) for scope, rows in await tx.all("index_fresh_counts")]


async def merge(tx: Tx, scope: int, limit: int = 250) -> int:
    """Move the oldest fresh rows of a scope, about `limit` of them, into blocks; how many rows."""
    await tx.run("index_lock", scope=scope)
    chunks = await tx.all("index_oldest_fresh", scope=scope, limit=ceil(limit / FRESH_ROWS_TOGETHER))
    if not chunks:
        return 0
    await tx.run("index_merged_fresh", scope=scope, last=chunks[-1][0])
    grown = await _append(tx, scope, postings.invert(b"".join(packed for _, _, packed in chunks)), SMALL_BLOCK_MAX)
    await _append(tx, scope, dict.fromkeys(grown, b""), LARGE_BLOCK_MIN)
    return sum(rows for _, rows, _ in chunks)


async def _append(tx: Tx, scope: int, new: Mapping[int, bytes], small: int) -> list[int]:
    """Join new postings of terms with the blocks at their ends that hold fewer than `small`; which terms outgrew it.

    Without new postings the blocks are joined once they fill a block.
    """
    tails: dict[int, list[tuple[int, bytes]]] = {}
    if new:
        for term, first, data in await tx.all("index_tails", scope=scope, terms=list(new), small=small):
            tails.setdefault(term, []).append((first, data))
    written: list[Params] = []
    dropped: list[Params] = []
    grown: list[int] = []
    for term in sorted(new):
        tail = tails.get(term, [])
        joined = [data for _, data in tail] + [new[term]]
        count = sum(map(len, joined)) // postings.POSTING_BYTES
        if not new[term] and count < postings.BLOCK_POSTINGS_MAX:
            continue
        if count >= small:
            grown.append(term)
        blocks = _blocks(scope, term, joined, tail[0][0] if tail else None)
        kept = {block["first"] for block in blocks}
        dropped += [{"scope": scope, "term": term, "first": first} for first, _ in tail if first not in kept]
        written += blocks
    await tx.run_many("index_drop_block", dropped)
    await tx.run_many("index_write_block", written)
    return grown


def _blocks(scope: int, term: int, joined: Iterable[bytes], first: int | None) -> list[Params]:
    """The postings in blocks of up to the largest size, the first under the key `first` where there is one."""
    ordinals, tfs, lengths = postings.decode(joined)
    blocks: list[Params] = []
    for start in range(0, len(ordinals), postings.BLOCK_POSTINGS_MAX):
        part = slice(start, start + postings.BLOCK_POSTINGS_MAX)
        key = first if first is not None and not start else ordinals[start]
        data = postings.encode(ordinals[part], tfs[part], lengths[part])
        blocks.append(
            {"scope": scope, "term": term, "first": key, "n": len(data) // postings.POSTING_BYTES, "data": data}
        )
    return blocks


async def rebuild(
    tx: Tx, owner: str, layer: IndexLayer, rows: Iterable[IndexRow], *, token_version: int = TOKEN_VERSION
) -> int:
    """Replace what a layer of an owner holds, straight into full blocks; how many rows. Ordinals go on counting."""
    scope, _ = await _reserve(tx, owner, layer, token_version=token_version)
    for name in ("index_clear_docs", "index_clear_fresh", "index_clear_postings"):
        await tx.run(name, scope=scope)
    await tx.run("index_restart", scope=scope, token_version=token_version)
    lists: dict[int, list[bytes]] = {}
    total = 0
    source = iter(rows)
    while batch := list(islice(source, _BULK_ROWS)):
        tokens = sum(len(row.terms) for row in batch)
        _, first = await _reserve(tx, owner, layer, docs=len(batch), tokens=tokens, token_version=token_version)
        await tx.run_many("index_add_doc", [_doc(scope, ordinal, row) for ordinal, row in enumerate(batch, first)])
        packed = b"".join([postings.pack(ordinal, row.terms) for ordinal, row in enumerate(batch, first)])
        for term, block in postings.invert(packed).items():
            lists.setdefault(term, []).append(block)
        total += len(batch)
    for term in sorted(lists):
        await tx.run_many("index_write_block", _blocks(scope, term, lists.pop(term), None))
    return total


async def drop_all(tx: Tx) -> None:
    """Empty the index of the namespace. Scopes are numbered anew."""
    for table in ("docs", "fresh", "postings", "stats", "scopes"):
        await tx.run(f"index_drop_{table}")
