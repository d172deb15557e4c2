"""The scenario of one seed: instances, schedules, users and injected faults, in virtual time.

Faults are injected during the first phase. Every problem that remains some minutes after the last fault is a violation.
"""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from hashlib import sha256
from random import Random
from typing import Any, NamedTuple, TypeVar

from tests.simulation.checkers import check
from tests.simulation.ledger import Evidence, read_ledger
from tests.simulation.observed_store import ObservedStore
from tests.simulation.observer import Observer
from tests.simulation.workload import (
    SERVED_BY_ALL,
    SERVED_BY_ONE,
    Request,
    draw_cancellations,
    draw_fields,
    draw_outages,
    draw_requests,
    edits_without_change,
    is_rejection,
)
from tompion.config.settings import Settings
from tompion.engine.engine import Engine
from tompion.engine.telemetry.events import EngineEvents
from tompion.errors import TargetUnreachable
from tompion.executors.base import Accepted, Completed, RunContext
from tompion.model.callback_token import CALLBACKS
from tompion.model.notification import Delivery, NotificationKind, NotificationRule
from tompion.model.run import RunId, RunState
from tompion.operations.context import OperationContext
from tompion.operations.resources import targets
from tompion.operations.schedules import crud
from tompion.runtime import clock
from tompion.runtime.clock import pause
from tompion.store.base import Transaction
from tompion.store.sqlite.driver import SqliteStore
from tompion.testing.executor import Execution, RecordingExecutor
from tompion.testing.faults import Fault, FaultyStore, InjectedFault
from tompion.testing.virtual_loop import Stuck, VirtualLoop

T = TypeVar("T")
BEGIN = 1_774_746_000.0  # 2026-03-29T01:00:00Z, when the clocks in Berlin go forward
FAULTS_S = 330.0
RECOVERY_S = 240.5
"""Not a whole second, so that no tick is due at the end."""
CALM_S = 100.0
"""Time after the last fault until all instances work normally: longer than an absence and a freeze."""
TAKEOVER_S = 5.0
"""Time in which others take over the runs of a process that has ended."""
LONG_ABSENCE_S = 180.0
"""Long enough for the other instances to fail a run whose worker is gone."""
SETTINGS = Settings(
    tick_ms=4_000,
    misfire_grace_ms=10_000,
    lookahead_ms=20_000,
    max_catchup_per_tick=3,
    catchup_rate_per_s=50,
    max_buffer=4,
    max_dropped_range_ticks=7,
    fire_batch=3,
    settle_batch=3,
    lock_ttl_ms=20_000,
    heartbeat_ms=6_000,
    sweep_ms=60_000,
    audit_seal_ms=86_400_000,  # sweeps seal the audit log too, and need no further call that could fail
    zombie_after_ms=60_000,
    backfills_per_iteration=2,
    max_clock_skew_ms=600_000,
    max_pickups=50,
    shutdown_grace_ms=5_000,
    notification_timeout_ms=10_000,
    notification_retry_ms=2_000,
)

SECRET = bytes.fromhex("7468652073616d6520696e2065766572792073746f7279").decode()
"""Signing secret of every scenario. Another value changes the scenario of each seed."""
CRASHES = (Fault.CRASH_BEFORE, Fault.CRASH_AFTER)
LAUNCHED = "launched once committed"
UNEXPECTED_ERROR = "unexpected error: "
"""Prefix of a violation that no checker reports: the engine caught an exception that it does not expect."""


class CountingEvents(EngineEvents):
    """Counts warnings, which faults cause all the time, and reports unexpected errors as violations."""

    def __init__(self, violations: list[str]) -> None:
        super().__init__()
        self._violations = violations

    def warn(self, text: str) -> None:
        self.count("warnings")

    def report_error(self, what: str, error: Exception) -> None:
        self._violations.append(f"{UNEXPECTED_ERROR}{what}: {error!r}")


