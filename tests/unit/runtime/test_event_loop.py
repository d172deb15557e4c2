"""Shutdown of an event loop with tasks left in it."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from tompion.runtime import event_loop


def test_remaining_tasks_are_cancelled_and_awaited_briefly() -> None:
    ended: list[str] = []

    async def tidy() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append("tidied up")

    async def main() -> int:
        task = asyncio.create_task(tidy())
        await asyncio.sleep(0)
        assert not task.done()
        return 7

    assert event_loop.run(main()) == 7
    assert ended == ["tidied up"]


def test_a_task_that_ignores_cancellation_is_abandoned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: it suppressed every cancellation, and the process never ended."""
    monkeypatch.setattr(event_loop, "MAX_CANCEL_S", 0.01)
    kept: list[asyncio.Task[None]] = []

    async def stubborn() -> None:
        while True:
            with suppress(asyncio.CancelledError):
                await asyncio.Event().wait()

    async def main() -> str:
        kept.append(asyncio.create_task(stubborn()))
        await asyncio.sleep(0)
        return "done"

    assert event_loop.run(main()) == "done"
    assert not kept[0].done()


def test_an_exception_is_raised_to_the_caller() -> None:
    async def main() -> None:
        raise LookupError("no luck")

    with pytest.raises(LookupError, match="no luck"):
        event_loop.run(main())
