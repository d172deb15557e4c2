"""What somebody outside is to be told: written in the transaction of what happened, or not at all.

An instance knows what its configuration asks for.  Where that is nothing, or nothing of the kind has happened, this
costs a comparison; otherwise one look at the schedules concerned and one insertion, however many there are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from tompion.model.codec import truncate
from tompion.model.notification import NotificationKind, NotificationRow, NotificationRule, NotificationState
from tompion.model.run import AUTOMATIC_SOURCES, FAILURES, MISSED, RunChange, RunId, RunRow, RunState
from tompion.model.schedule_state import DroppedRange
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.stored_definition import compact

if TYPE_CHECKING:
    from tompion.engine.context import EngineContext
    from tompion.store.base import Transaction

MAX_ERROR_BYTES = 500
"""So much of the first line of an error is told: what follows are paths and lines of a program."""
FIRST_ATTEMPT = 1


class NotificationEvent(NamedTuple):
    """Something that somebody may want to be told."""

    topic: NotificationKind
    schedule_key: int
    subject: str
    data: Mapping[str, Any]
    late_ms: int = 0


class FinalOutcome(NamedTuple):
    """A run that has just ended for good: how many failures there were before it, and what it paused its schedule."""

    change: RunChange
    failures: int
    note: str | None = None


class NotificationOutbox:
    """What one instance writes down to be told."""

    def __init__(
        self, instance: EngineContext, rules: Sequence[NotificationRule] = (), public_url: str | None = None
    ) -> None:
        """Take what is asked for, and where the service is that can say more."""
        self._instance = instance
        self._rules = rules
        self._api = None if public_url is None else f"{public_url.rstrip('/')}/api/v1"
        self._topics = frozenset(topic for rule in rules for topic in rule.topics)
        self._late_ms = min(
            (rule.late_after_ms for rule in rules if NotificationKind.LATE in rule.topics), default=None
        )

    def wants(self, *topics: NotificationKind) -> bool:
        """Return whether anybody asks for one of these."""
        return not self._topics.isdisjoint(topics)

    def late(self, transaction: Transaction, launches: Sequence[tuple[RunRow, CompiledSchedule]], now_ms: int) -> None:
        """Write down which of the ticks that start now are late."""
        if self._late_ms is None or not launches:
            return
        latest = now_ms - self._late_ms
        late = [(row, now_ms) for row, rule in launches if row.fire_ms < latest and is_first(row, rule)]
        self.started_late(transaction, late, now_ms)

    def started_late(self, transaction: Transaction, runs: Iterable[tuple[RunRow, int]], now_ms: int) -> None:
        """Write down runs that have started, each with when that was, if that was late."""
        if self._late_ms is None:
            return
        happened = [
            NotificationEvent(
                NotificationKind.LATE,
                row.schedule_key,
                str(row.id),
                _lateness(row, started_ms),
                started_ms - row.fire_ms,
            )
            for row, started_ms in runs
            if started_ms - row.fire_ms > self._late_ms
        ]
        self._write(transaction, happened, now_ms)

    def missed(
        self,
        transaction: Transaction,
        dropped_ranges: Sequence[DroppedRange],
        rules: Mapping[int, CompiledSchedule],
        now_ms: int,
    ) -> None:
        """Write down which ticks were dropped because nobody was there in time."""
        if not dropped_ranges or not self.wants(NotificationKind.MISSED):
            return
        happened = [
            NotificationEvent(
                NotificationKind.MISSED,
                dropped_range.schedule_key,
                f"{dropped_range.schedule_key}-{dropped_range.until_s}",
                _span(dropped_range),
            )
            for dropped_range in dropped_ranges
            if dropped_range.reason in MISSED and _notifies(rules.get(dropped_range.schedule_key))
        ]
        self._write(transaction, happened, now_ms)

    def ended(
        self,
        transaction: Transaction,
        endings: Sequence[FinalOutcome],
        rules: Mapping[int, CompiledSchedule],
        now_ms: int,
    ) -> None:
        """Write down which runs have failed for good, whom that has paused, and who has recovered."""
        if not endings or not self.wants(NotificationKind.FAILED, NotificationKind.PAUSED, NotificationKind.RECOVERED):
            return
        found = [
            (topic, ending)
            for ending in endings
            if _notifies(rules.get(ending.change.schedule_key))
            for topic in _topics(ending)
            if topic in self._topics
        ]
        fire_ms = transaction.run_list_fire_times(ending.change.id for _, ending in found)
        happened = [
            NotificationEvent(topic, ending.change.schedule_key, str(ending.change.id), _ending(topic, ending, fire_ms))
            for topic, ending in found
        ]
        self._write(transaction, happened, now_ms)

    def _write(self, transaction: Transaction, happened: Sequence[NotificationEvent], now_ms: int) -> None:
        if not happened:
            return
        schedules = transaction.schedule_list_by_key(each.schedule_key for each in happened)
        rows = []
        for each in happened:
            schedule = schedules.get(each.schedule_key)
            if schedule is None:
                continue
            labels = json.loads(schedule.labels)
            whose = {"namespace": schedule.namespace, "schedule_id": schedule.schedule_id}
            about = compact({**whose, **each.data, **self._link(schedule.schedule_id, each.data)})
            rows += [
                self._row(rule, each, schedule.namespace, schedule.schedule_id, about, now_ms)
                for rule in self._rules
                if rule.matches(each.topic, schedule.namespace, schedule.schedule_id, labels)
                and (each.topic is not NotificationKind.LATE or each.late_ms > rule.late_after_ms)
            ]
        transaction.notification_insert(rows)

    def _row(  # noqa: PLR0913 - what a notice is made of
        self, rule: NotificationRule, each: NotificationEvent, namespace: str, schedule_id: str, about: str, now_ms: int
    ) -> NotificationRow:
        notification_id = self.notification_id(f"{rule.name}:{each.topic}:{each.subject}")
        return NotificationRow(
            notification_id=notification_id,
            rule_name=rule.name,
            topic=each.topic,
            namespace=namespace,
            schedule_id=schedule_id,
            about=about,
            state=NotificationState.PENDING,
            attempts=0,
            due_ms=now_ms,
            created_ms=now_ms,
            finished_ms=None,
            last_error=None,
            summary_id=None,
        )

    def notification_id(self, subject: str) -> str:
        """Return the id of a notice: the same for the same subject in this store, and for no other in any."""
        return f"msg_{self._instance.sign(f'notice:{subject}').rpartition('.')[2]}"

    def _link(self, schedule_id: str, data: Mapping[str, Any]) -> dict[str, str]:
        if self._api is None:
            return {}
        run_id = data.get("run_id")
        page = f"schedules/{quote(schedule_id, safe='')}" if run_id is None else f"runs/{run_id}"
        return {"link": f"{self._api}/{page}"}


def _topics(ending: FinalOutcome) -> Iterable[NotificationKind]:
    if ending.change.state in FAILURES:
        yield NotificationKind.FAILED
    if ending.note is not None:
        yield NotificationKind.PAUSED
    if ending.change.state == RunState.SUCCESS and ending.failures:
        yield NotificationKind.RECOVERED


def is_first(row: RunRow, rule: CompiledSchedule) -> bool:
    """Whether it matters when a run starts: ticks do, and only their first attempt."""
    return row.attempt == FIRST_ATTEMPT and row.source in AUTOMATIC_SOURCES and rule.policy.notify


def _notifies(rule: CompiledSchedule | None) -> bool:
    return rule is None or rule.policy.notify


def _run(run: RunId, fire_ms: int | None, state: str, attempt: int, reason: str | None) -> dict[str, Any]:
    return {
        "run_id": str(run),
        "nominal": shown(run.nominal_s * 1000),
        "fire_at": None if fire_ms is None else shown(fire_ms),
        "state": str(state),
        "attempt": attempt,
        "reason": reason,
    }


def _ending(topic: NotificationKind, ending: FinalOutcome, fire_ms: Mapping[RunId, int]) -> dict[str, Any]:
    change = ending.change
    data = _run(change.id, fire_ms.get(change.id), change.state, change.attempt, change.reason)
    if topic is NotificationKind.RECOVERED:
        return {**data, "failures": ending.failures}
    data["error"] = truncate(change.error.splitlines()[0], MAX_ERROR_BYTES) if change.error else None
    return {**data, "note": ending.note} if topic is NotificationKind.PAUSED else data


def _lateness(row: RunRow, started_ms: int) -> dict[str, Any]:
    data = _run(row.id, row.fire_ms, row.state, row.attempt, row.reason)
    return {**data, "started_at": shown(started_ms), "late_ms": started_ms - row.fire_ms}


def _span(dropped_range: DroppedRange) -> dict[str, Any]:
    return {
        "after": shown(dropped_range.after_s * 1000),
        "until": shown(dropped_range.until_s * 1000),
        "ticks": dropped_range.ticks,
        "reason": dropped_range.reason,
    }


def shown(milliseconds: int) -> str:
    """Return an instant as receivers read it."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat().replace("+00:00", "Z")
