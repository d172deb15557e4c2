"""The plainest possible reading of cron fields: given a date or a second of the day, is it named?

Almost nothing is precomputed. A day is tested by looking at the calendar of its month. Slow and obvious. Only syntax
that the oracle draws is supported, without error handling, because every drawn expression is valid.
"""

import calendar
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Any

MONTHS = "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC".split()
WEEKDAYS = "SUN MON TUE WED THU FRI SAT".split()

MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}

BOUNDS = {
    "second": (0, 59),
    "minute": (0, 59),
    "hour": (0, 23),
    "day_of_month": (1, 31),
    "month": (1, 12),
    "day_of_week": (0, 6),
    "year": (1970, 2200),
}

FIELD_ORDER = ("second", "minute", "hour", "day_of_month", "month", "day_of_week", "year")


def value(text: str, field: str) -> int:
    """One number or name. Weekdays: 0 = SUN. 7 is kept, so that 5-7 is an increasing range."""
    if field == "month" and text.upper() in MONTHS:
        return MONTHS.index(text.upper()) + 1
    if field == "day_of_week" and text.upper() in WEEKDAYS:
        return WEEKDAYS.index(text.upper())
    return int(text)


@cache
def numbers(text: str, field: str) -> frozenset[int]:
    """All values that `*`, lists, ranges, wrap-around ranges and steps name."""
    low, high = BOUNDS[field]
    chosen = set()
    for item in text.split(","):
        body, _, step = item.partition("/")
        if body in ("*", "?"):
            first, last = low, high
        elif "-" in body:
            first, last = (value(part, field) for part in body.split("-"))
        else:
            first = value(body, field)
            last = high if step else first
        size = high - low + 1
        if last < first:  # FRI-MON, 22-2: go on after the end of the field, from its beginning
            last += size
        for number in range(first, last + 1, int(step or 1)):
            chosen.add(number if number <= high else number - size)
    return frozenset(chosen)


def month_of(day: date) -> list[date]:
    """All days of the month that `day` is in."""
    return month_days(day.year, day.month)


@cache
def month_days(year: int, month: int) -> list[date]:
    length = calendar.monthrange(year, month)[1]
    return [date(year, month, number) for number in range(1, length + 1)]


def is_working_day(day: date) -> bool:
    return day.weekday() < 5


def weekday_number(day: date) -> int:
    """0 = Sunday … 6 = Saturday."""
    return day.isoweekday() % 7


def day_of_month_named(text: str, day: date) -> bool:
    return any(_day_of_month_item_named(item, day) for item in text.split(","))


def _day_of_month_item_named(item: str, day: date) -> bool:
    month = month_of(day)
    if item == "L":
        return day == month[-1]
    if item == "LW":
        return day == [other_day for other_day in month if is_working_day(other_day)][-1]
    if item.startswith("L-"):
        return day.day == len(month) - int(item[2:])
    if item.endswith("W"):
        wanted = int(item[:-1])
        if wanted > len(month):
            return False
        return day == min(filter(is_working_day, month), key=lambda other_day: abs(other_day.day - wanted))
    return day.day in numbers(item, "day_of_month")


def day_of_week_named(text: str, day: date) -> bool:
    return any(_day_of_week_item_named(item, day) for item in text.split(","))


def _day_of_week_item_named(item: str, day: date) -> bool:
    same_weekday = [other_day for other_day in month_of(day) if other_day.weekday() == day.weekday()]
    if "#" in item:
        weekday, count = item.split("#")
        return weekday_number(day) in numbers(weekday, "day_of_week") and same_weekday.index(day) + 1 == int(count)
    if item.endswith("L"):
        return weekday_number(day) in numbers(item[:-1], "day_of_week") and day == same_weekday[-1]
    return weekday_number(day) in numbers(item, "day_of_week")


@dataclass(frozen=True)
class Rule:
    """The wall times that one cron string or one structured calendar names."""

    fields: dict[str, str]
    either: bool
    """True: a day is named if day-of-month OR day-of-week names it. False: if both do."""
    wildcard: bool
    """The DST class: True if the second, minute or hour field starts with `*`."""

    def names_day(self, day: date) -> bool:
        if self.fields["year"] != "*" and day.year not in numbers(self.fields["year"], "year"):
            return False
        if day.month not in numbers(self.fields["month"], "month"):
            return False
        by_month = day_of_month_named(self.fields["day_of_month"], day)
        by_week = day_of_week_named(self.fields["day_of_week"], day)
        return by_month or by_week if self.either else by_month and by_week

    def seconds_of_day(self) -> list[int]:
        return [
            hour * 3600 + minute * 60 + second
            for hour in sorted(numbers(self.fields["hour"], "hour"))
            for minute in sorted(numbers(self.fields["minute"], "minute"))
            for second in sorted(numbers(self.fields["second"], "second"))
        ]


def parse_cron(text: str, dialect: str = "tompion") -> Rule:
    """Read a cron string (without its CRON_TZ= prefix, see `split_zone`)."""
    text = re.sub(r"\s+#.*", "", text).strip()
    parts = MACROS.get(text, text).split()
    if len(parts) == 5:
        parts = ["0", *parts, "*"]
    elif len(parts) == 6 and dialect == "temporal":
        parts = ["0", *parts]
    elif len(parts) == 6:
        parts = [*parts, "*"]
    fields = dict(zip(FIELD_ORDER, parts, strict=True))
    demands_both = fields["day_of_week"].startswith("+") or dialect == "temporal"
    fields["day_of_week"] = fields["day_of_week"].removeprefix("+")
    if dialect == "quartz":
        fields["day_of_week"] = re.sub(r"(?<![#/\d])\d", lambda digit: str(int(digit[0]) - 1), fields["day_of_week"])
    both_restricted = fields["day_of_month"][0] not in "*?" and fields["day_of_week"][0] not in "*?"
    wildcard = any(fields[name].startswith("*") for name in ("second", "minute", "hour"))
    return Rule(fields, either=both_restricted and not demands_both, wildcard=wildcard)


def split_zone(text: str) -> tuple[str | None, str]:
    """`CRON_TZ=Europe/Berlin 0 9 * * *` -> the zone, or None, and the rest."""
    match = re.match(r"(?:CRON_TZ|TZ)=(\S+)\s+(.*)", text)
    return (match[1], match[2]) if match else (None, text)


def parse_calendar(structured: Mapping[str, Any], omitted_time: str = "0") -> Rule:
    """Read a structured calendar. `omitted_time`: what a missing second, minute or hour means."""
    fields, wildcard = {}, False
    for name in FIELD_ORDER:
        is_time = name in ("second", "minute", "hour")
        value = structured.get(name, omitted_time if is_time else "*")
        fields[name] = value if isinstance(value, str) else _ranges_as_text(value)
        wildcard |= is_time and (fields[name].startswith("*") or _spans_field(value, name))
    return Rule(fields, either=False, wildcard=wildcard)


def _ranges_as_text(ranges: Any) -> str:
    if isinstance(ranges, int):
        return str(ranges)
    return ",".join(
        str(item)
        if isinstance(item, int)
        else f"{item['start']}-{item.get('end', item['start'])}/{item.get('step', 1)}"
        for item in ranges
    )


def _spans_field(value: Any, name: str) -> bool:
    """For range lists: does the first range span the whole field?"""
    if not isinstance(value, list) or not isinstance(value[0], dict):
        return False
    return (value[0]["start"], value[0].get("end")) == BOUNDS[name]
