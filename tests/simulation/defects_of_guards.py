"""Planted defects: a single missing guard, where another guard might hide the effect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.support.planting import Patches, defect
from tompion.engine.steps.fire import FireStep
from tompion.model.schedule_state import ScheduleState, StateTuple
from tompion.operations.schedules import crud
from tompion.plan import adaptive, edit, pause, release
from tompion.store.base import Transaction

FENCE = "AND attempt = ?4"
IN_FLIGHT = "AND state IN ('ENQUEUED', 'STARTED')"


@defect
def an_outcome_needs_no_fence(patches: Patches) -> None:
    """An earlier owner's outcome is accepted while the run is in flight."""
    patches.sql("run_settle", FENCE, "")


@defect
def a_plain_success_needs_no_fence(patches: Patches) -> None:
    """The fast path for successes does not check the fence."""
    patches.sql("run_finish_fast", FENCE, "")


@defect
def a_plain_success_counts_twice(patches: Patches) -> None:
    """The fast path for successes accepts runs that have already ended."""
    patches.sql("run_finish_fast", IN_FLIGHT, "")


@defect
def a_late_failure_opens_a_run_again(patches: Patches) -> None:
    """A run that has ended is retried when the same outcome is written again."""
    patches.sql("run_settle", IN_FLIGHT, "")


@defect
def a_rescue_counts_from_one(patches: Patches) -> None:
    """A claimed run restarts its attempt count at one."""
    patches.sql("run_claim", "attempt = attempt + 1,", "attempt = 1,")


@defect
def a_pause_does_not_hold_the_tick_that_is_due(patches: Patches) -> None:
    """The fire step treats paused schedules as active, and leaves them paused."""
    patches.set(pause, "pause_state", lambda state, until_ms: state._replace(paused=True, pause_until_ms=until_ms))
    fire = FireStep._fire

    def blind(self: FireStep, transaction: Transaction, now_ms: int, rows: list[StateTuple], budget: int) -> Any:
        held = {row[0] for row in rows if ScheduleState._make(row).paused}
        answer = fire(
            self, transaction, now_ms, [ScheduleState._make(row)._replace(paused=False) for row in rows], budget
        )
        states = transaction.state_lock(held)
        transaction.state_update([state._replace(paused=True) for state in states.values()])
        return answer

    patches.set(FireStep, "_fire", blind)


@defect
def a_pause_advances_the_cursor(patches: Patches) -> None:
    """Each update of a paused schedule advances its cursor."""
    save = Transaction.state_update

    def moved(self: Transaction, states: Sequence[ScheduleState]) -> None:
        save(self, [state._replace(cursor_s=state.cursor_s + 1) if state.paused else state for state in states])

    patches.set(Transaction, "state_update", moved)


@defect
def a_pause_never_ends_by_itself(patches: Patches) -> None:
    """The end of a pause is stored but never checked."""
    silenced = edit.with_next_fire

    def forgotten(state: ScheduleState, fire_ms: int | None) -> ScheduleState:
        return silenced(state, fire_ms)._replace(next_fire_ms=None) if state.paused else silenced(state, fire_ms)

    patches.set(edit, "with_next_fire", forgotten)


@defect
def an_adaptive_run_is_planned_for_the_past(patches: Patches) -> None:
    """The next run is planned 20 seconds too early, which may be in the past."""
    plan = adaptive.plan_next_run

    def late(*arguments: Any) -> Any:
        planned = plan(*arguments)
        return None if planned is None else planned._replace(fire_ms=planned.fire_ms - 20_000)

    patches.set(adaptive, "plan_next_run", late)


@defect
def a_purge_deletes_running_runs(patches: Patches) -> None:
    """A purge deletes all runs of a schedule, including the running ones."""
    patches.set(crud, "_is_purgeable", lambda state, now_ms: True)


@defect
def a_purged_schedule_fires_from_memory(patches: Patches) -> None:
    """An instance fires a schedule that it read before the purge."""
    memory: dict[int, StateTuple] = {}
    on_time = FireStep.on_time

    def remembered(self: FireStep, transaction: Transaction, limit: int) -> Any:
        now_ms = transaction.now_ms()
        stored = transaction.state_get(memory)
        gone = [memory.pop(key) for key in list(memory) if key not in stored]
        memory.update((row[0], row) for row in transaction.state_claim_due(now_ms - 10_001, now_ms, limit))
        return self._fire(transaction, now_ms, gone, 0) if gone else on_time(self, transaction, limit)

    patches.set(FireStep, "on_time", remembered)


@defect
def a_tick_waits_for_a_dropped_run(patches: Patches) -> None:
    """The next tick waits for the end of a run that was dropped from the queue."""
    patches.set(release, "reschedule_if_idle", lambda state, rule, now_ms, waiting=None: state)


@defect
def a_minimum_interval_applies_without_being_set(patches: Patches) -> None:
    """A waiting run is skipped as too soon within a second of the last start, without a minimum interval."""
    patches.set(
        release,
        "is_too_soon",
        lambda last_ms, shortest_ms, now_ms: now_ms < (last_ms or 0) + max(shortest_ms, 1_000),
    )
