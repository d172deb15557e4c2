"""Questions that cost a look at everything: one answer for all who ask the same at the same time.

An answer is never older than its question.  Whoever comes while one is being made out waits for the next, together with
all others who came meanwhile; so a question takes one reader of the store, however many windows ask it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Any

Ask = Callable[[], Awaitable[Any]]


class SingleFlight:
    """Who waits for which answer."""

    def __init__(self) -> None:
        """Nobody waits yet."""
        self._turns: dict[Hashable, _Turn] = {}

    async def answer(self, question: Hashable, ask: Ask) -> Any:
        """Return an answer that nobody began to make out before this was called."""
        turn = self._turns.get(question)
        if turn is None or turn.begun:
            turn = self._turns[question] = _Turn(ask, turn)
            turn.task.add_done_callback(lambda _: self._forget(question, turn))
        return await asyncio.shield(turn.task)

    def _forget(self, question: Hashable, turn: _Turn) -> None:
        if self._turns.get(question) is turn:
            del self._turns[question]
        if not turn.task.cancelled():
            turn.task.exception()  # those who asked may all have gone: then nobody else looks at it


class _Turn:
    """One answer to one question, after the answer before."""

    def __init__(self, ask: Ask, before: _Turn | None) -> None:
        self.begun = False
        self.task = asyncio.create_task(self._run(ask, before))

    async def _run(self, ask: Ask, before: _Turn | None) -> Any:
        if before is not None:
            await asyncio.wait([before.task])
        self.begun = True
        return await ask()
