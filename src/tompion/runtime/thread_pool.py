"""Threads for functions and for stores, which nobody waits for when the process ends.

The standard pool joins its threads before the interpreter leaves: one function that sleeps would keep a stopped process
alive.  It also starts nothing more once the main thread has ended, though others go on, and whoever tidies up at the
very end still needs a store.  These are daemons: a run that is cut off with them was handed back before, or its lease
ends, and it is executed again elsewhere; a transaction that is cut off was never committed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")
_Call = tuple[Future[Any], Callable[[], Any]]


class ThreadPool:
    """At most so many threads, each started when it is first needed; calls beyond that wait their turn."""

    def __init__(self, most: int, name: str) -> None:
        """Take how many there may be; none is started yet."""
        self._most = most
        self._name = name
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._closed = False

    def submit(self, call: Callable[[], T]) -> Future[T]:
        """Call something in a thread, as soon as one is free."""
        future: Future[T] = Future()
        with self._lock:
            if self._closed:
                raise RuntimeError("stopping: nothing more is started here")
            self._calls.put((future, call))
            if not self._idle.acquire(blocking=False) and len(self._threads) < self._most:
                name = f"{self._name}-{len(self._threads) + 1}"
                thread = threading.Thread(target=self._work, name=name, daemon=True)
                thread.start()
                self._threads.append(thread)
        return future

    def close(self) -> None:
        """Start nothing more; calls that wait are cancelled, those that run end by themselves."""
        with self._lock:
            self._closed = True
            with suppress(Empty):
                while (call := self._calls.get_nowait()) is not None:
                    call[0].cancel()
            self._end_threads()

    def finish(self) -> None:
        """Start nothing more; return when everything that was submitted is done and the threads have ended."""
        with self._lock:
            self._closed = True
            self._end_threads()
        for thread in self._threads:
            thread.join()

    def _end_threads(self) -> None:
        for _ in self._threads:
            self._calls.put(None)

    def _work(self) -> None:
        while self._works_on():
            pass

    def _works_on(self) -> bool:
        """Answer the next call; return whether there was one.  A function of its own: an idle thread holds nothing."""
        call = self._next()
        if call is not None:
            _answer(*call)
        return call is not None

    def _next(self) -> _Call | None:
        try:
            return self._calls.get_nowait()
        except Empty:
            self._idle.release()
            return self._calls.get()


def _answer(future: Future[Any], call: Callable[[], Any]) -> None:
    """Make a call and hand on what became of it."""
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(call())
    except BaseException as error:  # noqa: BLE001 - whatever it raises is for whoever waits
        future.set_exception(error)
