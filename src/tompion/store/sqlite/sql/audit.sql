-- name: audit_insert
INSERT INTO audit (
    at_ms, namespace, schedule_id, actor, operation, token, version, request_id, before, after
) VALUES (
    :at_ms, :namespace, :schedule_id, :actor, :operation, :token, :version, :request_id, :before, :after
);

-- name: audit_list
SELECT {audit}
FROM audit
WHERE namespace = :namespace AND schedule_id = :schedule_id AND audit_number < :before_number
ORDER BY audit_number DESC LIMIT :limit;

-- name: audit_list_all
-- Index audit_of_namespace.
SELECT {audit}
FROM audit
WHERE namespace = :namespace AND audit_number < :before_number
ORDER BY audit_number DESC LIMIT :limit;

-- name: audit_list_after
-- The primary key.
SELECT {audit}
FROM audit WHERE audit_number > :after_number ORDER BY audit_number LIMIT :limit;

-- name: audit_last_number
-- The primary key.
SELECT coalesce(max(audit_number), 0) FROM audit;

-- name: audit_list_unchained_namespaces
-- Index audit_unchained.
SELECT DISTINCT namespace FROM (
    SELECT namespace FROM audit WHERE position IS NULL ORDER BY audit_number LIMIT :limit
) AS oldest;

-- name: audit_head_insert
INSERT INTO audit_heads (namespace, position, digest, gone_position, gone_digest)
VALUES (?, 0, '', 0, '')
ON CONFLICT DO NOTHING;

-- name: audit_head_lock
SELECT namespace, position, digest, gone_position, gone_digest FROM audit_heads
WHERE namespace IN (SELECT value FROM json_each(:namespaces)) ORDER BY namespace;

-- name: audit_list_unchained
-- Index audit_unchained.
SELECT {audit}
FROM audit
WHERE position IS NULL AND namespace IN (SELECT value FROM json_each(:namespaces)) ORDER BY audit_number LIMIT :limit;

-- name: audit_chain_rows
UPDATE audit SET position = ?2, previous = ?3, digest = ?4 WHERE audit_number = ?1 AND position IS NULL;

-- name: audit_head_update
UPDATE audit_heads SET position = ?2, digest = ?3, gone_position = ?4, gone_digest = ?5 WHERE namespace = ?1;

-- name: audit_head_get
SELECT namespace, position, digest, gone_position, gone_digest FROM audit_heads WHERE namespace = :namespace;

-- name: audit_list_chain
-- Index audit_chain.
SELECT {audit}
FROM audit
WHERE namespace = :namespace AND position > :after_position ORDER BY position LIMIT :limit;

-- name: audit_count_unchained
-- Index audit_unchained.
SELECT count(*) FROM audit WHERE position IS NULL AND namespace = :namespace;

-- name: audit_list_oldest
-- The primary key. Among the oldest rows, those past their retention, by namespace.
SELECT namespace, max(position) FROM (
    SELECT namespace, position, at_ms FROM audit ORDER BY audit_number LIMIT :limit
) AS oldest
WHERE position IS NOT NULL AND at_ms < :before_ms GROUP BY namespace;

-- name: audit_expire
-- Index audit_chain.
DELETE FROM audit WHERE namespace = :namespace AND position <= :until_position;
