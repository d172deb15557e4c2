"""Describes recurrence rules in English.

The order is that of a cron string: times of day, days, then the parts that only a rule has: the interval and its
origin, the selected positions, and the end. Parts that the rule leaves open are taken from its start, as in the
compiler, because "every week" without a weekday explains nothing.
"""

from __future__ import annotations

from typing import NamedTuple

from tompion.encoding.instant import wall_datetime
from tompion.spec.calendar.days import DAY
from tompion.spec.calendar.fields import MONTH_NAMES, WEEKDAY_NAMES
from tompion.spec.explain.days import Dates, Restriction, Weekdays, dates_of, describe_days
from tompion.spec.explain.times import Part, Times, describe_times, whole
from tompion.spec.explain.words import count_text, every, join_words, nth, numbers, ordinal, runs, wall
from tompion.spec.rrule.parse import SUB_DAILY, WEEKDAYS, RruleParts, RruleText, read_rrule

_PERIODS = {"YEARLY": "year", "MONTHLY": "month", "WEEKLY": "week", "DAILY": "day"}
_SHORT_PERIODS = {"HOURLY": ("hour", 3600), "MINUTELY": ("minute", 60), "SECONDLY": ("second", 1)}
_ALL_YEARS = whole("year")


class RuleWords(NamedTuple):
    """A rule as clauses, and its DST class. ``cadence``: it has an even rhythm at all times."""

    clauses: list[str]
    wildcard: bool
    cadence: bool


def describe_rrule(text: str, start: int | None) -> RuleWords:
    """Describe a rule. ``start`` is the wall time that replaces a missing DTSTART."""
    read = read_rrule(text, start)
    anchor = 0 if read.start is None else read.start
    parts = read.parts
    interval = parts.get("INTERVAL", 1)
    days = _restriction(parts, anchor)
    if parts["FREQ"] in SUB_DAILY and interval > 1:
        clauses = [*_long_cadence(parts, anchor), *_only(describe_days(days))]
        cadence = False
    else:
        times = _times(parts, anchor)
        cadence = times.cadence and days.nothing
        clauses = _on_days(times, days, parts, anchor)
    clauses += [*_positions(parts), *_week_start(parts), *_limits(read, anchor, written="DTSTART" in text.upper())]
    return RuleWords(clauses, parts["FREQ"] in SUB_DAILY, cadence and len(clauses) == 1)


def _on_days(times: Times, days: Restriction, parts: RruleParts, anchor: int) -> list[str]:
    """Combine times and days with the interval."""
    described = [*describe_days(days), *_weeks(parts)]
    interval = parts.get("INTERVAL", 1)
    if parts["FREQ"] == "DAILY" and interval > 1:
        lead = f"{times.text} every {interval} days"
        return [lead, f"counted from {_date(anchor)}", *_only(described)]
    if days.every_day and times.daily:
        head = f"{times.text} every day"
        clauses = [f"{head} {described[0]}", *described[1:]] if described else [head]
    else:
        clauses = [times.text, *described]
    return [*clauses, *_interval(parts, anchor)]


def _only(described: list[str]) -> list[str]:
    """Return clauses about days as limits of a cadence."""
    return [f"but only {join_words(described)}"] if described else []


def _interval(parts: RruleParts, anchor: int) -> list[str]:
    interval, frequency = parts.get("INTERVAL", 1), parts["FREQ"]
    if interval == 1 or frequency in SUB_DAILY:
        return []
    day = wall_datetime(anchor)
    origin = {
        "WEEKLY": f"the week of {_date(anchor)}",
        "MONTHLY": f"{MONTH_NAMES[day.month - 1].capitalize()} {day.year}",
        "YEARLY": str(day.year),
    }[frequency]
    return [f"in every {ordinal(interval)} {_PERIODS[frequency]} counted from {origin}"]


# --- times ------------------------------------------------------------------------------------------------------


