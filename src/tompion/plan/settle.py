"""What an outcome does: to its run, to the dial, and to the runs that wait for a free slot."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tompion.model.dial import Dial
from tompion.model.policy import Overlap, Policy
from tompion.model.run import AUTOMATIC, FINAL, Reason, RunChange, RunRow, RunState
from tompion.plan.admit import is_too_soon
from tompion.plan.edit import after_run, governed, rested, silenced
from tompion.plan.rule import Rule
from tompion.plan.world import World

MAX_BACKOFF_DOUBLINGS = 10
"""Retries wait twice as long each time, up to this many times."""


class Course(NamedTuple):
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
    course: Course | None = None

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


def freed(dial: Dial, rule: Rule | None, state: str, source_origin: int, now_ms: int) -> Dial:
    """Return the dial after one of its runs has ended in a final state."""
    assert state in FINAL
    failed = state in (RunState.FAILED, RunState.TIMED_OUT)
    dial = dial._replace(
        in_flight=dial.in_flight - 1,
        successes=dial.successes + (state == RunState.SUCCESS),
        failed=dial.failed + failed,
        failures=dial.failures + 1 if failed else 0 if state == RunState.SUCCESS else dial.failures,
    )
    if rule is None or not rule.follows:
        return dial
    if source_origin == 0:
        return after_run(dial._replace(last_end_ms=now_ms) if rule.gate is not None else dial, rule, now_ms)
    if rule.gate is not None:
        return governed(dial, rule, now_ms)
    return rested(dial, rule, now_ms)


def pauses(dial: Dial, policy: Policy, state: str) -> bool:
    """Whether this final state pauses the schedule."""
    return policy.pause_on_failure and state in (RunState.FAILED, RunState.TIMED_OUT) and not dial.paused


class Released(NamedTuple):
    """Runs that leave the queue, and the dial without them."""

    dial: Dial
    changes: list[RunChange]
    started: list[RunRow]


def release(dial: Dial, rule: Rule, rows: Iterable[tuple[RunRow, World]]) -> Released:
    """Start waiting runs while there are free slots, in the order in which they come, each in its world.

    A paused schedule releases only what somebody asked for; the ticks stay where they are.  The policy is the one of
    now: an update that allows overlaps, or makes the schedule a shadow, affects what is buffered.  What is executed,
    and where, is as it was decided: a run waits while its own target is paused, whatever the schedule starts today.
    """
    changes: list[RunChange] = []
    started: list[RunRow] = []
    dropped_ms = None
    lost = False
    for row, world in rows:
        automatic = row.source in AUTOMATIC
        if dial.closed:
            dial = _dropped(dial, changes, row, Reason.DELETED, world.now_ms)
        elif world.target_paused or (dial.paused and automatic) or not _fits(dial, rule.policy, row):
            continue
        elif (reason := _obstacle(dial, rule.policy, world.now_ms, automatic=automatic)) is not None:
            dial = _dropped(dial, changes, row, reason, world.now_ms)
            dropped_ms, lost = world.now_ms, lost or automatic
        else:
            dial = _launched(dial, changes, started, row, world)
    if rule.gate is not None and any(row.source in AUTOMATIC for row in started):
        dial = silenced(dial._replace(next_nominal_s=None), None)  # the next run follows the end of this one
    elif dropped_ms is not None:  # perhaps there is no run whose end the next tick could follow
        dial = rested(dial, rule, dropped_ms, waiting=0 if lost else dial.waiting)
    return Released(dial, changes, started)


def _fits(dial: Dial, policy: Policy, row: RunRow) -> bool:
    """Whether a waiting run may leave the queue: there is a slot, or it needs none."""
    overlap = row.overlap or policy.overlap_policy
    return policy.shadow or overlap == Overlap.ALLOW or dial.in_flight < policy.max_concurrent


def _obstacle(dial: Dial, policy: Policy, now_ms: int, *, automatic: bool) -> Reason | None:
    """Why a run leaves the queue without starting."""
    if policy.shadow:
        return Reason.SHADOW
    if automatic and dial.remaining == 0:
        return Reason.LIMIT_REACHED
    too_soon = automatic and is_too_soon(dial.last_start_ms, policy.min_interval_ms, now_ms)
    return Reason.MIN_INTERVAL if too_soon else None


def _launched(dial: Dial, changes: list[RunChange], started: list[RunRow], row: RunRow, world: World) -> Dial:
    leased, was = world.owner is not None, row.state
    row = row._replace(
        state=RunState.ENQUEUED,
        attempt=1 if leased else 0,
        owner=world.owner,
        due_ms=None if leased else world.now_ms,
        queued_ms=None,
    )
    changes.append(change_of(row, 0))
    started.append(row)
    automatic = row.source in AUTOMATIC
    remaining = dial.remaining
    return dial._replace(
        in_flight=dial.in_flight + 1,
        waiting=dial.waiting - (was == RunState.BUFFERED),
        starts=dial.starts + 1,
        remaining=remaining - 1 if automatic and remaining is not None else remaining,
        last_start_ms=world.now_ms if automatic else dial.last_start_ms,
        next_fire_ms=None if automatic and remaining == 1 else dial.next_fire_ms,
    )


def _dropped(dial: Dial, changes: list[RunChange], row: RunRow, reason: Reason, now_ms: int) -> Dial:
    waiting = dial.waiting - (row.state == RunState.BUFFERED)
    row = row._replace(state=RunState.SKIPPED, reason=reason, due_ms=None, queued_ms=None, finished_ms=now_ms)
    changes.append(change_of(row, 0))
    return dial._replace(waiting=waiting, skipped=dial.skipped + 1)


def change_of(row: RunRow, fence: int) -> RunChange:
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
