"""One engine: builds the loops of an instance, applies the results of their steps, and shuts down gracefully.

The loops share the store and the signals. The finder claims due work, the outcome writer settles runs, maintenance
renews the lease and cleans up. Every step can be repeated, so a loop simply retries after a store error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from tompion.config.settings import Settings
from tompion.engine.context import EngineContext
from tompion.engine.execution.launcher import Launcher
from tompion.engine.execution.target_outages import TargetOutages
from tompion.engine.execution.workflow_lookup import WorkflowLookup
from tompion.engine.finder import Finder
from tompion.engine.health import EngineHealth
from tompion.engine.instance_watch import InstanceWatch
from tompion.engine.lease import Lease
from tompion.engine.loop_watchdog import LoopWatchdog
from tompion.engine.maintenance import Maintenance
from tompion.engine.notifications.delivery import NotificationDispatcher, NotificationSender
from tompion.engine.notifications.ping import HealthcheckPing, Pinger
from tompion.engine.outcome_writer import OutcomeWriter
from tompion.engine.signals import EngineSignals
from tompion.engine.step_runner import StepRunner
from tompion.engine.steps.result import StepResult
from tompion.engine.steps.settle import SettleStep
from tompion.engine.steps.transactional import TransactionalStep
from tompion.engine.steps.tzdata_replan import ReplanLoop, report_replanned
from tompion.engine.supervisor import LoopFunction, Supervisor
from tompion.engine.telemetry.events import EngineEvents
from tompion.engine.telemetry.telemetry import Telemetry
from tompion.errors import TompionError
from tompion.executors.base import Executor
from tompion.runtime.clock import Clock, pause, wait
from tompion.store.base import Store

if TYPE_CHECKING:
    from tompion.engine.telemetry.tracing import Tracing

DRAIN_S = 0.5
"""Interval at which outcomes are written while the engine stops."""


class Engine:
    """Runs the schedules of a store until it is stopped.

    ``executors`` are the executors by kind. ``sender`` delivers notifications and ``pinger`` reports to an external
    monitor that this process is healthy. Nothing starts before :meth:`start`.
    """

    def __init__(  # noqa: PLR0913 - the parts of an engine, most of them optional
        self,
        store: Store,
        executors: dict[str, Executor],
        *,
        clock: Clock,
        settings: Settings | None = None,
        queues: frozenset[str] = frozenset({"default"}),
        name: str = "",
        release: str = "",
        events: EngineEvents | None = None,
        tracing: Tracing | None = None,
        sender: NotificationSender | None = None,
        pinger: Pinger | None = None,
        public_url: str | None = None,
        watch_loop: bool = False,
    ) -> None:
        self.settings: Settings = settings or Settings()
        self.events: EngineEvents = events or EngineEvents()
        context = EngineContext(
            self.settings,
            self.events,
            queues,
            tracing=tracing,
            notification_rules=() if sender is None else sender.rules,
            public_url=public_url,
        )
        self.context: EngineContext = context
        signals = EngineSignals()
        self.signals: EngineSignals = signals
        self.health: EngineHealth = EngineHealth(context)
        outages = TargetOutages(lambda: int(clock.now() * 1000) - context.skew_ms, self.settings)
        launcher = Launcher(context, executors, WorkflowLookup(store), pause, outages)
        self.launcher: Launcher = launcher
        self._store = store
        self._executors = executors
        self._sender, self._pinger = sender, pinger
        self._telemetry = Telemetry(context, clock)
        settle = SettleStep(context)
        self.lease: Lease = Lease(store, context, name, release, launcher.drop_all)
        self._watchdog = LoopWatchdog(context, self.lease) if watch_loop else None
        self.watch: InstanceWatch = InstanceWatch(store, context, self.lease, signals)
        runner = StepRunner(store, context, self.lease, TransactionalStep(context, executors, settle))
        self.runner: StepRunner = runner
        self.maintenance: Maintenance = Maintenance(
            store, context, launcher, self.lease, runner, signals, settle=settle, apply=self.apply
        )
        self.finder: Finder = Finder(
            store, context, launcher, runner, signals, settle=settle, clock=clock, health=self.health, apply=self.apply
        )
        self.outcome_writer: OutcomeWriter = OutcomeWriter(
            store, context, launcher, runner, signals, settle=settle, maintenance=self.maintenance, apply=self.apply
        )
        self.supervisor: Supervisor = Supervisor(signals.stopping, self.events)
        self._unsubscribe: Callable[[], None] = lambda: None
        self._add_gauges(outages)

    def _add_gauges(self, outages: TargetOutages) -> None:
        self.events.metrics.gauges.update(
            runs_active=lambda: len(self.launcher.active),
            clock_skew_seconds=lambda: self.context.skew_ms / 1000,
            targets_unreachable=outages.count,
            overdue_seconds=lambda: self.health.overdue_s,
        )

    def apply(self, result: StepResult) -> None:
        """Act on a committed step: start and end runs, record telemetry, wake the finder."""
        launcher = self.launcher
        if result.discarded:
            launcher.discard(result.discarded, result.now_ms)
        if result.launches:
            launcher.start(result.launches, result.now_ms)
        if result.to_end:  # after the launches, because the step may end a run that it has also started
            launcher.end(result.to_end)
        self._telemetry.record(result)
        if result.replanned:
            report_replanned(self.events, result.replanned)
        if result.outcomes:
            is_full = len(launcher.active) + len(result.outcomes) >= self.context.concurrency.limit
            if result.launches or result.retried or is_full or self.signals.suspects_wait:
                self.signals.wake.set()

    async def start(self) -> None:
        """Register this instance and start its loops."""
        loop = asyncio.get_running_loop()
        await self.lease.register()
        self.health.start()
        if self._watchdog is not None:
            self._watchdog.start()
        self._unsubscribe = self._store.subscribe(self._waker(loop))
        for function in self._loops():
            self.supervisor.run(function)

    def _loops(self) -> list[LoopFunction]:
        """Return the loops of this engine. Each runs until the engine stops."""
        store, context, signals = self._store, self.context, self.signals
        loops: list[LoopFunction] = [
            self.finder.find,
            self.outcome_writer.write,
            self.maintenance.heartbeat,
            self.maintenance.seal_audit,
            self.maintenance.watch_runs,
            ReplanLoop(store, context, signals).replan,
        ]
        if store.knows_presence:
            loops.append(self.watch.watch)
        if self._sender is not None:
            loops += [
                NotificationDispatcher(store, context, self._sender, rule, signals.stopping).deliver
                for rule in self._sender.rules
            ]
        if self._pinger is not None:
            ping = HealthcheckPing(store, self.health.problems, self._pinger, self.events, signals.stopping)
            loops.append(ping.ping)
        return loops

    def _waker(self, loop: asyncio.AbstractEventLoop) -> Callable[[], None]:
        def wake() -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(self.signals.wake_all)

        return wake

    async def stop(self, grace_s: float | None = None) -> None:
        """Stop gracefully: claim nothing more, wait for runs during the grace period, hand back the others."""
        self.signals.stopping.set()
        self.signals.wake.set()
        if self._watchdog is not None:
            self._watchdog.stop()
        self.launcher.ready.set()
        self._unsubscribe()
        self._unsubscribe = lambda: None
        await self.supervisor.wait_ended()  # a claim that was under way is applied by now
        await self._drain(self.settings.shutdown_grace_ms / 1000 if grace_s is None else grace_s)
        await self._hand_back_and_release()
        for executor in self._executors.values():
            await executor.aclose()
        for part in (self._sender, self._pinger):
            if part is not None:
                await part.aclose()

    async def _drain(self, grace_s: float) -> None:
        """Wait for runs to end, write their outcomes, and renew the lease meanwhile."""
        loop = asyncio.get_running_loop()
        end = loop.time() + grace_s
        next_heartbeat = loop.time() + self.settings.heartbeat_ms / 1000
        while self.launcher.active and loop.time() < end:
            await wait(self.launcher.idle, min(DRAIN_S, end - loop.time()))
            try:
                while self.launcher.outcomes:
                    await self.outcome_writer.write_batch()
                if loop.time() >= next_heartbeat:
                    next_heartbeat = loop.time() + self.settings.heartbeat_ms / 1000
                    await self.maintenance.renew_lease()
            except Exception as error:  # noqa: BLE001 - the shutdown must survive any error
                self.events.report_failure("cannot write outcomes while stopping", error)

    async def _hand_back_and_release(self) -> None:
        """Write the last outcomes, hand back the runs that are left, and release the lease."""
        abandoned_runs = await self.launcher.abandon()
        try:
            while self.launcher.outcomes:
                await self.outcome_writer.write_batch()
            await self.outcome_writer.hand_back(abandoned_runs)
            await self.lease.release()
        except TompionError as error:
            self.events.warn(f"stopped without releasing the lease, which will expire by itself: {error}")