def _parts_of_day(parts: RruleParts, anchor: int) -> tuple[Part, Part, Part]:
    """Return second, minute and hour.

    A missing part is every value below the level of FREQ, otherwise the value of the start.
    """
    frequency = parts["FREQ"]
    every_hour = frequency in SUB_DAILY
    every_minute = frequency in {"MINUTELY", "SECONDLY"}
    hours = parts.get("BYHOUR") or (range(24) if every_hour else (anchor % DAY // 3600,))
    minutes = parts.get("BYMINUTE") or (range(60) if every_minute else (anchor % 3600 // 60,))
    seconds = parts.get("BYSECOND") or (range(60) if frequency == "SECONDLY" else (anchor % 60,))
    return (
        Part("second", tuple(sorted({min(value, 59) for value in seconds}))),  # 60 counts as 59, as in the compiler
        Part("minute", tuple(minutes)),
        Part("hour", tuple(hours)),
    )


def _times(parts: RruleParts, anchor: int) -> Times:
    second, minute, hour = _parts_of_day(parts, anchor)
    return describe_times(second, minute, hour, wildcard=parts["FREQ"] in SUB_DAILY, overnight=False)


def _long_cadence(parts: RruleParts, anchor: int) -> list[str]:
    """Describe every n-th hour, minute or second, and the parts that limit them."""
    noun, size = _SHORT_PERIODS[parts["FREQ"]]
    interval = parts["INTERVAL"]
    second, minute, hour = _parts_of_day(parts, anchor)
    inner = {"hour": [minute, second], "minute": [second], "second": []}[noun]
    outer = {"hour": [hour], "minute": [hour, minute], "second": [hour, minute, second]}[noun]
    origin = anchor - anchor % size
    if all(len(part.values) == 1 for part in inner):
        origin += sum(part.values[0] * (60 if part.name == "minute" else 1) for part in inner)
        lead = every(interval * size)
    else:
        named = [part.words() for part in reversed(inner) if not (part.name == "second" and part.zero)]
        lead = f"at {' of '.join(named)} of every {ordinal(interval)} {noun}"
    limits = [_only_in(part) for part in outer if not part.full]
    return [lead, f"counted from {wall(origin)}", *limits]


def _only_in(part: Part) -> str:
    ranges = runs(part.values)
    if part.name == "hour" and len(ranges) == 1:
        return f"only from {ranges[0][0]:02}:00 to {ranges[0][1]:02}:59"
    outer = {"hour": "", "minute": " of the hour", "second": " of the minute"}[part.name]
    plural = "s" if len(part.values) > 1 else ""
    return f"only in {'the ' if part.name == 'hour' else ''}{part.name}{plural} {numbers(part.values)}{outer}"


# --- days -------------------------------------------------------------------------------------------------------


def _restriction(parts: RruleParts, anchor: int) -> Restriction:
    """Return the days of a rule. If no part selects days, they are those of the start."""
    start = wall_datetime(anchor)
    months = parts.get("BYMONTH", ())
    dates, weekdays = _dates(parts), _weekdays(parts)
    if not any(name in parts for name in ("BYWEEKNO", "BYYEARDAY", "BYMONTHDAY", "BYDAY")):
        if parts["FREQ"] == "WEEKLY":
            weekdays = Weekdays((start.isoweekday() % 7,))
        elif parts["FREQ"] in {"MONTHLY", "YEARLY"}:
            dates = dates_of((start.day,), ())
            if parts["FREQ"] == "YEARLY":
                months = months or (start.month,)
    return Restriction(dates, weekdays, Part("month", months or tuple(range(1, 13))), _ALL_YEARS)


def _dates(parts: RruleParts) -> Dates | None:
    """Return the days of BYMONTHDAY or of BYYEARDAY. If both are set, return the days in both."""
    of_year = _days_of_year(parts.get("BYYEARDAY", ()))
    if "BYMONTHDAY" not in parts:
        return Dates((of_year,), of="of the year", single=len(parts["BYYEARDAY"]) == 1) if of_year else None
    values = parts["BYMONTHDAY"]
    from_end = [f"the {nth(value)} day" for value in reversed(values) if value < 0]
    dates = dates_of([value for value in values if value > 0], from_end)
    if not of_year:
        return dates
    both = f"those of {join_words(dates.nouns)} of the month that are {of_year}"
    return Dates((both,), of="of the year")


def _days_of_year(values: tuple[int, ...]) -> str:
    positive = tuple(value for value in values if value > 0)
    words = [f"day{'s' if len(positive) > 1 else ''} {numbers(positive)}"] if positive else []
    return join_words([*words, *(f"the {nth(value)} day" for value in reversed(values) if value < 0)]) if values else ""


def _weekdays(parts: RruleParts) -> Weekdays | None:
    """Return the weekdays of a rule, or ``None`` if it does not restrict them."""
    if "BYDAY" not in parts:
        return None
    plain = sorted((WEEKDAYS.index(name) + 1) % 7 for number, name in parts["BYDAY"] if not number)
    if len(plain) == 7:
        return None
    numbered = [(number, name) for number, name in parts["BYDAY"] if number]
    nouns = [
        f"the {nth(number)} {_weekday(name)}"
        for number, name in sorted(numbered, key=lambda day: (day[0] < 0, day[0], WEEKDAYS.index(day[1])))
    ]
    in_year = parts["FREQ"] == "YEARLY" and "BYMONTH" not in parts
    return Weekdays(tuple(plain), tuple(nouns), of="of the year" if in_year and nouns else "")


def _weekday(name: str) -> str:
    return WEEKDAY_NAMES[(WEEKDAYS.index(name) + 1) % 7].capitalize()


def _weeks(parts: RruleParts) -> list[str]:
    values = parts.get("BYWEEKNO", ())
    positive = tuple(value for value in values if value > 0)
    words = [f"week{'s' if len(positive) > 1 else ''} {numbers(positive)}"] if positive else []
    words += [f"the {nth(value)} week" for value in reversed(values) if value < 0]
    return [f"in {join_words(words)} of the year"] if words else []


# --- what only a rule has ---------------------------------------------------------------------------------------


def _positions(parts: RruleParts) -> list[str]:
    positions = parts.get("BYSETPOS", ())
    if not positions:
        return []
    period = _PERIODS.get(parts["FREQ"]) or _SHORT_PERIODS[parts["FREQ"]][0]
    words = [f"the {nth(value)}" for value in sorted(positions, key=lambda value: (value < 0, value))]
    return [f"only {join_words(words)} of these each {period}"]


def _week_start(parts: RruleParts) -> list[str]:
    """Return the first day of weeks, if it is unusual and makes a difference."""
    weekly = parts["FREQ"] == "WEEKLY" and (parts.get("INTERVAL", 1) > 1 or "BYSETPOS" in parts)
    if parts.get("WKST", "MO") == "MO" or not (weekly or "BYWEEKNO" in parts):
        return []
    return [f"weeks beginning on {_weekday(parts['WKST'])}"]


def _limits(read: RruleText, anchor: int, *, written: bool) -> list[str]:
    """Return the start (if it is ``written`` in the rule and not a bound of the whole spec), the count and the end."""
    clauses = []
    if "COUNT" in read.parts:
        count = read.parts["COUNT"]
        first = "first occurrence" if count == 1 else f"first {count_text(count, 'occurrence')}"
        clauses.append(f"only the {first} from {wall(anchor)} on")
    elif written:
        clauses.append(f"from {wall(anchor)} on")
    if read.until is not None:
        if "T" not in read.parts["UNTIL"]:
            clauses.append(f"until the end of {_date(read.until)}")
        else:
            clauses.append(f"until {wall(read.until)}{' UTC' if read.until_utc else ''} at the latest")
    return clauses


def _date(local: int) -> str:
    return wall_datetime(local).date().isoformat()
