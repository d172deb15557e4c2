"""Describes times of day in English, from the second, minute and hour of a rule.

The phrase depends on the selected *values*, not on how they were written. ``*/7`` in the minute field is not "every 7
minutes", because the step restarts each hour. ``22-2`` in the hour field is a range over midnight only if every day
matches. Few times are listed, evenly spaced times are a cadence with bounds, and everything else is described as
seconds of minutes of hours. The values of ``H`` depend on the schedule's id and are described as a choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tompion.spec.calendar.fields import Field, Item
from tompion.spec.calendar.times import bits_of
from tompion.spec.explain.words import clock, every, join_words, numbers, ordinal, progression, runs

MAX_LISTED_TIMES = 4
"""Up to this many times of day are always listed."""

MAX_IRREGULAR_TIMES = 8
"""Up to this many are listed if they are not evenly spaced."""

MAX_TIME_RANGES = 3
"""Up to this many time ranges are described with their bounds. Beyond that, hours are listed."""

CHOSEN = "chosen by the schedule's id"

_SIZES = {"second": 60, "minute": 60, "hour": 24, "day_of_month": 31, "month": 12, "day_of_week": 7, "year": 231}


class Part(NamedTuple):
    """The values of one field: fixed values, and the choices that depend on the schedule's id."""

    name: str
    values: tuple[int, ...]
    choices: tuple[Item, ...] = ()

    @property
    def full(self) -> bool:
        """True if every value is selected."""
        return len(self.values) == _SIZES[self.name]

    @property
    def zero(self) -> bool:
        """True if 0 is the only value."""
        return self.values == (0,) and not self.choices

    def words(self) -> str:
        """Return ``every minute``, ``minute 5``, ``minutes 0 and 30``, or the choices in such words."""
        if self.full:
            return f"every {self.name}"
        words = [f"{self.name}{'s' if len(self.values) > 1 else ''} {numbers(self.values)}"] if self.values else []
        return join_words([*words, *(_choice(item, self.name) for item in self.choices)])


class Times(NamedTuple):
    """A phrase for times of day that begins in lower case.

    ``daily``: it names times of a day, so that "every day" can follow. ``cadence``: it has an even rhythm all day, such
    as "every 15 minutes".
    """

    text: str
    daily: bool = True
    cadence: bool = False


def part_of(field: Field) -> Part:
    """Return the values of a parsed field. An ``H`` without a choice is a fixed value."""
    mask, choices = field.mask, []
    for item in field.items:
        if item.form == "H" and (item.step == 1 or item.first == item.last):
            for value in range(item.first, item.last + 1):
                mask |= 1 << (value - field.kind.low) % _SIZES[field.kind.name]  # weekday 7 is Sunday, too
        elif item.form == "H":
            choices.append(item)
    part = Part(field.kind.name, tuple(bit + field.kind.low for bit in bits_of(mask)), tuple(choices))
    return part._replace(choices=()) if part.full else part


def whole(name: str) -> Part:
    """Return the part that selects every value."""
    return Part(name, tuple(range(_SIZES[name])))


def describe_times(second: Part, minute: Part, hour: Part, *, wildcard: bool, overnight: bool) -> Times:
    """Describe times of day.

    ``wildcard`` is the DST class: only a wildcard rule keeps its cadence through a clock change. ``overnight``: all
    days match, so that a range may continue after midnight.
    """
    if second.choices or minute.choices or hour.choices:
        return _describe_choices(second, minute, hour)
    inside = [at * 60 + second_at for at in minute.values for second_at in second.values]
    if hour.full and wildcard:
        return _describe_every_hour(second, minute, inside)
    ranges = runs(hour.values, 24 if overnight else 0)
    hours = hour.values
    if len(ranges) == 1:
        first, last = ranges[0]
        hours = tuple(range(first, last + 1))
    total, with_seconds = len(inside) * len(hours), not second.zero
    times = [at * 3600 + offset for at in hours for offset in inside] if total <= MAX_IRREGULAR_TIMES else []
    listed = Times("at " + join_words(clock(time, seconds=with_seconds) for time in times)) if times else None
    if total <= MAX_LISTED_TIMES and listed is not None:
        return listed
    return (
        _describe_cadence(inside, hours, ranges, with_seconds)
        or listed
        or _describe_nested(second, minute, hour, overnight)
    )


def _describe_every_hour(second: Part, minute: Part, inside: list[int]) -> Times:
    """Describe times that are the same in every hour."""
    if len(inside) == 1:
        if inside == [0]:
            return Times("every hour, on the hour", daily=False)
        return Times(f"at {minute.words()}{'' if second.zero else f' and {second.words()}'} of every hour", daily=False)
    chained = _describe_nested(second, minute, whole("hour"), overnight=False)
    step = _even_step(inside)
    if step and not inside[0]:
        return Times(every(step), daily=False, cadence=True)
    if step and step != 60:
        return Times(f"{every(step)}, {chained.text}", daily=False)
    return chained


def _describe_cadence(
    inside: list[int], hours: Sequence[int], ranges: list[tuple[int, int]], with_seconds: bool
) -> Times | None:
    """Describe times that are evenly spaced within each range of hours. Return ``None`` if they are not."""
    step = progression(inside) if len(hours) == 1 else _even_step(inside)
    if len(inside) == 1 and (leap := progression(hours)) > 1:
        step, ranges = leap * 3600, [(hours[0], hours[-1])]
    bounds = [(first * 3600 + inside[0], last * 3600 + inside[-1]) for first, last in ranges]
    long = [_time_range(first, last, seconds=with_seconds) for first, last in bounds if first < last]
    single = [clock(first, seconds=with_seconds) for first, last in bounds if first == last]
    if not step or not long or len(long) > MAX_TIME_RANGES or len(single) > MAX_LISTED_TIMES:
        return None
    at = f", and at {join_words(single)}" if single else ""
    return Times(f"{every(step)} {join_words(long)}{at}", daily=hours[-1] < 24 and ranges[-1][1] < 24)


