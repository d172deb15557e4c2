"""The only module that reads the system time.

Pure code takes ``now`` as an argument. Other code takes a :class:`Clock`, so that tests can pass one that they move.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import asyncio


class Clock(Protocol):
    """Source of the current time."""

    def now(self) -> float:
        """Return the current instant in seconds since the Unix epoch."""
        ...


class SystemClock:
    """The system clock."""

    def now(self) -> float:
        """Return the current instant in seconds since the Unix epoch."""
        return time.time()


async def pause(seconds: float) -> None:
    """Sleep by the clock of the event loop. A simulation moves that clock."""
    import asyncio  # here, because commands without an event loop start faster without it

    await asyncio.sleep(seconds)


def monotonic_s() -> float:
    """Return the monotonic clock, which event loops use, from a thread without one."""
    return time.monotonic()


def pause_thread(seconds: float) -> None:
    """Block the current thread."""
    time.sleep(seconds)


async def wait(event: asyncio.Event, seconds: float) -> bool:
    """Wait for an event at most this long. Return whether it is set."""
    import asyncio

    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True
