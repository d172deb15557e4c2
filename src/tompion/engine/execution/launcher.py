"""Calling executors: concurrently, outside any transaction, each attempt with its fence.

An attempt ends in exactly one :class:`~tompion.plan.outcome.Outcome`, which waits here until it is written.  Outcomes
that could not be written stay; the lease stays with them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from functools import partial
from typing import Any

from tompion.engine.context import EngineContext
from tompion.engine.execution.attempt import Attempt
from tompion.engine.execution.workflow_lookup import WorkflowLookup
from tompion.engine.limits import ExecutorSlots
from tompion.errors import LaunchError
from tompion.executors.base import (
    NO_OPTIONS,
    Accepted,
    Completed,
    Executor,
    RunContext,
    TransactionalExecutor,
    ignore_wait,
)
from tompion.model.codec import storable
from tompion.model.policy import DEFAULT_REMOTE_LIMIT_MS
from tompion.model.rows import HeldRun
from tompion.model.run import FAILURES, Reason, RunId, RunRow, RunState, worker_lost_message
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.outcome import ExecutionTiming, Outcome

Pause = Callable[[float], Awaitable[None]]
ABANDON_S = 5.0
"""How long an instance waits for runs that it has cancelled because it stops, or because their deadline is over."""
TASK = "tompion-run"
"""What every task that executes a run is called: to number them would cost more than to make them."""


class Launcher:
    """The runs that one instance executes, and the outcomes that are still to be written."""

    def __init__(
        self, instance: EngineContext, executors: dict[str, Executor], shelf: WorkflowLookup, pause: Pause
    ) -> None:
        """Take the executors by kind, and where to look things up."""
        self._instance = instance
        self._executors = executors
        self._rooms = {
            kind: ExecutorSlots(each.max_active, each.max_per_target)
            for kind, each in executors.items()
            if each.max_active or each.max_per_target
        }
        self._shelf = shelf
        self._pause = pause
        self._asking: set[asyncio.Task[None]] = set()
        self.active: dict[HeldRun, Attempt] = {}
        self.outcomes: list[Outcome] = []
        self._writing: list[Outcome] = []
        self.ready = asyncio.Event()
        self.idle = asyncio.Event()
        self.idle.set()
        self.busy = asyncio.Event()

    # --- beginnings -----------------------------------------------------------------------------------------------

    def start(self, launches: Iterable[tuple[RunRow, CompiledSchedule]], now_ms: int) -> None:
        """Begin to execute runs that the ledger says are ours since a moment."""
        create_task = _task_maker(asyncio.get_running_loop())
        pickups = self._instance.settings.max_pickups
        active, execute = self.active, self._execute
        for row, compiled in launches:
            attempt = Attempt(row, compiled, now_ms)
            if row.pickups and compiled.policy.is_abandoned(row.pickups, pickups):
                self._end(attempt, *lost_too_often(row))
                continue
            active[attempt.held] = attempt
            attempt.task = create_task(execute(attempt), name=TASK)
        if active:
            self.idle.clear()
            self.busy.set()
            self.ready.set()  # whoever waits for outcomes may have to wait less long now

    def forsake(self, runs: Iterable[tuple[RunRow, CompiledSchedule]], now_ms: int) -> None:
        """Say of runs that are ours since a moment that they are over: nobody wants them any more."""
        for row, compiled in runs:
            reason = Reason.CANCEL_REQUESTED if row.cancel_requested else Reason.DELETED
            ended = Completed(RunState.CANCELLED, error="cancelled before anybody could go on with it")
            self._end(Attempt(row, compiled, row.started_ms or now_ms), ended, reason)

    async def _execute(self, attempt: Attempt) -> None:
        reason = None
        ended: Completed | Accepted
        try:
            attempt.begin()
            limit_ms = attempt.compiled.policy.max_execution_ms
            if limit_ms is None:
                ended = await self._run(attempt)
            else:
                async with asyncio.timeout(limit_ms / 1000) as deadline:
                    attempt.within(deadline, limit_ms / 1000)
                    ended = await self._run(attempt)
                if deadline.expired():  # it was told to stop, and preferred to go on
                    attempt.unwanted = True
                    ended = _too_slow(limit_ms)
        except asyncio.CancelledError:
            if attempt.lost:
                return
            if attempt.cancelled is None:
                ended = Completed(RunState.FAILED, error="CancelledError: it cancelled itself, or somebody else did")
            else:
                ended, reason = Completed(attempt.cancelled, error="cancelled on request"), Reason.CANCEL_REQUESTED
        except LaunchError as error:
            ended, reason = Completed(RunState.FAILED, error=str(error)), Reason.LAUNCH_FAILED
            self._instance.probe.count("runs_failed_launch")
        except TimeoutError:
            ended = _too_slow(attempt.compiled.policy.max_execution_ms)
            attempt.unwanted = True
            self._ask(attempt)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001 - an executor that breaks its contract must not take the engine along
            ended = Completed(RunState.FAILED, error=_described(error))
        finally:
            self.active.pop(attempt.held, None)
            if not self.active:
                self._rest()
        if not attempt.over and not attempt.lost:  # what is somebody else's is not for us to end
            self._end(attempt, ended, reason)

    async def _run(self, attempt: Attempt) -> Completed | Accepted:
        """Launch, again and again if it cannot even begin; the last such error counts."""
        settings = self._instance.settings
        pause_ms = settings.launch_retry_ms
        for tries_left in range(settings.launch_tries - 1, -1, -1):
            try:
                return await self._placed(attempt)
            except LaunchError as error:
                if not tries_left or not error.retryable:
                    raise
                await self._pause(pause_ms / 1000)
                pause_ms *= 2
        raise AssertionError("there is at least one try")

    async def _placed(self, attempt: Attempt) -> Completed | Accepted:
        """Find out whom to call with what, and call as soon as there is room."""
        row, compiled = attempt.row, attempt.compiled
        kind, options = "function", NO_OPTIONS
        if compiled.action.function is None:
            kind, options, attempt.dag = workflow_parts(await self._shelf.document(compiled))
        attempt.executor = executor = self._executor(kind)
        attempt.kind = kind
        if self._instance.can_call and isinstance(executor, TransactionalExecutor):
            return Completed(
                RunState.ENQUEUED
            )  # it became one since the run was taken: whoever takes it now has a transaction
        attempt.launch = launch = self._launch(row, compiled, options, attempt.waits, attempt)
        if executor.wants_previous:
            launch.previous = await self._shelf.previous(row)
        room = self._rooms.get(kind)
        if room is None:
            self._trace(attempt, launch)
            return await executor.run(attempt.dag, launch)
        async with room.place(executor.target(attempt.dag, launch), attempt.waits):
            self._trace(attempt, launch)
            return await executor.run(attempt.dag, launch)

    def _trace(self, attempt: Attempt, launch: RunContext) -> None:
        """Take down when the executor is called, if anybody wants to know."""
        tracing = self._instance.tracing
        if tracing is not None:
            attempt.called_ns = tracing.now_ns()
            tracing.enter(launch)

    def _launch(
        self,
        row: RunRow,
        compiled: CompiledSchedule,
        options: Any,
        waits: Callable[[bool], None],
        link: Attempt | None = None,
    ) -> RunContext:
        return launch_of(self._instance, row, compiled, options, waits, link)

    def _executor(self, kind: str) -> Executor:
        executor = self._executors.get(kind)
        if executor is None:
            raise LaunchError(
                f"no executor {kind!r} here; there is {', '.join(sorted(self._executors))}. "
                f"Configure it where the engine is (executors={{{kind!r}: …}})"
            )
        return executor

    # --- ends -----------------------------------------------------------------------------------------------------

    def _end(self, attempt: Attempt, ended: Completed | Accepted, reason: Reason | None) -> None:
        row, lease_ms = attempt.row, 0
        if isinstance(ended, Accepted):
            lease_ms = attempt.compiled.policy.max_execution_ms or DEFAULT_REMOTE_LIMIT_MS
            ended = Completed(RunState.STARTED, execution_id=ended.execution_id)
        elif attempt.cancelled is not None and ended.state in FAILURES:  # it was asked to end: it is not tried again
            reason = reason or Reason.CANCEL_REQUESTED
        outcome = Outcome(
            row.schedule_key,
            row.nominal_s,
            row.origin,
            row.attempt,
            ended.state,
            reason,
            row.failures,
            attempt.started_ms,
            None if ended.error is None else storable(ended.error),
            None if ended.result is None else storable(ended.result),
            None if ended.execution_id is None else storable(ended.execution_id),
            lease_ms,
            row,
            self._course(attempt),
        )
        self.outcomes.append(outcome)
        self.ready.set()

    def _course(self, attempt: Attempt) -> ExecutionTiming | None:
        tracing = self._instance.tracing
        if tracing is None or attempt.called_ns is None:
            return None
        return ExecutionTiming(attempt.kind, attempt.called_ns, tracing.now_ns())

    def end(self, rows: Iterable[RunRow]) -> None:
        """End runs that others have decided to end: those that are executed here, and those that nobody looks after."""
        for row in rows:
            attempt = self.active.get((row.schedule_key, row.nominal_s, row.origin, row.attempt))
            forced = row.state == RunState.TERMINATED
            if attempt is not None:
                self.cancel(attempt, forced=forced)
            elif row.owner is None and row.execution_id is not None:
                self._spawn(self._end_elsewhere(row, forced=forced))

    def cancel(self, attempt: Attempt, *, forced: bool = False) -> None:
        """Cancel one attempt; its outcome says so, if anybody still wants to know."""
        attempt.cancelled = RunState.CANCELLED
        if attempt.remote:
            self._ask(attempt, forced=forced, then=attempt.task)
        else:
            _interrupt(attempt)

    def _ask(self, attempt: Attempt, *, forced: bool = False, then: asyncio.Task[None] | None = None) -> None:
        """Ask the target of a remote run to end it; ``then`` is cancelled unless it will tell how that went."""
        executor, launch = attempt.executor, attempt.launch
        if executor is not None and launch is not None and executor.remote:
            self._spawn(self._asked(executor, attempt.dag, launch, None, forced=forced, then=then))

    async def _asked(  # noqa: PLR0913 - whom to ask for what
        self,
        executor: Executor,
        dag: Any,
        launch: RunContext,
        execution_id: str | None,
        *,
        forced: bool,
        then: asyncio.Task[None] | None = None,
    ) -> None:
        told = False
        try:
            if forced:
                await executor.terminate(dag, launch, execution_id)
            else:
                told = await executor.cancel(dag, launch, execution_id)
        except Exception as error:  # noqa: BLE001 - the target may be gone; the run's lease is what remains
            self._instance.probe.warn(f"cannot end {launch!r} at its target: {_described(error)}")
        if then is not None and not told:
            then.cancel()

    async def _end_elsewhere(self, row: RunRow, *, forced: bool) -> None:
        compiled = self._instance.schedules.newest(row.schedule_key)
        if compiled is None or compiled.action.function is not None:
            return
        try:
            kind, options, dag = workflow_parts(await self._shelf.document(compiled))
            executor = self._executor(kind)
        except LaunchError as error:
            self._instance.probe.warn(f"cannot end run {row.id}: {error}")
            return
        launch = self._launch(row, compiled, options, lambda _: None)
        await self._asked(executor, dag, launch, row.execution_id, forced=forced)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work, name="tompion-end")
        self._asking.add(task)
        task.add_done_callback(self._asking.discard)

    def give_up(self, now_s: float) -> int:
        """Say of attempts that went on long after their deadline that they are over; return how many that were."""
        overdue = [attempt for attempt in self.active.values() if attempt.is_overdue(now_s, ABANDON_S)]
        for attempt in overdue:
            attempt.over = True  # what it says when it ends after all is of no interest
            del self.active[attempt.held]
            self._end(attempt, _too_slow(attempt.compiled.policy.max_execution_ms), None)
        self._give_up_unbegun()
        if not self.active:
            self._rest()
        return len(overdue)

    def _give_up_unbegun(self) -> None:
        """Say of attempts whose task somebody else has cancelled before its first step that they are over."""
        for attempt in [each for each in self.active.values() if not each.begun and each.task and each.task.done()]:
            del self.active[attempt.held]
            self._end(attempt, Completed(RunState.FAILED, error="CancelledError: somebody cancelled it"), None)

    def _rest(self) -> None:
        self.busy.clear()
        self.idle.set()

    async def abandon(self) -> list[HeldRun]:
        """End whatever is executed here without an outcome; return it, so that it can be handed back."""
        abandoned = dict(self.active)
        tasks = [attempt.task for attempt in abandoned.values() if attempt.task is not None]
        self.lose_all()
        if tasks or self._asking:
            await asyncio.wait([*tasks, *self._asking], timeout=ABANDON_S)  # who will not be cancelled goes on in vain
        self.active.clear()
        self._rest()
        return list(abandoned)

    # --- what is written, and what is lost ------------------------------------------------------------------------

    def take(self, limit: int) -> list[Outcome]:
        """Return outcomes to be written; ``put_back`` takes those that the store did not want to hear."""
        self._writing, self.outcomes = self.outcomes[:limit], self.outcomes[limit:]
        return self._writing

    def written(self) -> None:
        """Forget the outcomes that were taken: they are in the ledger."""
        self._writing = []

    def put_back(self, outcomes: list[Outcome]) -> None:
        """Keep outcomes that could not be written."""
        self.outcomes[:0] = outcomes
        self.ready.set()

    def held(self) -> list[HeldRun]:
        """Return everything that must not be launched again: what is executed, and what waits to be written."""
        ended = [*self._writing, *self.outcomes]
        return [
            *self.active,
            *((each.schedule_key, each.nominal_s, each.origin, each.fence) for each in ended),
        ]

    def unmarked(self) -> list[Attempt]:
        """Return the attempts that are executing and not yet known to be."""
        return [attempt for attempt in self.active.values() if not attempt.marked]

    def lost(self, still_ours: set[RunId], asked: Iterable[HeldRun]) -> list[Attempt]:
        """Cancel the attempts among those asked about that are no longer ours; return them."""
        return self.lose(held for held in asked if RunId(*held[:3]) not in still_ours)

    def lose_all(self) -> int:
        """End whatever is executed here: it is somebody else's now; return how much was held, to be written or not."""
        held = len(self.held())
        self.lose(list(self.active))
        return held

    def lose(self, gone: Iterable[HeldRun]) -> list[Attempt]:
        """End attempts that are somebody else's now, whoever that is: nothing is to be said about them from here."""
        lost = [attempt for held in gone if (attempt := self.active.get(held)) is not None and not attempt.lost]
        for attempt in lost:
            attempt.lost = True
            _interrupt(attempt)
        return lost

    def terminate(self, attempt: Attempt) -> None:
        """End a remote run by force: somebody has decided so, and it is in the ledger."""
        self._ask(attempt, forced=True)


