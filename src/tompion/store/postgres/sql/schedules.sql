-- name: schedule_get
SELECT {schedule} FROM schedules WHERE namespace = %(namespace)s AND schedule_id = %(schedule_id)s;

-- name: schedule_get_full
-- A unique index and two primary keys.
SELECT {s.schedule}, {d.state}, {v.version} FROM schedules s
LEFT JOIN schedule_state d ON d.schedule_key = s.schedule_key
LEFT JOIN schedule_versions v ON v.schedule_key = s.schedule_key AND v.version = s.version
WHERE s.namespace = %(namespace)s AND s.schedule_id = ANY (%(ids)s::text[]);

-- name: schedule_list_by_key
SELECT {schedule} FROM schedules WHERE schedule_key = ANY (%(keys)s::bigint[]);

-- name: schedule_insert
INSERT INTO schedules (
    namespace, schedule_id, version, token, state, workflow_id, user_id, labels, description, paused_by, pause_note,
    paused_ms, purge, zones, created_ms, updated_ms
) VALUES (
    %(namespace)s, %(schedule_id)s, %(version)s, %(token)s, %(state)s, %(workflow_id)s, %(user_id)s, %(labels)s,
    %(description)s, %(paused_by)s, %(pause_note)s, %(paused_ms)s, %(purge)s, %(zones)s, %(created_ms)s,
    %(updated_ms)s
)
RETURNING schedule_key;

-- name: schedule_update
UPDATE schedules SET
    version = %(version)s, token = %(token)s, state = %(state)s, workflow_id = %(workflow_id)s, user_id = %(user_id)s,
    labels = %(labels)s, description = %(description)s, paused_by = %(paused_by)s, pause_note = %(pause_note)s,
    paused_ms = %(paused_ms)s, purge = %(purge)s, zones = %(zones)s, updated_ms = %(updated_ms)s
WHERE schedule_key = %(schedule_key)s;

-- name: schedule_delete
DELETE FROM schedules WHERE schedule_key = %(key)s;

