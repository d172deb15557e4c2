-- name: dropped_range_list_latest
-- Index dropped_ranges_age.
SELECT t.decided_ms, t.ticks, t.reason FROM dropped_ranges t CROSS JOIN schedules s USING (schedule_key)
WHERE t.decided_ms >= :since_ms AND s.namespace = :namespace
ORDER BY t.decided_ms DESC LIMIT :limit;

-- name: dropped_range_insert
INSERT INTO dropped_ranges ({dropped_range}) VALUES (?, ?, ?, ?, ?, ?, ?);

-- name: dropped_range_list
SELECT {dropped_range} FROM dropped_ranges WHERE schedule_key = :key AND until_s > :after_s AND after_s < :until_s
ORDER BY until_s DESC LIMIT :limit;

-- name: dropped_range_expire
-- Index dropped_ranges_age.
DELETE FROM dropped_ranges WHERE (schedule_key, until_s) IN (
    SELECT schedule_key, until_s FROM dropped_ranges WHERE decided_ms < :before_ms LIMIT :limit
)
RETURNING 1;

-- name: dropped_range_purge
-- The primary key.
DELETE FROM dropped_ranges
WHERE schedule_key = :key AND until_s IN (SELECT until_s FROM dropped_ranges WHERE schedule_key = :key LIMIT :limit)
RETURNING 1;
