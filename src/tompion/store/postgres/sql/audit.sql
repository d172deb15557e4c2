-- name: audit_insert
INSERT INTO audit (
    at_ms, namespace, schedule_id, actor, operation, token, version, request_id, before, after
) VALUES (
    %(at_ms)s, %(namespace)s, %(schedule_id)s, %(actor)s, %(operation)s, %(token)s, %(version)s, %(request_id)s,
    %(before)s, %(after)s
);

-- name: audit_list
SELECT {audit}
FROM audit
WHERE namespace = %(namespace)s AND schedule_id = %(schedule_id)s AND audit_number < %(before_number)s
ORDER BY audit_number DESC LIMIT %(limit)s;

-- name: audit_list_all
-- Index audit_of_namespace.
SELECT {audit}
FROM audit
WHERE namespace = %(namespace)s AND audit_number < %(before_number)s
ORDER BY audit_number DESC LIMIT %(limit)s;

-- name: audit_list_after
-- The primary key.
SELECT {audit}
FROM audit WHERE audit_number > %(after_number)s ORDER BY audit_number LIMIT %(limit)s;

-- name: audit_last_number
-- The primary key.
SELECT coalesce(max(audit_number), 0) FROM audit;

-- name: audit_list_unchained_namespaces
-- Index audit_unchained.
SELECT DISTINCT namespace FROM (
    SELECT namespace FROM audit WHERE position IS NULL ORDER BY audit_number LIMIT %(limit)s
) AS oldest;

-- name: audit_head_insert
-- Sorted, so that two transactions cannot deadlock. Existing rows are skipped, so that a lock on one does not block.
INSERT INTO audit_heads (namespace, position, digest, gone_position, gone_digest)
SELECT name, 0, '', 0, '' FROM unnest(%s::text[]) AS new (name)
WHERE NOT EXISTS (SELECT FROM audit_heads WHERE namespace = name) ORDER BY name
ON CONFLICT DO NOTHING;

-- name: audit_head_lock
-- Skips heads that another instance is extending.
SELECT namespace, position, digest, gone_position, gone_digest FROM audit_heads
WHERE namespace = ANY(%(namespaces)s::text[]) ORDER BY namespace FOR UPDATE SKIP LOCKED;

-- name: audit_list_unchained
-- Index audit_unchained.
SELECT {audit}
FROM audit
WHERE position IS NULL AND namespace = ANY(%(namespaces)s::text[]) ORDER BY audit_number LIMIT %(limit)s;

-- name: audit_chain_rows
UPDATE audit SET position = new.position, previous = new.previous, digest = new.digest
FROM unnest(%s::bigint[], %s::bigint[], %s::text[], %s::text[]) AS new (audit_number, position, previous, digest)
WHERE audit.audit_number = new.audit_number AND audit.position IS NULL;

-- name: audit_head_update
UPDATE audit_heads SET
    position = new.position, digest = new.digest, gone_position = new.gone_position, gone_digest = new.gone_digest
FROM unnest(%s::text[], %s::bigint[], %s::text[], %s::bigint[], %s::text[])
    AS new (namespace, position, digest, gone_position, gone_digest)
WHERE audit_heads.namespace = new.namespace;

-- name: audit_head_get
SELECT namespace, position, digest, gone_position, gone_digest FROM audit_heads WHERE namespace = %(namespace)s;

-- name: audit_list_chain
-- Index audit_chain.
SELECT {audit}
FROM audit
WHERE namespace = %(namespace)s AND position > %(after_position)s ORDER BY position LIMIT %(limit)s;

-- name: audit_count_unchained
-- Index audit_unchained.
SELECT count(*) FROM audit WHERE position IS NULL AND namespace = %(namespace)s;

-- name: audit_list_oldest
-- The primary key. Among the oldest rows, those past their retention, by namespace.
SELECT namespace, max(position) FROM (
    SELECT namespace, position, at_ms FROM audit ORDER BY audit_number LIMIT %(limit)s
) AS oldest
WHERE position IS NOT NULL AND at_ms < %(before_ms)s GROUP BY namespace;

-- name: audit_expire
-- Index audit_chain.
DELETE FROM audit WHERE namespace = %(namespace)s AND position <= %(until_position)s;
