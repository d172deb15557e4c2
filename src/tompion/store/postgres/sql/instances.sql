-- name: instance_insert
INSERT INTO instances (
    namespace, name, release, queues, started_ms, heartbeat_ms, stopped_ms, skew_ms, lease_until_ms, tzdata
) VALUES (%(namespace)s, %(name)s, %(release)s, %(queues)s, %(now_ms)s, %(now_ms)s, NULL, 0, %(lease_until_ms)s, %(tzdata)s)
RETURNING instance_id;

-- name: lease_renew
-- One lease covers all runs of the instance. An expired lease cannot be renewed.
UPDATE instances SET heartbeat_ms = %(now_ms)s, skew_ms = %(skew_ms)s, lease_until_ms = %(lease_until_ms)s
WHERE instance_id = %(instance_id)s AND lease_until_ms IS NOT NULL
RETURNING instance_id;

-- name: worker_touch
-- A remote worker has no lease of its own. Each of its runs has one.
UPDATE instances SET heartbeat_ms = %(now_ms)s, queues = %(queues)s
WHERE instance_id = %(instance_id)s AND namespace = %(namespace)s AND lease_until_ms IS NULL AND stopped_ms IS NULL
RETURNING name;

-- name: worker_remove
UPDATE instances SET stopped_ms = %(now_ms)s
WHERE instance_id = %(instance_id)s AND namespace = %(namespace)s AND lease_until_ms IS NULL;

-- name: queue_list_served
-- Engines serve every namespace. Remote workers serve the namespace that they registered in.
SELECT queues, count(*) AS live FROM instances
WHERE stopped_ms IS NULL AND heartbeat_ms > %(since_ms)s
  AND (namespace IS NULL OR namespace = %(namespace)s)
GROUP BY queues;

-- name: lease_share
-- Until this transaction ends, no other instance can expire the lease. An advisory lock, because heartbeats update the row.
SELECT pg_advisory_xact_lock_shared('instances'::regclass::oid::integer, %(instance_id)s::integer);

-- name: lease_hold
SELECT instance_id FROM instances WHERE instance_id = %(instance_id)s AND lease_until_ms IS NOT NULL;

-- name: lease_list_expired
-- Index instances_lease.
SELECT instance_id FROM instances WHERE lease_until_ms <= %(now_ms)s ORDER BY instance_id;

-- name: lease_expire_one
-- Fails instead of waiting while a transaction of the instance holds its lease with lease_share.
SELECT 1 WHERE pg_try_advisory_xact_lock('instances'::regclass::oid::integer, %(instance_id)s::integer);

-- name: lease_list_valid
-- Index instances_lease. The session of a live instance has the lock exclusively.
SELECT instance_id, name, heartbeat_ms, NOT pg_try_advisory_xact_lock_shared('instances_lease'::regclass::oid::integer, instance_id::integer),
    (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint
FROM instances WHERE lease_until_ms > %(now_ms)s AND instance_id <> %(own_id)s ORDER BY instance_id;

-- name: lease_cut
UPDATE instances SET lease_until_ms = %(now_ms)s
WHERE instance_id = %(instance_id)s AND heartbeat_ms = %(heartbeat_ms)s AND lease_until_ms > %(now_ms)s
RETURNING name;

-- name: lease_end
UPDATE instances SET lease_until_ms = NULL
WHERE instance_id = ANY (%(instances)s::bigint[]);

-- name: instance_stop
UPDATE instances SET stopped_ms = %(now_ms)s, lease_until_ms = %(lease_until_ms)s
WHERE instance_id = %(instance_id)s AND lease_until_ms IS NOT NULL;

-- name: instance_count_live
SELECT count(*) AS live FROM instances
WHERE stopped_ms IS NULL AND heartbeat_ms > %(since_ms)s AND lease_until_ms IS NOT NULL;

-- name: instance_has_newer_tables
-- Index instances_lease. A remote worker has no lease and plans nothing.
SELECT EXISTS (
    SELECT 1 FROM instances WHERE lease_until_ms > %(now_ms)s AND stopped_ms IS NULL AND tzdata > %(tzdata)s
) AS is_newer;

-- name: instance_list
SELECT instance_id, name, release, queues, started_ms, heartbeat_ms, stopped_ms, skew_ms, lease_until_ms, namespace,
    tzdata
FROM instances
WHERE namespace IS NULL OR namespace = %(namespace)s
ORDER BY instance_id DESC LIMIT %(limit)s;

-- name: instance_expire
DELETE FROM instances WHERE coalesce(stopped_ms, heartbeat_ms) < %(before_ms)s AND lease_until_ms IS NULL;
