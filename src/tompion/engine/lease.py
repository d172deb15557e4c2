"""Being an instance: a number in the store, and one lease for everything that is held under it.

The lease is prolonged while the process lives.  An instance that was silent for longer has lost it: others take over
what it held, and it begins anew under another number.  Every transaction that takes runs looks at the lease first and
keeps it from being taken away meanwhile, so nothing can be taken under a lease that has ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from contextlib import asynccontextmanager
from secrets import token_hex
from typing import TypeVar

from tompion.engine.context import EngineContext
from tompion.engine.steps.result import CarryOut, StepT
from tompion.model.security import CALLBACKS, signer
from tompion.runtime import clock
from tompion.store.base import Store, Transaction, Work

T = TypeVar("T")
MISSED_BEATS = 3
"""Whoever has missed so many is not counted among the living."""


class Lease:
    """The lease of one engine."""

    def __init__(  # noqa: PLR0913 - what an instance says of itself, and what depends on its lease
        self,
        store: Store,
        instance: EngineContext,
        name: str,
        release: str,
        lose: Callable[[], int],
        carry_out: CarryOut,
    ) -> None:
        """Take the store, how to end whatever is executed here, which says how much that was, and what else to do.

        ``carry_out`` is called in each transaction that takes runs, once it has done so.
        """
        self._store = store
        self._instance = instance
        self._name = name
        self._release = release
        self._lose = lose
        self._carry_out = carry_out
        self._joining = asyncio.Lock()
        self._open = asyncio.Event()
        self._open.set()
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._leading = 0

    async def join(self) -> None:
        """Become an instance."""
        ttl_ms = self._instance.settings.lock_ttl_ms

        def join(transaction: Transaction) -> tuple[int, str, bool]:
            now_ms = transaction.now_ms()
            number = transaction.instance_insert(
                self._name, self._release, now_ms, now_ms + ttl_ms, self._instance.queues
            )
            return number, transaction.secret_get_or_create(CALLBACKS, token_hex(32)), transaction.can_call

        self._instance.number, secret, self._instance.can_call = await answer_of(self._store.write(join))
        self._instance.sign = signer(secret)

    async def beat(self, skew_ms: int) -> int:
        """Prolong the lease; return how many instances live."""
        settings, number = self._instance.settings, self._instance.number

        def beat(transaction: Transaction) -> tuple[bool, int]:
            now_ms = transaction.now_ms()
            held = transaction.lease_renew(number, now_ms, skew_ms, now_ms + settings.lock_ttl_ms)
            return held, transaction.instance_count_live(now_ms - MISSED_BEATS * settings.heartbeat_ms)

        held, live = await answer_of(self._store.write(beat))
        if held:
            self._instance.appetite.kept()
        else:
            await self._join_again(number)
        return live

    async def lead(self, work: Work[StepT]) -> StepT:
        """Run work that takes runs, which needs a lease in force."""
        await self._open.wait()
        self._leading += 1
        self._quiet.clear()
        try:
            return await self.led(work)
        finally:
            self._leading -= 1
            if not self._leading:
                self._quiet.set()

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Wait until whoever takes runs here knows what it took, and keep others from taking any."""
        self._open.clear()
        try:
            await self._quiet.wait()
            yield
        finally:
            self._open.set()

    async def led(self, work: Work[StepT]) -> StepT:
        """Run work that takes runs, by whoever is :meth:`alone`."""
        while True:
            number = self._instance.number
            answer = await answer_of(self._store.write(self.leading(work)))
            if answer is not None:
                return answer
            await self._join_again(number)

    def leading(self, work: Work[StepT]) -> Work[StepT | None]:
        """Return work that says nothing, and does nothing, without a lease."""

        def led(transaction: Transaction) -> StepT | None:
            if not transaction.lease_hold(self._instance.number):
                return None
            step = work(transaction)
            self._instance.notifications.late(transaction, step.launches, step.now_ms)
            return self._carry_out(transaction, step)

        return led

    async def _join_again(self, number: int) -> None:
        async with self._joining:
            if self._instance.number != number:  # somebody here was quicker
                return
            lost = self._lose()
            self._instance.appetite.lost(lost)
            self._instance.probe.count("leases_lost", lost)
            self._instance.probe.warn(
                f"silent for longer than lock_ttl_ms: others take over {lost} runs; joining again, and taking "
                f"{self._instance.appetite.limit} at a time at first"
            )
            await self.join()


async def answer_of(future: Future[T]) -> T:
    """Wait for a store's answer; where it is there already, the others still get their turn."""
    if not future.done():
        return await asyncio.wrap_future(future)
    await clock.pause(0)
    return future.result()
