-- name: run_insert
-- Index schedule_runs_once. Existing rows are not changed. The caller compares the row count.
INSERT INTO schedule_runs ({run})
SELECT * FROM unnest(
    %s::bigint[], %s::bigint[], %s::bigint[], %s::text[], %s::text[], %s::text[], %s::bigint[], %s::bigint[],
    %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::text[], %s::text[],
    %s::text[], %s::text[], %s::bigint[], %s::bigint[], %s::boolean[], %s::text[], %s::text[], %s::text[],
    %s::bigint[], %s::bigint[], %s::text[], %s::text[]
)
ON CONFLICT (schedule_key, nominal_s, origin) DO NOTHING;

-- name: run_insert_fast
-- Index schedule_runs_once. Values that all on-time starts share are constants here. ON CONFLICT costs a third more,
-- so the driver sends it only in the retry after a conflict.
INSERT INTO schedule_runs (
    schedule_key, nominal_s, origin, source, state, version, attempt, failures, fire_ms, owner, decided_ms,
    local_s, cancel_requested
)
SELECT schedule_key, nominal_s, 0, 'schedule', 'ENQUEUED', version, 1, 0, fire_ms, owner, decided_ms, local_s, false
FROM unnest(
    %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[]
) AS n ({fast_start})
ON CONFLICT (schedule_key, nominal_s, origin) DO NOTHING;

-- name: run_list_existing
-- Index schedule_runs_once. The last column sorts the rows in insertion order. Rows of this transaction come after
-- rows that others inserted meanwhile, whose numbers may be higher.
SELECT r.schedule_key, r.nominal_s, r.origin,
    r.run_number + CASE WHEN r.xmin = pg_current_xact_id()::xid THEN 4611686018427387904 ELSE 0 END
FROM schedule_runs r
JOIN unnest(%s::bigint[], %s::bigint[], %s::bigint[]) AS h (schedule_key, nominal_s, origin)
  USING (schedule_key, nominal_s, origin);

-- name: run_settle
-- Index schedule_runs_once. Only the holder of the fence may write, and only while the run is in flight. A cancellation
-- that was requested meanwhile applies to the next attempt.
UPDATE schedule_runs r SET
    state = n.state, attempt = n.attempt, failures = n.failures,
    reason = coalesce(
        n.reason, CASE WHEN r.reason NOT IN ('retry', 'target_paused', 'target_unreachable') THEN r.reason END
    ),
    due_ms = n.due_ms, owner = n.owner, started_ms = coalesce(n.started_ms, r.started_ms),
    finished_ms = n.finished_ms, error = n.error,
    result = n.result, execution_id = coalesce(n.execution_id, r.execution_id), report = NULL,
    cancel_requested = r.cancel_requested AND n.state = 'ENQUEUED'
FROM unnest(
    %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::text[], %s::text[], %s::bigint[], %s::bigint[],
    %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::text[], %s::text[], %s::text[]
) AS n ({change})
WHERE r.schedule_key = n.schedule_key AND r.nominal_s = n.nominal_s AND r.origin = n.origin AND r.attempt = n.fence
  AND r.state IN ('ENQUEUED', 'STARTED')
RETURNING r.schedule_key, r.nominal_s, r.origin;

-- name: run_finish_fast
-- Index schedule_runs_once. Like run_settle, for plain successes.
UPDATE schedule_runs r SET
    state = 'SUCCESS', due_ms = NULL,
    reason = CASE WHEN r.reason NOT IN ('retry', 'target_paused', 'target_unreachable') THEN r.reason END,
    owner = NULL, started_ms = coalesce(n.started_ms, r.started_ms), finished_ms = n.finished_ms, error = NULL,
    result = NULL, cancel_requested = false
FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[]) AS n ({fast_finish})
WHERE r.schedule_key = n.schedule_key AND r.nominal_s = n.nominal_s AND r.origin = n.origin AND r.attempt = n.fence
  AND r.state IN ('ENQUEUED', 'STARTED')
