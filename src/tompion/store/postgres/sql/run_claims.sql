-- name: run_claim
-- Index schedule_runs_due. Runs without an owner, or whose owner's lease has expired. Runs that wait for the
-- same target are due at the same time, so the oldest come first.
WITH picked AS MATERIALIZED (
    SELECT r.run_number FROM schedule_runs r
    JOIN schedule_versions v ON v.schedule_key = r.schedule_key AND v.version = r.version
    WHERE r.due_ms <= %(now_ms)s AND r.state IN ('ENQUEUED', 'STARTED') AND r.report IS NULL
      AND (r.state = 'ENQUEUED' OR r.owner IS NOT NULL)
      AND r.pickups + (r.owner IS NOT NULL)::int < %(suspect_pickups)s
      AND v.action::json ->> 'queue' = ANY (%(queues)s::text[])
    ORDER BY r.due_ms, r.fire_ms, r.nominal_s LIMIT %(limit)s
    FOR UPDATE OF r SKIP LOCKED
)
UPDATE schedule_runs SET
    pickups = pickups + (owner IS NOT NULL)::int, attempt = attempt + 1, owner = %(owner)s, due_ms = NULL,
    state = 'ENQUEUED'
FROM picked
WHERE schedule_runs.run_number = picked.run_number AND due_ms <= %(now_ms)s AND state IN ('ENQUEUED', 'STARTED')
RETURNING {run};

-- name: run_claim_suspect
-- Index schedule_runs_due. The run that has lost the fewest workers comes first, because it is the least likely cause.
WITH picked AS MATERIALIZED (
    SELECT r.run_number FROM schedule_runs r
    JOIN schedule_versions v ON v.schedule_key = r.schedule_key AND v.version = r.version
    WHERE r.due_ms <= %(now_ms)s AND r.state IN ('ENQUEUED', 'STARTED') AND r.report IS NULL
      AND (r.state = 'ENQUEUED' OR r.owner IS NOT NULL)
      AND r.pickups + (r.owner IS NOT NULL)::int >= %(suspect_pickups)s
      AND v.action::json ->> 'queue' = ANY (%(queues)s::text[])
    ORDER BY r.pickups, r.due_ms LIMIT 1
    FOR UPDATE OF r SKIP LOCKED
)
UPDATE schedule_runs SET
    pickups = pickups + (owner IS NOT NULL)::int, attempt = attempt + 1, owner = %(owner)s, due_ms = NULL,
    state = 'ENQUEUED'
FROM picked
WHERE schedule_runs.run_number = picked.run_number AND due_ms <= %(now_ms)s AND state IN ('ENQUEUED', 'STARTED')
RETURNING {run};

-- name: run_claim_remote
-- Index schedule_runs_due. Like run_claim, for a remote worker. Each run has its own lease, which ends at due_ms
-- unless a heartbeat extends it.
WITH picked AS MATERIALIZED (
    SELECT r.run_number FROM schedule_runs r
    JOIN schedule_versions v ON v.schedule_key = r.schedule_key AND v.version = r.version
    JOIN schedules s ON s.schedule_key = r.schedule_key
    WHERE r.due_ms <= %(now_ms)s AND r.state IN ('ENQUEUED', 'STARTED') AND r.report IS NULL
      AND (r.state = 'ENQUEUED' OR r.owner IS NOT NULL) AND s.namespace = %(namespace)s
      AND r.pickups + (r.owner IS NOT NULL)::int < %(suspect_pickups)s
      AND v.action::json ->> 'queue' = ANY (%(queues)s::text[]) AND v.action::json ->> 'function' IS NOT NULL
    ORDER BY r.due_ms LIMIT %(limit)s
    FOR UPDATE OF r SKIP LOCKED
)
UPDATE schedule_runs SET
    pickups = pickups + (owner IS NOT NULL)::int, attempt = attempt + 1, owner = NULL, due_ms = %(until_ms)s,
    state = 'STARTED', started_ms = %(now_ms)s, execution_id = %(worker)s
FROM picked
WHERE schedule_runs.run_number = picked.run_number AND due_ms <= %(now_ms)s AND state IN ('ENQUEUED', 'STARTED')
RETURNING {run};

-- name: run_claim_remote_suspect
-- Index schedule_runs_due. Like run_claim_suspect, for a remote worker that holds no other suspect.
WITH picked AS MATERIALIZED (
    SELECT r.run_number FROM schedule_runs r
    JOIN schedule_versions v ON v.schedule_key = r.schedule_key AND v.version = r.version
    JOIN schedules s ON s.schedule_key = r.schedule_key
    WHERE r.due_ms <= %(now_ms)s AND r.state IN ('ENQUEUED', 'STARTED') AND r.report IS NULL
      AND (r.state = 'ENQUEUED' OR r.owner IS NOT NULL) AND s.namespace = %(namespace)s
      AND r.pickups + (r.owner IS NOT NULL)::int >= %(suspect_pickups)s
      AND v.action::json ->> 'queue' = ANY (%(queues)s::text[]) AND v.action::json ->> 'function' IS NOT NULL
      AND NOT EXISTS (
          SELECT 1 FROM schedule_runs held
          WHERE held.due_ms > %(now_ms)s AND held.state = 'STARTED' AND held.execution_id = %(worker)s
            AND held.pickups >= %(suspect_pickups)s
      )
    ORDER BY r.pickups, r.due_ms LIMIT 1
    FOR UPDATE OF r SKIP LOCKED
)
UPDATE schedule_runs SET
    pickups = pickups + (owner IS NOT NULL)::int, attempt = attempt + 1, owner = NULL, due_ms = %(until_ms)s,
    state = 'STARTED', started_ms = %(now_ms)s, execution_id = %(worker)s
FROM picked
WHERE schedule_runs.run_number = picked.run_number AND due_ms <= %(now_ms)s AND state IN ('ENQUEUED', 'STARTED')
RETURNING {run};
