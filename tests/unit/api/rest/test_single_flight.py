"""One answer for all who ask the same at the same time, and never one that is older than the question."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from tompion.api.rest.single_flight import SingleFlight


class Oracle:
    """Answers with the number of the question, as soon as it is let go."""

    def __init__(self) -> None:
        self.asked = 0
        self.going = asyncio.Event()

    async def __call__(self) -> int:
        self.asked += 1
        number = self.asked
        await self.going.wait()
        return number


def told(test: Callable[[SingleFlight, Oracle], Awaitable[None]]) -> None:
    async def run() -> None:
        await test(SingleFlight(), Oracle())

    asyncio.run(run())


async def steps() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_calls_during_a_flight_share_the_next_one() -> None:
    async def test(sharing: SingleFlight, ask: Oracle) -> None:
        first = asyncio.create_task(sharing.run("stats", ask))
        await steps()
        others = [asyncio.create_task(sharing.run("stats", ask)) for _ in range(20)]
        await steps()
        assert ask.asked == 1, "one at a time"
        ask.going.set()
        assert await first == 1
        assert await asyncio.gather(*others) == [2] * 20

    told(test)


def test_different_keys_do_not_wait_for_each_other() -> None:
    async def test(sharing: SingleFlight, ask: Oracle) -> None:
        both = [asyncio.create_task(sharing.run(question, ask)) for question in ("mine", "yours")]
        await steps()
        assert ask.asked == 2
        ask.going.set()
        assert sorted(await asyncio.gather(*both)) == [1, 2]

    told(test)


def test_a_finished_result_is_not_reused() -> None:
    async def test(sharing: SingleFlight, ask: Oracle) -> None:
        ask.going.set()
        assert [await sharing.run("stats", ask) for _ in range(3)] == [1, 2, 3]

    told(test)


def test_a_cancelled_caller_does_not_cancel_the_others() -> None:
    async def test(sharing: SingleFlight, ask: Oracle) -> None:
        gone, stays = (asyncio.create_task(sharing.run("stats", ask)) for _ in range(2))
        await steps()
        gone.cancel()
        await steps()
        ask.going.set()
        assert await stays == 1

    told(test)


def test_an_error_reaches_only_the_callers_of_its_flight() -> None:
    async def fails() -> int:
        raise ValueError("no")

    async def test(sharing: SingleFlight, ask: Oracle) -> None:
        ask.going.set()
        with pytest.raises(ValueError, match="no"):
            await sharing.run("stats", fails)
        assert await sharing.run("stats", ask) == 1

    told(test)
