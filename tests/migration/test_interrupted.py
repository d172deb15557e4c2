"""A migration that does not come to its end: the store is as it was, and the next try succeeds."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from tests.migration.mixed_releases import migrated, wait_for
from tests.migration.releases import HERE, OUTPUT_FILE, SECONDS, Release
from tests.migration.stores import Place, PostgresPlace, Snapshot, as_before, stored
from tests.support.servers.postgres import CRASH_SAFE, PostgresServer
from tests.support.waiting import wait_for_lock_waiters
from tompion.bootstrap.store import open_migrator

INTERRUPTING = (str(HERE / "halted_migration.py"),)
LOCK = 20_261_116
"""The lock that the program waits for in its script."""
_MIGRATORS = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'tompion'"


@contextmanager
def holding(url: str) -> Iterator[None]:
    """Hold the lock that the script waits for."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT pg_advisory_lock(%s::bigint)", [LOCK])
        yield


def last_but_one(place: Place) -> tuple[Snapshot, int]:
    """Bring a store to the present schema, from which one migration leads to the next. Return what there is."""
    with open_migrator(place.url) as migrator:
        migrator.up()
    return place.snapshot(), place.version()


def assert_unharmed(release: Release, place: Place, before: Snapshot, was: int) -> None:
    """Everything is as before the migration began, and the next one comes to its end."""
    assert (place.version(), place.snapshot()) == (was, before)
    assert migrated(release, place) == f"applied {release.schema:04}_next\n"
    assert as_before(stored(place.snapshot()), stored(before)) == stored(before)


@pytest.mark.slow
def test_killed_migrator_leaves_sqlite_unchanged(next_release: Release, full_file: Place) -> None:
    before, was = last_but_one(full_file)
    with next_release.started(full_file.url, cwd=full_file.home, program=INTERRUPTING) as process:
        wait_for((full_file.home / "inside").exists, "the last statement begins")
        assert (full_file.home / "tompion.db-wal").stat().st_size, "what it has changed is in the file, uncommitted"
        process.kill()
    assert_unharmed(next_release, full_file, before, was)
    assert full_file.one("PRAGMA integrity_check") == "ok"


@pytest.mark.slow
@pytest.mark.server
def test_killed_migrator_leaves_postgresql_unchanged(next_release: Release, full_database: Place) -> None:
    """The server detects the disconnect in the middle of a statement and releases the tables."""
    place = full_database
    before, was = last_but_one(place)
    with holding(place.url), next_release.started(place.url, cwd=place.home, program=INTERRUPTING) as process:
        wait_for_lock_waiters(place.url)
        process.kill()
        wait_for(lambda: place.one(_MIGRATORS) == 0, "the server works for a process that is gone")
        assert_unharmed(next_release, place, before, was)


@pytest.mark.slow
@pytest.mark.server
def test_the_server_ends_in_the_middle_of_a_migration(old: Release, next_release: Release, tmp_path: Path) -> None:
    shutil.copy(HERE / "worker_tasks" / "tasks.py", tmp_path)
    with PostgresServer(CRASH_SAFE) as server:
        place = PostgresPlace(server.create_database("interrupted"), tmp_path)
        old.program("create_schedules.py", place.url, cwd=tmp_path)
        before, was = last_but_one(place)
        with (
            psycopg.connect(place.url, autocommit=True) as holder,
            next_release.started(place.url, cwd=tmp_path, program=INTERRUPTING) as process,
        ):
            holder.execute("SELECT pg_advisory_lock(%s::bigint)", [LOCK])
            wait_for_lock_waiters(place.url)
            server.stop("immediate")
            assert process.wait(SECONDS) == 1
        assert "StoreUnavailable" in (tmp_path / OUTPUT_FILE).read_text()
        server.start()
        assert_unharmed(next_release, place, before, was)
