"""Threads for synchronous functions, which nobody waits for when the process ends.

The standard pool joins its threads before the interpreter leaves: one function that sleeps would keep a stopped process
alive.  These are daemons: a run that is cut off with them was handed back before, and is executed again elsewhere.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import Any

_Call = tuple[Future[Any], Callable[[], Any]]


class Threads:
    """At most so many threads, each started when it is first needed; calls beyond that wait their turn."""

    def __init__(self, most: int, name: str) -> None:
        """Take how many there may be; none is started yet."""
        self._most = most
        self._name = name
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._lock = threading.Lock()
        self._started = 0
        self._closed = False

    def submit(self, call: Callable[[], Any]) -> Future[Any]:
        """Call something in a thread, as soon as one is free."""
        future: Future[Any] = Future()
        with self._lock:
            if self._closed:
                raise RuntimeError("this instance is stopping: it starts no function")
            self._calls.put((future, call))
            if not self._idle.acquire(blocking=False) and self._started < self._most:
                self._started += 1
                name = f"{self._name}-{self._started}"
                threading.Thread(target=self._work, name=name, daemon=True).start()
        return future

    def close(self) -> None:
        """Start nothing more; calls that wait are cancelled, those that run end by themselves."""
        with self._lock:
            self._closed = True
            while (call := self._waiting()) is not None:
                call[0].cancel()
            for _ in range(self._started):
                self._calls.put(None)

    def _waiting(self) -> _Call | None:
        try:
            return self._calls.get_nowait()
        except Empty:
            return None

    def _work(self) -> None:
        while True:
            try:
                call = self._calls.get_nowait()
            except Empty:
                self._idle.release()
                call = self._calls.get()
            if call is None:
                return
            _answer(*call)


def _answer(future: Future[Any], call: Callable[[], Any]) -> None:
    """Make a call and hand on what became of it; a function of its own, so that an idle thread holds on to nothing."""
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(call())
    except BaseException as error:  # noqa: BLE001 - whatever it raises is for whoever waits
        future.set_exception(error)
