-- name: notification_insert
-- Index notifications_once. An event is recorded once. A duplicate is ignored.
INSERT INTO notifications (
    notification_id, rule_name, topic, namespace, schedule_id, about, state, attempts, due_ms, created_ms, finished_ms,
    last_error, summary_id
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (notification_id) DO NOTHING;

-- name: notification_next_due
-- Index notifications_due.
SELECT min(due_ms) FROM notifications
WHERE due_ms IS NOT NULL AND rule_name IN (SELECT value FROM json_each(:names));

-- name: notification_claim_due
-- Index notifications_due. BEGIN IMMEDIATE is the lock.
SELECT notification_id, rule_name, topic, namespace, schedule_id, about, state, attempts, due_ms, created_ms, finished_ms,
    last_error, summary_id
FROM notifications
WHERE due_ms <= :now_ms AND rule_name IN (SELECT value FROM json_each(:names))
ORDER BY due_ms, notification_number LIMIT :limit;

-- name: notification_lease
-- Index notifications_once.
UPDATE notifications SET attempts = attempts + 1, due_ms = ?2 WHERE notification_id = ?1 AND state = 'PENDING';

-- name: notification_postpone
-- Index notifications_once.
UPDATE notifications SET due_ms = ?2 WHERE notification_id = ?1 AND state = 'PENDING';

-- name: notification_summarize
-- Index notifications_once.
UPDATE notifications SET state = 'SUMMARIZED', summary_id = ?2, finished_ms = ?3, due_ms = NULL
WHERE notification_id = ?1 AND state = 'PENDING';

-- name: notification_settle
-- Index notifications_once. Only the dispatcher that made the last attempt may record its outcome.
UPDATE notifications SET state = ?3, due_ms = ?4, finished_ms = ?5, last_error = ?6
WHERE notification_id = ?1 AND attempts = ?2 AND state = 'PENDING'
RETURNING notification_id;

-- name: notification_give_up
-- Index notifications_due. Not delivered in time: every attempt failed, or no engine has the rule.
UPDATE notifications SET state = 'GIVEN_UP', finished_ms = :now_ms, due_ms = NULL,
    last_error = coalesce(last_error, 'no running engine is configured with this notification rule')
WHERE notification_number IN (
    SELECT notification_number FROM notifications
    WHERE due_ms IS NOT NULL AND due_ms <= :now_ms AND created_ms < :before_ms LIMIT :limit
)
RETURNING notification_id;

-- name: notification_expire
-- The primary key, oldest first.
DELETE FROM notifications
WHERE notification_number IN (SELECT notification_number FROM notifications ORDER BY notification_number LIMIT :limit)
  AND due_ms IS NULL AND finished_ms < :before_ms
RETURNING 1;

-- name: notification_list
-- Index notifications_of_namespace.
SELECT notification_id, rule_name, topic, namespace, schedule_id, about, state, attempts, due_ms, created_ms, finished_ms,
    last_error, summary_id,
    notification_number
FROM notifications
WHERE namespace = :namespace AND notification_number < :before_number
  AND (:state IS NULL OR state = :state) AND (:schedule_id IS NULL OR schedule_id = :schedule_id)
ORDER BY notification_number DESC LIMIT :limit;

-- name: notification_rate_lock
-- Locks the row until the end of the transaction.
INSERT INTO notification_rates (rule_name, namespace, minute, sent) VALUES (:rule_name, :namespace, :minute, 0)
ON CONFLICT (rule_name, namespace) DO UPDATE SET
    sent = CASE WHEN notification_rates.minute = :minute THEN notification_rates.sent ELSE 0 END, minute = :minute
RETURNING sent;

-- name: notification_rate_add
UPDATE notification_rates SET sent = sent + :number WHERE rule_name = :rule_name AND namespace = :namespace;
