-- The first schema. Instants are integers since the Unix epoch: `_s` in seconds, `_ms` in milliseconds.
-- Names sort by code point (COLLATE "C"), as in SQLite, whatever the locale of the database.

-- Schedules. Edits change these rows, ticks never do.
CREATE TABLE schedules (
    schedule_key   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    namespace      text COLLATE "C" NOT NULL,
    schedule_id    text COLLATE "C" NOT NULL,
    version        bigint NOT NULL,
    token          bigint NOT NULL,
    state          text NOT NULL CHECK (state IN ('active', 'paused', 'closed')),
    workflow_id    text COLLATE "C",
    user_id        text,
    labels         text NOT NULL,
    description    text NOT NULL,
    paused_by      text,
    pause_note     text,
    paused_ms      bigint,
    purge          boolean NOT NULL DEFAULT false,
    zones          text NOT NULL,
    created_ms     bigint NOT NULL,
    updated_ms     bigint NOT NULL,
    UNIQUE (namespace, schedule_id)
);

-- Zone tables that schedules were planned with. An upgrade of the zone data searches here.
CREATE INDEX schedules_zones ON schedules (zones) WHERE zones <> '';

-- Schedules of a namespace in key order, which is the order of schedule_state. Counts use it.
CREATE INDEX schedules_state ON schedules (namespace, state, schedule_key);

-- Paused schedules, and schedules that fire in UTC because their zone was removed. Few rows, counted for metrics.
CREATE INDEX schedules_paused ON schedules (schedule_key) WHERE state = 'paused';
CREATE INDEX schedules_degraded ON schedules (schedule_key) WHERE right(zones, 5) = ':gone';

-- Every version of every definition. The newest is in force.
CREATE TABLE schedule_versions (
    schedule_key   bigint NOT NULL,
    version        bigint NOT NULL,
    spec           text NOT NULL,
    policy         text NOT NULL,
    action         text NOT NULL,
    payload        text,
    about          text NOT NULL,
    calendars      text NOT NULL,
    after_s        bigint NOT NULL,
    until_s        bigint,
    author         text NOT NULL,
    created_ms     bigint NOT NULL,
    PRIMARY KEY (schedule_key, version)
);

-- The mutable state of each schedule: the narrow row that every tick updates and every writer locks.
-- Settling changes no indexed column. Free space on the page allows heap-only updates, which skip the indexes.
CREATE TABLE schedule_state (
    schedule_key   bigint PRIMARY KEY,
    version        bigint NOT NULL,
    cursor_s       bigint NOT NULL,
    next_nominal_s bigint,
    next_fire_ms   bigint,
    paused         boolean NOT NULL,
    pause_until_ms bigint,
    closed         boolean NOT NULL,
    in_flight      bigint NOT NULL CHECK (in_flight >= 0),
    waiting        bigint NOT NULL CHECK (waiting >= 0),
    remaining      bigint CHECK (remaining >= 0),
    last_start_ms  bigint,
    failures       bigint NOT NULL,
    carry          text,
    carry_until_s  bigint,
    skips          text,
    starts         bigint NOT NULL,
    successes      bigint NOT NULL,
    failed         bigint NOT NULL,
    skipped        bigint NOT NULL,
    missed         bigint NOT NULL,
    last_end_ms    bigint,
    hints          text
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);

-- Only due schedules, so an idle store with a million schedules costs one lookup. The key is part of the index because
-- a claim reads in that order: among many schedules due at one moment it reads only the rows that it claims.
CREATE INDEX schedule_state_due ON schedule_state (next_fire_ms, schedule_key) WHERE next_fire_ms IS NOT NULL;

-- The ledger: one run for each tick, trigger and backfill time.
-- Each row is updated a few times soon after its insert. The free space on the page is for these updates.
CREATE TABLE schedule_runs (
    run_number     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    schedule_key   bigint NOT NULL,
    nominal_s      bigint NOT NULL,
    origin         bigint NOT NULL,
    source         text NOT NULL,
    state          text NOT NULL,
    reason         text,
    version        bigint NOT NULL,
    attempt        bigint NOT NULL,
    failures       bigint NOT NULL,
    fire_ms        bigint NOT NULL,
    due_ms         bigint,
    owner          bigint,
    decided_ms     bigint NOT NULL,
    local_s        bigint,
    dst_adjustment text,
    overlap        text,
    payload        text,
    request_id     text COLLATE "C",
    started_ms     bigint,
    finished_ms    bigint,
    cancel_requested boolean NOT NULL,
    error          text,
    result         text,
    execution_id   text,
    queued_ms      bigint,
    pickups        bigint NOT NULL DEFAULT 0,
    progress       text,
    report         text
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);

-- One row per tick. The first guard against duplicates is the lock on schedule_state, this index is the second.
CREATE UNIQUE INDEX schedule_runs_once ON schedule_runs (schedule_key, nominal_s, origin);

-- Runs that an engine must handle at a time: planned runs, and runs in flight without an owner. A run that an instance
-- holds is not in this index, because the instance's lease covers it.
CREATE INDEX schedule_runs_due ON schedule_runs (due_ms) WHERE due_ms IS NOT NULL;

