"""Whether a store answers, asked by somebody who has no time to wait for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Protocol

ANSWER_S = 5.0
"""How long the store may take to say what time it is."""


class Readable(Protocol):
    """A store, as far as its health is concerned."""

    def read(self, work: Callable[[Any], int]) -> Future[int]:
        """Run work that writes nothing."""


async def store_problems(store: Readable) -> list[str]:
    """Return what is wrong with a store; nothing, if it answers."""
    try:
        answer = asyncio.wrap_future(store.read(lambda transaction: transaction.now_ms()))
        done, _ = await asyncio.wait([answer], timeout=ANSWER_S)
        if done:
            answer.result()
            return []
        answer.cancel()
    except Exception as error:  # noqa: BLE001 - whatever it is, the store does not answer
        return [f"the store does not answer: {error}"]
    return [f"the store has not answered within {ANSWER_S:.0f} s"]
