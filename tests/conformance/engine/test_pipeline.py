"""Fires that overlap on PostgreSQL: two transactions of one engine are open, and one of them fails."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from threading import Event
from typing import Any, TypeVar

import pytest

from tests.conformance.engine.kit import SECONDS, UNTIL_DUE_S, SignallingExecutor, create_due, read
from tests.support.delayed_store import Fate, Fire, with_marked_fires
from tompion.config.settings import Settings
from tompion.engine.engine import Engine
from tompion.engine.steps.result import StepResult
from tompion.errors import StoreUnavailable
from tompion.executors.base import RunContext
from tompion.operations.runs.read import runs
from tompion.operations.verify.schedule import verify
from tompion.store.base import Store, Transaction, Work
from tompion.store.postgres.driver import PostgresStore
from tompion.testing.clock import ManualClock

pytestmark = pytest.mark.server

T = TypeVar("T")
BATCH = 3
SCHEDULES = 14
FIRST, SECOND = 2, 3
"""The numbers of the two fires that overlap."""


class OverlappingStore(Store):
    """PostgreSQL with two fires whose transactions overlap. Each ends only after the other has claimed its runs."""

    is_out_of_process = True

    def __init__(self, store: PostgresStore, fates: dict[int, Fate], waits: int) -> None:
        self._store = store
        self._fates = fates
        self._waits = waits
        self._claimed = {FIRST: Event(), SECOND: Event()}
        self._ended = {FIRST: Event(), SECOND: Event()}
        self.fires: list[Fire] = []

    def write(self, work: Work[T]) -> Future[T]:
        if not isinstance(work, Fire):
            return self._store.write(work)
        self.fires.append(work)
        number = len(self.fires)
        sent = self._store.write(self._held_open(work, number))
        if number in self._ended:
            sent.add_done_callback(lambda _: self._ended[number].set())
        return _lose_response(sent) if self._fates.get(number) is Fate.ANSWER_LOST else sent

    def read(self, work: Work[T]) -> Future[T]:
        return self._store.read(work)

    def subscribe(self, wake: Callable[[], None]) -> Callable[[], None]:
        return self._store.subscribe(wake)

    def close(self) -> None:
        self._store.close()

    def _held_open(self, work: Work[Any], number: int) -> Work[Any]:
        def held_open(transaction: Transaction) -> Any:
            answer = work(transaction)
            if number in self._claimed:
                self._claimed[number].set()
                assert self._claimed[FIRST + SECOND - number].wait(SECONDS), "the fires did not overlap"
            if number == self._waits:
                assert self._ended[FIRST + SECOND - number].wait(SECONDS)
            if self._fates.get(number) is Fate.FAILS:
                raise StoreUnavailable("the connection was lost before the commit")
            return answer

        return held_open


def _lose_response(sent: Future[T]) -> Future[T]:
    """Return a future that fails although the transaction was committed."""
    answer: Future[T] = Future()

    def lose(done: Future[T]) -> None:
        done.result()
        answer.set_exception(StoreUnavailable("the connection was lost before the response"))

    sent.add_done_callback(lose)
    return answer


async def run_engine(store: OverlappingStore, clock: ManualClock) -> list[RunContext]:
    """Run an engine when all schedules are due, and return its launches."""
    executor = SignallingExecutor(clock, SCHEDULES)
    settings = Settings(fire_batch=BATCH, tick_ms=50)
    engine = with_marked_fires(Engine(store, {"function": executor}, clock=clock, settings=settings))
    await engine.start()
    clock.advance(UNTIL_DUE_S)
    await executor.wait_for_launches()
    await engine.stop()
    return [execution.launch for execution in executor.executions]


def claimed_schedules(fire: Fire) -> set[str]:
    result: StepResult | None = fire.fired
    assert result is not None
    return {schedule.schedule_id for _, schedule in result.launches}


@pytest.mark.parametrize("waits", [FIRST, SECOND], ids=["the second ends first", "the first ends first"])
@pytest.mark.parametrize("fate", [Fate.FAILS, Fate.ANSWER_LOST])
@pytest.mark.parametrize("failing", [FIRST, SECOND])
def test_failure_of_one_of_two_overlapping_fires_does_not_affect_the_other(
    postgres: PostgresStore, clock: ManualClock, failing: int, fate: Fate, waits: int
) -> None:
    """No tick is lost or decided twice, and the runs of the other fire are launched normally."""
    names = create_due(postgres, SCHEDULES)
    store = OverlappingStore(postgres, {failing: fate}, waits)
    launched = asyncio.run(run_engine(store, clock))
    first, second = claimed_schedules(store.fires[FIRST - 1]), claimed_schedules(store.fires[SECOND - 1])
    assert len(first) == len(second) == BATCH
    assert not first & second
    assert sorted(launch.schedule_id for launch in launched) == sorted(names)
    launched_again = {launch.schedule_id for launch in launched if launch.attempt > 1}
    assert launched_again == ((first if failing == FIRST else second) if fate is Fate.ANSWER_LOST else set())
    for name in names:
        assert [run.status for run in read(postgres, runs, name).items] == ["SUCCESS"]
        assert read(postgres, verify, name).ok
