"""One seed from beginning to end: some instances, some schedules, some people, and everything that can go wrong.

First the faults rage; then they stop, and whatever is still wrong some minutes later is a violation.
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

from tests.simulation.checkers import Told, check, read_ledger
from tests.simulation.observer import Observer
from tests.simulation.workload import (
    SERVED_BY_ALL,
    SERVED_BY_ONE,
    Request,
    cancellations_of,
    fields_of,
    perform,
    refused,
    requests_of,
)
from tompion.config.settings import Settings
from tompion.engine.engine import Engine
from tompion.engine.telemetry.events import EngineEvents
from tompion.executors.base import Completed, RunContext
from tompion.model.notification import Delivery, NotificationKind, NotificationRule
from tompion.model.run import RunId, RunState
from tompion.model.security import CALLBACKS
from tompion.operations.context import OperationContext
from tompion.operations.resources import targets
from tompion.operations.schedules import crud
from tompion.runtime import clock
from tompion.runtime.clock import pause
from tompion.store.base import Store, Transaction, Work
from tompion.store.sqlite.driver import SqliteStore
from tompion.testing.executor import RecordingExecutor
from tompion.testing.faults import Fault, FaultyStore, InjectedFault
from tompion.testing.virtual_loop import Stuck, VirtualLoop

T = TypeVar("T")
BEGIN = 1_774_746_000.0  # 2026-03-29T01:00:00Z: the hour in which Berlin goes forward
RAGE_S = 330.0
REST_S = 240.5
"""Not a whole second: at the end nothing is just being fired."""
DESERTION_S = 180.0
"""Long enough for a run whose worker is gone to be given up by the others."""
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
    audit_seal_ms=86_400_000,  # sweeps do it, too, without a call more that could fail
    zombie_after_ms=60_000,
    backfills_per_iteration=2,
    max_clock_skew_ms=600_000,
    max_pickups=50,
    shutdown_grace_ms=5_000,
    notification_timeout_ms=10_000,
    notification_retry_ms=2_000,
)


LAUNCHED = "launched once committed"
CRASHED = "mistake: "
"""How a violation begins that no checker has found: something has raised what nobody expected."""


class SilentProbe(EngineEvents):
    """Warnings are what a story is made of; nobody wants to read them."""

    def __init__(self, mistakes: list[str]) -> None:
        super().__init__()
        self._mistakes = mistakes

    def warn(self, text: str) -> None:
        self.count("warnings")

    def report_error(self, what: str, error: Exception) -> None:
        self._mistakes.append(f"{CRASHED}{what}: {error!r}")


class Receiver:
    """Somebody who is told of failures and missed ticks, and who is not there now and then."""

    rules = (NotificationRule("ops", frozenset({NotificationKind.FAILED, NotificationKind.MISSED}), max_per_minute=3),)

    def __init__(self, story: Story) -> None:
        self._story = story

    async def send(self, rule_name: str, notification_id: str, body: bytes) -> Delivery:
        story = self._story
        drawn = Random(f"{story.seed}/{notification_id}/{story.clock.now()}")
        await pause(drawn.choice((0.0, 0.5, 8.0)))
        story.told.append((notification_id, body))
        return Delivery(not story.raging or drawn.random() < 0.6, "drawn")

    async def aclose(self) -> None:
        """Nothing is kept."""


class Verdict(NamedTuple):
    """What became of a story."""

    seed: int
    violations: list[str]
    faults: Counter[str]
    reached: Counter[str]
    commits: int
    digest: str


class SimClock:
    """The host's clock: virtual time, and somebody who sets it wrong now and then."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self.off = 0.0

    def now(self) -> float:
        return BEGIN + self._loop.time() + self.off


class Watched(Store):
    """The real store, with an observer that looks after every commit."""

    def __init__(self, store: SqliteStore, committed: Callable[[], None]) -> None:
        self._store = store
        self._committed = committed

    def write(self, work: Work[T]) -> Future[T]:
        future = self._store.write(work)
        self._committed()
        return future

    def read(self, work: Work[T]) -> Future[T]:
        return self._store.read(work)

    def subscribe(self, wake: Callable[[], None]) -> Callable[[], None]:
        return self._store.subscribe(wake)

    def close(self) -> None:
        self._store.close()


