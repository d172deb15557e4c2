"""Times of day in English: what the second, minute and hour of a rule say together.

Three sets of numbers can be put in many ways, and only some are both short and true.  ``*/7`` in the minute field is
not "every 7 minutes", because the step starts anew each hour; ``22-2`` in the hour field is a stretch of time over
midnight only if every day counts.  So the phrase is chosen by what the *sets* are, not by how they were written: few
times are listed, evenly spaced ones are a cadence with its bounds, and everything else names the seconds of the minutes
of the hours.  What ``H`` selects is unknown until a schedule's id is, and is described as a choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tompion.spec.calendar.fields import Field, Item
from tompion.spec.calendar.times import bits_of
from tompion.spec.explain.words import clock, every, joined, numbers, ordinal, progression, runs

MAX_LISTED_TIMES = 4
"""So many times of day are always listed."""

SOME = 8
"""So many are listed if they are no cadence."""

MAX_TIME_RANGES = 3
"""So many stretches of time are told with their bounds; beyond that it is hours that are listed."""

CHOSEN = "chosen by the schedule's id"

_SIZES = {"second": 60, "minute": 60, "hour": 24, "day_of_month": 31, "month": 12, "day_of_week": 7, "year": 231}


class Part(NamedTuple):
    """The values of one field: those that are known, and the choices that a schedule's id will make."""

    name: str
    values: tuple[int, ...]
    choices: tuple[Item, ...] = ()

    @property
    def full(self) -> bool:
        """Whether every value is selected."""
        return len(self.values) == _SIZES[self.name]

    @property
    def zero(self) -> bool:
        """Whether it is 0 and nothing else."""
        return self.values == (0,) and not self.choices

    def words(self) -> str:
        """Return ``every minute``, ``minute 5``, ``minutes 0 and 30``, or the choices in such words."""
        if self.full:
            return f"every {self.name}"
        words = [f"{self.name}{'s' if len(self.values) > 1 else ''} {numbers(self.values)}"] if self.values else []
        return joined([*words, *(_choice(item, self.name) for item in self.choices)])


class Times(NamedTuple):
    """A phrase for the times of day; it begins in lower case.

    ``daily``: it names times of a day, so that "every day" can follow.  ``cadence``: it is the same at all times of
    day, such as "every 15 minutes".
    """

    text: str
    daily: bool = True
    cadence: bool = False


def part_of(field: Field) -> Part:
    """Return the values of a parsed field; an ``H`` that leaves no choice is a value like others."""
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
    """Return the part that selects everything."""
    return Part(name, tuple(range(_SIZES[name])))


def describe_times(second: Part, minute: Part, hour: Part, *, wildcard: bool, overnight: bool) -> Times:
    """Describe times of day.

    ``wildcard`` is the DST class: only a rule of that class keeps its cadence through a change of the clocks.
    ``overnight``: all days count, so that a stretch may go on after midnight.
    """
    if second.choices or minute.choices or hour.choices:
        return _chosen(second, minute, hour)
    inside = [at * 60 + second_at for at in minute.values for second_at in second.values]
    if hour.full and wildcard:
        return _all_day(second, minute, inside)
    stretches = runs(hour.values, 24 if overnight else 0)
    hours = hour.values
    if len(stretches) == 1:
        first, last = stretches[0]
        hours = tuple(range(first, last + 1))
    total, shown = len(inside) * len(hours), not second.zero
    times = [at * 3600 + offset for at in hours for offset in inside] if total <= SOME else []
    listed = Times("at " + joined(clock(time, seconds=shown) for time in times)) if times else None
    if total <= MAX_LISTED_TIMES and listed is not None:
        return listed
    return _cadence(inside, hours, stretches, shown) or listed or _chained(second, minute, hour, overnight)


def _all_day(second: Part, minute: Part, inside: list[int]) -> Times:
    """Describe what happens in every hour alike."""
    if len(inside) == 1:
        if inside == [0]:
            return Times("every hour, on the hour", daily=False)
        return Times(f"at {minute.words()}{'' if second.zero else f' and {second.words()}'} of every hour", daily=False)
    chained = _chained(second, minute, whole("hour"), overnight=False)
    step = _even_step(inside)
    if step and not inside[0]:
        return Times(every(step), daily=False, cadence=True)
    if step and step != 60:
        return Times(f"{every(step)}, {chained.text}", daily=False)
    return chained


