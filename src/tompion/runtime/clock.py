"""The only place that reads the time.

Pure code takes ``now`` as an argument; whoever needs a clock takes a :class:`Clock`, so that tests can hand in one
that they move by hand.
"""

from __future__ import annotations

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """What tells the time."""

    def now(self) -> float:
        """Return the current instant in seconds since the Unix epoch."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> float:
        """Return the current instant in seconds since the Unix epoch."""
        return time.time()


async def pause(seconds: float) -> None:
    """Do nothing for a while, by the event loop's own clock; a simulation moves that clock itself."""
    await asyncio.sleep(seconds)


def wait_here(seconds: float) -> None:
    """Do nothing for a while, in a thread that may."""
    time.sleep(seconds)


async def wait(event: asyncio.Event, seconds: float) -> bool:
    """Wait for an event, but no longer than that; return whether it happened."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True
