-- The first schema.  Instants are integers: `_s` seconds, `_ms` milliseconds since the Unix epoch.

-- What a schedule is; changed by people, never by ticks.
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

-- Which zone tables schedules were planned with: an upgrade looks here.
CREATE INDEX schedules_zones ON schedules (zones) WHERE zones <> '';

-- All of a namespace in the order of their keys, in which their schedule_state lie: whoever counts them looks here.
CREATE INDEX schedules_state ON schedules (namespace, state, schedule_key);

-- What is paused, and what fires in UTC because its zone is gone: few, and counted for everybody who watches.
CREATE INDEX schedules_paused ON schedules (schedule_key) WHERE state = 'paused';
CREATE INDEX schedules_degraded ON schedules (schedule_key) WHERE substr(zones, -5) = ':gone';

-- Every version of every definition; the newest is in force.
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

-- Where each schedule stands: the narrow row that every tick changes and that everybody locks.
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

-- What is due, and nothing else: an idle fleet of a million schedules costs one look at this index.
CREATE INDEX schedule_state_due ON schedule_state (next_fire_ms) WHERE next_fire_ms IS NOT NULL;

-- The ledger: what became of each tick, trigger and backfill time.
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

-- One tick, one row.  This is the second guard; the lock of the dial is the first.
CREATE UNIQUE INDEX schedule_runs_once ON schedule_runs (schedule_key, nominal_s, origin);

-- What somebody must look at: the fire time of a planned run, a run in flight that nobody holds.  One that is held is
-- not here: the lease of its owner is enough.
CREATE INDEX schedule_runs_due ON schedule_runs (due_ms) WHERE due_ms IS NOT NULL;

-- What waits, by schedule.  The life of a run that simply starts and ends touches none of the columns of an index.
CREATE INDEX schedule_runs_queued ON schedule_runs (schedule_key, nominal_s) WHERE queued_ms IS NOT NULL;

-- What somebody asked for, by schedule, whatever time it is for.  Ticks are not here.
CREATE INDEX schedule_runs_requested ON schedule_runs (schedule_key, origin, nominal_s) WHERE origin > 0;

-- Ticks that were dropped together.
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

-- What is older than its retention.
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

-- Lists of dates that many schedules exclude; every version is kept, because ledgers refer to it.
CREATE TABLE calendars (
    namespace      TEXT NOT NULL,
    name           TEXT NOT NULL,
    version        INTEGER NOT NULL,
    document       TEXT NOT NULL,
    created_ms     INTEGER NOT NULL,
    PRIMARY KEY (namespace, name, version)
) STRICT, WITHOUT ROWID;

-- Which schedule excludes which calendar.
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

-- Workflows and queues that are paused by themselves; usually empty.
CREATE TABLE paused_targets (
    namespace      TEXT NOT NULL,
    kind           TEXT NOT NULL CHECK (kind IN ('workflow', 'queue')),
    target         TEXT NOT NULL,
    paused_by      TEXT NOT NULL,
    note           TEXT,
    paused_ms      INTEGER NOT NULL,
    PRIMARY KEY (namespace, kind, target)
) STRICT, WITHOUT ROWID;

-- Who changed what, and how it was before.
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

-- The chain of a namespace: each place is taken once.
CREATE UNIQUE INDEX audit_chain ON audit (namespace, position);

-- What is not in the chain yet; usually nothing.
CREATE INDEX audit_unsealed ON audit (audit_number) WHERE position IS NULL;

-- Where the chain of each namespace ends, and up to where its rows were older than their retention and are gone.
CREATE TABLE audit_heads (
    namespace      TEXT PRIMARY KEY,
    position       INTEGER NOT NULL,
    digest         TEXT NOT NULL,
    gone_position  INTEGER NOT NULL,
    gone_digest    TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- A row is put into the chain once, and goes only after the head has said so; nothing else can happen to it.
CREATE TRIGGER audit_is_kept BEFORE UPDATE ON audit
WHEN OLD.position IS NOT NULL OR NEW.position IS NULL OR
    (OLD.audit_number, OLD.at_ms, OLD.namespace, OLD.schedule_id, OLD.actor, OLD.operation, OLD.token, OLD.version,
        OLD.request_id, OLD.before, OLD.after) IS NOT
    (NEW.audit_number, NEW.at_ms, NEW.namespace, NEW.schedule_id, NEW.actor, NEW.operation, NEW.token, NEW.version,
        NEW.request_id, NEW.before, NEW.after)
BEGIN
    SELECT RAISE(ABORT, 'the audit is append-only');
END;
CREATE TRIGGER audit_is_not_emptied BEFORE DELETE ON audit
WHEN NOT coalesce(
    OLD.position <= (SELECT gone_position FROM audit_heads WHERE namespace = OLD.namespace), 0
)
BEGIN
    SELECT RAISE(ABORT, 'the audit is append-only');
END;

-- A chain grows, and what is gone stays gone.
CREATE TRIGGER audit_heads_are_kept BEFORE UPDATE ON audit_heads
WHEN NEW.namespace <> OLD.namespace OR NEW.position < OLD.position OR
    NEW.gone_position NOT BETWEEN OLD.gone_position AND NEW.position
BEGIN
    SELECT RAISE(ABORT, 'the audit is append-only');
END;
CREATE TRIGGER audit_heads_are_not_emptied BEFORE DELETE ON audit_heads
BEGIN
    SELECT RAISE(ABORT, 'the audit is append-only');
END;

-- Answers by request id: the same request is answered the same, once.
CREATE TABLE requests (
    namespace      TEXT NOT NULL,
    request_id     TEXT NOT NULL,
    operation      TEXT NOT NULL,
    fingerprint    TEXT NOT NULL,
    answer         TEXT NOT NULL,
    created_ms     INTEGER NOT NULL,
    PRIMARY KEY (namespace, request_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX requests_by_age ON requests (created_ms);

-- Who executes: engines, which serve all namespaces, and workers without a store, which serve one.
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

-- What instances of one store share and nobody else may know.
CREATE TABLE secrets (
    name           TEXT PRIMARY KEY,
    value          TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The names of search attributes that somebody has registered, and what each holds.
CREATE TABLE search_attributes (
    namespace      TEXT NOT NULL,
    name           TEXT NOT NULL,
    kind           TEXT NOT NULL,
    PRIMARY KEY (namespace, name)
) STRICT, WITHOUT ROWID;

-- Who may ask from outside.  Of a key only a hash is kept.
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

-- What somebody outside is to be told: written with what it is about, delivered afterwards.
CREATE TABLE notifications (
    notification_number  INTEGER PRIMARY KEY AUTOINCREMENT,
    notification_id      TEXT NOT NULL,
    rule_name   TEXT NOT NULL,
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

-- What happened is told once.
CREATE UNIQUE INDEX notifications_once ON notifications (notification_id);

-- What is yet to be delivered; usually nothing.
CREATE INDEX notifications_due ON notifications (due_ms) WHERE due_ms IS NOT NULL;
CREATE INDEX notifications_of_namespace ON notifications (namespace, notification_number);

-- How many notifications went out in the minute of the last one.
CREATE TABLE notification_rates (
    rule_name   TEXT NOT NULL,
    namespace      TEXT NOT NULL,
    minute         INTEGER NOT NULL,
    sent           INTEGER NOT NULL,
    PRIMARY KEY (rule_name, namespace)
) STRICT, WITHOUT ROWID;

-- Numbers that are handed out once: triggers and backfills.
CREATE TABLE numbers (
    name           TEXT PRIMARY KEY,
    last           INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO numbers (name, last) VALUES ('origin', 0);
