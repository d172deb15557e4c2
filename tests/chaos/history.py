"""Every change of the ledger in order, recorded by the database itself.

The ledger has the state of a run, not its history.  A trigger adds a row for each change, in the same
transaction, so that a crash keeps or loses both.  The numbers of the rows of one schedule are in the order of its
transactions, because each of them holds the lock of the schedule state.  Timestamps are taken before the lock and have
no such order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import psycopg

from tompion.model.rows import VersionRow
from tompion.model.run import RunId, RunRow
from tompion.model.schedule_state import DroppedRange

_SCHEMA = """
CREATE TABLE chaos_history (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    schedule_key bigint NOT NULL, nominal_s bigint NOT NULL, origin bigint NOT NULL,
    was_state text, state text, was_attempt bigint, attempt bigint, owner bigint
);
CREATE FUNCTION chaos_remember() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        INSERT INTO chaos_history (schedule_key, nominal_s, origin, was_state, was_attempt)
        VALUES (OLD.schedule_key, OLD.nominal_s, OLD.origin, OLD.state, OLD.attempt);
    ELSIF TG_OP = 'INSERT' THEN
        INSERT INTO chaos_history (schedule_key, nominal_s, origin, state, attempt, owner)
        VALUES (NEW.schedule_key, NEW.nominal_s, NEW.origin, NEW.state, NEW.attempt, NEW.owner);
    ELSIF (OLD.state, OLD.attempt, OLD.owner) IS DISTINCT FROM (NEW.state, NEW.attempt, NEW.owner) THEN
        INSERT INTO chaos_history
            (schedule_key, nominal_s, origin, was_state, state, was_attempt, attempt, owner)
        VALUES
            (NEW.schedule_key, NEW.nominal_s, NEW.origin, OLD.state, NEW.state, OLD.attempt, NEW.attempt, NEW.owner);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER chaos_runs AFTER INSERT OR UPDATE OR DELETE ON schedule_runs
    FOR EACH ROW EXECUTE FUNCTION chaos_remember();

CREATE TABLE chaos_cursors (schedule_key bigint NOT NULL, was_s bigint NOT NULL, cursor_s bigint NOT NULL);
CREATE FUNCTION chaos_went_back() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO chaos_cursors VALUES (NEW.schedule_key, OLD.cursor_s, NEW.cursor_s);
    RETURN NULL;
END $$;
CREATE TRIGGER chaos_states AFTER UPDATE ON schedule_state
    FOR EACH ROW WHEN (NEW.cursor_s < OLD.cursor_s) EXECUTE FUNCTION chaos_went_back();
"""


class Change(NamedTuple):
    """One change of one run. Without a state before it was added, without one after it was removed."""

    number: int
    schedule_key: int
    nominal_s: int
    origin: int
    was_state: str | None
    state: str | None
    was_attempt: int | None
    attempt: int | None
    owner: int | None

    @property
    def id(self) -> RunId:
        """Return which run it is."""
        return RunId(self.schedule_key, self.nominal_s, self.origin)


class Ledger(NamedTuple):
    """Everything that the database holds at the end."""

    keys: dict[str, int]
    created_ms: dict[str, int]
    versions: dict[int, list[VersionRow]]
    runs: dict[RunId, RunRow]
    dropped_ranges: dict[int, list[DroppedRange]]
    changes: list[Change]
    owners: dict[str, set[int]]
    backward: list[tuple[Any, ...]]
    audited: list[tuple[str, str]]
    states: dict[int, tuple[Any, ...]]


def install(url: str) -> None:
    """Begin to remember, before there are any runs."""
    with psycopg.connect(url) as connection:
        connection.execute(_SCHEMA.encode())


def read_ledger(url: str) -> Ledger:
    """Return what is in the database."""
    with psycopg.connect(url) as connection:

        def rows(query: str) -> list[tuple[Any, ...]]:
            return connection.execute(query.encode()).fetchall()

        versions: dict[int, list[VersionRow]] = {}
        columns = ", ".join(VersionRow._fields)
        for version in map(VersionRow._make, rows(f"SELECT {columns} FROM schedule_versions ORDER BY 1, 2")):
            versions.setdefault(version.schedule_key, []).append(version)
        dropped_ranges: dict[int, list[DroppedRange]] = {}
        for dropped_range in map(
            DroppedRange._make, rows(f"SELECT {', '.join(DroppedRange._fields)} FROM dropped_ranges ORDER BY 1, 3")
        ):
            dropped_ranges.setdefault(dropped_range.schedule_key, []).append(dropped_range)
        owners: dict[str, set[int]] = {}
        for name, number in rows("SELECT name, instance_id FROM instances"):
            owners.setdefault(name, set()).add(number)
        runs = [RunRow._make(row) for row in rows(f"SELECT {', '.join(RunRow._fields)} FROM schedule_runs")]
        return Ledger(
            dict(rows("SELECT schedule_id, schedule_key FROM schedules")),
            dict(rows("SELECT schedule_id, created_ms FROM schedules")),
            versions,
            {run.id: run for run in runs},
            dropped_ranges,
            [Change._make(row) for row in rows(f"SELECT {', '.join(Change._fields)} FROM chaos_history ORDER BY 1")],
            owners,
            rows("SELECT * FROM chaos_cursors"),
            rows("SELECT request_id, operation FROM audit WHERE request_id IS NOT NULL"),
            {row[0]: row for row in rows("SELECT schedule_key, cursor_s, in_flight, waiting FROM schedule_state")},
        )


def unsettled(url: str) -> tuple[int, int]:
    """Return how many schedules still have ticks to come, and how many runs are not over."""
    query = b"""
        SELECT (SELECT count(*) FROM schedule_state WHERE next_fire_ms IS NOT NULL),
            (SELECT count(*) FROM schedule_runs WHERE finished_ms IS NULL)
    """
    with psycopg.connect(url) as connection:
        ((ticking, unfinished),) = connection.execute(query).fetchall()
    return ticking, unfinished
