-- name: secret_get_or_create
SELECT value FROM secrets WHERE name = :name;

-- name: secret_insert
INSERT INTO secrets (name, value) VALUES (:name, :value) ON CONFLICT (name) DO NOTHING;

-- name: api_key_insert
INSERT INTO api_keys (key_id, namespace, role, name, hash, created_by, created_ms, expires_ms, revoked_ms)
VALUES (:key_id, :namespace, :role, :name, :hash, :created_by, :created_ms, :expires_ms, :revoked_ms);

-- name: api_key_get
SELECT key_id, namespace, role, name, hash, created_by, created_ms, expires_ms, revoked_ms FROM api_keys
WHERE key_id = :key_id;

-- name: api_key_list
SELECT key_id, namespace, role, name, hash, created_by, created_ms, expires_ms, revoked_ms FROM api_keys
WHERE namespace = :namespace AND key_id > :after ORDER BY key_id LIMIT :limit;

-- name: api_key_revoke
UPDATE api_keys SET revoked_ms = coalesce(revoked_ms, :now_ms)
WHERE key_id = :key_id AND namespace = :namespace
RETURNING key_id;
