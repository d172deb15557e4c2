"""Pool of daemon threads for functions and stores.

The standard pool joins its threads at interpreter exit, so one sleeping function would keep a stopped process alive. It
also rejects calls once the main thread has ended, although other threads and exit handlers still need a store. Daemon
threads are safe here: a run that is cut off was handed back, or its lease expires and another instance executes it. A
transaction that is cut off was never committed.
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
    """At most ``max_threads`` threads, started on demand. Further calls wait in order."""

    def __init__(self, max_threads: int, name: str) -> None:
        self._max_threads = max_threads
        self._name = name
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._closed = False

    def submit(self, call: Callable[[], T]) -> Future[T]:
        """Call a function in a thread as soon as one is free."""
        future: Future[T] = Future()
        with self._lock:
            if self._closed:
                raise RuntimeError("the thread pool is closed")
            self._calls.put((future, call))
            if not self._idle.acquire(blocking=False) and len(self._threads) < self._max_threads:
                name = f"{self._name}-{len(self._threads) + 1}"
                thread = threading.Thread(target=self._work, name=name, daemon=True)
                thread.start()
                self._threads.append(thread)
        return future

    def close(self) -> None:
        """Accept no more calls, and cancel those that wait. Running calls complete."""
        with self._lock:
            self._closed = True
            with suppress(Empty):
                while (call := self._calls.get_nowait()) is not None:
                    call[0].cancel()
            self._end_threads()

    def finish(self) -> None:
        """Accept no more calls. Return when all submitted calls are done and the threads have ended."""
        with self._lock:
            self._closed = True
            self._end_threads()
        for thread in self._threads:
            thread.join()

    def _end_threads(self) -> None:
        for _ in self._threads:
            self._calls.put(None)

    def _work(self) -> None:
        while self._run_next():
            pass

    def _run_next(self) -> bool:
        """Run the next call. Return whether there was one.

        It is a separate function so that an idle thread holds no references.
        """
        call = self._next()
        if call is not None:
            _run_call(*call)
        return call is not None

    def _next(self) -> _Call | None:
        try:
            return self._calls.get_nowait()
        except Empty:
            self._idle.release()
            return self._calls.get()


def _run_call(future: Future[Any], call: Callable[[], Any]) -> None:
    """Run a call, and set its result or exception on the future."""
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(call())
    except BaseException as error:  # noqa: BLE001 - the caller receives it from the future
        future.set_exception(error)
