"""A store that fails as real ones do: before the call, after it, in between, late, or for good.

Wrap any store in a :class:`FaultyStore` and hand it a function that says, call by call, what goes wrong.  A failure
*before* leaves nothing behind; with a *lost answer* everything was written and the caller is told that it failed, which
is the fault that finds most mistakes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from enum import StrEnum
from typing import NamedTuple, TypeVar

from tompion.errors import StoreUnavailable
from tompion.store.base import Store, Transaction, Work

T = TypeVar("T")


class Fault(StrEnum):
    """What goes wrong with one call."""

    NONE = "none"
    BEFORE = "before"
    LOST_ANSWER = "lost_answer"
    BUSY = "busy"
    DISK_FULL = "disk_full"
    STALL = "stall"
    CRASH_BEFORE = "crash_before"
    CRASH_AFTER = "crash_after"


class Mishap(NamedTuple):
    """A fault, and how long a stalled call takes."""

    fault: Fault
    seconds: float = 0.0


class FaultyStore(Store):
    """One instance's view of a store; ``crash`` is called when the instance is to die."""

    def __init__(self, store: Store, mishap: Callable[[str], Mishap], crash: Callable[[], None]) -> None:
        """Take the real store, and what decides about each call."""
        self._store = store
        self._mishap = mishap
        self._crash = crash
        self.dead = False

    def write(self, work: Work[T]) -> Future[T]:
        """Run work in a transaction, or not."""
        return self._call("write", lambda broken: self._store.write(_failing(work) if broken else work))

    def read(self, work: Work[T]) -> Future[T]:
        """Run work that writes nothing, or not."""
        return self._call("read", lambda _broken: self._store.read(work))

    def subscribe(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Pass on notices while the instance lives."""
        return self._store.subscribe(lambda: None if self.dead else wake())

    def close(self) -> None:
        """Leave the real store open: others use it."""

    def _call(self, kind: str, send: Callable[[bool], Future[T]]) -> Future[T]:
        if self.dead:
            return Future()  # nobody will ever hear of it
        fault, seconds = self._mishap(kind)
        if fault is Fault.BEFORE:
            return _failed("the connection was refused")
        if fault is Fault.BUSY:
            return _failed("the database is locked")
        if fault is Fault.CRASH_BEFORE:
            return self._died()
        if fault is Fault.STALL:
            return self._later(seconds, send)
        answer = send(fault is Fault.DISK_FULL)
        if fault is Fault.LOST_ANSWER:
            return _failed("the connection was lost before the answer came")
        return self._died() if fault is Fault.CRASH_AFTER else answer

    def _died(self) -> Future[T]:
        self.dead = True
        self._crash()
        return Future()

    def _later(self, seconds: float, send: Callable[[bool], Future[T]]) -> Future[T]:
        """Send the call after a while: by then the world may have moved on."""
        future: Future[T] = Future()

        def arrive() -> None:
            if self.dead:
                return
            answer = send(False)
            if future.cancelled():
                return
            error = answer.exception()
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(answer.result())

        asyncio.get_running_loop().call_later(seconds, arrive)
        return future


def _failing(work: Work[T]) -> Work[T]:
    """The same work, with a disk that is full when it is about to commit."""

    def fail(transaction: Transaction) -> T:
        work(transaction)
        raise StoreUnavailable("the disk is full")

    return fail


def _failed(problem: str) -> Future[T]:
    future: Future[T] = Future()
    future.set_exception(StoreUnavailable(problem))
    return future
