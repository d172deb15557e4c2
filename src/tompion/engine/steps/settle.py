"""Outcomes: one transaction for all that have gathered, each guarded by its fence, each setting free what waits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from tompion.engine.context import EngineContext
from tompion.engine.notifications.outbox import FinalOutcome
from tompion.engine.steps import audit
from tompion.engine.steps.release import release_waiting
from tompion.engine.steps.result import Launches, Notes, Settled
from tompion.model.notification import NotificationKind
from tompion.model.policy import Policy
from tompion.model.run import FINAL, RunChange, RunId, RunState
from tompion.model.schedule_state import ScheduleState, StateTuple
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.outcome import Outcome, free_slot, settle, should_pause
from tompion.plan.pause import PAUSE_COLUMNS, pause_schedule
from tompion.store.base import Transaction

IN_FLIGHT, WAITING, SUCCESSES, FAILURES = map(
    ScheduleState._fields.index, ("in_flight", "waiting", "successes", "failures")
)


class SettleStep:
    """The step for outcomes."""

    def __init__(self, instance: EngineContext) -> None:
        """Take the instance."""
        self._instance = instance

    def settle(self, transaction: Transaction, outcomes: Sequence[Outcome]) -> Settled:
        """Write outcomes and start what they set free."""
        now_ms = transaction.now_ms()
        rows = transaction.state_lock_tuples(outcome.schedule_key for outcome in outcomes)
        schedules = self._instance.schedules.of_versions(transaction, [(row[0], row[1]) for row in rows.values()])
        newest = _newest(outcomes)
        plain, rest = _plain(newest, rows, schedules)
        finished = self._finish(transaction, plain, rows, now_ms)
        self._tell_recovered(transaction, plain, finished, rows, schedules, now_ms)
        settled = self._settle(
            transaction, rest, {key: ScheduleState._make(row) for key, row in rows.items()}, schedules, now_ms
        )
        accepted = finished | settled.accepted
        return settled._replace(accepted=accepted, stale=len(outcomes) - len(accepted))

    def _finish(
        self, transaction: Transaction, outcomes: list[Outcome], rows: dict[int, StateTuple], now_ms: int
    ) -> set[RunId]:
        """Write outcomes that simply succeed: no more than a few numbers change, and nobody waits for the slot."""
        finished = transaction.run_finish_fast([(*each[:4], each.started_ms, now_ms) for each in outcomes])
        counts = Counter([run[0] for run in finished])
        transaction.state_count_successes([(key, *_tallied(rows[key], count)) for key, count in counts.items()])
        return finished

    def _tell_recovered(  # noqa: PLR0913 - what was finished, and what it was before
        self,
        transaction: Transaction,
        outcomes: list[Outcome],
        finished: set[RunId],
        rows: dict[int, StateTuple],
        schedules: dict[int, CompiledSchedule],
        now_ms: int,
    ) -> None:
        """Have it told which schedules have had failures, and simply succeed now."""
        notifications = self._instance.notifications
        if not finished or not notifications.wants(NotificationKind.RECOVERED):
            return
        failed = {key: row[FAILURES] for key, row in rows.items() if row[FAILURES]}
        first = {
            each.schedule_key: FinalOutcome(settle(each, Policy(), now_ms, closed=False), failed[each.schedule_key])
            for each in reversed(outcomes)
            if each.schedule_key in failed and RunId(*each[:3]) in finished
        }
        notifications.ended(transaction, list(first.values()), schedules, now_ms)

    def _settle(
        self,
        transaction: Transaction,
        outcomes: list[Outcome],
        states: dict[int, ScheduleState],
        schedules: dict[int, CompiledSchedule],
        now_ms: int,
    ) -> Settled:
        changes = [self._change(outcome, states, schedules, now_ms) for outcome in outcomes]
        accepted = transaction.run_settle(changes)
        touched: set[int] = set()
        notes: list[tuple[CompiledSchedule, str]] = []
        endings: list[FinalOutcome] = []
        for change in changes:
            key = change.schedule_key
            if change.id in accepted and change.state in FINAL and key in states:
                failures, noted = states[key].failures, len(notes)
                states[key] = free_slot(states[key], schedules.get(key), change.state, change.origin, now_ms)
                states[key] = self._after(transaction, states[key], schedules.get(key), change, notes)
                endings.append(FinalOutcome(change, failures, notes[-1][1] if len(notes) > noted else None))
                touched.add(key)
        self._instance.notifications.ended(transaction, endings, schedules, now_ms)
        released = Notes()
        launches = self._released(transaction, states, schedules, touched, now_ms, released)
        transaction.state_update([states[key] for key in sorted(touched)])
        if any(key in schedules and schedules[key].allowed_seconds is not None for key in touched):
            transaction.notify()  # the next run of an adaptive schedule may be due at once
        self._wake_backfills(transaction, [change for change in changes if change.id in accepted], now_ms)
        retried = {change.id for change in changes if change.state == RunState.ENQUEUED} & accepted
        return Settled(accepted, launches, retried, notes, 0, now_ms, notes=released)

    def _wake_backfills(self, transaction: Transaction, changes: list[RunChange], now_ms: int) -> None:
        """A backfill whose own run has ended goes on at once; one that waits behind ticks looks again by itself."""
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

    def _released(  # noqa: PLR0913 - whose, by which rules, when
        self,
        transaction: Transaction,
        states: dict[int, ScheduleState],
        schedules: dict[int, CompiledSchedule],
        touched: set[int],
        now_ms: int,
        notes: Notes,
    ) -> Launches:
        waiting = {key: states[key] for key in touched if states[key].waiting}
        if not waiting:
            return []
        contexts = self._instance.contexts(now_ms, transaction.target_list_paused())
        launches = release_waiting(transaction, waiting, schedules, contexts, self._instance, notes)
        states.update(waiting)
        return launches

    def _after(
        self,
        transaction: Transaction,
        state: ScheduleState,
        compiled: CompiledSchedule | None,
        change: RunChange,
        notes: list[tuple[CompiledSchedule, str]],
    ) -> ScheduleState:
        """Pause the schedule if it asked for that after a failure."""
        if compiled is None or state.closed or not should_pause(state, compiled.policy, change.state):
            return state
        error = (change.error or "no message").splitlines()[0]
        note = f"paused after a failed run ({change.state}): {error}"[:500]
        now_ms = transaction.now_ms()
        row = transaction.schedule_list_by_key([state.schedule_key])[state.schedule_key]
        paused, state = pause_schedule(row, state, paused_by=audit.AUTHOR, note=note, now_ms=now_ms)
        audit.save_change(transaction, row, paused, "pause", now_ms, PAUSE_COLUMNS)
        notes.append((compiled, note))
        return state


def _plain(
    outcomes: Iterable[Outcome], rows: dict[int, StateTuple], schedules: dict[int, CompiledSchedule]
) -> tuple[list[Outcome], list[Outcome]]:
    """Part the outcomes: those that simply succeed, and those about which there is more to decide."""
    plain: list[Outcome] = []
    rest: list[Outcome] = []
    for outcome in outcomes:
        row, compiled = rows.get(outcome.schedule_key), schedules.get(outcome.schedule_key)
        simple = row is not None and compiled is not None and not row[WAITING] and not compiled.is_sequential
        (plain if simple and outcome.is_plain_success else rest).append(outcome)
    if rest:
        others = {outcome.schedule_key for outcome in rest}
        rest += [outcome for outcome in plain if outcome.schedule_key in others]
        plain = [outcome for outcome in plain if outcome.schedule_key not in others]
    return plain, rest


def _tallied(row: StateTuple, finished: int) -> tuple[int, int]:
    return row[IN_FLIGHT] - finished, row[SUCCESSES] + finished


def _newest(outcomes: Sequence[Outcome]) -> Iterable[Outcome]:
    """One outcome of each run: of two attempts that ended here, only the later fence can still hold."""
    newest: dict[tuple[int, ...], Outcome] = {}
    for outcome in outcomes:
        known = newest.setdefault(outcome[:3], outcome)
        if known.fence < outcome.fence:
            newest[outcome[:3]] = outcome
    return newest.values()
