-- The first schema. Instants are integers since the Unix epoch: `_s` in seconds, `_ms` in milliseconds.

-- Schedules. Edits change these rows, ticks never do.
CREATE TABLE schedules (
    schedule_key   INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace      TEXT NOT NULL,
    schedule_id    TEXT NOT NULL,
    version        INTEGER NOT NULL,
    token          INTEGER NOT NULL,
    state          TEXT NOT NULL CHECK (state IN ('active', 'paused', 'closed')),
    workflow_id    TEXT,
    user_id        TEXT,
    labels         TEXT NOT NULL,
    description    TEXT NOT NULL,
    paused_by      TEXT,
    pause_note     TEXT,
    paused_ms      INTEGER,
    purge          INTEGER NOT NULL DEFAULT 0,
    zones          TEXT NOT NULL,
    created_ms     INTEGER NOT NULL,
    updated_ms     INTEGER NOT NULL,
    UNIQUE (namespace, schedule_id)
) STRICT;

-- Zone tables that schedules were planned with. An upgrade of the zone data searches here.
CREATE INDEX schedules_zones ON schedules (zones) WHERE zones <> '';

-- Schedules of a namespace in key order, which is the order of schedule_state. Counts use it.
CREATE INDEX schedules_state ON schedules (namespace, state, schedule_key);

-- Paused schedules, and schedules that fire in UTC because their zone was removed. Few rows, counted for metrics.
CREATE INDEX schedules_paused ON schedules (schedule_key) WHERE state = 'paused';
CREATE INDEX schedules_degraded ON schedules (schedule_key) WHERE substr(zones, -5) = ':gone';

-- Every version of every definition. The newest is in force.
CREATE TABLE schedule_versions (
    schedule_key   INTEGER NOT NULL,
    version        INTEGER NOT NULL,
    spec           TEXT NOT NULL,
    policy         TEXT NOT NULL,
    action         TEXT NOT NULL,
    payload        TEXT,
    about          TEXT NOT NULL,
    calendars      TEXT NOT NULL,
    after_s        INTEGER NOT NULL,
    until_s        INTEGER,
    author         TEXT NOT NULL,
    created_ms     INTEGER NOT NULL,
    PRIMARY KEY (schedule_key, version)
) STRICT, WITHOUT ROWID;

-- The mutable state of each schedule: the narrow row that every tick updates and every writer locks.
CREATE TABLE schedule_state (
    schedule_key   INTEGER PRIMARY KEY,
    version        INTEGER NOT NULL,
    cursor_s       INTEGER NOT NULL,
    next_nominal_s INTEGER,
    next_fire_ms   INTEGER,
    paused         INTEGER NOT NULL,
    pause_until_ms INTEGER,
    closed         INTEGER NOT NULL,
    in_flight      INTEGER NOT NULL CHECK (in_flight >= 0),
    waiting        INTEGER NOT NULL CHECK (waiting >= 0),
    remaining      INTEGER CHECK (remaining >= 0),
    last_start_ms  INTEGER,
    failures       INTEGER NOT NULL,
    carry          TEXT,
    carry_until_s  INTEGER,
    skips          TEXT,
    starts         INTEGER NOT NULL,
    successes      INTEGER NOT NULL,
    failed         INTEGER NOT NULL,
    skipped        INTEGER NOT NULL,
    missed         INTEGER NOT NULL,
    last_end_ms    INTEGER,
    hints          TEXT
) STRICT;

-- Only due schedules, so an idle store with a million schedules costs one lookup.
CREATE INDEX schedule_state_due ON schedule_state (next_fire_ms) WHERE next_fire_ms IS NOT NULL;

-- The ledger: one run for each tick, trigger and backfill time.
CREATE TABLE schedule_runs (
    run_number     INTEGER PRIMARY KEY,
    schedule_key   INTEGER NOT NULL,
    nominal_s      INTEGER NOT NULL,
    origin         INTEGER NOT NULL,
    source         TEXT NOT NULL,
    state          TEXT NOT NULL,
    reason         TEXT,
    version        INTEGER NOT NULL,
    attempt        INTEGER NOT NULL,
    failures       INTEGER NOT NULL,
    fire_ms        INTEGER NOT NULL,
    due_ms         INTEGER,
    owner          INTEGER,
    decided_ms     INTEGER NOT NULL,
    local_s        INTEGER,
    dst_adjustment TEXT,
    overlap        TEXT,
    payload        TEXT,
    request_id     TEXT,
    started_ms     INTEGER,
    finished_ms    INTEGER,
    cancel_requested INTEGER NOT NULL,
    error          TEXT,
    result         TEXT,
    execution_id   TEXT,
    queued_ms      INTEGER,
    pickups        INTEGER NOT NULL DEFAULT 0,
    progress       TEXT,
    report         TEXT
) STRICT;

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
    schedule_key   INTEGER NOT NULL,
    after_s        INTEGER NOT NULL,
    until_s        INTEGER NOT NULL,
    ticks          INTEGER NOT NULL,
    reason         TEXT NOT NULL,
    version        INTEGER NOT NULL,
    decided_ms     INTEGER NOT NULL,
    PRIMARY KEY (schedule_key, until_s)
) STRICT, WITHOUT ROWID;

