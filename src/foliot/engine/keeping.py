"""Keeping alive: the lease, by itself; what others have decided about runs that are executed here, and cleaning up."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

from foliot import clock as time
from foliot.engine.attempt import Attempt
from foliot.engine.instance import Instance
from foliot.engine.launching import Launching
from foliot.engine.membership import Membership, answer_of
from foliot.engine.settling import Settling
from foliot.engine.step import Settled
from foliot.engine.sweeping import Sweeping
from foliot.model.run import RunId, RunRow, RunState
from foliot.store.base import Store, Transaction, Work

T = TypeVar("T")
CHECK_S = 1.0
"""How often an engine looks after its runs, while it has some."""


class Keeping:
    """The loop that prolongs the lease and nothing else, and the one that looks for cancellations and sweeps."""

    def __init__(  # noqa: PLR0913 - what it looks after
        self,
        store: Store,
        instance: Instance,
        launching: Launching,
        membership: Membership,
        settling: Settling,
        *,
        beat: Callable[[], Awaitable[None]],
        swept: Callable[[Settled | None], None],
        failed: Callable[[str, Exception], None],
        stopping: asyncio.Event,
    ) -> None:
        """Take what to look after, how to prolong the lease, and whom to tell."""
        self._store = store
        self._instance = instance
        self._launching = launching
        self._membership = membership
        self._settling = settling
        self._sweeping = Sweeping(instance)
        self._beat = beat
        self._swept = swept
        self._failed = failed
        self._stopping = stopping

    async def beat(self) -> None:
        """Prolong the lease until the engine stops, whatever else takes its time."""
        heartbeat_s = self._instance.settings.heartbeat_ms / 1000
        while not self._stopping.is_set():
            renewed = await self._tried(self._beat, "cannot renew the lease just now")
            await time.wait(self._stopping, heartbeat_s if renewed else min(CHECK_S, heartbeat_s))

    async def look_after(self) -> None:
        """Look after runs, and sweep, until the engine stops."""
        loop, settings = asyncio.get_running_loop(), self._instance.settings
        next_sweep = loop.time()
        while not self._stopping.is_set():
            if loop.time() >= next_sweep and await self._tried(self.sweep, "cannot clean up just now"):
                next_sweep = loop.time() + settings.sweep_ms / 1000
            if self._launching.active:
                await time.wait(self._stopping, CHECK_S)
                await self._tried(self.check, "cannot look after runs just now")
            else:
                await self._rest(max(next_sweep - loop.time(), CHECK_S))

    async def _rest(self, seconds: float) -> None:
        """Wait until there is something to look after again, or until the next sweep; a stopping engine has waited."""
        waiting = [asyncio.ensure_future(event.wait()) for event in (self._launching.busy, self._stopping)]
        await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for each in waiting:
            each.cancel()

    async def _tried(self, step: Callable[[], Awaitable[None]], problem: str) -> bool:
        try:
            await step()
        except Exception as error:  # noqa: BLE001 - an engine that stops by itself is the worst that can happen
            self._failed(f"{problem}, trying again", error)
            return False
        return True

    async def mark_started(self) -> None:
        """Say of long runs that they are executing."""
        attempts = self._launching.unmarked()
        if not attempts:
            return
        held = [attempt.held for attempt in attempts]
        await self._write(lambda transaction: transaction.mark_started(held, transaction.now_ms()))
        for attempt in attempts:
            attempt.marked = True
            attempt.row = attempt.row._replace(state=RunState.STARTED)

    async def check(self) -> None:
        """Notice what others have decided about runs that are executed here: cancelled, or taken away."""
        probe, launching = self._instance.probe, self._launching
        probe.count("runs_given_up", launching.give_up(asyncio.get_running_loop().time()))
        await self.mark_started()
        await self._write_progress()
        held = [
            attempt.held
            for attempt in launching.active.values()
            if attempt.marked or attempt.rule.policy.overlap_policy in ("cancel_other", "terminate_other")
        ]
        if not held:
            return
        found = await self._read(lambda transaction: transaction.check_runs(held))
        lost = launching.lost(set(found), held)
        probe.count("leases_lost", len(lost))
        await self._end_by_force([attempt for attempt in lost if attempt.remote])
        for each in held:
            attempt = launching.active.get(each)
            if attempt is not None and attempt.cancelled is None and found.get(attempt.row.id):
                launching.cancel(attempt)

    async def _write_progress(self) -> None:
        """Write down how far runs say that they are, each since the last time."""
        said = [(attempt.held, attempt.progress) for attempt in self._launching.active.values() if attempt.progress]
        if not said:
            return

        def write(transaction: Transaction) -> None:
            now_ms = transaction.now_ms()
            for held, progress in said:
                transaction.renew_runs([held], now_ms, now_ms, progress)

        await self._write(write)
        for held, progress in said:
            attempt = self._launching.active.get(held)
            if attempt is not None and attempt.progress == progress:
                attempt.progress = None

    async def _end_by_force(self, lost: list[Attempt]) -> None:
        """Of remote runs that are ours no more, end those that were terminated; others look after the rest."""
        for attempt in lost:
            row = await self._read(partial(_row_of, run=attempt.row.id))
            if row is not None and row.state == RunState.TERMINATED and row.attempt == attempt.row.attempt:
                self._launching.terminate(attempt)

    async def sweep(self) -> None:
        """Clean up: zombies, and what is older than its retention."""
        outcomes = await self._read(self._sweeping.zombies)
        settled = None
        if outcomes:
            settled = await self._membership.lead(lambda transaction: self._settling.settle(transaction, outcomes))
            self._instance.probe.count("zombies_cleaned", len(settled.accepted))
        self._swept(settled)
        await self._expire()

    async def _expire(self) -> None:
        """Forget what is older than its retention, some rows in a transaction, until nothing is."""
        after: int | None = 0
        while after is not None and not self._stopping.is_set():
            after = await self._write(partial(self._sweeping.expire_runs, after=after))
        while await self._write(self._sweeping.expire) and not self._stopping.is_set():
            pass

    async def _write(self, work: Work[T]) -> T:
        return await answer_of(self._store.write(work))

    async def _read(self, work: Work[T]) -> T:
        return await answer_of(self._store.read(work))


def _row_of(transaction: Transaction, run: RunId) -> RunRow | None:
    return transaction.run_by_id(run)
