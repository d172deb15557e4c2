"""A service without an engine tells its monitor that it is there."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from tompion import AsyncTompion
from tompion.bootstrap.engine import Outbound, healthcheck_pings

SECONDS = 120


class Monitor:
    """Somebody who would miss it."""

    every_s = 0.001

    def __init__(self) -> None:
        self.heard: list[Sequence[str]] = []
        self.often = asyncio.Event()
        self.closed = False

    async def ping(self, problems: Sequence[str]) -> None:
        self.heard.append(problems)
        if len(self.heard) == 1:
            raise OSError("nobody is there")
        if len(self.heard) == 3:
            self.often.set()

    async def aclose(self) -> None:
        self.closed = True


def test_a_service_without_an_engine_pings() -> None:
    async def story() -> None:
        monitor = Monitor()
        tompion = AsyncTompion("sqlite://", engine=False)
        tompion.outbound = Outbound(pinger=monitor)
        async with asyncio.timeout(SECONDS), tompion, healthcheck_pings(tompion):
            await monitor.often.wait()
            assert monitor.heard[:3] == [[], [], []]
            assert tompion.runner.tally.counts["pings_failed"] == 1
            assert tompion.runner.tally.counts["pings"] >= 1
        assert monitor.closed

    asyncio.run(story())


def test_without_a_ping_url_there_is_no_ping() -> None:
    async def story() -> None:
        async with AsyncTompion("sqlite://", engine=False) as tompion, healthcheck_pings(tompion):
            assert len(asyncio.all_tasks()) == 1

    asyncio.run(story())