def _interrupt(attempt: Attempt) -> None:
    """Cancel the task of an attempt; one that has not begun would never say so, and looks by itself when it does."""
    if attempt.task is not None and attempt.begun:
        attempt.task.cancel()


def _task_maker(loop: asyncio.AbstractEventLoop) -> Callable[..., asyncio.Task[None]]:
    """How to make tasks: as the loop does, without a detour where nobody has asked it for tasks of another kind."""
    return partial(asyncio.Task, loop=loop) if loop.get_task_factory() is None else loop.create_task


def launch_of(  # noqa: PLR0913 - what a launch is made of
    instance: EngineContext,
    row: RunRow,
    compiled: CompiledSchedule,
    options: Any,
    waits: Callable[[bool], None] = ignore_wait,
    link: Attempt | None = None,
) -> RunContext:
    """Return an attempt as its executor sees it."""
    payload = row.payload if row.payload is not None else compiled.payload
    launch = RunContext(
        row, compiled.namespace, compiled.schedule_id, compiled.action, payload, options, waits, instance.sign, link
    )
    if instance.tracing is not None:
        launch.traceparent = instance.tracing.traceparent(launch)
    return launch


def workflow_parts(document: Any) -> tuple[str, Any, Any]:
    """Return the executor of a workflow, its options, and what it is given."""
    return document.get("executor", "function"), document.get("options") or NO_OPTIONS, document.get("dag")


def _too_slow(limit_ms: int | None) -> Completed:
    return Completed(RunState.TIMED_OUT, error=f"it took longer than max_execution_ms ({limit_ms})")


def _described(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 - its own method that says what it is may raise anything
        return type(error).__name__


def lost_too_often(row: RunRow) -> tuple[Completed, Reason]:
    """Return the end of a run that nobody should pick up once more."""
    return Completed(RunState.FAILED, error=worker_lost_message(row.pickups)), Reason.WORKER_LOST
