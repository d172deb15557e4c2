"""Outcomes of attempts: the change of the run and of the schedule's state."""

from __future__ import annotations

from typing import NamedTuple

from tompion.model.policy import Policy
from tompion.model.run import FINAL, Reason, RunChange, RunId, RunRow, RunState
from tompion.model.schedule_state import ScheduleState
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.edit import after_run, replan_adaptive, reschedule_if_idle
from tompion.plan.retry import retry_delay_ms


class ExecutionTiming(NamedTuple):
    """The executor of an attempt, and when it was called and ended, in nanoseconds of that machine's clock."""

    executor: str
    called_ns: int
    ended_ns: int


class Outcome(NamedTuple):
    """The result of an attempt, as its executor reports it, and the run that the instance held.

    STARTED means that the run executes elsewhere. It is checked after ``lease_ms``. ENQUEUED means that it has not
    begun. Any instance may claim it after ``lease_ms``, or at ``due_ms``. ``retry_after_ms`` is the delay that its
    target demands before a retry. ``is_refused`` means that a retry is useless. ``is_logged`` means that the failure is
    in the log already.
    """

    schedule_key: int
    nominal_s: int
    origin: int
    fence: int
    state: RunState
    reason: Reason | None = None
    failures: int = 0
    started_ms: int | None = None
    error: str | None = None
    result: str | None = None
    execution_id: str | None = None
    lease_ms: int = 0
    row: RunRow | None = None
    timing: ExecutionTiming | None = None
    is_logged: bool = False
    due_ms: int | None = None
    retry_after_ms: int = 0
    is_refused: bool = False

    @property
    def id(self) -> RunId:
        """Return the identity of the run."""
        return RunId(self.schedule_key, self.nominal_s, self.origin)

    @property
    def is_plain_success(self) -> bool:
        """Return whether it is the success of a tick, with no result, reason, error or execution id to store."""
        return (
            self.state is RunState.SUCCESS
            and not self.origin
            and self.result is None
            and self.reason is None
            and self.error is None
            and self.execution_id is None
            and not self.failures
        )


def settle(outcome: Outcome, policy: Policy, now_ms: int, *, closed: bool) -> RunChange:
    """Return the fenced write for one outcome: a final state, a retry, or a hand-over to the target or a worker."""
    if outcome.state in (RunState.STARTED, RunState.ENQUEUED):
        return _hand_over(outcome, now_ms)
    failed = outcome.state in (RunState.FAILED, RunState.TIMED_OUT)
    failures = outcome.failures + failed
    is_retried = failed and _may_be_retried(outcome) and failures < policy.max_attempts and not closed
    delay_ms = max(retry_delay_ms(policy, failures), outcome.retry_after_ms) if is_retried else 0
    return RunChange(
        schedule_key=outcome.schedule_key,
        nominal_s=outcome.nominal_s,
        origin=outcome.origin,
        fence=outcome.fence,
        state=RunState.ENQUEUED if is_retried else outcome.state,
        reason=Reason.RETRY if is_retried else outcome.reason,
        attempt=outcome.fence,
        failures=failures,
        due_ms=now_ms + delay_ms if is_retried else None,
        owner=None,
        started_ms=outcome.started_ms,
        finished_ms=None if is_retried else now_ms,
        error=outcome.error,
        result=outcome.result,
        execution_id=outcome.execution_id,
    )


def _may_be_retried(outcome: Outcome) -> bool:
    """Return whether another attempt may succeed: the run itself failed, or it could not be launched."""
    return outcome.reason is None or (outcome.reason is Reason.LAUNCH_FAILED and not outcome.is_refused)


def _hand_over(outcome: Outcome, now_ms: int) -> RunChange:
    """Return the write for a run that its target executes, or that another worker may claim after the lease."""
    return RunChange(
        schedule_key=outcome.schedule_key,
        nominal_s=outcome.nominal_s,
        origin=outcome.origin,
        fence=outcome.fence,
        state=outcome.state,
        reason=outcome.reason,
        attempt=outcome.fence,
        failures=outcome.failures,
        due_ms=now_ms + outcome.lease_ms if outcome.due_ms is None else outcome.due_ms,
        owner=None,
        started_ms=outcome.started_ms,
        finished_ms=None,
        error=outcome.error,
        result=None,
        execution_id=outcome.execution_id,
    )


def free_slot(
    schedule_state: ScheduleState, compiled: CompiledSchedule | None, state: str, source_origin: int, now_ms: int
) -> ScheduleState:
    """Return the schedule's state after one of its runs has reached a final state."""
    assert state in FINAL
    failed = state in (RunState.FAILED, RunState.TIMED_OUT)
    schedule_state = schedule_state._replace(
        in_flight=schedule_state.in_flight - 1,
        successes=schedule_state.successes + (state == RunState.SUCCESS),
        failed=schedule_state.failed + failed,
        failures=schedule_state.failures + 1 if failed else 0 if state == RunState.SUCCESS else schedule_state.failures,
        last_end_ms=now_ms if failed else schedule_state.last_end_ms,
    )
    if compiled is None or not compiled.is_sequential:
        return schedule_state
    if source_origin == 0:
        return after_run(
            schedule_state._replace(last_end_ms=now_ms) if compiled.allowed_seconds is not None else schedule_state,
            compiled,
            now_ms,
        )
    if compiled.allowed_seconds is not None:
        return replan_adaptive(schedule_state, compiled, now_ms)
    return reschedule_if_idle(schedule_state, compiled, now_ms)


def should_pause(schedule_state: ScheduleState, policy: Policy, state: str) -> bool:
    """Return whether a final state pauses the schedule."""
    return policy.pause_on_failure and state in (RunState.FAILED, RunState.TIMED_OUT) and not schedule_state.paused


def run_change(row: RunRow, fence: int) -> RunChange:
    """Return the write that gives a run the values of ``row``, if its attempt is still ``fence``."""
    return RunChange(
        schedule_key=row.schedule_key,
        nominal_s=row.nominal_s,
        origin=row.origin,
        fence=fence,
        state=row.state,
        reason=row.reason,
        attempt=row.attempt,
        failures=row.failures,
        due_ms=row.due_ms,
        owner=row.owner,
        started_ms=row.started_ms,
        finished_ms=row.finished_ms,
        error=row.error,
        result=row.result,
        execution_id=row.execution_id,
    )