class FlakyReceiver:
    """Receives notifications of failures and missed ticks. It is slow or fails while faults are injected."""

    rules = (NotificationRule("ops", frozenset({NotificationKind.FAILED, NotificationKind.MISSED}), max_per_minute=3),)

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario

    async def send(self, rule_name: str, notification_id: str, body: bytes) -> Delivery:
        scenario = self._scenario
        random = Random(f"{scenario.seed}/{notification_id}/{scenario.clock.now()}")
        await pause(random.choice((0.0, 0.5, 8.0)))
        scenario.received.append((notification_id, body))
        return Delivery(not scenario.injects_faults or random.random() < 0.6, "drawn")

    async def aclose(self) -> None:
        """Do nothing, because the receiver has no resources."""


class FragileExecutor(RecordingExecutor):
    """Records every run, except while its target is down. ``outages`` are the seconds from and until which it is."""

    outages: tuple[tuple[float, float], ...] = ()

    async def run(self, dag: Any, meta: RunContext) -> Completed | Accepted:
        second = asyncio.get_running_loop().time()
        if any(start <= second < end for start, end in self.outages):
            raise TargetUnreachable("the target is down")
        return await super().run(dag, meta)


class Verdict(NamedTuple):
    """The result of a scenario."""

    seed: int
    violations: list[str]
    faults: Counter[str]
    reached: Counter[str]
    commits: int
    digest: str


