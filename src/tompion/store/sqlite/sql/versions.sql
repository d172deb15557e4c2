-- name: version_insert
INSERT INTO schedule_versions ({version}) VALUES (
    :schedule_key, :version, :spec, :policy, :action, :payload, :about, :calendars, :after_s, :until_s, :author,
    :created_ms
);

-- name: version_end
UPDATE schedule_versions SET until_s = :until_s WHERE schedule_key = :key AND version = :version AND until_s IS NULL;

-- name: version_list
SELECT {version} FROM schedule_versions WHERE schedule_key = :key ORDER BY version DESC LIMIT :limit;

-- name: version_get
SELECT {version} FROM schedule_versions WHERE schedule_key = :key AND version = :version;

-- name: version_list_current
-- Both primary keys.
SELECT {v.version} FROM schedules s JOIN schedule_versions v ON v.schedule_key = s.schedule_key AND v.version = s.version
WHERE s.schedule_key IN (SELECT value FROM json_each(:keys));

-- name: version_purge
DELETE FROM schedule_versions WHERE schedule_key = :key;

-- name: version_list_definitions
-- Definitions of claimed schedules that the engine has not cached.
SELECT v.schedule_key, v.version, s.namespace, s.schedule_id, v.spec, v.policy, v.action, v.payload, v.calendars
FROM json_each(:pairs) p
JOIN schedule_versions v ON v.schedule_key = p.value ->> 0 AND v.version = p.value ->> 1
JOIN schedules s ON s.schedule_key = v.schedule_key;
