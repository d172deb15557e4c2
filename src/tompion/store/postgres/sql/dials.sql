-- name: claim_due
-- Index dials_due.  A row that changed since the snapshot is looked at again once it is locked: the condition is on it.
SELECT {dial} FROM dials
WHERE next_fire_ms > %(after_ms)s AND next_fire_ms <= %(until_ms)s
ORDER BY next_fire_ms, schedule_key
LIMIT %(limit)s
FOR UPDATE SKIP LOCKED;

-- name: coming_dials
-- Index dials_due.
SELECT schedule_key, version FROM dials
WHERE next_fire_ms > %(after_ms)s AND next_fire_ms <= %(until_ms)s
ORDER BY next_fire_ms, schedule_key
LIMIT %(limit)s;

-- name: namespace_size
-- The unique index on (namespace, schedule_id), no further than so many.
SELECT count(*) FROM (SELECT 1 FROM schedules WHERE namespace = %(namespace)s LIMIT %(limit)s) AS found;

-- name: coming_in_small_namespace
-- The same index: among many tenants the walk by time would be one over what all the others do next.
SELECT d.schedule_key, d.next_fire_ms FROM schedules s JOIN dials d USING (schedule_key)
WHERE s.namespace = %(namespace)s AND d.next_fire_ms <= %(until_ms)s
ORDER BY d.next_fire_ms, d.schedule_key
LIMIT %(limit)s;

-- name: coming_in_namespace
-- Index dials_due.
SELECT d.schedule_key, d.next_fire_ms FROM dials d JOIN schedules s USING (schedule_key)
WHERE d.next_fire_ms <= %(until_ms)s AND s.namespace = %(namespace)s
ORDER BY d.next_fire_ms, d.schedule_key
LIMIT %(limit)s;

-- name: next_fires
-- Index schedules_state, no further than the bound, then dials by key.
SELECT (greatest(d.next_fire_ms, %(since_ms)s) - %(since_ms)s) / %(length_ms)s AS stretch, count(*) FROM (
    SELECT schedule_key FROM schedules WHERE namespace = %(namespace)s AND state = 'active' LIMIT %(most)s
) a JOIN dials d USING (schedule_key)
WHERE d.next_fire_ms < %(until_ms)s AND NOT d.paused
GROUP BY stretch;

-- name: kinds_of_fires
-- Index schedules_state, no further than the bound and only every so many-th, then primary keys.
-- What depends on the id stands by itself.
SELECT k.spec, k.calendars, s.schedule_id, k.schedules, k.next_nominal_s, k.next_fire_ms FROM (
    SELECT v.spec, v.calendars, min(d.schedule_key) AS example, count(*) AS schedules,
        min(d.next_nominal_s) AS next_nominal_s, min(d.next_fire_ms) AS next_fire_ms
    FROM (
        SELECT schedule_key FROM schedules WHERE namespace = %(namespace)s AND state = 'active' LIMIT %(most)s
    ) a JOIN dials d USING (schedule_key)
    JOIN schedule_versions v ON v.schedule_key = d.schedule_key AND v.version = d.version
    WHERE mod(a.schedule_key, %(step)s::bigint) = 0 AND d.next_fire_ms < %(until_ms)s AND NOT d.paused
      AND d.next_nominal_s IS NOT NULL AND strpos(v.policy, '"adaptive"') = 0 AND strpos(v.spec, 'completion') = 0
    GROUP BY v.spec, v.calendars,
        CASE WHEN strpos(v.spec, 'H') > 0 OR strpos(v.spec, '"jitter_ms"') > 0 THEN d.schedule_key ELSE 0 END
    ORDER BY schedules DESC, example LIMIT %(limit)s
) k JOIN schedules s ON s.schedule_key = k.example
ORDER BY k.schedules DESC, k.example;

-- name: lock_dials
-- In the order of the keys, so that two who lock several cannot wait for each other.
SELECT {dial} FROM dials WHERE schedule_key = ANY (%(keys)s::bigint[]) ORDER BY schedule_key FOR UPDATE;

-- name: read_dials
SELECT {dial} FROM dials WHERE schedule_key = ANY (%(keys)s::bigint[]) ORDER BY schedule_key;

-- name: insert_dials
INSERT INTO dials ({dial})
SELECT * FROM unnest(
    %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::boolean[], %s::bigint[], %s::boolean[],
    %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::text[], %s::bigint[], %s::text[],
    %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::text[]
);

-- name: save_dials
UPDATE dials d SET
    version = n.version, cursor_s = n.cursor_s, next_nominal_s = n.next_nominal_s, next_fire_ms = n.next_fire_ms,
    paused = n.paused, pause_until_ms = n.pause_until_ms, closed = n.closed, in_flight = n.in_flight,
    waiting = n.waiting, remaining = n.remaining, last_start_ms = n.last_start_ms, failures = n.failures,
    carry = n.carry, carry_until_s = n.carry_until_s, skips = n.skips, starts = n.starts, successes = n.successes,
    failed = n.failed, skipped = n.skipped, missed = n.missed, last_end_ms = n.last_end_ms, hints = n.hints
FROM unnest(
    %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::boolean[], %s::bigint[], %s::boolean[],
    %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::text[], %s::bigint[], %s::text[],
    %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::text[]
) AS n ({dial})
WHERE d.schedule_key = n.schedule_key;

-- name: step_dials
UPDATE dials d SET
    cursor_s = n.cursor_s, next_nominal_s = n.next_nominal_s, next_fire_ms = n.next_fire_ms, in_flight = n.in_flight,
    last_start_ms = n.last_start_ms, starts = n.starts
FROM unnest(
    %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[]
) AS n ({step})
WHERE d.schedule_key = n.schedule_key;

-- name: tally_dials
UPDATE dials d SET in_flight = n.in_flight, successes = n.successes, failures = 0
FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[]) AS n ({tally})
WHERE d.schedule_key = n.schedule_key;

-- name: delete_dial
DELETE FROM dials WHERE schedule_key = %(key)s;

-- name: busy_dials
-- All of them: somebody has died, or an answer was lost, and that is rare.
SELECT schedule_key, in_flight FROM dials WHERE in_flight > 0;

-- name: due_now
-- What kinds of work are due, and when the next is; each is one look at a partial index.
SELECT
    EXISTS (SELECT 1 FROM dials WHERE next_fire_ms >= %(edge_ms)s AND next_fire_ms <= %(now_ms)s),
    EXISTS (SELECT 1 FROM dials WHERE next_fire_ms < %(edge_ms)s),
    EXISTS (SELECT 1 FROM schedule_runs WHERE due_ms <= %(now_ms)s AND state = 'PLANNED'),
    EXISTS (SELECT 1 FROM schedule_runs WHERE due_ms <= %(now_ms)s AND state IN ('ENQUEUED', 'STARTED', 'TERMINATED'))
        OR EXISTS (SELECT 1 FROM instances WHERE lease_until_ms <= %(now_ms)s),
    EXISTS (SELECT 1 FROM backfills WHERE next_ms <= %(now_ms)s),
    least(
        (SELECT min(next_fire_ms) FROM dials WHERE next_fire_ms > %(now_ms)s),
        (SELECT min(due_ms) FROM schedule_runs WHERE due_ms > %(now_ms)s),
        (SELECT min(lease_until_ms) FROM instances WHERE lease_until_ms > %(now_ms)s),
        (SELECT min(next_ms) FROM backfills WHERE next_ms > %(now_ms)s)
    );
