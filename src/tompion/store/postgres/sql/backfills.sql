-- name: backfill_insert
INSERT INTO backfills ({backfill})
SELECT * FROM unnest(
    %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::text[], %s::text[], %s::bigint[],
    %s::text[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[]
);

-- name: backfill_update
UPDATE backfills SET
    cursor_s = %(cursor_s)s, state = %(state)s, done = %(done)s, next_ms = %(next_ms)s, finished_ms = %(finished_ms)s
WHERE backfill_id = %(backfill_id)s AND state = 'RUNNING';

-- name: backfill_postpone
-- In any state.
UPDATE backfills SET next_ms = %(until_ms)s WHERE backfill_id = %(backfill_id)s AND next_ms IS NOT NULL;

-- name: backfill_list_due
-- Index backfills_due.
SELECT {backfill} FROM backfills
WHERE next_ms <= %(now_ms)s ORDER BY next_ms, backfill_id LIMIT %(limit)s;

-- name: backfill_get
SELECT {backfill} FROM backfills WHERE backfill_id = %(backfill_id)s;

-- name: backfill_list
SELECT {backfill} FROM backfills WHERE schedule_key = %(key)s AND (state = 'RUNNING' OR NOT %(unfinished)s::boolean)
ORDER BY backfill_id DESC LIMIT %(limit)s;

-- name: backfill_wake
-- Index backfills_of_schedule.
UPDATE backfills SET next_ms = %(now_ms)s
WHERE schedule_key = ANY (%(keys)s::bigint[]) AND state = 'RUNNING' AND next_ms > %(now_ms)s;

-- name: backfill_purge
DELETE FROM backfills WHERE schedule_key = %(key)s;
