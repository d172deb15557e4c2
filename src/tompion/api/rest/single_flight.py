"""Single flight: identical concurrent requests share one result.

A result is never older than its request. Requests that arrive while a call is running share the next call. So a
request uses at most one reader of the store, whatever the number of clients.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Any

AsyncCall = Callable[[], Awaitable[Any]]


class SingleFlight:
    """The current and the next call of each key."""

    def __init__(self) -> None:
        self._flights: dict[Hashable, _Flight] = {}

    async def run(self, key: Hashable, call: AsyncCall) -> Any:
        """Return the result of a call that begins after this method is called."""
        flight = self._flights.get(key)
        if flight is None or flight.started:
            flight = self._flights[key] = _Flight(call, flight)
            flight.task.add_done_callback(lambda _: self._forget(key, flight))
        return await asyncio.shield(flight.task)

    def _forget(self, key: Hashable, flight: _Flight) -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]
        if not flight.task.cancelled():
            flight.task.exception()  # all requests may be gone, and asyncio warns about exceptions that are not read


class _Flight:
    """One call, which starts after the previous one of the same key."""

    def __init__(self, call: AsyncCall, previous: _Flight | None) -> None:
        self.started = False
        self.task = asyncio.create_task(self._run(call, previous))

    async def _run(self, call: AsyncCall, previous: _Flight | None) -> Any:
        if previous is not None:
            await asyncio.wait([previous.task])
        self.started = True
        return await call()
