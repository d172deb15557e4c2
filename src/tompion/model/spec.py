"""Spec documents as data.

A :class:`SpecDocument` is stored and sent as it is. It has the user's own text (cron strings stay strings) in a checked
shape. ``tompion.spec`` computes the ticks. All documents are frozen and hashable, so that equal specs share one
compiled form.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

Dialect = Literal["tompion", "quartz", "temporal"]
DstGap = Literal["catch_up", "skip", "shift"]
DstOverlap = Literal["auto", "first", "second", "both"]
DstProfile = Literal["vixie", "temporal", "quartz", "airflow"]
JitterMode = Literal["symmetric", "delay", "temporal"]
Anchor = Literal["epoch", "completion"]

DIALECTS: tuple[Dialect, ...] = ("tompion", "quartz", "temporal")
DST_GAPS: tuple[DstGap, ...] = ("catch_up", "skip", "shift")
DST_OVERLAPS: tuple[DstOverlap, ...] = ("auto", "first", "second", "both")
DST_PROFILES: tuple[DstProfile, ...] = ("vixie", "temporal", "quartz", "airflow")
JITTER_MODES: tuple[JitterMode, ...] = ("symmetric", "delay", "temporal")
ANCHORS: tuple[Anchor, ...] = ("epoch", "completion")


@dataclass(frozen=True, slots=True)
class Range:
    """The values ``start, start + step, …`` up to and including ``end``."""

    start: int
    end: int
    step: int = 1


FieldValue = str | tuple[Range, ...]
"""A calendar field: text in the grammar of a cron field, or a list of ranges."""


@dataclass(frozen=True, slots=True)
class CalendarDocument:
    """A structured calendar. ``None`` stands for a field's default, which differs in an exclusion."""

    second: FieldValue | None = None
    minute: FieldValue | None = None
    hour: FieldValue | None = None
    day_of_month: FieldValue | None = None
    month: FieldValue | None = None
    year: FieldValue | None = None
    day_of_week: FieldValue | None = None
    comment: str = ""


SOURCE_FIELDS = ("cron", "calendars", "intervals", "rrules", "times")
"""Fields of a spec that have ticks."""
CALENDAR_FIELDS = ("second", "minute", "hour", "day_of_month", "month", "year", "day_of_week")


@dataclass(frozen=True, slots=True)
class IntervalDocument:
    """Every ``every_s`` seconds, from the Unix epoch plus ``offset_s``, or after the previous run has ended."""

    every_s: int
    offset_s: int = 0
    anchor: Anchor = "epoch"


@dataclass(frozen=True, slots=True)
class WindowDocument:
    """An exclusion window from ``begin`` up to, not including, ``end``.

    Both are ISO dates or date-times, with or without an offset. A date as ``end`` includes that whole day.
    """

    begin: str
    end: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class HolidaysDocument:
    """Public holidays of a country, with the dates that were looked up when the spec was created.

    Only ``dates`` count, so a later release of the holidays library does not change a stored spec. ``None`` means that
    they have not been looked up yet.
    """

    country: str
    subdivision: str | None = None
    first_year: int | None = None
    last_year: int | None = None
    dates: tuple[str, ...] | None = None
    source: str = ""


@dataclass(frozen=True, slots=True)
class ExcludeDocument:
    """Exclusions from the ticks. Empty by default."""

    calendars: tuple[CalendarDocument, ...] = ()
    dates: tuple[str, ...] = ()
    windows: tuple[WindowDocument, ...] = ()
    holidays: tuple[HolidaysDocument, ...] = ()
    named: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NamedCalendar:
    """A list of dates and windows that many schedules exclude by name. Each change creates a new version."""

    name: str
    dates: tuple[str, ...] = ()
    windows: tuple[WindowDocument, ...] = ()
    timezone: str | None = None
    version: int = 1


@dataclass(frozen=True)
class SpecDocument:
    """The ticks of a schedule: the union of all sources, minus exclusions, from ``start_at`` to ``end_at``."""

    cron: tuple[str, ...] = ()
    calendars: tuple[CalendarDocument, ...] = ()
    intervals: tuple[IntervalDocument, ...] = ()
    rrules: tuple[str, ...] = ()
    times: tuple[str, ...] = ()
    exclude: ExcludeDocument = field(default_factory=ExcludeDocument)
    timezone: str | None = None
    start_at: str | None = None
    end_at: str | None = None
    jitter_ms: int = 0
    jitter_mode: JitterMode = "symmetric"
    jitter_seed: str | None = None
    dst_gap: DstGap | None = None
    dst_overlap: DstOverlap = "auto"
    dst_profile: DstProfile | None = None
    dialect: Dialect = "tompion"


Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding of the linter: a stable ``code``, its severity, the field, a message, and a suggestion."""

    code: str
    severity: Severity
    field: str
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Tick:
    """A nominal time and its origin.

    ``at`` is the instant in UTC, ``local`` the same instant in the schedule's zone. ``wall`` is the wall time that the
    spec names, which differs from ``local`` only if DST moved the tick. ``dst_adjustment`` is ``""``, ``gap``,
    ``first_pass`` or ``second_pass``, and ``reason`` explains it. ``fire_at`` is the instant after jitter.
    """

    at: datetime
    local: datetime
    wall: datetime
    dst_adjustment: str
    reason: str
    fire_at: datetime


@dataclass(frozen=True, slots=True)
class ClockChange:
    """A clock change of a zone, and its effect on the ticks around it.

    ``before`` and ``after`` are the local times at that moment with the old and the new offset. ``ticks`` are those in
    the hours around the change, and ``text`` explains what happens to them.
    """

    at: datetime
    before: datetime
    after: datetime
    ticks: tuple[Tick, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Preview:
    """A spec in plain English, its upcoming ticks, the linter's findings, and the next two clock changes.

    ``counts`` has the number of ticks between each two neighbouring ``bounds``, from the first up to but not including
    the second. ``None`` stands for ticks that were not counted, because the limit was reached.
    """

    explanation: str
    timezone: str
    ticks: tuple[Tick, ...]
    findings: tuple[Finding, ...]
    clock_changes: tuple[ClockChange, ...]
    counts: tuple[int | None, ...] = ()
