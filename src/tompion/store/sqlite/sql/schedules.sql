-- name: schedule_get
SELECT {schedule} FROM schedules WHERE namespace = :namespace AND schedule_id = :schedule_id;

-- name: schedule_get_full
-- A unique index and two primary keys.
SELECT {s.schedule}, {d.state}, {v.version} FROM schedules s
LEFT JOIN schedule_state d ON d.schedule_key = s.schedule_key
LEFT JOIN schedule_versions v ON v.schedule_key = s.schedule_key AND v.version = s.version
WHERE s.namespace = :namespace AND s.schedule_id IN (SELECT value FROM json_each(:ids));

-- name: schedule_list_by_key
SELECT {schedule} FROM schedules WHERE schedule_key IN (SELECT value FROM json_each(:keys));

-- name: schedule_insert
INSERT INTO schedules (
    namespace, schedule_id, version, token, state, workflow_id, user_id, labels, description, paused_by, pause_note,
    paused_ms, purge, zones, created_ms, updated_ms
) VALUES (
    :namespace, :schedule_id, :version, :token, :state, :workflow_id, :user_id, :labels, :description, :paused_by,
    :pause_note, :paused_ms, :purge, :zones, :created_ms, :updated_ms
)
RETURNING schedule_key;

-- name: schedule_update
UPDATE schedules SET
    version = :version, token = :token, state = :state, workflow_id = :workflow_id, user_id = :user_id,
    labels = :labels, description = :description, paused_by = :paused_by, pause_note = :pause_note,
    paused_ms = :paused_ms, purge = :purge, zones = :zones, updated_ms = :updated_ms
WHERE schedule_key = :schedule_key;

-- name: schedule_delete
DELETE FROM schedules WHERE schedule_key = :key;