-- Waiting runs by schedule. A run that starts and ends normally changes no indexed column.
CREATE INDEX schedule_runs_queued ON schedule_runs (schedule_key, nominal_s) WHERE queued_ms IS NOT NULL;

-- Triggers and backfill runs by schedule. Ticks are not in this index.
CREATE INDEX schedule_runs_requested ON schedule_runs (schedule_key, origin, nominal_s) WHERE origin > 0;

-- Ranges of ticks that were dropped together.
CREATE TABLE dropped_ranges (
    schedule_key   bigint NOT NULL,
    after_s        bigint NOT NULL,
    until_s        bigint NOT NULL,
    ticks          bigint NOT NULL,
    reason         text NOT NULL,
    version        bigint NOT NULL,
    decided_ms     bigint NOT NULL,
    PRIMARY KEY (schedule_key, until_s)
);

-- For deleting ranges past their retention.
CREATE INDEX dropped_ranges_age ON dropped_ranges (decided_ms);

CREATE TABLE backfills (
    backfill_id    bigint PRIMARY KEY,
    schedule_key   bigint NOT NULL,
    start_s        bigint NOT NULL,
    end_s          bigint NOT NULL,
    cursor_s       bigint NOT NULL,
    overlap        text NOT NULL,
    only_what      text NOT NULL,
    version        bigint NOT NULL,
    state          text NOT NULL,
    total          bigint NOT NULL,
    done           bigint NOT NULL,
    next_ms        bigint,
    created_ms     bigint NOT NULL,
    finished_ms    bigint,
    last_s         bigint NOT NULL,
    undecided      bigint NOT NULL
);
CREATE INDEX backfills_due ON backfills (next_ms) WHERE next_ms IS NOT NULL;
CREATE INDEX backfills_of_schedule ON backfills (schedule_key, backfill_id);

-- Lists of dates that many schedules exclude. Every version is kept, because schedule versions refer to it.
CREATE TABLE calendars (
    namespace      text COLLATE "C" NOT NULL,
    name           text COLLATE "C" NOT NULL,
    version        bigint NOT NULL,
    document       text NOT NULL,
    created_ms     bigint NOT NULL,
    PRIMARY KEY (namespace, name, version)
);

-- The calendars that each schedule excludes.
CREATE TABLE calendar_uses (
    namespace      text COLLATE "C" NOT NULL,
    name           text COLLATE "C" NOT NULL,
    schedule_key   bigint NOT NULL,
    PRIMARY KEY (namespace, name, schedule_key)
);

CREATE TABLE workflows (
    namespace      text COLLATE "C" NOT NULL,
    workflow_id    text COLLATE "C" NOT NULL,
    version        bigint NOT NULL,
    document       text NOT NULL,
    created_ms     bigint NOT NULL,
    PRIMARY KEY (namespace, workflow_id, version)
);

-- Workflows and queues that are paused as a whole. Usually empty.
CREATE TABLE paused_targets (
    namespace      text COLLATE "C" NOT NULL,
    kind           text NOT NULL CHECK (kind IN ('workflow', 'queue')),
    target         text COLLATE "C" NOT NULL,
    paused_by      text NOT NULL,
    note           text,
    paused_ms      bigint NOT NULL,
    PRIMARY KEY (namespace, kind, target)
);

-- The audit log: actor, operation, and the values before and after.
CREATE TABLE audit (
    audit_number   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at_ms          bigint NOT NULL,
    namespace      text COLLATE "C" NOT NULL,
    schedule_id    text COLLATE "C" NOT NULL,
    actor          text NOT NULL,
    operation      text NOT NULL,
    token          bigint NOT NULL,
    version        bigint NOT NULL,
    request_id     text COLLATE "C",
    before         text,
    after          text,
    position       bigint,
    previous       text,
    digest         text
);
CREATE INDEX audit_of_schedule ON audit (namespace, schedule_id, audit_number);
CREATE INDEX audit_of_namespace ON audit (namespace, audit_number);

-- The hash chain of a namespace. Each position is used once.
CREATE UNIQUE INDEX audit_chain ON audit (namespace, position);

-- Rows that are not in the chain yet. Usually none.
CREATE INDEX audit_unchained ON audit (audit_number) WHERE position IS NULL;

-- The end of each namespace's chain, and the position up to which rows were deleted after their retention.
CREATE TABLE audit_heads (
    namespace      text COLLATE "C" PRIMARY KEY,
    position       bigint NOT NULL,
    digest         text NOT NULL,
    gone_position  bigint NOT NULL,
    gone_digest    text NOT NULL
);

