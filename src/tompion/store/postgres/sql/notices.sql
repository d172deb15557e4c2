-- name: insert_notices
-- Index notices_once.  What happened is told once, whoever says so again.
INSERT INTO notices (
    notice_id, notification, topic, namespace, schedule_id, about, state, attempts, due_ms, created_ms, finished_ms,
    last_error, summary_id
)
SELECT * FROM unnest(
    %s::text[], %s::text[], %s::text[], %s::text[], %s::text[], %s::text[], %s::text[], %s::bigint[], %s::bigint[],
    %s::bigint[], %s::bigint[], %s::text[], %s::text[]
)
ON CONFLICT (notice_id) DO NOTHING;

-- name: next_notice
-- Index notices_due.
SELECT min(due_ms) FROM notices
WHERE due_ms IS NOT NULL AND notification = ANY (%(names)s::text[]);

-- name: due_notices
-- Index notices_due.  Whoever else delivers passes over what is locked.
SELECT notice_id, notification, topic, namespace, schedule_id, about, state, attempts, due_ms, created_ms, finished_ms,
    last_error, summary_id
FROM notices
WHERE due_ms <= %(now_ms)s AND notification = ANY (%(names)s::text[])
ORDER BY due_ms, notice_number LIMIT %(limit)s
FOR UPDATE SKIP LOCKED;

-- name: lease_notices
-- Index notices_once.
UPDATE notices SET attempts = attempts + 1, due_ms = n.until_ms
FROM unnest(%s::text[], %s::bigint[]) AS n (id, until_ms)
WHERE notice_id = n.id AND state = 'PENDING';

-- name: put_off_notices
-- Index notices_once.
UPDATE notices SET due_ms = n.until_ms
FROM unnest(%s::text[], %s::bigint[]) AS n (id, until_ms)
WHERE notice_id = n.id AND state = 'PENDING';

-- name: summarize_notices
-- Index notices_once.
UPDATE notices SET state = 'SUMMARIZED', summary_id = n.summary, finished_ms = n.now_ms, due_ms = NULL
FROM unnest(%s::text[], %s::text[], %s::bigint[]) AS n (id, summary, now_ms)
WHERE notice_id = n.id AND state = 'PENDING';

-- name: settle_notices
-- Index notices_once.  Only who has made the last try may say how it ended.
UPDATE notices SET state = n.becomes, due_ms = n.next_ms, finished_ms = n.ended_ms, last_error = n.error
FROM unnest(%s::text[], %s::bigint[], %s::text[], %s::bigint[], %s::bigint[], %s::text[])
    AS n (id, fence, becomes, next_ms, ended_ms, error)
WHERE notice_id = n.id AND attempts = n.fence AND state = 'PENDING'
RETURNING notice_id;

-- name: give_up_notices
-- Index notices_due.  Nobody has delivered them in time: nobody could, or nobody knew where to.
UPDATE notices SET state = 'GIVEN_UP', finished_ms = %(now_ms)s, due_ms = NULL,
    last_error = coalesce(last_error, 'no instance that runs knows this notification')
WHERE due_ms <= %(now_ms)s AND notice_number = ANY (ARRAY(
    SELECT notice_number FROM notices
    WHERE due_ms IS NOT NULL AND due_ms <= %(now_ms)s AND created_ms < %(before_ms)s LIMIT %(limit)s
))
RETURNING notice_id;

-- name: expire_notices
-- The primary key: the oldest are the first.
DELETE FROM notices
WHERE notice_number = ANY (ARRAY(SELECT notice_number FROM notices ORDER BY notice_number LIMIT %(limit)s))
  AND due_ms IS NULL AND finished_ms < %(before_ms)s
RETURNING 1;

-- name: notices_page
-- Index notices_of_namespace.
SELECT notice_id, notification, topic, namespace, schedule_id, about, state, attempts, due_ms, created_ms, finished_ms,
    last_error, summary_id,
    notice_number
FROM notices
WHERE namespace = %(namespace)s AND notice_number < %(before_number)s
  AND (%(state)s::text IS NULL OR state = %(state)s::text)
  AND (%(schedule_id)s::text IS NULL OR schedule_id = %(schedule_id)s::text)
ORDER BY notice_number DESC LIMIT %(limit)s;

-- name: notice_rate
-- Whoever asks has the row until its transaction is over.
INSERT INTO notice_rates (notification, namespace, minute, sent)
VALUES (%(notification)s, %(namespace)s, %(minute)s, 0)
ON CONFLICT (notification, namespace) DO UPDATE SET
    sent = CASE WHEN notice_rates.minute = %(minute)s THEN notice_rates.sent ELSE 0 END, minute = %(minute)s
RETURNING sent;

-- name: add_to_notice_rate
UPDATE notice_rates SET sent = sent + %(number)s WHERE notification = %(notification)s AND namespace = %(namespace)s;

-- name: fire_times
-- Index schedule_runs_once.
SELECT r.schedule_key, r.nominal_s, r.origin, r.fire_ms
FROM schedule_runs r
JOIN unnest(%s::bigint[], %s::bigint[], %s::bigint[]) AS h (schedule_key, nominal_s, origin)
  USING (schedule_key, nominal_s, origin);
