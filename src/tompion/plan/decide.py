"""One schedule at one moment: everything that the fire transaction writes.

``find_due_ticks`` finds the ticks, ``decide_overlap`` decides each of them in order, and a :class:`Decision` collects
the rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tompion.model.decision_writes import DecisionWrites
from tompion.model.policy import Overlap
from tompion.model.run import AUTOMATIC_SOURCES, OPEN, WAITING, Reason, RunRow, RunSource, RunState
from tompion.model.schedule_state import DroppedRange, ScheduleState
from tompion.plan import adaptive
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.context import DecisionContext
from tompion.plan.due_ticks import Dropped, Due, DueTicks, find_due_ticks
from tompion.plan.edit import after_run, due_now_if_waiting
from tompion.plan.overlap import START, OverlapAction, OverlapDecision, decide_overlap, is_too_soon

NOT_MISSED = (Reason.RESUMED, Reason.OVERLAP)
"""Reasons of dropped ticks that do not count as missed."""


class Origin(NamedTuple):
    """The source of a run that is not a tick."""

    source: RunSource
    number: int
    overlap: Overlap | None = None
    payload: str | None = None
    request_id: str | None = None


class Decision:
    """The rows of one decision, and the counters of its schedule while its ticks are decided one after another."""

    __slots__ = (
        "cancel", "compiled", "context", "dropped_ranges", "in_flight", "last_start_ms", "remaining", "runs", "skipped",
        "starts", "state", "supersede", "terminate", "waiting",
    )  # fmt: skip

    def __init__(self, state: ScheduleState, compiled: CompiledSchedule, context: DecisionContext) -> None:
        self.state: ScheduleState = state
        self.compiled: CompiledSchedule = compiled
        self.context: DecisionContext = context
        self.runs: list[RunRow] = []
        self.dropped_ranges: list[DroppedRange] = []
        self.in_flight: int = state.in_flight
        self.waiting: int = state.waiting
        self.remaining = state.remaining
        self.last_start_ms = state.last_start_ms
        self.starts: int = 0
        self.skipped: int = 0
        self.supersede: set[Overlap | None] = set()
        self.cancel: bool = False
        self.terminate: bool = False

    def decide_tick(self, due: Due) -> None:
        """Decide one automatic tick."""
        reason = self._permanent_skip_reason(due.nominal_s) or (None if due.planned else self._skip_reason_now())
        if reason is not None:
            self._skip(due, reason)
        elif due.planned:
            self.runs.append(self._row(due, RunState.PLANNED, due.reason, 0, due.fire_ms))
        elif self.context.target_paused:
            self._wait_for_target(due)
        else:
            self._apply(
                due, decide_overlap(self.compiled.policy, self.in_flight, self.waiting, self.context.max_buffer)
            )

    def is_full(self) -> bool:
        """Return whether the last decided tick was skipped because of overlap. Any later tick would be skipped too."""
        last = self.runs[-1] if self.runs else None
        return last is not None and last.state == RunState.SKIPPED and last.reason == Reason.OVERLAP

    def decide_request(self, due: Due, origin: Origin) -> None:
        """Decide a trigger or a time of a backfill.

        No limit, no minimum interval and no requested skip applies to it.
        """
        overlap_decision = decide_overlap(
            self.compiled.policy, self.in_flight, self.waiting, self.context.max_buffer, origin.overlap
        )
        first_new = len(self.runs)
        tick_limits = self.remaining, self.last_start_ms  # a request does not change the limits of ticks
        if self.compiled.policy.shadow:
            self._skip(due, Reason.SHADOW)
        elif self.context.target_paused:
            self._wait_for_target(due)
        else:
            self._apply(due, overlap_decision, origin.overlap)
        self.remaining, self.last_start_ms = tick_limits
        self.runs[first_new:] = [
            run._replace(
                source=origin.source,
                origin=origin.number,
                overlap=origin.overlap,
                payload=origin.payload,
                request_id=origin.request_id,
            )
            for run in self.runs[first_new:]
        ]

    def state_after_ticks(self, due_ticks: DueTicks) -> ScheduleState:
        """Return the state after this decision, with its cursor after the ticks that were found."""
        state = self.state
        carry = state.carry if state.carry_until_s is not None and due_ticks.cursor_s < state.carry_until_s else None
        return ScheduleState(
            schedule_key=state.schedule_key,
            version=state.version,
            cursor_s=due_ticks.cursor_s,
            next_nominal_s=due_ticks.next_nominal_s,
            next_fire_ms=due_ticks.next_fire_ms if self.remaining != 0 else None,
            paused=state.paused,
            pause_until_ms=state.pause_until_ms,
            closed=state.closed,
            in_flight=self.in_flight,
            waiting=self.waiting,
            remaining=self.remaining,
            last_start_ms=self.last_start_ms,
            failures=state.failures,
            carry=carry,
            carry_until_s=state.carry_until_s if carry else None,
            skips=state.skips and _later_skips(state.skips, due_ticks.cursor_s),
            starts=state.starts + self.starts,
            successes=state.successes,
            failed=state.failed,
            skipped=state.skipped + self.skipped,
            missed=state.missed + (_missed(due_ticks.dropped) if due_ticks.dropped else 0),
            last_end_ms=state.last_end_ms,
            hints=state.hints,
            zone_tables=state.zone_tables,
        )

    def state_after_requests(self) -> ScheduleState:
        """Return the state after this decision with an unchanged cursor. Triggers and backfills never move it."""
        return self.state._replace(
            in_flight=self.in_flight,
            waiting=self.waiting,
            starts=self.state.starts + self.starts,
            skipped=self.state.skipped + self.skipped,
        )

    def state_after_planned(self) -> ScheduleState:
        """Return the state after planned ticks were decided. Its cursor passed them when they were planned."""
        return self.state_after_requests()._replace(
            remaining=self.remaining,
            last_start_ms=self.last_start_ms,
            next_fire_ms=self.state.next_fire_ms if self.remaining != 0 else None,
        )

    def with_wake_up(self, state: ScheduleState) -> ScheduleState:
        """Return the state, due now if runs wait and this decision terminated more runs than it starts."""
        return due_now_if_waiting(state, self.context.now_ms) if self.terminate else state

    def _permanent_skip_reason(self, nominal_s: int) -> Reason | None:
        """Return why an automatic tick never starts, not even later. The state forgets skips that its cursor passes."""
        if self.state.skips and str(nominal_s) in self.state.skips.split(","):
            return Reason.SKIP_REQUESTED
        return Reason.SHADOW if self.compiled.policy.shadow else None

    def _skip_reason_now(self) -> Reason | None:
        """Return why no automatic tick can start now, whatever else runs."""
        if self.remaining == 0:
            return Reason.LIMIT_REACHED
        too_soon = is_too_soon(self.last_start_ms, self.compiled.policy.min_interval_ms, self.context.now_ms)
        return Reason.MIN_INTERVAL if too_soon else None

    def _apply(self, due: Due, overlap_decision: OverlapDecision, overlap: Overlap | None = None) -> None:
        """Apply an overlap decision to a due tick."""
        if overlap_decision.supersede:
            self._supersede(overlap)
        if overlap_decision.cancel and self._take_back():
            overlap_decision = START
        if overlap_decision.action is OverlapAction.SKIP:
            self._skip(due, overlap_decision.reason)
        elif overlap_decision.action is OverlapAction.WAIT:
            self.cancel = self.cancel or overlap_decision.cancel
            self._wait(due, due.reason)
        else:
            if overlap_decision.terminate:
                self._terminate()
            self._start(due)

    def _supersede(self, overlap: Overlap | None) -> None:
        """Skip the waiting runs with the same policy: a tick replaces ticks, a request replaces requests.

        The store skips waiting runs of earlier decisions. Rows of this decision are changed here.
        """
        if self.state.waiting > 0:
            self.supersede.add(overlap)
        for index, run in enumerate(self.runs):
            if run.state == RunState.BUFFERED and run.overlap == overlap:
                self.runs[index] = run._replace(
                    state=RunState.SKIPPED, reason=Reason.SUPERSEDED, finished_ms=self.context.now_ms, queued_ms=None
                )
                self.waiting -= 1
                self.skipped += 1

    def _terminate(self) -> None:
        """Terminate every run in flight."""
        self.terminate = self.terminate or self.state.in_flight > 0
        self._take_back()
        self.in_flight = 0

    def _take_back(self) -> bool:
        """Skip the runs that this decision started. None of them has begun, so their slots are free again."""
        is_any_taken_back = False
        for index, run in enumerate(self.runs):
            if run.state == RunState.ENQUEUED:
                self.runs[index] = run._replace(
                    state=RunState.SKIPPED, reason=Reason.SUPERSEDED, finished_ms=self.context.now_ms,
                    attempt=0, due_ms=None, owner=None,
                )  # fmt: skip
                self.skipped += 1
                self.starts -= 1
                self.in_flight -= 1
                if self.remaining is not None and run.source in AUTOMATIC_SOURCES:
                    self.remaining += 1
                is_any_taken_back = True
        return is_any_taken_back

    def _wait_for_target(self, due: Due) -> None:
        if self.waiting >= self.context.max_buffer:
            self._skip(due, Reason.BUFFER_FULL)
        else:
            self._wait(due, Reason.TARGET_PAUSED)

    def _start(self, due: Due) -> None:
        context = self.context
        self.in_flight += 1
        self.starts += 1
        self.last_start_ms = context.now_ms
        if self.remaining is not None:
            self.remaining -= 1
        leased = context.owner is not None
        due_ms = None if leased else due.fire_ms
        self.runs.append(self._row(due, RunState.ENQUEUED, due.reason, 1 if leased else 0, due_ms))

    def _wait(self, due: Due, reason: Reason | None) -> None:
        self.waiting += 1
        self.runs.append(self._row(due, RunState.BUFFERED, reason, 0, None))

    def _skip(self, due: Due, reason: Reason | None) -> None:
        self.skipped += 1
        self.runs.append(self._row(due, RunState.SKIPPED, reason, 0, None))

    def _row(self, due: Due, state: RunState, reason: Reason | None, attempt: int, due_ms: int | None) -> RunRow:
        """Return the new run of a due tick."""
        compiled, now_ms = self.compiled, self.context.now_ms
        local_s, dst_adjustment = compiled.wall_time(due.nominal_s)
        return RunRow(
            schedule_key=compiled.schedule_key,
            nominal_s=due.nominal_s,
            origin=0,
            source=due.source,
            state=state,
            reason=reason,
            version=compiled.version,
            attempt=attempt,
            failures=0,
            fire_ms=due.fire_ms,
            due_ms=due_ms,
            owner=self.context.owner if attempt else None,
            decided_ms=now_ms,
            local_s=local_s,
            dst_adjustment=dst_adjustment,
            overlap=None,
            payload=None,
            request_id=None,
            started_ms=None,
            finished_ms=now_ms if state is RunState.SKIPPED else None,
            cancel_requested=False,
            error=None,
            result=None,
            execution_id=None,
            queued_ms=now_ms if state in WAITING else None,
        )


def decide(
    state: ScheduleState, compiled: CompiledSchedule, context: DecisionContext, budget: int
) -> tuple[Decision, ScheduleState, int]:
    """Decide every due tick of a schedule.

    Returns the rows, the state to write, and how much of the catch-up budget was used. The state's ``waiting`` still
    counts the rows that ``supersede`` replaces, because only the store learns their number. Its ``in_flight`` does not
    count the runs that ``terminate`` ends, because those are all of them.
    """
    decision = Decision(state, compiled, context)
    due_ticks = find_due_ticks(state, compiled, context.now_ms, context.limits, budget)
    for due in due_ticks.due:
        decision.decide_tick(due)
    if due_ticks.rest is not None and decision.is_full():
        due_ticks = _skip_rest(decision, compiled, due_ticks, due_ticks.rest)
    decision.dropped_ranges = [
        DroppedRange(
            schedule_key=state.schedule_key,
            after_s=dropped.after_s,
            until_s=dropped.until_s,
            ticks=dropped.ticks,
            reason=dropped.reason,
            version=compiled.version,
            decided_ms=context.now_ms,
        )
        for dropped in due_ticks.dropped
    ]
    return decision, _after_skip(decision.state_after_ticks(due_ticks), decision, compiled, context), due_ticks.catchups


def _skip_rest(decision: Decision, compiled: CompiledSchedule, due_ticks: DueTicks, rest: Dropped) -> DueTicks:
    """Skip the rest of an outage when its first ticks have taken every slot.

    Otherwise the number of starts after an outage would depend on the number of ticks that fit into one pass.
    """
    decision.skipped += rest.ticks
    following = due_ticks.after_rest_s
    return due_ticks._replace(
        dropped=[*due_ticks.dropped, rest],
        cursor_s=rest.until_s,
        next_nominal_s=following,
        next_fire_ms=None if following is None else compiled.fire_ms(following),
        rest=None,
    )


def _missed(dropped: Iterable[Dropped]) -> int:
    """Return the number of missed ticks. Ticks of a pause, and ticks that were skipped, do not count."""
    return sum([item.ticks for item in dropped if item.reason not in NOT_MISSED])


def decision_writes(now_ms: int, decisions: Iterable[Decision], states: list[ScheduleState]) -> DecisionWrites:
    """Return everything that some decisions want written."""
    writes = DecisionWrites(
        now_ms=now_ms, states=states, runs=[], dropped_ranges=[], supersede=[], cancel=[], terminate=[]
    )
    for decision in decisions:
        writes.runs.extend(decision.runs)
        if decision.dropped_ranges:
            writes.dropped_ranges.extend(decision.dropped_ranges)
        key = decision.compiled.schedule_key
        writes.supersede.extend((key, overlap) for overlap in decision.supersede)
        if decision.cancel:
            writes.cancel.append((key, decision.state.in_flight))
        if decision.terminate:
            writes.terminate.append((key, decision.state.in_flight))
    return writes


def _after_skip(
    state: ScheduleState, decision: Decision, compiled: CompiledSchedule, context: DecisionContext
) -> ScheduleState:
    """Return the state after a skipped tick: the next tick counts from now, because no run started.

    After a requested skip, the next tick is the one that was displayed as the next. It may be skipped too.
    """
    if not compiled.is_sequential:
        return state
    if compiled.allowed_seconds is not None and state.cursor_s > decision.state.cursor_s:
        state = state._replace(hints=adaptive.remaining_hints(state, state.cursor_s, context.now_ms))
    if not decision.runs or any(run.state in OPEN for run in decision.runs):
        return state
    was_requested = decision.runs[-1].reason is Reason.SKIP_REQUESTED
    return after_run(state, compiled, state.cursor_s * 1000 if was_requested else context.now_ms)


def _later_skips(skips: str, cursor_s: int) -> str | None:
    return ",".join(text for text in skips.split(",") if int(text) > cursor_s) or None