RETURNING r.schedule_key, r.nominal_s, r.origin;

-- name: run_release_waiting
-- Index schedule_runs_once. Starts or skips waiting runs.
UPDATE schedule_runs r SET
    state = n.state, reason = n.reason, attempt = n.attempt, failures = n.failures, due_ms = n.due_ms, owner = n.owner,
    started_ms = n.started_ms, finished_ms = n.finished_ms, error = n.error, result = n.result,
    execution_id = n.execution_id, queued_ms = CASE WHEN n.state = 'BUFFERED' THEN r.queued_ms END
FROM unnest(
    %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::text[], %s::text[], %s::bigint[], %s::bigint[],
    %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::text[], %s::text[], %s::text[]
) AS n ({change})
WHERE r.schedule_key = n.schedule_key AND r.nominal_s = n.nominal_s AND r.origin = n.origin AND r.attempt = n.fence
  AND r.state IN ('PLANNED', 'BUFFERED')
RETURNING r.schedule_key, r.nominal_s, r.origin;

-- name: run_mark_started
UPDATE schedule_runs r SET state = 'STARTED', started_ms = h.started_ms
FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[])
  AS h (schedule_key, nominal_s, origin, fence, started_ms)
WHERE r.schedule_key = h.schedule_key AND r.nominal_s = h.nominal_s AND r.origin = h.origin AND r.attempt = h.fence
  AND r.state = 'ENQUEUED'
RETURNING r.schedule_key, r.nominal_s, r.origin;

-- name: run_release_expired
-- Index schedule_runs_once. The owner's lease has expired, so any engine may claim the run.
UPDATE schedule_runs r SET due_ms = h.due_ms
FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[])
  AS h (schedule_key, nominal_s, origin, fence, due_ms)
WHERE r.schedule_key = h.schedule_key AND r.nominal_s = h.nominal_s AND r.origin = h.origin AND r.attempt = h.fence
  AND r.state IN ('ENQUEUED', 'STARTED') AND r.due_ms IS NULL
RETURNING r.schedule_key, r.nominal_s, r.origin;

-- name: run_hand_back
-- Index schedule_runs_once. A stopping instance releases runs that it has not started or will not finish.
UPDATE schedule_runs r SET state = 'ENQUEUED', owner = NULL, due_ms = h.due_ms
FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[])
  AS h (schedule_key, nominal_s, origin, fence, due_ms)
WHERE r.schedule_key = h.schedule_key AND r.nominal_s = h.nominal_s AND r.origin = h.origin AND r.attempt = h.fence
  AND r.state IN ('ENQUEUED', 'STARTED')
RETURNING r.schedule_key, r.nominal_s, r.origin;

-- name: run_check_held
SELECT r.schedule_key, r.nominal_s, r.origin, r.cancel_requested FROM schedule_runs r
JOIN unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[]) AS h (schedule_key, nominal_s, origin, fence)
  ON r.schedule_key = h.schedule_key AND r.nominal_s = h.nominal_s AND r.origin = h.origin AND r.attempt = h.fence
WHERE r.state IN ('ENQUEUED', 'STARTED');

-- name: run_save_report
-- Index schedule_runs_once. Outcome reported from outside. The first report counts, and an engine settles the run.
UPDATE schedule_runs r SET report = h.report, due_ms = h.due_ms
FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::text[], %s::bigint[])
  AS h (schedule_key, nominal_s, origin, fence, report, due_ms)
WHERE r.schedule_key = h.schedule_key AND r.nominal_s = h.nominal_s AND r.origin = h.origin AND r.attempt = h.fence
  AND r.state IN ('ENQUEUED', 'STARTED') AND r.report IS NULL
RETURNING r.schedule_key, r.nominal_s, r.origin;

