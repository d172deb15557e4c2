"""Structured calendars: the seven fields of a cron string, given by name.

A field is text in the grammar of a cron field, a number, or a list of ranges. The two day fields must *both* match.
Omitted fields have defaults: second, minute and hour are 0, the others match everything. In an exclusion, an omitted
second, minute or hour matches everything too: excluding the 25th of December means the whole day, not its first
second.
"""

from __future__ import annotations

from collections.abc import Mapping

from tompion.errors import InvalidSpec, display
from tompion.model.spec import CALENDAR_FIELDS, CalendarDocument, Dialect, FieldValue, Range
from tompion.spec.calendar.cron import MAX_TEXT_CHARS, ClockFields, CronRule, DateFields
from tompion.spec.calendar.fields import (
    DAY_OF_MONTH,
    DAY_OF_WEEK,
    HOUR,
    MINUTE,
    MONTH,
    SECOND,
    YEAR,
    Field,
    FieldKind,
    field_from_ranges,
    parse_field,
)

MAX_RANGES = 100
"""Maximum number of ranges in one field."""


def calendar_rule(calendar: CalendarDocument, dialect: Dialect, *, excluding: bool = False) -> CronRule:
    """Return a calendar as the rule of an equivalent cron string."""

    def field(kind: FieldKind, default: str) -> Field:
        value: FieldValue | None = getattr(calendar, kind.name)
        return _field(kind, default if value is None else value, dialect)

    at_zero = "*" if excluding else "0"
    return CronRule(
        ClockFields(field(SECOND, at_zero), field(MINUTE, at_zero), field(HOUR, at_zero)),
        DateFields(field(DAY_OF_MONTH, "*"), field(MONTH, "*"), field(DAY_OF_WEEK, "*"), field(YEAR, "*"), False),
    )


def _field(kind: FieldKind, value: FieldValue, dialect: Dialect) -> Field:
    if isinstance(value, str):
        try:
            return parse_field(kind, value, dialect)
        except InvalidSpec as error:
            raise error.located(text=value) from None
    return field_from_ranges(kind, value, dialect)


def check_unicode(text: str, field: str) -> None:
    """Raise if no store can hold a text, because it has half of a surrogate pair or NUL characters."""
    if "\x00" in text or (not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text)):
        raise InvalidSpec(
            f"{display(text)} has NUL characters or is not valid Unicode", field=field, expected="valid Unicode text"
        )


def read_calendar(value: object, *, field: str) -> CalendarDocument:
    """Read a calendar from a mapping, such as parsed JSON."""
    if isinstance(value, CalendarDocument):
        value = {name: getattr(value, name) for name in (*CALENDAR_FIELDS, "comment")}
    if not isinstance(value, Mapping):
        raise InvalidSpec(f"{display(value)} is not a calendar", field=field, expected="an object with calendar fields")
    unknown = sorted(set(map(str, value)) - {*CALENDAR_FIELDS, "comment"})
    if unknown:
        raise InvalidSpec(
            f"unknown field {unknown[0]!r}", field=field, expected=f"{', '.join(CALENDAR_FIELDS)} or comment"
        )
    comment = value.get("comment", "")
    if not isinstance(comment, str):
        raise InvalidSpec("the comment is not text", field=f"{field}.comment", expected="text")
    check_unicode(comment, f"{field}.comment")
    named = {
        name: _read_field(value[name], f"{field}.{name}") for name in CALENDAR_FIELDS if value.get(name) is not None
    }
    return CalendarDocument(**named, comment=comment)


def _read_field(value: object, path: str) -> FieldValue:
    """Return a field of a calendar: text, or ranges."""
    if isinstance(value, str):
        if len(value) > MAX_TEXT_CHARS:
            raise InvalidSpec(f"{len(value)} characters", field=path, expected=f"at most {MAX_TEXT_CHARS}")
        return value.strip()
    if isinstance(value, int) and not isinstance(value, bool):
        return (Range(value, value),)
    if isinstance(value, Range | Mapping):
        value = [value]
    if not isinstance(value, list | tuple) or not value or len(value) > MAX_RANGES:
        raise InvalidSpec(
            f"{display(value)} is not a field",
            field=path,
            expected=f"text, a number, or a list of 1 to {MAX_RANGES} ranges",
        )
    return tuple(_read_range(element, f"{path}[{index}]") for index, element in enumerate(value))


def _read_range(value: object, path: str) -> Range:
    """Return a checked range."""
    if isinstance(value, Range):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return Range(value, value)
    if not isinstance(value, Mapping) or not set(value) <= {"start", "end", "step"} or "start" not in value:
        raise InvalidSpec(f"{display(value)} is not a range", field=path, expected="{start, end, step} or a number")
    numbers = {"start": value["start"], "end": value["start"], "step": 1} | dict(value)
    for key, number in numbers.items():
        if not isinstance(number, int) or isinstance(number, bool):
            raise InvalidSpec(
                f"{display(number)} is not a whole number", field=f"{path}.{key}", expected="a whole number"
            )
    return Range(numbers["start"], numbers["end"], numbers["step"])