def _cadence(inside: list[int], hours: Sequence[int], stretches: list[tuple[int, int]], shown: bool) -> Times | None:
    """Describe times that are evenly spaced within each stretch of hours; ``None`` if they are not."""
    step = progression(inside) if len(hours) == 1 else _even_step(inside)
    if len(inside) == 1 and (leap := progression(hours)) > 1:
        step, stretches = leap * 3600, [(hours[0], hours[-1])]
    bounds = [(first * 3600 + inside[0], last * 3600 + inside[-1]) for first, last in stretches]
    long = [_stretch(first, last, seconds=shown) for first, last in bounds if first < last]
    single = [clock(first, seconds=shown) for first, last in bounds if first == last]
    if not step or not long or len(long) > MAX_TIME_RANGES or len(single) > MAX_LISTED_TIMES:
        return None
    at = f", and at {joined(single)}" if single else ""
    return Times(f"{every(step)} {joined(long)}{at}", daily=hours[-1] < 24 and stretches[-1][1] < 24)


def _stretch(first: int, last: int, *, seconds: bool) -> str:
    next_day = " the next day" if last >= 86_400 else ""
    return f"from {clock(first, seconds=seconds)} to {clock(last, seconds=seconds)}{next_day}"


def _even_step(inside: Sequence[int]) -> int:
    """Return the distance in seconds if it is the same between all times of an hour and on to the next; else 0."""
    step, rest = divmod(3600, len(inside))
    return step if not rest and (len(inside) == 1 or progression(inside) == step) else 0


def _chained(second: Part, minute: Part, hour: Part, overnight: bool) -> Times:
    """Name the seconds of the minutes of the hours."""
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
    stretches = runs(hour.values, 24 if overnight else 0)
    if len(stretches) > 1:
        return f"the hours {numbers(hour.values)}"
    first, last = stretches[0]
    bounds = _stretch(first * 3600, last * 3600 + 3540, seconds=False)
    return f"the hour {bounds}" if first == last else f"every hour {bounds}"


# --- what a schedule's id decides -------------------------------------------------------------------------------


def _choice(item: Item, noun: str) -> str:
    """Return ``a minute``, ``a minute from 0 to 29`` or ``every 15th minute beginning with one from 0 to 14``."""
    top = _SIZES[noun] - 1
    if item.step:
        limit = "" if item.last == top else f" up to {item.last},"
        return f"every {ordinal(item.step)} {noun}{limit} beginning with one from {_span(item.first, item.step)}"
    article = "an" if noun == "hour" else "a"
    within = "" if (item.first, item.last) == (0, top) else f" from {item.first} to {item.last}"
    return f"{article} {noun}{within}"


def _span(first: int, width: int) -> str:
    return f"{first} to {first + width - 1}"


def _chosen(second: Part, minute: Part, hour: Part) -> Times:
    """Describe times of which the schedule's id chooses at least one part."""
    if hour.choices:
        return Times(f"at {_chosen_hour(second, minute, hour)}")
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


def _chosen_hour(second: Part, minute: Part, hour: Part) -> str:
    if minute.choices:
        nouns = [hour.words(), minute.words(), *([second.words()] if second.choices else [])]
        lead = "" if second.zero or second.choices else f"{second.words()} of "
        return f"{lead}{joined(nouns)} {CHOSEN}"
    if second.choices:
        return f"{hour.words()} and {second.words()} {CHOSEN}, in {minute.words()} of the hour"
    lead = "" if second.zero else f"{second.words()} of "
    return f"{lead}{minute.words()} of {hour.words()} {CHOSEN}"


def _lead_hours(hour: Part) -> str:
    if hour.full:
        return "every hour"
    stretches = runs(hour.values)
    if len(stretches) > 1:
        return f"in the hours {numbers(hour.values)}"
    bounds = _stretch(stretches[0][0] * 3600, stretches[0][1] * 3600 + 3540, seconds=False)
    return bounds if len(hour.values) == 1 else f"every hour {bounds}"


# --- what an exclusion takes away ---------------------------------------------------------------------------------


def describe_excluded_times(second: Part, minute: Part, hour: Part, *, overnight: bool) -> str:
    """Describe the times that an exclusion covers; nothing if they are whole days."""
    if second.full and minute.full and hour.full:
        return ""
    if not second.full or minute.choices or hour.choices:
        return describe_times(second, minute, hour, wildcard=True, overnight=overnight).text
    minutes = [at * 60 + offset for at in hour.values for offset in minute.values]
    stretches = runs(minutes, 1440 if overnight else 0)
    if len(stretches) <= MAX_TIME_RANGES:
        return joined(_stretch(first * 60, last * 60 + 59, seconds=True) for first, last in stretches)
    if minute.full:
        return f"in the hours {numbers(hour.values)}"
    return f"in {minute.words()} of {_of_hours(hour, overnight)}"