-- For deleting ranges past their retention.
CREATE INDEX dropped_ranges_age ON dropped_ranges (decided_ms);

CREATE TABLE backfills (
    backfill_id    INTEGER PRIMARY KEY,
    schedule_key   INTEGER NOT NULL,
    start_s        INTEGER NOT NULL,
    end_s          INTEGER NOT NULL,
    cursor_s       INTEGER NOT NULL,
    overlap        TEXT NOT NULL,
    only_what      TEXT NOT NULL,
    version        INTEGER NOT NULL,
    state          TEXT NOT NULL,
    total          INTEGER NOT NULL,
    done           INTEGER NOT NULL,
    next_ms        INTEGER,
    created_ms     INTEGER NOT NULL,
    finished_ms    INTEGER,
    last_s         INTEGER NOT NULL,
    undecided      INTEGER NOT NULL
) STRICT;
CREATE INDEX backfills_due ON backfills (next_ms) WHERE next_ms IS NOT NULL;
CREATE INDEX backfills_of_schedule ON backfills (schedule_key, backfill_id);

-- Lists of dates that many schedules exclude. Every version is kept, because schedule versions refer to it.
CREATE TABLE calendars (
    namespace      TEXT NOT NULL,
    name           TEXT NOT NULL,
    version        INTEGER NOT NULL,
    document       TEXT NOT NULL,
    created_ms     INTEGER NOT NULL,
    PRIMARY KEY (namespace, name, version)
) STRICT, WITHOUT ROWID;

-- The calendars that each schedule excludes.
CREATE TABLE calendar_uses (
    namespace      TEXT NOT NULL,
    name           TEXT NOT NULL,
    schedule_key   INTEGER NOT NULL,
    PRIMARY KEY (namespace, name, schedule_key)
) STRICT, WITHOUT ROWID;

CREATE TABLE workflows (
    namespace      TEXT NOT NULL,
    workflow_id    TEXT NOT NULL,
    version        INTEGER NOT NULL,
    document       TEXT NOT NULL,
    created_ms     INTEGER NOT NULL,
    PRIMARY KEY (namespace, workflow_id, version)
) STRICT, WITHOUT ROWID;

-- Workflows and queues that are paused as a whole. Usually empty.
CREATE TABLE paused_targets (
    namespace      TEXT NOT NULL,
    kind           TEXT NOT NULL CHECK (kind IN ('workflow', 'queue')),
    target         TEXT NOT NULL,
    paused_by      TEXT NOT NULL,
    note           TEXT,
    paused_ms      INTEGER NOT NULL,
    PRIMARY KEY (namespace, kind, target)
) STRICT, WITHOUT ROWID;

-- The audit log: actor, operation, and the values before and after.
CREATE TABLE audit (
    audit_number   INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ms          INTEGER NOT NULL,
    namespace      TEXT NOT NULL,
    schedule_id    TEXT NOT NULL,
    actor          TEXT NOT NULL,
    operation      TEXT NOT NULL,
    token          INTEGER NOT NULL,
    version        INTEGER NOT NULL,
    request_id     TEXT,
    before         TEXT,
    after          TEXT,
    position       INTEGER,
    previous       TEXT,
    digest         TEXT
) STRICT;
CREATE INDEX audit_of_schedule ON audit (namespace, schedule_id, audit_number);
CREATE INDEX audit_of_namespace ON audit (namespace, audit_number);

-- The hash chain of a namespace. Each position is used once.
CREATE UNIQUE INDEX audit_chain ON audit (namespace, position);

-- Rows that are not in the chain yet. Usually none.
CREATE INDEX audit_unchained ON audit (audit_number) WHERE position IS NULL;

