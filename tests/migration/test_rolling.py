"""A rolling upgrade: the schema changes under workers that run, newer ones join, and the old ones leave one by one."""

from __future__ import annotations

import pytest

from tests.migration.mixed_releases import (
    Fleet,
    assert_whole,
    left,
    lines_of,
    migrated,
    now_s,
    reckoning,
    wait_for,
    walled,
)
from tests.migration.releases import OUTPUT_FILE, Release
from tests.migration.stores import Place

pytestmark = pytest.mark.slow


def test_no_tick_is_lost_or_doubled_while_releases_change(old: Release, next_release: Release, place: Place) -> None:
    """A run in flight and a backlog go through the migration, one old worker is killed, two are stopped."""
    old.program("create_schedules.py", place.url, cwd=place.home)
    if place.dialect == "postgres":
        walled(old, place)
    with Fleet(place) as fleet:
        veterans = [fleet.start(old) for _ in range(3)]
        fleet.wait_for_ticks(veterans)
        wait_for(lambda: {"lost", "behind"} <= called(place), "two runs are in flight")
        wait_for(lambda: place.one("SELECT max(waiting) FROM schedule_state") >= 2, "others wait")
        (victim,) = (worker for worker in veterans if worker.pid == holder(place, "lost"))
        first_behind = next(line for line in lines_of(place) if line.schedule_id == "behind")

        assert migrated(next_release, place).startswith("applied ")
        if place.dialect == "postgres":
            walled(next_release, place)
        recruits = [fleet.start(next_release) for _ in range(2)]
        fleet.wait_for_ticks(veterans + recruits, now_s())

        fleet.open("behind")
        wait_for(lambda: place.one("SELECT max(waiting) FROM schedule_state") == 0, "the backlog is done")
        victim.kill()
        wait_for(lambda: holder(place, "lost") not in (victim.pid, 0), "another has taken the run over")
        fleet.open("lost")
        second, third = (worker for worker in veterans if worker is not victim)
        assert left(second) == 0
        assert_refused(old, place)
        assert left(third) == 0
        fleet.wait_for_ticks(recruits, now_s())

        next_release.program("pause_all.py", place.url, cwd=place.home)
        wait_for(fleet.is_at_rest, "every run ends")
        assert [left(worker) for worker in recruits] == [0, 0]
    assert list(reckoning(place, {victim.pid})) == []
    assert [line.attempt for line in lines_of(place) if line.run_id == first_behind.run_id] == [1]
    assert "Traceback" not in (place.home / OUTPUT_FILE).read_text()
    assert_whole(next_release, place)


def called(place: Place) -> set[str]:
    return {line.schedule_id for line in lines_of(place)}


def holder(place: Place, schedule_id: str) -> int:
    """The process that was last given a run of a schedule."""
    return next((line.pid for line in reversed(lines_of(place)) if line.schedule_id == schedule_id), 0)


def assert_refused(old: Release, place: Place) -> None:
    """A worker of the old release does not even begin: no instance is added."""
    instances = "SELECT instance_id, name FROM instances ORDER BY instance_id"
    before = place.rows(instances)
    ended = old.run("worker", "--store", place.worker_url, cwd=place.home)
    assert (ended.code, ended.output) == (2, "")
    assert "Use a newer release. Nothing was written" in ended.complaint
    assert place.rows(instances) == before
