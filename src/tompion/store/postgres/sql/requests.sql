-- name: request_get
SELECT operation, fingerprint, answer FROM requests WHERE namespace = %(namespace)s AND request_id = %(request_id)s;

-- name: request_insert
INSERT INTO requests (namespace, request_id, operation, fingerprint, answer, created_ms)
VALUES (%(namespace)s, %(request_id)s, %(operation)s, %(fingerprint)s, %(answer)s, %(created_ms)s);

-- name: request_expire
-- Index requests_age.
DELETE FROM requests
WHERE ctid = ANY (ARRAY(SELECT ctid FROM requests WHERE created_ms < %(before_ms)s LIMIT %(limit)s))
RETURNING 1;
