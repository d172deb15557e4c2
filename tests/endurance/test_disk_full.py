"""A full disk: no unrecorded run is launched, the engine logs it, and continues when there is space."""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from tests.endurance.process import Worker, create, gaps, problems, until, worker
from tests.support.servers.postgres import PostgresServer
from tests.support.servers.small_disk import SmallDisk, can_mount
from tompion.bootstrap.store import open_migrator
from tompion.sdk.app import Tompion

pytestmark = [pytest.mark.slow, pytest.mark.server]
LIMITS = "misfire_grace_ms = 60000\n"
REFUSE = """
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full';
END $$;
CREATE TRIGGER full_disk AFTER INSERT ON schedule_runs FOR EACH STATEMENT EXECUTE FUNCTION refuse();
"""


@contextmanager
def fill_sqlite(process: Worker, path: Path) -> Iterator[None]:
    """Limit the file size of a process to the current size of the database log."""
    log = path.with_name(f"{path.name}-wal").stat().st_size
    resource.prlimit(process.process.pid, resource.RLIMIT_FSIZE, (log, resource.RLIM_INFINITY))
    yield
    room = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    resource.prlimit(process.process.pid, resource.RLIMIT_FSIZE, room)


@contextmanager
def fill_server(server: PostgresServer, url: str) -> Iterator[None]:
    """Fill the disk of a server, or simulate that without the right to mount a small one."""
    if isinstance(server, SmallDisk):
        server.fill()
        yield
        server.free()
        return
    with psycopg.connect(url) as connection:
        connection.execute(REFUSE.encode())
    yield
    with psycopg.connect(url) as connection:
        connection.execute("DROP FUNCTION refuse CASCADE")


def wait_until_rejected(process: Worker, tompion: Tompion, names: list[str]) -> None:
    """Wait until an engine has logged that it cannot fire. All earlier launches are in the ledger."""
    before = process.output().count("cannot fire schedules")
    until(lambda: process.output().count("cannot fire schedules") >= before + 3, process.output)
    keys = {run.idempotency_key for name in names for run in tompion.runs.list(name, limit=1_000).items}
    assert set(process.notes()) <= keys
    assert process.process.poll() is None


def assert_recovered(process: Worker, tompion: Tompion, names: list[str]) -> None:
    """Wait until it fires again, and check that every tick was decided exactly once."""
    process.launches(3 * len(names))
    process.stop()
    assert problems(tompion, names, process.notes()) == []
    assert {name: gaps(tompion, name) for name in names} == {name: [] for name in names}


@pytest.mark.skipif(sys.platform != "linux", reason="another process is given limits as Linux does it")
def test_full_disk_loses_no_tick_on_sqlite(tmp_path: Path) -> None:
    path = tmp_path / "jobs.db"
    with Tompion(f"sqlite:///{path}", engine=False) as tompion:
        names = create(tompion, 3)
        with worker(tmp_path / "worker", f"sqlite:///{path}", limits=LIMITS) as process:
            process.launches(3)
            with fill_sqlite(process, path):
                wait_until_rejected(process, tompion, names)
            assert_recovered(process, tompion, names)


def test_full_disk_loses_no_tick_on_postgresql(tmp_path: Path) -> None:
    with SmallDisk(40) if can_mount() else PostgresServer() as server:
        url = server.create_small("jobs") if isinstance(server, SmallDisk) else server.create_database("jobs")
        with open_migrator(url) as migrator:
            migrator.up()
        with Tompion(url, engine=False) as tompion:
            names = create(tompion, 20)
            with worker(tmp_path / "worker", url, limits=LIMITS) as process:
                process.launches(20)
                with fill_server(server, url):
                    process.wait_for_output("No space left on device")
                    wait_until_rejected(process, tompion, names)
                assert_recovered(process, tompion, names)
