"""Long polling: repeats an operation until it has a result, whenever the store reports a change."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from tompion.operations.runner import OperationRunner

MAX_POLL_INTERVAL_S = 1.0
"""Not every store reports every change, so the operation is repeated after this time in any case."""


async def poll_until_result(
    runner: OperationRunner, call: Callable[[], Awaitable[Any]], wait_ms: int, is_gone: Callable[[], Awaitable[bool]]
) -> Any:
    """Return the first result that is not empty, or the last one when the time is over or the client is gone."""
    loop, changed = asyncio.get_running_loop(), asyncio.Event()
    deadline = loop.time() + wait_ms / 1000
    unsubscribe = runner.store.subscribe(lambda: set_from_thread(loop, changed))
    try:
        while True:
            changed.clear()
            result = await call()
            left = deadline - loop.time()
            if result or left <= 0 or await is_gone():
                return result
            waiting = asyncio.ensure_future(changed.wait())
            await asyncio.wait([waiting], timeout=min(left, MAX_POLL_INTERVAL_S))
            waiting.cancel()
    finally:
        unsubscribe()


def set_from_thread(loop: asyncio.AbstractEventLoop, event: asyncio.Event) -> None:
    """Set an event of an event loop from any thread."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(event.set)
