"""One instance: its loops, and its graceful end.

Its loops share the store and nothing else: one finds work and fires it, one writes outcomes, one keeps the lease alive
and cleans up.  Whatever a loop was doing when the store failed is done again: every step can be.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from tompion.config.settings import Settings
from tompion.engine.context import EngineContext
from tompion.engine.execution.launcher import Launcher
from tompion.engine.execution.workflow_lookup import WorkflowLookup
from tompion.engine.health import EngineHealth
from tompion.engine.lease import Lease, answer_of
from tompion.engine.limits import CatchupRateLimiter
from tompion.engine.maintenance import CHECK_S, Maintenance
from tompion.engine.notifications.outside import Outside
from tompion.engine.steps.backfill import BackfillStep
from tompion.engine.steps.fire import NOTHING, Fired, FireStep
from tompion.engine.steps.planned import PlannedStep
from tompion.engine.steps.remote_results import RemoteResultsStep
from tompion.engine.steps.rescue import RescueStep
from tompion.engine.steps.result import Settled
from tompion.engine.steps.settle import SettleStep
from tompion.engine.steps.transactional import TransactionalStep
from tompion.engine.steps.tzdata_replan import ReplanLoop, ReplanStep
from tompion.engine.supervisor import Supervisor
from tompion.engine.telemetry.events import EngineEvents
from tompion.engine.telemetry.metrics import EngineMetrics
from tompion.errors import TompionError
from tompion.executors.base import Executor
from tompion.model.rows import DueNow, HeldRun
from tompion.model.run import RunId, RunRow
from tompion.plan.outcome import Outcome
from tompion.runtime.clock import Clock, pause, wait
from tompion.store.base import Store, Transaction, Work

if TYPE_CHECKING:
    from tompion.engine.telemetry.tracing import Tracing

T = TypeVar("T")
RETRY_S = (0.05, 0.2, 1.0)
"""How long a loop waits after the store has failed once, twice, and more often."""
RUSH_S = 0.5
"""How long outcomes wait at most while more ticks are due than one transaction takes."""
PREPARE_MS = 5_000
"""How long before they are due the rules of schedules are looked up."""
FIRES_AHEAD = 2
"""How many batches are fired while one is launched, if the store works beside us."""
CATCH_UP_PAUSE_S = 0.1
DRAIN_S = 0.5
"""How long an outcome waits at most while the engine stops."""


class Engine:
    """Runs the schedules of a store until it is stopped."""

    def __init__(  # noqa: PLR0913 - what an instance is made of
        self,
        store: Store,
        executors: dict[str, Executor],
        *,
        clock: Clock,
        settings: Settings | None = None,
        queues: frozenset[str] = frozenset({"default"}),
        name: str = "",
        release: str = "",
        probe: EngineEvents | None = None,
        tracing: Tracing | None = None,
        outside: Outside | None = None,
    ) -> None:
        """Take the store and the executors; nothing starts yet."""
        self.settings = settings or Settings()
        self.probe = probe or EngineEvents()
        self._outside = outside or Outside()
        self.instance = EngineContext(self.settings, self.probe, queues)
        self.instance.tracing = tracing
        self.pulse = EngineHealth(self.instance)
        self.instance.notify(self._outside.rules, self._outside.public_url)
        self.launching = Launcher(self.instance, executors, WorkflowLookup(store), pause)
        self._store = store
        self._executors = executors
        self._clock = clock
        self._accounts = EngineMetrics(self.instance, clock)
        self._settling = SettleStep(self.instance)
        self._membership = Lease(
            store,
            self.instance,
            name,
            release,
            self.launching.lose_all,
            TransactionalStep(self.instance, executors, self._settling),
        )
        self._firing = FireStep(self.instance)
        self._releasing = PlannedStep(self.instance)
        self._rescuing = RescueStep(self.instance)
        self._backfilling = BackfillStep(self.instance)
        self._reporting = RemoteResultsStep(self.instance, self._settling)
        self._budget = CatchupRateLimiter(self.settings.catchup_rate_per_s)
        self._wake = asyncio.Event()
        self._stopping = asyncio.Event()
        self._unsure = False
        self._rushing = False
        self._prepared_ms: int | None = None
        self._loops = Supervisor(self._stopping, self.probe)
        self.probe.tally.gauges.update(
            runs_active=lambda: len(self.launching.active), clock_skew_seconds=lambda: self.instance.skew_ms / 1000
        )
        self._keeping = self._keeper()
        self._replanning = ReplanLoop(store, ReplanStep(self.instance), self._failed, self._stopping)
        self._unsubscribe: Callable[[], None] = lambda: None

    def _keeper(self) -> Maintenance:
        return Maintenance(
            self._store,
            self.instance,
            self.launching,
            self._membership,
            self._settling,
            beat=self._beat,
            swept=self._swept,
            failed=self._failed,
            stopping=self._stopping,
        )

    # --- life -----------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Register this instance and begin."""
        loop = asyncio.get_running_loop()
        await self._membership.join()
        self.pulse.begin()
        self._unsubscribe = self._store.subscribe(self._waker(loop))
        keeping = self._keeping
        for work in (self._find, self._settle, keeping.beat, keeping.seal, keeping.look_after, self._replanning.replan):
            self._loops.run(work)
        for work in self._outside.loops(self._store, self.instance, self.pulse, self._stopping):
            self._loops.run(work)

    def _waker(self, loop: asyncio.AbstractEventLoop) -> Callable[[], None]:
        def stir() -> None:
            self._wake.set()
            self._keeping.stirred.set()

        def wake() -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(stir)

        return wake

    async def stop(self, grace_s: float | None = None) -> None:
        """End gracefully: claim nothing more, let runs end within the grace, hand the others back."""
        self._stopping.set()
        self._wake.set()
        self.launching.ready.set()
        self._unsubscribe()
        self._unsubscribe = lambda: None
        grace = self.settings.shutdown_grace_ms / 1000 if grace_s is None else grace_s
        await self._loops.ended()  # whoever was claiming has claimed: it is ours now
        await self._drain(grace)
        await self._goodbye()
        for executor in self._executors.values():
            await executor.aclose()
        await self._outside.aclose()

    async def _drain(self, grace_s: float) -> None:
        """Let runs end for a while, write how they ended, and keep the lease alive meanwhile."""
        loop = asyncio.get_running_loop()
        end = loop.time() + grace_s
        next_beat = loop.time() + self.settings.heartbeat_ms / 1000
        while self.launching.active and loop.time() < end:
            await wait(self.launching.idle, min(DRAIN_S, end - loop.time()))
            try:
                while self.launching.outcomes:
                    await self._settle_some()
                if loop.time() >= next_beat:
                    next_beat = loop.time() + self.settings.heartbeat_ms / 1000
                    await self._beat()
            except Exception as error:  # noqa: BLE001 - as everywhere here
                self._failed("cannot write outcomes while stopping", error)

    async def _hand_back(self, held: list[HeldRun]) -> None:
        """Let others have what this instance will not execute."""

        def hand_back(transaction: Transaction) -> None:
            transaction.run_hand_back(held, transaction.now_ms())
            transaction.notify()

        if held:
            await self._write(hand_back)

    async def _goodbye(self) -> None:
        held = await self.launching.abandon()

        def leave(transaction: Transaction) -> None:
            now_ms = transaction.now_ms()
            transaction.instance_stop(self.instance.number, now_ms, now_ms)  # whatever is left is anybody's, at once
            transaction.notify()

        try:
            while self.launching.outcomes:
                await self._settle_some()
            await self._hand_back(held)
            await self._write(leave)
        except TompionError as error:
            self.probe.warn(f"stopped without a goodbye, leases will run out by themselves: {error}")

    # --- finding work ---------------------------------------------------------------------------------------------

    async def _find(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            self._wake.clear()
            try:
                more, delay = await self._pass()
                self.pulse.beat()
                failures = 0
            except Exception as error:  # noqa: BLE001 - an engine that stops by itself is the worst that can happen
                more, delay = False, RETRY_S[min(failures, len(RETRY_S) - 1)]
                failures += 1
                self._unsure = True
                self.pulse.stumble(error)
                self._failed("cannot fire just now, trying again", error)
            if not more:
                await wait(self._wake, delay)

    async def _pass(self) -> tuple[bool, float]:
        """Do what is due, the most urgent first; return whether there is more, and how long nothing will be."""
        if self._unsure:
            await self._adopt()
        now_ms, due = await self._read(self._look)
        if self._is_skewed(now_ms):
            return False, self.settings.tick_ms / 1000
        room = self.instance.appetite.limit - len(self.launching.active)
        if room <= 0:
            return False, self.settings.tick_ms / 1000
        more, catching_up = await self._do(due, min(room, self.settings.fire_batch))
        if more:
            return True, 0
        await self._prepare(now_ms, due)
        delay = self.settings.tick_ms / 1000
        if catching_up:
            delay = min(delay, CATCH_UP_PAUSE_S)
        if due.next_ms is not None:
            delay = min(delay, max(0.0, (due.next_ms - now_ms) / 1000))
        return False, delay

    async def _adopt(self) -> None:
        """Look for what was committed although its answer was lost: the lease of a living instance never ends."""
        async with self._membership.alone():
            self._unsure = False  # before the steps: what fails meanwhile makes it unsure again
            held = self.launching.held()
            unknown = await self._read(lambda transaction: self._rescuing.unknown(transaction, held))
            if unknown:
                adopt = partial(self._rescuing.adopt, unknown=unknown)
                self._begin(await self._membership.led(adopt))

    async def _prepare(self, now_ms: int, due: DueNow) -> None:
        """Learn the rules of what is due within moments, while there is time."""
        if due.next_ms is None or due.next_ms > now_ms + PREPARE_MS or due.next_ms == self._prepared_ms:
            return
        self._prepared_ms = due.next_ms
        limit = self.settings.max_active_launches

        def learn(transaction: Transaction) -> None:
            pairs = transaction.state_list_upcoming(now_ms, now_ms + PREPARE_MS, limit)
            self.instance.schedules.of_versions(transaction, pairs)

        await self._read(learn)

    async def _do(self, due: DueNow, limit: int) -> tuple[bool, bool]:
        """On-time ticks, then leases and planned runs, then catch-up, then backfills."""
        if due.on_time:
            fired = await self._fire_on_time(limit)
            if fired.claimed:
                return True, False
        self._rushing = False
        done = 0
        if due.unleased:
            done += await self._answer(limit)
            done += await self._take(partial(self._rescuing.claim, limit=limit))
        if due.planned:
            done += await self._take(partial(self._releasing.due, limit=limit))
        catching_up = False
        if due.catch_up:
            caught_up = await self._catch_up(limit)
            done += caught_up
            catching_up = not caught_up
        if due.backfills and not done:
            size = min(limit, 100)
            done += await self._take(partial(self._backfilling.due, limit=size))
        return done > 0, catching_up

    async def _answer(self, limit: int) -> int:
        """Write down how runs ended that are executed elsewhere."""
        answered = await self._membership.lead(partial(self._reporting.due, limit=limit))
        if answered.found:
            self._accounts.settled(answered.outcomes, answered.settled)
            self._begin_settled(answered.settled, answered.to_end)
        return answered.found

    async def _take(self, step: Work[Fired]) -> int:
        return self._begin(await self._membership.lead(step))

    async def _fire_on_time(self, limit: int) -> Fired:
        """Fire one batch; while they are full, and the store works beside us, fire more and launch this one."""
        fire = partial(self._firing.on_time, limit=limit)
        fired = await self._membership.lead(fire)
        self._rushing = fired.claimed > 0
        coming: deque[Future[Fired | None]] = deque()
        try:
            while fired.claimed == limit and self._store.works_beside:
                while len(coming) < FIRES_AHEAD and self._has_room((len(coming) + 2) * limit):
                    coming.append(self._store.write(self._membership.leading(fire)))
                self._begin(fired)
                if not coming:
                    return fired
                answer: Fired | None = await answer_of(coming.popleft())
                fired = answer or NOTHING
                self.pulse.beat()
        finally:
            await self._begin_late(coming)
        self._begin(fired)
        return fired

    async def _begin_late(self, coming: Iterable[Future[Fired | None]]) -> None:
        """Launch what was fired ahead: whatever has happened to the others, what these have decided is ours."""
        for answer in await asyncio.gather(*map(answer_of, coming), return_exceptions=True):
            if isinstance(answer, BaseException):
                self._unsure = True
            elif answer is not None:
                self._begin(answer)

    def _has_room(self, wanted: int) -> bool:
        active = len(self.launching.active) + wanted
        return active <= self.instance.appetite.limit and not self._stopping.is_set()

    async def _catch_up(self, limit: int) -> int:
        budget = self._budget.available(asyncio.get_running_loop().time())
        fired = await self._membership.lead(lambda transaction: self._firing.catch_up(transaction, limit, budget))
        self._budget.use(fired.catchups)
        self._begin(fired)
        return 0 if budget == 0 and not fired.runs else fired.claimed

    def _begin(self, fired: Fired) -> int:
        """Launch what a committed step has decided; return how much it found to do."""
        self.launching.forsake(fired.forsaken, fired.now_ms)
        self._accounts.carried(fired.carried)
        if fired.notes is not None:
            self._accounts.noted(fired.notes)
        if fired.launches:
            self.launching.start(fired.launches, fired.now_ms)
            self._accounts.launched(fired.launches)
        if fired.to_end:  # after the launches: the same step may have started what it then asks to end
            self.launching.end(fired.to_end)
        return fired.claimed

    def _begin_settled(self, settled: Settled, to_end: list[RunRow] | None = None) -> None:
        """Launch what outcomes have set free."""
        self._begin(Fired(0, settled.launches, to_end or [], settled.now_ms, carried=settled.carried))

    def _look(self, transaction: Transaction) -> tuple[int, DueNow]:
        now_ms = transaction.now_ms()
        return now_ms, transaction.work_due(now_ms, now_ms - self.settings.misfire_grace_ms)

    def _is_skewed(self, now_ms: int) -> bool:
        """Whether this machine's clock is too far from the database's to be trusted with anything."""
        self.instance.skew_ms = int(self._clock.now() * 1000) - now_ms
        skewed = abs(self.instance.skew_ms) > self.settings.max_clock_skew_ms
        if skewed:
            self.probe.count("skewed_passes")
            self.probe.warn(
                f"this clock is {self.instance.skew_ms} ms off the database's: nothing is fired here until it is set"
            )
        return skewed

    # --- writing outcomes -----------------------------------------------------------------------------------------

    async def _settle(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            woken = True
            if not self.launching.outcomes:
                self.launching.ready.clear()
                woken = await wait(self.launching.ready, self._patience_s())
            try:
                if self.launching.outcomes:
                    await self._gather()
                    await self._settle_some()
                elif not woken:
                    await self._keeping.mark_started()
                failures = 0
            except Exception as error:  # noqa: BLE001 - as above
                failures += 1
                self._failed("cannot write outcomes just now, trying again", error)
                await pause(RETRY_S[min(failures, len(RETRY_S)) - 1])

    def _patience_s(self) -> float:
        """How long to wait for outcomes before something else is looked at: while nothing runs, nothing else is."""
        if not self.launching.active:
            return self.settings.sweep_ms / 1000
        return CHECK_S / 2 if self.launching.unmarked() else CHECK_S

    async def _gather(self) -> None:
        """Let outcomes come together, and let ticks that are due go first, for a while."""
        gather_s = self.settings.settle_gather_ms / 1000
        if gather_s and len(self.launching.outcomes) < self.settings.settle_batch:
            await pause(gather_s)
        waited = 0.0
        while self._rushing and waited < RUSH_S and not self._stopping.is_set():
            await pause(RUSH_S / 20)
            waited += RUSH_S / 20

    async def _settle_some(self) -> None:
        outcomes = self.launching.take(self.settings.settle_batch)
        try:
            await self._settle_these(outcomes)
            self.launching.written()
        except Exception as error:
            self._unsure = True
            if getattr(error, "retryable", False):
                self.launching.put_back(outcomes)
                raise
            await self._settle_one_by_one(outcomes)
            self.launching.written()

    async def _settle_one_by_one(self, outcomes: list[Outcome]) -> None:
        """One outcome that cannot be written must not keep the others from it; its lease is what remains of it."""
        for index, outcome in enumerate(outcomes):
            try:
                await self._settle_these([outcome])
            except Exception as error:
                if getattr(error, "retryable", False):
                    self.launching.put_back(outcomes[index:])
                    raise
                self.probe.unexpected(f"the outcome of {RunId(*outcome[:3])} cannot be written", error)

    async def _settle_these(self, outcomes: list[Outcome]) -> None:
        settled = await self._membership.lead(lambda transaction: self._settling.settle(transaction, outcomes))
        self._accounts.settled(outcomes, settled)
        if self._stopping.is_set():
            await self._hand_back([(*row.id, row.attempt) for row, _ in settled.launches])
            self._accounts.carried(settled.carried)
        else:
            self._begin_settled(settled)
        if (
            settled.launches
            or settled.retried
            or len(self.launching.active) + len(outcomes) >= self.instance.appetite.limit
        ):
            self._wake.set()

    # --- keeping alive --------------------------------------------------------------------------------------------

    async def _beat(self) -> None:
        self._budget.instances = max(1, await self._membership.beat(self.instance.skew_ms))

    def _swept(self, outcomes: list[Outcome], settled: Settled | None) -> None:
        """Begin what zombies have left room for; whatever else went wrong unseen is found at the latest now."""
        self._unsure = True
        if settled is not None:
            self._accounts.settled(outcomes, settled)
            self._begin_settled(settled)

    def _failed(self, what: str, error: Exception) -> None:
        """Count and say what went wrong; a mistake of our own comes with its traceback."""
        if isinstance(error, TompionError):
            self.probe.count("store_errors")
            self.probe.warn(f"{what}: {error}")
        else:
            self.probe.unexpected(what, error)

    # --- the store ------------------------------------------------------------------------------------------------

    async def _write(self, work: Work[T]) -> T:
        return await answer_of(self._store.write(work))

    async def _read(self, work: Work[T]) -> T:
        return await answer_of(self._store.read(work))
