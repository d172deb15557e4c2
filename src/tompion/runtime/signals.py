"""How a command that runs for ever ends: gracefully when it is asked to, at once when it is asked again."""

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
_LINGER_S = 0.2
GOODBYE_S = 10.0
"""How long a process may take to end, beyond the grace that its runs have: a store may have stopped to answer."""


class StopSignals:
    """Whether to stop, and with which exit code: 0 after SIGTERM, 130 after SIGINT."""

    def __init__(self, grace_s: float) -> None:
        """Wait for signals in the running event loop; after one, the process ends soon after the grace is over."""
        self.asked = asyncio.Event()
        self.code: int | None = None
        self._grace_s = grace_s
        self._timer: threading.Timer | None = None
        self._loop = asyncio.get_running_loop()

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Take a signal; a SIGINT after another signal means that somebody does not want to wait."""
        if self.code is None:
            self.code = INTERRUPTED if number == signal.SIGINT else 0
            self._loop.call_soon_threadsafe(self.asked.set)
            self._end_at_last()
        elif number == signal.SIGINT:
            leave_now(INTERRUPTED)

    def _end_at_last(self) -> None:
        """End the process even if something in it hangs: what it holds is taken over when its lease ends."""
        self._timer = threading.Timer(self._grace_s + GOODBYE_S, self._give_up)
        self._timer.daemon = True
        self._timer.start()

    def ended(self) -> None:
        """Note that everything has ended: whatever the process does now is its own business."""
        if self._timer is not None:
            self._timer.cancel()

    def _give_up(self) -> None:
        os.write(2, b"tompion: not everything here could be ended in time; leaving. What it held is taken over.\n")
        leave_now(self.code or 0)


@contextmanager
def stopping(grace_s: float) -> Iterator[StopSignals]:
    """Turn SIGINT and SIGTERM into a request to stop, for as long as the context lasts."""
    state = StopSignals(grace_s)
    before = {number: signal.signal(number, state.handle) for number in SIGNALS}
    try:
        yield state
    finally:
        state.ended()
        for number, handler in before.items():
            signal.signal(number, handler)


def has_running_functions() -> bool:
    """Whether a function of a user is still running: Python would wait for its thread before it lets go."""
    threads = [thread for thread in threading.enumerate() if thread.name.startswith(FUNCTION_THREADS)]
    for thread in threads:
        thread.join(_LINGER_S)
    return any(thread.is_alive() for thread in threads)


def leave_now(code: int) -> None:
    """End this process without waiting for any thread."""
    os._exit(code)
