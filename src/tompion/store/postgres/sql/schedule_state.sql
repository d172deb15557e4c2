-- name: state_claim_due
-- Index schedule_state_due. After locking a row that has changed since the snapshot, the server checks the condition again.
SELECT {state} FROM schedule_state
WHERE next_fire_ms > %(after_ms)s AND next_fire_ms <= %(until_ms)s
ORDER BY next_fire_ms, schedule_key
LIMIT %(limit)s
FOR UPDATE SKIP LOCKED;

-- name: state_list_upcoming
-- Index schedule_state_due.
SELECT schedule_key, version FROM schedule_state
WHERE next_fire_ms > %(after_ms)s AND next_fire_ms <= %(until_ms)s
ORDER BY next_fire_ms, schedule_key
LIMIT %(limit)s;

-- name: state_list_upcoming_in_namespace
-- Index schedule_state_due.
SELECT d.schedule_key, d.next_fire_ms FROM schedule_state d JOIN schedules s USING (schedule_key)
WHERE d.next_fire_ms <= %(until_ms)s AND s.namespace = %(namespace)s
ORDER BY d.next_fire_ms, d.schedule_key
LIMIT %(limit)s;

-- name: state_list_upcoming_in_small_namespace
-- By namespace first. With many tenants, a walk by time would read the upcoming ticks of all the others.
SELECT d.schedule_key, d.next_fire_ms FROM schedules s JOIN schedule_state d USING (schedule_key)
WHERE s.namespace = %(namespace)s AND d.next_fire_ms <= %(until_ms)s
ORDER BY d.next_fire_ms, d.schedule_key
LIMIT %(limit)s;

-- name: state_count_in_namespace
-- The unique index on (namespace, schedule_id), up to the row limit.
SELECT count(*) FROM (SELECT 1 FROM schedules WHERE namespace = %(namespace)s LIMIT %(limit)s) AS matching;

-- name: state_count_fires_by_bucket
-- Index schedules_state, up to the row limit, then schedule_state by key.
SELECT (greatest(d.next_fire_ms, %(since_ms)s) - %(since_ms)s) / %(length_ms)s AS bucket, count(*) FROM (
    SELECT schedule_key FROM schedules WHERE namespace = %(namespace)s AND state = 'active' LIMIT %(max_rows)s
) a JOIN schedule_state d USING (schedule_key)
WHERE d.next_fire_ms < %(until_ms)s AND NOT d.paused
GROUP BY bucket;

-- name: state_count_fires_by_spec
-- Index schedules_state, up to the row limit, every step-th key, then primary keys.
-- Specs whose ticks depend on the schedule id (H, jitter) form a group each.
SELECT k.spec, k.calendars, s.schedule_id, k.schedules, k.next_nominal_s, k.next_fire_ms FROM (
    SELECT v.spec, v.calendars, min(d.schedule_key) AS example, count(*) AS schedules,
        min(d.next_nominal_s) AS next_nominal_s, min(d.next_fire_ms) AS next_fire_ms
    FROM (
        SELECT schedule_key FROM schedules WHERE namespace = %(namespace)s AND state = 'active' LIMIT %(max_rows)s
    ) a JOIN schedule_state d USING (schedule_key)
    JOIN schedule_versions v ON v.schedule_key = d.schedule_key AND v.version = d.version
    WHERE mod(a.schedule_key, %(step)s::bigint) = 0 AND d.next_fire_ms < %(until_ms)s AND NOT d.paused
      AND d.next_nominal_s IS NOT NULL AND strpos(v.policy, '"adaptive"') = 0 AND strpos(v.spec, 'completion') = 0
    GROUP BY v.spec, v.calendars,
        CASE WHEN strpos(v.spec, 'H') > 0 OR strpos(v.spec, '"jitter_ms"') > 0 THEN d.schedule_key ELSE 0 END
    ORDER BY schedules DESC, example LIMIT %(limit)s
) k JOIN schedules s ON s.schedule_key = k.example
ORDER BY k.schedules DESC, k.example;

-- name: state_lock
-- In key order, so that two transactions that lock several rows cannot deadlock.
SELECT {state} FROM schedule_state WHERE schedule_key = ANY (%(keys)s::bigint[]) ORDER BY schedule_key FOR UPDATE;

-- name: state_lock_by_id
SELECT {state} FROM schedule_state WHERE schedule_key = (
    SELECT schedule_key FROM schedules WHERE namespace = %(namespace)s AND schedule_id = %(schedule_id)s
) FOR UPDATE;

