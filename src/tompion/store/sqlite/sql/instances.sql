-- name: instance_insert
INSERT INTO instances (
    namespace, name, release, queues, started_ms, heartbeat_ms, stopped_ms, skew_ms, lease_until_ms, tzdata
) VALUES (:namespace, :name, :release, :queues, :now_ms, :now_ms, NULL, 0, :lease_until_ms, :tzdata)
RETURNING instance_id;

-- name: lease_renew
-- One lease covers all runs of the instance. An expired lease cannot be renewed.
UPDATE instances SET heartbeat_ms = :now_ms, skew_ms = :skew_ms, lease_until_ms = :lease_until_ms
WHERE instance_id = :instance_id AND lease_until_ms IS NOT NULL
RETURNING instance_id;

-- name: worker_touch
-- A remote worker has no lease of its own. Each of its runs has one.
UPDATE instances SET heartbeat_ms = :now_ms, queues = :queues
WHERE instance_id = :instance_id AND namespace = :namespace AND lease_until_ms IS NULL AND stopped_ms IS NULL
RETURNING name;

-- name: worker_remove
UPDATE instances SET stopped_ms = :now_ms
WHERE instance_id = :instance_id AND namespace = :namespace AND lease_until_ms IS NULL;

-- name: queue_list_served
-- Engines serve every namespace. Remote workers serve the namespace that they registered in.
SELECT queues, count(*) AS live FROM instances
WHERE stopped_ms IS NULL AND heartbeat_ms > :since_ms
  AND (namespace IS NULL OR namespace = :namespace)
GROUP BY queues;

-- name: lease_share
-- BEGIN IMMEDIATE holds the only write lock, so no other instance can expire a lease meanwhile.
SELECT 1;

-- name: lease_hold
SELECT instance_id FROM instances WHERE instance_id = :instance_id AND lease_until_ms IS NOT NULL;

-- name: lease_list_expired
-- Index instances_lease.
SELECT instance_id FROM instances WHERE lease_until_ms <= :now_ms ORDER BY instance_id;

-- name: lease_expire_one
SELECT 1 WHERE :instance_id > 0;

-- name: lease_list_valid
-- Index instances_lease. A file has the locks of the processes.
SELECT instance_id, name, heartbeat_ms, NULL AS is_locked, NULL AS server_id
FROM instances WHERE lease_until_ms > :now_ms AND instance_id <> :own_id ORDER BY instance_id;

-- name: lease_cut
UPDATE instances SET lease_until_ms = :now_ms
WHERE instance_id = :instance_id AND heartbeat_ms = :heartbeat_ms AND lease_until_ms > :now_ms
RETURNING name;

-- name: lease_end
UPDATE instances SET lease_until_ms = NULL
WHERE instance_id IN (SELECT value FROM json_each(:instances));

-- name: instance_stop
UPDATE instances SET stopped_ms = :now_ms, lease_until_ms = :lease_until_ms
WHERE instance_id = :instance_id AND lease_until_ms IS NOT NULL;

-- name: instance_count_live
SELECT count(*) AS live FROM instances
WHERE stopped_ms IS NULL AND heartbeat_ms > :since_ms AND lease_until_ms IS NOT NULL;

-- name: instance_has_newer_tables
-- Index instances_lease. A remote worker has no lease and plans nothing.
SELECT EXISTS (
    SELECT 1 FROM instances WHERE lease_until_ms > :now_ms AND stopped_ms IS NULL AND tzdata > :tzdata
) AS is_newer;

-- name: instance_list
SELECT instance_id, name, release, queues, started_ms, heartbeat_ms, stopped_ms, skew_ms, lease_until_ms, namespace,
    tzdata
FROM instances
WHERE namespace IS NULL OR namespace = :namespace
ORDER BY instance_id DESC LIMIT :limit;

-- name: instance_expire
DELETE FROM instances WHERE coalesce(stopped_ms, heartbeat_ms) < :before_ms AND lease_until_ms IS NULL;