class Story:
    """The cast and the stage of one seed."""

    def __init__(self, seed: int, loop: VirtualLoop) -> None:
        self.seed = seed
        self.random = Random(seed)
        self.clock = SimClock(loop)
        self.real = SqliteStore(clock=self.clock, inline=True)
        # The ids of notices are made with it, and they decide in which order notices of one moment go out.
        self.real.write(
            lambda transaction: transaction.secret_get_or_create(CALLBACKS, "the same in every story")
        ).result()
        self.beside = self.random.random() < 0.3
        self.settings = replace(
            SETTINGS, max_pickups=self.random.choice((50, 50, 2)), fire_batch=1 if self.beside else SETTINGS.fire_batch
        )
        self.observer = Observer(self.real, lambda: int(self.clock.now() * 1000), self.settings)
        self.store = Watched(self.real, self.observer.committed)
        self.executor = RecordingExecutor(self.clock.now, self._launched)
        self.faults: Counter[str] = Counter()
        self.accepted: list[str] = []
        self.told: list[tuple[str, bytes]] = []
        self.limits: dict[str, int] = {}
        self.alive: set[Engine] = set()
        self.held: set[tuple[int, int, int]] = set()
        self.raging = True
        self.ahead_s = 0.0
        self.rate = self.random.choice((0.0, 0.01, 0.04, 0.1))
        self.deserted = self.random.random() < 0.4
        self.names = [f"schedule-{number}" for number in range(self.random.randint(2, 4))]

    # --- what goes wrong ------------------------------------------------------------------------------------------

    def mishap(self, kind: str) -> InjectedFault:
        if not self.raging or self.random.random() >= self.rate:
            return InjectedFault(Fault.NONE)
        chosen = self.random.choice(
            (Fault.BEFORE, Fault.LOST_RESPONSE, Fault.BUSY, Fault.DISK_FULL, Fault.STALL, Fault.CRASH_BEFORE,
             Fault.CRASH_AFTER)
        )  # fmt: skip
        self.faults[chosen] += 1
        return InjectedFault(chosen, self.random.choice((1.0, 8.0, 30.0)))

    def _launched(self, launch: RunContext) -> tuple[float, Completed]:
        """What is launched is in the ledger at that moment, not later."""
        run = RunId(*map(int, launch.run_id.split("-")))
        seen = self.observer.last.runs.get(run) or self.observer.finals.get(run)
        if run.schedule_key in self.observer.last.states and (seen is None or seen.attempt < launch.attempt):
            self.observer.violations.append(f"{LAUNCHED}: {run} as attempt {launch.attempt}")
        return self.plan(launch.run_id, launch.attempt)

    def plan(self, run_id: str, attempt: int) -> tuple[float, Completed]:
        """How long a run takes and how it ends, with something to say or without: the same for the same attempt."""
        drawn = Random(f"{self.seed}/{run_id}/{attempt}")
        seconds = drawn.choice((0.0, 0.0, 0.5, 5.0, 25.0, 70.0))
        if drawn.random() < 0.15:
            return seconds, Completed(RunState.FAILED, error="planned")
        return seconds, Completed(result=drawn.choice((None, f'"attempt {attempt}"')))

    # --- who does what --------------------------------------------------------------------------------------------

    async def instance(self, number: int) -> None:
        """An instance that lives, dies and comes back until the end; a deserter leaves a queue alone meanwhile."""
        queues = frozenset({SERVED_BY_ALL} if number else {SERVED_BY_ALL, SERVED_BY_ONE})
        deserter = self.deserted and number == 0
        while True:
            died = asyncio.Event()
            store = FaultyStore(self.store, self.mishap, died.set)
            store.is_out_of_process = self.beside
            engine = Engine(
                store,
                {"function": self.executor},
                clock=self.clock,
                settings=self.settings,
                queues=queues,
                events=SilentProbe(self.observer.violations),
                sender=Receiver(self),
            )
            self.alive.add(engine)
            starting = asyncio.ensure_future(engine.start())
            starting.add_done_callback(partial(_end_of_start, died))
            life = self.random.expovariate(1 / 120) if self.raging else 1e6
            try:
                if not await clock.wait(died, life) and not self.raging:
                    await clock.wait(died, 1e6)
            except asyncio.CancelledError:
                store.dead = True
                self.bury(engine, starting)
                raise
            if not died.is_set() and starting.done() and not deserter and self.random.random() < 0.5:
                self.faults["graceful_stop"] += 1
                try:
                    async with asyncio.timeout(60):
                        await engine.stop()
                except TimeoutError:
                    pass
            else:
                self.faults["kill"] += 1
            store.dead = True
            self.bury(engine, starting)
            absence_s = self.random.choice((0.0, 2.0, 15.0, 60.0))
            await pause(DESERTION_S if deserter and self.raging else absence_s)

    def bury(self, engine: Engine, starting: asyncio.Future[None]) -> None:
        """End everything of an instance that has died: none of it can reach the store any more."""
        self.alive.discard(engine)
        starting.cancel()
        engine.signals.stopping.set()
        for task in list(engine.supervisor.tasks):
            task.cancel()
        for attempt in list(engine.launcher.active.values()):
            if attempt.task is not None:
                attempt.task.cancel()

    async def person(self, request: Request) -> None:
        """Somebody who asks for something, again and again until there is an answer."""
        loop = asyncio.get_running_loop()
        await pause(max(0.0, request.at - loop.time()))
        asked_at = self.clock.now()
        store = FaultyStore(self.store, self._without_crashes, lambda: None)
        while True:
            future = store.write(
                lambda transaction: perform(OperationContext(transaction, SETTINGS), request, asked_at)
            )
            answer = future if future.done() else await _waited(future)
            error = answer.exception()
            if error is None:
                if request.operation != "target":
                    self.accepted.append(request.request_id)
                return
            if refused(error):
                self.faults[f"refused:{type(error).__name__}"] += 1
                return
            if not self.raging and not getattr(error, "retryable", False):
                raise error
            await pause(1.0)

    def _without_crashes(self, kind: str) -> InjectedFault:
        drawn = self.mishap(kind)
        return InjectedFault(Fault.LOST_RESPONSE) if drawn.fault in (Fault.CRASH_BEFORE, Fault.CRASH_AFTER) else drawn

    async def clock_setter(self) -> None:
        """Somebody who sets the host's clock on or back, and right again.

        By an hour in some stories, by a quarter in most: what seemed far away then is waited for at the end.
        """
        if self.random.random() < 0.75:
            return
        await pause(self.random.uniform(60, RAGE_S - 120))
        self.faults["clock_step"] += 1
        self.observer.clock_stepped = True
        self.clock.off = self.random.choice((1, -1)) * (3600.0 if self.seed % 8 == 0 else 900.0)
        self.ahead_s = max(0.0, self.clock.off)  # so long does whatever was put off meanwhile seem far away
        await pause(self.random.uniform(10, 60))
        self.clock.off = 0.0

    def create(self) -> None:
        for name in self.names:
            given = fields_of(self.random)
            if "remaining_actions" in given:
                self.limits[name] = given["remaining_actions"]
            self.store.write(partial(_created, name, given)).result()

    async def tell(self) -> None:
        self.create()
        instances = [
            asyncio.ensure_future(self.instance(number)) for number in range(self.random.randint(1 + self.deserted, 3))
        ]
        asked = requests_of(self.random, self.names, RAGE_S)
        asked += cancellations_of(self.seed, asked)
        people = [asyncio.ensure_future(self.person(each)) for each in asked]
        setter = asyncio.ensure_future(self.clock_setter())
        await pause(RAGE_S)
        self.raging = False
        await asyncio.gather(*people, setter)
        self.store.write(lambda tx: targets.resume_target(OperationContext(tx, SETTINGS), queue=SERVED_BY_ALL)).result()
        await pause(REST_S + self.ahead_s)
        self.held = {held[:3] for engine in self.alive for held in engine.launcher.held()}
        for task in instances:
            task.cancel()
        await asyncio.gather(*instances, return_exceptions=True)

    def verdict(self) -> Verdict:
        connection = self.real._writer
        now_ms = int(self.clock.now() * 1000)
        stepped = self.faults["clock_step"] > 0
        told = Told(
            self.executor.executions,
            self.accepted,
            self.limits,
            self.settings,
            now_ms,
            stepped,
            self.observer.finals,
            self.held,
            self.told,
            self.plan,
        )
        ledger = read_ledger(connection, told)
        violations = self.observer.violations + check(ledger)
        ended = {(run.id, name) for runs in ledger.runs.values() for run in runs for name in (run.state, run.reason)}
        reached = Counter(str(name) for _, name in ended | self.observer.met)
        reached["said nothing"] = sum(
            run.state == "SUCCESS" and not run.result for run in self.observer.finals.values()
        )
        reached.update(f"source:{run.source}" for runs in ledger.runs.values() for run in runs)
        reached.update(
            f"span:{dropped_range.reason}"
            for dropped_ranges in ledger.dropped_ranges.values()
            for dropped_range in dropped_ranges
        )
        everything = repr((ledger.runs, ledger.dropped_ranges, ledger.states, len(self.executor.executions)))
        digest = sha256(everything.encode()).hexdigest()
        return Verdict(self.seed, violations, self.faults, reached, self.observer.commits, digest)


