"""The health-check ping: reports to an external monitor while this process works.

A process that hangs cannot report it. The monitor expects regular pings and raises the alarm when they stop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

from tompion.engine.telemetry.events import EngineEvents
from tompion.runtime.clock import wait
from tompion.store.base import Store

MAX_ANSWER_S = 10.0
"""How long the store may take to return its time."""


class Pinger(Protocol):
    """Sends one ping to the monitor."""

    @property
    def every_s(self) -> float:
        """Return the interval between pings."""

    async def ping(self, problems: Sequence[str]) -> None:
        """Report success, or the problems."""

    async def aclose(self) -> None:
        """Close all connections."""


class HealthcheckPing:
    """The loop that pings the monitor.

    ``problems`` returns the problems of the engine. Problems of the store are added to them.
    """

    def __init__(
        self,
        store: Store,
        problems: Callable[[], Sequence[str]],
        pinger: Pinger,
        events: EngineEvents,
        stopping: asyncio.Event,
    ) -> None:
        self._store = store
        self._problems = problems
        self._pinger = pinger
        self._events = events
        self._stopping = stopping

    async def ping(self) -> None:
        """Ping the monitor until this process stops."""
        while not self._stopping.is_set():
            try:
                await self._pinger.ping(await self.check())
                self._events.count("pings")
            except Exception as error:  # noqa: BLE001 - a monitor must not stop the engine
                self._events.count("pings_failed")
                self._events.warn(f"cannot reach the monitor of this process: {error}")
            await wait(self._stopping, self._pinger.every_s)

    async def check(self) -> list[str]:
        """Return the problems of the engine and of the store."""
        problems = [*self._problems()]
        answer = asyncio.wrap_future(self._store.read(lambda transaction: transaction.now_ms()))
        await asyncio.wait([answer], timeout=MAX_ANSWER_S)
        if not answer.done():
            answer.cancel()
            problems.append(f"the store has not answered within {MAX_ANSWER_S:.0f} s")
        elif (error := answer.exception()) is not None:
            problems.append(f"the store does not answer: {error}")
        return problems
