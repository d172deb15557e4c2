"""Notification outbox: rows are written in the same transaction as the event.

An instance knows the notification rules of its configuration. Without rules, or if no event matches, this costs one
comparison. Otherwise it costs one query of the schedules and one insert, however many events there are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from tompion.encoding.bounded_text import truncate
from tompion.encoding.instant import datetime_ms
from tompion.model.notification import NotificationKind, NotificationRow, NotificationRule, NotificationState
from tompion.model.rows import ScheduleRow
from tompion.model.run import AUTOMATIC_SOURCES, FAILURES, MISSED, RunChange, RunId, RunRow, RunState
from tompion.model.schedule_state import DroppedRange
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.stored_definition import compact

if TYPE_CHECKING:
    from tompion.engine.context import EngineContext
    from tompion.store.base import Transaction

MAX_ERROR_BYTES = 500
"""A notification has this much of the first line of an error. Further lines are tracebacks."""
FIRST_ATTEMPT = 1


class NotificationEvent(NamedTuple):
    """An event that a notification rule may select."""

    topic: NotificationKind
    schedule_key: int
    subject: str
    data: Mapping[str, Any]
    late_ms: int = 0


class FinalOutcome(NamedTuple):
    """A run that has ended: the number of failures before it, and the note if it paused its schedule."""

    change: RunChange
    failures: int
    note: str | None = None


class NotificationOutbox:
    """Writes the notifications of one instance.

    ``public_url`` is the address of the API. Links in notifications point to it.
    """

    def __init__(
        self, context: EngineContext, rules: Sequence[NotificationRule] = (), public_url: str | None = None
    ) -> None:
        self._context = context
        self._rules = rules
        self._api = None if public_url is None else f"{public_url.rstrip('/')}/api/v1"
        self._topics = frozenset(topic for rule in rules for topic in rule.topics)
        self._late_ms = min(
            (rule.late_after_ms for rule in rules if NotificationKind.LATE in rule.topics), default=None
        )

    def wants(self, *topics: NotificationKind) -> bool:
        """Return whether a rule selects one of these topics."""
        return not self._topics.isdisjoint(topics)

    def notify_late_launches(
        self, transaction: Transaction, launches: Sequence[tuple[RunRow, CompiledSchedule]], now_ms: int
    ) -> None:
        """Write notifications for ticks that start late now."""
        if self._late_ms is None or not launches:
            return
        max_fire_ms = now_ms - self._late_ms
        late_runs = [
            (row, now_ms)
            for row, compiled in launches
            if row.fire_ms < max_fire_ms and is_first_tick_attempt(row, compiled)
        ]
        self.notify_late_starts(transaction, late_runs, now_ms)

    def notify_late_starts(self, transaction: Transaction, runs: Iterable[tuple[RunRow, int]], now_ms: int) -> None:
        """Write notifications for the runs that started late. Each run has its start time beside it."""
        if self._late_ms is None:
            return
        events = [
            NotificationEvent(
                topic=NotificationKind.LATE,
                schedule_key=row.schedule_key,
                subject=str(row.id),
                data=_late_data(row, started_ms),
                late_ms=started_ms - row.fire_ms,
            )
            for row, started_ms in runs
            if started_ms - row.fire_ms > self._late_ms
        ]
        self._write(transaction, events, now_ms)

    def notify_missed(
        self,
        transaction: Transaction,
        dropped_ranges: Sequence[DroppedRange],
        schedules: Mapping[int, CompiledSchedule],
        now_ms: int,
    ) -> None:
        """Write notifications for ticks that were missed because no engine fired them in time."""
        if not dropped_ranges or not self.wants(NotificationKind.MISSED):
            return
        events = [
            NotificationEvent(
                topic=NotificationKind.MISSED,
                schedule_key=dropped_range.schedule_key,
                subject=f"{dropped_range.schedule_key}-{dropped_range.until_s}",
                data=_dropped_range_data(dropped_range),
            )
            for dropped_range in dropped_ranges
            if dropped_range.reason in MISSED and _notifies(schedules.get(dropped_range.schedule_key))
        ]
        self._write(transaction, events, now_ms)

    def notify_ended(
        self,
        transaction: Transaction,
        endings: Sequence[FinalOutcome],
        schedules: Mapping[int, CompiledSchedule],
        now_ms: int,
    ) -> None:
        """Write notifications for failed runs, for schedules that they paused, and for recoveries."""
        if not endings or not self.wants(NotificationKind.FAILED, NotificationKind.PAUSED, NotificationKind.RECOVERED):
            return
        selected = [
            (topic, ending)
            for ending in endings
            if _notifies(schedules.get(ending.change.schedule_key))
            for topic in _topics_of(ending)
            if topic in self._topics
        ]
        fire_ms = transaction.run_list_fire_times(ending.change.id for _, ending in selected)
        events = [
            NotificationEvent(
                topic=topic,
                schedule_key=ending.change.schedule_key,
                subject=str(ending.change.id),
                data=_ending_data(topic, ending, fire_ms),
            )
            for topic, ending in selected
        ]
        self._write(transaction, events, now_ms)

    def _write(self, transaction: Transaction, events: Sequence[NotificationEvent], now_ms: int) -> None:
        """Insert a notification for each event and rule that match."""
        if not events:
            return
        schedules = transaction.schedule_list_by_key(event.schedule_key for event in events)
        rows = []
        for event in events:
            schedule = schedules.get(event.schedule_key)
            if schedule is None:
                continue
            labels = json.loads(schedule.labels)
            names = {"namespace": schedule.namespace, "schedule_id": schedule.schedule_id}
            data = compact({**names, **event.data, **self._link(schedule.schedule_id, event.data)})
            rows += [
                self._row(rule, event, schedule, data, now_ms)
                for rule in self._rules
                if rule.matches(event.topic, schedule.namespace, schedule.schedule_id, labels)
                and (event.topic is not NotificationKind.LATE or event.late_ms > rule.late_after_ms)
            ]
        transaction.notification_insert(rows)

    def _row(
        self, rule: NotificationRule, event: NotificationEvent, schedule: ScheduleRow, data: str, now_ms: int
    ) -> NotificationRow:
        """Return a new notification that is due at once."""
        return NotificationRow(
            notification_id=self.notification_id(f"{rule.name}:{event.topic}:{event.subject}"),
            rule_name=rule.name,
            topic=event.topic,
            namespace=schedule.namespace,
            schedule_id=schedule.schedule_id,
            about=data,
            state=NotificationState.PENDING,
            attempts=0,
            due_ms=now_ms,
            created_ms=now_ms,
            finished_ms=None,
            last_error=None,
            summary_id=None,
        )

    def notification_id(self, subject: str) -> str:
        """Return the id of a notification: always the same for one subject in this store, and unique to it."""
        return f"msg_{self._context.sign(f'notification:{subject}').rpartition('.')[2]}"

    def _link(self, schedule_id: str, data: Mapping[str, Any]) -> dict[str, str]:
        if self._api is None:
            return {}
        run_id = data.get("run_id")
        path = f"schedules/{quote(schedule_id, safe='')}" if run_id is None else f"runs/{run_id}"
        return {"link": f"{self._api}/{path}"}


def _topics_of(ending: FinalOutcome) -> Iterable[NotificationKind]:
    if ending.change.state in FAILURES:
        yield NotificationKind.FAILED
    if ending.note is not None:
        yield NotificationKind.PAUSED
    if ending.change.state == RunState.SUCCESS and ending.failures:
        yield NotificationKind.RECOVERED


def is_first_tick_attempt(row: RunRow, compiled: CompiledSchedule) -> bool:
    """Return whether a late start of the run matters: it is the first attempt at a tick, with notifications on."""
    return row.attempt == FIRST_ATTEMPT and row.source in AUTOMATIC_SOURCES and compiled.policy.notify


def _notifies(compiled: CompiledSchedule | None) -> bool:
    return compiled is None or compiled.policy.notify


def _run_data(run: RunId, fire_ms: int | None, state: str, attempt: int, reason: str | None) -> dict[str, Any]:
    return {
        "run_id": str(run),
        "run_at": iso_time(run.nominal_s * 1000),
        "fire_at": None if fire_ms is None else iso_time(fire_ms),
        "status": str(state),
        "attempt": attempt,
        "reason": reason,
    }


def _ending_data(topic: NotificationKind, ending: FinalOutcome, fire_ms: Mapping[RunId, int]) -> dict[str, Any]:
    change = ending.change
    data = _run_data(change.id, fire_ms.get(change.id), change.state, change.attempt, change.reason)
    if topic is NotificationKind.RECOVERED:
        return {**data, "failures": ending.failures}
    data["error"] = truncate(change.error.splitlines()[0], MAX_ERROR_BYTES) if change.error else None
    return {**data, "note": ending.note} if topic is NotificationKind.PAUSED else data


def _late_data(row: RunRow, started_ms: int) -> dict[str, Any]:
    data = _run_data(row.id, row.fire_ms, row.state, row.attempt, row.reason)
    return {**data, "started_at": iso_time(started_ms), "late_ms": started_ms - row.fire_ms}


def _dropped_range_data(dropped_range: DroppedRange) -> dict[str, Any]:
    return {
        "after": iso_time(dropped_range.after_s * 1000),
        "until": iso_time(dropped_range.until_s * 1000),
        "ticks": dropped_range.ticks,
        "reason": dropped_range.reason,
    }


def iso_time(milliseconds: int) -> str:
    """Return an instant in ISO 8601, as notifications contain it."""
    return datetime_ms(milliseconds).isoformat().replace("+00:00", "Z")
