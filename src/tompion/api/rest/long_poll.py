"""Asking again and again until there is something, whenever the store says that something has changed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from tompion.operations.runner import OperationRunner

LOOK_S = 1.0
"""How long a question rests at most before it is asked again: not every store announces everything."""


async def until_found(
    runner: OperationRunner, ask: Callable[[], Awaitable[Any]], wait_ms: int, gone: Callable[[], Awaitable[bool]]
) -> Any:
    """Return the first answer that is not empty, or the last one within the time; stop when nobody listens."""
    loop, changed = asyncio.get_running_loop(), asyncio.Event()
    end = loop.time() + wait_ms / 1000
    unsubscribe = runner.store.subscribe(lambda: wake(loop, changed))
    try:
        while True:
            changed.clear()
            found = await ask()
            left = end - loop.time()
            if found or left <= 0 or await gone():
                return found
            waiting = asyncio.ensure_future(changed.wait())
            await asyncio.wait([waiting], timeout=min(left, LOOK_S))
            waiting.cancel()
    finally:
        unsubscribe()


def wake(loop: asyncio.AbstractEventLoop, changed: asyncio.Event) -> None:
    """Set an event of a loop from any thread."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(changed.set)
