"""A migration waits for locked tables without blocking others for long."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager

import psycopg
import pytest

from tests.migration.mixed_releases import Fleet, assert_whole, left, lines_of, wait_for
from tests.migration.releases import SECONDS, Release
from tests.migration.stores import Place
from tests.support.operations import BEGIN, Bench
from tests.support.waiting import wait_for_lock_waiters
from tompion.errors import StoreUnavailable
from tompion.store.postgres import driver
from tompion.store.postgres.driver import PostgresMigrator, PostgresStore
from tompion.testing.clock import ManualClock

pytestmark = pytest.mark.server
SCRIPT = "ALTER TABLE schedules ADD COLUMN next_note text; ALTER TABLE schedule_state ADD COLUMN next_note text;"
_WAITING = "SELECT count(*) FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'"


@contextmanager
def reading(url: str) -> Iterator[None]:
    """Hold tables as a backup does, which only reads."""
    with psycopg.connect(url) as connection:
        connection.execute("SELECT count(*) FROM schedule_state, schedule_runs")
        yield


@pytest.mark.slow
@pytest.mark.parametrize("place", ["postgres"], indirect=True)
def test_ticks_fire_while_a_migration_waits_for_a_backup(old: Release, next_release: Release, place: Place) -> None:
    """It used to wait without limit, and later requests queued behind it: no tick until the end of the backup."""
    old.program("create_schedules.py", place.url, cwd=place.home)
    was = place.version()
    with Fleet(place) as fleet, ExitStack() as backup:
        fleet.open("behind")
        fleet.open("lost")
        worker = fleet.start(old)
        fleet.wait_for_ticks([worker])
        backup.enter_context(reading(place.url))
        with next_release.started("migrate", "up", "--store", place.url, cwd=place.home) as migrator:
            for _ in range(2):  # it is not the first try only that lets others go on
                wait_for(lambda: place.one(_WAITING) > 0, "the migration waits for the backup")
                fleet.wait_for_ticks([worker], max(line.nominal_s for line in lines_of(place)) + 1)
            assert (migrator.poll(), place.version()) == (None, was)
            backup.close()
            assert migrator.wait(SECONDS) == 0
        assert place.version() == next_release.schema
        fleet.wait_for_ticks([worker], max(line.nominal_s for line in lines_of(place)) + 1)
        assert left(worker) == 0
    assert_whole(next_release, place)


def test_a_tick_waits_for_one_try_of_a_migration_at_most(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each try waits for ``PATIENCE``. Other transactions get their turn before the next one."""
    migrator = PostgresMigrator(postgres_url)
    migrator.up()
    tries: list[int] = []
    tried = PostgresMigrator._apply

    def counted(self: PostgresMigrator, number: int, script: str) -> bool:
        tries.append(number)
        return tried(self, number, script)

    monkeypatch.setattr(PostgresMigrator, "_apply", counted)
    clock = ManualClock(BEGIN)
    with closing(PostgresStore(postgres_url, clock=clock)) as store, ThreadPoolExecutor(1) as beside:
        bench = Bench(store, clock)
        bench.create()
        worker = bench.worker()
        with reading(postgres_url):
            migrating = beside.submit(migrator.apply, migrator.version() + 1, SCRIPT)
            for moment in ("08:01", "08:02", "08:03"):
                bench.go(moment)
                wait_for_lock_waiters(postgres_url)
                before = len(tries)
                assert worker.on_time().runs == 1
                assert len(tries) <= before + 1
                worker.settle()
            assert not migrating.done()
        assert migrating.result(SECONDS)
        assert len(tries) > 3
        assert bench.outcomes() == ["08:01 SUCCESS", "08:02 SUCCESS", "08:03 SUCCESS"]


def test_a_migration_gives_up_in_the_end(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "MAX_MIGRATION_ATTEMPTS", 3)
    monkeypatch.setattr(driver, "MIGRATION_PAUSE_S", 0)
    monkeypatch.setattr(driver, "LOCK_TIMEOUT", "SET LOCAL lock_timeout = '10ms';")
    migrator = PostgresMigrator(postgres_url)
    migrator.up()
    was = migrator.version()
    with reading(postgres_url), pytest.raises(StoreUnavailable, match=r"Nothing was changed\. Run the migration again"):
        migrator.apply(was + 1, SCRIPT)
    assert migrator.version() == was
    assert migrator.apply(was + 1, SCRIPT)
    assert migrator.version() == was + 1


def test_a_script_that_is_run_by_hand_does_not_wait_for_long_either(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(PostgresMigrator(postgres_url).sql().encode())
    migrator = PostgresMigrator(postgres_url)
    migrator.migrations = (
        *migrator.migrations,
        (len(migrator.migrations) + 1, "next", "DROP TABLE notification_rates;"),
    )
    with psycopg.connect(postgres_url) as holder, psycopg.connect(postgres_url, autocommit=True) as connection:
        holder.execute("SELECT FROM notification_rates")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            connection.execute(migrator.sql().encode())
