-- name: secret_get_or_create
SELECT value FROM secrets WHERE name = %(name)s;

-- name: secret_insert
INSERT INTO secrets (name, value)
VALUES (%(name)s, %(value)s) ON CONFLICT (name) DO NOTHING;

-- name: api_key_insert
INSERT INTO api_keys (key_id, namespace, role, name, hash, created_by, created_ms, expires_ms, revoked_ms)
VALUES (%(key_id)s, %(namespace)s, %(role)s, %(name)s, %(hash)s, %(created_by)s, %(created_ms)s, %(expires_ms)s, %(revoked_ms)s);

-- name: api_key_get
SELECT key_id, namespace, role, name, hash, created_by, created_ms, expires_ms, revoked_ms FROM api_keys
WHERE key_id = %(key_id)s;

-- name: api_key_list
SELECT key_id, namespace, role, name, hash, created_by, created_ms, expires_ms, revoked_ms FROM api_keys
WHERE namespace = %(namespace)s AND key_id > %(after)s ORDER BY key_id LIMIT %(limit)s;

-- name: api_key_revoke
UPDATE api_keys SET revoked_ms = coalesce(revoked_ms, %(now_ms)s)
WHERE key_id = %(key_id)s AND namespace = %(namespace)s
RETURNING key_id;