-- name: state_get
SELECT {state} FROM schedule_state WHERE schedule_key = ANY (%(keys)s::bigint[]) ORDER BY schedule_key;

-- name: state_insert_many
INSERT INTO schedule_state ({state})
SELECT * FROM unnest(
    %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::boolean[], %s::bigint[], %s::boolean[],
    %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::text[], %s::bigint[], %s::text[],
    %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::text[], %s::bigint[]
);

-- name: state_update
UPDATE schedule_state d SET
    version = n.version, cursor_s = n.cursor_s, next_nominal_s = n.next_nominal_s, next_fire_ms = n.next_fire_ms,
    paused = n.paused, pause_until_ms = n.pause_until_ms, closed = n.closed, in_flight = n.in_flight,
    waiting = n.waiting, remaining = n.remaining, last_start_ms = n.last_start_ms, failures = n.failures,
    carry = n.carry, carry_until_s = n.carry_until_s, skips = n.skips, starts = n.starts, successes = n.successes,
    failed = n.failed, skipped = n.skipped, missed = n.missed, last_end_ms = n.last_end_ms, hints = n.hints,
    zone_tables = n.zone_tables
FROM unnest(
    %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::boolean[], %s::bigint[], %s::boolean[],
    %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::text[], %s::bigint[], %s::text[],
    %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::text[], %s::bigint[]
) AS n ({state})
WHERE d.schedule_key = n.schedule_key;

-- name: state_advance_fast
UPDATE schedule_state d SET
    cursor_s = n.cursor_s, next_nominal_s = n.next_nominal_s, next_fire_ms = n.next_fire_ms, in_flight = n.in_flight,
    last_start_ms = n.last_start_ms, starts = n.starts
FROM unnest(
    %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[]
) AS n ({fast_advance})
WHERE d.schedule_key = n.schedule_key;

-- name: state_count_successes
UPDATE schedule_state d SET in_flight = n.in_flight, successes = n.successes, failures = 0
FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[]) AS n ({success_count})
WHERE d.schedule_key = n.schedule_key;

-- name: state_delete
DELETE FROM schedule_state WHERE schedule_key = %(key)s;

-- name: state_list_in_flight
-- A full scan. It is needed only after an instance died or a commit's reply was lost, which is rare.
SELECT schedule_key, in_flight FROM schedule_state WHERE in_flight > 0;

-- name: work_due
-- Kinds of work that are due, and the time of the next. Each part is one lookup in a partial index.
SELECT
    EXISTS (SELECT 1 FROM schedule_state WHERE next_fire_ms >= %(edge_ms)s AND next_fire_ms <= %(now_ms)s),
    EXISTS (SELECT 1 FROM schedule_state WHERE next_fire_ms < %(edge_ms)s),
    EXISTS (SELECT 1 FROM schedule_runs WHERE due_ms <= %(now_ms)s AND state = 'PLANNED'),
    EXISTS (SELECT 1 FROM schedule_runs WHERE due_ms <= %(now_ms)s AND state IN ('ENQUEUED', 'STARTED', 'TERMINATED'))
        OR EXISTS (SELECT 1 FROM instances WHERE lease_until_ms <= %(now_ms)s),
    EXISTS (SELECT 1 FROM backfills WHERE next_ms <= %(now_ms)s),
    least(
        (SELECT min(next_fire_ms) FROM schedule_state WHERE next_fire_ms > %(now_ms)s),
        (SELECT min(due_ms) FROM schedule_runs WHERE due_ms > %(now_ms)s),
        (SELECT min(lease_until_ms) FROM instances WHERE lease_until_ms > %(now_ms)s),
        (SELECT min(next_ms) FROM backfills WHERE next_ms > %(now_ms)s)
    );

-- name: backlog_count
-- Indexes schedule_state_due, schedule_runs_queued, schedules_paused and schedules_degraded, each up to the row limit.
SELECT
    (SELECT count(*) FROM (SELECT 1 FROM schedule_state WHERE next_fire_ms <= %(now_ms)s LIMIT %(max_rows)s) AS due),
    (SELECT count(*) FROM (SELECT 1 FROM schedule_runs WHERE queued_ms IS NOT NULL LIMIT %(max_rows)s) AS waiting),
    (SELECT count(*) FROM (SELECT 1 FROM schedules WHERE state = 'paused' LIMIT %(max_rows)s) AS paused),
    (SELECT count(*) FROM (
        SELECT 1 FROM schedules WHERE right(zones, 5) = ':gone' AND state <> 'closed' LIMIT %(max_rows)s
    ) AS degraded);
