"""A store whose transactions are somebody else's work: they take a while, and several are on their way at once.

It stands where PostgreSQL does.  The fire transactions of an engine are numbered in the order in which they are sent,
and a test says what becomes of which.
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
"""How long a call is on its way, and how long its answer is."""
APART_S = 1e-6
"""What is sent later arrives later."""
SLOW_S = 0.5


class Fate(StrEnum):
    """What becomes of a fire transaction."""

    FAILS = "fails"
    ANSWER_LOST = "answer lost"
    ANSWERS_LATE = "answers late"
    ARRIVES_LATE = "arrives late"
    LATE_AND_LOST = "arrives late, answer lost"


class Fire:
    """One fire transaction, as it is sent: the engine's work, and when it was under way."""

    def __init__(self, work: Work[StepResult | None]) -> None:
        self._work = work
        self.sent = self.answered = -1.0
        self.fired: StepResult | None = None

    def __call__(self, transaction: Transaction) -> StepResult | None:
        self.fired = self._work(transaction)
        return self.fired


def with_marked_fires(engine: Engine) -> Engine:
    """Let a store know which of an engine's transactions are fires."""
    leading = engine.runner.in_transaction

    def named(step: Work[StepResult]) -> Work[StepResult | None]:
        led = leading(step)
        return Fire(led) if getattr(step, "func", None) == engine.finder.fire_step.on_time else led

    engine.runner.in_transaction = named  # type: ignore[method-assign]  # the same, with a name
    return engine


class DelayedStore(Store):
    """Puts a way there and back between an engine and a store."""

    is_out_of_process = True

    def __init__(self, store: Store, loop: VirtualLoop, fates: dict[int, Fate] | None = None) -> None:
        """Take what becomes of which fire transaction; the first is number 1."""
        self._store = store
        self._loop = loop
        self._fates = fates or {}
        self._sent = 0
        self.fires: list[Fire] = []

    def write(self, work: Work[T]) -> Future[T]:
        """Send work on its way."""
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
        """Look at once."""
        return self._store.read(work)

    def subscribe(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Pass on notices."""
        return self._store.subscribe(wake)

    def close(self) -> None:
        """Leave the real store to whoever opened it."""

    def under_way(self) -> int:
        """Return the most fire transactions that were ever under way at once."""
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
    """The same work, which cannot be committed."""

    def fail(transaction: Transaction) -> T:
        work(transaction)
        raise StoreUnavailable("the connection was lost before the commit")

    return fail
