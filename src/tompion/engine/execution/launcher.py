"""The launcher: calls executors concurrently, outside any transaction, each attempt with its fence.

An attempt ends in exactly one :class:`~tompion.plan.outcome.Outcome`, which stays here until it is written. If the
store fails, outcomes and lease are kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from functools import partial
from typing import Any

from tompion.encoding.bounded_text import storable
from tompion.engine.context import EngineContext
from tompion.engine.execution.attempt import STATES_WITHOUT_OUTCOME, Attempt, AttemptState
from tompion.engine.execution.launch_failure import LaunchFailure, LaunchFailures, address_of, error_of_tries
from tompion.engine.execution.target_outages import TargetOutages
from tompion.engine.execution.workflow_lookup import WorkflowLookup
from tompion.engine.limits import ExecutorSlots
from tompion.engine.telemetry.events import log_failure
from tompion.errors import LaunchError, TargetUnreachable
from tompion.executors.base import (
    NO_OPTIONS,
    Accepted,
    Completed,
    Executor,
    RunContext,
    TransactionalExecutor,
    ignore_wait,
)
from tompion.executors.current_run import enter_run
from tompion.model.policy import DEFAULT_REMOTE_LIMIT_MS
from tompion.model.rows import HeldRun
from tompion.model.run import FAILURES, SUSPECT_PICKUPS, Reason, RunId, RunRow, RunState, worker_lost_message
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.outcome import ExecutionTiming, Outcome

Pause = Callable[[float], Awaitable[None]]
ABANDON_S = 5.0
"""How long to wait for attempts after they were cancelled: at the stop of the engine, or after their deadline."""
TASK_NAME = "tompion-run"
"""Name of all tasks that execute a run. A number per task would cost more than the task itself."""


class Launcher:
    """Executes the runs of one instance and collects their outcomes."""

    def __init__(
        self,
        context: EngineContext,
        executors: dict[str, Executor],
        lookup: WorkflowLookup,
        pause: Pause,
        outages: TargetOutages,
    ) -> None:
        self._context = context
        self._executors = executors
        self._slots = {
            kind: ExecutorSlots(executor.max_active, executor.max_per_target)
            for kind, executor in executors.items()
            if executor.max_active or executor.max_per_target
        }
        self._lookup = lookup
        self._pause = pause
        self._outages = outages
        self._failures = LaunchFailures(context, outages)
        self._ending: set[asyncio.Task[None]] = set()
        self._now_s: Callable[[], float] = lambda: 0.0
        self.withheld = 0
        """Number of launches that were withheld since the last reconciliation."""
        self.active: dict[HeldRun, Attempt] = {}
        self.outcomes: list[Outcome] = []
        self._taken: list[Outcome] = []
        self.ready: asyncio.Event = asyncio.Event()
        self.idle: asyncio.Event = asyncio.Event()
        self.idle.set()
        self.busy: asyncio.Event = asyncio.Event()

    # --- start ----------------------------------------------------------------------------------------------------

    def start(self, launches: Iterable[tuple[RunRow, CompiledSchedule]], now_ms: int) -> None:
        """Start runs that this instance has claimed. Two frames lie between each task and its executor."""
        loop = asyncio.get_running_loop()
        self._now_s = loop.time
        create_task = _task_factory(loop)
        max_pickups = self._context.settings.max_pickups
        active, execute = self.active, self._execute
        for row, compiled in launches:
            attempt = Attempt(row, compiled, now_ms)
            if row.pickups and compiled.policy.is_abandoned(row.pickups, max_pickups):
                self._add_outcome(attempt, *worker_lost_result(row))
                continue
            active[attempt.held] = attempt
            attempt.task = create_task(execute(attempt), name=TASK_NAME)
        if active:
            self.idle.clear()
            self.busy.set()
            self.ready.set()  # the outcome writer polls more often while runs are active

    def discard(self, launches: Iterable[tuple[RunRow, CompiledSchedule]], now_ms: int) -> None:
        """End claimed runs without starting them: they were cancelled, or their schedule was deleted."""
        for row, compiled in launches:
            reason = Reason.CANCEL_REQUESTED if row.cancel_requested else Reason.DELETED
            completed = Completed(RunState.CANCELLED, error="cancelled before another instance could continue it")
            self._add_outcome(Attempt(row, compiled, row.started_ms or now_ms), completed, reason)

    async def _execute(self, attempt: Attempt) -> None:
        """Execute an attempt within its time limit, and add its outcome."""
        reason, failure = None, None
        completed: Completed | Accepted
        try:
            attempt.begin()
            limit_ms = attempt.compiled.policy.max_execution_ms
            if limit_ms is None:
                completed = await self._call_executor(attempt)
            else:
                async with asyncio.timeout(limit_ms / 1000) as deadline:
                    attempt.set_deadline(deadline, limit_ms / 1000)
                    completed = await self._call_executor(attempt)
                if deadline.expired():  # the function ignored its cancellation
                    attempt.enter(AttemptState.TIMED_OUT)
                    completed = _timeout_result(limit_ms)
        except asyncio.CancelledError:
            if attempt.state is AttemptState.LOST:
                return
            if attempt.is_cancelled:
                completed = Completed(RunState.CANCELLED, error="cancelled on request")
                reason = Reason.CANCEL_REQUESTED
            else:
                completed = Completed(RunState.FAILED, error="CancelledError: the run or other code cancelled its task")
        except LaunchError as error:
            failure = self._failures.outcome(attempt, error)
            completed, reason = failure.completed, failure.reason
        except TimeoutError:
            completed = _timeout_result(attempt.compiled.policy.max_execution_ms)
            attempt.enter(AttemptState.TIMED_OUT)
            self._end_remote(attempt)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001 - a broken executor must not end the engine
            completed = Completed(RunState.FAILED, error=_describe(error), exception=error)
        finally:
            self.active.pop(attempt.held, None)
            if not self.active:
                self._set_idle()
        if attempt.state not in STATES_WITHOUT_OUTCOME:
            self._add_outcome(attempt, completed, reason, failure)

    async def _call_executor(self, attempt: Attempt) -> Completed | Accepted:
        """Call the executor as soon as it has a free slot. A launch that fails is retried with growing delays."""
        settings = self._context.settings
        delay_ms, tries_left, is_probe = settings.launch_retry_ms, settings.launch_tries, False
        errors: list[str] = []
        while True:
            try:
                executor, run_context = await self._resolve(attempt)
                if self._context.supports_calls and isinstance(executor, TransactionalExecutor):
                    # The workflow became transactional after the claim. The next claim executes it in a transaction.
                    return Completed(RunState.ENQUEUED)
                if self._outages.by_address:
                    is_probe = await self._outages.admit(address_of(attempt), attempt.on_wait)
                    tries_left = 1 if is_probe else tries_left
                slots = self._slots.get(attempt.kind)
                if slots is None:
                    self._check_lease(attempt)
                    self._trace_call(attempt, run_context)
                    completed = await executor.run(attempt.dag, run_context)
                else:
                    async with slots.acquire(executor.target(attempt.dag, run_context), attempt.on_wait):
                        self._check_lease(attempt)
                        self._trace_call(attempt, run_context)
                        completed = await executor.run(attempt.dag, run_context)
            except LaunchError as error:
                if isinstance(error, TargetUnreachable) and not error.was_called:
                    raise
                errors.append(str(error))
                tries_left -= 1
                if not tries_left or not error.retryable or error.retry_after_s is not None:
                    error.args = (error_of_tries(errors),)
                    raise
                await self._pause(delay_ms / 1000)
                delay_ms *= 2
            except BaseException:
                if is_probe:
                    self._outages.withdraw_probe(address_of(attempt))
                raise
            else:
                if self._outages.by_address:
                    self._outages.record_contact(address_of(attempt))
                return completed

    async def _resolve(self, attempt: Attempt) -> tuple[Executor, RunContext]:
        """Return the executor of an attempt, and the attempt as that executor sees it."""
        row, compiled = attempt.row, attempt.compiled
        kind, options = "function", NO_OPTIONS
        if compiled.action.function is None:
            kind, options, attempt.dag = workflow_parts(await self._lookup.document(compiled))
        attempt.executor = executor = self._executor(kind)
        attempt.kind = kind
        attempt.run_context = run_context = build_run_context(
            self._context, row, compiled, options, attempt.on_wait, attempt
        )
        enter_run(run_context)
        if executor.wants_previous:
            run_context.previous = await self._lookup.previous(row)
        return executor, run_context

    def _check_lease(self, attempt: Attempt) -> None:
        """Withhold the launch if the lease may have expired. Another instance may have launched the run meanwhile."""
        if self._now_s() < self._context.lease_until_s:
            return
        attempt.enter(AttemptState.LOST)
        self.withheld += 1
        self._context.events.count("launches_withheld")
        raise asyncio.CancelledError

    def _trace_call(self, attempt: Attempt, run_context: RunContext) -> None:
        """Record when the executor is called, if traces are written."""
        tracing = self._context.tracing
        if tracing is not None:
            attempt.called_ns = tracing.now_ns()
            tracing.enter(run_context)

    def _executor(self, kind: str) -> Executor:
        executor = self._executors.get(kind)
        if executor is None:
            raise LaunchError(
                f"no executor {kind!r} is configured here (available: {', '.join(sorted(self._executors))}). "
                f"Configure it where the engine runs (executors={{{kind!r}: …}})"
            )
        return executor

    # --- outcomes -------------------------------------------------------------------------------------------------

    def _add_outcome(
        self,
        attempt: Attempt,
        completed: Completed | Accepted,
        reason: Reason | None,
        failure: LaunchFailure | None = None,
    ) -> None:
        """Add the outcome of an attempt to those that are written next."""
        row, lease_ms = attempt.row, 0
        if isinstance(completed, Accepted):
            lease_ms = attempt.compiled.policy.max_execution_ms or DEFAULT_REMOTE_LIMIT_MS
            completed = Completed(RunState.STARTED, execution_id=completed.execution_id)
        elif attempt.is_cancelled and completed.state in FAILURES:  # a cancelled run is not retried
            reason = reason or Reason.CANCEL_REQUESTED
        is_failure = completed.state in FAILURES
        if is_failure:
            self._log_failure(attempt, completed, reason, failure)
        outcome = Outcome(
            schedule_key=row.schedule_key,
            nominal_s=row.nominal_s,
            origin=row.origin,
            fence=row.attempt,
            state=completed.state,
            reason=reason,
            failures=row.failures,
            started_ms=attempt.started_ms,
            error=None if completed.error is None else storable(completed.error),
            result=None if completed.result is None else storable(completed.result),
            execution_id=None if completed.execution_id is None else storable(completed.execution_id),
            lease_ms=lease_ms,
            row=row,
            timing=self._timing(attempt),
            is_logged=is_failure,
        )
        if failure is not None:
            outcome = outcome._replace(
                started_ms=failure.since_ms or outcome.started_ms,
                due_ms=failure.due_ms,
                retry_after_ms=failure.retry_after_ms,
                is_refused=failure.is_refused or attempt.is_cancelled,
            )
        self.outcomes.append(outcome)
        self.ready.set()

    def _log_failure(
        self, attempt: Attempt, completed: Completed, reason: Reason | None, failure: LaunchFailure | None
    ) -> None:
        row, compiled = attempt.row, attempt.compiled
        run_context = attempt.run_context or build_run_context(self._context, row, compiled, NO_OPTIONS)
        is_refused = failure is None or failure.is_refused
        is_final = (reason is not None and is_refused) or row.failures + 1 >= compiled.policy.max_attempts
        log_failure(run_context, completed.error, completed.exception, is_final=is_final)

    def _timing(self, attempt: Attempt) -> ExecutionTiming | None:
        tracing = self._context.tracing
        if tracing is None or attempt.called_ns is None:
            return None
        return ExecutionTiming(executor=attempt.kind, called_ns=attempt.called_ns, ended_ns=tracing.now_ns())

    def take(self, limit: int) -> list[Outcome]:
        """Return outcomes to be written. ``put_back`` or ``forget_taken`` must follow."""
        self._taken, self.outcomes = self.outcomes[:limit], self.outcomes[limit:]
        return self._taken

    def forget_taken(self) -> None:
        """Forget the outcomes that were taken, because they are written."""
        self._taken = []

    def put_back(self, outcomes: Sequence[Outcome]) -> None:
        """Put back outcomes that could not be written."""
        self.outcomes[:0] = outcomes
        self.ready.set()

    def held_runs(self) -> list[HeldRun]:
        """Return the runs that must not be launched again: active ones, and those with an unwritten outcome."""
        ended = [*self._taken, *self.outcomes]
        return [
            *self.active,
            *((outcome.schedule_key, outcome.nominal_s, outcome.origin, outcome.fence) for outcome in ended),
        ]

    @property
    def holds_suspect(self) -> bool:
        """Return whether one of the held runs has lost several workers and may be the cause."""
        rows = [attempt.row for attempt in self.active.values()]
        rows += [outcome.row for outcome in (*self._taken, *self.outcomes) if outcome.row is not None]
        return any(row.pickups >= SUSPECT_PICKUPS for row in rows)

    def unmarked(self) -> list[Attempt]:
        """Return the active attempts whose run is not yet STARTED in the store."""
        return [attempt for attempt in self.active.values() if not attempt.is_marked]

    # --- cancellation ---------------------------------------------------------------------------------------------

    def end(self, rows: Iterable[RunRow]) -> None:
        """Cancel or terminate runs: those that are active here, and remote ones that no instance owns."""
        for row in rows:
            attempt = self.active.get((row.schedule_key, row.nominal_s, row.origin, row.attempt))
            forced = row.state == RunState.TERMINATED
            if attempt is not None:
                self.cancel(attempt, forced=forced)
            elif row.owner is None and row.execution_id is not None:
                self._spawn(self._end_unowned(row, forced=forced))

    def cancel(self, attempt: Attempt, *, forced: bool = False) -> None:
        """Cancel one attempt. Its outcome will be CANCELLED."""
        has_started = attempt.has_started
        attempt.cancel()
        if attempt.is_remote:
            self._end_remote(attempt, forced=forced, task=attempt.task)
        elif has_started and attempt.task is not None:
            attempt.task.cancel()

    def terminate(self, attempt: Attempt) -> None:
        """Terminate a remote run at its target, because the store has it as TERMINATED."""
        self._end_remote(attempt, forced=True)

    def _end_remote(self, attempt: Attempt, *, forced: bool = False, task: asyncio.Task[None] | None = None) -> None:
        """End a remote run at its target. ``task`` is cancelled unless the executor reports the end itself."""
        executor, run_context = attempt.executor, attempt.run_context
        if executor is not None and run_context is not None and executor.remote:
            self._spawn(self._end_at_target(executor, attempt.dag, run_context, None, forced=forced, task=task))

    async def _end_at_target(  # noqa: PLR0913 - the run, and how to end it
        self,
        executor: Executor,
        dag: Any,
        run_context: RunContext,
        execution_id: str | None,
        *,
        forced: bool,
        task: asyncio.Task[None] | None = None,
    ) -> None:
        """Cancel or terminate a run at its target. Without a later report, also cancel its task."""
        will_report = False
        try:
            if forced:
                await executor.terminate(dag, run_context, execution_id)
            else:
                will_report = await executor.cancel(dag, run_context, execution_id)
        except Exception as error:  # noqa: BLE001 - the target may be unreachable, the lease limits the run
            self._context.events.warn(f"cannot end {run_context!r} at its target: {_describe(error)}")
        if task is not None and not will_report:
            task.cancel()

    async def _end_unowned(self, row: RunRow, *, forced: bool) -> None:
        compiled = self._context.schedules.newest(row.schedule_key)
        if compiled is None or compiled.action.function is not None:
            return
        try:
            kind, options, dag = workflow_parts(await self._lookup.document(compiled))
            executor = self._executor(kind)
        except LaunchError as error:
            self._context.events.warn(f"cannot end run {row.id}: {error}")
            return
        run_context = build_run_context(self._context, row, compiled, options)
        await self._end_at_target(executor, dag, run_context, row.execution_id, forced=forced)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work, name="tompion-end")
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    def give_up(self, now_s: float) -> int:
        """Time out attempts that ignore their cancellation long after the deadline. Return how many there are."""
        overdue = [attempt for attempt in self.active.values() if attempt.is_overdue(now_s, ABANDON_S)]
        for attempt in overdue:
            self._give_up(attempt, _timeout_result(attempt.compiled.policy.max_execution_ms))
        # A task that is done and still active never ran: other code cancelled it before its first step.
        for attempt in [attempt for attempt in self.active.values() if attempt.task and attempt.task.done()]:
            self._give_up(attempt, Completed(RunState.FAILED, error="CancelledError: other code cancelled its task"))
        if not self.active:
            self._set_idle()
        return len(overdue)

    def _give_up(self, attempt: Attempt, completed: Completed) -> None:
        del self.active[attempt.held]
        self._add_outcome(attempt, completed, None)
        attempt.enter(AttemptState.GIVEN_UP)

    def _set_idle(self) -> None:
        self.busy.clear()
        self.idle.set()

    async def abandon(self) -> list[HeldRun]:
        """Cancel all active attempts without an outcome. Return their runs, which can be handed back."""
        abandoned = dict(self.active)
        tasks = [attempt.task for attempt in abandoned.values() if attempt.task is not None]
        self.drop_all()
        if tasks or self._ending:  # tasks that ignore their cancellation are left alone after the timeout
            await asyncio.wait([*tasks, *self._ending], timeout=ABANDON_S)
        self.active.clear()
        self._set_idle()
        return list(abandoned)

    def drop_lost(self, owned: set[RunId], held: Iterable[HeldRun]) -> list[Attempt]:
        """Drop the attempts among ``held`` whose run this instance no longer owns. Return them."""
        return self.drop(run for run in held if RunId(*run[:3]) not in owned)

    def drop_all(self) -> int:
        """Drop all active attempts. Return how many runs were held, unwritten outcomes included."""
        count = len(self.held_runs())
        self.drop(list(self.active))
        return count

    def drop(self, runs: Iterable[HeldRun]) -> list[Attempt]:
        """Cancel attempts whose run another instance owns. They have no outcome here."""
        dropped = []
        for run in runs:
            attempt = self.active.get(run)
            if attempt is None:
                continue
            has_started = attempt.has_started
            if attempt.enter(AttemptState.LOST):
                dropped.append(attempt)
                if has_started and attempt.task is not None:
                    attempt.task.cancel()
        return dropped


def _task_factory(loop: asyncio.AbstractEventLoop) -> Callable[..., asyncio.Task[None]]:
    """Return a function that creates tasks. Without a custom factory it skips ``loop.create_task`` for speed."""
    return partial(asyncio.Task, loop=loop) if loop.get_task_factory() is None else loop.create_task


def build_run_context(  # noqa: PLR0913 - the parts of a run
    context: EngineContext,
    row: RunRow,
    compiled: CompiledSchedule,
    options: Any,
    on_wait: Callable[[bool], None] = ignore_wait,
    signals: Attempt | None = None,
) -> RunContext:
    """Return an attempt as its executor sees it."""
    payload = row.payload if row.payload is not None else compiled.payload
    run_context = RunContext(
        row, compiled.namespace, compiled.schedule_id, compiled.action, payload, options, on_wait, context.sign, signals
    )
    if context.tracing is not None:
        run_context.traceparent = context.tracing.traceparent(run_context)
    return run_context


def workflow_parts(document: Any) -> tuple[str, Any, Any]:
    """Return the executor kind of a workflow, its options, and its DAG."""
    return document.get("executor", "function"), document.get("options") or NO_OPTIONS, document.get("dag")


def _timeout_result(limit_ms: int | None) -> Completed:
    return Completed(RunState.TIMED_OUT, error=f"it took longer than max_execution_ms ({limit_ms})")


def _describe(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 - the __str__ of the error may raise anything
        return type(error).__name__


def worker_lost_result(row: RunRow) -> tuple[Completed, Reason]:
    """Return the end of a run that has lost too many workers to be launched again."""
    return Completed(RunState.FAILED, error=worker_lost_message(row.pickups)), Reason.WORKER_LOST