def _created(name: str, given: dict[str, Any], transaction: Transaction) -> Any:
    return crud.create(OperationContext(transaction, SETTINGS), name, **given)


def _end_of_start(died: asyncio.Event, starting: asyncio.Future[None]) -> None:
    """An instance that cannot even start ends, and somebody starts it again."""
    if not starting.cancelled() and starting.exception() is not None:
        died.set()


async def _waited(future: Future[Any]) -> Future[Any]:
    awaited = asyncio.wrap_future(future)
    await asyncio.wait([awaited])
    awaited.exception()  # it is the caller's to look at
    return future


def tell(seed: int) -> Verdict:
    """Tell the story of one seed; its garbage is looked for when it is over, which is quicker than all the time."""
    gc.disable()
    try:
        return _told(seed)
    finally:
        gc.enable()


def _told(seed: int) -> Verdict:
    loop = VirtualLoop()
    asyncio.set_event_loop(loop)
    story = Story(seed, loop)
    try:
        loop.run_until_complete(story.tell())
        verdict = story.verdict()
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.gather(*asyncio.all_tasks(loop), return_exceptions=True))
    except Stuck as stuck:
        verdict = Verdict(seed, [f"liveness: {stuck}"], story.faults, Counter(), story.observer.commits, "")
        for task in asyncio.all_tasks(loop):
            task._log_destroy_pending = False  # type: ignore[attr-defined]  # it will never run again, and we know
    finally:
        story.real.close()
        loop.close()
        asyncio.set_event_loop(None)
    return verdict
