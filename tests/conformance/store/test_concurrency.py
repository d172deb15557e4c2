"""Several instances at once on PostgreSQL: two open transactions, each on its own thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Event
from typing import Any, TypeVar

import pytest

from tests.conformance.store.conftest import SECONDS, each
from tests.support.rows import backfill, change, held, run, schedule, state, version
from tests.support.waiting import wait_for_lock_waiters
from tompion.errors import AlreadyExists
from tompion.model.run import RunId
from tompion.store.base import Transaction
from tompion.store.postgres.driver import PostgresStore

T = TypeVar("T")
MINE, OTHER = 7, 8


class Open:
    """A transaction that has done its work and waits for leave to commit."""

    def __init__(self, store: PostgresStore, work: Callable[[Transaction], object]) -> None:
        self._done, self._leave = Event(), Event()

        self.answer: Any = None

        def held_open(t: Transaction) -> None:
            self.answer = work(t)
            self._done.set()
            assert self._leave.wait(SECONDS)

        self._future = store.write(held_open)
        assert self._done.wait(SECONDS)

    def commit(self) -> None:
        self._leave.set()
        self._future.result(SECONDS)


@contextmanager
def opened(store: PostgresStore, work: Callable[[Transaction], T]) -> Iterator[Open]:
    """A transaction that is open inside the block and committed at its end."""
    transaction = Open(store, work)
    try:
        yield transaction
    finally:
        transaction.commit()


def do(store: PostgresStore, work: Callable[[Transaction], T]) -> T:
    return store.write(work).result(SECONDS)


def test_claim_skips_states_locked_by_another_transaction(postgres: PostgresStore) -> None:
    do(postgres, lambda t: t.execute_many("state_insert_many", [state(key, key) for key in range(1, 6)]))
    with opened(postgres, lambda t: t.state_claim_due(0, 9, 2)) as first:
        assert [one[0] for one in first.answer] == [1, 2]
        assert [one[0] for one in do(postgres, lambda t: t.state_claim_due(0, 9, 2))] == [3, 4]
        assert do(postgres, lambda t: t.state_claim_due(0, 2, 2)) == []


def test_claim_sees_a_state_that_changed_meanwhile(postgres: PostgresStore, migrated_url: str) -> None:
    do(postgres, lambda t: t.state_insert(state(1, 5)))
    with opened(postgres, lambda t: t.state_update([state(1, 99, cursor_s=4)])):
        waiting: Future[Any] = postgres.write(lambda t: t.state_lock([1]))
        wait_for_lock_waiters(migrated_url)
    assert waiting.result(SECONDS) == {1: state(1, 99, cursor_s=4)}
    assert do(postgres, lambda t: t.state_claim_due(0, 9, 2)) == []


def test_run_is_claimed_by_one_instance(postgres: PostgresStore) -> None:
    do(postgres, lambda t: t.version_insert(version(1)))
    do(postgres, lambda t: t.run_insert([run(1, at, due_ms=at) for at in (1, 2, 3)]))
    with opened(postgres, lambda t: t.run_claim(MINE, 9, ["default"], 2)) as first:
        assert sorted(row.nominal_s for row in first.answer) == [1, 2]
        assert [row.nominal_s for row in do(postgres, lambda t: t.run_claim(OTHER, 9, ["default"], 9))] == [3]
    assert do(postgres, lambda t: t.run_claim(OTHER, 9, ["default"], 9)) == []


def test_run_being_settled_is_neither_claimed_nor_readopted(postgres: PostgresStore) -> None:
    row = run(1, 1, due_ms=1, attempt=1, owner=MINE)
    do(postgres, lambda t: t.version_insert(version(1)))
    do(postgres, lambda t: t.run_insert([row]))
    with opened(postgres, lambda t: t.run_settle([change(row)])):
        assert do(postgres, lambda t: t.run_claim(OTHER, 9, ["default"], 9)) == []
    assert do(postgres, lambda t: t.run_readopt(MINE, [held(row)])) == []


def test_lease_held_by_a_claiming_instance_is_not_expired(postgres: PostgresStore) -> None:
    """Otherwise an instance without a lease would hold the claimed runs. The lock does not block."""
    number = do(postgres, lambda t: t.instance_insert("a", "", 1, 10))
    with opened(postgres, lambda t: t.lease_hold(number)) as holding:
        assert holding.answer
        assert do(postgres, lambda t: t.lease_expire(50, 0)) == set()
        assert do(postgres, lambda t: t.lease_renew(number, 5, 0, 20))  # a heartbeat does not wait either
    assert do(postgres, lambda t: t.lease_expire(50, 0)) == {number}
    with opened(postgres, lambda t: (t.lease_expire(50, 0), t.lease_renew(number, 5, 0, 99))):
        taking = postgres.write(lambda t: t.lease_hold(number))
    assert taking.result(SECONDS)


def test_runs_in_flight_are_read_as_of_one_moment(postgres: PostgresStore) -> None:
    """A run that begins between two looks would push an older one out of sight."""
    do(postgres, lambda t: t.state_insert(state(1, in_flight=1)))
    do(postgres, lambda t: t.run_insert([run(1, 1, attempt=1, owner=MINE, due_ms=None)]))

    def look(t: Transaction) -> list[int]:
        fire = postgres.write(begin)
        fire.result(SECONDS)
        return [row.nominal_s for row in t.run_list_all_in_flight()]

    def begin(t: Transaction) -> None:
        t.run_insert([run(1, 2, attempt=1, owner=OTHER, due_ms=None)])
        t.state_update([state(1, in_flight=2)])

    assert sorted(do(postgres, look)) == [1, 2]
    assert len(postgres.read(lambda t: t.run_list_all_in_flight()).result(SECONDS)) == 2


def test_write_with_a_stale_fence_changes_nothing_after_waiting(postgres: PostgresStore, migrated_url: str) -> None:
    row = run(1, 1, due_ms=1, attempt=1, owner=MINE)
    do(postgres, lambda t: t.version_insert(version(1)))
    do(postgres, lambda t: t.run_insert([row]))
    with opened(postgres, lambda t: t.run_claim(OTHER, 9, ["default"], 9)):
        settling = postgres.write(lambda t: t.run_settle([change(row)]))
        handing_back = postgres.write(lambda t: t.run_hand_back([held(row)], 500))
        wait_for_lock_waiters(migrated_url, 2)
    assert settling.result(SECONDS) == set()
    assert handing_back.result(SECONDS) == set()
    assert do(postgres, lambda t: t.run_get(row.id)) == row._replace(attempt=2, owner=OTHER, due_ms=None, pickups=1)


def test_run_inserted_by_another_transaction_is_reported_as_existing(
    postgres: PostgresStore, migrated_url: str
) -> None:
    with opened(postgres, lambda t: t.run_insert([run(1, 60), run(1, 120)])):
        second = postgres.write(lambda t: t.run_insert([run(1, at) for at in (30, 60, 90, 120, 150)]))
        wait_for_lock_waiters(migrated_url)
    assert second.result(SECONDS) == {RunId(1, 60), RunId(1, 120)}


def test_due_backfills_are_listed_without_a_lock(postgres: PostgresStore) -> None:
    """Control operations lock the state and then the backfill. The other order could deadlock with them."""
    do(postgres, lambda t: each(t.backfill_insert, backfill(1, 1, next_ms=1), backfill(2, 2, next_ms=1)))
    with opened(postgres, lambda t: t.backfill_update(backfill(1, 1, next_ms=1))):
        assert [row.backfill_id for row in do(postgres, lambda t: t.backfill_list_due(5, 9))] == [1, 2]


def test_second_schedule_with_the_same_id_fails(postgres: PostgresStore, migrated_url: str) -> None:
    def create(t: Transaction) -> int:
        if t.schedule_get("default", "a") is not None:
            raise AlreadyExists("a")
        return t.schedule_insert(schedule("a"))

    with opened(postgres, create):
        second = postgres.write(create)
        wait_for_lock_waiters(migrated_url)
    with pytest.raises(AlreadyExists):
        second.result(SECONDS)


def test_deadlock_is_retried(postgres: PostgresStore) -> None:
    do(postgres, lambda t: t.execute_many("state_insert_many", [state(1), state(2)]))
    both = {1: Event(), 2: Event()}

    def crosswise(mine: int, other: int) -> Callable[[Transaction], None]:
        def work(t: Transaction) -> None:
            first = t.state_lock([mine])[mine]
            both[mine].set()
            assert both[other].wait(SECONDS)
            second = t.state_lock([other])[other]
            t.state_update([one._replace(starts=one.starts + 1) for one in (first, second)])

        return work

    for one in [postgres.write(crosswise(1, 2)), postgres.write(crosswise(2, 1))]:
        one.result(SECONDS)
    assert [one.starts for one in do(postgres, lambda t: t.state_get([1, 2])).values()] == [2, 2]


def test_read_transaction_has_one_snapshot(postgres: PostgresStore) -> None:
    looked, changed = Event(), Event()

    def twice(t: Transaction) -> list[object]:
        before = t.state_get([1])
        looked.set()
        assert changed.wait(SECONDS)
        return [before, t.state_get([1])]

    reading = postgres.read(twice)
    assert looked.wait(SECONDS)
    do(postgres, lambda t: t.state_insert(state(1)))
    changed.set()
    assert reading.result(SECONDS) == [{}, {}]
