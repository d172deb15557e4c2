-- name: next_number
SELECT nextval('origin_numbers');

-- name: lock_name
-- Whoever writes the next version of something that may not be there yet has nothing else to wait for.
SELECT pg_advisory_xact_lock(hashtextextended(%(name)s, 0));

-- name: secret
SELECT value FROM secrets WHERE name = %(name)s;

-- name: insert_secret
INSERT INTO secrets (name, value)
VALUES (%(name)s, %(value)s) ON CONFLICT (name) DO NOTHING;

-- name: search_attributes
SELECT name, kind FROM search_attributes WHERE namespace = %(namespace)s ORDER BY name;

-- name: insert_search_attribute
INSERT INTO search_attributes (namespace, name, kind)
VALUES (%(namespace)s, %(name)s, %(kind)s) ON CONFLICT (namespace, name) DO NOTHING;

-- name: insert_backfill
INSERT INTO backfills ({backfill})
SELECT * FROM unnest(
    %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::text[], %s::text[], %s::bigint[],
    %s::text[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[]
);

-- name: save_backfill
UPDATE backfills SET
    cursor_s = %(cursor_s)s, state = %(state)s, done = %(done)s, next_ms = %(next_ms)s, finished_ms = %(finished_ms)s
WHERE backfill_id = %(backfill_id)s AND state = 'RUNNING';

-- name: put_off_backfill
-- Whatever its state is said to be.
UPDATE backfills SET next_ms = %(until_ms)s WHERE backfill_id = %(backfill_id)s AND next_ms IS NOT NULL;

-- name: due_backfills
-- Index backfills_due.
SELECT {backfill} FROM backfills
WHERE next_ms <= %(now_ms)s ORDER BY next_ms, backfill_id LIMIT %(limit)s;

-- name: backfill_by_id
SELECT {backfill} FROM backfills WHERE backfill_id = %(backfill_id)s;

-- name: backfills_of
SELECT {backfill} FROM backfills WHERE schedule_key = %(key)s AND (state = 'RUNNING' OR NOT %(unfinished)s::boolean)
ORDER BY backfill_id DESC LIMIT %(limit)s;

-- name: wake_backfills
-- Index backfills_of_schedule.
UPDATE backfills SET next_ms = %(now_ms)s
WHERE schedule_key = ANY (%(keys)s::bigint[]) AND state = 'RUNNING' AND next_ms > %(now_ms)s;

-- name: purge_backfills
DELETE FROM backfills WHERE schedule_key = %(key)s;

-- name: calendar_newest
SELECT namespace, name, version, document, created_ms FROM calendars
WHERE namespace = %(namespace)s AND name = %(name)s ORDER BY version DESC LIMIT 1;

-- name: calendar_version
SELECT namespace, name, version, document, created_ms FROM calendars
WHERE namespace = %(namespace)s AND name = %(name)s AND version = %(version)s;

-- name: insert_calendar
INSERT INTO calendars (namespace, name, version, document, created_ms)
VALUES (%(namespace)s, %(name)s, %(version)s, %(document)s, %(created_ms)s);

-- name: calendars_page
SELECT c.namespace, c.name, c.version, c.document, c.created_ms FROM calendars c
WHERE c.namespace = %(namespace)s AND c.name > %(after_name)s
  AND c.version = (SELECT max(n.version) FROM calendars n WHERE n.namespace = c.namespace AND n.name = c.name)
ORDER BY c.name LIMIT %(limit)s;

-- name: users_of_calendar
SELECT schedule_key FROM calendar_uses
WHERE namespace = %(namespace)s AND name = %(name)s ORDER BY schedule_key LIMIT %(limit)s;

-- name: forget_calendar_uses
DELETE FROM calendar_uses WHERE schedule_key = %(key)s;

-- name: insert_calendar_uses
INSERT INTO calendar_uses (namespace, name, schedule_key)
SELECT * FROM unnest(%s::text[], %s::text[], %s::bigint[]);

-- name: workflow_newest
SELECT namespace, workflow_id, version, document, created_ms FROM workflows
WHERE namespace = %(namespace)s AND workflow_id = %(workflow_id)s ORDER BY version DESC LIMIT 1;

-- name: workflow_version
SELECT namespace, workflow_id, version, document, created_ms FROM workflows
WHERE namespace = %(namespace)s AND workflow_id = %(workflow_id)s AND version = %(version)s;

-- name: newest_workflows
-- The primary key, backwards: one step for each.
SELECT n.namespace, n.workflow_id, newest.version FROM unnest(%s::text[], %s::text[]) AS n (namespace, workflow_id)
CROSS JOIN LATERAL (
    SELECT w.version FROM workflows w
    WHERE w.namespace = n.namespace AND w.workflow_id = n.workflow_id ORDER BY w.version DESC LIMIT 1
) AS newest;

-- name: workflows_page
SELECT w.namespace, w.workflow_id, w.version, w.document, w.created_ms FROM workflows w
WHERE w.namespace = %(namespace)s AND w.workflow_id > %(after_id)s
  AND w.version = (
    SELECT max(n.version) FROM workflows n WHERE n.namespace = w.namespace AND n.workflow_id = w.workflow_id
  )
ORDER BY w.workflow_id LIMIT %(limit)s;

-- name: insert_workflow
INSERT INTO workflows (namespace, workflow_id, version, document, created_ms)
VALUES (%(namespace)s, %(workflow_id)s, %(version)s, %(document)s, %(created_ms)s);

-- name: paused_targets
SELECT namespace, kind, target FROM paused_targets;

-- name: pause_target
INSERT INTO paused_targets (namespace, kind, target, paused_by, note, paused_ms)
VALUES (%(namespace)s, %(kind)s, %(target)s, %(paused_by)s, %(note)s, %(paused_ms)s)
ON CONFLICT (namespace, kind, target) DO UPDATE SET
    paused_by = excluded.paused_by, note = excluded.note, paused_ms = excluded.paused_ms;

-- name: resume_target
DELETE FROM paused_targets WHERE namespace = %(namespace)s AND kind = %(kind)s AND target = %(target)s RETURNING target;

-- name: insert_audit
INSERT INTO audit (
    at_ms, namespace, schedule_id, actor, operation, token, version, request_id, before, after
) VALUES (
    %(at_ms)s, %(namespace)s, %(schedule_id)s, %(actor)s, %(operation)s, %(token)s, %(version)s, %(request_id)s,
    %(before)s, %(after)s
);

-- name: audit_page
SELECT {audit}
FROM audit
WHERE namespace = %(namespace)s AND schedule_id = %(schedule_id)s AND audit_number < %(before_number)s
ORDER BY audit_number DESC LIMIT %(limit)s;

-- name: audit_of_all
-- Index audit_of_namespace.
SELECT {audit}
FROM audit
WHERE namespace = %(namespace)s AND audit_number < %(before_number)s
ORDER BY audit_number DESC LIMIT %(limit)s;

-- name: audit_since
-- The primary key.
SELECT {audit}
FROM audit WHERE audit_number > %(after_number)s ORDER BY audit_number LIMIT %(limit)s;

-- name: last_audit_number
-- The primary key.
SELECT coalesce(max(audit_number), 0) FROM audit;

-- name: unsealed_namespaces
-- Index audit_unsealed.
SELECT DISTINCT namespace FROM (
    SELECT namespace FROM audit WHERE position IS NULL ORDER BY audit_number LIMIT %(limit)s
) AS oldest;

-- name: insert_heads
-- In one order, so that two do not wait for each other; nor for whoever holds one that is there.
INSERT INTO audit_heads (namespace, position, digest, gone_position, gone_digest)
SELECT each, 0, '', 0, '' FROM unnest(%s::text[]) AS new (each)
WHERE NOT EXISTS (SELECT FROM audit_heads WHERE namespace = each) ORDER BY each
ON CONFLICT DO NOTHING;

-- name: lock_heads
-- Whoever holds one is about to do the same.
SELECT namespace, position, digest, gone_position, gone_digest FROM audit_heads
WHERE namespace = ANY(%(namespaces)s::text[]) ORDER BY namespace FOR UPDATE SKIP LOCKED;

-- name: unsealed_audit
-- Index audit_unsealed.
SELECT {audit}
FROM audit
WHERE position IS NULL AND namespace = ANY(%(namespaces)s::text[]) ORDER BY audit_number LIMIT %(limit)s;

-- name: seal_audit
UPDATE audit SET position = new.position, previous = new.previous, digest = new.digest
FROM unnest(%s::bigint[], %s::bigint[], %s::text[], %s::text[]) AS new (audit_number, position, previous, digest)
WHERE audit.audit_number = new.audit_number AND audit.position IS NULL;

-- name: save_heads
UPDATE audit_heads SET
    position = new.position, digest = new.digest, gone_position = new.gone_position, gone_digest = new.gone_digest
FROM unnest(%s::text[], %s::bigint[], %s::text[], %s::bigint[], %s::text[])
    AS new (namespace, position, digest, gone_position, gone_digest)
WHERE audit_heads.namespace = new.namespace;

-- name: audit_head
SELECT namespace, position, digest, gone_position, gone_digest FROM audit_heads WHERE namespace = %(namespace)s;

-- name: audit_chain
-- Index audit_chain.
SELECT {audit}
FROM audit
WHERE namespace = %(namespace)s AND position > %(after_position)s ORDER BY position LIMIT %(limit)s;

-- name: count_unsealed
-- Index audit_unsealed.
SELECT count(*) FROM audit WHERE position IS NULL AND namespace = %(namespace)s;

-- name: oldest_audit
-- The primary key: of the oldest rows those that are too old, by namespace.
SELECT namespace, max(position) FROM (
    SELECT namespace, position, at_ms FROM audit ORDER BY audit_number LIMIT %(limit)s
) AS oldest
WHERE position IS NOT NULL AND at_ms < %(before_ms)s GROUP BY namespace;

-- name: expire_audit
-- Index audit_chain.
DELETE FROM audit WHERE namespace = %(namespace)s AND position <= %(until_position)s;

-- name: request_by_id
SELECT operation, fingerprint, answer FROM requests WHERE namespace = %(namespace)s AND request_id = %(request_id)s;

-- name: insert_request
INSERT INTO requests (namespace, request_id, operation, fingerprint, answer, created_ms)
VALUES (%(namespace)s, %(request_id)s, %(operation)s, %(fingerprint)s, %(answer)s, %(created_ms)s);

-- name: expire_requests
-- Index requests_by_age.
DELETE FROM requests
WHERE ctid = ANY (ARRAY(SELECT ctid FROM requests WHERE created_ms < %(before_ms)s LIMIT %(limit)s))
RETURNING 1;

-- name: insert_instance
INSERT INTO instances (
    namespace, name, release, queues, started_ms, heartbeat_ms, stopped_ms, skew_ms, lease_until_ms
) VALUES (%(namespace)s, %(name)s, %(release)s, %(queues)s, %(now_ms)s, %(now_ms)s, NULL, 0, %(lease_until_ms)s)
RETURNING instance_id;

-- name: beat
-- One lease for everything that the instance holds.  One that was taken away stays away.
UPDATE instances SET heartbeat_ms = %(now_ms)s, skew_ms = %(skew_ms)s, lease_until_ms = %(lease_until_ms)s
WHERE instance_id = %(instance_id)s AND lease_until_ms IS NOT NULL
RETURNING instance_id;

-- name: hear_of_worker
-- A worker that is no instance has no lease of its own: its runs have.
UPDATE instances SET heartbeat_ms = %(now_ms)s, queues = %(queues)s
WHERE instance_id = %(instance_id)s AND namespace = %(namespace)s AND lease_until_ms IS NULL AND stopped_ms IS NULL
RETURNING name;

-- name: dismiss_worker
UPDATE instances SET stopped_ms = %(now_ms)s
WHERE instance_id = %(instance_id)s AND namespace = %(namespace)s AND lease_until_ms IS NULL;

-- name: served_queues
-- Engines serve every namespace, other workers that in which they have joined.
SELECT queues, count(*) AS live FROM instances
WHERE stopped_ms IS NULL AND heartbeat_ms > %(since_ms)s
  AND (namespace IS NULL OR namespace = %(namespace)s)
GROUP BY queues;

-- name: share_lease
-- Whoever takes leases away has to pass by until this transaction is over.  Not the row: heartbeats need that.
SELECT pg_advisory_xact_lock_shared('instances'::regclass::oid::integer, %(instance_id)s::integer);

-- name: hold_lease
SELECT instance_id FROM instances WHERE instance_id = %(instance_id)s AND lease_until_ms IS NOT NULL;

-- name: lapsed_instances
-- Index instances_lease.
SELECT instance_id FROM instances WHERE lease_until_ms <= %(now_ms)s ORDER BY instance_id;

-- name: seize_lease
-- Nobody who is just taking runs under it can be passed over, so nobody waits here.
SELECT 1 WHERE pg_try_advisory_xact_lock('instances'::regclass::oid::integer, %(instance_id)s::integer);

-- name: end_leases
UPDATE instances SET lease_until_ms = NULL
WHERE instance_id = ANY (%(instances)s::bigint[]);

-- name: stop_instance
UPDATE instances SET stopped_ms = %(now_ms)s, lease_until_ms = %(lease_until_ms)s
WHERE instance_id = %(instance_id)s AND lease_until_ms IS NOT NULL;

-- name: live_instances
SELECT count(*) AS live FROM instances
WHERE stopped_ms IS NULL AND heartbeat_ms > %(since_ms)s AND lease_until_ms IS NOT NULL;

-- name: instances_page
SELECT instance_id, name, release, queues, started_ms, heartbeat_ms, stopped_ms, skew_ms, lease_until_ms, namespace
FROM instances
WHERE namespace IS NULL OR namespace = %(namespace)s
ORDER BY instance_id DESC LIMIT %(limit)s;

-- name: expire_instances
DELETE FROM instances WHERE coalesce(stopped_ms, heartbeat_ms) < %(before_ms)s AND lease_until_ms IS NULL;

-- name: insert_key
INSERT INTO api_keys (key_id, namespace, role, name, hash, created_by, created_ms, expires_ms, revoked_ms)
VALUES (%(key_id)s, %(namespace)s, %(role)s, %(name)s, %(hash)s, %(created_by)s, %(created_ms)s, %(expires_ms)s, %(revoked_ms)s);

-- name: key_by_id
SELECT key_id, namespace, role, name, hash, created_by, created_ms, expires_ms, revoked_ms FROM api_keys
WHERE key_id = %(key_id)s;

-- name: keys_page
SELECT key_id, namespace, role, name, hash, created_by, created_ms, expires_ms, revoked_ms FROM api_keys
WHERE namespace = %(namespace)s AND key_id > %(after)s ORDER BY key_id LIMIT %(limit)s;

-- name: revoke_key
UPDATE api_keys SET revoked_ms = coalesce(revoked_ms, %(now_ms)s)
WHERE key_id = %(key_id)s AND namespace = %(namespace)s
RETURNING key_id;

-- name: standing
-- Indexes dials_due, schedule_runs_queued, schedules_paused and schedules_degraded; none is read further than the bound.
SELECT
    (SELECT count(*) FROM (SELECT 1 FROM dials WHERE next_fire_ms <= %(now_ms)s LIMIT %(most)s) AS due),
    (SELECT count(*) FROM (SELECT 1 FROM schedule_runs WHERE queued_ms IS NOT NULL LIMIT %(most)s) AS waiting),
    (SELECT count(*) FROM (SELECT 1 FROM schedules WHERE state = 'paused' LIMIT %(most)s) AS paused),
    (SELECT count(*) FROM (
        SELECT 1 FROM schedules WHERE right(zones, 5) = ':gone' AND state <> 'closed' LIMIT %(most)s
    ) AS degraded);

-- name: queue_depths
-- Index schedule_runs_due, no further than the bound.  What nobody has taken yet, of all namespaces, by queue.
SELECT queue, count(*) AS waiting, min(due_ms) AS since_ms FROM (
    SELECT v.action::json ->> 'queue' AS queue, r.due_ms FROM schedule_runs r
    JOIN schedule_versions v ON v.schedule_key = r.schedule_key AND v.version = r.version
    WHERE r.due_ms <= %(now_ms)s AND r.state = 'ENQUEUED' AND r.owner IS NULL
    ORDER BY r.due_ms LIMIT %(most)s
) AS found
GROUP BY queue;
