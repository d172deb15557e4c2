"""A store whose transactions take time, so that several are in progress at once.

It stands for PostgreSQL.  The fire transactions of an engine are numbered in the order in which they are sent, and a
test selects what happens to each.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from enum import StrEnum
from functools import partial
from typing import TypeVar

from tompion.engine.engine import Engine
from tompion.engine.steps.result import StepResult
from tompion.errors import StoreUnavailable
from tompion.store.base import Store, Transaction, Work
from tompion.testing.virtual_loop import VirtualLoop

T = TypeVar("T")
WAY_S = 0.01
"""Transmission time of a call, and of its answer."""
APART_S = 1e-6
"""Minimum distance of two calls, so that a later call arrives later."""
SLOW_S = 0.5


class Fate(StrEnum):
    """A disturbance of a fire transaction."""

    FAILS = "fails"
    ANSWER_LOST = "answer lost"
    ANSWERS_LATE = "answers late"
    ARRIVES_LATE = "arrives late"
    LATE_AND_LOST = "arrives late, answer lost"


class Fire:
    """One fire transaction: the engine's work, and the times at which it was sent and answered."""

    def __init__(self, work: Work[StepResult | None]) -> None:
        self._work = work
        self.sent = self.answered = -1.0
        self.fired: StepResult | None = None

    def __call__(self, transaction: Transaction) -> StepResult | None:
        self.fired = self._work(transaction)
        return self.fired


def with_marked_fires(engine: Engine) -> Engine:
    """Wrap the fire transactions of an engine in `Fire`, so that a store can recognise them."""
    in_transaction = engine.runner.in_transaction

    def marked(step: Work[StepResult]) -> Work[StepResult | None]:
        work = in_transaction(step)
        return Fire(work) if getattr(step, "func", None) == engine.finder.fire_step.on_time else work

    engine.runner.in_transaction = marked  # type: ignore[method-assign]  # the same work, in a wrapper
    return engine


class DelayedStore(Store):
    """Delays the calls of an engine to a store, and their answers.

    ``fates`` are the disturbances by number of the fire transaction, from 1.
    """

    is_out_of_process = True

    def __init__(self, store: Store, loop: VirtualLoop, fates: dict[int, Fate] | None = None) -> None:
        self._store = store
        self._loop = loop
        self._fates = fates or {}
        self._sent = 0
        self.fires: list[Fire] = []

    def write(self, work: Work[T]) -> Future[T]:
        """Send the work with a delay."""
        future: Future[T] = Future()
        fate = None
        if isinstance(work, Fire):
            self.fires.append(work)
            fate = self._fates.get(len(self.fires))
            work.sent = self._loop.time()
        self._sent += 1
        way_s = SLOW_S if fate in (Fate.ARRIVES_LATE, Fate.LATE_AND_LOST) else WAY_S
        self._loop.call_later(way_s + self._sent * APART_S, self._arrive, work, future, fate)
        return future

    def read(self, work: Work[T]) -> Future[T]:
        """Read without a delay."""
        return self._store.read(work)

    def subscribe(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Pass on the notifications of the real store."""
        return self._store.subscribe(wake)

    def close(self) -> None:
        """Do nothing. The test closes the real store."""

    def under_way(self) -> int:
        """Return the maximum number of fire transactions that were in progress at once."""
        return max(sum(other.sent <= fire.sent < other.answered for other in self.fires) for fire in self.fires)

    def _arrive(self, work: Work[T], future: Future[T], fate: Fate | None) -> None:
        answer = self._store.write(_failing(work) if fate is Fate.FAILS else work)
        way_s = SLOW_S if fate is Fate.ANSWERS_LATE else WAY_S
        lost = fate in (Fate.ANSWER_LOST, Fate.LATE_AND_LOST)
        self._loop.call_later(way_s, partial(self._answer, work, future, answer, lost=lost))

    def _answer(self, work: Work[T], future: Future[T], answer: Future[T], *, lost: bool) -> None:
        if isinstance(work, Fire):
            work.answered = self._loop.time()
        error = StoreUnavailable("the connection was lost before the answer came") if lost else answer.exception()
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(answer.result())


def _failing(work: Work[T]) -> Work[T]:
    """Return the same work, whose commit fails."""

    def fail(transaction: Transaction) -> T:
        work(transaction)
        raise StoreUnavailable("the connection was lost before the commit")

    return fail
