-- Claims, beliefs, rejected values and the journal. Beliefs are read through live_atoms (and newest_atoms by id) alone.

-- name: insert_candidate
INSERT INTO candidates (
    namespace, candidate_id, owner, chat_type, status, claim, actor, reason, atom_id, created_ms, decided_ms, version
) VALUES (
    :namespace, :candidate_id, :owner, :chat_type, 'pending', :claim, :actor, NULL, NULL, :created_ms, NULL, 1
);

-- name: candidate
SELECT candidate_id, owner, chat_type, status, claim, actor, reason, atom_id, created_ms, decided_ms, version
FROM candidates WHERE namespace = :namespace AND candidate_id = :candidate_id;

-- name: decide_candidate
UPDATE candidates
SET status = :status, reason = :reason, atom_id = :atom_id, decided_ms = :decided_ms, version = version + 1
WHERE namespace = :namespace AND candidate_id = :candidate_id AND version = :version;

-- name: pending_candidates
SELECT candidate_id FROM candidates
WHERE namespace = :namespace AND status = 'pending' ORDER BY candidate_id LIMIT CAST(:limit AS BIGINT);

-- name: candidates_by_status
SELECT candidate_id, owner, chat_type, status, claim, actor, reason, atom_id, created_ms, decided_ms, version
FROM candidates
WHERE namespace = :namespace AND status = :status AND candidate_id > :after
    AND (CAST(:every_owner AS BIGINT) = 1 OR owner {in :owners})
ORDER BY candidate_id LIMIT CAST(:limit AS BIGINT);

-- name: candidate_counts
SELECT status, COUNT(*) FROM candidates WHERE namespace = :namespace GROUP BY status;

-- name: oldest_parked
SELECT MIN(created_ms) FROM candidates WHERE namespace = :namespace AND status = 'parked';

-- name: claims_citing
SELECT k.candidate_id, k.status, k.claim FROM candidates AS k
JOIN citations AS c ON c.namespace = k.namespace AND c.target_id = k.candidate_id
WHERE k.namespace = :namespace AND c.event_id {in :ids};

-- name: insert_finding
INSERT INTO findings (namespace, candidate_id, number, kind, atom_id, detail)
VALUES (:namespace, :candidate_id, :number, :kind, :atom_id, :detail);

-- name: delete_findings
DELETE FROM findings WHERE namespace = :namespace AND candidate_id = :candidate_id;

-- name: findings_of
SELECT f.candidate_id, f.kind, f.atom_id, f.detail, a.text
FROM findings AS f
LEFT JOIN atoms AS a ON a.namespace = f.namespace AND a.atom_id = f.atom_id
WHERE f.namespace = :namespace AND f.candidate_id {in :ids}
ORDER BY f.candidate_id, f.number;

-- name: disputes
SELECT f.atom_id, k.candidate_id, k.claim, k.created_ms
FROM findings AS f
JOIN candidates AS k ON k.namespace = f.namespace AND k.candidate_id = f.candidate_id
WHERE f.namespace = :namespace AND f.atom_id {in :ids} AND k.status = 'parked'
    AND f.kind {in :kinds}
ORDER BY f.atom_id, k.candidate_id;

-- name: disputed_count
SELECT COUNT(DISTINCT f.atom_id)
FROM findings AS f
JOIN candidates AS k ON k.namespace = f.namespace AND k.candidate_id = f.candidate_id
JOIN live_atoms AS a ON a.namespace = f.namespace AND a.atom_id = f.atom_id
WHERE f.namespace = :namespace AND f.atom_id IS NOT NULL AND k.status = 'parked' AND f.kind {in :kinds};

-- name: entity_by_name
SELECT entity_id FROM entities
WHERE namespace = :namespace AND owner = :owner AND kind = :kind AND name_key = :name_key;

-- name: insert_entity
INSERT INTO entities (namespace, entity_id, owner, kind, name, name_key, created_ms)
VALUES (:namespace, :entity_id, :owner, :kind, :name, :name_key, :created_ms);

-- name: insert_atom
INSERT INTO atoms (namespace, atom_id, entity_id, subject, type, text, signature, slot, value, importance, confidence)
VALUES (:namespace, :atom_id, :entity_id, :subject, :type, :text, :signature, :slot, :value, :importance, :confidence);

-- name: insert_version
INSERT INTO atom_versions (
    namespace, atom_id, version, owner, status, valid_from_ms, valid_to_ms, event_ms, evidence, recorded_ms, ended_ms,
    cause, successor
) VALUES (
    :namespace, :atom_id, :version, :owner, :status, :valid_from_ms, :valid_to_ms, :event_ms, :evidence, :recorded_ms,
    NULL, :cause, :successor
);

-- name: end_version
UPDATE atom_versions SET ended_ms = :ended_ms
WHERE namespace = :namespace AND atom_id = :atom_id AND version = :version AND ended_ms IS NULL;

-- name: newest_atom
SELECT atom_id, version, owner, type, text, status, entity_id, subject, slot, value, signature, valid_from_ms,
    valid_to_ms, recorded_ms, ended_ms, event_ms, importance, confidence, evidence, cause, successor
FROM newest_atoms WHERE namespace = :namespace AND atom_id = :atom_id;

-- name: newest_atoms_by_id
SELECT atom_id, version, owner, type, text, status, entity_id, subject, slot, value, signature, valid_from_ms,
    valid_to_ms, recorded_ms, ended_ms, event_ms, importance, confidence, evidence, cause, successor
FROM newest_atoms WHERE namespace = :namespace AND atom_id {in :ids};

