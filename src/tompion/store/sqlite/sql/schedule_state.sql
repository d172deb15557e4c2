-- name: state_claim_due
-- Index schedule_state_due. BEGIN IMMEDIATE holds the only write lock, so no other engine can claim the same rows.
SELECT {state} FROM schedule_state
WHERE next_fire_ms > :after_ms AND next_fire_ms <= :until_ms
ORDER BY next_fire_ms, schedule_key
LIMIT :limit;

-- name: state_list_upcoming
-- Index schedule_state_due.
SELECT schedule_key, version FROM schedule_state
WHERE next_fire_ms > :after_ms AND next_fire_ms <= :until_ms
ORDER BY next_fire_ms, schedule_key
LIMIT :limit;

-- name: state_list_upcoming_in_namespace
-- Index schedule_state_due. CROSS JOIN fixes the join order in SQLite, so that it does not scan the namespace first.
SELECT d.schedule_key, d.next_fire_ms FROM schedule_state d CROSS JOIN schedules s USING (schedule_key)
WHERE d.next_fire_ms <= :until_ms AND s.namespace = :namespace
ORDER BY d.next_fire_ms, d.schedule_key
LIMIT :limit;

-- name: state_list_upcoming_in_small_namespace
-- By namespace first. With many tenants, a walk by time would read the upcoming ticks of all the others.
SELECT d.schedule_key, d.next_fire_ms FROM schedules s CROSS JOIN schedule_state d USING (schedule_key)
WHERE s.namespace = :namespace AND d.next_fire_ms <= :until_ms
ORDER BY d.next_fire_ms, d.schedule_key
LIMIT :limit;

-- name: state_count_in_namespace
-- The unique index on (namespace, schedule_id), up to the row limit.
SELECT count(*) FROM (SELECT 1 FROM schedules WHERE namespace = :namespace LIMIT :limit);

-- name: state_count_fires_by_bucket
-- Index schedules_state, up to the row limit, then primary keys in order.
SELECT (max(d.next_fire_ms, :since_ms) - :since_ms) / :length_ms AS bucket, count(*) FROM (
    SELECT schedule_key FROM schedules INDEXED BY schedules_state
    WHERE namespace = :namespace AND state = 'active' LIMIT :max_rows
) a CROSS JOIN schedule_state d USING (schedule_key)
WHERE d.next_fire_ms < :until_ms AND d.paused = 0
GROUP BY bucket;

-- name: state_count_fires_by_spec
-- Index schedules_state, up to the row limit, every :step-th key, then primary keys in order.
-- Specs whose ticks depend on the schedule id (H, jitter) form a group each.
SELECT k.spec, k.calendars, s.schedule_id, k.schedules, k.next_nominal_s, k.next_fire_ms FROM (
    SELECT v.spec, v.calendars, min(d.schedule_key) AS example, count(*) AS schedules,
        min(d.next_nominal_s) AS next_nominal_s, min(d.next_fire_ms) AS next_fire_ms
    FROM (
        SELECT schedule_key FROM schedules INDEXED BY schedules_state
        WHERE namespace = :namespace AND state = 'active' LIMIT :max_rows
    ) a CROSS JOIN schedule_state d USING (schedule_key)
    CROSS JOIN schedule_versions v ON v.schedule_key = d.schedule_key AND v.version = d.version
    WHERE a.schedule_key % :step = 0 AND d.next_fire_ms < :until_ms AND d.paused = 0 AND d.next_nominal_s IS NOT NULL
      AND instr(v.policy, '"adaptive"') = 0 AND instr(v.spec, 'completion') = 0
    GROUP BY v.spec, v.calendars,
        CASE WHEN instr(v.spec, 'H') > 0 OR instr(v.spec, '"jitter_ms"') > 0 THEN d.schedule_key ELSE 0 END
    ORDER BY schedules DESC, example LIMIT :limit
) k JOIN schedules s ON s.schedule_key = k.example
ORDER BY k.schedules DESC, k.example;

-- name: state_lock
SELECT {state} FROM schedule_state WHERE schedule_key IN (SELECT value FROM json_each(:keys)) ORDER BY schedule_key;

