"""One schedule, one moment: everything that the fire transaction writes.

``generate`` finds the ticks, ``admit`` judges each of them in order, and a :class:`Decision` collects the rows.
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
from tompion.plan.due_ticks import Dropped, Due, DueTicks, generate
from tompion.plan.edit import after_run, due_now_if_waiting
from tompion.plan.overlap import START, OverlapAction, OverlapDecision, admit, is_too_soon

PASSED_OVER = (Reason.RESUMED, Reason.OVERLAP)


class Origin(NamedTuple):
    """Where a run that is no tick comes from."""

    source: RunSource
    number: int
    overlap: Overlap | None = None
    payload: str | None = None
    request_id: str | None = None


class Decision:
    """The rows of one decision, and the standing of its schedule while ticks are admitted one after another."""

    __slots__ = (
        "cancel", "compiled", "context", "dropped_ranges", "in_flight", "last_start_ms", "remaining", "runs", "skipped",
        "starts", "state", "supersede", "terminate", "waiting",
    )  # fmt: skip

    def __init__(self, state: ScheduleState, compiled: CompiledSchedule, context: DecisionContext) -> None:
        """Begin with the dial as it was locked."""
        self.state = state
        self.compiled = compiled
        self.context = context
        self.runs: list[RunRow] = []
        self.dropped_ranges: list[DroppedRange] = []
        self.in_flight = state.in_flight
        self.waiting = state.waiting
        self.remaining = state.remaining
        self.last_start_ms = state.last_start_ms
        self.starts = 0
        self.skipped = 0
        self.supersede: set[Overlap | None] = set()
        self.cancel = False
        self.terminate = False

    def tick(self, due: Due) -> None:
        """Decide one automatic tick."""
        reason = self._unwanted(due.nominal_s) or (None if due.planned else self._obstacle())
        if reason is not None:
            self._skip(due, reason)
        elif due.planned:
            self.runs.append(self._row(due, RunState.PLANNED, due.reason, 0, due.fire_ms))
        elif self.context.target_paused:
            self._wait_for_target(due)
        else:
            self._judge(due, admit(self.compiled.policy, self.in_flight, self.waiting, self.context.max_buffer))

    def is_full(self) -> bool:
        """Return whether the tick that was decided last was skipped because others run, and any after it would be."""
        last = self.runs[-1] if self.runs else None
        return last is not None and last.state == RunState.SKIPPED and last.reason == Reason.OVERLAP

    def request(self, due: Due, origin: Origin) -> None:
        """Decide a trigger or a time of a backfill: no limit, no minimal interval, no skip applies to it."""
        verdict = admit(self.compiled.policy, self.in_flight, self.waiting, self.context.max_buffer, origin.overlap)
        before = len(self.runs)
        automatic = self.remaining, self.last_start_ms
        if self.compiled.policy.shadow:
            self._skip(due, Reason.SHADOW)
        elif self.context.target_paused:
            self._wait_for_target(due)
        else:
            self._judge(due, verdict, origin.overlap)
        self.remaining, self.last_start_ms = automatic
        self.runs[before:] = [
            run._replace(
                source=origin.source,
                origin=origin.number,
                overlap=origin.overlap,
                payload=origin.payload,
                request_id=origin.request_id,
            )
            for run in self.runs[before:]
        ]

    def moved(self, generated: DueTicks) -> ScheduleState:
        """Return the dial after this decision, with its cursor where the generator left it."""
        state = self.state
        next_fire = generated.next_fire_ms if self.remaining != 0 else None
        carry = state.carry if state.carry_until_s is not None and generated.cursor_s < state.carry_until_s else None
        missed = _missed(generated.dropped) if generated.dropped else 0
        return ScheduleState(
            state.schedule_key,
            state.version,
            generated.cursor_s,
            generated.next_nominal_s,
            next_fire,
            state.paused,
            state.pause_until_ms,
            state.closed,
            self.in_flight,
            self.waiting,
            self.remaining,
            self.last_start_ms,
            state.failures,
            carry,
            state.carry_until_s if carry else None,
            state.skips and _later_skips(state.skips, generated.cursor_s),
            state.starts + self.starts,
            state.successes,
            state.failed,
            state.skipped + self.skipped,
            state.missed + missed,
            state.last_end_ms,
            state.hints,
        )

    def standing(self) -> ScheduleState:
        """Return the dial after this decision, with its cursor where it was: triggers and backfills never move it."""
        return self.state._replace(
            in_flight=self.in_flight,
            waiting=self.waiting,
            starts=self.state.starts + self.starts,
            skipped=self.state.skipped + self.skipped,
        )

    def released(self) -> ScheduleState:
        """Return the dial after planned ticks were admitted: the cursor passed them when they were planned."""
        return self.standing()._replace(
            remaining=self.remaining,
            last_start_ms=self.last_start_ms,
            next_fire_ms=self.state.next_fire_ms if self.remaining != 0 else None,
        )

    def awake(self, state: ScheduleState) -> ScheduleState:
        """Return the dial so that what waits is looked at, if more runs were ended than this takes the place of."""
        return due_now_if_waiting(state, self.context.now_ms) if self.terminate else state

    def _unwanted(self, nominal_s: int) -> Reason | None:
        """Why an automatic tick never starts, not even later: the dial forgets exceptions that its cursor passes."""
        if self.state.skips and str(nominal_s) in self.state.skips.split(","):
            return Reason.SKIP_REQUESTED
        return Reason.SHADOW if self.compiled.policy.shadow else None

    def _obstacle(self) -> Reason | None:
        """Why no automatic tick starts now, whatever else runs."""
        if self.remaining == 0:
            return Reason.LIMIT_REACHED
        shortest_ms = self.compiled.policy.min_interval_ms
        too_soon = is_too_soon(self.last_start_ms, shortest_ms, self.context.now_ms)
        return Reason.MIN_INTERVAL if too_soon else None

    def _judge(self, due: Due, verdict: OverlapDecision, overlap: Overlap | None = None) -> None:
        if verdict.supersede:
            self._supersede(overlap)
        if verdict.cancel and self._take_back():
            verdict = START
        if verdict.act is OverlapAction.SKIP:
            self._skip(due, verdict.reason)
        elif verdict.act is OverlapAction.WAIT:
            self.cancel = self.cancel or verdict.cancel
            self._wait(due, due.reason)
        else:
            if verdict.terminate:
                self._terminate()
            self._start(due)

    def _supersede(self, overlap: Overlap | None) -> None:
        """Whoever waits under the same policy gives way, a tick to a tick and a request to a request.

        Rows of this decision are still in our hands.
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
        """Everything in flight ends by force."""
        self.terminate = self.terminate or self.state.in_flight > 0
        self._take_back()
        self.in_flight = 0

    def _take_back(self) -> bool:
        """A run of this very decision has not begun, so nobody need end it: it is superseded, and its slot is free."""
        taken = False
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
                taken = True
        return taken

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
        compiled, now_ms = self.compiled, self.context.now_ms
        local_s, dst_adjustment = compiled.wall_time(due.nominal_s)
        queued_ms = now_ms if state in WAITING else None
        return RunRow(
            compiled.schedule_key, due.nominal_s, 0, due.source, state, reason, compiled.version, attempt, 0, due.fire_ms,
            due_ms, self.context.owner if attempt else None, now_ms, local_s, dst_adjustment, None, None, None, None,
            now_ms if state is RunState.SKIPPED else None, False, None, None, None, queued_ms,
        )  # fmt: skip