-- name: schedule_list
-- The unique index on (namespace, schedule_id) gives the order. A schedule without a state row is listed too.
-- A planned run keeps a schedule active (index schedule_runs_queued).
SELECT {s.schedule} FROM schedules s LEFT JOIN schedule_state d USING (schedule_key)
WHERE s.namespace = %(namespace)s AND s.schedule_id > %(after_id)s
  AND (s.state = %(state)s OR (%(state)s::text IS NULL AND s.state <> 'closed')
    OR (%(state)s = 'exhausted' AND s.state = 'active' AND d.next_fire_ms IS NULL AND d.in_flight = 0 AND d.waiting = 0
      AND NOT EXISTS (SELECT 1 FROM schedule_runs r WHERE r.schedule_key = s.schedule_key AND r.queued_ms IS NOT NULL)))
  AND (%(state)s IS DISTINCT FROM 'active' OR d.next_fire_ms IS NOT NULL OR d.in_flight > 0 OR d.waiting > 0
    OR EXISTS (SELECT 1 FROM schedule_runs r WHERE r.schedule_key = s.schedule_key AND r.queued_ms IS NOT NULL))
  AND (%(workflow_id)s::text IS NULL OR s.workflow_id = %(workflow_id)s)
  AND (%(user_id)s::text IS NULL OR s.user_id = %(user_id)s)
  AND (%(label)s::text IS NULL OR (s.labels <> '{}' AND s.labels::json ->> %(label)s::text = %(label_value)s))
  AND (%(pattern)s::text IS NULL OR lower(s.schedule_id COLLATE "C") LIKE lower(%(pattern)s COLLATE "C") ESCAPE '\'
    OR lower(s.description COLLATE "C") LIKE lower(%(pattern)s COLLATE "C") ESCAPE '\')
ORDER BY s.schedule_id LIMIT %(limit)s;

-- name: schedule_list_rare
-- Index schedules_state. Reads and sorts all schedules in a status that does not depend on schedule_state.
SELECT {s.schedule} FROM schedules s
WHERE s.namespace = %(namespace)s AND s.state = %(state)s AND s.schedule_id > %(after_id)s
  AND (%(workflow_id)s::text IS NULL OR s.workflow_id = %(workflow_id)s)
  AND (%(user_id)s::text IS NULL OR s.user_id = %(user_id)s)
  AND (%(label)s::text IS NULL OR (s.labels <> '{}' AND s.labels::json ->> %(label)s::text = %(label_value)s))
  AND (%(pattern)s::text IS NULL OR lower(s.schedule_id COLLATE "C") LIKE lower(%(pattern)s COLLATE "C") ESCAPE '\'
    OR lower(s.description COLLATE "C") LIKE lower(%(pattern)s COLLATE "C") ESCAPE '\')
ORDER BY s.schedule_id LIMIT %(limit)s;

-- name: schedule_count_matching
-- Index schedules_state, up to the row limit.
SELECT count(*) FROM (
    SELECT workflow_id, user_id, labels, schedule_id, description FROM schedules
    WHERE namespace = %(namespace)s AND state = ANY (%(states)s::text[]) LIMIT %(max_rows)s
) s
WHERE (%(workflow_id)s::text IS NULL OR s.workflow_id = %(workflow_id)s)
  AND (%(user_id)s::text IS NULL OR s.user_id = %(user_id)s)
  AND (%(label)s::text IS NULL OR (s.labels <> '{}' AND s.labels::json ->> %(label)s::text = %(label_value)s))
  AND (%(pattern)s::text IS NULL OR lower(s.schedule_id COLLATE "C") LIKE lower(%(pattern)s COLLATE "C") ESCAPE '\'
    OR lower(s.description COLLATE "C") LIKE lower(%(pattern)s COLLATE "C") ESCAPE '\');

-- name: schedule_count_matching_active
-- Like schedule_count_matching, but splits active schedules into those with work left and exhausted ones.
SELECT count(*) FROM (
    SELECT schedule_key, workflow_id, user_id, labels, schedule_id, description FROM schedules
    WHERE namespace = %(namespace)s AND state = 'active' LIMIT %(max_rows)s
) s JOIN schedule_state d USING (schedule_key)
WHERE (%(workflow_id)s::text IS NULL OR s.workflow_id = %(workflow_id)s)
  AND (%(user_id)s::text IS NULL OR s.user_id = %(user_id)s)
  AND (%(label)s::text IS NULL OR (s.labels <> '{}' AND s.labels::json ->> %(label)s::text = %(label_value)s))
  AND (%(pattern)s::text IS NULL OR lower(s.schedule_id COLLATE "C") LIKE lower(%(pattern)s COLLATE "C") ESCAPE '\'
    OR lower(s.description COLLATE "C") LIKE lower(%(pattern)s COLLATE "C") ESCAPE '\')
  AND (%(state)s::text = 'active') = (d.next_fire_ms IS NOT NULL OR d.in_flight > 0 OR d.waiting > 0
    OR EXISTS (SELECT 1 FROM schedule_runs r WHERE r.schedule_key = s.schedule_key AND r.queued_ms IS NOT NULL));

-- name: schedule_list_same_spec
-- The unique index on (namespace, schedule_id) gives the order, then primary keys.
SELECT s.schedule_id, s.token FROM schedules s JOIN schedule_versions v USING (schedule_key, version)
WHERE s.namespace = %(namespace)s AND s.schedule_id > %(after_id)s AND s.state = 'active'
  AND v.spec = %(spec)s AND v.calendars = %(calendars)s AND strpos(v.policy, '"adaptive"') = 0
ORDER BY s.schedule_id LIMIT %(limit)s;

-- name: schedule_count_by_status
-- Index schedules_state, up to the row limit, then schedule_state by key.
SELECT state, count(*), sum(in_flight), sum(waiting) FROM (
    SELECT s.state, d.in_flight, d.waiting FROM schedules s LEFT JOIN schedule_state d USING (schedule_key)
    WHERE s.namespace = %(namespace)s LIMIT %(max_rows)s
) AS matching
GROUP BY state;

-- name: schedule_count_degraded
-- Index schedules_degraded.
SELECT count(*) FROM schedules
WHERE right(zones, 5) = ':gone' AND namespace = %(namespace)s AND state <> 'closed';

-- name: schedule_count_in_status
-- Index schedules_state, up to the row limit.
SELECT count(*) FROM (
    SELECT 1 FROM schedules WHERE namespace = %(namespace)s AND state = %(state)s LIMIT %(max_rows)s
) AS matching;

-- name: schedule_count_open
-- Index schedules_state, up to the row limit.
SELECT count(*) FROM (
    SELECT 1 FROM schedules WHERE namespace = %(namespace)s AND state IN ('active', 'paused') LIMIT %(max_rows)s
) AS matching;

-- name: schedule_list_unhealthy
-- Index schedules_state, up to the row limit, then primary keys.
SELECT s.schedule_id, CASE WHEN right(s.zones, 5) = ':gone' THEN 1 ELSE 0 END AS degraded, s.paused_by, s.paused_ms,
    d.pause_until_ms, d.failures, d.waiting, d.in_flight, d.last_start_ms, d.last_end_ms
FROM (
    SELECT schedule_key FROM schedules
    WHERE namespace = %(namespace)s AND state IN ('active', 'paused') LIMIT %(max_rows)s
) AS matching JOIN schedule_state d USING (schedule_key) JOIN schedules s USING (schedule_key)
WHERE d.failures > 0 OR d.waiting >= %(growing)s OR (d.in_flight > 0 AND d.last_start_ms < %(stuck_ms)s)
  OR right(s.zones, 5) = ':gone'
  OR (s.state = 'paused' AND s.paused_ms < %(forgotten_ms)s AND d.pause_until_ms IS NULL)
ORDER BY d.failures DESC, degraded DESC, s.schedule_id LIMIT %(limit)s;

-- name: schedule_count_decided_ahead
-- Index schedules_state, up to the row limit, then primary keys. Index dropped_ranges_age.
SELECT count(*), max(at_ms) FROM (
    SELECT schedule_key, max(at_ms) AS at_ms FROM (
        SELECT d.schedule_key, d.last_start_ms AS at_ms FROM (
            SELECT schedule_key FROM schedules
            WHERE namespace = %(namespace)s AND state IN ('active', 'paused') LIMIT %(max_rows)s
        ) AS matching JOIN schedule_state d USING (schedule_key)
        WHERE d.last_start_ms > %(edge_ms)s
        UNION ALL
        SELECT t.schedule_key, t.decided_ms FROM dropped_ranges t JOIN schedules s USING (schedule_key)
        WHERE t.decided_ms > %(edge_ms)s AND s.namespace = %(namespace)s AND s.state IN ('active', 'paused')
    ) AS ahead GROUP BY schedule_key
) AS per_schedule;

-- name: schedule_list_purgeable
SELECT s.schedule_key FROM schedules s JOIN schedule_state d USING (schedule_key)
WHERE s.state = 'closed' AND d.in_flight = 0 AND d.cursor_s < %(before_s)s
  AND (s.purge OR s.updated_ms < %(before_ms)s)
LIMIT %(limit)s;

-- name: schedule_list_zones
-- Index schedules_zones, one step for each distinct text.
WITH RECURSIVE marks (zones) AS (
    SELECT min(zones) FROM schedules WHERE zones <> ''
    UNION ALL
    SELECT (SELECT min(s.zones) FROM schedules s WHERE s.zones > m.zones AND s.zones <> '')
    FROM marks m WHERE m.zones IS NOT NULL
)
SELECT zones FROM marks WHERE zones IS NOT NULL;

-- name: schedule_list_in_zone
-- Index schedules_zones.
SELECT schedule_key FROM schedules WHERE zones = %(zones)s AND zones <> '' ORDER BY schedule_key LIMIT %(limit)s;

-- name: name_lock
-- Serialises writers of the next version of a name. There may be no row yet that they could lock.
SELECT pg_advisory_xact_lock(hashtextextended(%(name)s, 0));

-- name: number_next
SELECT nextval('origin_numbers');
