-- The first schema.  Instants are integers: `_s` seconds, `_ms` milliseconds since the Unix epoch.
-- What is sorted by name sorts by code point (COLLATE "C"), as in SQLite and whatever the locale of the database.

-- What a schedule is; changed by people, never by ticks.
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

-- Which zone tables schedules were planned with: an upgrade looks here.
CREATE INDEX schedules_zones ON schedules (zones) WHERE zones <> '';

-- All of a namespace in the order of their keys, in which their schedule_state lie: whoever counts them looks here.
CREATE INDEX schedules_state ON schedules (namespace, state, schedule_key);

-- What is paused, and what fires in UTC because its zone is gone: few, and counted for everybody who watches.
CREATE INDEX schedules_paused ON schedules (schedule_key) WHERE state = 'paused';
CREATE INDEX schedules_degraded ON schedules (schedule_key) WHERE right(zones, 5) = ':gone';

-- Every version of every definition; the newest is in force.
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

-- Where each schedule stands: the narrow row that every tick changes and that everybody locks.
-- Settling changes no indexed column: room on the page keeps that update off the indexes.
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

-- What is due, and nothing else: an idle fleet of a million schedules costs one look at this index.  The key stands in
-- it, because a claim asks for that order: of many that are due at one moment, it reads no more than it takes.
CREATE INDEX schedule_state_due ON schedule_state (next_fire_ms, schedule_key) WHERE next_fire_ms IS NOT NULL;

-- The ledger: what became of each tick, trigger and backfill time.
-- Each row changes a few times while it is young; the room on its page is for that.
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
    schedule_key   bigint NOT NULL,
    after_s        bigint NOT NULL,
    until_s        bigint NOT NULL,
    ticks          bigint NOT NULL,
    reason         text NOT NULL,
    version        bigint NOT NULL,
    decided_ms     bigint NOT NULL,
    PRIMARY KEY (schedule_key, until_s)
);

-- What is older than its retention.
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

-- Lists of dates that many schedules exclude; every version is kept, because ledgers refer to it.
CREATE TABLE calendars (
    namespace      text COLLATE "C" NOT NULL,
    name           text COLLATE "C" NOT NULL,
    version        bigint NOT NULL,
    document       text NOT NULL,
    created_ms     bigint NOT NULL,
    PRIMARY KEY (namespace, name, version)
);

-- Which schedule excludes which calendar.
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

-- Workflows and queues that are paused by themselves; usually empty.
CREATE TABLE paused_targets (
    namespace      text COLLATE "C" NOT NULL,
    kind           text NOT NULL CHECK (kind IN ('workflow', 'queue')),
    target         text COLLATE "C" NOT NULL,
    paused_by      text NOT NULL,
    note           text,
    paused_ms      bigint NOT NULL,
    PRIMARY KEY (namespace, kind, target)
);

-- Who changed what, and how it was before.
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

-- The chain of a namespace: each place is taken once.
CREATE UNIQUE INDEX audit_chain ON audit (namespace, position);

-- What is not in the chain yet; usually nothing.
CREATE INDEX audit_unsealed ON audit (audit_number) WHERE position IS NULL;

-- Where the chain of each namespace ends, and up to where its rows were older than their retention and are gone.
CREATE TABLE audit_heads (
    namespace      text COLLATE "C" PRIMARY KEY,
    position       bigint NOT NULL,
    digest         text NOT NULL,
    gone_position  bigint NOT NULL,
    gone_digest    text NOT NULL
);

-- A row is put into the chain once, and goes only after the head has said so; nothing else can happen to it.
CREATE FUNCTION audit_refuse() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
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
CREATE TRIGGER audit_is_kept BEFORE UPDATE OR DELETE ON audit FOR EACH ROW EXECUTE FUNCTION audit_refuse();
CREATE TRIGGER audit_is_not_emptied BEFORE TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse();

-- A chain grows, and what is gone stays gone.
CREATE FUNCTION audit_heads_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
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
CREATE TRIGGER audit_heads_are_kept BEFORE UPDATE OR DELETE ON audit_heads
    FOR EACH ROW EXECUTE FUNCTION audit_heads_refuse();
CREATE TRIGGER audit_heads_are_not_emptied BEFORE TRUNCATE ON audit_heads
    FOR EACH STATEMENT EXECUTE FUNCTION audit_heads_refuse();

-- Answers by request id: the same request is answered the same, once.
CREATE TABLE requests (
    namespace      text COLLATE "C" NOT NULL,
    request_id     text COLLATE "C" NOT NULL,
    operation      text NOT NULL,
    fingerprint    text NOT NULL,
    answer         text NOT NULL,
    created_ms     bigint NOT NULL,
    PRIMARY KEY (namespace, request_id)
);
CREATE INDEX requests_by_age ON requests (created_ms);

-- Who executes: engines, which serve all namespaces, and workers without a store, which serve one.
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

-- What instances of one store share and nobody else may know.
CREATE TABLE secrets (
    name           text PRIMARY KEY,
    value          text NOT NULL
);

-- The names of search attributes that somebody has registered, and what each holds.
CREATE TABLE search_attributes (
    namespace      text COLLATE "C" NOT NULL,
    name           text COLLATE "C" NOT NULL,
    kind           text NOT NULL,
    PRIMARY KEY (namespace, name)
);

-- Who may ask from outside.  Of a key only a hash is kept.
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

-- What somebody outside is to be told: written with what it is about, delivered afterwards.
CREATE TABLE notifications (
    notification_number  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    notification_id      text COLLATE "C" NOT NULL,
    rule_name   text COLLATE "C" NOT NULL,
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

-- What happened is told once.
CREATE UNIQUE INDEX notifications_once ON notifications (notification_id);

-- What is yet to be delivered; usually nothing.
CREATE INDEX notifications_due ON notifications (due_ms) WHERE due_ms IS NOT NULL;
CREATE INDEX notifications_of_namespace ON notifications (namespace, notification_number);

-- How many notifications went out in the minute of the last one.
CREATE TABLE notification_rates (
    rule_name   text COLLATE "C" NOT NULL,
    namespace      text COLLATE "C" NOT NULL,
    minute         bigint NOT NULL,
    sent           bigint NOT NULL,
    PRIMARY KEY (rule_name, namespace)
);

-- Numbers that are handed out once: triggers and backfills.
CREATE SEQUENCE origin_numbers AS bigint;

-- How many migrations this schema has had; one row.
CREATE TABLE tompion_schema (
    version        bigint NOT NULL
);
CREATE UNIQUE INDEX tompion_schema_one_row ON tompion_schema ((true));
INSERT INTO tompion_schema (version) VALUES (0);
