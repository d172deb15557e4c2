-- name: workflow_get_newest
SELECT namespace, workflow_id, version, document, created_ms FROM workflows
WHERE namespace = %(namespace)s AND workflow_id = %(workflow_id)s ORDER BY version DESC LIMIT 1;

-- name: workflow_get_version
SELECT namespace, workflow_id, version, document, created_ms FROM workflows
WHERE namespace = %(namespace)s AND workflow_id = %(workflow_id)s AND version = %(version)s;

-- name: workflow_list_newest
-- The primary key, backwards, one step per row.
SELECT n.namespace, n.workflow_id, newest.version FROM unnest(%s::text[], %s::text[]) AS n (namespace, workflow_id)
CROSS JOIN LATERAL (
    SELECT w.version FROM workflows w
    WHERE w.namespace = n.namespace AND w.workflow_id = n.workflow_id ORDER BY w.version DESC LIMIT 1
) AS newest;

-- name: workflow_list
SELECT w.namespace, w.workflow_id, w.version, w.document, w.created_ms FROM workflows w
WHERE w.namespace = %(namespace)s AND w.workflow_id > %(after_id)s
  AND w.version = (
    SELECT max(n.version) FROM workflows n WHERE n.namespace = w.namespace AND n.workflow_id = w.workflow_id
  )
ORDER BY w.workflow_id LIMIT %(limit)s;

-- name: workflow_insert
INSERT INTO workflows (namespace, workflow_id, version, document, created_ms)
VALUES (%(namespace)s, %(workflow_id)s, %(version)s, %(document)s, %(created_ms)s);

-- name: target_list_paused
SELECT namespace, kind, target FROM paused_targets;

-- name: target_pause
INSERT INTO paused_targets (namespace, kind, target, paused_by, note, paused_ms)
VALUES (%(namespace)s, %(kind)s, %(target)s, %(paused_by)s, %(note)s, %(paused_ms)s)
ON CONFLICT (namespace, kind, target) DO UPDATE SET
    paused_by = excluded.paused_by, note = excluded.note, paused_ms = excluded.paused_ms;

-- name: target_resume
DELETE FROM paused_targets WHERE namespace = %(namespace)s AND kind = %(kind)s AND target = %(target)s RETURNING target;
