-- name: version_insert
INSERT INTO schedule_versions ({version}) VALUES (
    %(schedule_key)s, %(version)s, %(spec)s, %(policy)s, %(action)s, %(payload)s, %(about)s, %(calendars)s,
    %(after_s)s, %(until_s)s, %(author)s, %(created_ms)s
);

-- name: version_end
UPDATE schedule_versions SET until_s = %(until_s)s
WHERE schedule_key = %(key)s AND version = %(version)s AND until_s IS NULL;

-- name: version_list
SELECT {version} FROM schedule_versions WHERE schedule_key = %(key)s ORDER BY version DESC LIMIT %(limit)s;

-- name: version_get
SELECT {version} FROM schedule_versions WHERE schedule_key = %(key)s AND version = %(version)s;

-- name: version_list_current
-- Both primary keys.
SELECT {v.version} FROM schedules s
JOIN schedule_versions v ON v.schedule_key = s.schedule_key AND v.version = s.version
WHERE s.schedule_key = ANY (%(keys)s::bigint[]);

-- name: version_purge
DELETE FROM schedule_versions WHERE schedule_key = %(key)s;

-- name: version_list_definitions
-- Definitions of claimed schedules that the engine has not cached.
SELECT v.schedule_key, v.version, s.namespace, s.schedule_id, v.spec, v.policy, v.action, v.payload, v.calendars
FROM unnest(%(pairs_1)s::bigint[], %(pairs_2)s::bigint[]) AS p (schedule_key, version)
JOIN schedule_versions v ON v.schedule_key = p.schedule_key AND v.version = p.version
JOIN schedules s ON s.schedule_key = v.schedule_key;
