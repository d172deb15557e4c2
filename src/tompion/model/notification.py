"""Notices: what somebody outside is told, when, and whether it has arrived.

A notice is written in the transaction of what it is about, and delivered afterwards by any instance that knows the
notification it belongs to.  It keeps its id however often it is tried: PENDING until it is DELIVERED, GIVEN_UP after a
bounded time, or SUMMARIZED, which is part of another notice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any, NamedTuple


class NotificationKind(StrEnum):
    """What a notice is about."""

    FAILED = "failed"
    LATE = "late"
    MISSED = "missed"
    PAUSED = "paused"
    RECOVERED = "recovered"
    SUMMARY = "summary"
    TEST = "test"

    @property
    def kind(self) -> str:
        """Return what receivers tell messages apart by."""
        return _KINDS[self]


_KINDS = {
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
"""What somebody can ask to be told about."""


class NotificationState(StrEnum):
    """What became of a notice."""

    PENDING = "PENDING"
    DELIVERED = "DELIVERED"
    GIVEN_UP = "GIVEN_UP"
    SUMMARIZED = "SUMMARIZED"


@dataclass(frozen=True, slots=True)
class NotificationRule:
    """What one notification is about: topics, and which schedules; ``None`` is any."""

    name: str
    topics: frozenset[NotificationKind] = frozenset(CHOICES)
    late_after_ms: int = 60_000
    namespace: str | None = None
    schedule: str | None = None
    label: tuple[str, str | None] | None = None
    max_per_minute: int = 60

    def wants(self, topic: NotificationKind, namespace: str, schedule_id: str, labels: Mapping[str, str]) -> bool:
        """Return whether it is about something that happened to a schedule."""
        return (
            topic in self.topics
            and self.namespace in (None, namespace)
            and (self.schedule is None or fnmatchcase(schedule_id, self.schedule))
            and (self.label is None or _has(labels, *self.label))
        )


def _has(labels: Mapping[str, str], name: str, value: str | None) -> bool:
    return name in labels and value in (None, labels[name])


class NotificationRow(NamedTuple):
    """A notice as it is kept.

    ``due_ms`` is when somebody may try it: while one does, that is the end of their lease.  ``attempts`` is the fence.
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
    """How one try ended; where it is ``hopeless``, nobody tries again."""

    arrived: bool
    said: str
    hopeless: bool = False


@dataclass(frozen=True, slots=True)
class Notification:
    """A notice as it is shown; ``data`` is what the receiver is sent."""

    notification_id: str
    rule_name: str
    topic: str
    schedule_id: str
    state: str
    attempts: int
    next_try_at: datetime | None
    created_at: datetime
    finished_at: datetime | None
    last_error: str | None
    summary_id: str | None
    data: Any
