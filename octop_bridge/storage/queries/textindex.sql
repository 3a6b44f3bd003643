-- The text index: rows by ordinal, fresh postings, blocks of postings.

-- name: index_scope
SELECT scope FROM scopes WHERE namespace = :namespace AND owner = :owner AND layer = :layer;

-- name: index_scopes
SELECT scope FROM scopes
WHERE namespace = :namespace AND owner {in :owners} AND layer {in :layers};

-- name: index_scopes_of_everybody
SELECT scope FROM scopes WHERE namespace = :namespace AND layer {in :layers} ORDER BY scope;

-- Of two that take the same number at once on PostgreSQL the second does nothing, and looks again.
-- name: index_new_scope
INSERT INTO scopes (namespace, owner, layer, scope)
SELECT CAST(:namespace AS TEXT), CAST(:owner AS TEXT), CAST(:layer AS TEXT), COALESCE(MAX(scope), 0) + 1
FROM scopes WHERE namespace = :namespace
ON CONFLICT DO NOTHING;

-- name: index_new_stats
INSERT INTO term_stats (namespace, scope, docs, tokens, next_ord, token_version)
VALUES (:namespace, :scope, 0, 0, 1, :token_version)
ON CONFLICT (namespace, scope) DO NOTHING;

-- name: index_stale
SELECT s.owner, s.layer, s.scope FROM scopes AS s
JOIN term_stats AS t ON t.namespace = s.namespace AND t.scope = s.scope
WHERE s.namespace = :namespace AND t.token_version <> CAST(:token_version AS BIGINT)
ORDER BY s.scope;

-- name: index_reserve
UPDATE term_stats
SET docs = docs + CAST(:docs AS BIGINT), tokens = tokens + CAST(:tokens AS BIGINT),
    next_ord = next_ord + CAST(:docs AS BIGINT)
WHERE namespace = :namespace AND scope = (
    SELECT scope FROM scopes WHERE namespace = :namespace AND owner = :owner AND layer = :layer
)
RETURNING scope, next_ord;

-- name: index_lock
UPDATE term_stats SET docs = docs WHERE namespace = :namespace AND scope = CAST(:scope AS BIGINT);

-- name: index_release
UPDATE term_stats SET docs = docs - CAST(:docs AS BIGINT), tokens = tokens - CAST(:tokens AS BIGINT)
WHERE namespace = :namespace AND scope = :scope;

-- name: index_restart
UPDATE term_stats SET docs = 0, tokens = 0, token_version = :token_version
WHERE namespace = :namespace AND scope = :scope;

-- name: index_add_doc
INSERT INTO docs (namespace, scope, ord, id, piece, token_count, term_count)
VALUES (:namespace, :scope, :ord, :id, :piece, :token_count, :term_count);

-- name: index_take_docs
DELETE FROM docs WHERE namespace = :namespace AND scope = :scope AND id = :id
RETURNING ord, piece, token_count, term_count;

-- name: index_ids
SELECT scope, ord, id, piece FROM docs
WHERE namespace = :namespace AND scope {in :scopes} AND ord {in :ords};

-- The order is what makes SQLite take the index on ids; without it every row of the namespace is looked at.
-- name: index_rows_of
SELECT scope, ord FROM docs WHERE namespace = :namespace AND id {in :ids} AND scope {in :scopes}
ORDER BY id, scope, piece;

-- SQLite's || makes text, whatever it joins, of the same bytes.
-- name: index_add_fresh [sqlite]
INSERT INTO fresh (namespace, scope, ord, n, terms) VALUES (:namespace, :scope, :ord, :n, :terms)
ON CONFLICT (namespace, scope, ord)
DO UPDATE SET n = fresh.n + excluded.n, terms = CAST(fresh.terms || excluded.terms AS BLOB);

-- name: index_add_fresh [postgres]
INSERT INTO fresh (namespace, scope, ord, n, terms) VALUES (:namespace, :scope, :ord, :n, :terms)
ON CONFLICT (namespace, scope, ord)
DO UPDATE SET n = fresh.n + excluded.n, terms = fresh.terms || excluded.terms;

