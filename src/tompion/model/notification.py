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


class Topic(StrEnum):
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
    Topic.FAILED: "tompion.run.failed",
    Topic.LATE: "tompion.run.late",
    Topic.MISSED: "tompion.ticks.missed",
    Topic.PAUSED: "tompion.schedule.paused",
    Topic.RECOVERED: "tompion.schedule.recovered",
    Topic.SUMMARY: "tompion.summary",
    Topic.TEST: "tompion.test",
}
CHOICES = (Topic.FAILED, Topic.LATE, Topic.MISSED, Topic.PAUSED, Topic.RECOVERED)
"""What somebody can ask to be told about."""


class NoticeState(StrEnum):
    """What became of a notice."""

    PENDING = "PENDING"
    DELIVERED = "DELIVERED"
    GIVEN_UP = "GIVEN_UP"
    SUMMARIZED = "SUMMARIZED"


@dataclass(frozen=True, slots=True)
class NoticeRule:
    """What one notification is about: topics, and which schedules; ``None`` is any."""

    name: str
    topics: frozenset[Topic] = frozenset(CHOICES)
    late_after_ms: int = 60_000
    namespace: str | None = None
    schedule: str | None = None
    label: tuple[str, str | None] | None = None
    max_per_minute: int = 60

    def wants(self, topic: Topic, namespace: str, schedule_id: str, labels: Mapping[str, str]) -> bool:
        """Return whether it is about something that happened to a schedule."""
        return (
            topic in self.topics
            and self.namespace in (None, namespace)
            and (self.schedule is None or fnmatchcase(schedule_id, self.schedule))
            and (self.label is None or _has(labels, *self.label))
        )


def _has(labels: Mapping[str, str], name: str, value: str | None) -> bool:
    return name in labels and value in (None, labels[name])


class NoticeRow(NamedTuple):
    """A notice as it is kept.

    ``due_ms`` is when somebody may try it: while one does, that is the end of their lease.  ``attempts`` is the fence.
    """

    notice_id: str
    notification: str
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
class Notice:
    """A notice as it is shown; ``data`` is what the receiver is sent."""

    notice_id: str
    notification: str
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