-- name: run_renew_remote
-- Index schedule_runs_once. Heartbeat of a run on a remote worker. A run that an instance holds needs no lease of
-- its own.
UPDATE schedule_runs r SET
    state = 'STARTED', started_ms = coalesce(r.started_ms, h.now_ms),
    due_ms = CASE WHEN r.owner IS NULL THEN h.until_ms END, progress = coalesce(h.new_progress, r.progress)
FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::text[])
  AS h (run_key, run_nominal_s, run_origin, fence, now_ms, until_ms, new_progress)
WHERE r.schedule_key = h.run_key AND r.nominal_s = h.run_nominal_s AND r.origin = h.run_origin AND r.attempt = h.fence
  AND r.state IN ('ENQUEUED', 'STARTED') AND r.report IS NULL
RETURNING {run};

-- name: run_list_reported
-- Index schedule_runs_due. Runs on remote workers that were reported as finished, or had no heartbeat in time.
SELECT {run} FROM schedule_runs
WHERE due_ms <= %(now_ms)s AND state IN ('ENQUEUED', 'STARTED', 'TERMINATED')
  AND (report IS NOT NULL OR (state IN ('STARTED', 'TERMINATED') AND owner IS NULL))
ORDER BY due_ms LIMIT %(limit)s;

-- name: run_reset_remote
-- Index schedule_runs_once. The remote worker stopped sending heartbeats, so any engine may claim the run.
UPDATE schedule_runs r SET state = 'ENQUEUED', pickups = pickups + 1
FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[])
  AS h (schedule_key, nominal_s, origin, fence)
WHERE r.schedule_key = h.schedule_key AND r.nominal_s = h.nominal_s AND r.origin = h.origin AND r.attempt = h.fence
  AND r.state = 'STARTED' AND r.owner IS NULL AND r.report IS NULL
RETURNING r.schedule_key, r.nominal_s, r.origin;

-- name: run_request_cancel
-- Index schedule_runs_once. An instance polls the runs that it holds. A run on a remote worker becomes due now.
UPDATE schedule_runs SET
    cancel_requested = true, due_ms = CASE WHEN owner IS NULL THEN %(now_ms)s ELSE due_ms END
WHERE schedule_key = %(key)s AND nominal_s = %(nominal_s)s AND origin = %(origin)s
  AND state IN ('ENQUEUED', 'STARTED') AND report IS NULL
RETURNING {run};

-- name: run_request_end
-- Index schedule_runs_once. Makes the run due, so that an engine requests its end at the remote target.
UPDATE schedule_runs SET due_ms = %(now_ms)s
WHERE schedule_key = %(key)s AND nominal_s = %(nominal_s)s AND origin = %(origin)s AND owner IS NULL
  AND state IN ('STARTED', 'TERMINATED');

-- name: run_clear_due
UPDATE schedule_runs SET due_ms = NULL
WHERE schedule_key = %(key)s AND nominal_s = %(nominal_s)s AND origin = %(origin)s AND state = 'TERMINATED';

-- name: run_mark_end_requested
-- Index schedule_runs_once. The end of the run was requested at its target. It is checked again at due_ms.
UPDATE schedule_runs SET reason = 'cancel_requested', due_ms = %(until_ms)s
WHERE schedule_key = %(key)s AND nominal_s = %(nominal_s)s AND origin = %(origin)s AND attempt = %(fence)s
  AND state = 'STARTED' AND owner IS NULL AND report IS NULL
RETURNING schedule_key;

-- name: run_drop
-- Index schedule_runs_once.
UPDATE schedule_runs SET
    state = 'CANCELLED', reason = %(reason)s, due_ms = NULL, queued_ms = NULL, finished_ms = %(now_ms)s
WHERE schedule_key = %(key)s AND nominal_s = %(nominal_s)s AND origin = %(origin)s
  AND state IN ('PLANNED', 'BUFFERED')
RETURNING {run};

