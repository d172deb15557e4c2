"""A store that an old release has left, with everything in it, is migrated by the next one."""

from __future__ import annotations

import pytest

from tests.migration.mixed_releases import Fleet, assert_whole, left, lines_of, migrated, wait_for
from tests.migration.releases import Release
from tests.migration.stores import Place, as_before, stored

pytestmark = pytest.mark.slow


def test_migration_keeps_every_row(next_release: Release, full: Place) -> None:
    """Every old column of every row. What is new has its default. The ledger and the audit are whole."""
    before = stored(full.snapshot())
    assert migrated(next_release, full).endswith(f"applied {next_release.schema:04}_next\n")
    after = stored(full.snapshot())
    assert as_before(after, before) == before
    assert {row["next_note"] for row in after["schedule_runs"]} == {"old"}
    assert {row["next_note"] for row in after["schedules"]} == {"new"}
    assert len(after["next_things"]) == len(before["schedules"])
    assert full.version() == next_release.schema
    assert_whole(next_release, full)


def test_next_release_continues_after_the_old_one_was_killed(next_release: Release, full: Place) -> None:
    """Ended runs are not launched again. Runs in flight are, with a higher attempt. No tick is decided twice."""
    migrated(next_release, full)
    before = full.snapshot()
    ended = {run_id(row): row for row in before["schedule_runs"] if row["finished_ms"] is not None}
    held = {run_id(row) for row in before["schedule_runs"] if row["owner"] is not None and row["finished_ms"] is None}
    newest = max(row["nominal_s"] for row in before["schedule_runs"])
    assert held
    with Fleet(full) as fleet:
        fleet.open("old")
        worker = fleet.start(next_release)
        fleet.wait_for_ticks([worker], newest)
        wait_for(lambda: not unfinished(full) & held, "what was in flight is not brought to its end")
        assert left(worker) == 0
    after = {run_id(row): row for row in full.rows("SELECT * FROM schedule_runs")}
    assert {name: after[name] for name in ended} == ended
    lines = lines_of(full)
    assert not {line.run_id for line in lines if line.pid == worker.pid} & ended.keys()
    assert len({(line.run_id, line.attempt) for line in lines}) == len(lines)
    assert len({line.key for line in lines}) == len({line.run_id for line in lines})
    assert all(dropped_range in full.rows("SELECT * FROM dropped_ranges") for dropped_range in before["dropped_ranges"])
    assert_whole(next_release, full)


def run_id(row: dict[str, object]) -> str:
    return f"{row['schedule_key']}-{row['nominal_s']}-{row['origin']}"


def unfinished(place: Place) -> set[str]:
    query = "SELECT schedule_key, nominal_s, origin FROM schedule_runs WHERE finished_ms IS NULL"
    return {run_id(row) for row in place.rows(query)}
