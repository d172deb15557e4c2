-- name: schedule_by_id
SELECT {schedule} FROM schedules WHERE namespace = %(namespace)s AND schedule_id = %(schedule_id)s;

-- name: schedules_by_key
SELECT {schedule} FROM schedules WHERE schedule_key = ANY (%(keys)s::bigint[]);

-- name: insert_schedule
INSERT INTO schedules (
    namespace, schedule_id, version, token, state, workflow_id, user_id, labels, description, paused_by, pause_note,
    paused_ms, purge, zones, created_ms, updated_ms
) VALUES (
    %(namespace)s, %(schedule_id)s, %(version)s, %(token)s, %(state)s, %(workflow_id)s, %(user_id)s, %(labels)s,
    %(description)s, %(paused_by)s, %(pause_note)s, %(paused_ms)s, %(purge)s, %(zones)s, %(created_ms)s,
    %(updated_ms)s
)
RETURNING schedule_key;

-- name: save_schedule
UPDATE schedules SET
    version = %(version)s, token = %(token)s, state = %(state)s, workflow_id = %(workflow_id)s, user_id = %(user_id)s,
    labels = %(labels)s, description = %(description)s, paused_by = %(paused_by)s, pause_note = %(pause_note)s,
    paused_ms = %(paused_ms)s, purge = %(purge)s, zones = %(zones)s, updated_ms = %(updated_ms)s
WHERE schedule_key = %(schedule_key)s;

-- name: delete_schedule
DELETE FROM schedules WHERE schedule_key = %(key)s;

-- name: schedules_page
-- The unique index on (namespace, schedule_id) gives the order.  One whose dial is gone is shown all the same.
-- What is planned keeps a schedule active: index schedule_runs_queued.
SELECT {s.schedule} FROM schedules s LEFT JOIN dials d USING (schedule_key)
WHERE s.namespace = %(namespace)s AND s.schedule_id > %(after_id)s
  AND (s.state = %(state)s OR (%(state)s::text IS NULL AND s.state <> 'closed')
    OR (%(state)s = 'exhausted' AND s.state = 'active' AND d.next_fire_ms IS NULL AND d.in_flight = 0 AND d.waiting = 0
      AND NOT EXISTS (SELECT 1 FROM schedule_runs r WHERE r.schedule_key = s.schedule_key AND r.queued_ms IS NOT NULL)))
  AND (%(state)s IS DISTINCT FROM 'active' OR d.next_fire_ms IS NOT NULL OR d.in_flight > 0 OR d.waiting > 0
    OR EXISTS (SELECT 1 FROM schedule_runs r WHERE r.schedule_key = s.schedule_key AND r.queued_ms IS NOT NULL))
  AND (%(workflow_id)s::text IS NULL OR s.workflow_id = %(workflow_id)s)
  AND (%(user_id)s::text IS NULL OR s.user_id = %(user_id)s)
  AND (%(label)s::text IS NULL OR s.labels::json ->> %(label)s::text = %(label_value)s)
  AND (%(text)s::text IS NULL
    OR strpos(lower((s.schedule_id || ' ' || s.description) COLLATE "C"), lower(%(text)s::text COLLATE "C")) > 0)
ORDER BY s.schedule_id LIMIT %(limit)s;

-- name: tally_schedules
-- The unique index on (namespace, schedule_id), no further than the bound.
SELECT state, count(*), sum(degraded), sum(in_flight), sum(waiting) FROM (
    SELECT s.state, d.in_flight, d.waiting, CASE WHEN right(s.zones, 5) = ':gone' THEN 1 ELSE 0 END AS degraded
    FROM schedules s LEFT JOIN dials d USING (schedule_key) WHERE s.namespace = %(namespace)s LIMIT %(most)s
) AS found
GROUP BY state;

-- name: troubled
-- The unique index on (namespace, schedule_id), no further than the bound.
SELECT schedule_id, degraded, paused_by, paused_ms, pause_until_ms, failures, waiting, in_flight, last_start_ms, last_end_ms
FROM (
    SELECT s.schedule_id, CASE WHEN right(s.zones, 5) = ':gone' THEN 1 ELSE 0 END AS degraded, s.paused_by, s.paused_ms,
        s.state, d.pause_until_ms, d.failures, d.waiting, d.in_flight, d.last_start_ms, d.last_end_ms
    FROM schedules s JOIN dials d USING (schedule_key) WHERE s.namespace = %(namespace)s LIMIT %(most)s
) found
WHERE state <> 'closed' AND (failures > 0 OR degraded = 1 OR waiting >= %(growing)s
    OR (in_flight > 0 AND last_start_ms < %(stuck_ms)s)
    OR (state = 'paused' AND paused_ms < %(forgotten_ms)s AND pause_until_ms IS NULL))
ORDER BY failures DESC, degraded DESC, schedule_id LIMIT %(limit)s;

-- name: purgeable
SELECT s.schedule_key FROM schedules s JOIN dials d USING (schedule_key)
WHERE s.state = 'closed' AND d.in_flight = 0 AND d.cursor_s < %(before_s)s
  AND (s.purge OR s.updated_ms < %(before_ms)s)
LIMIT %(limit)s;

-- name: planned_zones
-- Index schedules_zones.
SELECT DISTINCT zones FROM schedules WHERE zones <> '';

-- name: schedules_in_zone
-- Index schedules_zones.
SELECT schedule_key FROM schedules WHERE zones = %(zones)s AND zones <> '' ORDER BY schedule_key LIMIT %(limit)s;

-- name: insert_version
INSERT INTO schedule_versions ({version}) VALUES (
    %(schedule_key)s, %(version)s, %(spec)s, %(policy)s, %(action)s, %(payload)s, %(about)s, %(calendars)s,
    %(after_s)s, %(until_s)s, %(author)s, %(created_ms)s
);

-- name: end_version
UPDATE schedule_versions SET until_s = %(until_s)s
WHERE schedule_key = %(key)s AND version = %(version)s AND until_s IS NULL;

-- name: versions_of
SELECT {version} FROM schedule_versions WHERE schedule_key = %(key)s ORDER BY version DESC LIMIT %(limit)s;

-- name: version_by_number
SELECT {version} FROM schedule_versions WHERE schedule_key = %(key)s AND version = %(version)s;

-- name: versions_in_force
-- Both primary keys.
SELECT {v.version} FROM schedules s
JOIN schedule_versions v ON v.schedule_key = s.schedule_key AND v.version = s.version
WHERE s.schedule_key = ANY (%(keys)s::bigint[]);

-- name: purge_versions
DELETE FROM schedule_versions WHERE schedule_key = %(key)s;

-- name: definitions
-- What an engine needs to know of the schedules it has claimed and does not remember.
SELECT v.schedule_key, v.version, s.namespace, s.schedule_id, v.spec, v.policy, v.action, v.payload, v.calendars
FROM unnest(%(pairs_1)s::bigint[], %(pairs_2)s::bigint[]) AS p (schedule_key, version)
JOIN schedule_versions v ON v.schedule_key = p.schedule_key AND v.version = p.version
JOIN schedules s ON s.schedule_key = v.schedule_key;
