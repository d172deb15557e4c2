"""Whether an engine really works, and telling so to somebody outside who would miss it.

A process that hangs cannot say so.  Somebody else notices: it is told again and again that all is well, and raises the
alarm when that stops.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

from tompion.engine.telemetry.events import EngineEvents
from tompion.runtime import clock
from tompion.store.base import Store

ANSWER_S = 10.0
"""How long the store may take to say what time it is."""


class Pinger(Protocol):
    """Who tells somebody outside."""

    @property
    def every_s(self) -> float:
        """Return how often."""

    async def ping(self, problems: Sequence[str]) -> None:
        """Say that all is well, or what is not."""

    async def aclose(self) -> None:
        """Let go of everything."""


class HealthcheckPing:
    """The loop that tells somebody outside."""

    def __init__(
        self,
        store: Store,
        problems: Callable[[], Sequence[str]],
        pinger: Pinger,
        probe: EngineEvents,
        stopping: asyncio.Event,
    ) -> None:
        """Take what says whether all is well here, besides the store, and whom to tell."""
        self._store = store
        self._problems = problems
        self._pinger = pinger
        self._probe = probe
        self._stopping = stopping

    async def ping(self) -> None:
        """Tell until this process stops."""
        while not self._stopping.is_set():
            try:
                await self._pinger.ping(await self.judged())
                self._probe.count("pings")
            except Exception as error:  # noqa: BLE001 - whoever only listens must not stop the engine
                self._probe.count("pings_failed")
                self._probe.warn(f"cannot reach the monitor of this process: {error}")
            await clock.wait(self._stopping, self._pinger.every_s)

    async def judged(self) -> list[str]:
        """Return what is wrong, with the engine, if there is one, or with the store."""
        found = [*self._problems()]
        answer = asyncio.wrap_future(self._store.read(lambda transaction: transaction.now_ms()))
        await asyncio.wait([answer], timeout=ANSWER_S)
        if not answer.done():
            answer.cancel()
            found.append(f"the store has not answered within {ANSWER_S:.0f} s")
        elif (error := answer.exception()) is not None:
            found.append(f"the store does not answer: {error}")
        return found
