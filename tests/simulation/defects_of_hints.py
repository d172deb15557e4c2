"""Planted defects in fixed delays, adaptive schedules and their hints."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.support.planting import Patches, defect
from tompion.engine.steps import settle
from tompion.model.schedule_state import ScheduleState
from tompion.plan import adaptive, decide, outcome
from tompion.plan.compiled_schedule import CompiledSchedule


@defect
def an_outcome_writes_hints_as_they_were(patches: Patches) -> None:
    """An outcome writes back the hints that were read before the run."""
    freed = outcome.free_slot
    hints: dict[int, str | None] = {}

    def stale(state: ScheduleState, *rest: Any) -> ScheduleState:
        before, hints[state.schedule_key] = hints.get(state.schedule_key), state.hints
        return freed(state, *rest)._replace(hints=before)

    patches.set(settle, "free_slot", stale)


@defect
def a_one_shot_hint_is_never_used_up(patches: Patches) -> None:
    """A one-shot hint causes a run every second."""
    patches.set(adaptive, "remaining_hints", lambda state, nominal_s, now_ms: state.hints)


@defect
def the_longest_interval_is_only_the_baselines(patches: Patches) -> None:
    """A hint may be later than the longest interval."""
    wish, clamped = adaptive._candidate, adaptive._clamp

    def unbounded(state: ScheduleState, compiled: CompiledSchedule, at_ms: int) -> tuple[int, str | None]:
        hinted = wish(state, compiled, adaptive.hints_of(state))
        free = hinted is not None and hinted.hint is not None
        return clamped(
            state, compiled._replace(policy=replace(compiled.policy, max_interval_ms=None)) if free else compiled, at_ms
        )

    patches.set(adaptive, "_clamp", unbounded)


@defect
def the_shortest_interval_is_forgotten(patches: Patches) -> None:
    """A hint may be sooner than the shortest interval."""
    clamped = adaptive._clamp

    def hasty(state: ScheduleState, compiled: CompiledSchedule, at_ms: int) -> tuple[int, str | None]:
        return clamped(state, compiled._replace(policy=replace(compiled.policy, min_interval_ms=0)), at_ms)

    patches.set(adaptive, "_clamp", hasty)


@defect
def an_adaptive_schedule_waits_for_a_run_that_was_skipped(patches: Patches) -> None:
    """The next run waits for the end of a run that was skipped."""
    after_skip = decide._after_skip

    def waiting(state: ScheduleState, decision: decide.Decision, *rest: Any) -> ScheduleState:
        after = after_skip(state, decision, *rest)
        return after._replace(next_nominal_s=None, next_fire_ms=None) if decision.runs else after

    patches.set(decide, "_after_skip", waiting)


@defect
def a_fixed_delay_waits_for_the_next_poll(patches: Patches) -> None:
    """The end of a run wakes the engines for adaptive schedules, but not for fixed delays."""

    def adaptive_only(self: Any, transaction: Any, schedules: list[CompiledSchedule]) -> None:
        if any(compiled.allowed_seconds is not None for compiled in schedules):
            transaction.notify()

    patches.set(settle.SettleStep, "_wake_engines", adaptive_only)
