"""The outcome writer: settles the outcomes of runs in batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tompion.engine.context import EngineContext
from tompion.engine.execution.launcher import Launcher
from tompion.engine.finder import RETRY_S
from tompion.engine.maintenance import CHECK_S, Maintenance
from tompion.engine.signals import EngineSignals
from tompion.engine.step_runner import StepRunner
from tompion.engine.steps.result import StepResult
from tompion.engine.steps.settle import SettleStep
from tompion.engine.store_future import await_store
from tompion.model.rows import HeldRun
from tompion.plan.outcome import Outcome
from tompion.runtime.clock import pause, wait
from tompion.store.base import Store, Transaction

MAX_BURST_WAIT_S = 0.5
"""Outcomes wait at most this long while more ticks are due than one transaction claims."""
BURST_POLL_S = MAX_BURST_WAIT_S / 20


class OutcomeWriter:
    """Writes the outcomes that the launcher collects, and hands the results to ``apply``."""

    def __init__(  # noqa: PLR0913 - the parts of one engine
        self,
        store: Store,
        context: EngineContext,
        launcher: Launcher,
        runner: StepRunner,
        signals: EngineSignals,
        *,
        settle: SettleStep,
        maintenance: Maintenance,
        apply: Callable[[StepResult], None],
    ) -> None:
        self._store = store
        self._context = context
        self._settings = context.settings
        self._launcher = launcher
        self._runner = runner
        self._signals = signals
        self._settle_step = settle
        self._maintenance = maintenance
        self._apply = apply

    async def write(self) -> None:
        """Write outcomes until the engine stops."""
        failures = 0
        while not self._signals.stopping.is_set():
            is_ready = True
            if not self._launcher.outcomes:
                self._launcher.ready.clear()
                is_ready = await wait(self._launcher.ready, self._poll_s())
            try:
                if self._launcher.outcomes:
                    await self._gather()
                    await self.write_batch()
                elif not is_ready:
                    await self._maintenance.mark_started()
                failures = 0
            except Exception as error:  # noqa: BLE001 - the loop must survive any error
                failures += 1
                self._context.events.report_failure("cannot write outcomes, will retry", error)
                await pause(RETRY_S[min(failures, len(RETRY_S)) - 1])

    def _poll_s(self) -> float:
        """Return how long to wait for outcomes before long runs are marked as started."""
        if not self._launcher.active:
            return self._settings.sweep_ms / 1000
        return CHECK_S / 2 if self._launcher.unmarked() else CHECK_S

    async def _gather(self) -> None:
        """Wait a moment for more outcomes, and longer while ticks are due: those go first."""
        gather_s = self._settings.settle_gather_ms / 1000
        if gather_s and len(self._launcher.outcomes) < self._settings.settle_batch:
            await pause(gather_s)
        waited_s = 0.0
        while self._signals.burst and waited_s < MAX_BURST_WAIT_S and not self._signals.stopping.is_set():
            await pause(BURST_POLL_S)
            waited_s += BURST_POLL_S

    async def write_batch(self) -> None:
        """Write one batch of outcomes. If the store fails, they stay and are written again."""
        outcomes = self._launcher.take(self._settings.settle_batch)
        try:
            await self._write(outcomes)
        except Exception as error:
            self._signals.needs_reconcile = True
            if getattr(error, "retryable", False):
                self._launcher.put_back(outcomes)
                raise
            await self._write_one_by_one(outcomes)
        self._launcher.forget_taken()

    async def _write_one_by_one(self, outcomes: Sequence[Outcome]) -> None:
        """Write each outcome alone, so that one that cannot be written does not block the others.

        The run of such an outcome is rescued when the lease ends.
        """
        for index, outcome in enumerate(outcomes):
            try:
                await self._write([outcome])
            except Exception as error:
                if getattr(error, "retryable", False):
                    self._launcher.put_back(outcomes[index:])
                    raise
                self._context.events.report_error(f"the outcome of {outcome.id} cannot be written", error)

    async def _write(self, outcomes: Sequence[Outcome]) -> None:
        result = await self._runner.run(lambda transaction: self._settle_step.settle(transaction, outcomes))
        if not self._signals.stopping.is_set():
            self._apply(result)
            return
        freed, result.launches = result.launches, []
        self._apply(result)
        await self.hand_back([(*row.id, row.attempt) for row, _ in freed])

    async def hand_back(self, held: Sequence[HeldRun]) -> None:
        """Give up runs that this instance will not execute, so that others claim them at once."""

        def hand_back(transaction: Transaction) -> None:
            transaction.run_hand_back(held, transaction.now_ms())
            transaction.notify()

        if held:
            await await_store(self._store.write(hand_back))
