-- name: insert_notices
-- Index notices_once.  What happened is told once, whoever says so again.
INSERT INTO notices (
    notice_id, notification, topic, namespace, schedule_id, about, state, attempts, due_ms, created_ms, finished_ms,
    last_error, summary_id
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (notice_id) DO NOTHING;

-- name: next_notice
-- Index notices_due.
SELECT min(due_ms) FROM notices
WHERE due_ms IS NOT NULL AND notification IN (SELECT value FROM json_each(:names));

-- name: due_notices
-- Index notices_due.  BEGIN IMMEDIATE is the lock.
SELECT notice_id, notification, topic, namespace, schedule_id, about, state, attempts, due_ms, created_ms, finished_ms,
    last_error, summary_id
FROM notices
WHERE due_ms <= :now_ms AND notification IN (SELECT value FROM json_each(:names))
ORDER BY due_ms, notice_number LIMIT :limit;

-- name: lease_notices
-- Index notices_once.
UPDATE notices SET attempts = attempts + 1, due_ms = ?2 WHERE notice_id = ?1 AND state = 'PENDING';

-- name: put_off_notices
-- Index notices_once.
UPDATE notices SET due_ms = ?2 WHERE notice_id = ?1 AND state = 'PENDING';

-- name: summarize_notices
-- Index notices_once.
UPDATE notices SET state = 'SUMMARIZED', summary_id = ?2, finished_ms = ?3, due_ms = NULL
WHERE notice_id = ?1 AND state = 'PENDING';

-- name: settle_notices
-- Index notices_once.  Only who has made the last try may say how it ended.
UPDATE notices SET state = ?3, due_ms = ?4, finished_ms = ?5, last_error = ?6
WHERE notice_id = ?1 AND attempts = ?2 AND state = 'PENDING'
RETURNING notice_id;

-- name: give_up_notices
-- Index notices_due.  Nobody has delivered them in time: nobody could, or nobody knew where to.
UPDATE notices SET state = 'GIVEN_UP', finished_ms = :now_ms, due_ms = NULL,
    last_error = coalesce(last_error, 'no instance that runs knows this notification')
WHERE notice_number IN (
    SELECT notice_number FROM notices
    WHERE due_ms IS NOT NULL AND due_ms <= :now_ms AND created_ms < :before_ms LIMIT :limit
)
RETURNING notice_id;

-- name: expire_notices
-- The primary key: the oldest are the first.
DELETE FROM notices
WHERE notice_number IN (SELECT notice_number FROM notices ORDER BY notice_number LIMIT :limit)
  AND due_ms IS NULL AND finished_ms < :before_ms
RETURNING 1;

-- name: notices_page
-- Index notices_of_namespace.
SELECT notice_id, notification, topic, namespace, schedule_id, about, state, attempts, due_ms, created_ms, finished_ms,
    last_error, summary_id,
    notice_number
FROM notices
WHERE namespace = :namespace AND notice_number < :before_number
  AND (:state IS NULL OR state = :state) AND (:schedule_id IS NULL OR schedule_id = :schedule_id)
ORDER BY notice_number DESC LIMIT :limit;

-- name: notice_rate
-- Whoever asks has the row until its transaction is over.
INSERT INTO notice_rates (notification, namespace, minute, sent) VALUES (:notification, :namespace, :minute, 0)
ON CONFLICT (notification, namespace) DO UPDATE SET
    sent = CASE WHEN notice_rates.minute = :minute THEN notice_rates.sent ELSE 0 END, minute = :minute
RETURNING sent;

-- name: add_to_notice_rate
UPDATE notice_rates SET sent = sent + :number WHERE notification = :notification AND namespace = :namespace;

-- name: fire_times
-- Index schedule_runs_once.
SELECT schedule_key, nominal_s, origin, fire_ms FROM schedule_runs
WHERE schedule_key = ?1 AND nominal_s = ?2 AND origin = ?3;