def decide(
    state: ScheduleState, compiled: CompiledSchedule, context: DecisionContext, budget: int
) -> tuple[Decision, ScheduleState, int]:
    """Decide every due tick of a schedule.

    Returns the rows, the dial as it is to be written, and how much of the catch-up budget was used.  The dial's
    ``waiting`` still counts the rows that ``supersede`` is about, because only whoever writes them learns how many
    there were; its ``in_flight`` no longer counts those that ``terminate`` is about, because that is all of them.
    """
    decision = Decision(state, compiled, context)
    generated = generate(state, compiled, context.now_ms, context.limits, budget)
    for due in generated.due:
        decision.tick(due)
    if generated.left is not None and decision.is_full():
        generated = _passed_over(decision, compiled, generated, generated.left)
    decision.dropped_ranges = [
        DroppedRange(
            state.schedule_key, lost.after_s, lost.until_s, lost.ticks, lost.reason, compiled.version, context.now_ms
        )
        for lost in generated.dropped
    ]
    return decision, _after_skip(decision.moved(generated), decision, compiled, context), generated.catchups


def _passed_over(decision: Decision, compiled: CompiledSchedule, generated: DueTicks, left: Dropped) -> DueTicks:
    """What is left of an outage when its first ticks have taken every slot: it is skipped now, as they were.

    Otherwise it would depend on how much fits into a pass how often a schedule starts after an outage.
    """
    decision.skipped += left.ticks
    following = generated.left_next_s
    fire_ms = None if following is None else compiled.fire_ms(following)
    dropped = [*generated.dropped, left]
    return generated._replace(
        dropped=dropped, cursor_s=left.until_s, next_nominal_s=following, next_fire_ms=fire_ms, left=None
    )


def _missed(dropped: Iterable[Dropped]) -> int:
    """How many ticks nobody was there for; those of a pause, and those that were skipped, are none of them."""
    return sum([each.ticks for each in dropped if each.reason not in PASSED_OVER])


def decision_writes(now_ms: int, decisions: Iterable[Decision], states: list[ScheduleState]) -> DecisionWrites:
    """Return everything that decisions want written."""
    record = DecisionWrites(now_ms, states, [], [], [], [], [])
    for decision in decisions:
        record.runs.extend(decision.runs)
        if decision.dropped_ranges:
            record.dropped_ranges.extend(decision.dropped_ranges)
        busy = (decision.compiled.schedule_key, decision.state.in_flight)
        record.supersede.extend((busy[0], overlap) for overlap in decision.supersede)
        if decision.cancel:
            record.cancel.append(busy)
        if decision.terminate:
            record.terminate.append(busy)
    return record


def _after_skip(
    state: ScheduleState, decision: Decision, compiled: CompiledSchedule, context: DecisionContext
) -> ScheduleState:
    """A tick that did not start is no run that the next one could follow: that counts from now.

    One that somebody asked to skip is followed by the tick that was shown as the next: that may be skipped, too.
    """
    if not compiled.follows:
        return state
    if compiled.gate is not None and state.cursor_s > decision.state.cursor_s:
        state = state._replace(hints=adaptive.spent(state, state.cursor_s, context.now_ms))
    if not decision.runs or any(run.state in OPEN for run in decision.runs):
        return state
    asked = decision.runs[-1].reason is Reason.SKIP_REQUESTED
    return after_run(state, compiled, state.cursor_s * 1000 if asked else context.now_ms)


def _later_skips(skips: str, cursor_s: int) -> str | None:
    return ",".join(text for text in skips.split(",") if int(text) > cursor_s) or None
