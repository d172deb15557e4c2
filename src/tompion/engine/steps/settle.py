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
from tompion.plan.edit import paused
from tompion.plan.outcome import Outcome, freed, pauses, settle
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
        rows = transaction.lock_dial_rows(outcome.schedule_key for outcome in outcomes)
        rules = self._instance.rules.of_versions(transaction, [(row[0], row[1]) for row in rows.values()])
        newest = _newest(outcomes)
        plain, rest = _plain(newest, rows, rules)
        finished = self._finish(transaction, plain, rows, now_ms)
        self._tell_recovered(transaction, plain, finished, rows, rules, now_ms)
        settled = self._settle(
            transaction, rest, {key: ScheduleState._make(row) for key, row in rows.items()}, rules, now_ms
        )
        accepted = finished | settled.accepted
        return settled._replace(accepted=accepted, stale=len(outcomes) - len(accepted))

    def _finish(
        self, transaction: Transaction, outcomes: list[Outcome], rows: dict[int, StateTuple], now_ms: int
    ) -> set[RunId]:
        """Write outcomes that simply succeed: no more than a few numbers change, and nobody waits for the slot."""
        finished = transaction.finish_runs([(*each[:4], each.started_ms, now_ms) for each in outcomes])
        counts = Counter([run[0] for run in finished])
        transaction.tally_dials([(key, *_tallied(rows[key], count)) for key, count in counts.items()])
        return finished

    def _tell_recovered(  # noqa: PLR0913 - what was finished, and what it was before
        self,
        transaction: Transaction,
        outcomes: list[Outcome],
        finished: set[RunId],
        rows: dict[int, StateTuple],
        rules: dict[int, CompiledSchedule],
        now_ms: int,
    ) -> None:
        """Have it told which schedules have had failures, and simply succeed now."""
        notices = self._instance.notices
        if not finished or not notices.wants(NotificationKind.RECOVERED):
            return
        failed = {key: row[FAILURES] for key, row in rows.items() if row[FAILURES]}
        first = {
            each.schedule_key: FinalOutcome(settle(each, Policy(), now_ms, closed=False), failed[each.schedule_key])
            for each in reversed(outcomes)
            if each.schedule_key in failed and RunId(*each[:3]) in finished
        }
        notices.ended(transaction, list(first.values()), rules, now_ms)

    def _settle(
        self,
        transaction: Transaction,
        outcomes: list[Outcome],
        dials: dict[int, ScheduleState],
        rules: dict[int, CompiledSchedule],
        now_ms: int,
    ) -> Settled:
        changes = [self._change(outcome, dials, rules, now_ms) for outcome in outcomes]
        accepted = transaction.settle_runs(changes)
        touched: set[int] = set()
        notes: list[tuple[CompiledSchedule, str]] = []
        endings: list[FinalOutcome] = []
        for change in changes:
            key = change.schedule_key
            if change.id in accepted and change.state in FINAL and key in dials:
                failures, noted = dials[key].failures, len(notes)
                dials[key] = freed(dials[key], rules.get(key), change.state, change.origin, now_ms)
                dials[key] = self._after(transaction, dials[key], rules.get(key), change, notes)
                endings.append(FinalOutcome(change, failures, notes[-1][1] if len(notes) > noted else None))
                touched.add(key)
        self._instance.notices.ended(transaction, endings, rules, now_ms)
        released = Notes()
        launches = self._released(transaction, dials, rules, touched, now_ms, released)
        transaction.save_dials([dials[key] for key in sorted(touched)])
        if any(key in rules and rules[key].gate is not None for key in touched):
            transaction.notify()  # the next run of an adaptive schedule may be due at once
        self._wake_backfills(transaction, [change for change in changes if change.id in accepted], now_ms)
        retried = {change.id for change in changes if change.state == RunState.ENQUEUED} & accepted
        return Settled(accepted, launches, retried, notes, 0, now_ms, notes=released)

    def _wake_backfills(self, transaction: Transaction, changes: list[RunChange], now_ms: int) -> None:
        """A backfill whose own run has ended goes on at once; one that waits behind ticks looks again by itself."""
        keys = {change.schedule_key for change in changes if change.origin and change.state in FINAL}
        if keys:
            transaction.wake_backfills(keys, now_ms)
            transaction.notify()

    def _change(
        self, outcome: Outcome, dials: dict[int, ScheduleState], rules: dict[int, CompiledSchedule], now_ms: int
    ) -> RunChange:
        dial, rule = dials.get(outcome.schedule_key), rules.get(outcome.schedule_key)
        policy = Policy() if rule is None else rule.policy
        return settle(outcome, policy, now_ms, closed=dial is None or dial.closed)

    def _released(  # noqa: PLR0913 - whose, by which rules, when
        self,
        transaction: Transaction,
        dials: dict[int, ScheduleState],
        rules: dict[int, CompiledSchedule],
        touched: set[int],
        now_ms: int,
        notes: Notes,
    ) -> Launches:
        waiting = {key: dials[key] for key in touched if dials[key].waiting}
        if not waiting:
            return []
        worlds = self._instance.worlds(now_ms, transaction.paused_targets())
        launches = release_waiting(transaction, waiting, rules, worlds, self._instance, notes)
        dials.update(waiting)
        return launches

    def _after(
        self,
        transaction: Transaction,
        dial: ScheduleState,
        rule: CompiledSchedule | None,
        change: RunChange,
        notes: list[tuple[CompiledSchedule, str]],
    ) -> ScheduleState:
        """Pause the schedule if it asked for that after a failure."""
        if rule is None or dial.closed or not pauses(dial, rule.policy, change.state):
            return dial
        error = (change.error or "no message").splitlines()[0]
        note = f"paused after a failed run ({change.state}): {error}"[:500]
        audit.paused(transaction, dial.schedule_key, note, transaction.now_ms())
        notes.append((rule, note))
        return paused(dial, None)


def _plain(
    outcomes: Iterable[Outcome], rows: dict[int, StateTuple], rules: dict[int, CompiledSchedule]
) -> tuple[list[Outcome], list[Outcome]]:
    """Part the outcomes: those that simply succeed, and those about which there is more to decide."""
    plain: list[Outcome] = []
    rest: list[Outcome] = []
    for outcome in outcomes:
        row, rule = rows.get(outcome.schedule_key), rules.get(outcome.schedule_key)
        simple = row is not None and rule is not None and not row[WAITING] and not rule.follows
        (plain if simple and outcome.says_nothing else rest).append(outcome)
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
