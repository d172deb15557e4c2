-- name: workflow_get_newest
SELECT namespace, workflow_id, version, document, created_ms FROM workflows
WHERE namespace = :namespace AND workflow_id = :workflow_id ORDER BY version DESC LIMIT 1;

-- name: workflow_get_version
SELECT namespace, workflow_id, version, document, created_ms FROM workflows
WHERE namespace = :namespace AND workflow_id = :workflow_id AND version = :version;

-- name: workflow_list_newest
SELECT namespace, workflow_id, version FROM workflows
WHERE namespace = ? AND workflow_id = ? ORDER BY version DESC LIMIT 1;

-- name: workflow_list
SELECT w.namespace, w.workflow_id, w.version, w.document, w.created_ms FROM workflows w
WHERE w.namespace = :namespace AND w.workflow_id > :after_id
  AND w.version = (
    SELECT max(n.version) FROM workflows n WHERE n.namespace = w.namespace AND n.workflow_id = w.workflow_id
  )
ORDER BY w.workflow_id LIMIT :limit;

-- name: workflow_insert
INSERT INTO workflows (namespace, workflow_id, version, document, created_ms)
VALUES (:namespace, :workflow_id, :version, :document, :created_ms);

-- name: target_list_paused
SELECT namespace, kind, target FROM paused_targets;

-- name: target_pause
INSERT INTO paused_targets (namespace, kind, target, paused_by, note, paused_ms)
VALUES (:namespace, :kind, :target, :paused_by, :note, :paused_ms)
ON CONFLICT (namespace, kind, target) DO UPDATE SET paused_by = :paused_by, note = :note, paused_ms = :paused_ms;

-- name: target_resume
DELETE FROM paused_targets WHERE namespace = :namespace AND kind = :kind AND target = :target RETURNING target;
