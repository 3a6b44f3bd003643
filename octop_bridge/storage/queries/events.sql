-- Evidence: what was said, and how far it has been read.

-- name: insert_event
INSERT INTO events (
    namespace, event_id, owner, session_id, role, speaker, speaker_name, kind, content, at_ms, recorded_ms, zone,
    chat_type, host, host_id, outcome, metadata, fingerprint, state
) VALUES (
    :namespace, :event_id, :owner, :session_id, :role, :speaker, :speaker_name, :kind, :content, :at_ms, :recorded_ms,
    :zone, :chat_type, :host, :host_id, :outcome, :metadata, :fingerprint, :state
)
ON CONFLICT (namespace, fingerprint) DO NOTHING;

-- name: event_by_fingerprint
SELECT event_id FROM events WHERE namespace = :namespace AND fingerprint = :fingerprint;

-- name: events_by_id
SELECT event_id, owner, session_id, role, speaker, speaker_name, kind, content, at_ms, recorded_ms, zone, chat_type,
    host_id
FROM events WHERE namespace = :namespace AND event_id {in :ids}
ORDER BY event_id;

-- name: event_metadata
SELECT metadata, host, outcome, state FROM events WHERE namespace = :namespace AND event_id = :event_id;

-- name: oldest_pending
SELECT owner, session_id FROM events
WHERE namespace = :namespace AND state = 'pending'
    AND (CAST(:owner AS TEXT) IS NULL OR owner = :owner)
    AND (CAST(:session_id AS TEXT) IS NULL OR session_id = :session_id)
ORDER BY event_id LIMIT 1;

-- name: pending_of_session
SELECT event_id, owner, session_id, role, speaker, speaker_name, kind, content, at_ms, recorded_ms, zone, chat_type,
    host_id
FROM events
WHERE namespace = :namespace AND owner = :owner AND session_id = :session_id AND state = 'pending'
ORDER BY event_id LIMIT CAST(:limit AS BIGINT);

-- name: lease_events
UPDATE events SET lease_token = :token
WHERE namespace = :namespace AND event_id {in :ids} AND state = 'pending';

-- name: finish_events
UPDATE events SET state = 'extracted', lease_token = NULL
WHERE namespace = :namespace AND event_id {in :ids} AND lease_token = :token AND state = 'pending';

-- name: pending_summary
SELECT COUNT(*), MAX(recorded_ms), SUM(LENGTH(content)) FROM events
WHERE namespace = :namespace AND state = 'pending';

-- name: pending_count
SELECT COUNT(*) FROM events
WHERE namespace = :namespace AND state = 'pending'
    AND (CAST(:owner AS TEXT) IS NULL OR owner = :owner)
    AND (CAST(:session_id AS TEXT) IS NULL OR session_id = :session_id);

-- name: event_counts
SELECT state, COUNT(*) FROM events WHERE namespace = :namespace GROUP BY state;

-- name: every_event
SELECT event_id, owner, content, speaker_name, chat_type,
    e.state = 'raw' OR EXISTS (
        SELECT 1 FROM citations AS c
        WHERE c.namespace = :namespace AND c.event_id = e.event_id AND c.hides = 1
    )
FROM events AS e WHERE e.namespace = :namespace AND e.event_id > :after
ORDER BY e.event_id LIMIT CAST(:limit AS BIGINT);

-- name: cite
INSERT INTO citations (namespace, event_id, target_id, hides) VALUES (:namespace, :event_id, :target_id, :hides)
ON CONFLICT (namespace, event_id, target_id) DO UPDATE
SET hides = CASE WHEN excluded.hides > citations.hides THEN excluded.hides ELSE citations.hides END;

-- name: hidden_events
SELECT DISTINCT event_id FROM citations WHERE namespace = :namespace AND event_id {in :ids} AND hides = 1;

-- name: refused_events
SELECT DISTINCT event_id FROM citations
WHERE namespace = :namespace AND event_id {in :ids} AND target_id >= 'tb_' AND target_id < 'tb~';

-- name: capture_key
SELECT body_hash, result FROM capture_keys WHERE namespace = :namespace AND key_hash = :key_hash AND at_ms > :after_ms;

-- name: insert_capture_key
INSERT INTO capture_keys (namespace, key_hash, body_hash, result, at_ms)
VALUES (:namespace, :key_hash, :body_hash, :result, :at_ms)
ON CONFLICT (namespace, key_hash) DO UPDATE
SET body_hash = excluded.body_hash, result = excluded.result, at_ms = excluded.at_ms;

-- name: expire_capture_keys
DELETE FROM capture_keys WHERE namespace = :namespace AND at_ms <= :before_ms;

-- name: count_up
INSERT INTO counters (namespace, name, n) VALUES (:namespace, :name, :n)
ON CONFLICT (namespace, name) DO UPDATE SET n = counters.n + excluded.n;

-- name: counters
SELECT name, n FROM counters WHERE namespace = :namespace;

-- name: get_meta
SELECT value FROM meta WHERE namespace = :namespace AND key = :key;

-- name: set_meta
INSERT INTO meta (namespace, key, value) VALUES (:namespace, :key, :value)
ON CONFLICT (namespace, key) DO UPDATE SET value = excluded.value;

-- name: release_events
UPDATE events SET lease_token = NULL WHERE namespace = :namespace AND lease_token = :token AND state = 'pending';
