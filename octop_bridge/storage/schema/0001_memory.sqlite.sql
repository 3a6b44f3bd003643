-- Evidence, claims, beliefs and their journal. Namespace first in every key, so that the same tables can be partitioned.

CREATE TABLE meta (
    namespace TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (namespace, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE counters (
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    n INTEGER NOT NULL,
    PRIMARY KEY (namespace, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE events (
    namespace TEXT NOT NULL,
    event_id TEXT NOT NULL,
    owner TEXT NOT NULL,
    session_id TEXT NOT NULL,
    role TEXT NOT NULL,
    speaker TEXT NOT NULL,
    speaker_name TEXT,
    kind TEXT NOT NULL,
    content TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    recorded_ms INTEGER NOT NULL,
    zone TEXT NOT NULL,
    chat_type TEXT NOT NULL,
    host TEXT,
    host_id TEXT,
    outcome TEXT NOT NULL,
    metadata TEXT,
    fingerprint TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'extracted', 'raw')),
    lease_token TEXT,
    PRIMARY KEY (namespace, event_id)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX events_fingerprint ON events (namespace, fingerprint);
CREATE INDEX events_pending ON events (namespace, owner, session_id, event_id) WHERE state = 'pending';

CREATE TABLE capture_keys (
    namespace TEXT NOT NULL,
    key_hash BLOB NOT NULL,
    body_hash BLOB NOT NULL,
    result BLOB NOT NULL,
    at_ms INTEGER NOT NULL,
    PRIMARY KEY (namespace, key_hash)
) STRICT, WITHOUT ROWID;

CREATE TABLE candidates (
    namespace TEXT NOT NULL,
    candidate_id TEXT NOT NULL,
    owner TEXT NOT NULL,
    chat_type TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('pending', 'parked', 'promoted', 'merged', 'rejected')),
    claim BLOB NOT NULL,
    actor TEXT NOT NULL,
    reason TEXT,
    atom_id TEXT,
    created_ms INTEGER NOT NULL,
    decided_ms INTEGER,
    version INTEGER NOT NULL,
    PRIMARY KEY (namespace, candidate_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX candidates_status ON candidates (namespace, status, candidate_id);

CREATE TABLE findings (
    namespace TEXT NOT NULL,
    candidate_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    kind TEXT NOT NULL,
    atom_id TEXT,
    detail TEXT NOT NULL,
    PRIMARY KEY (namespace, candidate_id, number)
) STRICT, WITHOUT ROWID;

CREATE INDEX findings_atom ON findings (namespace, atom_id) WHERE atom_id IS NOT NULL;

CREATE TABLE entities (
    namespace TEXT NOT NULL,
    entity_id TEXT NOT NULL,
    owner TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    name_key TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    PRIMARY KEY (namespace, entity_id)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX entities_name ON entities (namespace, owner, kind, name_key);

-- What never changes of an atom; the rest makes versions.
CREATE TABLE atoms (
    namespace TEXT NOT NULL,
    atom_id TEXT NOT NULL,
    entity_id TEXT NOT NULL,
    subject TEXT NOT NULL,
    type TEXT NOT NULL,
    text TEXT NOT NULL,
    signature TEXT NOT NULL,
    slot TEXT,
    value TEXT,
    importance TEXT NOT NULL,
    confidence TEXT NOT NULL,
    PRIMARY KEY (namespace, atom_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX atoms_signature ON atoms (namespace, entity_id, signature);
CREATE INDEX atoms_slot ON atoms (namespace, entity_id, slot) WHERE slot IS NOT NULL;

CREATE TABLE atom_versions (
    namespace TEXT NOT NULL,
    atom_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    owner TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('current', 'historical', 'retired')),
    valid_from_ms INTEGER,
    valid_to_ms INTEGER,
    event_ms INTEGER NOT NULL,
    evidence BLOB NOT NULL,
    recorded_ms INTEGER NOT NULL,
    ended_ms INTEGER,
    cause TEXT NOT NULL,
    successor TEXT,
    PRIMARY KEY (namespace, atom_id, version)
) STRICT, WITHOUT ROWID;

CREATE INDEX atom_versions_newest ON atom_versions (namespace, status, atom_id) WHERE ended_ms IS NULL;

-- Newest versions, retired ones too: for what a person asks by id.
CREATE VIEW newest_atoms AS
SELECT
    a.namespace, a.atom_id, v.version, v.owner, a.type, a.text, v.status, a.entity_id, a.subject, a.slot, a.value,
    a.signature, v.valid_from_ms, v.valid_to_ms, v.recorded_ms, v.ended_ms, v.event_ms, a.importance, a.confidence,
    v.evidence, v.cause, v.successor
FROM atoms AS a
JOIN atom_versions AS v ON v.namespace = a.namespace AND v.atom_id = a.atom_id
WHERE v.ended_ms IS NULL;

-- What is believed: the one door of every read of beliefs.
CREATE VIEW live_atoms AS SELECT * FROM newest_atoms WHERE status <> 'retired';

-- `hides`: the event is no raw hit any more, because an atom, a rejected candidate or a tombstone speaks for it.
CREATE TABLE citations (
    namespace TEXT NOT NULL,
    event_id TEXT NOT NULL,
    target_id TEXT NOT NULL,
    hides INTEGER NOT NULL,
    PRIMARY KEY (namespace, event_id, target_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE tombstones (
    namespace TEXT NOT NULL,
    tombstone_id TEXT NOT NULL,
    owner TEXT NOT NULL,
    text TEXT,
    reason TEXT,
    until_ms INTEGER,
    created_ms INTEGER NOT NULL,
    lifted_ms INTEGER,
    refused INTEGER NOT NULL DEFAULT 0,
    last_refused_ms INTEGER,
    PRIMARY KEY (namespace, tombstone_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE tombstone_keys (
    namespace TEXT NOT NULL,
    owner TEXT NOT NULL,
    key TEXT NOT NULL,
    tombstone_id TEXT NOT NULL,
    PRIMARY KEY (namespace, owner, key, tombstone_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE journal (
    namespace TEXT NOT NULL,
    entry_id TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    targets TEXT NOT NULL,
    reason TEXT,
    before_hash BLOB,
    after_hash BLOB,
    PRIMARY KEY (namespace, entry_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE journal_targets (
    namespace TEXT NOT NULL,
    target_id TEXT NOT NULL,
    entry_id TEXT NOT NULL,
    PRIMARY KEY (namespace, target_id, entry_id)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER journal_is_append_only_update BEFORE UPDATE ON journal
BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;

CREATE TRIGGER journal_is_append_only_delete BEFORE DELETE ON journal
BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
