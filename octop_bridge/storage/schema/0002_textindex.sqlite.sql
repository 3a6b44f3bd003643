-- The text index, a projection of what other tables hold. A scope is the number of an owner's layer. Tables with BLOBs
-- of kilobytes keep their rowid: without it SQLite moves everything above a quarter of a page to overflow pages.

CREATE TABLE scopes (
    namespace TEXT NOT NULL,
    owner TEXT NOT NULL,
    layer TEXT NOT NULL,
    scope INTEGER NOT NULL,
    PRIMARY KEY (namespace, owner, layer),
    UNIQUE (namespace, scope)
) STRICT, WITHOUT ROWID;

-- Its row is written first by every change of a scope, and so is the lock that keeps two of them apart.
CREATE TABLE term_stats (
    namespace TEXT NOT NULL,
    scope INTEGER NOT NULL,
    docs INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    next_ord INTEGER NOT NULL,
    token_version INTEGER NOT NULL,
    PRIMARY KEY (namespace, scope)
) STRICT, WITHOUT ROWID;

-- Ordinals are never used again. token_count is the length of the row, term_count how many different terms it has.
CREATE TABLE docs (
    namespace TEXT NOT NULL,
    scope INTEGER NOT NULL,
    ord INTEGER NOT NULL,
    id TEXT NOT NULL,
    piece INTEGER NOT NULL,
    token_count INTEGER NOT NULL,
    term_count INTEGER NOT NULL,
    PRIMARY KEY (namespace, scope, ord),
    UNIQUE (namespace, id, scope, piece)
) STRICT, WITHOUT ROWID;

-- Rows not merged yet, eight ordinals together under the first of the eight: n rows, their postings packed in terms.
CREATE TABLE fresh (
    namespace TEXT NOT NULL,
    scope INTEGER NOT NULL,
    ord INTEGER NOT NULL,
    n INTEGER NOT NULL,
    terms BLOB NOT NULL,
    PRIMARY KEY (namespace, scope, ord)
) STRICT;

-- A block of n postings, whose ordinals are first or more and less than the first of the term's next block.
CREATE TABLE postings (
    namespace TEXT NOT NULL,
    scope INTEGER NOT NULL,
    term INTEGER NOT NULL,
    first INTEGER NOT NULL,
    n INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (namespace, scope, term, first)
) STRICT;
