"""Fires that overlap on PostgreSQL: two transactions of one engine are open at once, and one of them has bad luck."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from threading import Event
from typing import Any, TypeVar

import pytest

from tests.conformance.engine.kit import SECONDS, UNTIL_DUE_S, Executor, asked, create_due
from tests.support.delayed_store import Fate, Fire, with_marked_fires
from tompion.config.settings import Settings
from tompion.engine.engine import Engine
from tompion.engine.steps.result import StepResult
from tompion.errors import StoreUnavailable
from tompion.executors.base import RunContext
from tompion.operations.runs import read
from tompion.operations.verify.schedule import verify
from tompion.store.base import Store, Transaction, Work
from tompion.store.postgres.driver import PostgresStore
from tompion.testing.clock import ManualClock

pytestmark = pytest.mark.server

T = TypeVar("T")
BATCH = 3
SCHEDULES = 14
FIRST, SECOND = 2, 3
"""The two fires that overlap, counted from the one before them."""


class Overlapping(Store):
    """PostgreSQL, on which the first of two fires ends only when the second has claimed, or the other way round."""

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
        return _lost(sent) if self._fates.get(number) is Fate.ANSWER_LOST else sent

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
                assert self._claimed[FIRST + SECOND - number].wait(SECONDS), "they did not overlap"
            if number == self._waits:
                assert self._ended[FIRST + SECOND - number].wait(SECONDS)
            if self._fates.get(number) is Fate.FAILS:
                raise StoreUnavailable("the connection was lost before the commit")
            return answer

        return held_open


def _lost(sent: Future[T]) -> Future[T]:
    """An answer that never comes, though the transaction has been committed."""
    answer: Future[T] = Future()

    def lose(done: Future[T]) -> None:
        done.result()
        answer.set_exception(StoreUnavailable("the connection was lost before the answer came"))

    sent.add_done_callback(lose)
    return answer


async def told(store: Overlapping, clock: ManualClock) -> list[RunContext]:
    """Let an engine meet everything at once; return what it has launched."""
    executor = Executor(clock, SCHEDULES)
    settings = Settings(fire_batch=BATCH, tick_ms=50)
    engine = with_marked_fires(Engine(store, {"function": executor}, clock=clock, settings=settings))
    await engine.start()
    clock.advance(UNTIL_DUE_S)
    await executor.launched()
    await engine.stop()
    return [each.launch for each in executor.executions]


def claimed(fire: Fire) -> set[str]:
    fired: StepResult | None = fire.fired
    assert fired is not None
    return {rule.schedule_id for _, rule in fired.launches}


@pytest.mark.parametrize("waits", [FIRST, SECOND], ids=["the second ends first", "the first ends first"])
@pytest.mark.parametrize("fate", [Fate.FAILS, Fate.ANSWER_LOST])
@pytest.mark.parametrize("unlucky", [FIRST, SECOND])
def test_what_happens_to_one_of_two_fires_that_overlap_is_its_own_affair(
    postgres: PostgresStore, clock: ManualClock, unlucky: int, fate: Fate, waits: int
) -> None:
    """No tick is lost, none is decided twice, and what the other fire has claimed is launched as if nothing were."""
    names = create_due(postgres, SCHEDULES)
    store = Overlapping(postgres, {unlucky: fate}, waits)
    launched = asyncio.run(told(store, clock))
    first, second = claimed(store.fires[FIRST - 1]), claimed(store.fires[SECOND - 1])
    assert len(first) == len(second) == BATCH
    assert not first & second
    assert sorted(launch.schedule_id for launch in launched) == sorted(names)
    begun_anew = {launch.schedule_id for launch in launched if launch.attempt > 1}
    assert begun_anew == ((first if unlucky == FIRST else second) if fate is Fate.ANSWER_LOST else set())
    for name in names:
        assert [run.state for run in asked(postgres, read.runs, name).items] == ["SUCCESS"]
        assert asked(postgres, verify, name).ok
