"""Maintenance loops: heartbeat, audit chain, run watcher and sweep."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

from tompion.engine.context import EngineContext
from tompion.engine.execution.attempt import Attempt
from tompion.engine.execution.launcher import Launcher
from tompion.engine.lease import Lease
from tompion.engine.signals import EngineSignals
from tompion.engine.step_runner import StepRunner
from tompion.engine.steps import audit
from tompion.engine.steps.result import StepResult
from tompion.engine.steps.settle import SettleStep
from tompion.engine.steps.sweep import SweepStep
from tompion.engine.store_future import await_store
from tompion.model.rows import HeldRun
from tompion.model.run import RunId, RunRow, RunState
from tompion.runtime.clock import wait
from tompion.store.base import Store, Transaction, Work

T = TypeVar("T")
CHECK_S = 1.0
"""Interval at which an engine checks its active runs."""
CHANGE_DELAY_S = 0.02
"""Delay between a change of the store and the check, so that several changes need only one check."""
MAX_RUNS_CHECKED_ON_CHANGE = 1_000
"""Above this number of active runs, they are checked only at the interval, not on every change of the store."""
INTERRUPTING_POLICIES = ("cancel_other", "terminate_other")


class Maintenance:
    """Background loops: heartbeat, audit hash chain, run watcher and sweeper."""

    def __init__(  # noqa: PLR0913 - the parts of one engine
        self,
        store: Store,
        context: EngineContext,
        launcher: Launcher,
        lease: Lease,
        runner: StepRunner,
        signals: EngineSignals,
        *,
        settle: SettleStep,
        apply: Callable[[StepResult], None],
    ) -> None:
        self._store = store
        self._context = context
        self._launcher = launcher
        self._lease = lease
        self._runner = runner
        self._settle_step = settle
        self._sweep_step = SweepStep(context)
        self._apply = apply
        self._signals = signals
        self._stopping = signals.stopping

    # --- lease and audit ------------------------------------------------------------------------------------------

    async def heartbeat(self) -> None:
        """Renew the lease until the engine stops. No other work may delay this loop."""
        heartbeat_s = self._context.settings.heartbeat_ms / 1000
        while not self._stopping.is_set():
            renewed = await self._run_and_report(self.renew_lease, "cannot renew the lease")
            await wait(self._stopping, heartbeat_s if renewed else min(CHECK_S, heartbeat_s))

    async def renew_lease(self) -> None:
        """Renew the lease once, and share the catch-up rate between the live instances."""
        self._context.catchup_rate.instances = max(1, await self._lease.renew())

    async def seal_audit(self) -> None:
        """Add audit rows to their hash chains until the engine stops."""
        while not await wait(self._stopping, self._context.settings.audit_seal_ms / 1000):
            await self._run_and_report(self._seal_all, "cannot seal the audit rows")

    async def _seal_all(self) -> None:
        while await self._write(audit.seal) and not self._stopping.is_set():
            pass

    # --- active runs ----------------------------------------------------------------------------------------------

    async def watch_runs(self) -> None:
        """Check active runs and sweep until the engine stops."""
        loop, settings = asyncio.get_running_loop(), self._context.settings
        store_changed = self._signals.store_changed
        next_sweep, next_check = loop.time(), loop.time() + CHECK_S
        while not self._stopping.is_set():
            if loop.time() >= next_sweep and await self._run_and_report(self.sweep, "cannot clean up"):
                next_sweep = loop.time() + settings.sweep_ms / 1000
            if not self._launcher.active:
                await self._wait_any(self._launcher.busy, max(next_sweep - loop.time(), CHECK_S))
                next_check = loop.time() + CHECK_S
                store_changed.clear()  # changes before the first active run do not concern this engine
                continue
            await self._wait_any(store_changed, next_check - loop.time())
            if loop.time() >= next_check:
                await self._run_and_report(self.check, "cannot check active runs")
                next_check = loop.time() + CHECK_S
            elif not await wait(self._stopping, CHANGE_DELAY_S):
                await self._run_and_report(self._check_after_change, "cannot check active runs")

    async def _check_after_change(self) -> None:
        """Check active runs at once after a change of the store, if they are not too many."""
        self._signals.store_changed.clear()
        if len(self._launcher.active) <= MAX_RUNS_CHECKED_ON_CHANGE:
            await self._check_held([attempt.held for attempt in self._launcher.active.values()])

    async def _wait_any(self, event: asyncio.Event, seconds: float) -> None:
        """Wait for an event or the end of the engine, but no longer than some seconds."""
        waiting = [asyncio.ensure_future(awaited.wait()) for awaited in (event, self._stopping)]
        await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for future in waiting:
            future.cancel()

    async def _run_and_report(self, action: Callable[[], Awaitable[None]], problem: str) -> bool:
        """Run an action. Report an error instead of raising it. Return whether the action succeeded."""
        try:
            await action()
        except Exception as error:  # noqa: BLE001 - the loop must survive any error
            self._context.events.report_failure(f"{problem}, will retry", error)
            return False
        return True

    async def mark_started(self) -> None:
        """Write the state STARTED for runs that take longer."""
        attempts = self._launcher.unmarked()
        if not attempts:
            return
        held = [attempt.held for attempt in attempts]
        await self._write(lambda transaction: transaction.run_mark_started(held, transaction.now_ms()))
        for attempt in attempts:
            attempt.row = attempt.row._replace(state=RunState.STARTED)

    async def check(self) -> None:
        """Give up overdue attempts, mark long runs as started, write progress, and look for cancellations."""
        launcher = self._launcher
        self._context.events.count("runs_given_up", launcher.give_up(asyncio.get_running_loop().time()))
        await self.mark_started()
        await self._write_progress()
        held = [
            attempt.held
            for attempt in launcher.active.values()
            if attempt.is_marked or attempt.compiled.policy.overlap_policy in INTERRUPTING_POLICIES
        ]
        await self._check_held(held)

    async def _check_held(self, held: list[HeldRun]) -> None:
        """Cancel attempts whose run was cancelled, and drop those whose run another instance owns."""
        launcher = self._launcher
        if not held:
            return
        cancel_requested_by_run = await self._read(lambda transaction: transaction.run_check_held(held))
        lost = launcher.drop_lost(set(cancel_requested_by_run), held)
        self._context.events.count("leases_lost", len(lost))
        await self._terminate_remote([attempt for attempt in lost if attempt.is_remote])
        for run in held:
            attempt = launcher.active.get(run)
            if attempt is not None and not attempt.is_cancelled and cancel_requested_by_run.get(attempt.row.id):
                launcher.cancel(attempt)

    async def _write_progress(self) -> None:
        """Write the progress that runs have reported since the last time."""
        reports = [(attempt.held, attempt.progress) for attempt in self._launcher.active.values() if attempt.progress]
        if not reports:
            return

        def write(transaction: Transaction) -> None:
            now_ms = transaction.now_ms()
            for held, progress in reports:
                transaction.run_renew_remote([held], now_ms, now_ms, progress)

        await self._write(write)
        for held, progress in reports:
            attempt = self._launcher.active.get(held)
            if attempt is not None and attempt.progress == progress:
                attempt.progress = None

    async def _terminate_remote(self, lost: list[Attempt]) -> None:
        """Terminate lost remote runs at their target if their state is TERMINATED. Other instances own the rest."""
        for attempt in lost:
            row = await self._read(partial(_run, run=attempt.row.id))
            if row is not None and row.state == RunState.TERMINATED and row.attempt == attempt.row.attempt:
                self._launcher.terminate(attempt)

    # --- sweep ----------------------------------------------------------------------------------------------------

    async def sweep(self) -> None:
        """Fail zombie runs, delete expired rows, and let the finder reconcile."""
        outcomes = await self._read(self._sweep_step.zombies)
        if outcomes:
            result = await self._runner.run(lambda transaction: self._settle_step.settle(transaction, outcomes))
            self._context.events.count("zombies_cleaned", len(result.accepted))
            self._apply(result)
        self._signals.needs_reconcile = True
        await self._expire()

    async def _expire(self) -> None:
        """Delete expired rows batch by batch, each batch in its own transaction."""
        after: int | None = 0
        while after is not None and not self._stopping.is_set():
            after = await self._write(partial(self._sweep_step.expire_runs, after=after))
        while await self._write(self._sweep_step.expire) and not self._stopping.is_set():
            pass

    async def _write(self, work: Work[T]) -> T:
        return await await_store(self._store.write(work))

    async def _read(self, work: Work[T]) -> T:
        return await await_store(self._store.read(work))


def _run(transaction: Transaction, run: RunId) -> RunRow | None:
    return transaction.run_get(run)
