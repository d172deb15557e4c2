"""Cron strings and calendars as structured calendars with ranges of numbers.

Syntax that ranges cannot express (``L``, ``W``, ``#``, ``H``) is left as it is and listed.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from tompion.errors import InvalidSpec
from tompion.model.spec import CalendarDocument, IntervalDocument, Range, SpecDocument
from tompion.spec.calendar.cron import CronRule
from tompion.spec.calendar.fields import DAY_OF_WEEK, Field, Item
from tompion.spec.calendar.structured import calendar_rule
from tompion.spec.compiler import cron_rules

EVERY_DAY_OF_MONTH = (Range(1, 31),)
EVERY_DAY_OF_WEEK = (Range(0, 6),)


class Structured(NamedTuple):
    """A spec in ranges, and the paths of the parts that could not be converted."""

    spec: SpecDocument
    left: tuple[str, ...]


def ranges_of(spec: SpecDocument) -> Structured:
    """Return a spec with its cron strings and calendars as ranges: calendars first, then former cron strings."""
    zone = spec.timezone if spec.calendars or spec.exclude.calendars else cron_zone(spec)
    calendars: list[CalendarDocument] = []
    intervals = list(spec.intervals)
    cron: list[str] = []
    left: list[str] = []
    for index, calendar in enumerate(spec.calendars):
        calendars += _in_ranges(calendar_rule(calendar, spec.dialect), calendar.comment) or [calendar]
        if not _is_in_ranges(calendars[-1]):
            left.append(f"calendars[{index}]")
    for text, (path, rule) in zip(spec.cron, cron_rules(spec), strict=True):
        if isinstance(rule, IntervalDocument):
            intervals.append(rule)
        elif rule.zone in (None, zone) and (converted := _in_ranges(rule, _comment_of(text))):
            calendars += converted
        else:
            cron.append(text)
            left.append(path)
    excluded = tuple(_excluded(calendar, spec, index, left) for index, calendar in enumerate(spec.exclude.calendars))
    left += [name for name in ("rrules", "times") if getattr(spec, name)]
    left += [f"exclude.{name}" for name in ("dates", "windows", "holidays", "named") if getattr(spec.exclude, name)]
    structured = replace(
        spec,
        cron=tuple(cron),
        calendars=tuple(calendars),
        intervals=tuple(intervals),
        exclude=replace(spec.exclude, calendars=excluded),
        timezone=zone,
    )
    return Structured(structured, tuple(left))


def _excluded(calendar: CalendarDocument, spec: SpecDocument, index: int, left: list[str]) -> CalendarDocument:
    converted = _in_ranges(calendar_rule(calendar, spec.dialect, excluding=True), calendar.comment)
    if len(converted) == 1:
        return converted[0]
    left.append(f"exclude.calendars[{index}]")
    return calendar


def cron_zone(spec: SpecDocument) -> str | None:
    """Return the zone of a spec: its own, or the one that every cron string names."""
    named = {rule.zone for _, rule in cron_rules(spec) if isinstance(rule, CronRule)}
    return named.pop() if spec.timezone is None and len(named) == 1 else spec.timezone


def in_one_zone(spec: SpecDocument) -> SpecDocument:
    """Return a spec whose timezone is the zone of its cron strings.

    Raises :class:`~tompion.errors.InvalidSpec` if they differ. A string without a zone differs from one with a zone.
    """
    named = {rule.zone for _, rule in cron_rules(spec) if isinstance(rule, CronRule)}
    if len(named) > 1:
        zones = ", ".join(sorted(zone or "none" for zone in named))
        raise InvalidSpec(f"the cron strings are in different zones ({zones})", field="cron")
    return replace(spec, timezone=cron_zone(spec))


def _in_ranges(rule: CronRule, comment: str) -> list[CalendarDocument]:
    """Return a rule as calendars: two if one of two day fields is enough, none if ranges cannot express it."""
    if rule.hashed or any(field.rules for field in rule.fields):
        return []
    values = {field.kind.name: _ranges(field) for field in rule.fields}
    if rule.year.full:
        del values["year"]
    whole = CalendarDocument(**values, comment=comment)
    if not rule.either_day:
        return [whole]
    return [replace(whole, day_of_week=EVERY_DAY_OF_WEEK), replace(whole, day_of_month=EVERY_DAY_OF_MONTH)]


def _ranges(field: Field) -> tuple[Range, ...]:
    """Return the values of a field as ranges. Weekdays are normalised, because a week may begin on any day."""
    low, high = field.kind.low, field.kind.high
    if field.kind is DAY_OF_WEEK or not all(map(_is_plain, field.items)):
        return _runs([value for value in range(low, high + 1) if field.mask >> value - low & 1])
    return tuple(_range(item, high) for item in field.items)


def _is_plain(item: Item) -> bool:
    return item.form in ("*", "value", "from") or (item.form == "range" and item.first <= item.last)


def _range(item: Item, high: int) -> Range:
    if item.form == "value":
        return Range(item.first, item.first)
    return Range(item.first, high if item.form == "from" else item.last, item.step)


def _runs(values: list[int]) -> tuple[Range, ...]:
    """Return numbers as the fewest ranges: one range with a step, or one for each run of neighbours."""
    steps = {later - earlier for earlier, later in pairwise(values)}
    if len(values) > 2 and len(steps) == 1:
        return (Range(values[0], values[-1], steps.pop()),)
    runs: list[Range] = []
    for value in values:
        if runs and runs[-1].end == value - 1:
            runs[-1] = Range(runs[-1].start, value)
        else:
            runs.append(Range(value, value))
    return tuple(runs)


def _is_in_ranges(calendar: CalendarDocument) -> bool:
    return not isinstance(calendar.second, str) and calendar.second is not None


def _comment_of(text: str) -> str:
    return text.partition("#")[2].strip()