-- name: queue_list_waiting
-- Index schedule_runs_due. Unclaimed runs, by queue.
SELECT v.action::json ->> 'queue' AS queue, count(*) AS waiting, min(r.due_ms) AS since_ms
FROM schedule_runs r
JOIN schedule_versions v ON v.schedule_key = r.schedule_key AND v.version = r.version
JOIN schedules s ON s.schedule_key = r.schedule_key
WHERE r.due_ms <= %(now_ms)s AND r.state = 'ENQUEUED' AND r.owner IS NULL AND s.namespace = %(namespace)s
GROUP BY 1;

-- name: queue_list_held
-- Index schedule_runs_queued. Runs that wait because their queue or workflow is paused, by queue.
SELECT v.action::json ->> 'queue' AS queue, count(*) AS waiting, min(r.queued_ms) AS since_ms
FROM schedule_runs r
JOIN schedule_versions v ON v.schedule_key = r.schedule_key AND v.version = r.version
JOIN schedules s ON s.schedule_key = r.schedule_key
WHERE r.queued_ms IS NOT NULL AND r.state = 'BUFFERED' AND r.reason = 'target_paused' AND s.namespace = %(namespace)s
GROUP BY 1;

-- name: queue_count_depths
-- Index schedule_runs_due, up to the row limit. Unclaimed runs of all namespaces, by queue.
SELECT queue, count(*) AS waiting, min(due_ms) AS since_ms FROM (
    SELECT v.action::json ->> 'queue' AS queue, r.due_ms FROM schedule_runs r
    JOIN schedule_versions v ON v.schedule_key = r.schedule_key AND v.version = r.version
    WHERE r.due_ms <= %(now_ms)s AND r.state = 'ENQUEUED' AND r.owner IS NULL
    ORDER BY r.due_ms LIMIT %(max_rows)s
) AS matching
GROUP BY queue;

-- name: run_readopt
-- Index schedule_runs_once. In the ledger this instance owns the run, but the commit's reply was lost.
UPDATE schedule_runs r SET attempt = r.attempt + 1, state = 'ENQUEUED'
FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[])
  AS h (held_key, held_nominal_s, held_origin, fence, held_owner)
WHERE r.schedule_key = held_key AND r.nominal_s = held_nominal_s AND r.origin = held_origin AND r.attempt = fence
  AND r.owner = held_owner AND r.due_ms IS NULL AND r.state IN ('ENQUEUED', 'STARTED')
RETURNING {run};

-- name: run_list_in_flight
-- Index schedule_runs_once, newest first. Stops at the oldest run in flight.
SELECT {run} FROM unnest(%s::bigint[], %s::bigint[]) AS of (busy_key, busy)
CROSS JOIN LATERAL (
    SELECT * FROM schedule_runs
    WHERE schedule_key = busy_key AND state IN ('ENQUEUED', 'STARTED')
    ORDER BY nominal_s DESC, origin DESC LIMIT busy
) AS matching;

-- name: run_list_planned_due
-- Index schedule_runs_due.
SELECT {run} FROM schedule_runs
WHERE due_ms <= %(now_ms)s AND state = 'PLANNED' ORDER BY due_ms, schedule_key, nominal_s LIMIT %(limit)s;

-- name: run_list_planned
-- Index schedule_runs_queued.
SELECT {run} FROM schedule_runs
WHERE queued_ms IS NOT NULL AND schedule_key = ANY (%(keys)s::bigint[])
  AND state = 'PLANNED' AND due_ms <= %(now_ms)s
ORDER BY fire_ms, schedule_key, nominal_s, origin;

-- name: run_list_buffered
-- Index schedule_runs_queued. In arrival order, backfills last, at most one page per schedule.
SELECT {run} FROM (
    SELECT *, row_number() OVER (
        PARTITION BY schedule_key ORDER BY source = 'backfill', queued_ms, nominal_s, origin
    ) AS place
    FROM schedule_runs
    WHERE queued_ms IS NOT NULL AND schedule_key = ANY (%(keys)s::bigint[]) AND state = 'BUFFERED'
) AS waiting
WHERE place <= %(limit)s
ORDER BY schedule_key, place;

