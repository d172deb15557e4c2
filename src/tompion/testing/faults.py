"""A store with injected faults: errors before or after a call, delays and crashes.

Wrap a store in a :class:`FaultyStore` and pass a function that returns a fault for each call. A fault *before* the call
writes nothing. With a *lost response* everything is written, but the caller gets an error. This fault finds most bugs.
A *freeze* stops the process after the call: its response and all later calls arrive when the process resumes.
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
RESUME_S = 0.001
"""Delay of later calls after a freeze. The response of the frozen call arrives first."""


class Fault(StrEnum):
    """Fault of one call."""

    NONE = "none"
    BEFORE = "before"
    LOST_RESPONSE = "lost_response"
    BUSY = "busy"
    DISK_FULL = "disk_full"
    STALL = "stall"
    FREEZE = "freeze"
    CRASH_BEFORE = "crash_before"
    CRASH_AFTER = "crash_after"


class InjectedFault(NamedTuple):
    """A fault, and the delay of a stalled call or the length of a freeze."""

    fault: Fault
    seconds: float = 0.0


class FaultyStore(Store):
    """Store of one instance. ``fault_of`` returns the fault of each call, ``crash`` ends the instance."""

    def __init__(self, store: Store, fault_of: Callable[[str], InjectedFault], crash: Callable[[], None]) -> None:
        self._store = store
        self._fault_of = fault_of
        self._crash = crash
        self._frozen_in: asyncio.AbstractEventLoop | None = None
        self._frozen_until_s = 0.0
        self.dead: bool = False
        self.instances: set[int] = set()

    def write(self, work: Work[T]) -> Future[T]:
        """Run work in a transaction, with the injected fault."""
        return self._call("write", lambda fails: self._store.write(_fail_at_commit(work) if fails else work))

    def read(self, work: Work[T]) -> Future[T]:
        """Run read-only work, with the injected fault."""
        return self._call("read", lambda _fails: self._store.read(work))

    def subscribe(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Forward notifications of the store while the instance is alive."""
        return self._store.subscribe(lambda: None if self.dead else wake())

    @property
    def knows_presence(self) -> bool:
        """Return whether the store can show that a process has ended."""
        return self._store.knows_presence

    def hold_presence(self, instance_id: int) -> None:
        """Hold the lock of an instance while it is alive."""
        if not self.dead:
            self.instances.add(instance_id)
            self._store.hold_presence(instance_id)

    def drop_presence(self, instance_id: int) -> None:
        """Release the lock of an instance."""
        self.instances.discard(instance_id)
        self._store.drop_presence(instance_id)

    def find_absent(self, own_id: int) -> Future[dict[int, int]]:
        """Return the instances whose process has ended, without faults."""
        return Future() if self.dead else self._store.find_absent(own_id)

    def die(self) -> None:
        """End the instance. Its locks end with it, and none of its calls reaches the store."""
        self.dead = True
        for instance_id in list(self.instances):
            self.drop_presence(instance_id)

    def close(self) -> None:
        """Do nothing. Other instances use the store."""

    def _call(self, kind: str, send: Callable[[bool], Future[T]]) -> Future[T]:
        """Send a call with the fault that the plan has for it."""
        if self.dead:
            return Future()  # a dead instance never gets a result
        frozen_s = 0.0 if self._frozen_in is None else self._frozen_until_s - self._frozen_in.time()
        if frozen_s > 0:
            return self._send_later(frozen_s + RESUME_S, send)
        fault, seconds = self._fault_of(kind)
        if fault is Fault.BEFORE:
            return _failed("the connection was refused")
        if fault is Fault.BUSY:
            return _failed("the database is locked")
        if fault is Fault.CRASH_BEFORE:
            return self._die()
        if fault is Fault.STALL:
            return self._send_later(seconds, send)
        result = send(fault is Fault.DISK_FULL)
        if fault is Fault.FREEZE:
            self._frozen_in = asyncio.get_running_loop()
            self._frozen_until_s = self._frozen_in.time() + seconds
            return self._send_later(seconds, lambda _fails: result)
        if fault is Fault.LOST_RESPONSE:
            return _failed("the connection was lost before the response arrived")
        return self._die() if fault is Fault.CRASH_AFTER else result

    def _die(self) -> Future[T]:
        self.die()
        self._crash()
        return Future()

    def _send_later(self, seconds: float, send: Callable[[bool], Future[T]]) -> Future[T]:
        """Send the call after a delay."""
        future: Future[T] = Future()

        def arrive() -> None:
            if self.dead:
                return
            result = send(False)
            if future.cancelled():
                return
            error = result.exception()
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(result.result())

        asyncio.get_running_loop().call_later(seconds, arrive)
        return future


def _fail_at_commit(work: Work[T]) -> Work[T]:
    """Return the same work with a disk that is full at commit."""

    def fail(transaction: Transaction) -> T:
        work(transaction)
        raise StoreUnavailable("the disk is full")

    return fail


def _failed(problem: str) -> Future[T]:
    future: Future[T] = Future()
    future.set_exception(StoreUnavailable(problem))
    return future