class SimClock:
    """The host's clock: virtual time plus an offset, which is not zero while the clock is set wrong."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self.offset_s = 0.0

    def now(self) -> float:
        return BEGIN + self._loop.time() + self.offset_s


class Scenario:
    """The instances, schedules, users and faults of one seed."""

    def __init__(self, seed: int, loop: VirtualLoop) -> None:
        self.seed = seed
        self.random = Random(seed)
        self.clock = SimClock(loop)
        self.real = SqliteStore(clock=self.clock, inline=True)
        # The ids of notifications derive from the secret, and the order of delivery follows the ids.
        self.real.write(lambda transaction: transaction.secret_get_or_create(CALLBACKS, SECRET)).result()
        self.is_out_of_process = self.random.random() < 0.3
        self.settings = replace(
            SETTINGS,
            max_pickups=self.random.choice((50, 50, 2)),
            fire_batch=1 if self.is_out_of_process else SETTINGS.fire_batch,
        )
        self.observer = Observer(self.real, lambda: int(self.clock.now() * 1000), self.settings)
        self.store = ObservedStore(self.real, self.observer.committed)
        self.observer.present = self.store.present
        self.executions: list[Execution] = []
        self.freezes = Random(f"{seed}/freezes")
        self.freeze_rate = self.freezes.choice((0.0, 0.0, 0.0, 0.01, 0.03))
        self.crashing_share = Random(f"{seed}/crashing").choice((0.0, 0.0, 0.0, 0.02, 0.1))
        self.outages = draw_outages(seed, FAULTS_S)
        self.faults: Counter[str] = Counter()
        self.accepted: list[str] = []
        self.unchanged: set[str] = set()
        self.received: list[tuple[str, bytes]] = []
        self.limits: dict[str, int] = {}
        self.alive: dict[Engine, Callable[[], None]] = {}
        self.held: set[tuple[int, int, int]] = set()
        self.injects_faults = True
        self.clock_lead_s = 0.0
        self.fault_rate = self.random.choice((0.0, 0.01, 0.04, 0.1))
        self.has_long_absence = self.random.random() < 0.4
        self.names = [f"schedule-{number}" for number in range(self.random.randint(2, 4))]

    # --- faults ---------------------------------------------------------------------------------------------------

    def draw_fault(self, kind: str) -> InjectedFault:
        if not self.injects_faults or self.random.random() >= self.fault_rate:
            return InjectedFault(Fault.NONE)
        fault = self.random.choice(
            (Fault.BEFORE, Fault.LOST_RESPONSE, Fault.BUSY, Fault.DISK_FULL, Fault.STALL, Fault.CRASH_BEFORE,
             Fault.CRASH_AFTER)
        )  # fmt: skip
        self.faults[fault] += 1
        return InjectedFault(fault, self.random.choice((1.0, 8.0, 30.0)))

    def draw_fault_of_instance(self, kind: str) -> InjectedFault:
        """Return the fault of a call, or a freeze of the whole process. Freezes have a generator of their own."""
        if kind == "write" and self.injects_faults and self.freezes.random() < self.freeze_rate:
            self.faults[Fault.FREEZE] += 1
            return InjectedFault(Fault.FREEZE, self.freezes.choice((8.0, 30.0, 60.0)))
        return self.draw_fault(kind)

    def executor_of(self, crash: Callable[[], None]) -> RecordingExecutor:
        """Return the executor of an instance. Some runs call ``crash`` when they are launched."""

        def launch(run_context: RunContext) -> tuple[float, Completed]:
            plan = self._check_launch(run_context)
            if self.injects_faults and self.kills_its_worker(run_context.run_id):
                self.faults["crashing_run"] += 1
                crash()
            return plan

        executor = FragileExecutor(self.clock.now, launch)
        executor.outages = self.outages
        executor.executions = self.executions
        return executor

    def kills_its_worker(self, run_id: str) -> bool:
        """Return whether a run ends the process that executes it. Its own generator keeps the other draws unchanged."""
        return self.crashing_share > 0 and Random(f"{self.seed}/{run_id}/crash").random() < self.crashing_share

    def _check_launch(self, launch: RunContext) -> tuple[float, Completed]:
        """Return the plan of a launch. Report a violation if the ledger does not have the attempt yet."""
        run = RunId(*map(int, launch.run_id.split("-")))
        row = self.observer.last.runs.get(run) or self.observer.finals.get(run)
        if run.schedule_key in self.observer.last.states and (row is None or row.attempt < launch.attempt):
            self.observer.violations.append(f"{LAUNCHED}: {run} as attempt {launch.attempt}")
        if row is not None:
            self.observer.check_launch(row, launch.attempt)
        return self.plan(launch.run_id, launch.attempt)

    def plan(self, run_id: str, attempt: int) -> tuple[float, Completed]:
        """Return the duration and the outcome of an attempt, the same on every call."""
        random = Random(f"{self.seed}/{run_id}/{attempt}")
        seconds = random.choice((0.0, 0.0, 0.5, 5.0, 25.0, 70.0))
        if random.random() < 0.15:
            return seconds, Completed(RunState.FAILED, error="planned")
        return seconds, Completed(result=random.choice((None, f'"attempt {attempt}"')))

    # --- instances and users --------------------------------------------------------------------------------------

    async def run_instance(self, number: int) -> None:
        """Start, kill and restart an instance until the end. A long absence leaves one queue without a worker."""
        queues = frozenset({SERVED_BY_ALL} if number else {SERVED_BY_ALL, SERVED_BY_ONE})
        stays_away = self.has_long_absence and number == 0
        while True:
            died = asyncio.Event()
            store = FaultyStore(self.store, self.draw_fault_of_instance, died.set)
            store.is_out_of_process = self.is_out_of_process
            engine = Engine(
                store,
                {"function": self.executor_of(partial(_crash, store, died))},
                clock=self.clock,
                settings=self.settings,
                queues=queues,
                events=CountingEvents(self.observer.violations),
                sender=FlakyReceiver(self),
            )
            self.alive[engine] = partial(_crash, store, died)
            starting = asyncio.ensure_future(engine.start())
            starting.add_done_callback(partial(_set_if_start_failed, died))
            lifetime_s = self.random.expovariate(1 / 120) if self.injects_faults else 1e6
            try:
                if not await clock.wait(died, lifetime_s) and not self.injects_faults:
                    await clock.wait(died, 1e6)
            except asyncio.CancelledError:
                store.die()
                self.cancel_tasks(engine, starting)
                raise
            if not died.is_set() and starting.done() and not stays_away and self.random.random() < 0.5:
                self.faults["graceful_stop"] += 1
                try:
                    async with asyncio.timeout(60):
                        await engine.stop()
                except TimeoutError:
                    pass
            else:
                self.faults["kill"] += 1
            store.die()
            self.cancel_tasks(engine, starting)
            absence_s = self.random.choice((0.0, 2.0, 15.0, 60.0))
            await pause(LONG_ABSENCE_S if stays_away and self.injects_faults else absence_s)

    def cancel_tasks(self, engine: Engine, starting: asyncio.Future[None]) -> None:
        """Cancel the tasks of a dead instance, which can no longer reach the store."""
        self.alive.pop(engine, None)
        starting.cancel()
        engine.signals.stopping.set()
        for task in list(engine.supervisor.tasks):
            task.cancel()
        for attempt in list(engine.launcher.active.values()):
            if attempt.task is not None:
                attempt.task.cancel()

    async def send_request(self, request: Request) -> None:
        """Send a user's request at its time, and retry it until there is an answer."""
        loop = asyncio.get_running_loop()
        await pause(max(0.0, request.at - loop.time()))
        sent_at_s = self.clock.now()
        store = FaultyStore(self.store, self._without_crashes, lambda: None)
        while True:
            future = store.write(
                lambda transaction: edits_without_change(OperationContext(transaction, SETTINGS), request, sent_at_s)
            )
            answer = future if future.done() else await _wait_for(future)
            error = answer.exception()
            if error is None:
                if answer.result():
                    self.unchanged.add(request.request_id)
                elif request.operation != "target":
                    self.accepted.append(request.request_id)
                return
            if is_rejection(error):
                self.faults[f"refused:{type(error).__name__}"] += 1
                return
            if not self.injects_faults and not getattr(error, "retryable", False):
                raise error
            await pause(1.0)

    def _without_crashes(self, kind: str) -> InjectedFault:
        injected = self.draw_fault(kind)
        return InjectedFault(Fault.LOST_RESPONSE) if injected.fault in CRASHES else injected

    async def step_clock(self) -> None:
        """Set the host's clock forward or back, and correct it later.

        The step is one hour in some scenarios and 15 minutes in most, because the end waits for ticks that were
        planned while the clock was ahead.
        """
        if self.random.random() < 0.75:
            return
        await pause(self.random.uniform(60, FAULTS_S - 120))
        self.faults["clock_step"] += 1
        self.observer.clock_stepped = True
        self.clock.offset_s = self.random.choice((1, -1)) * (3600.0 if self.seed % 8 == 0 else 900.0)
        self.clock_lead_s = max(0.0, self.clock.offset_s)
        await pause(self.random.uniform(10, 60))
        self.clock.offset_s = 0.0

    def create_schedules(self) -> None:
        for name in self.names:
            fields = draw_fields(self.random)
            if "remaining_actions" in fields:
                self.limits[name] = fields["remaining_actions"]
            self.store.write(partial(_create, name, fields)).result()

    async def run(self) -> None:
        self.create_schedules()
        instances = [
            asyncio.ensure_future(self.run_instance(number))
            for number in range(self.random.randint(1 + self.has_long_absence, 3))
        ]
        requests = draw_requests(self.random, self.names, FAULTS_S)
        requests += draw_cancellations(self.seed, requests)
        users = [asyncio.ensure_future(self.send_request(request)) for request in requests]
        clock_step = asyncio.ensure_future(self.step_clock())
        await pause(FAULTS_S)
        self.injects_faults = False
        await asyncio.gather(*users, clock_step)
        self.store.write(lambda tx: targets.resume_target(OperationContext(tx, SETTINGS), queue=SERVED_BY_ALL)).result()
        await pause(CALM_S)
        await self.kill_one()
        await pause(RECOVERY_S + self.clock_lead_s)
        self.held = {held[:3] for engine in self.alive for held in engine.launcher.held_runs()}
        for task in instances:
            task.cancel()
        await asyncio.gather(*instances, return_exceptions=True)

    async def kill_one(self) -> None:
        """Kill an instance beside others while nothing else fails. They must take over its runs in time."""
        started = [engine for engine in self.alive if engine.context.number]
        if len(started) < 2:
            return
        number = started[0].context.number
        self.alive[started[0]]()
        await pause(TAKEOVER_S)
        self.observer.check_taken_over(number)

    def verdict(self) -> Verdict:
        connection = self.real._writer
        now_ms = int(self.clock.now() * 1000)
        stepped = self.faults["clock_step"] > 0
        evidence = Evidence(
            self.executions,
            self.accepted,
            self.unchanged,
            self.limits,
            self.settings,
            now_ms,
            stepped,
            self.observer.finals,
            self.held,
            self.received,
            self.plan,
        )
        ledger = read_ledger(connection, evidence)
        violations = self.observer.violations + check(ledger)
        states_and_reasons = {
            (run.id, name) for runs in ledger.runs.values() for run in runs for name in (run.state, run.reason)
        }
        reached = Counter(str(name) for _, name in states_and_reasons | self.observer.states_and_reasons)
        reached["no result"] = sum(run.state == "SUCCESS" and not run.result for run in self.observer.finals.values())
        reached.update(f"source:{run.source}" for runs in ledger.runs.values() for run in runs)
        reached.update(
            f"dropped:{dropped_range.reason}"
            for dropped_ranges in ledger.dropped_ranges.values()
            for dropped_range in dropped_ranges
        )
        rows = repr((ledger.runs, ledger.dropped_ranges, ledger.states, len(self.executions)))
        digest = sha256(rows.encode()).hexdigest()
        return Verdict(self.seed, violations, self.faults, reached, self.observer.commits, digest)