-- name: run_list_waiting
-- Index schedule_runs_queued.
SELECT {run} FROM schedule_runs
WHERE queued_ms IS NOT NULL AND schedule_key = %(key)s ORDER BY nominal_s, origin LIMIT %(limit)s;

-- name: run_supersede
-- Index schedule_runs_queued.
UPDATE schedule_runs r SET
    state = 'SKIPPED', reason = 'superseded', due_ms = NULL, queued_ms = NULL, finished_ms = n.now_ms
FROM unnest(%s::bigint[], %s::text[], %s::bigint[]) AS n (key, wanted, now_ms)
WHERE r.queued_ms IS NOT NULL AND r.schedule_key = n.key AND r.state = 'BUFFERED'
  AND r.overlap IS NOT DISTINCT FROM n.wanted
RETURNING {run};

-- name: run_drop_waiting
-- Index schedule_runs_queued.
UPDATE schedule_runs SET state = 'SKIPPED', reason = %(reason)s, due_ms = NULL, queued_ms = NULL, finished_ms = %(now_ms)s
WHERE queued_ms IS NOT NULL AND schedule_key = %(key)s AND state IN ('PLANNED', 'BUFFERED')
RETURNING schedule_key;

-- name: run_give_up_unheld
-- Index schedule_runs_once, newest first. Runs in flight that no live instance holds: waiting for a retry, not yet
-- claimed, or left by an instance that died.
UPDATE schedule_runs r SET
    state = 'CANCELLED', reason = why, due_ms = NULL, finished_ms = ended_ms, cancel_requested = false
FROM unnest(%s::bigint[], %s::bigint[], %s::text[], %s::bigint[]) AS of (busy_key, busy, why, ended_ms)
CROSS JOIN LATERAL (
    SELECT run_number AS picked FROM schedule_runs
    WHERE schedule_key = busy_key AND state IN ('ENQUEUED', 'STARTED')
    ORDER BY nominal_s DESC, origin DESC LIMIT busy
) AS matching
WHERE r.run_number = picked AND r.state IN ('ENQUEUED', 'STARTED')
  AND ((r.owner IS NULL AND r.state = 'ENQUEUED') OR (r.owner IS NOT NULL AND r.due_ms IS NOT NULL))
RETURNING {run};

-- name: run_cancel_in_flight
-- Index schedule_runs_once, newest first.
UPDATE schedule_runs r SET cancel_requested = true
FROM unnest(%s::bigint[], %s::bigint[]) AS of (busy_key, busy)
CROSS JOIN LATERAL (
    SELECT run_number AS picked FROM schedule_runs
    WHERE schedule_key = busy_key AND state IN ('ENQUEUED', 'STARTED')
    ORDER BY nominal_s DESC, origin DESC LIMIT busy
) AS matching
WHERE r.run_number = picked AND r.state IN ('ENQUEUED', 'STARTED')
RETURNING {run};

-- name: run_terminate_in_flight
-- Index schedule_runs_once, newest first.
UPDATE schedule_runs r SET state = 'TERMINATED', reason = 'superseded', due_ms = NULL, finished_ms = ended_ms
FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[]) AS of (busy_key, busy, ended_ms)
CROSS JOIN LATERAL (
    SELECT run_number AS picked FROM schedule_runs
    WHERE schedule_key = busy_key AND state IN ('ENQUEUED', 'STARTED')
    ORDER BY nominal_s DESC, origin DESC LIMIT busy
) AS matching
WHERE r.run_number = picked AND r.state IN ('ENQUEUED', 'STARTED')
RETURNING {run};

-- name: run_hold_planned
-- Index schedule_runs_queued. The schedule is paused, so its planned runs wait until it is resumed.
UPDATE schedule_runs SET due_ms = NULL
WHERE queued_ms IS NOT NULL AND schedule_key = ANY (%(keys)s::bigint[]) AND state = 'PLANNED'
  AND due_ms <= %(now_ms)s;

