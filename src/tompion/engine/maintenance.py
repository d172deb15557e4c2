"""Keeping alive: the lease, by itself; what others have decided about runs that are executed here, and cleaning up."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

from tompion.engine.context import EngineContext
from tompion.engine.execution.attempt import Attempt
from tompion.engine.execution.launcher import Launcher
from tompion.engine.lease import Lease, answer_of
from tompion.engine.steps import audit
from tompion.engine.steps.result import Settled
from tompion.engine.steps.settle import SettleStep
from tompion.engine.steps.sweep import SweepStep
from tompion.model.rows import HeldRun
from tompion.model.run import RunId, RunRow, RunState
from tompion.plan.outcome import Outcome
from tompion.runtime import clock
from tompion.store.base import Store, Transaction, Work

T = TypeVar("T")
CHECK_S = 1.0
"""How often an engine looks after its runs, while it has some."""
STIRRED_S = 0.02
"""How long it waits for more after the store has said that something has changed, before it looks at once."""
MAX_WATCHED_ON_CHANGE = 1_000
"""So many runs are looked at whenever something has changed; more only at the usual times."""


class Maintenance:
    """Loops: one prolongs the lease and nothing else, one seals the audit, one looks for cancellations and sweeps."""

    def __init__(  # noqa: PLR0913 - what it looks after
        self,
        store: Store,
        instance: EngineContext,
        launching: Launcher,
        membership: Lease,
        settling: SettleStep,
        *,
        beat: Callable[[], Awaitable[None]],
        swept: Callable[[list[Outcome], Settled | None], None],
        failed: Callable[[str, Exception], None],
        stopping: asyncio.Event,
    ) -> None:
        """Take what to look after, how to prolong the lease, and whom to tell."""
        self._store = store
        self._instance = instance
        self._launching = launching
        self._membership = membership
        self._settling = settling
        self._sweeping = SweepStep(instance)
        self._beat = beat
        self._swept = swept
        self._failed = failed
        self._stopping = stopping
        self.stirred = asyncio.Event()

    async def beat(self) -> None:
        """Prolong the lease until the engine stops, whatever else takes its time."""
        heartbeat_s = self._instance.settings.heartbeat_ms / 1000
        while not self._stopping.is_set():
            renewed = await self._tried(self._beat, "cannot renew the lease just now")
            await clock.wait(self._stopping, heartbeat_s if renewed else min(CHECK_S, heartbeat_s))

    async def seal(self) -> None:
        """Put audit rows into their chains until the engine stops."""
        while not await clock.wait(self._stopping, self._instance.settings.audit_seal_ms / 1000):
            await self._tried(self._seal_all, "cannot put the audit into its chain just now")

    async def _seal_all(self) -> None:
        while await self._write(audit.seal) and not self._stopping.is_set():
            pass

    async def look_after(self) -> None:
        """Look after runs, and sweep, until the engine stops."""
        loop, settings = asyncio.get_running_loop(), self._instance.settings
        next_sweep, next_check = loop.time(), loop.time() + CHECK_S
        while not self._stopping.is_set():
            if loop.time() >= next_sweep and await self._tried(self.sweep, "cannot clean up just now"):
                next_sweep = loop.time() + settings.sweep_ms / 1000
            if not self._launching.active:
                await self._rest(self._launching.busy, max(next_sweep - loop.time(), CHECK_S))
                next_check = loop.time() + CHECK_S
                self.stirred.clear()  # what has changed while nothing ran here is of no interest
                continue
            await self._rest(self.stirred, next_check - loop.time())
            if loop.time() >= next_check:
                await self._tried(self.check, "cannot look after runs just now")
                next_check = loop.time() + CHECK_S
            elif not await clock.wait(self._stopping, STIRRED_S):
                await self._tried(self._look_at_once, "cannot look after runs just now")

    async def _look_at_once(self) -> None:
        """Notice what others have just decided, if that is quickly seen."""
        self.stirred.clear()
        if len(self._launching.active) <= MAX_WATCHED_ON_CHANGE:
            await self._check_held([attempt.held for attempt in self._launching.active.values()])

    async def _rest(self, event: asyncio.Event, seconds: float) -> None:
        """Wait for an event, but no longer than that; a stopping engine has waited."""
        waiting = [asyncio.ensure_future(each.wait()) for each in (event, self._stopping)]
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
        await self._write(lambda transaction: transaction.run_mark_started(held, transaction.now_ms()))
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
            if attempt.marked or attempt.compiled.policy.overlap_policy in ("cancel_other", "terminate_other")
        ]
        await self._check_held(held)

    async def _check_held(self, held: list[HeldRun]) -> None:
        probe, launching = self._instance.probe, self._launching
        if not held:
            return
        found = await self._read(lambda transaction: transaction.run_check_held(held))
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
                transaction.run_renew_remote([held], now_ms, now_ms, progress)

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
        self._swept(outcomes, settled)
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
    return transaction.run_get(run)
