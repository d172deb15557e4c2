"""At which times of day an RRULE can occur at all.

Asked before exclusions are applied: a rule whose every possible time is excluded has no occurrence, and must not be
walked to the end of the range to find that out.
"""

from __future__ import annotations

from math import gcd

from foliot.spec.days import DAY
from foliot.spec.daytimes import DayTimes, DenseTimes, select_times, without_times
from foliot.spec.rrule import Rrule
from foliot.spec.rrule_parse import completed, mask_of
from foliot.spec.wall import BothWalls, Exclusions, NoWall, WallClock, every_second_without

_UNITS = {"HOURLY": 3600, "MINUTELY": 60, "SECONDLY": 1}


def rrule_without(rule: Rrule, excluded: Exclusions) -> WallClock:
    """Return the wall times of a rule that are not excluded."""
    if not any(excluded):
        return rule
    every_day = tuple(times for days, times in excluded.calendars if times is not None and days.every_day)
    if every_day and without_times(possible_times(rule), (*every_day, *_off_the_grid(rule))) is None:
        return NoWall(rule.wildcard)
    return BothWalls(rule, every_second_without(excluded))


def possible_times(rule: Rrule) -> DayTimes:
    """Return the times of day that BYHOUR, BYMINUTE and BYSECOND leave, whatever the day."""
    parts = completed(rule.parts, rule.anchor)
    return select_times(
        mask_of(min(second, 59) for second in parts.get("BYSECOND", range(60))),
        mask_of(parts.get("BYMINUTE", range(60))),
        mask_of(parts.get("BYHOUR", range(24))),
    )


def _off_the_grid(rule: Rrule) -> tuple[DayTimes, ...]:
    """Return the times of day that a sub-daily INTERVAL never meets: all but those of one remainder."""
    unit = _UNITS.get(rule.parts["FREQ"])
    if unit is None:
        return ()
    common = gcd(unit * rule.parts.get("INTERVAL", 1), DAY)
    base = rule.anchor // unit * unit % common
    missed = bytes((second // unit * unit - base) % common != 0 for second in range(DAY))
    return (DenseTimes(missed),) if 1 in missed else ()
