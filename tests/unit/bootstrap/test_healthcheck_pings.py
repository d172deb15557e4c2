"""A service without an engine sends health-check pings."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from tompion import AsyncTompion
from tompion.bootstrap.engine import Outbound, healthcheck_pings

SECONDS = 120


class Monitor:
    """Records the pings. The first one fails."""

    every_s = 0.001

    def __init__(self) -> None:
        self.pings: list[Sequence[str]] = []
        self.third_ping = asyncio.Event()
        self.closed = False

    async def ping(self, problems: Sequence[str]) -> None:
        self.pings.append(problems)
        if len(self.pings) == 1:
            raise OSError("unreachable")
        if len(self.pings) == 3:
            self.third_ping.set()

    async def aclose(self) -> None:
        self.closed = True


def test_a_service_without_an_engine_pings() -> None:
    async def scenario() -> None:
        monitor = Monitor()
        tompion = AsyncTompion("sqlite://", engine=False)
        tompion._outbound = Outbound(pinger=monitor)
        async with asyncio.timeout(SECONDS), tompion, healthcheck_pings(tompion):
            await monitor.third_ping.wait()
            assert monitor.pings[:3] == [[], [], []]
            assert tompion._runner.metrics.counts["pings_failed"] == 1
            assert tompion._runner.metrics.counts["pings"] >= 1
        assert monitor.closed

    asyncio.run(scenario())


def test_without_a_ping_url_there_is_no_ping() -> None:
    async def scenario() -> None:
        async with AsyncTompion("sqlite://", engine=False) as tompion, healthcheck_pings(tompion):
            assert len(asyncio.all_tasks()) == 1

    asyncio.run(scenario())