-- The end of each namespace's chain, and the position up to which rows were deleted after their retention.
CREATE TABLE audit_heads (
    namespace      TEXT PRIMARY KEY,
    position       INTEGER NOT NULL,
    digest         TEXT NOT NULL,
    gone_position  INTEGER NOT NULL,
    gone_digest    TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- A row is added to the chain once. It can be deleted only after the head records the deletion. Other changes fail.
CREATE TRIGGER audit_append_only BEFORE UPDATE ON audit
WHEN OLD.position IS NOT NULL OR NEW.position IS NULL OR
    (OLD.audit_number, OLD.at_ms, OLD.namespace, OLD.schedule_id, OLD.actor, OLD.operation, OLD.token, OLD.version,
        OLD.request_id, OLD.before, OLD.after) IS NOT
    (NEW.audit_number, NEW.at_ms, NEW.namespace, NEW.schedule_id, NEW.actor, NEW.operation, NEW.token, NEW.version,
        NEW.request_id, NEW.before, NEW.after)
BEGIN
    SELECT RAISE(ABORT, 'the audit is append-only');
END;
CREATE TRIGGER audit_no_removal BEFORE DELETE ON audit
WHEN NOT coalesce(
    OLD.position <= (SELECT gone_position FROM audit_heads WHERE namespace = OLD.namespace), 0
)
BEGIN
    SELECT RAISE(ABORT, 'the audit is append-only');
END;

-- Positions never decrease.
CREATE TRIGGER audit_heads_append_only BEFORE UPDATE ON audit_heads
WHEN NEW.namespace <> OLD.namespace OR NEW.position < OLD.position OR
    NEW.gone_position NOT BETWEEN OLD.gone_position AND NEW.position
BEGIN
    SELECT RAISE(ABORT, 'the audit is append-only');
END;
CREATE TRIGGER audit_heads_no_removal BEFORE DELETE ON audit_heads
BEGIN
    SELECT RAISE(ABORT, 'the audit is append-only');
END;

-- Responses by request id, so that a repeated request gets the same response.
CREATE TABLE requests (
    namespace      TEXT NOT NULL,
    request_id     TEXT NOT NULL,
    operation      TEXT NOT NULL,
    fingerprint    TEXT NOT NULL,
    answer         TEXT NOT NULL,
    created_ms     INTEGER NOT NULL,
    PRIMARY KEY (namespace, request_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX requests_age ON requests (created_ms);

-- Engines, which serve all namespaces, and remote workers, which serve one.
CREATE TABLE instances (
    instance_id    INTEGER PRIMARY KEY AUTOINCREMENT,
    name           TEXT NOT NULL,
    release        TEXT NOT NULL,
    queues         TEXT NOT NULL,
    started_ms     INTEGER NOT NULL,
    heartbeat_ms   INTEGER NOT NULL,
    stopped_ms     INTEGER,
    skew_ms        INTEGER NOT NULL,
    lease_until_ms INTEGER,
    namespace      TEXT
) STRICT;
CREATE INDEX instances_lease ON instances (lease_until_ms) WHERE lease_until_ms IS NOT NULL;

-- Secrets that the instances of one store share.
CREATE TABLE secrets (
    name           TEXT PRIMARY KEY,
    value          TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Registered search attributes and their types.
CREATE TABLE search_attributes (
    namespace      TEXT NOT NULL,
    name           TEXT NOT NULL,
    kind           TEXT NOT NULL,
    PRIMARY KEY (namespace, name)
) STRICT, WITHOUT ROWID;

-- API keys. Only a hash of each key is stored.
CREATE TABLE api_keys (
    key_id         TEXT PRIMARY KEY,
    namespace      TEXT NOT NULL,
    role           TEXT NOT NULL,
    name           TEXT NOT NULL,
    hash           TEXT NOT NULL,
    created_by     TEXT NOT NULL,
    created_ms     INTEGER NOT NULL,
    expires_ms     INTEGER,
    revoked_ms     INTEGER
) STRICT, WITHOUT ROWID;

-- The notification outbox. Rows are written in the transaction of the event and delivered afterwards.
CREATE TABLE notifications (
    notification_number INTEGER PRIMARY KEY AUTOINCREMENT,
    notification_id     TEXT NOT NULL,
    rule_name      TEXT NOT NULL,
    topic          TEXT NOT NULL,
    namespace      TEXT NOT NULL,
    schedule_id    TEXT NOT NULL,
    about          TEXT NOT NULL,
    state          TEXT NOT NULL,
    attempts       INTEGER NOT NULL,
    due_ms         INTEGER,
    created_ms     INTEGER NOT NULL,
    finished_ms    INTEGER,
    last_error     TEXT,
    summary_id     TEXT
) STRICT;

-- One notification per event.
CREATE UNIQUE INDEX notifications_once ON notifications (notification_id);

-- Undelivered notifications. Usually none.
CREATE INDEX notifications_due ON notifications (due_ms) WHERE due_ms IS NOT NULL;
CREATE INDEX notifications_of_namespace ON notifications (namespace, notification_number);

-- Number of notifications sent in the minute of the last one.
CREATE TABLE notification_rates (
    rule_name      TEXT NOT NULL,
    namespace      TEXT NOT NULL,
    minute         INTEGER NOT NULL,
    sent           INTEGER NOT NULL,
    PRIMARY KEY (rule_name, namespace)
) STRICT, WITHOUT ROWID;

-- Unique numbers for triggers and backfills.
CREATE TABLE numbers (
    name           TEXT PRIMARY KEY,
    last           INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO numbers (name, last) VALUES ('origin', 0);
