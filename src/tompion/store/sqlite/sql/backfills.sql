-- name: backfill_insert
INSERT INTO backfills ({backfill}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: backfill_update
UPDATE backfills SET cursor_s = :cursor_s, state = :state, done = :done, next_ms = :next_ms, finished_ms = :finished_ms
WHERE backfill_id = :backfill_id AND state = 'RUNNING';

-- name: backfill_postpone
-- In any state.
UPDATE backfills SET next_ms = :until_ms WHERE backfill_id = :backfill_id AND next_ms IS NOT NULL;

-- name: backfill_list_due
-- Index backfills_due.
SELECT {backfill} FROM backfills WHERE next_ms <= :now_ms ORDER BY next_ms, backfill_id LIMIT :limit;

-- name: backfill_get
SELECT {backfill} FROM backfills WHERE backfill_id = :backfill_id;

-- name: backfill_list
SELECT {backfill} FROM backfills WHERE schedule_key = :key AND (state = 'RUNNING' OR NOT :unfinished)
ORDER BY backfill_id DESC LIMIT :limit;

-- name: backfill_wake
-- Index backfills_of_schedule.
UPDATE backfills SET next_ms = :now_ms
WHERE schedule_key IN (SELECT value FROM json_each(:keys)) AND state = 'RUNNING' AND next_ms > :now_ms;

-- name: backfill_purge
DELETE FROM backfills WHERE schedule_key = :key;