-- name: schedule_list
-- The unique index on (namespace, schedule_id) gives the order. A schedule without a state row is listed too.
-- A planned run keeps a schedule active (index schedule_runs_queued). Conditions without schedule_state come first.
SELECT {s.schedule} FROM schedules s LEFT JOIN schedule_state d USING (schedule_key)
WHERE s.namespace = :namespace AND s.schedule_id > :after_id
  AND CASE coalesce(:state, 'open') WHEN 'open' THEN s.state <> 'closed' WHEN 'exhausted' THEN s.state = 'active'
    ELSE s.state = :state END
  AND (:workflow_id IS NULL OR s.workflow_id = :workflow_id)
  AND (:user_id IS NULL OR s.user_id = :user_id)
  AND (:label IS NULL OR (s.labels <> '{}'
    AND EXISTS (SELECT 1 FROM json_each(s.labels) l WHERE l.key = :label AND l.value = :label_value)))
  AND (:pattern IS NULL OR s.schedule_id LIKE :pattern ESCAPE '\' OR s.description LIKE :pattern ESCAPE '\')
  AND (:state IS NOT 'exhausted' OR (d.next_fire_ms IS NULL AND d.in_flight = 0 AND d.waiting = 0
    AND NOT EXISTS (SELECT 1 FROM schedule_runs r WHERE r.schedule_key = s.schedule_key AND r.queued_ms IS NOT NULL)))
  AND (:state IS NOT 'active' OR d.next_fire_ms IS NOT NULL OR d.in_flight > 0 OR d.waiting > 0
    OR EXISTS (SELECT 1 FROM schedule_runs r WHERE r.schedule_key = s.schedule_key AND r.queued_ms IS NOT NULL))
ORDER BY s.schedule_id LIMIT :limit;

-- name: schedule_list_rare
-- Index schedules_state. Reads and sorts all schedules in a status that does not depend on schedule_state.
SELECT {s.schedule} FROM schedules s INDEXED BY schedules_state
WHERE s.namespace = :namespace AND s.state = :state AND s.schedule_id > :after_id
  AND (:workflow_id IS NULL OR s.workflow_id = :workflow_id)
  AND (:user_id IS NULL OR s.user_id = :user_id)
  AND (:label IS NULL OR (s.labels <> '{}'
    AND EXISTS (SELECT 1 FROM json_each(s.labels) l WHERE l.key = :label AND l.value = :label_value)))
  AND (:pattern IS NULL OR s.schedule_id LIKE :pattern ESCAPE '\' OR s.description LIKE :pattern ESCAPE '\')
ORDER BY s.schedule_id LIMIT :limit;

-- name: schedule_count_matching
-- Index schedules_state, up to the row limit, then primary keys in order, which is much faster than the order of ids.
SELECT count(*) FROM (
    SELECT schedule_key FROM schedules INDEXED BY schedules_state
    WHERE namespace = :namespace AND state IN (SELECT value FROM json_each(:states)) LIMIT :max_rows
) AS matching CROSS JOIN schedules s USING (schedule_key)
WHERE (:workflow_id IS NULL OR s.workflow_id = :workflow_id)
  AND (:user_id IS NULL OR s.user_id = :user_id)
  AND (:label IS NULL OR (s.labels <> '{}'
    AND EXISTS (SELECT 1 FROM json_each(s.labels) l WHERE l.key = :label AND l.value = :label_value)))
  AND (:pattern IS NULL OR s.schedule_id LIKE :pattern ESCAPE '\' OR s.description LIKE :pattern ESCAPE '\');

-- name: schedule_count_matching_active
-- Like schedule_count_matching, but splits active schedules into those with work left and exhausted ones.
SELECT count(*) FROM (
    SELECT schedule_key FROM schedules INDEXED BY schedules_state
    WHERE namespace = :namespace AND state = 'active' LIMIT :max_rows
) AS matching CROSS JOIN schedules s USING (schedule_key) CROSS JOIN schedule_state d USING (schedule_key)
WHERE (:workflow_id IS NULL OR s.workflow_id = :workflow_id)
  AND (:user_id IS NULL OR s.user_id = :user_id)
  AND (:label IS NULL OR (s.labels <> '{}'
    AND EXISTS (SELECT 1 FROM json_each(s.labels) l WHERE l.key = :label AND l.value = :label_value)))
  AND (:pattern IS NULL OR s.schedule_id LIKE :pattern ESCAPE '\' OR s.description LIKE :pattern ESCAPE '\')
  AND (:state = 'active') = (d.next_fire_ms IS NOT NULL OR d.in_flight > 0 OR d.waiting > 0
    OR EXISTS (SELECT 1 FROM schedule_runs r WHERE r.schedule_key = s.schedule_key AND r.queued_ms IS NOT NULL));

-- name: schedule_list_same_spec
-- The unique index on (namespace, schedule_id) gives the order, then primary keys.
SELECT s.schedule_id, s.token FROM schedules s JOIN schedule_versions v USING (schedule_key, version)
WHERE s.namespace = :namespace AND s.schedule_id > :after_id AND s.state = 'active'
  AND v.spec = :spec AND v.calendars = :calendars AND instr(v.policy, '"adaptive"') = 0
ORDER BY s.schedule_id LIMIT :limit;

-- name: schedule_count_by_status
-- Index schedules_state, up to the row limit, then primary keys in order.
SELECT state, count(*), sum(in_flight), sum(waiting) FROM (
    SELECT s.state, d.in_flight, d.waiting FROM schedules s INDEXED BY schedules_state LEFT JOIN schedule_state d USING (schedule_key)
    WHERE s.namespace = :namespace LIMIT :max_rows
) AS matching
GROUP BY state;

-- name: schedule_count_degraded
-- Index schedules_degraded.
SELECT count(*) FROM schedules INDEXED BY schedules_degraded
WHERE substr(zones, -5) = ':gone' AND namespace = :namespace AND state <> 'closed';

-- name: schedule_count_in_status
-- Index schedules_state, up to the row limit.
SELECT count(*) FROM (SELECT 1 FROM schedules WHERE namespace = :namespace AND state = :state LIMIT :max_rows) AS matching;

-- name: schedule_count_open
-- Index schedules_state, up to the row limit.
SELECT count(*) FROM (
    SELECT 1 FROM schedules WHERE namespace = :namespace AND state IN ('active', 'paused') LIMIT :max_rows
) AS matching;

-- name: schedule_list_unhealthy
-- Index schedules_state, up to the row limit, then primary keys in order.
SELECT s.schedule_id, CASE WHEN substr(s.zones, -5) = ':gone' THEN 1 ELSE 0 END AS degraded, s.paused_by, s.paused_ms,
    d.pause_until_ms, d.failures, d.waiting, d.in_flight, d.last_start_ms, d.last_end_ms
FROM (
    SELECT schedule_key FROM schedules INDEXED BY schedules_state
    WHERE namespace = :namespace AND state IN ('active', 'paused') LIMIT :max_rows
) AS matching CROSS JOIN schedule_state d USING (schedule_key) CROSS JOIN schedules s USING (schedule_key)
WHERE d.failures > 0 OR d.waiting >= :growing OR (d.in_flight > 0 AND d.last_start_ms < :stuck_ms)
  OR substr(s.zones, -5) = ':gone'
  OR (s.state = 'paused' AND s.paused_ms < :forgotten_ms AND d.pause_until_ms IS NULL)
ORDER BY d.failures DESC, degraded DESC, s.schedule_id LIMIT :limit;

-- name: schedule_count_decided_ahead
-- Index schedules_state, up to the row limit, then primary keys. Index dropped_ranges_age.
SELECT count(*), max(at_ms) FROM (
    SELECT schedule_key, max(at_ms) AS at_ms FROM (
        SELECT d.schedule_key, d.last_start_ms AS at_ms FROM (
            SELECT schedule_key FROM schedules INDEXED BY schedules_state
            WHERE namespace = :namespace AND state IN ('active', 'paused') LIMIT :max_rows
        ) AS matching CROSS JOIN schedule_state d USING (schedule_key)
        WHERE d.last_start_ms > :edge_ms
        UNION ALL
        SELECT t.schedule_key, t.decided_ms FROM dropped_ranges t CROSS JOIN schedules s USING (schedule_key)
        WHERE t.decided_ms > :edge_ms AND s.namespace = :namespace AND s.state IN ('active', 'paused')
    ) AS ahead GROUP BY schedule_key
) AS per_schedule;

-- name: schedule_list_purgeable
SELECT s.schedule_key FROM schedules s JOIN schedule_state d USING (schedule_key)
WHERE s.state = 'closed' AND d.in_flight = 0 AND d.cursor_s < :before_s
  AND (s.purge = 1 OR s.updated_ms < :before_ms)
LIMIT :limit;

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
SELECT schedule_key FROM schedules WHERE zones = :zones AND zones <> '' ORDER BY schedule_key LIMIT :limit;

-- name: name_lock
-- BEGIN IMMEDIATE holds the only write lock.
SELECT 1;

-- name: number_next
UPDATE numbers SET last = last + 1 WHERE name = 'origin' RETURNING last;
