-- name: request_get
SELECT operation, fingerprint, answer FROM requests WHERE namespace = :namespace AND request_id = :request_id;

-- name: request_insert
INSERT INTO requests (namespace, request_id, operation, fingerprint, answer, created_ms)
VALUES (:namespace, :request_id, :operation, :fingerprint, :answer, :created_ms);

-- name: request_expire
-- Index requests_age.
DELETE FROM requests WHERE (namespace, request_id) IN (
    SELECT namespace, request_id FROM requests WHERE created_ms < :before_ms LIMIT :limit
)
RETURNING 1;
