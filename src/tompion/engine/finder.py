"""The finder: sleeps until work is due, then runs the steps that claim it, the most urgent first.

Four frames lie between the loop that wakes up and the claim: ``Finder._run_pass``, ``StepRunner.run``, the transaction
of the step, and ``FireStep.on_time``.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from functools import partial
from typing import TypeVar

from tompion.engine.context import EngineContext
from tompion.engine.execution.launcher import Launcher
from tompion.engine.health import EngineHealth
from tompion.engine.signals import EngineSignals
from tompion.engine.step_runner import StepRunner
from tompion.engine.steps.backfill import BackfillStep
from tompion.engine.steps.fire import FireStep
from tompion.engine.steps.planned import PlannedStep
from tompion.engine.steps.remote_results import RemoteResultsStep
from tompion.engine.steps.rescue import RescueStep
from tompion.engine.steps.result import StepResult
from tompion.engine.steps.settle import SettleStep
from tompion.engine.store_future import await_store
from tompion.model.rows import DueNow
from tompion.runtime.clock import Clock, wait
from tompion.store.base import Store, Transaction, Work

T = TypeVar("T")
RETRY_S = (0.05, 0.2, 1.0)
"""Delays of a loop after the first, the second, and every further failure in a row."""
PREFETCH_MS = 5_000
"""Schedules are compiled this long before they are due."""
MAX_FIRES_AHEAD = 2
"""Number of batches that are fired while one is launched, if the store runs transactions concurrently."""
CATCH_UP_PAUSE_S = 0.1
MAX_BACKFILLS = 100
"""Number of backfills that one step continues."""


class Finder:
    """Finds due work and hands the results of its steps to ``apply``."""

    def __init__(  # noqa: PLR0913 - the parts of one engine
        self,
        store: Store,
        context: EngineContext,
        launcher: Launcher,
        runner: StepRunner,
        signals: EngineSignals,
        *,
        settle: SettleStep,
        clock: Clock,
        health: EngineHealth,
        apply: Callable[[StepResult], None],
    ) -> None:
        self._store = store
        self._context = context
        self._settings = context.settings
        self._launcher = launcher
        self._runner = runner
        self._signals = signals
        self._clock = clock
        self._health = health
        self._apply = apply
        self._tick_s = context.settings.tick_ms / 1000
        self._prefetched_ms: int | None = None
        self.fire_step: FireStep = FireStep(context)
        self._planned_step = PlannedStep(context)
        self._rescue_step = RescueStep(context)
        self._backfill_step = BackfillStep(context)
        self._remote_step = RemoteResultsStep(context, settle)

    async def find(self) -> None:
        """Find work until the engine stops."""
        failures = 0
        while not self._signals.stopping.is_set():
            self._signals.wake.clear()
            try:
                delay = await self._run_pass()
                self._health.record_pass()
                failures = 0
            except Exception as error:  # noqa: BLE001 - the loop must survive any error
                delay = RETRY_S[min(failures, len(RETRY_S) - 1)]
                failures += 1
                self._signals.needs_reconcile = True
                self._health.record_error(error)
                self._context.events.report_failure("cannot fire schedules, will retry", error)
            if delay is not None:
                await wait(self._signals.wake, delay)

    async def _run_pass(self) -> float | None:
        """Do the most urgent work that is due. Return the seconds until more may be due, or None if it is due now."""
        if asyncio.get_running_loop().time() >= self._context.lease_until_s:
            await self._runner.renew_lease()  # this process stood still: without a lease it would launch nothing
        if self._signals.needs_reconcile or self._launcher.withheld:
            await self._reconcile()
        now_ms, due = await self._read(self._read_due_work)
        self._health.record_overdue(due.catch_up)
        free = self._context.concurrency.limit - len(self._launcher.active)
        if self._is_skewed(now_ms) or free <= 0:
            return self._tick_s
        limit = min(free, self._settings.fire_batch)
        if due.on_time:
            fire = partial(self.fire_step.on_time, limit=limit)
            result = await self._fire_ahead(fire, limit, await self._runner.run(fire))
            if result.claimed:
                return None
        self._signals.burst = False
        claimed, is_throttled = await self._run_lower_priority_steps(due, limit)
        if claimed:
            return None
        await self._prefetch(now_ms, due)
        delay = min(self._tick_s, CATCH_UP_PAUSE_S) if is_throttled else self._tick_s
        return delay if due.next_ms is None else min(delay, max(0.0, (due.next_ms - now_ms) / 1000))

    async def _fire_ahead(self, fire: Work[StepResult], limit: int, result: StepResult) -> StepResult:
        """Apply a batch. While batches are full and the store works concurrently, fire the next ones before."""
        self._signals.burst = result.claimed > 0
        ahead: deque[Future[StepResult | None]] = deque()
        try:
            while result.claimed == limit and self._store.is_out_of_process:
                while len(ahead) < MAX_FIRES_AHEAD and self._has_capacity((len(ahead) + 2) * limit):
                    ahead.append(self._store.write(self._runner.in_transaction(fire)))
                self._apply(result)
                if not ahead:
                    return result
                fired: StepResult | None = await await_store(ahead.popleft())
                result = StepResult() if fired is None else fired
                self._health.record_pass()
        finally:
            await self._apply_ahead(ahead)
        self._apply(result)
        return result

    async def _apply_ahead(self, ahead: Iterable[Future[StepResult | None]]) -> None:
        """Apply batches that were fired ahead. If one of them failed, the others are valid all the same."""
        for result in await asyncio.gather(*map(await_store, ahead), return_exceptions=True):
            if isinstance(result, BaseException):
                self._signals.needs_reconcile = True
            elif result is not None:
                self._apply(result)

    async def _run_lower_priority_steps(self, due: DueNow, limit: int) -> tuple[int, bool]:
        """Run the other steps: reports and rescue, planned runs, catch-up, then backfills.

        Return the number of claimed rows, and whether the catch-up rate limit stopped some.
        """
        claimed = 0
        if due.unleased:
            claimed += await self._claim(partial(self._remote_step.due, limit=limit))
            claimed += await self._rescue(limit)
        else:
            self._signals.suspects_wait = False
        if due.planned:
            claimed += await self._claim(partial(self._planned_step.due, limit=limit))
        caught_up = await self._catch_up(limit) if due.catch_up else 0
        claimed += caught_up
        if due.backfills and not claimed:
            claimed += await self._claim(partial(self._backfill_step.due, limit=min(limit, MAX_BACKFILLS)))
        return claimed, due.catch_up and not caught_up

    async def _rescue(self, limit: int) -> int:
        """Claim runs without a live owner. While a suspect is active here, the others wait for its outcome."""
        self._signals.suspects_wait = self._launcher.holds_suspect
        may_claim_suspect = not self._signals.suspects_wait
        return await self._claim(partial(self._rescue_step.claim, limit=limit, may_claim_suspect=may_claim_suspect))

    async def _claim(self, step: Work[StepResult]) -> int:
        result = await self._runner.run(step)
        self._apply(result)
        return result.claimed

    async def _catch_up(self, limit: int) -> int:
        rate = self._context.catchup_rate
        budget = rate.available(asyncio.get_running_loop().time())
        result = await self._runner.run(partial(self.fire_step.catch_up, limit=limit, budget=budget))
        rate.use(result.catchups)
        self._apply(result)
        return 0 if budget == 0 and not result.runs else result.claimed

    async def _reconcile(self) -> None:
        """Start runs that were claimed although the store's answer was lost. No other instance rescues them."""
        async with self._runner.exclusive():
            self._signals.needs_reconcile = False  # first, because a failure below sets it again
            self._launcher.withheld = 0
            held = self._launcher.held_runs()
            unknown = await self._read(lambda transaction: self._rescue_step.unknown(transaction, held))
            if unknown:
                self._apply(await self._runner.run(partial(self._rescue_step.adopt, unknown=unknown), exclusive=True))

    async def _prefetch(self, now_ms: int, due: DueNow) -> None:
        """Compile the schedules that are due soon, while there is time."""
        if due.next_ms is None or due.next_ms > now_ms + PREFETCH_MS or due.next_ms == self._prefetched_ms:
            return
        self._prefetched_ms = due.next_ms
        limit = self._settings.max_active_launches

        def prefetch(transaction: Transaction) -> None:
            pairs = transaction.state_list_upcoming(now_ms, now_ms + PREFETCH_MS, limit)
            self._context.schedules.of_versions(transaction, pairs)

        await self._read(prefetch)

    def _has_capacity(self, runs: int) -> bool:
        active = len(self._launcher.active) + runs
        return active <= self._context.concurrency.limit and not self._signals.stopping.is_set()

    def _read_due_work(self, transaction: Transaction) -> tuple[int, DueNow]:
        now_ms = transaction.now_ms()
        return now_ms, transaction.work_due(now_ms, now_ms - self._settings.misfire_grace_ms)

    def _is_skewed(self, now_ms: int) -> bool:
        """Return whether the clock of this machine differs too much from the database's to fire anything."""
        context = self._context
        context.skew_ms = int(self._clock.now() * 1000) - now_ms
        is_skewed = abs(context.skew_ms) > self._settings.max_clock_skew_ms
        if is_skewed:
            context.events.count("skewed_passes")
            context.events.warn(
                f"the clock of this machine differs from the database's by {context.skew_ms} ms: no schedule fires "
                "here until it is corrected"
            )
        return is_skewed

    async def _read(self, work: Work[T]) -> T:
        return await await_store(self._store.read(work))
