"""Notifications: messages about events of schedules, and their delivery.

A notification is written in the transaction of its event. Any instance with its notification rule delivers it
afterwards. It keeps its id in all attempts. It is PENDING until it is DELIVERED, GIVEN_UP after a time limit, or
SUMMARIZED as part of another notification.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any, NamedTuple


class NotificationKind(StrEnum):
    """The kind of event that a notification is about."""

    FAILED = "failed"
    LATE = "late"
    MISSED = "missed"
    PAUSED = "paused"
    RECOVERED = "recovered"
    SUMMARY = "summary"
    TEST = "test"

    @property
    def event_type(self) -> str:
        """Return the event type that receivers see."""
        return _EVENT_TYPES[self]


_EVENT_TYPES = {
    NotificationKind.FAILED: "tompion.run.failed",
    NotificationKind.LATE: "tompion.run.late",
    NotificationKind.MISSED: "tompion.ticks.missed",
    NotificationKind.PAUSED: "tompion.schedule.paused",
    NotificationKind.RECOVERED: "tompion.schedule.recovered",
    NotificationKind.SUMMARY: "tompion.summary",
    NotificationKind.TEST: "tompion.test",
}
CHOICES = (
    NotificationKind.FAILED,
    NotificationKind.LATE,
    NotificationKind.MISSED,
    NotificationKind.PAUSED,
    NotificationKind.RECOVERED,
)
"""Kinds that a notification rule can select."""


class NotificationState(StrEnum):
    """The delivery state of a notification."""

    PENDING = "PENDING"
    DELIVERED = "DELIVERED"
    GIVEN_UP = "GIVEN_UP"
    SUMMARIZED = "SUMMARIZED"


@dataclass(frozen=True, slots=True)
class NotificationRule:
    """Selects events by kind, namespace, schedule and label. ``None`` matches everything."""

    name: str
    topics: frozenset[NotificationKind] = frozenset(CHOICES)
    late_after_ms: int = 60_000
    namespace: str | None = None
    schedule: str | None = None
    label: tuple[str, str | None] | None = None
    max_per_minute: int = 60

    def matches(self, topic: NotificationKind, namespace: str, schedule_id: str, labels: Mapping[str, str]) -> bool:
        """Return whether the rule matches an event of a schedule."""
        return (
            topic in self.topics
            and self.namespace in (None, namespace)
            and (self.schedule is None or fnmatchcase(schedule_id, self.schedule))
            and (self.label is None or _has(labels, *self.label))
        )


def _has(labels: Mapping[str, str], name: str, value: str | None) -> bool:
    return name in labels and value in (None, labels[name])


class NotificationRow(NamedTuple):
    """A stored notification.

    ``due_ms`` is the time of the next attempt. During an attempt it is the end of its lease. ``attempts`` is the fence.
    """

    notification_id: str
    rule_name: str
    topic: str
    namespace: str
    schedule_id: str
    about: str
    state: str
    attempts: int
    due_ms: int | None
    created_ms: int
    finished_ms: int | None
    last_error: str | None
    summary_id: str | None


class Delivery(NamedTuple):
    """Outcome of one delivery attempt. After a ``permanent`` failure there is no retry."""

    arrived: bool
    message: str
    permanent: bool = False


@dataclass(frozen=True, slots=True)
class Notification:
    """A notification as users see it. ``data`` is the message that the receiver gets."""

    notification_id: str
    rule_name: str
    topic: str
    schedule_id: str
    status: str
    attempts: int
    next_try_at: datetime | None
    created_at: datetime
    finished_at: datetime | None
    last_error: str | None
    summary_id: str | None
    data: Any
