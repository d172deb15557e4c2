"""Outcomes: one transaction writes all that have gathered. Each is guarded by its fence, and each frees a slot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from tompion.engine.context import EngineContext
from tompion.engine.notifications.outbox import FinalOutcome
from tompion.engine.steps import audit
from tompion.engine.steps.release import release_waiting
from tompion.engine.steps.result import StepResult
from tompion.model.notification import NotificationKind
from tompion.model.policy import Policy
from tompion.model.run import FINAL, RunChange, RunId, RunState
from tompion.model.schedule_state import ScheduleState, StateTuple
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.outcome import Outcome, free_slot, settle, should_pause
from tompion.plan.pause import PAUSE_COLUMNS, pause_schedule
from tompion.store.base import Transaction

MAX_NOTE_LENGTH = 500
IN_FLIGHT, WAITING, SUCCESSES, FAILURES = map(
    ScheduleState._fields.index, ("in_flight", "waiting", "successes", "failures")
)


class SettleStep:
    """Writes outcomes and starts the queued runs that get their slots."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context

    def settle(self, transaction: Transaction, outcomes: Sequence[Outcome]) -> StepResult:
        """Write outcomes and start queued runs in the freed slots."""
        result = StepResult(now_ms=transaction.now_ms(), outcomes=outcomes)
        rows = transaction.state_lock_tuples(outcome.schedule_key for outcome in outcomes)
        schedules = self._context.schedules.of_versions(transaction, [(row[0], row[1]) for row in rows.values()])
        plain, others = _split_plain(_latest_attempts(outcomes), rows, schedules)
        finished = self._finish_plain(transaction, plain, rows, result.now_ms)
        self._notify_recovered(transaction, plain, finished, rows, schedules, result.now_ms)
        states = {key: ScheduleState._make(row) for key, row in rows.items()}
        self._settle(transaction, others, states, schedules, result)
        result.accepted |= finished
        result.stale = len(outcomes) - len(result.accepted)
        return result

    def _finish_plain(
        self, transaction: Transaction, outcomes: list[Outcome], rows: dict[int, StateTuple], now_ms: int
    ) -> set[RunId]:
        """Write plain successes: only counters change, and no queued run waits for the slot."""
        finished = transaction.run_finish_fast([(*outcome[:4], outcome.started_ms, now_ms) for outcome in outcomes])
        counts = Counter([run[0] for run in finished])
        transaction.state_count_successes([(key, *_counters_after(rows[key], count)) for key, count in counts.items()])
        return finished

    def _notify_recovered(  # noqa: PLR0913 - the outcomes, and the state before them
        self,
        transaction: Transaction,
        outcomes: list[Outcome],
        finished: set[RunId],
        rows: dict[int, StateTuple],
        schedules: dict[int, CompiledSchedule],
        now_ms: int,
    ) -> None:
        """Write notifications for schedules that had failed and now succeed."""
        notifications = self._context.notifications
        if not finished or not notifications.wants(NotificationKind.RECOVERED):
            return
        failures = {key: row[FAILURES] for key, row in rows.items() if row[FAILURES]}
        first_successes = {
            outcome.schedule_key: FinalOutcome(
                change=settle(outcome, Policy(), now_ms, closed=False), failures=failures[outcome.schedule_key]
            )
            for outcome in reversed(outcomes)
            if outcome.schedule_key in failures and outcome.id in finished
        }
        notifications.notify_ended(transaction, list(first_successes.values()), schedules, now_ms)

    def _settle(
        self,
        transaction: Transaction,
        outcomes: list[Outcome],
        states: dict[int, ScheduleState],
        schedules: dict[int, CompiledSchedule],
        result: StepResult,
    ) -> None:
        """Write outcomes, free the slots of ended runs, and release the runs that wait for them."""
        now_ms = result.now_ms
        changes = [self._change(outcome, states, schedules, now_ms) for outcome in outcomes]
        result.accepted = transaction.run_settle(changes)
        changed_keys: set[int] = set()
        endings: list[FinalOutcome] = []
        for change in changes:
            key = change.schedule_key
            if change.id in result.accepted and change.state in FINAL and key in states:
                failures = states[key].failures
                states[key] = free_slot(states[key], schedules.get(key), change.state, change.origin, now_ms)
                note = self._pause_after_failure(transaction, states, schedules.get(key), change, result)
                endings.append(FinalOutcome(change=change, failures=failures, note=note))
                changed_keys.add(key)
        self._context.notifications.notify_ended(transaction, endings, schedules, now_ms)
        self._release(transaction, states, schedules, changed_keys, result)
        transaction.state_update([states[key] for key in sorted(changed_keys)])
        self._wake_engines(transaction, [schedules[key] for key in changed_keys if key in schedules])
        self._wake_backfills(transaction, [change for change in changes if change.id in result.accepted], now_ms)
        result.retried = {change.id for change in changes if change.state == RunState.ENQUEUED} & result.accepted

    def _wake_engines(self, transaction: Transaction, schedules: list[CompiledSchedule]) -> None:
        """Wake the engines if the end of a run has set a next fire time, which none of them waits for yet."""
        if any(compiled.is_sequential for compiled in schedules):
            transaction.notify()

    def _wake_backfills(self, transaction: Transaction, changes: list[RunChange], now_ms: int) -> None:
        """Continue a backfill at once when one of its runs has ended. One that waits for ticks polls by itself."""
        keys = {change.schedule_key for change in changes if change.origin and change.state in FINAL}
        if keys:
            transaction.backfill_wake(keys, now_ms)
            transaction.notify()

    def _change(
        self, outcome: Outcome, states: dict[int, ScheduleState], schedules: dict[int, CompiledSchedule], now_ms: int
    ) -> RunChange:
        state, compiled = states.get(outcome.schedule_key), schedules.get(outcome.schedule_key)
        policy = Policy() if compiled is None else compiled.policy
        return settle(outcome, policy, now_ms, closed=state is None or state.closed)

    def _release(
        self,
        transaction: Transaction,
        states: dict[int, ScheduleState],
        schedules: dict[int, CompiledSchedule],
        changed_keys: set[int],
        result: StepResult,
    ) -> None:
        """Start the queued runs of schedules whose slots became free."""
        waiting = {key: states[key] for key in changed_keys if states[key].waiting}
        if waiting:
            contexts = self._context.decision_contexts(result.now_ms, transaction.target_list_paused())
            result.launches = release_waiting(transaction, waiting, schedules, contexts, self._context, result)
            states.update(waiting)

    def _pause_after_failure(
        self,
        transaction: Transaction,
        states: dict[int, ScheduleState],
        compiled: CompiledSchedule | None,
        change: RunChange,
        result: StepResult,
    ) -> str | None:
        """Pause the schedule if its policy demands that after a failure. Return the note of the pause."""
        state = states[change.schedule_key]
        if compiled is None or state.closed or not should_pause(state, compiled.policy, change.state):
            return None
        error = (change.error or "no message").splitlines()[0]
        note = f"paused after a failed run ({change.state}): {error}"[:MAX_NOTE_LENGTH]
        row = transaction.schedule_list_by_key([state.schedule_key])[state.schedule_key]
        paused, states[state.schedule_key] = pause_schedule(
            row, state, paused_by=audit.ENGINE_ACTOR, note=note, now_ms=result.now_ms
        )
        audit.save_change(transaction, row, paused, "pause", result.now_ms, PAUSE_COLUMNS)
        result.paused.append((compiled, note))
        return note


