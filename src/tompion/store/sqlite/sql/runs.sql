-- name: run_insert
-- Index schedule_runs_once. Existing rows are not changed. The caller compares the row count.
INSERT INTO schedule_runs (
    schedule_key, nominal_s, origin, source, state, reason, version, attempt, failures, fire_ms, due_ms, owner,
    decided_ms, local_s, dst_adjustment, overlap, payload, request_id, started_ms, finished_ms, cancel_requested, error, result,
    execution_id, queued_ms, pickups, progress, report
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (schedule_key, nominal_s, origin) DO NOTHING;

-- name: run_insert_fast
-- Index schedule_runs_once. Values that all on-time starts share are constants here.
INSERT INTO schedule_runs (
    schedule_key, nominal_s, origin, source, state, version, attempt, failures, fire_ms, owner, decided_ms,
    local_s, cancel_requested
) VALUES (?, ?, 0, 'schedule', 'ENQUEUED', ?, 1, 0, ?, ?, ?, ?, 0)
ON CONFLICT (schedule_key, nominal_s, origin) DO NOTHING;

-- name: run_list_existing
-- Index schedule_runs_once. The last column sorts the rows in insertion order.
SELECT schedule_key, nominal_s, origin, run_number FROM schedule_runs
WHERE schedule_key = ?1 AND nominal_s = ?2 AND origin = ?3;

-- name: run_settle
-- Index schedule_runs_once. Only the holder of the fence may write, and only while the run is in flight. A cancellation
-- that was requested meanwhile applies to the next attempt.
UPDATE schedule_runs SET
    state = ?5, attempt = ?7, failures = ?8, due_ms = ?9, owner = ?10,
    reason = coalesce(?6, CASE WHEN reason NOT IN ('retry', 'target_paused', 'target_unreachable') THEN reason END),
    started_ms = coalesce(?11, started_ms), finished_ms = ?12, error = ?13, result = ?14,
    execution_id = coalesce(?15, execution_id), report = NULL,
    cancel_requested = CASE WHEN ?5 = 'ENQUEUED' THEN cancel_requested ELSE 0 END
WHERE schedule_key = ?1 AND nominal_s = ?2 AND origin = ?3 AND attempt = ?4 AND state IN ('ENQUEUED', 'STARTED')
RETURNING schedule_key, nominal_s, origin;

-- name: run_finish_fast
-- Index schedule_runs_once. Like run_settle, for plain successes.
UPDATE schedule_runs SET
    state = 'SUCCESS', due_ms = NULL,
    reason = CASE WHEN reason NOT IN ('retry', 'target_paused', 'target_unreachable') THEN reason END,
    owner = NULL, started_ms = coalesce(?5, started_ms), finished_ms = ?6, error = NULL, result = NULL,
    cancel_requested = 0
WHERE schedule_key = ?1 AND nominal_s = ?2 AND origin = ?3 AND attempt = ?4 AND state IN ('ENQUEUED', 'STARTED')
RETURNING schedule_key, nominal_s, origin;

-- name: run_release_waiting
-- Index schedule_runs_once. Starts or skips waiting runs.
UPDATE schedule_runs SET
    state = ?5, reason = ?6, attempt = ?7, failures = ?8, due_ms = ?9, owner = ?10,
    started_ms = ?11, finished_ms = ?12, error = ?13, result = ?14, execution_id = ?15,
    queued_ms = CASE WHEN ?5 = 'BUFFERED' THEN queued_ms END
WHERE schedule_key = ?1 AND nominal_s = ?2 AND origin = ?3 AND attempt = ?4 AND state IN ('PLANNED', 'BUFFERED')
RETURNING schedule_key, nominal_s, origin;

-- name: run_mark_started
UPDATE schedule_runs SET state = 'STARTED', started_ms = ?5
WHERE schedule_key = ?1 AND nominal_s = ?2 AND origin = ?3 AND attempt = ?4 AND state = 'ENQUEUED'
RETURNING schedule_key, nominal_s, origin;

-- name: run_release_expired
-- Index schedule_runs_once. The owner's lease has expired, so any engine may claim the run.
UPDATE schedule_runs SET due_ms = ?5
WHERE schedule_key = ?1 AND nominal_s = ?2 AND origin = ?3 AND attempt = ?4 AND state IN ('ENQUEUED', 'STARTED')
  AND due_ms IS NULL
RETURNING schedule_key, nominal_s, origin;

-- name: run_hand_back
-- Index schedule_runs_once. A stopping instance releases runs that it has not started or will not finish.
UPDATE schedule_runs SET state = 'ENQUEUED', owner = NULL, due_ms = ?5
WHERE schedule_key = ?1 AND nominal_s = ?2 AND origin = ?3 AND attempt = ?4 AND state IN ('ENQUEUED', 'STARTED')
RETURNING schedule_key, nominal_s, origin;

-- name: run_check_held
SELECT schedule_key, nominal_s, origin, cancel_requested FROM schedule_runs
WHERE schedule_key = ?1 AND nominal_s = ?2 AND origin = ?3 AND attempt = ?4 AND state IN ('ENQUEUED', 'STARTED');

-- name: run_save_report
-- Index schedule_runs_once. Outcome reported from outside. The first report counts, and an engine settles the run.
UPDATE schedule_runs SET report = ?5, due_ms = ?6
WHERE schedule_key = ?1 AND nominal_s = ?2 AND origin = ?3 AND attempt = ?4 AND state IN ('ENQUEUED', 'STARTED')
  AND report IS NULL
RETURNING schedule_key, nominal_s, origin;

-- name: run_renew_remote
-- Index schedule_runs_once. Heartbeat of a run on a remote worker. A run that an instance holds needs no lease of
-- its own.
UPDATE schedule_runs SET
    state = 'STARTED', started_ms = coalesce(started_ms, ?5), due_ms = CASE WHEN owner IS NULL THEN ?6 END,
    progress = coalesce(?7, progress)
WHERE schedule_key = ?1 AND nominal_s = ?2 AND origin = ?3 AND attempt = ?4 AND state IN ('ENQUEUED', 'STARTED')
  AND report IS NULL
RETURNING {run};

-- name: run_list_reported
-- Index schedule_runs_due. Runs on remote workers that were reported as finished, or had no heartbeat in time.
SELECT {run} FROM schedule_runs
WHERE due_ms <= :now_ms AND state IN ('ENQUEUED', 'STARTED', 'TERMINATED')
  AND (report IS NOT NULL OR (state IN ('STARTED', 'TERMINATED') AND owner IS NULL))
ORDER BY due_ms LIMIT :limit;

-- name: run_reset_remote
-- Index schedule_runs_once. The remote worker stopped sending heartbeats, so any engine may claim the run.
UPDATE schedule_runs SET state = 'ENQUEUED', pickups = pickups + 1
WHERE schedule_key = ?1 AND nominal_s = ?2 AND origin = ?3 AND attempt = ?4 AND state = 'STARTED' AND owner IS NULL
  AND report IS NULL
RETURNING schedule_key, nominal_s, origin;

-- name: run_request_cancel
-- Index schedule_runs_once. An instance polls the runs that it holds. A run on a remote worker becomes due now.
UPDATE schedule_runs SET
    cancel_requested = 1, due_ms = CASE WHEN owner IS NULL THEN :now_ms ELSE due_ms END
WHERE schedule_key = :key AND nominal_s = :nominal_s AND origin = :origin
  AND state IN ('ENQUEUED', 'STARTED') AND report IS NULL
RETURNING {run};

-- name: run_request_end
-- Index schedule_runs_once. Makes the run due, so that an engine requests its end at the remote target.
UPDATE schedule_runs SET due_ms = :now_ms
WHERE schedule_key = :key AND nominal_s = :nominal_s AND origin = :origin AND owner IS NULL
  AND state IN ('STARTED', 'TERMINATED');

-- name: run_clear_due
UPDATE schedule_runs SET due_ms = NULL
WHERE schedule_key = :key AND nominal_s = :nominal_s AND origin = :origin AND state = 'TERMINATED';

-- name: run_mark_end_requested
-- Index schedule_runs_once. The end of the run was requested at its target. It is checked again at due_ms.
UPDATE schedule_runs SET reason = 'cancel_requested', due_ms = :until_ms
WHERE schedule_key = :key AND nominal_s = :nominal_s AND origin = :origin AND attempt = :fence
  AND state = 'STARTED' AND owner IS NULL AND report IS NULL
RETURNING schedule_key;

-- name: run_drop
-- Index schedule_runs_once.
UPDATE schedule_runs SET
    state = 'CANCELLED', reason = :reason, due_ms = NULL, queued_ms = NULL, finished_ms = :now_ms
WHERE schedule_key = :key AND nominal_s = :nominal_s AND origin = :origin
  AND state IN ('PLANNED', 'BUFFERED')
RETURNING {run};

-- name: queue_list_waiting
-- Index schedule_runs_due. Unclaimed runs, by queue.
SELECT json_extract(v.action, '$.queue') AS queue, count(*) AS waiting, min(r.due_ms) AS since_ms
FROM schedule_runs r
CROSS JOIN schedule_versions v ON v.schedule_key = r.schedule_key AND v.version = r.version
CROSS JOIN schedules s ON s.schedule_key = r.schedule_key
WHERE r.due_ms <= :now_ms AND r.state = 'ENQUEUED' AND r.owner IS NULL AND s.namespace = :namespace
GROUP BY 1;

-- name: queue_list_held
-- Index schedule_runs_queued. Runs that wait because their queue or workflow is paused, by queue.
SELECT json_extract(v.action, '$.queue') AS queue, count(*) AS waiting, min(r.queued_ms) AS since_ms
FROM schedule_runs r
CROSS JOIN schedule_versions v ON v.schedule_key = r.schedule_key AND v.version = r.version
CROSS JOIN schedules s ON s.schedule_key = r.schedule_key
WHERE r.queued_ms IS NOT NULL AND r.state = 'BUFFERED' AND r.reason = 'target_paused' AND s.namespace = :namespace
GROUP BY 1;

-- name: queue_count_depths
-- Index schedule_runs_due, up to the row limit. Unclaimed runs of all namespaces, by queue.
SELECT queue, count(*) AS waiting, min(due_ms) AS since_ms FROM (
    SELECT json_extract(v.action, '$.queue') AS queue, r.due_ms FROM schedule_runs r
    JOIN schedule_versions v ON v.schedule_key = r.schedule_key AND v.version = r.version
    WHERE r.due_ms <= :now_ms AND r.state = 'ENQUEUED' AND r.owner IS NULL
    ORDER BY r.due_ms LIMIT :max_rows
) AS matching
GROUP BY queue;

-- name: run_readopt
-- Index schedule_runs_once. In the ledger this instance owns the run, but the commit's reply was lost.
UPDATE schedule_runs SET attempt = attempt + 1, state = 'ENQUEUED'
WHERE schedule_key = ?1 AND nominal_s = ?2 AND origin = ?3 AND attempt = ?4 AND owner = ?5
  AND due_ms IS NULL AND state IN ('ENQUEUED', 'STARTED')
RETURNING {run};

-- name: run_list_in_flight
-- Index schedule_runs_once, newest first. Stops at the oldest run in flight.
SELECT {run} FROM schedule_runs
WHERE schedule_key = ?1 AND state IN ('ENQUEUED', 'STARTED')
ORDER BY nominal_s DESC, origin DESC LIMIT ?2;

-- name: run_list_planned_due
-- Index schedule_runs_due.
SELECT {run} FROM schedule_runs
WHERE due_ms <= :now_ms AND state = 'PLANNED' ORDER BY due_ms, schedule_key, nominal_s LIMIT :limit;

-- name: run_list_planned
-- Index schedule_runs_queued.
SELECT {run} FROM schedule_runs
WHERE queued_ms IS NOT NULL AND schedule_key IN (SELECT value FROM json_each(:keys))
  AND state = 'PLANNED' AND due_ms <= :now_ms
ORDER BY fire_ms, schedule_key, nominal_s, origin;

-- name: run_list_buffered
-- Index schedule_runs_queued. In arrival order, backfills last, at most one page per schedule.
SELECT {run} FROM (
    SELECT *, row_number() OVER (
        PARTITION BY schedule_key ORDER BY source = 'backfill', queued_ms, nominal_s, origin
    ) AS place
    FROM schedule_runs
    WHERE queued_ms IS NOT NULL AND schedule_key IN (SELECT value FROM json_each(:keys)) AND state = 'BUFFERED'
)
WHERE place <= :limit
ORDER BY schedule_key, place;

-- name: run_list_waiting
-- Index schedule_runs_queued.
SELECT {run} FROM schedule_runs
WHERE queued_ms IS NOT NULL AND schedule_key = :key ORDER BY nominal_s, origin LIMIT :limit;

-- name: run_supersede
-- Index schedule_runs_queued.
UPDATE schedule_runs SET state = 'SKIPPED', reason = 'superseded', due_ms = NULL, queued_ms = NULL, finished_ms = ?3
WHERE queued_ms IS NOT NULL AND schedule_key = ?1 AND state = 'BUFFERED' AND overlap IS ?2
RETURNING {run};

-- name: run_drop_waiting
-- Index schedule_runs_queued.
UPDATE schedule_runs SET state = 'SKIPPED', reason = :reason, due_ms = NULL, queued_ms = NULL, finished_ms = :now_ms
WHERE queued_ms IS NOT NULL AND schedule_key = :key AND state IN ('PLANNED', 'BUFFERED')
RETURNING schedule_key;

-- name: run_give_up_unheld
-- Index schedule_runs_once, newest first. Runs in flight that no live instance holds: waiting for a retry, not yet
-- claimed, or left by an instance that died.
UPDATE schedule_runs SET state = 'CANCELLED', reason = ?3, due_ms = NULL, finished_ms = ?4, cancel_requested = 0
WHERE ((owner IS NULL AND state = 'ENQUEUED') OR (owner IS NOT NULL AND due_ms IS NOT NULL)) AND run_number IN (
    SELECT run_number FROM schedule_runs
    WHERE schedule_key = ?1 AND state IN ('ENQUEUED', 'STARTED') ORDER BY nominal_s DESC, origin DESC LIMIT ?2
)
RETURNING {run};

-- name: run_cancel_in_flight
-- Index schedule_runs_once, newest first.
UPDATE schedule_runs SET cancel_requested = 1
WHERE run_number IN (
    SELECT run_number FROM schedule_runs
    WHERE schedule_key = ?1 AND state IN ('ENQUEUED', 'STARTED') ORDER BY nominal_s DESC, origin DESC LIMIT ?2
)
RETURNING {run};

-- name: run_terminate_in_flight
-- Index schedule_runs_once, newest first.
UPDATE schedule_runs SET state = 'TERMINATED', reason = 'superseded', due_ms = NULL, finished_ms = ?3
WHERE run_number IN (
    SELECT run_number FROM schedule_runs
    WHERE schedule_key = ?1 AND state IN ('ENQUEUED', 'STARTED') ORDER BY nominal_s DESC, origin DESC LIMIT ?2
)
RETURNING {run};

-- name: run_hold_planned
-- Index schedule_runs_queued. The schedule is paused, so its planned runs wait until it is resumed.
UPDATE schedule_runs SET due_ms = NULL
WHERE queued_ms IS NOT NULL AND schedule_key IN (SELECT value FROM json_each(:keys)) AND state = 'PLANNED'
  AND due_ms <= :now_ms;

-- name: run_unhold_planned
-- Index schedule_runs_queued.
UPDATE schedule_runs SET due_ms = max(fire_ms, :now_ms)
WHERE queued_ms IS NOT NULL AND schedule_key IN (SELECT value FROM json_each(:keys)) AND state = 'PLANNED'
  AND due_ms IS NULL;

-- name: run_postpone_planned
-- Index schedule_runs_due.
UPDATE schedule_runs SET due_ms = :until_ms
WHERE due_ms <= :now_ms AND state = 'PLANNED' AND schedule_key IN (SELECT value FROM json_each(:keys));

-- name: run_list_held_for_target
SELECT DISTINCT r.schedule_key FROM schedule_runs r
CROSS JOIN schedules s ON s.schedule_key = r.schedule_key
CROSS JOIN schedule_versions v ON v.schedule_key = r.schedule_key AND v.version = r.version
WHERE r.queued_ms IS NOT NULL AND r.state = 'BUFFERED' AND s.namespace = :namespace
  AND ((:kind = 'workflow' AND json_extract(v.action, '$.workflow_id') = :target)
    OR (:kind = 'queue' AND json_extract(v.action, '$.queue') = :target));

-- name: run_list_zombies
-- Index schedule_runs_due.
SELECT {run} FROM schedule_runs
WHERE due_ms <= :silent_since_ms AND state IN ('ENQUEUED', 'STARTED') AND owner IS NOT NULL
ORDER BY due_ms LIMIT :limit;

-- name: run_list_page
-- Index schedule_runs_once, newest first.
SELECT {run} FROM schedule_runs
WHERE schedule_key = :key
  AND (nominal_s, origin) < (:before_s, :before_origin)
  AND (:state IS NULL OR state = :state) AND (:source IS NULL OR source = :source)
ORDER BY nominal_s DESC, origin DESC LIMIT :limit;

-- name: run_list_started_ticks
-- Index schedule_runs_once, newest first. Reads at most look_at rows, however many of them were skipped.
SELECT {run} FROM (
    SELECT * FROM schedule_runs WHERE schedule_key = :key AND origin = 0 ORDER BY nominal_s DESC LIMIT :look_at
) AS latest
WHERE state NOT IN ('PLANNED', 'BUFFERED', 'SKIPPED') AND (attempt > 0 OR state IN ('ENQUEUED', 'STARTED'))
ORDER BY nominal_s DESC LIMIT :limit;

-- name: run_list_started_requests
-- Index schedule_runs_requested, newest first. Reads at most look_at rows, however many of them were skipped.
SELECT {run} FROM (
    SELECT * FROM schedule_runs WHERE schedule_key = :key AND origin > 0 ORDER BY origin DESC, nominal_s DESC LIMIT :look_at
) AS latest
WHERE state NOT IN ('PLANNED', 'BUFFERED', 'SKIPPED') AND (attempt > 0 OR state IN ('ENQUEUED', 'STARTED'))
ORDER BY origin DESC, nominal_s DESC LIMIT :limit;

-- name: run_list_recent
-- The primary key, newest first. Reads a bounded range of numbers, whatever the filter.
SELECT r.run_number, {r.run} FROM schedule_runs r CROSS JOIN schedules s USING (schedule_key)
WHERE r.run_number < :before_number AND r.run_number >= :least_number AND s.namespace = :namespace
  AND (:state IS NULL OR r.state = :state)
ORDER BY r.run_number DESC LIMIT :limit;

-- name: run_list_latest_decided
-- The primary key, newest first. Numbers grow with the time of the decision.
SELECT r.decided_ms, r.state, r.fire_ms, r.started_ms FROM schedule_runs r CROSS JOIN schedules s USING (schedule_key)
WHERE r.run_number >= :least_number AND r.decided_ms >= :since_ms AND s.namespace = :namespace
ORDER BY r.run_number DESC LIMIT :limit;

-- name: run_first_decided_from
-- The primary key.
SELECT decided_ms FROM schedule_runs WHERE run_number >= :least_number ORDER BY run_number LIMIT 1;

-- name: run_count_missed
-- Index dropped_ranges_age.
SELECT s.schedule_id, sum(t.ticks), max(t.decided_ms) FROM dropped_ranges t CROSS JOIN schedules s USING (schedule_key)
WHERE t.decided_ms >= :since_ms AND s.namespace = :namespace AND s.state <> 'closed'
  AND t.reason IN ('missed', 'outside_window')
GROUP BY s.schedule_id ORDER BY sum(t.ticks) DESC, s.schedule_id LIMIT :limit;

-- name: run_last_number
-- The primary key.
SELECT coalesce(max(run_number), 0) FROM schedule_runs;

-- name: run_list_after
-- The primary key.
SELECT run_number, {run} FROM schedule_runs
WHERE run_number > :after_number ORDER BY run_number LIMIT :limit;

-- name: run_list_open_after
-- The primary key, newest first.
SELECT run_number, {run} FROM schedule_runs
WHERE run_number > :after_number AND state IN ('PLANNED', 'BUFFERED', 'ENQUEUED', 'STARTED')
ORDER BY run_number DESC LIMIT :limit;

-- name: run_list_by_number
-- The primary key.
SELECT run_number, {run} FROM schedule_runs WHERE run_number IN (SELECT value FROM json_each(:numbers));

-- name: run_get
-- Index schedule_runs_once.
SELECT {run} FROM schedule_runs WHERE schedule_key = :key AND nominal_s = :nominal_s AND origin = :origin;

-- name: run_list_tick_states
-- Index schedule_runs_once. States of a tick's own run and of its backfill runs.
SELECT nominal_s, state FROM schedule_runs
WHERE schedule_key = ?1 AND nominal_s = ?2 AND (origin = 0 OR source = 'backfill');

-- name: run_count_open
SELECT
    count(*) FILTER (WHERE state IN ('ENQUEUED', 'STARTED')) AS in_flight,
    count(*) FILTER (WHERE state = 'BUFFERED') AS waiting
FROM schedule_runs WHERE schedule_key = :key;

-- name: run_count_by_state
-- Index schedule_runs_once. Cancelled runs that never started are counted separately.
SELECT CASE WHEN state = 'CANCELLED' AND attempt = 0 THEN 'unbegun' ELSE state END AS kind, count(*) AS runs
FROM schedule_runs WHERE schedule_key = :key GROUP BY 1;

-- name: run_purge
-- Index schedule_runs_once.
DELETE FROM schedule_runs
WHERE run_number IN (SELECT run_number FROM schedule_runs WHERE schedule_key = :key LIMIT :limit)
RETURNING 1;

-- name: run_list_oldest
-- Rows are appended in time order, so the oldest come first.
SELECT run_number, decided_ms FROM schedule_runs WHERE run_number > :after_number ORDER BY run_number LIMIT :limit;

-- name: run_expire
DELETE FROM schedule_runs
WHERE run_number > :after_number AND run_number <= :until_number AND finished_ms < :before_ms;

-- name: run_list_fire_times
-- Index schedule_runs_once.
SELECT schedule_key, nominal_s, origin, fire_ms FROM schedule_runs
WHERE schedule_key = ?1 AND nominal_s = ?2 AND origin = ?3;
