-- The time zone tables with which the next tick of a schedule was planned, and the release of those of an instance.
ALTER TABLE schedule_state ADD COLUMN zone_tables bigint NOT NULL DEFAULT 0;
ALTER TABLE instances ADD COLUMN tzdata text COLLATE "C" NOT NULL DEFAULT '';