def _split_plain(
    outcomes: Iterable[Outcome], rows: dict[int, StateTuple], schedules: dict[int, CompiledSchedule]
) -> tuple[list[Outcome], list[Outcome]]:
    """Split outcomes into plain successes and those that need a decision.

    If one outcome of a schedule needs a decision, all outcomes of that schedule are in the second list.
    """
    plain: list[Outcome] = []
    others: list[Outcome] = []
    for outcome in outcomes:
        row, compiled = rows.get(outcome.schedule_key), schedules.get(outcome.schedule_key)
        simple = row is not None and compiled is not None and not row[WAITING] and not compiled.is_sequential
        (plain if simple and outcome.is_plain_success else others).append(outcome)
    if others:
        keys = {outcome.schedule_key for outcome in others}
        others += [outcome for outcome in plain if outcome.schedule_key in keys]
        plain = [outcome for outcome in plain if outcome.schedule_key not in keys]
    return plain, others


def _counters_after(row: StateTuple, finished: int) -> tuple[int, int]:
    return row[IN_FLIGHT] - finished, row[SUCCESSES] + finished


def _latest_attempts(outcomes: Sequence[Outcome]) -> Iterable[Outcome]:
    """Return one outcome per run. If two attempts ended here, only the later fence can still be valid."""
    latest: dict[tuple[int, ...], Outcome] = {}
    for outcome in outcomes:
        other = latest.setdefault(outcome[:3], outcome)
        if other.fence < outcome.fence:
            latest[outcome[:3]] = outcome
    return latest.values()
