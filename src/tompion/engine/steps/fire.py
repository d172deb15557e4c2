"""The fire transaction: claim due schedules, decide their ticks, write the runs, advance the cursors.

All decisions about ticks are serialised here. Nothing starts before the commit, and every run in the result is already
in the ledger.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tompion.engine.context import EngineContext
from tompion.engine.steps import audit
from tompion.engine.steps.release import release_waiting
from tompion.engine.steps.result import Launches, StepResult
from tompion.engine.steps.tzdata_replan import ReplanStep
from tompion.model.hint import CONFLICTING_HINTS
from tompion.model.run import RunId, RunState, StartRow
from tompion.model.schedule_state import FastAdvanceRow, ScheduleState, StateTuple
from tompion.plan.adaptive import has_conflicting_hints
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.context import DecisionContexts
from tompion.plan.decide import Decision, decide, decision_writes
from tompion.plan.fast_path import decide_fast
from tompion.plan.pause import PAUSE_COLUMNS, resume_schedule
from tompion.store.base import Transaction

BROKEN_RETRY_MS = 5 * 60_000
"""Delay until a schedule that cannot be compiled is tried again. It must not stop the others."""


class FastStarts(NamedTuple):
    """Ticks that the fast path decided: the runs to start, and the rows that record them."""

    launches: Launches
    starts: list[StartRow]
    steps: list[FastAdvanceRow]

    def without(self, duplicates: set[RunId]) -> Launches:
        """Return the launches whose runs were not in the ledger before."""
        return [launch for launch in self.launches if launch[0].id not in duplicates] if duplicates else self.launches


class FireStep:
    """Fires due schedules."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context
        self._replan_step = ReplanStep(context)

    def on_time(self, transaction: Transaction, limit: int) -> StepResult:
        """Fire schedules whose next tick is within the misfire grace."""
        now_ms = transaction.now_ms()
        grace_start_ms = now_ms - self._context.settings.misfire_grace_ms
        return self._fire(transaction, now_ms, transaction.state_claim_due(grace_start_ms - 1, now_ms, limit), 0)

    def catch_up(self, transaction: Transaction, limit: int, budget: int) -> StepResult:
        """Fire schedules that have missed ticks. ``budget`` is the number of catch-up runs that may start."""
        now_ms = transaction.now_ms()
        grace_start_ms = now_ms - self._context.settings.misfire_grace_ms
        return self._fire(transaction, now_ms, transaction.state_claim_due(-1, grace_start_ms - 1, limit), budget)

    def _fire(self, transaction: Transaction, now_ms: int, claimed: list[StateTuple], budget: int) -> StepResult:
        """Decide the due ticks of claimed schedules, write the decisions, and return the launches."""
        result = StepResult(now_ms=now_ms, claimed=len(claimed))
        if not claimed:
            return result
        context = self._context
        schedules = context.schedules.of_versions(transaction, [(row[0], row[1]) for row in claimed])
        contexts = context.decision_contexts(now_ms, transaction.target_list_paused())
        fast, states = _decide_fast(claimed, schedules, contexts)
        states = self._own_plans(transaction, states, schedules, result)
        states, launches = self._resume_and_release(transaction, states, schedules, contexts, result)
        decisions, new_states = self._decide(states, schedules, contexts, budget, result)
        writes = decision_writes(now_ms, decisions, new_states)._replace(starts=fast.starts, steps=fast.steps)
        recorded = transaction.write_decisions(writes)
        result.add_decisions(decisions, recorded, schedules)
        context.notifications.notify_missed(transaction, writes.dropped_ranges, schedules, now_ms)
        if recorded.to_end:  # a tick of the same batch may have terminated a run that was released above
            terminated = {row.id for row in recorded.to_end if row.state == RunState.TERMINATED}
            launches = [launch for launch in launches if launch[0].id not in terminated]
        launches += fast.without(recorded.duplicates)
        launches += launches_of(decisions, context.number, recorded.duplicates)
        result.launches, result.to_end = launches, recorded.to_end
        result.runs = len(fast.starts) + sum(len(decision.runs) for decision in decisions)
        return result

    def _own_plans(
        self,
        transaction: Transaction,
        states: list[ScheduleState],
        schedules: dict[int, CompiledSchedule],
        result: StepResult,
    ) -> list[ScheduleState]:
        """Replan schedules that were planned with other time zone tables, or leave them to newer instances."""
        foreign = {key for state in states if _is_foreign(state, schedules.get(key := state.schedule_key))}
        if not foreign:
            return states
        if self._replan_step.steps_back(transaction):
            result.claimed -= len(foreign)
            return [state for state in states if state.schedule_key not in foreign]
        rows = transaction.schedule_list_by_key(foreign)
        own: dict[int, ScheduleState] = {}
        for state in states:
            if (key := state.schedule_key) in foreign:
                own[key], replanned = self._replan_step.replan(transaction, state, schedules[key], rows[key])
                result.replanned += replanned
        return [own.get(state.schedule_key, state) for state in states]

    def _decide(
        self,
        states: list[ScheduleState],
        schedules: dict[int, CompiledSchedule],
        contexts: DecisionContexts,
        budget: int,
        result: StepResult,
    ) -> tuple[list[Decision], list[ScheduleState]]:
        """Decide the due ticks of schedules, and return the decisions and the new state of every schedule.

        A schedule that is paused, closed or damaged has no decision. It counts as idle.
        """
        now_ms, damaged = result.now_ms, self._context.schedules.broken
        decisions: list[Decision] = []
        new_states: list[ScheduleState] = []
        for state in states:
            compiled = schedules.get(state.schedule_key)
            if compiled is None:
                result.idle_schedules += 1
                new_states.append(self._postpone_broken(state, now_ms))
                continue
            if state.paused or state.closed:
                result.idle_schedules += 1
                new_states.append(state._replace(next_fire_ms=state.pause_until_ms if state.paused else None))
                continue
            try:
                decision, new_state, catchups = decide(state, compiled, contexts.of(compiled), budget - result.catchups)
            except Exception as error:  # noqa: BLE001 - a damaged row must not stop the others
                damaged[state.schedule_key] = f"{compiled.schedule_id}: {error!r}"
                result.idle_schedules += 1
                new_states.append(self._postpone_broken(state, now_ms))
                continue
            decisions.append(decision)
            new_states.append(decision.with_wake_up(new_state))
            result.catchups += catchups
            self._warn_if_limited(compiled, new_state, catchups, now_ms)
            if decision.runs and has_conflicting_hints(state, now_ms):
                self._context.events.warn(f"{compiled.schedule_id}: {CONFLICTING_HINTS}")
        return decisions, new_states

    def _warn_if_limited(self, compiled: CompiledSchedule, state: ScheduleState, catchups: int, now_ms: int) -> None:
        """Warn if missed ticks of a schedule wait because of ``max_catchup_per_tick``."""
        settings = self._context.settings
        following = state.next_nominal_s
        if catchups < settings.max_catchup_per_tick or following is None:
            return
        if compiled.fire_ms(following) < now_ms - settings.misfire_grace_ms:
            self._context.events.warn(
                f"{compiled.schedule_id}: max_catchup_per_tick ({settings.max_catchup_per_tick}) missed ticks were "
                "started, and the others wait for the next tick of the engine"
            )

    def _resume_and_release(
        self,
        transaction: Transaction,
        states: list[ScheduleState],
        schedules: dict[int, CompiledSchedule],
        contexts: DecisionContexts,
        result: StepResult,
    ) -> tuple[list[ScheduleState], Launches]:
        """Resume schedules whose pause is over, and release queued runs that have a free slot."""
        resumed_states = [
            self._resume_if_due(transaction, state, schedules.get(state.schedule_key), result.now_ms)
            for state in states
        ]
        waiting = {state.schedule_key: state for state in resumed_states if state.waiting}
        if not waiting:
            return resumed_states, []
        launches = release_waiting(transaction, waiting, schedules, contexts, self._context, result)
        return [waiting.get(state.schedule_key, state) for state in resumed_states], launches

    def _resume_if_due(
        self, transaction: Transaction, state: ScheduleState, compiled: CompiledSchedule | None, now_ms: int
    ) -> ScheduleState:
        pause_until_ms = state.pause_until_ms
        if compiled is None or not state.paused or pause_until_ms is None or pause_until_ms > now_ms:
            return state
        transaction.run_unhold_planned([state.schedule_key], now_ms)
        row = transaction.schedule_list_by_key([state.schedule_key])[state.schedule_key]
        resumed, state = resume_schedule(row, state, compiled, on_resume=compiled.policy.on_resume, now_ms=now_ms)
        audit.save_change(transaction, row, resumed, "resume", now_ms, PAUSE_COLUMNS)
        return state

    def _postpone_broken(self, state: ScheduleState, now_ms: int) -> ScheduleState:
        problem = self._context.schedules.problem(state.schedule_key)
        self._context.events.warn(f"schedule {state.schedule_key} cannot fire: {problem}")
        return state._replace(next_fire_ms=now_ms + BROKEN_RETRY_MS)