-- name: index_fresh
SELECT scope, terms FROM fresh WHERE namespace = :namespace AND scope {in :scopes} ORDER BY scope, ord;

-- name: index_fresh_counts
SELECT scope, CAST(SUM(n) AS BIGINT) FROM fresh WHERE namespace = :namespace GROUP BY scope ORDER BY scope;

-- name: index_oldest_fresh
SELECT ord, n, terms FROM fresh
WHERE namespace = :namespace AND scope = :scope ORDER BY ord LIMIT CAST(:limit AS BIGINT);

-- name: index_take_fresh
DELETE FROM fresh WHERE namespace = :namespace AND scope = :scope AND ord {in :ords}
RETURNING ord, n, terms;

-- name: index_merged_fresh
DELETE FROM fresh WHERE namespace = :namespace AND scope = :scope AND ord <= CAST(:last AS BIGINT);

-- name: index_stats
SELECT s.scope, s.layer, t.docs FROM scopes AS s
JOIN term_stats AS t ON t.namespace = s.namespace AND t.scope = s.scope
WHERE s.namespace = :namespace AND s.scope {in :scopes}
ORDER BY s.scope;

-- name: index_postings
SELECT scope, term, data FROM postings
WHERE namespace = :namespace AND scope {in :scopes} AND term {in :terms}
ORDER BY scope, term, first;

-- The blocks at the end of each term that hold fewer than :small postings, up to the last that holds more.
-- name: index_tails
SELECT p.term, p.first, p.data FROM postings AS p
WHERE p.namespace = :namespace AND p.scope = :scope AND p.term {in :terms} AND p.n < CAST(:small AS BIGINT)
    AND NOT EXISTS (
        SELECT 1 FROM postings AS q
        WHERE q.namespace = p.namespace AND q.scope = p.scope AND q.term = p.term
            AND q.first > p.first AND q.n >= CAST(:small AS BIGINT)
    )
ORDER BY p.term, p.first;

-- name: index_blocks_at
SELECT p.term, p.first, p.data FROM postings AS p
WHERE p.namespace = :namespace AND p.scope = :scope AND p.term {in :terms} AND p.first = (
    SELECT MAX(q.first) FROM postings AS q
    WHERE q.namespace = p.namespace AND q.scope = p.scope AND q.term = p.term AND q.first <= CAST(:ord AS BIGINT)
);

-- SQLite takes the tables of a CROSS JOIN in the order given: otherwise it reads every block here.
-- name: index_all_blocks_at
SELECT p.term, p.first, p.data FROM (
    SELECT term, MAX(first) AS first FROM postings
    WHERE namespace = :namespace AND scope = :scope AND term > CAST(:after AS BIGINT)
        AND first <= CAST(:ord AS BIGINT)
    GROUP BY term ORDER BY term LIMIT CAST(:limit AS BIGINT)
) AS q
CROSS JOIN postings AS p
WHERE p.namespace = :namespace AND p.scope = :scope AND p.term = q.term AND p.first = q.first
ORDER BY q.term;

-- name: index_write_block
INSERT INTO postings (namespace, scope, term, first, n, data)
VALUES (:namespace, :scope, :term, :first, :n, :data)
ON CONFLICT (namespace, scope, term, first) DO UPDATE SET n = excluded.n, data = excluded.data;

-- name: index_drop_block
DELETE FROM postings WHERE namespace = :namespace AND scope = :scope AND term = :term AND first = :first;

-- name: index_clear_docs
DELETE FROM docs WHERE namespace = :namespace AND scope = :scope;

-- name: index_clear_fresh
DELETE FROM fresh WHERE namespace = :namespace AND scope = :scope;

-- name: index_clear_postings
DELETE FROM postings WHERE namespace = :namespace AND scope = :scope;

-- name: index_drop_docs
DELETE FROM docs WHERE namespace = :namespace;

-- name: index_drop_fresh
DELETE FROM fresh WHERE namespace = :namespace;

-- name: index_drop_postings
DELETE FROM postings WHERE namespace = :namespace;

-- name: index_drop_stats
DELETE FROM term_stats WHERE namespace = :namespace;

-- name: index_drop_scopes
DELETE FROM scopes WHERE namespace = :namespace;
