"""Transactions: all or nothing, and a notification of subscribers after the commit."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.conformance.store.conftest import SECONDS, Write
from tests.support.rows import NOW_MS, change, held, run, state
from tompion.errors import StoreError
from tompion.model.schedule_state import ScheduleState
from tompion.store.base import Store, Transaction
from tompion.store.postgres.driver import PostgresStore, PostgresTransaction
from tompion.store.sqlite.driver import SqliteStore
from tompion.testing.clock import ManualClock


class Wanted(Exception):
    """An error raised by a test."""


def test_exception_rolls_back_and_reaches_the_caller(store: Store, write: Write) -> None:
    def work(t: Transaction) -> None:
        t.state_insert(state(1))
        t.run_insert([run(1)])
        t.notify()
        raise Wanted

    with pytest.raises(Wanted):
        store.write(work).result(SECONDS)
    assert write(lambda t: (t.state_get([1]), t.run_list_waiting(1, 9))) == ({}, [])


def test_failing_statement_rolls_back(store: Store, write: Write) -> None:
    def work(t: Transaction) -> None:
        t.state_insert(state(1))
        t.state_update([state(1, in_flight=-1)])

    with pytest.raises(StoreError):
        store.write(work).result(SECONDS)
    assert write(lambda t: t.state_get([1])) == {}


def test_batch_with_one_invalid_row_rolls_back(store: Store, write: Write) -> None:
    write(lambda t: t.execute_many("state_insert_many", [state(1), state(2)]))
    with pytest.raises(StoreError):
        store.write(lambda t: t.state_update([state(1, 5), state(2, waiting=-1)])).result(SECONDS)
    assert write(lambda t: t.state_get([1])) == {1: state(1)}


def test_time_comes_from_the_given_clock(write: Write, clock: ManualClock) -> None:
    assert write(lambda t: t.now_ms()) == NOW_MS
    clock.advance(1.5)
    assert write(lambda t: t.now_ms()) == NOW_MS + 1500
    clock.set(0)
    assert write(lambda t: t.now_ms()) == 0


def test_read_sees_committed_writes(store: Store, write: Write) -> None:
    write(lambda t: t.state_insert(state(1)))
    assert store.read(lambda t: t.state_get([1])).result(SECONDS) == {1: state(1)}


def failing() -> None:
    raise Wanted  # a failing subscriber must not affect the others


def test_all_subscribers_are_notified_of_a_commit(store: Store, write: Write) -> None:
    heard = threading.Event()
    store.subscribe(failing)
    stop = store.subscribe(heard.set)
    if isinstance(store, PostgresStore):
        assert heard.wait(SECONDS)  # it listens now
        heard.clear()
    write(lambda t: t.notify())
    assert heard.wait(SECONDS)
    stop()
    stop = store.subscribe(heard.set)
    stop()


def test_closed_store_leaves_no_thread(tmp_path: Path, migrated_url: str) -> None:
    before = set(threading.enumerate())
    for store in (SqliteStore(tmp_path / "x.db"), PostgresStore(migrated_url)):
        store.subscribe(lambda: None)
        store.write(lambda t: t.now_ms()).result(SECONDS)
        store.read(lambda t: t.now_ms()).result(SECONDS)
        store.close()
    assert set(threading.enumerate()) == before


class Counting:
    """Counts what is sent through a cursor."""

    def __init__(self, cursor: psycopg.Cursor[tuple[Any, ...]]) -> None:
        self._cursor = cursor
        self.sent = 0

    def execute(self, *args: Any, **kwargs: Any) -> Any:
        self.sent += 1
        return self._cursor.execute(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cursor, name)


def statements_for(store: PostgresStore, size: int) -> int:
    """Return the number of statements that one engine pass sends for a batch."""

    def work(t: Transaction) -> int:
        assert isinstance(t, PostgresTransaction)
        counting = Counting(t._cursor)
        t._cursor = counting  # type: ignore[assignment]  # it has what is needed of one
        keys = range(size * 10, size * 11)
        t.execute_many("state_insert_many", [state(key, 5) for key in keys])
        claimed = t.state_claim_due(0, 9, size)
        assert len(claimed) == size
        rows = [run(key, attempt=1, owner=1) for key in keys]
        t.run_insert(rows)
        assert len(t.run_insert(rows)) == size
        t.state_update([ScheduleState._make(columns)._replace(next_fire_ms=None) for columns in claimed])
        t.state_advance_fast([(key, 60, None, None, 1, 5, 1) for key in keys])
        assert len(t.run_mark_started([held(row) for row in rows], 5)) == size
        starts = [(key, 99, 1, 99_000, 1, 5, None) for key in keys]
        assert (len(t.run_insert_fast(starts)), len(t.run_insert_fast(starts))) == (0, size)
        assert len(t.run_release_expired([held(row) for row in rows], 5)) == 0
        assert len(t.run_check_held([held(row) for row in rows])) == size
        assert len(t.run_settle([change(row) for row in rows])) == size
        assert len(t.state_lock(keys)) == size
        return counting.sent

    return store.write(work).result(SECONDS)


def test_batch_takes_a_constant_number_of_statements(postgres: PostgresStore) -> None:
    assert statements_for(postgres, 10) == statements_for(postgres, 1000) == 15
