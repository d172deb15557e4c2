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
FUNCTION_THREADS = "foliot-function"
_LINGER_S = 0.2


class Stopping:
    """Whether to stop, and with which exit code: 0 after SIGTERM, 130 after SIGINT."""

    def __init__(self) -> None:
        """Wait for signals in the running event loop."""
        self.asked = asyncio.Event()
        self.code: int | None = None
        self._loop = asyncio.get_running_loop()

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Take a signal; a SIGINT after another signal means that somebody does not want to wait."""
        if self.code is None:
            self.code = INTERRUPTED if number == signal.SIGINT else 0
            self._loop.call_soon_threadsafe(self.asked.set)
        elif number == signal.SIGINT:
            leave_now(INTERRUPTED)


@contextmanager
def stopping() -> Iterator[Stopping]:
    """Turn SIGINT and SIGTERM into a request to stop, for as long as the context lasts."""
    state = Stopping()
    before = {number: signal.signal(number, state.handle) for number in SIGNALS}
    try:
        yield state
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def functions_go_on() -> bool:
    """Whether a function of a user is still running: Python would wait for its thread before it lets go."""
    threads = [thread for thread in threading.enumerate() if thread.name.startswith(FUNCTION_THREADS)]
    for thread in threads:
        thread.join(_LINGER_S)
    return any(thread.is_alive() for thread in threads)


def leave_now(code: int) -> None:
    """End this process without waiting for any thread."""
    os._exit(code)
