-- name: notification_insert
-- Index notifications_once. An event is recorded once. A duplicate is ignored.
INSERT INTO notifications (
    notification_id, rule_name, topic, namespace, schedule_id, about, state, attempts, due_ms, created_ms, finished_ms,
    last_error, summary_id
)
SELECT * FROM unnest(
    %s::text[], %s::text[], %s::text[], %s::text[], %s::text[], %s::text[], %s::text[], %s::bigint[], %s::bigint[],
    %s::bigint[], %s::bigint[], %s::text[], %s::text[]
)
ON CONFLICT (notification_id) DO NOTHING;

-- name: notification_next_due
-- Index notifications_due.
SELECT min(due_ms) FROM notifications
WHERE due_ms IS NOT NULL AND rule_name = ANY (%(names)s::text[]);

-- name: notification_claim_due
-- Index notifications_due. Other dispatchers skip locked rows.
SELECT notification_id, rule_name, topic, namespace, schedule_id, about, state, attempts, due_ms, created_ms, finished_ms,
    last_error, summary_id
FROM notifications
WHERE due_ms <= %(now_ms)s AND rule_name = ANY (%(names)s::text[])
ORDER BY due_ms, notification_number LIMIT %(limit)s
FOR UPDATE SKIP LOCKED;

-- name: notification_lease
-- Index notifications_once.
UPDATE notifications SET attempts = attempts + 1, due_ms = n.until_ms
FROM unnest(%s::text[], %s::bigint[]) AS n (id, until_ms)
WHERE notification_id = n.id AND state = 'PENDING';

-- name: notification_postpone
-- Index notifications_once.
UPDATE notifications SET due_ms = n.until_ms
FROM unnest(%s::text[], %s::bigint[]) AS n (id, until_ms)
WHERE notification_id = n.id AND state = 'PENDING';

-- name: notification_summarize
-- Index notifications_once.
UPDATE notifications SET state = 'SUMMARIZED', summary_id = n.summary, finished_ms = n.now_ms, due_ms = NULL
FROM unnest(%s::text[], %s::text[], %s::bigint[]) AS n (id, summary, now_ms)
WHERE notification_id = n.id AND state = 'PENDING';

-- name: notification_settle
-- Index notifications_once. Only the dispatcher that made the last attempt may record its outcome.
UPDATE notifications SET state = n.becomes, due_ms = n.next_ms, finished_ms = n.ended_ms, last_error = n.error
FROM unnest(%s::text[], %s::bigint[], %s::text[], %s::bigint[], %s::bigint[], %s::text[])
    AS n (id, fence, becomes, next_ms, ended_ms, error)
WHERE notification_id = n.id AND attempts = n.fence AND state = 'PENDING'
RETURNING notification_id;

-- name: notification_give_up
-- Index notifications_due. Not delivered in time: every attempt failed, or no engine has the rule.
UPDATE notifications SET state = 'GIVEN_UP', finished_ms = %(now_ms)s, due_ms = NULL,
    last_error = coalesce(last_error, 'no running engine is configured with this notification rule')
WHERE due_ms <= %(now_ms)s AND notification_number = ANY (ARRAY(
    SELECT notification_number FROM notifications
    WHERE due_ms IS NOT NULL AND due_ms <= %(now_ms)s AND created_ms < %(before_ms)s LIMIT %(limit)s
))
RETURNING notification_id;

-- name: notification_expire
-- The primary key, oldest first.
DELETE FROM notifications
WHERE notification_number = ANY (ARRAY(SELECT notification_number FROM notifications ORDER BY notification_number LIMIT %(limit)s))
  AND due_ms IS NULL AND finished_ms < %(before_ms)s
RETURNING 1;

-- name: notification_list
-- Index notifications_of_namespace.
SELECT notification_id, rule_name, topic, namespace, schedule_id, about, state, attempts, due_ms, created_ms, finished_ms,
    last_error, summary_id,
    notification_number
FROM notifications
WHERE namespace = %(namespace)s AND notification_number < %(before_number)s
  AND (%(state)s::text IS NULL OR state = %(state)s::text)
  AND (%(schedule_id)s::text IS NULL OR schedule_id = %(schedule_id)s::text)
ORDER BY notification_number DESC LIMIT %(limit)s;

-- name: notification_rate_lock
-- Locks the row until the end of the transaction.
INSERT INTO notification_rates (rule_name, namespace, minute, sent)
VALUES (%(rule_name)s, %(namespace)s, %(minute)s, 0)
ON CONFLICT (rule_name, namespace) DO UPDATE SET
    sent = CASE WHEN notification_rates.minute = %(minute)s THEN notification_rates.sent ELSE 0 END, minute = %(minute)s
RETURNING sent;

-- name: notification_rate_add
UPDATE notification_rates SET sent = sent + %(number)s WHERE rule_name = %(rule_name)s AND namespace = %(namespace)s;
