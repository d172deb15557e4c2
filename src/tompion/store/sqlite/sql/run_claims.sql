-- name: run_claim
-- Index schedule_runs_due. Runs without an owner, or whose owner's lease has expired. Runs that wait for the
-- same target are due at the same time, so the oldest come first.
UPDATE schedule_runs SET
    pickups = pickups + (owner IS NOT NULL), attempt = attempt + 1, owner = :owner, due_ms = NULL, state = 'ENQUEUED'
WHERE run_number IN (
    SELECT r.run_number FROM schedule_runs r
    JOIN schedule_versions v ON v.schedule_key = r.schedule_key AND v.version = r.version
    WHERE r.due_ms <= :now_ms AND r.state IN ('ENQUEUED', 'STARTED') AND r.report IS NULL
      AND (r.state = 'ENQUEUED' OR r.owner IS NOT NULL) AND r.pickups + (r.owner IS NOT NULL) < :suspect_pickups
      AND json_extract(v.action, '$.queue') IN (SELECT value FROM json_each(:queues))
    ORDER BY r.due_ms, r.fire_ms, r.nominal_s LIMIT :limit
)
RETURNING {run};

-- name: run_claim_suspect
-- Index schedule_runs_due. The run that has lost the fewest workers comes first, because it is the least likely cause.
UPDATE schedule_runs SET
    pickups = pickups + (owner IS NOT NULL), attempt = attempt + 1, owner = :owner, due_ms = NULL, state = 'ENQUEUED'
WHERE run_number IN (
    SELECT r.run_number FROM schedule_runs r
    JOIN schedule_versions v ON v.schedule_key = r.schedule_key AND v.version = r.version
    WHERE r.due_ms <= :now_ms AND r.state IN ('ENQUEUED', 'STARTED') AND r.report IS NULL
      AND (r.state = 'ENQUEUED' OR r.owner IS NOT NULL) AND r.pickups + (r.owner IS NOT NULL) >= :suspect_pickups
      AND json_extract(v.action, '$.queue') IN (SELECT value FROM json_each(:queues))
    ORDER BY r.pickups, r.due_ms LIMIT 1
)
RETURNING {run};

-- name: run_claim_remote
-- Index schedule_runs_due. Like run_claim, for a remote worker. Each run has its own lease, which ends at due_ms
-- unless a heartbeat extends it.
UPDATE schedule_runs SET
    pickups = pickups + (owner IS NOT NULL), attempt = attempt + 1, owner = NULL, due_ms = :until_ms,
    state = 'STARTED', started_ms = :now_ms, execution_id = :worker
WHERE run_number IN (
    SELECT r.run_number FROM schedule_runs r
    CROSS JOIN schedule_versions v ON v.schedule_key = r.schedule_key AND v.version = r.version
    CROSS JOIN schedules s ON s.schedule_key = r.schedule_key
    WHERE r.due_ms <= :now_ms AND r.state IN ('ENQUEUED', 'STARTED') AND r.report IS NULL
      AND (r.state = 'ENQUEUED' OR r.owner IS NOT NULL) AND r.pickups + (r.owner IS NOT NULL) < :suspect_pickups
      AND s.namespace = :namespace
      AND json_extract(v.action, '$.queue') IN (SELECT value FROM json_each(:queues))
      AND json_extract(v.action, '$.function') IS NOT NULL
    ORDER BY r.due_ms LIMIT :limit
)
RETURNING {run};

-- name: run_claim_remote_suspect
-- Index schedule_runs_due. Like run_claim_suspect, for a remote worker that holds no other suspect.
UPDATE schedule_runs SET
    pickups = pickups + (owner IS NOT NULL), attempt = attempt + 1, owner = NULL, due_ms = :until_ms,
    state = 'STARTED', started_ms = :now_ms, execution_id = :worker
WHERE run_number IN (
    SELECT r.run_number FROM schedule_runs r
    CROSS JOIN schedule_versions v ON v.schedule_key = r.schedule_key AND v.version = r.version
    CROSS JOIN schedules s ON s.schedule_key = r.schedule_key
    WHERE r.due_ms <= :now_ms AND r.state IN ('ENQUEUED', 'STARTED') AND r.report IS NULL
      AND (r.state = 'ENQUEUED' OR r.owner IS NOT NULL) AND r.pickups + (r.owner IS NOT NULL) >= :suspect_pickups
      AND s.namespace = :namespace
      AND json_extract(v.action, '$.queue') IN (SELECT value FROM json_each(:queues))
      AND json_extract(v.action, '$.function') IS NOT NULL
      AND NOT EXISTS (
          SELECT 1 FROM schedule_runs held
          WHERE held.due_ms > :now_ms AND held.state = 'STARTED' AND held.execution_id = :worker
            AND held.pickups >= :suspect_pickups
      )
    ORDER BY r.pickups, r.due_ms LIMIT 1
)
RETURNING {run};
