-- name: calendar_get_newest
SELECT namespace, name, version, document, created_ms FROM calendars
WHERE namespace = :namespace AND name = :name ORDER BY version DESC LIMIT 1;

-- name: calendar_get_version
SELECT namespace, name, version, document, created_ms FROM calendars
WHERE namespace = :namespace AND name = :name AND version = :version;

-- name: calendar_insert
INSERT INTO calendars (namespace, name, version, document, created_ms)
VALUES (:namespace, :name, :version, :document, :created_ms);

-- name: calendar_list
SELECT c.namespace, c.name, c.version, c.document, c.created_ms FROM calendars c
WHERE c.namespace = :namespace AND c.name > :after_name
  AND c.version = (SELECT max(n.version) FROM calendars n WHERE n.namespace = c.namespace AND n.name = c.name)
ORDER BY c.name LIMIT :limit;

-- name: calendar_list_users
SELECT schedule_key FROM calendar_uses WHERE namespace = :namespace AND name = :name ORDER BY schedule_key LIMIT :limit;

-- name: calendar_use_delete
DELETE FROM calendar_uses WHERE schedule_key = :key;

-- name: calendar_use_insert
INSERT INTO calendar_uses (namespace, name, schedule_key) VALUES (?, ?, ?);
