"""Daemon threads: their number, waiting calls, and a stop."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import CancelledError

import pytest

from tompion.runtime.thread_pool import ThreadPool

SECONDS = 120
"""After which a test gives up waiting."""


class BlockingCall:
    """A call that blocks until the test releases it."""

    def __init__(self) -> None:
        self.arrived = threading.Semaphore(0)
        self.released = threading.Event()

    def __call__(self) -> str:
        self.arrived.release()
        assert self.released.wait(SECONDS)
        return threading.current_thread().name


def test_threads_are_started_on_demand_up_to_the_limit() -> None:
    threads, blocker = ThreadPool(3, "test"), BlockingCall()
    one = threads.submit(threading.current_thread).result(SECONDS)
    held = [threads.submit(blocker) for _ in range(5)]
    for _ in range(3):
        assert blocker.arrived.acquire(timeout=SECONDS)
    assert not blocker.arrived.acquire(blocking=False)
    blocker.released.set()
    names = {item.result(SECONDS) for item in held}
    assert names <= {"test-1", "test-2", "test-3"}
    assert (one.name, one.daemon) == ("test-1", True)
    threads.close()
    one.join(SECONDS)
    assert not one.is_alive()


def test_an_exception_is_set_on_the_future() -> None:
    threads = ThreadPool(1, "test")
    with pytest.raises(SystemExit):
        threads.submit(sys.exit).result(SECONDS)
    assert threads.submit(lambda: 5).result(SECONDS) == 5
    threads.close()


def test_a_busy_thread_ends_after_its_call_when_the_pool_is_closed() -> None:
    """Regression: the thread took the end marker for an empty queue, and never ended."""
    threads, blocker = ThreadPool(2, "closing"), BlockingCall()
    call = threads.submit(blocker)
    assert blocker.arrived.acquire(timeout=SECONDS)
    (busy,) = [item for item in threading.enumerate() if item.name == "closing-1"]
    threads.close()
    blocker.released.set()
    assert call.result(SECONDS) == "closing-1"
    busy.join(SECONDS)
    assert not busy.is_alive()


def test_close_cancels_waiting_calls() -> None:
    threads, blocker = ThreadPool(1, "test"), BlockingCall()
    running = threads.submit(blocker)
    assert blocker.arrived.acquire(timeout=SECONDS)
    waiting, given_up = threads.submit(blocker), threads.submit(blocker)
    assert given_up.cancel()
    threads.close()
    with pytest.raises(CancelledError):
        waiting.result(SECONDS)
    with pytest.raises(RuntimeError, match="closed"):
        threads.submit(blocker)
    blocker.released.set()
    assert running.result(SECONDS) == "test-1"


def test_finish_completes_all_calls_and_ends_the_threads() -> None:
    """Regression: a busy thread took the end marker of another one, which then waited without end."""
    for _ in range(50):
        threads, blocker = ThreadPool(3, "test"), BlockingCall()
        held = [threads.submit(blocker) for _ in range(9)]
        for _ in range(3):
            assert blocker.arrived.acquire(timeout=SECONDS)
        threading.Timer(0, blocker.released.set).start()
        ended = threading.Thread(target=threads.finish, daemon=True)
        ended.start()
        ended.join(SECONDS)
        assert not ended.is_alive()
        assert all(item.done() for item in held)
        with pytest.raises(RuntimeError, match="closed"):
            threads.submit(blocker)
        threads.finish()


LEAVING = """
import threading
from tompion.runtime.thread_pool import ThreadPool

held = threading.Event()
ThreadPool(1, "test").submit(lambda: (held.set(), threading.Event().wait()))
held.wait()
"""


def test_a_process_exits_while_a_thread_is_busy() -> None:
    """The threads of the standard pool are joined at exit, so the process would never end."""
    assert subprocess.run([sys.executable, "-c", LEAVING], timeout=SECONDS, check=False).returncode == 0
