"""What an outcome does: to its run, to the dial, and to the runs that wait for a free slot."""

from __future__ import annotations

from typing import NamedTuple

from tompion.model.policy import Policy
from tompion.model.run import FINAL, Reason, RunChange, RunRow, RunState
from tompion.model.schedule_state import ScheduleState
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.edit import after_run, replan_adaptive, reschedule_if_idle

MAX_BACKOFF_DOUBLINGS = 10
"""Retries wait twice as long each time, up to this many times."""


class ExecutionTiming(NamedTuple):
    """Who executed an attempt, and from when to when; in nanoseconds, by the clock of the machine that did."""

    executor: str
    called_ns: int
    ended_ns: int


class Outcome(NamedTuple):
    """How an attempt ended, as its executor reports it, and the run as it was held.

    STARTED is the end of our part of it: it is executed elsewhere, and somebody worries after ``lease_ms``.  ENQUEUED
    is no end at all: it has not begun, and is anybody's after ``lease_ms``.
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
    course: ExecutionTiming | None = None

    @property
    def says_nothing(self) -> bool:
        """Whether it is a tick's success and no more: no result, nothing to explain, no backfill to go on with."""
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
    """Return the guarded write for one outcome: final, another try, left to its target, or to whoever takes it."""
    if outcome.state in (RunState.STARTED, RunState.ENQUEUED):
        return _left(outcome, now_ms)
    failed = outcome.state in (RunState.FAILED, RunState.TIMED_OUT)
    failures = outcome.failures + failed
    retried = failed and outcome.reason is None and failures < policy.max_attempts and not closed
    delay = policy.retry_delay_ms << min(failures - 1, MAX_BACKOFF_DOUBLINGS) if retried else 0
    return RunChange(
        outcome.schedule_key,
        outcome.nominal_s,
        outcome.origin,
        outcome.fence,
        RunState.ENQUEUED if retried else outcome.state,
        Reason.RETRY if retried else outcome.reason,
        outcome.fence,
        failures,
        now_ms + delay if retried else None,
        None,
        outcome.started_ms,
        None if retried else now_ms,
        outcome.error,
        outcome.result,
        outcome.execution_id,
    )


def _left(outcome: Outcome, now_ms: int) -> RunChange:
    return RunChange(
        outcome.schedule_key,
        outcome.nominal_s,
        outcome.origin,
        outcome.fence,
        outcome.state,
        outcome.reason,
        outcome.fence,
        outcome.failures,
        now_ms + outcome.lease_ms,
        None,
        outcome.started_ms,
        None,
        outcome.error,
        None,
        outcome.execution_id,
    )


def free_slot(
    schedule_state: ScheduleState, compiled: CompiledSchedule | None, state: str, source_origin: int, now_ms: int
) -> ScheduleState:
    """Return the dial after one of its runs has ended in a final state."""
    assert state in FINAL
    failed = state in (RunState.FAILED, RunState.TIMED_OUT)
    schedule_state = schedule_state._replace(
        in_flight=schedule_state.in_flight - 1,
        successes=schedule_state.successes + (state == RunState.SUCCESS),
        failed=schedule_state.failed + failed,
        failures=schedule_state.failures + 1 if failed else 0 if state == RunState.SUCCESS else schedule_state.failures,
    )
    if compiled is None or not compiled.follows:
        return schedule_state
    if source_origin == 0:
        return after_run(
            schedule_state._replace(last_end_ms=now_ms) if compiled.gate is not None else schedule_state,
            compiled,
            now_ms,
        )
    if compiled.gate is not None:
        return replan_adaptive(schedule_state, compiled, now_ms)
    return reschedule_if_idle(schedule_state, compiled, now_ms)


def should_pause(schedule_state: ScheduleState, policy: Policy, state: str) -> bool:
    """Whether this final state pauses the schedule."""
    return policy.pause_on_failure and state in (RunState.FAILED, RunState.TIMED_OUT) and not schedule_state.paused


def run_change(row: RunRow, fence: int) -> RunChange:
    """Return the write that makes a run as ``row`` says, if its attempt is still ``fence``."""
    return RunChange(
        row.schedule_key,
        row.nominal_s,
        row.origin,
        fence,
        row.state,
        row.reason,
        row.attempt,
        row.failures,
        row.due_ms,
        row.owner,
        row.started_ms,
        row.finished_ms,
        row.error,
        row.result,
        row.execution_id,
    )
