"""Specs: from Temporal's calendars, cron strings and intervals to a spec document, and back."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from temporalio.api.schedule.v1 import CalendarSpec, IntervalSpec, ScheduleSpec, StructuredCalendarSpec
from temporalio.api.schedule.v1 import Range as RangeMessage

from tompion.api.temporal.convert.values import epoch_ms, milliseconds, set_time
from tompion.encoding.instant import datetime_ms
from tompion.errors import InvalidSpec
from tompion.model.spec import CALENDAR_FIELDS, CalendarDocument, ExcludeDocument, IntervalDocument, Range, SpecDocument

FIELD_BOUNDS = {
    "second": (0, 59), "minute": (0, 59), "hour": (0, 23), "day_of_month": (1, 31), "month": (1, 12),
    "year": (2000, 2100), "day_of_week": (0, 6),
}  # fmt: skip
MAX_COMMENT_BYTES = 200
ZONED_EVERY = re.compile(r"^\s*(?:CRON_)?TZ=\S+\s+(?=@every\s)")
"""A time zone before an interval, which has no zone. It is ignored."""


def spec_of(message: ScheduleSpec, seed: str) -> SpecDocument:
    """Return a spec with a jitter seed. Raises :class:`~tompion.errors.InvalidSpec`."""
    if message.timezone_data:
        raise InvalidSpec("not supported", field="timezone_data", hint="use timezone_name")
    jitter_ms = max(milliseconds("spec.jitter", message.jitter), 0)
    calendars = [*_structured(message.structured_calendar, "structured_calendar"), *map(_calendar, message.calendar)]
    excluded = [
        *_structured(message.exclude_structured_calendar, "exclude_structured_calendar"),
        *map(_calendar, message.exclude_calendar),
    ]
    return SpecDocument(
        cron=tuple(ZONED_EVERY.sub("", text) for text in message.cron_string),
        calendars=tuple(calendars),
        intervals=tuple(map(_interval, message.interval)),
        exclude=ExcludeDocument(calendars=tuple(excluded)),
        timezone=message.timezone_name or None,
        start_at=_bound(message, "start_time"),
        end_at=_bound(message, "end_time"),
        jitter_ms=jitter_ms,
        jitter_mode="temporal" if jitter_ms else "symmetric",
        jitter_seed=seed if jitter_ms else None,
        dialect="temporal",
    )


def _structured(messages: Iterable[StructuredCalendarSpec], field: str) -> list[CalendarDocument]:
    """Return structured calendars. One with an empty field never matches and is left out."""
    calendars = []
    for index, message in enumerate(messages):
        path = f"{field}[{index}]"
        ranges = {name: _ranges(getattr(message, name), name, path) for name in CALENDAR_FIELDS}
        year = ranges.pop("year") or None
        _check_comment(message.comment, path)
        if all(ranges.values()):
            calendars.append(CalendarDocument(**ranges, year=year, comment=message.comment))
    return calendars


def _ranges(messages: Iterable[RangeMessage], name: str, path: str) -> tuple[Range, ...]:
    low, high = FIELD_BOUNDS[name]
    ranges = []
    for message in messages:
        end = max(message.end, message.start)
        if not low <= message.start <= high or not low <= end <= high or message.step < 0:
            text = f"{message.start} to {message.end} by {message.step}"
            raise InvalidSpec(text, field=f"{path}.{name}", expected=f"numbers from {low} to {high}, and a step")
        ranges.append(Range(message.start, end, message.step or 1))
    return tuple(ranges)


def _calendar(message: CalendarSpec) -> CalendarDocument:
    """Return a calendar with fields in cron syntax. Empty fields get Temporal's defaults, also in an exclusion."""
    _check_comment(message.comment, "calendar")
    fields: dict[str, Any] = {
        name: getattr(message, name).strip() or ("0" if name in ("second", "minute", "hour") else "*")
        for name in CALENDAR_FIELDS
    }
    return CalendarDocument(**fields, comment=message.comment)


def _check_comment(comment: str, path: str) -> None:
    if len(comment.encode()) > MAX_COMMENT_BYTES:
        raise InvalidSpec("too long", field=f"{path}.comment", expected=f"at most {MAX_COMMENT_BYTES} bytes")


def _interval(message: IntervalSpec) -> IntervalDocument:
    every, phase = (milliseconds("interval", value) // 1000 for value in (message.interval, message.phase))
    if every < 1 or not 0 <= phase < every:
        raise InvalidSpec(
            f"every {every} s, phase {phase} s", field="interval", expected="at least 1 s, and a phase below it"
        )
    return IntervalDocument(every, phase)


def _bound(message: ScheduleSpec, name: str) -> str | None:
    if not message.HasField(name):  # type: ignore[arg-type]  # one of two literals
        return None
    moment = datetime_ms(epoch_ms(f"spec.{name}", getattr(message, name)) // 1000 * 1000)
    return moment.isoformat().replace("+00:00", "Z")


def spec_message(spec: SpecDocument, start: datetime | None, end: datetime | None) -> ScheduleSpec:
    """Return the message of a spec in ranges, with its bounds as instants. Calendars in cron syntax are left out."""
    message = ScheduleSpec(timezone_name=spec.timezone or "")
    message.structured_calendar.extend(_calendar_messages(spec.calendars))
    message.exclude_structured_calendar.extend(_calendar_messages(spec.exclude.calendars))
    for interval in spec.intervals:
        if interval.anchor == "epoch":
            added = message.interval.add()
            added.interval.FromSeconds(interval.every_s)
            added.phase.FromSeconds(interval.offset_s)
    set_time(message.start_time, start)
    set_time(message.end_time, end)
    if spec.jitter_ms:
        message.jitter.FromMilliseconds(spec.jitter_ms)
    return message


def _calendar_messages(calendars: Iterable[CalendarDocument]) -> Iterable[StructuredCalendarSpec]:
    for calendar in calendars:
        fields = {name: getattr(calendar, name) or () for name in CALENDAR_FIELDS}
        if any(isinstance(value, str) for value in fields.values()):
            continue
        yield StructuredCalendarSpec(
            comment=calendar.comment,
            **{
                name: [RangeMessage(start=item.start, end=item.end, step=item.step) for item in ranges]
                for name, ranges in fields.items()
            },
        )