-- A row is added to the chain once. It can be deleted only after the head records the deletion. Other changes fail.
CREATE FUNCTION audit_reject_change() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF OLD.position IS NULL AND NEW.position IS NOT NULL AND
            (OLD.audit_number, OLD.at_ms, OLD.namespace, OLD.schedule_id, OLD.actor, OLD.operation, OLD.token,
                OLD.version, OLD.request_id, OLD.before, OLD.after) IS NOT DISTINCT FROM
            (NEW.audit_number, NEW.at_ms, NEW.namespace, NEW.schedule_id, NEW.actor, NEW.operation, NEW.token,
                NEW.version, NEW.request_id, NEW.before, NEW.after)
        THEN
            RETURN NEW;
        END IF;
    ELSIF TG_OP = 'DELETE' THEN
        IF OLD.position <= (SELECT gone_position FROM audit_heads WHERE namespace = OLD.namespace) THEN
            RETURN OLD;
        END IF;
    END IF;
    RAISE EXCEPTION 'the audit is append-only' USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE ON audit FOR EACH ROW EXECUTE FUNCTION audit_reject_change();
CREATE TRIGGER audit_no_removal BEFORE TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION audit_reject_change();

-- Positions never decrease.
CREATE FUNCTION audit_heads_reject_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF NEW.namespace = OLD.namespace AND NEW.position >= OLD.position AND
            NEW.gone_position BETWEEN OLD.gone_position AND NEW.position
        THEN
            RETURN NEW;
        END IF;
    END IF;
    RAISE EXCEPTION 'the audit is append-only' USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER audit_heads_append_only BEFORE UPDATE OR DELETE ON audit_heads
    FOR EACH ROW EXECUTE FUNCTION audit_heads_reject_change();
CREATE TRIGGER audit_heads_no_removal BEFORE TRUNCATE ON audit_heads
    FOR EACH STATEMENT EXECUTE FUNCTION audit_heads_reject_change();

-- Responses by request id, so that a repeated request gets the same response.
CREATE TABLE requests (
    namespace      text COLLATE "C" NOT NULL,
    request_id     text COLLATE "C" NOT NULL,
    operation      text NOT NULL,
    fingerprint    text NOT NULL,
    answer         text NOT NULL,
    created_ms     bigint NOT NULL,
    PRIMARY KEY (namespace, request_id)
);
CREATE INDEX requests_age ON requests (created_ms);

-- Engines, which serve all namespaces, and remote workers, which serve one.
CREATE TABLE instances (
    instance_id    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name           text COLLATE "C" NOT NULL,
    release        text NOT NULL,
    queues         text NOT NULL,
    started_ms     bigint NOT NULL,
    heartbeat_ms   bigint NOT NULL,
    stopped_ms     bigint,
    skew_ms        bigint NOT NULL,
    lease_until_ms bigint,
    namespace      text COLLATE "C"
);
CREATE INDEX instances_lease ON instances (lease_until_ms) WHERE lease_until_ms IS NOT NULL;

-- Secrets that the instances of one store share.
CREATE TABLE secrets (
    name           text PRIMARY KEY,
    value          text NOT NULL
);

-- Registered search attributes and their types.
CREATE TABLE search_attributes (
    namespace      text COLLATE "C" NOT NULL,
    name           text COLLATE "C" NOT NULL,
    kind           text NOT NULL,
    PRIMARY KEY (namespace, name)
);

-- API keys. Only a hash of each key is stored.
CREATE TABLE api_keys (
    key_id         text COLLATE "C" PRIMARY KEY,
    namespace      text COLLATE "C" NOT NULL,
    role           text NOT NULL,
    name           text NOT NULL,
    hash           text NOT NULL,
    created_by     text NOT NULL,
    created_ms     bigint NOT NULL,
    expires_ms     bigint,
    revoked_ms     bigint
);

-- The notification outbox. Rows are written in the transaction of the event and delivered afterwards.
CREATE TABLE notifications (
    notification_number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    notification_id     text COLLATE "C" NOT NULL,
    rule_name      text COLLATE "C" NOT NULL,
    topic          text NOT NULL,
    namespace      text COLLATE "C" NOT NULL,
    schedule_id    text COLLATE "C" NOT NULL,
    about          text NOT NULL,
    state          text NOT NULL,
    attempts       bigint NOT NULL,
    due_ms         bigint,
    created_ms     bigint NOT NULL,
    finished_ms    bigint,
    last_error     text,
    summary_id     text
);

-- One notification per event.
CREATE UNIQUE INDEX notifications_once ON notifications (notification_id);

-- Undelivered notifications. Usually none.
CREATE INDEX notifications_due ON notifications (due_ms) WHERE due_ms IS NOT NULL;
CREATE INDEX notifications_of_namespace ON notifications (namespace, notification_number);

-- Number of notifications sent in the minute of the last one.
CREATE TABLE notification_rates (
    rule_name      text COLLATE "C" NOT NULL,
    namespace      text COLLATE "C" NOT NULL,
    minute         bigint NOT NULL,
    sent           bigint NOT NULL,
    PRIMARY KEY (rule_name, namespace)
);

-- Unique numbers for triggers and backfills.
CREATE SEQUENCE origin_numbers AS bigint;

-- The number of migrations that were applied. One row.
CREATE TABLE tompion_schema (
    version        bigint NOT NULL
);
CREATE UNIQUE INDEX tompion_schema_one_row ON tompion_schema ((true));
INSERT INTO tompion_schema (version) VALUES (0);
