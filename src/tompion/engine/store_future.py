"""Awaiting the futures of a store."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from typing import TypeVar

from tompion.runtime.clock import pause

T = TypeVar("T")


async def await_store(future: Future[T]) -> T:
    """Return the result of a store future. Yields to the event loop even if the future is already done."""
    if not future.done():
        return await asyncio.wrap_future(future)
    await pause(0)
    return future.result()