-- name: run_unhold_planned
-- Index schedule_runs_queued.
UPDATE schedule_runs SET due_ms = greatest(fire_ms, %(now_ms)s)
WHERE queued_ms IS NOT NULL AND schedule_key = ANY (%(keys)s::bigint[]) AND state = 'PLANNED'
  AND due_ms IS NULL;

-- name: run_postpone_planned
-- Index schedule_runs_due.
UPDATE schedule_runs SET due_ms = %(until_ms)s
WHERE due_ms <= %(now_ms)s AND state = 'PLANNED' AND schedule_key = ANY (%(keys)s::bigint[]);

-- name: run_list_held_for_target
SELECT DISTINCT r.schedule_key FROM schedule_runs r
JOIN schedules s ON s.schedule_key = r.schedule_key
JOIN schedule_versions v ON v.schedule_key = r.schedule_key AND v.version = r.version
WHERE r.queued_ms IS NOT NULL AND r.state = 'BUFFERED' AND s.namespace = %(namespace)s
  AND ((%(kind)s::text = 'workflow' AND v.action::json ->> 'workflow_id' = %(target)s)
    OR (%(kind)s::text = 'queue' AND v.action::json ->> 'queue' = %(target)s));

-- name: run_list_zombies
-- Index schedule_runs_due.
SELECT {run} FROM schedule_runs
WHERE due_ms <= %(silent_since_ms)s AND state IN ('ENQUEUED', 'STARTED') AND owner IS NOT NULL
ORDER BY due_ms LIMIT %(limit)s;

-- name: run_list_page
-- Index schedule_runs_once, newest first.
SELECT {run} FROM schedule_runs
WHERE schedule_key = %(key)s AND (nominal_s, origin) < (%(before_s)s::bigint, %(before_origin)s::bigint)
  AND (%(state)s::text IS NULL OR state = %(state)s) AND (%(source)s::text IS NULL OR source = %(source)s)
ORDER BY nominal_s DESC, origin DESC LIMIT %(limit)s;

-- name: run_list_started_ticks
-- Index schedule_runs_once, newest first. Reads at most look_at rows, however many of them were skipped.
SELECT {run} FROM (
    SELECT * FROM schedule_runs WHERE schedule_key = %(key)s AND origin = 0 ORDER BY nominal_s DESC LIMIT %(look_at)s
) AS latest
WHERE state NOT IN ('PLANNED', 'BUFFERED', 'SKIPPED') AND (attempt > 0 OR state IN ('ENQUEUED', 'STARTED'))
ORDER BY nominal_s DESC LIMIT %(limit)s;

-- name: run_list_started_requests
-- Index schedule_runs_requested, newest first. Reads at most look_at rows, however many of them were skipped.
SELECT {run} FROM (
    SELECT * FROM schedule_runs WHERE schedule_key = %(key)s AND origin > 0 ORDER BY origin DESC, nominal_s DESC LIMIT %(look_at)s
) AS latest
WHERE state NOT IN ('PLANNED', 'BUFFERED', 'SKIPPED') AND (attempt > 0 OR state IN ('ENQUEUED', 'STARTED'))
ORDER BY origin DESC, nominal_s DESC LIMIT %(limit)s;

-- name: run_list_recent
-- The primary key, newest first. Reads a bounded range of numbers, whatever the filter.
SELECT r.run_number, {r.run} FROM schedule_runs r JOIN schedules s USING (schedule_key)
WHERE r.run_number < %(before_number)s AND r.run_number >= %(least_number)s AND s.namespace = %(namespace)s
  AND (%(state)s::text IS NULL OR r.state = %(state)s)
ORDER BY r.run_number DESC LIMIT %(limit)s;

-- name: run_list_latest_decided
-- The primary key, newest first. Numbers grow with the time of the decision.
SELECT r.decided_ms, r.state, r.fire_ms, r.started_ms FROM schedule_runs r JOIN schedules s USING (schedule_key)
WHERE r.run_number >= %(least_number)s AND r.decided_ms >= %(since_ms)s AND s.namespace = %(namespace)s
ORDER BY r.run_number DESC LIMIT %(limit)s;

