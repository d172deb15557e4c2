"""Signal handling of long-running commands: the first signal stops gracefully, a second SIGINT exits immediately."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED = 130
SIGNALS = (signal.SIGINT, signal.SIGTERM)
FUNCTION_THREADS = "tompion-function"
MAX_THREAD_JOIN_S = 0.2
MAX_SHUTDOWN_S = 10.0
"""Time that a process has to exit after the grace period of its runs. The store may not respond."""


class StopSignals:
    """Stop request of a process and its exit code: 0 after SIGTERM, 130 after SIGINT."""

    def __init__(self, grace_s: float) -> None:
        self.requested: asyncio.Event = asyncio.Event()
        self.code: int | None = None
        self._grace_s = grace_s
        self._timer: threading.Timer | None = None
        self._loop = asyncio.get_running_loop()

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal. A SIGINT after another signal exits immediately."""
        if self.code is None:
            self.code = INTERRUPTED if number == signal.SIGINT else 0
            self._loop.call_soon_threadsafe(self.requested.set)
            self._start_timer()
        elif number == signal.SIGINT:
            exit_now(INTERRUPTED)

    def _start_timer(self) -> None:
        """Exit after the grace period even if something hangs. Other instances take over the runs."""
        self._timer = threading.Timer(self._grace_s + MAX_SHUTDOWN_S, self._exit_late)
        self._timer.daemon = True
        self._timer.start()

    def cancel_timer(self) -> None:
        """Cancel the forced exit, because everything has stopped."""
        if self._timer is not None:
            self._timer.cancel()

    def _exit_late(self) -> None:
        os.write(2, b"tompion: shutdown timed out; exiting now. Other instances take over the runs.\n")
        exit_now(self.code or 0)


@contextmanager
def handle_stop_signals(grace_s: float) -> Iterator[StopSignals]:
    """Turn SIGINT and SIGTERM into a stop request while the context is active."""
    state = StopSignals(grace_s)
    previous = {number: signal.signal(number, state.handle) for number in SIGNALS}
    try:
        yield state
    finally:
        state.cancel_timer()
        for number, handler in previous.items():
            signal.signal(number, handler)


def has_running_functions() -> bool:
    """Return whether a function of a user is still running. Python would wait for its thread at exit."""
    threads = [thread for thread in threading.enumerate() if thread.name.startswith(FUNCTION_THREADS)]
    for thread in threads:
        thread.join(MAX_THREAD_JOIN_S)
    return any(thread.is_alive() for thread in threads)


def exit_now(code: int) -> None:
    """Exit this process without waiting for threads."""
    os._exit(code)
