-- What a next release may do to tables that older processes still use: columns with a default, tables, indexes, and
-- values for what it has added.
ALTER TABLE schedules ADD COLUMN next_note text NOT NULL DEFAULT 'new';
ALTER TABLE schedule_versions ADD COLUMN next_note text NOT NULL DEFAULT 'new';
ALTER TABLE schedule_state ADD COLUMN next_note text NOT NULL DEFAULT 'new';
ALTER TABLE schedule_runs ADD COLUMN next_note text NOT NULL DEFAULT 'new';
ALTER TABLE dropped_ranges ADD COLUMN next_note text NOT NULL DEFAULT 'new';
ALTER TABLE backfills ADD COLUMN next_note text NOT NULL DEFAULT 'new';
ALTER TABLE calendars ADD COLUMN next_note text NOT NULL DEFAULT 'new';
ALTER TABLE calendar_uses ADD COLUMN next_note text NOT NULL DEFAULT 'new';
ALTER TABLE workflows ADD COLUMN next_note text NOT NULL DEFAULT 'new';
ALTER TABLE paused_targets ADD COLUMN next_note text NOT NULL DEFAULT 'new';
ALTER TABLE audit ADD COLUMN next_note text NOT NULL DEFAULT 'new';
ALTER TABLE audit_heads ADD COLUMN next_note text NOT NULL DEFAULT 'new';
ALTER TABLE requests ADD COLUMN next_note text NOT NULL DEFAULT 'new';
ALTER TABLE instances ADD COLUMN next_note text NOT NULL DEFAULT 'new';
ALTER TABLE secrets ADD COLUMN next_note text NOT NULL DEFAULT 'new';
ALTER TABLE search_attributes ADD COLUMN next_note text NOT NULL DEFAULT 'new';
ALTER TABLE api_keys ADD COLUMN next_note text NOT NULL DEFAULT 'new';
ALTER TABLE notifications ADD COLUMN next_note text NOT NULL DEFAULT 'new';
ALTER TABLE notification_rates ADD COLUMN next_note text NOT NULL DEFAULT 'new';

CREATE TABLE next_things (
    schedule_key   bigint PRIMARY KEY,
    note           text NOT NULL
);
INSERT INTO next_things (schedule_key, note) SELECT schedule_key, schedule_id FROM schedules;
UPDATE schedule_runs SET next_note = 'old';
CREATE INDEX schedule_runs_next ON schedule_runs (next_note, nominal_s);
