-- name: dropped_range_list_latest
-- Index dropped_ranges_age.
SELECT t.decided_ms, t.ticks, t.reason FROM dropped_ranges t JOIN schedules s USING (schedule_key)
WHERE t.decided_ms >= %(since_ms)s AND s.namespace = %(namespace)s
ORDER BY t.decided_ms DESC LIMIT %(limit)s;

-- name: dropped_range_insert
INSERT INTO dropped_ranges ({dropped_range})
SELECT * FROM unnest(
    %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::text[], %s::bigint[], %s::bigint[]
);

-- name: dropped_range_list
SELECT {dropped_range} FROM dropped_ranges
WHERE schedule_key = %(key)s AND until_s > %(after_s)s AND after_s < %(until_s)s
ORDER BY until_s DESC LIMIT %(limit)s;

-- name: dropped_range_expire
-- Index dropped_ranges_age.
DELETE FROM dropped_ranges
WHERE ctid = ANY (ARRAY(SELECT ctid FROM dropped_ranges WHERE decided_ms < %(before_ms)s LIMIT %(limit)s))
RETURNING 1;

-- name: dropped_range_purge
-- The primary key.
DELETE FROM dropped_ranges
WHERE ctid = ANY (ARRAY(SELECT ctid FROM dropped_ranges WHERE schedule_key = %(key)s LIMIT %(limit)s))
RETURNING 1;