def _time_range(first: int, last: int, *, seconds: bool) -> str:
    next_day = " the next day" if last >= 86_400 else ""
    return f"from {clock(first, seconds=seconds)} to {clock(last, seconds=seconds)}{next_day}"


def _even_step(inside: Sequence[int]) -> int:
    """Return the distance in seconds if it is the same between all times of an hour and to the next hour, else 0."""
    step, rest = divmod(3600, len(inside))
    return step if not rest and (len(inside) == 1 or progression(inside) == step) else 0


def _describe_nested(second: Part, minute: Part, hour: Part, overnight: bool) -> Times:
    """Describe the seconds of the minutes of the hours."""
    hours = _of_hours(hour, overnight)
    daily = not hour.full and "next day" not in hours
    if second.zero:
        return Times(f"{'' if minute.full else 'at '}{minute.words()} of {hours}", daily)
    lead = second.words() if second.full else f"at {second.words()}"
    if not minute.full:
        return Times(f"{lead} of {minute.words()} of {hours}", daily)
    if second.full:
        return Times(f"{lead} of {hours}", daily)
    return Times(f"{lead} of every minute{'' if hour.full else f' of {hours}'}", daily)


def _of_hours(hour: Part, overnight: bool) -> str:
    """Return ``every hour``, ``every hour from 09:00 to 17:59`` or ``the hours 9, 12 and 15``."""
    if hour.full:
        return "every hour"
    ranges = runs(hour.values, 24 if overnight else 0)
    if len(ranges) > 1:
        return f"the hours {numbers(hour.values)}"
    first, last = ranges[0]
    bounds = _time_range(first * 3600, last * 3600 + 3540, seconds=False)
    return f"the hour {bounds}" if first == last else f"every hour {bounds}"


# --- choices by the schedule's id -------------------------------------------------------------------------------


def _choice(item: Item, noun: str) -> str:
    """Return ``a minute``, ``a minute from 0 to 29`` or ``every 15th minute beginning with one from 0 to 14``."""
    top = _SIZES[noun] - 1
    if item.step:
        limit = "" if item.last == top else f" up to {item.last},"
        return f"every {ordinal(item.step)} {noun}{limit} beginning with one from {_range_text(item.first, item.step)}"
    article = "an" if noun == "hour" else "a"
    within = "" if (item.first, item.last) == (0, top) else f" from {item.first} to {item.last}"
    return f"{article} {noun}{within}"


def _range_text(first: int, width: int) -> str:
    return f"{first} to {first + width - 1}"


def _describe_choices(second: Part, minute: Part, hour: Part) -> Times:
    """Describe times of which at least one part depends on the schedule's id."""
    if hour.choices:
        return Times(f"at {_describe_hour_choice(second, minute, hour)}")
    daily = not hour.full
    if minute.choices:
        nouns = minute.words()
        if second.choices:
            nouns = f"{nouns} and {second.words()}"
        elif not second.zero:
            nouns = f"{second.words()} of {nouns}"
        return Times(f"{_lead_hours(hour)}, at {nouns} {CHOSEN}", daily)
    if minute.full:
        lead = "every minute" if hour.full else f"every minute of {_of_hours(hour, overnight=False)}"
    else:
        lead = f"in {minute.words()} of {_of_hours(hour, overnight=False)}"
    return Times(f"{lead}, at {second.words()} {CHOSEN}", daily)


def _describe_hour_choice(second: Part, minute: Part, hour: Part) -> str:
    if minute.choices:
        nouns = [hour.words(), minute.words(), *([second.words()] if second.choices else [])]
        lead = "" if second.zero or second.choices else f"{second.words()} of "
        return f"{lead}{join_words(nouns)} {CHOSEN}"
    if second.choices:
        return f"{hour.words()} and {second.words()} {CHOSEN}, in {minute.words()} of the hour"
    lead = "" if second.zero else f"{second.words()} of "
    return f"{lead}{minute.words()} of {hour.words()} {CHOSEN}"


def _lead_hours(hour: Part) -> str:
    if hour.full:
        return "every hour"
    ranges = runs(hour.values)
    if len(ranges) > 1:
        return f"in the hours {numbers(hour.values)}"
    bounds = _time_range(ranges[0][0] * 3600, ranges[0][1] * 3600 + 3540, seconds=False)
    return bounds if len(hour.values) == 1 else f"every hour {bounds}"


# --- exclusions ---------------------------------------------------------------------------------


def describe_excluded_times(second: Part, minute: Part, hour: Part, *, overnight: bool) -> str:
    """Describe the times of an exclusion, an empty text for whole days."""
    if second.full and minute.full and hour.full:
        return ""
    if not second.full or minute.choices or hour.choices:
        return describe_times(second, minute, hour, wildcard=True, overnight=overnight).text
    minutes = [at * 60 + offset for at in hour.values for offset in minute.values]
    ranges = runs(minutes, 1440 if overnight else 0)
    if len(ranges) <= MAX_TIME_RANGES:
        return join_words(_time_range(first * 60, last * 60 + 59, seconds=True) for first, last in ranges)
    if minute.full:
        return f"in the hours {numbers(hour.values)}"
    return f"in {minute.words()} of {_of_hours(hour, overnight)}"
