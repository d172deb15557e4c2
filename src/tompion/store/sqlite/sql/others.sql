-- name: next_number
UPDATE numbers SET last = last + 1 WHERE name = 'origin' RETURNING last;

-- name: lock_name
-- BEGIN IMMEDIATE holds the only write lock.
SELECT 1;

-- name: secret
SELECT value FROM secrets WHERE name = :name;

-- name: insert_secret
INSERT INTO secrets (name, value) VALUES (:name, :value) ON CONFLICT (name) DO NOTHING;

-- name: search_attributes
SELECT name, kind FROM search_attributes WHERE namespace = :namespace ORDER BY name;

-- name: insert_search_attribute
INSERT INTO search_attributes (namespace, name, kind)
VALUES (:namespace, :name, :kind) ON CONFLICT (namespace, name) DO NOTHING;

-- name: insert_backfill
INSERT INTO backfills ({backfill}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: save_backfill
UPDATE backfills SET cursor_s = :cursor_s, state = :state, done = :done, next_ms = :next_ms, finished_ms = :finished_ms
WHERE backfill_id = :backfill_id AND state = 'RUNNING';

-- name: put_off_backfill
-- Whatever its state is said to be.
UPDATE backfills SET next_ms = :until_ms WHERE backfill_id = :backfill_id AND next_ms IS NOT NULL;

-- name: due_backfills
-- Index backfills_due.
SELECT {backfill} FROM backfills WHERE next_ms <= :now_ms ORDER BY next_ms, backfill_id LIMIT :limit;

-- name: backfill_by_id
SELECT {backfill} FROM backfills WHERE backfill_id = :backfill_id;

-- name: backfills_of
SELECT {backfill} FROM backfills WHERE schedule_key = :key AND (state = 'RUNNING' OR NOT :unfinished)
ORDER BY backfill_id DESC LIMIT :limit;

-- name: wake_backfills
-- Index backfills_of_schedule.
UPDATE backfills SET next_ms = :now_ms
WHERE schedule_key IN (SELECT value FROM json_each(:keys)) AND state = 'RUNNING' AND next_ms > :now_ms;

-- name: purge_backfills
DELETE FROM backfills WHERE schedule_key = :key;

-- name: calendar_newest
SELECT namespace, name, version, document, created_ms FROM calendars
WHERE namespace = :namespace AND name = :name ORDER BY version DESC LIMIT 1;

-- name: calendar_version
SELECT namespace, name, version, document, created_ms FROM calendars
WHERE namespace = :namespace AND name = :name AND version = :version;

-- name: insert_calendar
INSERT INTO calendars (namespace, name, version, document, created_ms)
VALUES (:namespace, :name, :version, :document, :created_ms);

-- name: calendars_page
SELECT c.namespace, c.name, c.version, c.document, c.created_ms FROM calendars c
WHERE c.namespace = :namespace AND c.name > :after_name
  AND c.version = (SELECT max(n.version) FROM calendars n WHERE n.namespace = c.namespace AND n.name = c.name)
ORDER BY c.name LIMIT :limit;

-- name: users_of_calendar
SELECT schedule_key FROM calendar_uses WHERE namespace = :namespace AND name = :name ORDER BY schedule_key LIMIT :limit;

-- name: forget_calendar_uses
DELETE FROM calendar_uses WHERE schedule_key = :key;

-- name: insert_calendar_uses
INSERT INTO calendar_uses (namespace, name, schedule_key) VALUES (?, ?, ?);

-- name: workflow_newest
SELECT namespace, workflow_id, version, document, created_ms FROM workflows
WHERE namespace = :namespace AND workflow_id = :workflow_id ORDER BY version DESC LIMIT 1;

-- name: workflow_version
SELECT namespace, workflow_id, version, document, created_ms FROM workflows
WHERE namespace = :namespace AND workflow_id = :workflow_id AND version = :version;

-- name: newest_workflows
SELECT namespace, workflow_id, version FROM workflows
WHERE namespace = ? AND workflow_id = ? ORDER BY version DESC LIMIT 1;

-- name: workflows_page
SELECT w.namespace, w.workflow_id, w.version, w.document, w.created_ms FROM workflows w
WHERE w.namespace = :namespace AND w.workflow_id > :after_id
  AND w.version = (
    SELECT max(n.version) FROM workflows n WHERE n.namespace = w.namespace AND n.workflow_id = w.workflow_id
  )
ORDER BY w.workflow_id LIMIT :limit;

-- name: insert_workflow
INSERT INTO workflows (namespace, workflow_id, version, document, created_ms)
VALUES (:namespace, :workflow_id, :version, :document, :created_ms);

-- name: paused_targets
SELECT namespace, kind, target FROM paused_targets;

-- name: pause_target
INSERT INTO paused_targets (namespace, kind, target, paused_by, note, paused_ms)
VALUES (:namespace, :kind, :target, :paused_by, :note, :paused_ms)
ON CONFLICT (namespace, kind, target) DO UPDATE SET paused_by = :paused_by, note = :note, paused_ms = :paused_ms;

-- name: resume_target
DELETE FROM paused_targets WHERE namespace = :namespace AND kind = :kind AND target = :target RETURNING target;

-- name: insert_audit
INSERT INTO audit (
    at_ms, namespace, schedule_id, actor, operation, token, version, request_id, before, after
) VALUES (
    :at_ms, :namespace, :schedule_id, :actor, :operation, :token, :version, :request_id, :before, :after
);

-- name: audit_page
SELECT {audit}
FROM audit
WHERE namespace = :namespace AND schedule_id = :schedule_id AND audit_number < :before_number
ORDER BY audit_number DESC LIMIT :limit;

-- name: audit_of_all
-- Index audit_of_namespace.
SELECT {audit}
FROM audit
WHERE namespace = :namespace AND audit_number < :before_number
ORDER BY audit_number DESC LIMIT :limit;

-- name: audit_since
-- The primary key.
SELECT {audit}
FROM audit WHERE audit_number > :after_number ORDER BY audit_number LIMIT :limit;

-- name: last_audit_number
-- The primary key.
SELECT coalesce(max(audit_number), 0) FROM audit;

-- name: unsealed_namespaces
-- Index audit_unsealed.
SELECT DISTINCT namespace FROM (
    SELECT namespace FROM audit WHERE position IS NULL ORDER BY audit_number LIMIT :limit
) AS oldest;

-- name: insert_heads
INSERT INTO audit_heads (namespace, position, digest, gone_position, gone_digest)
VALUES (?, 0, '', 0, '')
ON CONFLICT DO NOTHING;

-- name: lock_heads
SELECT namespace, position, digest, gone_position, gone_digest FROM audit_heads
WHERE namespace IN (SELECT value FROM json_each(:namespaces)) ORDER BY namespace;

-- name: unsealed_audit
-- Index audit_unsealed.
SELECT {audit}
FROM audit
WHERE position IS NULL AND namespace IN (SELECT value FROM json_each(:namespaces)) ORDER BY audit_number LIMIT :limit;

-- name: seal_audit
UPDATE audit SET position = ?2, previous = ?3, digest = ?4 WHERE audit_number = ?1 AND position IS NULL;

-- name: save_heads
UPDATE audit_heads SET position = ?2, digest = ?3, gone_position = ?4, gone_digest = ?5 WHERE namespace = ?1;

-- name: audit_head
SELECT namespace, position, digest, gone_position, gone_digest FROM audit_heads WHERE namespace = :namespace;

-- name: audit_chain
-- Index audit_chain.
SELECT {audit}
FROM audit
WHERE namespace = :namespace AND position > :after_position ORDER BY position LIMIT :limit;

-- name: count_unsealed
-- Index audit_unsealed.
SELECT count(*) FROM audit WHERE position IS NULL AND namespace = :namespace;

-- name: oldest_audit
-- The primary key: of the oldest rows those that are too old, by namespace.
SELECT namespace, max(position) FROM (
    SELECT namespace, position, at_ms FROM audit ORDER BY audit_number LIMIT :limit
) AS oldest
WHERE position IS NOT NULL AND at_ms < :before_ms GROUP BY namespace;

-- name: expire_audit
-- Index audit_chain.
DELETE FROM audit WHERE namespace = :namespace AND position <= :until_position;

-- name: request_by_id
SELECT operation, fingerprint, answer FROM requests WHERE namespace = :namespace AND request_id = :request_id;

-- name: insert_request
INSERT INTO requests (namespace, request_id, operation, fingerprint, answer, created_ms)
VALUES (:namespace, :request_id, :operation, :fingerprint, :answer, :created_ms);

-- name: expire_requests
-- Index requests_by_age.
DELETE FROM requests WHERE (namespace, request_id) IN (
    SELECT namespace, request_id FROM requests WHERE created_ms < :before_ms LIMIT :limit
)
RETURNING 1;

-- name: insert_instance
INSERT INTO instances (
    namespace, name, release, queues, started_ms, heartbeat_ms, stopped_ms, skew_ms, lease_until_ms
) VALUES (:namespace, :name, :release, :queues, :now_ms, :now_ms, NULL, 0, :lease_until_ms)
RETURNING instance_id;

-- name: beat
-- One lease for everything that the instance holds.  One that was taken away stays away.
UPDATE instances SET heartbeat_ms = :now_ms, skew_ms = :skew_ms, lease_until_ms = :lease_until_ms
WHERE instance_id = :instance_id AND lease_until_ms IS NOT NULL
RETURNING instance_id;

-- name: hear_of_worker
-- A worker that is no instance has no lease of its own: its runs have.
UPDATE instances SET heartbeat_ms = :now_ms, queues = :queues
WHERE instance_id = :instance_id AND namespace = :namespace AND lease_until_ms IS NULL AND stopped_ms IS NULL
RETURNING name;

-- name: dismiss_worker
UPDATE instances SET stopped_ms = :now_ms
WHERE instance_id = :instance_id AND namespace = :namespace AND lease_until_ms IS NULL;

-- name: served_queues
-- Engines serve every namespace, other workers that in which they have joined.
SELECT queues, count(*) AS live FROM instances
WHERE stopped_ms IS NULL AND heartbeat_ms > :since_ms
  AND (namespace IS NULL OR namespace = :namespace)
GROUP BY queues;

-- name: share_lease
-- BEGIN IMMEDIATE holds the only write lock: nobody can take a lease away meanwhile.
SELECT 1;

-- name: hold_lease
SELECT instance_id FROM instances WHERE instance_id = :instance_id AND lease_until_ms IS NOT NULL;

-- name: lapsed_instances
-- Index instances_lease.
SELECT instance_id FROM instances WHERE lease_until_ms <= :now_ms ORDER BY instance_id;

-- name: seize_lease
SELECT 1 WHERE :instance_id > 0;

-- name: end_leases
UPDATE instances SET lease_until_ms = NULL
WHERE instance_id IN (SELECT value FROM json_each(:instances));

-- name: stop_instance
UPDATE instances SET stopped_ms = :now_ms, lease_until_ms = :lease_until_ms
WHERE instance_id = :instance_id AND lease_until_ms IS NOT NULL;

-- name: live_instances
SELECT count(*) AS live FROM instances
WHERE stopped_ms IS NULL AND heartbeat_ms > :since_ms AND lease_until_ms IS NOT NULL;

-- name: instances_page
SELECT instance_id, name, release, queues, started_ms, heartbeat_ms, stopped_ms, skew_ms, lease_until_ms, namespace
FROM instances
WHERE namespace IS NULL OR namespace = :namespace
ORDER BY instance_id DESC LIMIT :limit;

-- name: expire_instances
DELETE FROM instances WHERE coalesce(stopped_ms, heartbeat_ms) < :before_ms AND lease_until_ms IS NULL;

-- name: insert_key
INSERT INTO api_keys (key_id, namespace, role, name, hash, created_by, created_ms, expires_ms, revoked_ms)
VALUES (:key_id, :namespace, :role, :name, :hash, :created_by, :created_ms, :expires_ms, :revoked_ms);

-- name: key_by_id
SELECT key_id, namespace, role, name, hash, created_by, created_ms, expires_ms, revoked_ms FROM api_keys
WHERE key_id = :key_id;

-- name: keys_page
SELECT key_id, namespace, role, name, hash, created_by, created_ms, expires_ms, revoked_ms FROM api_keys
WHERE namespace = :namespace AND key_id > :after ORDER BY key_id LIMIT :limit;

-- name: revoke_key
UPDATE api_keys SET revoked_ms = coalesce(revoked_ms, :now_ms)
WHERE key_id = :key_id AND namespace = :namespace
RETURNING key_id;

-- name: standing
-- Indexes dials_due, schedule_runs_queued, schedules_paused and schedules_degraded; none is read further than the bound.
SELECT
    (SELECT count(*) FROM (SELECT 1 FROM dials WHERE next_fire_ms <= :now_ms LIMIT :most) AS due),
    (SELECT count(*) FROM (SELECT 1 FROM schedule_runs WHERE queued_ms IS NOT NULL LIMIT :most) AS waiting),
    (SELECT count(*) FROM (
        SELECT 1 FROM schedules INDEXED BY schedules_paused WHERE state = 'paused' LIMIT :most
    ) AS paused),
    (SELECT count(*) FROM (
        SELECT 1 FROM schedules WHERE substr(zones, -5) = ':gone' AND state <> 'closed' LIMIT :most
    ) AS degraded);

-- name: queue_depths
-- Index schedule_runs_due, no further than the bound.  What nobody has taken yet, of all namespaces, by queue.
SELECT queue, count(*) AS waiting, min(due_ms) AS since_ms FROM (
    SELECT json_extract(v.action, '$.queue') AS queue, r.due_ms FROM schedule_runs r
    JOIN schedule_versions v ON v.schedule_key = r.schedule_key AND v.version = r.version
    WHERE r.due_ms <= :now_ms AND r.state = 'ENQUEUED' AND r.owner IS NULL
    ORDER BY r.due_ms LIMIT :most
) AS found
GROUP BY queue;
