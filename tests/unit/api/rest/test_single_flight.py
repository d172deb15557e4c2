"""Single flight: concurrent calls share one result, which is never older than the call."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from tompion.api.rest.single_flight import SingleFlight


class CountingCall:
    """Returns the number of the call, once it is released."""

    def __init__(self) -> None:
        self.calls = 0
        self.released = asyncio.Event()

    async def __call__(self) -> int:
        self.calls += 1
        number = self.calls
        await self.released.wait()
        return number


def run_scenario(scenario: Callable[[SingleFlight, CountingCall], Awaitable[None]]) -> None:
    async def run() -> None:
        await scenario(SingleFlight(), CountingCall())

    asyncio.run(run())


async def steps() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_calls_during_a_flight_share_the_next_one() -> None:
    async def scenario(flight: SingleFlight, call: CountingCall) -> None:
        first = asyncio.create_task(flight.run("stats", call))
        await steps()
        others = [asyncio.create_task(flight.run("stats", call)) for _ in range(20)]
        await steps()
        assert call.calls == 1, "one at a time"
        call.released.set()
        assert await first == 1
        assert await asyncio.gather(*others) == [2] * 20

    run_scenario(scenario)


def test_different_keys_do_not_wait_for_each_other() -> None:
    async def scenario(flight: SingleFlight, call: CountingCall) -> None:
        both = [asyncio.create_task(flight.run(key, call)) for key in ("mine", "yours")]
        await steps()
        assert call.calls == 2
        call.released.set()
        assert sorted(await asyncio.gather(*both)) == [1, 2]

    run_scenario(scenario)


def test_a_finished_result_is_not_reused() -> None:
    async def scenario(flight: SingleFlight, call: CountingCall) -> None:
        call.released.set()
        assert [await flight.run("stats", call) for _ in range(3)] == [1, 2, 3]

    run_scenario(scenario)


def test_a_cancelled_caller_does_not_cancel_the_others() -> None:
    async def scenario(flight: SingleFlight, call: CountingCall) -> None:
        gone, stays = (asyncio.create_task(flight.run("stats", call)) for _ in range(2))
        await steps()
        gone.cancel()
        await steps()
        call.released.set()
        assert await stays == 1

    run_scenario(scenario)


def test_an_error_reaches_only_the_callers_of_its_flight() -> None:
    async def fails() -> int:
        raise ValueError("no")

    async def scenario(flight: SingleFlight, call: CountingCall) -> None:
        call.released.set()
        with pytest.raises(ValueError, match="no"):
            await flight.run("stats", fails)
        assert await flight.run("stats", call) == 1

    run_scenario(scenario)