def _create(name: str, fields: dict[str, Any], transaction: Transaction) -> Any:
    return crud.create(OperationContext(transaction, SETTINGS), name, **fields)


def _crash(store: FaultyStore, died: asyncio.Event) -> None:
    """End an instance. From now on none of its calls reaches the store."""
    store.die()
    died.set()


def _set_if_start_failed(died: asyncio.Event, starting: asyncio.Future[None]) -> None:
    """Set the event if the instance could not start, so that it is restarted."""
    if not starting.cancelled() and starting.exception() is not None:
        died.set()


async def _wait_for(future: Future[Any]) -> Future[Any]:
    awaited = asyncio.wrap_future(future)
    await asyncio.wait([awaited])
    awaited.exception()  # mark it as retrieved. The caller reads it from the future.
    return future


def run_scenario(seed: int) -> Verdict:
    """Run the scenario of one seed. The garbage collector is off meanwhile, which is faster."""
    gc.disable()
    try:
        return _run(seed)
    finally:
        gc.enable()


def _run(seed: int) -> Verdict:
    loop = VirtualLoop()
    asyncio.set_event_loop(loop)
    scenario = Scenario(seed, loop)
    try:
        loop.run_until_complete(scenario.run())
        verdict = scenario.verdict()
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.gather(*asyncio.all_tasks(loop), return_exceptions=True))
    except Stuck as stuck:
        verdict = Verdict(seed, [f"liveness: {stuck}"], scenario.faults, Counter(), scenario.observer.commits, "")
        for task in asyncio.all_tasks(loop):
            task._log_destroy_pending = False  # type: ignore[attr-defined]  # it never runs again
    finally:
        scenario.real.close()
        loop.close()
        asyncio.set_event_loop(None)
    return verdict