-- name: live_atoms_by_id
SELECT atom_id, version, owner, type, text, status, entity_id, subject, slot, value, signature, valid_from_ms,
    valid_to_ms, recorded_ms, ended_ms, event_ms, importance, confidence, evidence, cause, successor
FROM live_atoms WHERE namespace = :namespace AND atom_id {in :ids};

-- name: versions_known_at
SELECT a.atom_id, v.version, v.owner, a.type, a.text, v.status, a.entity_id, a.subject, a.slot, a.value, a.signature,
    v.valid_from_ms, v.valid_to_ms, v.recorded_ms, v.ended_ms, v.event_ms, a.importance, a.confidence, v.evidence,
    v.cause, v.successor
FROM atom_versions AS v
JOIN atoms AS a ON a.namespace = v.namespace AND a.atom_id = v.atom_id
WHERE v.namespace = :namespace AND v.atom_id {in :ids} AND v.recorded_ms <= :known_at
    AND (v.ended_ms IS NULL OR v.ended_ms > :known_at);

-- name: current_by_signature
SELECT atom_id, version, owner, type, text, status, entity_id, subject, slot, value, signature, valid_from_ms,
    valid_to_ms, recorded_ms, ended_ms, event_ms, importance, confidence, evidence, cause, successor
FROM live_atoms
WHERE namespace = :namespace AND entity_id = :entity_id AND signature = :signature AND owner = :owner
    AND status = 'current'
ORDER BY atom_id;

-- name: current_by_slot
SELECT atom_id, version, owner, type, text, status, entity_id, subject, slot, value, signature, valid_from_ms,
    valid_to_ms, recorded_ms, ended_ms, event_ms, importance, confidence, evidence, cause, successor
FROM live_atoms
WHERE namespace = :namespace AND entity_id = :entity_id AND slot = :slot AND owner = :owner AND status = 'current'
ORDER BY atom_id;

-- name: every_atom
SELECT atom_id, owner, text, subject, status FROM newest_atoms
WHERE namespace = :namespace AND atom_id > :after
ORDER BY atom_id LIMIT CAST(:limit AS BIGINT);

-- name: standing_instructions
SELECT atom_id, version, owner, type, text, status, entity_id, subject, slot, value, signature, valid_from_ms,
    valid_to_ms, recorded_ms, ended_ms, event_ms, importance, confidence, evidence, cause, successor
FROM live_atoms
WHERE namespace = :namespace AND type = 'Instruction' AND owner {in :owners} AND status = 'current'
ORDER BY atom_id LIMIT 50;

-- name: atom_counts
SELECT status, COUNT(*) FROM newest_atoms WHERE namespace = :namespace GROUP BY status;

-- name: any_tombstone
SELECT 1 FROM tombstone_keys WHERE namespace = :namespace AND owner {in :owners} LIMIT 1;

-- name: tombstones_hit
SELECT DISTINCT t.tombstone_id, t.owner, t.text, t.reason, t.until_ms, t.created_ms
FROM tombstone_keys AS k
JOIN tombstones AS t ON t.namespace = k.namespace AND t.tombstone_id = k.tombstone_id
WHERE k.namespace = :namespace AND k.owner {in :owners} AND k.key {in :keys} AND t.lifted_ms IS NULL
    AND (t.until_ms IS NULL OR t.until_ms >= :event_ms)
ORDER BY t.tombstone_id;

-- name: insert_tombstone
INSERT INTO tombstones (namespace, tombstone_id, owner, text, reason, until_ms, created_ms)
VALUES (:namespace, :tombstone_id, :owner, :text, :reason, :until_ms, :created_ms);

-- name: insert_tombstone_key
INSERT INTO tombstone_keys (namespace, owner, key, tombstone_id)
VALUES (:namespace, :owner, :key, :tombstone_id)
ON CONFLICT (namespace, owner, key, tombstone_id) DO NOTHING;

-- name: lift_tombstone
UPDATE tombstones SET lifted_ms = :lifted_ms
WHERE namespace = :namespace AND tombstone_id = :tombstone_id AND lifted_ms IS NULL;

-- name: count_refusal
UPDATE tombstones SET refused = refused + 1, last_refused_ms = :at_ms
WHERE namespace = :namespace AND tombstone_id = :tombstone_id;

-- name: tombstone_counts
SELECT COUNT(*) FILTER (WHERE lifted_ms IS NULL), COALESCE(SUM(refused), 0)
FROM tombstones WHERE namespace = :namespace;

-- name: rejected_texts
SELECT text FROM tombstones
WHERE namespace = :namespace AND owner {in :owners} AND text IS NOT NULL AND lifted_ms IS NULL
ORDER BY tombstone_id DESC LIMIT 200;

-- name: insert_journal
INSERT INTO journal (namespace, entry_id, at_ms, actor, action, targets, reason, before_hash, after_hash)
VALUES (:namespace, :entry_id, :at_ms, :actor, :action, :targets, :reason, :before_hash, :after_hash);

-- name: insert_journal_target
INSERT INTO journal_targets (namespace, target_id, entry_id) VALUES (:namespace, :target_id, :entry_id)
ON CONFLICT (namespace, target_id, entry_id) DO NOTHING;

-- name: journal_of
SELECT j.entry_id, j.at_ms, j.actor, j.action, j.targets, j.reason
FROM journal_targets AS t
JOIN journal AS j ON j.namespace = t.namespace AND j.entry_id = t.entry_id
WHERE t.namespace = :namespace AND t.target_id = :target_id
ORDER BY j.entry_id LIMIT CAST(:limit AS BIGINT);