-- name: run_first_decided_from
-- The primary key.
SELECT decided_ms FROM schedule_runs WHERE run_number >= %(least_number)s ORDER BY run_number LIMIT 1;

-- name: run_count_missed
-- Index dropped_ranges_age.
SELECT s.schedule_id, sum(t.ticks), max(t.decided_ms) FROM dropped_ranges t JOIN schedules s USING (schedule_key)
WHERE t.decided_ms >= %(since_ms)s AND s.namespace = %(namespace)s AND s.state <> 'closed'
  AND t.reason IN ('missed', 'outside_window')
GROUP BY s.schedule_id ORDER BY sum(t.ticks) DESC, s.schedule_id LIMIT %(limit)s;

-- name: run_last_number
-- The primary key.
SELECT coalesce(max(run_number), 0) FROM schedule_runs;

-- name: run_list_after
-- The primary key.
SELECT run_number, {run} FROM schedule_runs
WHERE run_number > %(after_number)s ORDER BY run_number LIMIT %(limit)s;

-- name: run_list_open_after
-- The primary key, newest first.
SELECT run_number, {run} FROM schedule_runs
WHERE run_number > %(after_number)s AND state IN ('PLANNED', 'BUFFERED', 'ENQUEUED', 'STARTED')
ORDER BY run_number DESC LIMIT %(limit)s;

-- name: run_list_by_number
-- The primary key.
SELECT run_number, {run} FROM schedule_runs WHERE run_number = ANY (%(numbers)s::bigint[]);

-- name: run_get
-- Index schedule_runs_once.
SELECT {run} FROM schedule_runs
WHERE schedule_key = %(key)s AND nominal_s = %(nominal_s)s AND origin = %(origin)s;

-- name: run_list_tick_states
-- Index schedule_runs_once. States of the ticks' own runs and of their backfill runs.
SELECT r.nominal_s, r.state FROM schedule_runs r
JOIN unnest(%s::bigint[], %s::bigint[]) AS h (schedule_key, nominal_s) USING (schedule_key, nominal_s)
WHERE r.origin = 0 OR r.source = 'backfill';

-- name: run_count_open
SELECT
    count(*) FILTER (WHERE state IN ('ENQUEUED', 'STARTED')) AS in_flight,
    count(*) FILTER (WHERE state = 'BUFFERED') AS waiting
FROM schedule_runs WHERE schedule_key = %(key)s;

-- name: run_count_by_state
-- Index schedule_runs_once. Cancelled runs that never started are counted separately.
SELECT CASE WHEN state = 'CANCELLED' AND attempt = 0 THEN 'unbegun' ELSE state END AS kind, count(*) AS runs
FROM schedule_runs WHERE schedule_key = %(key)s GROUP BY 1;

-- name: run_purge
-- Index schedule_runs_once.
DELETE FROM schedule_runs
WHERE run_number = ANY (ARRAY(SELECT run_number FROM schedule_runs WHERE schedule_key = %(key)s LIMIT %(limit)s))
RETURNING 1;

-- name: run_list_oldest
-- Rows are appended in time order, so the oldest come first.
SELECT run_number, decided_ms FROM schedule_runs
WHERE run_number > %(after_number)s ORDER BY run_number LIMIT %(limit)s;

-- name: run_expire
DELETE FROM schedule_runs
WHERE run_number > %(after_number)s AND run_number <= %(until_number)s AND finished_ms < %(before_ms)s;

-- name: run_list_fire_times
-- Index schedule_runs_once.
SELECT r.schedule_key, r.nominal_s, r.origin, r.fire_ms
FROM schedule_runs r
JOIN unnest(%s::bigint[], %s::bigint[], %s::bigint[]) AS h (schedule_key, nominal_s, origin)
  USING (schedule_key, nominal_s, origin);
