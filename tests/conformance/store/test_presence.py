"""Processes that have ended, and processes that are only slow, as another process sees them."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from tests.conformance.store.conftest import SECONDS
from tests.support.databases import owner_url
from tests.support.rows import NOW_MS
from tests.support.waiting import wait_until
from tompion.store.base import Store
from tompion.store.postgres.driver import PostgresStore
from tompion.store.postgres.presence import is_gone_process
from tompion.store.sqlite.driver import SqliteStore
from tompion.testing.clock import ManualClock

Open = Callable[[], Store]
LATER_MS = NOW_MS + 120_000


@pytest.fixture(params=["file", "postgres"])
def open_store(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> Iterator[Open]:
    """A function that opens the same database as another process does."""
    opened: list[Store] = []

    def open_store() -> Store:
        if request.param == "postgres":
            opened.append(PostgresStore(request.getfixturevalue("migrated_url"), clock=clock))
        else:
            opened.append(SqliteStore(tmp_path / "tompion.db", clock=clock))
        return opened[-1]

    yield open_store
    for store in opened:
        store.close()


def register(store: Store, name: str = "other:1") -> int:
    number: int = store.write(lambda t: t.instance_insert(name, "", NOW_MS, LATER_MS)).result(SECONDS)
    return number


def absent(store: Store) -> dict[int, int]:
    return store.find_absent(0).result(SECONDS)


def hold(store: Store, number: int) -> None:
    store.hold_presence(number)
    assert wait_until(lambda: store.is_present(number))


def test_instance_is_absent_when_its_process_has_ended(open_store: Open) -> None:
    ours, theirs = open_store(), open_store()
    number, slow = register(theirs), register(ours)
    hold(theirs, number)
    hold(ours, slow)
    assert absent(ours) == absent(theirs) == {}
    theirs.close()
    assert wait_until(lambda: absent(ours) == {number: NOW_MS})


def test_instance_that_never_held_a_lock_is_not_absent(open_store: Open) -> None:
    """It is of a release, or on a system, without locks."""
    store = open_store()
    register(store)
    assert absent(store) == {}


def test_instance_that_dropped_its_lock_is_absent_only_while_its_lease_is_valid(open_store: Open) -> None:
    ours, theirs = open_store(), open_store()
    number = register(theirs)
    hold(theirs, number)
    assert absent(ours) == {}
    theirs.drop_presence(number)
    assert wait_until(lambda: absent(ours) == {number: NOW_MS})
    assert ours.find_absent(number).result(SECONDS) == {}, "an instance does not look for itself"
    assert ours.write(lambda t: t.lease_cut(number, NOW_MS - 1, NOW_MS)).result(SECONDS) is None, "it has renewed it"
    assert ours.write(lambda t: t.lease_cut(number, NOW_MS, NOW_MS)).result(SECONDS) == "other:1"
    assert ours.write(lambda t: t.lease_expire(NOW_MS, 0)).result(SECONDS) == {number}
    assert absent(ours) == {}


def test_instance_whose_session_was_ended_locks_again(migrated_url: str, clock: ManualClock) -> None:
    ours, theirs = (PostgresStore(migrated_url, clock=clock) for _ in range(2))
    try:
        number = register(theirs)
        hold(theirs, number)
        assert absent(ours) == {}
        with psycopg.connect(owner_url(migrated_url)) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_locks "
                "WHERE locktype = 'advisory' AND classid = 'instances_lease'::regclass AND objid = %s",
                [number],
            )
        assert wait_until(lambda: not theirs.is_present(number))
        assert wait_until(lambda: theirs.is_present(number))
        assert absent(ours) == {}
    finally:
        ours.close()
        theirs.close()


def test_free_lock_counts_on_the_host_of_a_process_that_has_ended(migrated_url: str, clock: ManualClock) -> None:
    """A worker that is started again has never seen the lock of its predecessor."""
    store = PostgresStore(migrated_url, clock=clock)
    try:
        with subprocess.Popen([sys.executable, "-c", ""]) as process:
            pass
        number = register(store, f"{socket.gethostname()}:{process.pid}")
        register(store, f"elsewhere:{process.pid}")
        assert absent(store) == {number: NOW_MS}
    finally:
        store.close()


def test_gone_process_is_found_by_host_and_number() -> None:
    host = socket.gethostname()
    assert not is_gone_process(f"{host}:{os.getppid()}")
    assert is_gone_process(f"{host}:{os.getpid()}"), "a container starts again with the same number"
    assert not is_gone_process("rehearsal")
    assert not is_gone_process(f"{host}:worker")
    assert not is_gone_process(f"{host}:{1 << 80}")
