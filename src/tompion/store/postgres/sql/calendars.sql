-- name: calendar_get_newest
SELECT namespace, name, version, document, created_ms FROM calendars
WHERE namespace = %(namespace)s AND name = %(name)s ORDER BY version DESC LIMIT 1;

-- name: calendar_get_version
SELECT namespace, name, version, document, created_ms FROM calendars
WHERE namespace = %(namespace)s AND name = %(name)s AND version = %(version)s;

-- name: calendar_insert
INSERT INTO calendars (namespace, name, version, document, created_ms)
VALUES (%(namespace)s, %(name)s, %(version)s, %(document)s, %(created_ms)s);

-- name: calendar_list
SELECT c.namespace, c.name, c.version, c.document, c.created_ms FROM calendars c
WHERE c.namespace = %(namespace)s AND c.name > %(after_name)s
  AND c.version = (SELECT max(n.version) FROM calendars n WHERE n.namespace = c.namespace AND n.name = c.name)
ORDER BY c.name LIMIT %(limit)s;

-- name: calendar_list_users
SELECT schedule_key FROM calendar_uses
WHERE namespace = %(namespace)s AND name = %(name)s ORDER BY schedule_key LIMIT %(limit)s;

-- name: calendar_use_delete
DELETE FROM calendar_uses WHERE schedule_key = %(key)s;

-- name: calendar_use_insert
INSERT INTO calendar_uses (namespace, name, schedule_key)
SELECT * FROM unnest(%s::text[], %s::text[], %s::bigint[]);