def _is_foreign(state: ScheduleState, compiled: CompiledSchedule | None) -> bool:
    """Return whether the next tick was planned with other time zone tables."""
    return compiled is not None and state.zone_tables != compiled.zone_tables


def _decide_fast(
    claimed: list[StateTuple], schedules: dict[int, CompiledSchedule], contexts: DecisionContexts
) -> tuple[FastStarts, list[ScheduleState]]:
    """Decide the ticks that simply start. Return them, and the states that need the full decision."""
    fast, states = FastStarts([], [], []), []
    launches, starts, steps = fast
    for state in claimed:
        compiled = schedules.get(state[0])
        rows = None if compiled is None else decide_fast(state, compiled, contexts.of(compiled))
        if compiled is None or rows is None:
            states.append(ScheduleState._make(state))
        else:
            row, start_row, step_row = rows
            launches.append((row, compiled))
            starts.append(start_row)
            steps.append(step_row)
    return fast, states


def launches_of(decisions: Iterable[Decision], owner: int, duplicates: set[RunId]) -> Launches:
    """Return the decided runs that an instance owns and has to start."""
    return [
        (run, decision.compiled)
        for decision in decisions
        for run in decision.runs
        if run.state is RunState.ENQUEUED and run.owner == owner and not (duplicates and run.id in duplicates)
    ]