-- name: state_lock_by_id
SELECT {state} FROM schedule_state WHERE schedule_key = (
    SELECT schedule_key FROM schedules WHERE namespace = :namespace AND schedule_id = :schedule_id
);

-- name: state_get
SELECT {state} FROM schedule_state WHERE schedule_key IN (SELECT value FROM json_each(:keys)) ORDER BY schedule_key;

-- name: state_insert_many
INSERT INTO schedule_state ({state}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: state_update
UPDATE schedule_state SET
    version = ?2, cursor_s = ?3, next_nominal_s = ?4, next_fire_ms = ?5, paused = ?6, pause_until_ms = ?7,
    closed = ?8, in_flight = ?9, waiting = ?10, remaining = ?11, last_start_ms = ?12, failures = ?13, carry = ?14,
    carry_until_s = ?15, skips = ?16, starts = ?17, successes = ?18, failed = ?19, skipped = ?20, missed = ?21,
    last_end_ms = ?22, hints = ?23, zone_tables = ?24
WHERE schedule_key = ?1;

-- name: state_advance_fast
UPDATE schedule_state SET
    cursor_s = ?2, next_nominal_s = ?3, next_fire_ms = ?4, in_flight = ?5, last_start_ms = ?6, starts = ?7
WHERE schedule_key = ?1;

-- name: state_count_successes
UPDATE schedule_state SET in_flight = ?2, successes = ?3, failures = 0 WHERE schedule_key = ?1;

-- name: state_delete
DELETE FROM schedule_state WHERE schedule_key = :key;

-- name: state_list_in_flight
-- A full scan. It is needed only after an instance died or a commit's reply was lost, which is rare.
SELECT schedule_key, in_flight FROM schedule_state WHERE in_flight > 0;

-- name: work_due
-- Kinds of work that are due, and the time of the next. Each part is one lookup in a partial index.
SELECT
    EXISTS (SELECT 1 FROM schedule_state WHERE next_fire_ms >= :edge_ms AND next_fire_ms <= :now_ms),
    EXISTS (SELECT 1 FROM schedule_state WHERE next_fire_ms < :edge_ms),
    EXISTS (SELECT 1 FROM schedule_runs WHERE due_ms <= :now_ms AND state = 'PLANNED'),
    EXISTS (SELECT 1 FROM schedule_runs WHERE due_ms <= :now_ms AND state IN ('ENQUEUED', 'STARTED', 'TERMINATED'))
        OR EXISTS (SELECT 1 FROM instances WHERE lease_until_ms <= :now_ms),
    EXISTS (SELECT 1 FROM backfills WHERE next_ms <= :now_ms),
    (SELECT min(due) FROM (
        SELECT min(next_fire_ms) AS due FROM schedule_state WHERE next_fire_ms > :now_ms
        UNION ALL
        SELECT min(due_ms) FROM schedule_runs WHERE due_ms > :now_ms
        UNION ALL
        SELECT min(lease_until_ms) FROM instances WHERE lease_until_ms > :now_ms
        UNION ALL
        SELECT min(next_ms) FROM backfills WHERE next_ms > :now_ms
    ));

-- name: backlog_count
-- Indexes schedule_state_due, schedule_runs_queued, schedules_paused and schedules_degraded, each up to the row limit.
SELECT
    (SELECT count(*) FROM (SELECT 1 FROM schedule_state WHERE next_fire_ms <= :now_ms LIMIT :max_rows) AS due),
    (SELECT count(*) FROM (SELECT 1 FROM schedule_runs WHERE queued_ms IS NOT NULL LIMIT :max_rows) AS waiting),
    (SELECT count(*) FROM (
        SELECT 1 FROM schedules INDEXED BY schedules_paused WHERE state = 'paused' LIMIT :max_rows
    ) AS paused),
    (SELECT count(*) FROM (
        SELECT 1 FROM schedules WHERE substr(zones, -5) = ':gone' AND state <> 'closed' LIMIT :max_rows
    ) AS degraded);
