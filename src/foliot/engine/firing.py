"""The fire transaction: lock what is due, let the planner decide, write the ledger, move the cursors.

Everything linearises here.  Nothing is launched before the commit, and whatever this returns is already in the ledger.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from foliot.engine import journal
from foliot.engine.instance import Instance, Worlds
from foliot.model.dial import Dial
from foliot.model.record import Record
from foliot.model.run import RunId, RunRow, RunState
from foliot.plan.decide import Decision, decide
from foliot.plan.edit import resumed
from foliot.plan.rule import Rule
from foliot.plan.settle import release
from foliot.store.base import Transaction

BROKEN_RETRY_MS = 5 * 60_000
"""A schedule that cannot be compiled is looked at again after this long; it must not stop the others."""


class Fired(NamedTuple):
    """What a step has written: what to launch, whom to end, and how much of the batch and the budget was used."""

    claimed: int
    launches: list[tuple[RunRow, Rule]]
    to_end: list[RunRow]
    catchups: int = 0
    runs: int = 0


NOTHING = Fired(0, [], [])


class Firing:
    """The fire step of one instance."""

    def __init__(self, instance: Instance) -> None:
        """Take the instance."""
        self._instance = instance

    def on_time(self, transaction: Transaction, limit: int) -> Fired:
        """Fire schedules whose next tick is not missed."""
        now_ms = transaction.now_ms()
        edge = now_ms - self._instance.settings.misfire_grace_ms
        return self._fire(transaction, now_ms, transaction.claim_due(edge - 1, now_ms, limit), 0)

    def catch_up(self, transaction: Transaction, limit: int, budget: int) -> Fired:
        """Fire schedules that have missed ticks, within the budget."""
        now_ms = transaction.now_ms()
        edge = now_ms - self._instance.settings.misfire_grace_ms
        return self._fire(transaction, now_ms, transaction.claim_due(-1, edge - 1, limit), budget)

    def _fire(self, transaction: Transaction, now_ms: int, dials: list[Dial], budget: int) -> Fired:
        if not dials:
            return NOTHING
        instance = self._instance
        rules = instance.rules.of(transaction, dials)
        worlds = instance.worlds(now_ms, transaction.paused_targets())
        dials, launches = self._prepared(transaction, dials, rules, worlds, now_ms)
        decisions: list[Decision] = []
        written: list[Dial] = []
        catchups = 0
        for dial in dials:
            rule = rules.get(dial.schedule_key)
            if rule is None:
                written.append(self._broken(dial, now_ms))
            elif dial.paused or dial.closed:
                written.append(dial._replace(next_fire_ms=dial.pause_until_ms if dial.paused else None))
            else:
                decision, moved, used = decide(dial, rule, worlds.of(rule), budget - catchups)
                decisions.append(decision)
                written.append(moved)
                catchups += used
        return self._recorded(transaction, now_ms, decisions, written, launches, catchups)

    def _recorded(  # noqa: PLR0913 - the parts of one batch
        self,
        transaction: Transaction,
        now_ms: int,
        decisions: list[Decision],
        dials: list[Dial],
        launches: list[tuple[RunRow, Rule]],
        catchups: int,
    ) -> Fired:
        recorded = transaction.record(record_of(now_ms, decisions, dials))
        launches += launches_of(decisions, self._instance.number, recorded.duplicates)
        runs = sum(len(decision.runs) for decision in decisions)
        return Fired(len(dials), launches, recorded.to_end, catchups, runs)

    def _prepared(
        self, transaction: Transaction, dials: list[Dial], rules: dict[int, Rule], worlds: Worlds, now_ms: int
    ) -> tuple[list[Dial], list[tuple[RunRow, Rule]]]:
        """Resume what was paused until now, and start what waits for a slot that is free."""
        ready = [self._resumed(transaction, dial, rules.get(dial.schedule_key), now_ms) for dial in dials]
        launches: list[tuple[RunRow, Rule]] = []
        waiting = {dial.schedule_key: dial for dial in ready if dial.waiting and not dial.paused}
        if waiting:
            released = release_waiting(transaction, waiting, rules, worlds, self._instance)
            launches += released
            ready = [waiting.get(dial.schedule_key, dial) for dial in ready]
        return ready, launches

    def _resumed(self, transaction: Transaction, dial: Dial, rule: Rule | None, now_ms: int) -> Dial:
        until = dial.pause_until_ms
        if rule is None or not dial.paused or until is None or until > now_ms:
            return dial
        transaction.unhold_planned([dial.schedule_key], now_ms)
        journal.resumed(transaction, dial.schedule_key, now_ms)
        return resumed(dial, rule, now_ms, rule.policy.on_resume)

    def _broken(self, dial: Dial, now_ms: int) -> Dial:
        problem = self._instance.rules.broken.get(dial.schedule_key, "its definition is missing")
        self._instance.probe.warn(f"schedule {dial.schedule_key} cannot fire: {problem}")
        return dial._replace(next_fire_ms=now_ms + BROKEN_RETRY_MS)


def record_of(now_ms: int, decisions: Iterable[Decision], dials: list[Dial]) -> Record:
    """Return everything that decisions want written."""
    record = Record(now_ms, dials, [], [], [], [], [])
    for decision in decisions:
        record.runs.extend(decision.runs)
        if decision.spans:
            record.spans.extend(decision.spans)
        if decision.supersede:
            record.supersede.append(decision.rule.schedule_key)
        if decision.cancel:
            record.cancel.append(decision.rule.schedule_key)
        if decision.terminate:
            record.terminate.append(decision.rule.schedule_key)
    return record


def launches_of(decisions: Iterable[Decision], owner: int, duplicates: set[RunId]) -> list[tuple[RunRow, Rule]]:
    """Return the runs that an instance is to launch now that they are written."""
    return [
        (run, decision.rule)
        for decision in decisions
        for run in decision.runs
        if run.state is RunState.ENQUEUED and run.owner == owner and not (duplicates and run.id in duplicates)
    ]


def release_waiting(
    transaction: Transaction, dials: dict[int, Dial], rules: dict[int, Rule], worlds: Worlds, instance: Instance
) -> list[tuple[RunRow, Rule]]:
    """Start waiting runs of locked schedules while slots are free; ``dials`` is brought up to date."""
    most = max((rules[key].policy.max_concurrent for key in dials if key in rules), default=1)
    by_schedule: dict[int, list[RunRow]] = {}
    for row in transaction.waiting_of(dials, most + 16):
        by_schedule.setdefault(row.schedule_key, []).append(row)
    changes, launches = [], []
    for key, rows in by_schedule.items():
        rule = rules.get(key)
        if rule is None:
            continue
        released = release(dials[key], rule, rows, worlds.of(rule))
        dials[key] = released.dial
        changes += released.changes
        launches += [(row, rule) for row in released.started if row.owner == instance.number]
    transaction.release_runs(changes)
    return launches
