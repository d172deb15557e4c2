"""Threads that nobody waits for: how many there are, who waits, what a stop does to them."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import CancelledError

import pytest

from tompion.runtime.thread_pool import ThreadPool

SECONDS = 120
"""After which a test gives up waiting."""


class Gate:
    """Calls that stand still until somebody lets them go."""

    def __init__(self) -> None:
        self.arrived = threading.Semaphore(0)
        self.let_go = threading.Event()

    def __call__(self) -> str:
        self.arrived.release()
        assert self.let_go.wait(SECONDS)
        return threading.current_thread().name


def test_no_more_threads_than_allowed_and_no_more_than_needed() -> None:
    threads, gate = ThreadPool(3, "test"), Gate()
    one = threads.submit(threading.current_thread).result(SECONDS)
    held = [threads.submit(gate) for _ in range(5)]
    for _ in range(3):
        assert gate.arrived.acquire(timeout=SECONDS)
    assert not gate.arrived.acquire(blocking=False)
    gate.let_go.set()
    names = {each.result(SECONDS) for each in held}
    assert names <= {"test-1", "test-2", "test-3"}
    assert (one.name, one.daemon) == ("test-1", True)
    threads.close()
    one.join(SECONDS)
    assert not one.is_alive()


def test_an_error_is_for_whoever_waits() -> None:
    threads = ThreadPool(1, "test")
    with pytest.raises(SystemExit):
        threads.submit(sys.exit).result(SECONDS)
    assert threads.submit(lambda: 5).result(SECONDS) == 5
    threads.close()


def test_a_thread_that_is_busy_when_the_pool_is_closed_ends_with_its_call() -> None:
    """It took the word that it is over for an empty queue, and waited for ever; a worker warned of a function."""
    threads, gate = ThreadPool(2, "closing"), Gate()
    call = threads.submit(gate)
    assert gate.arrived.acquire(timeout=SECONDS)
    (busy,) = [each for each in threading.enumerate() if each.name == "closing-1"]
    threads.close()
    gate.let_go.set()
    assert call.result(SECONDS) == "closing-1"
    busy.join(SECONDS)
    assert not busy.is_alive()


def test_a_stop_cancels_what_waits_and_starts_nothing() -> None:
    threads, gate = ThreadPool(1, "test"), Gate()
    running = threads.submit(gate)
    assert gate.arrived.acquire(timeout=SECONDS)
    waiting, given_up = threads.submit(gate), threads.submit(gate)
    assert given_up.cancel()
    threads.close()
    with pytest.raises(CancelledError):
        waiting.result(SECONDS)
    with pytest.raises(RuntimeError, match="closed"):
        threads.submit(gate)
    gate.let_go.set()
    assert running.result(SECONDS) == "test-1"


def test_finishing_does_what_was_asked_for_and_ends_every_thread() -> None:
    """A thread that found the end while it was busy took it from another one, which waited for ever."""
    for _ in range(50):
        threads, gate = ThreadPool(3, "test"), Gate()
        held = [threads.submit(gate) for _ in range(9)]
        for _ in range(3):
            assert gate.arrived.acquire(timeout=SECONDS)
        threading.Timer(0, gate.let_go.set).start()
        ended = threading.Thread(target=threads.finish, daemon=True)
        ended.start()
        ended.join(SECONDS)
        assert not ended.is_alive()
        assert all(each.done() for each in held)
        with pytest.raises(RuntimeError, match="closed"):
            threads.submit(gate)
        threads.finish()


LEAVING = """
import threading
from tompion.runtime.thread_pool import ThreadPool

held = threading.Event()
ThreadPool(1, "test").submit(lambda: (held.set(), threading.Event().wait()))
held.wait()
"""


def test_a_process_leaves_while_a_thread_is_busy() -> None:
    """The threads of the standard pool are joined at exit: the process would never end."""
    assert subprocess.run([sys.executable, "-c", LEAVING], timeout=SECONDS, check=False).returncode == 0
