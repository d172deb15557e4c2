"""Times of day at which an RRULE can occur.

Computed before exclusions are applied: a rule with all of its possible times excluded has no occurrence, and the search
must not walk to the end of the range to find that out.
"""

from __future__ import annotations

from math import gcd

from tompion.spec.calendar.days import DAY
from tompion.spec.calendar.times import DayTimes, DenseTimes, select_times, without_times
from tompion.spec.calendar.wall_clock import AllowedWall, Exclusions, NoWall, WallClock, every_second_without
from tompion.spec.rrule.compiler import Rrule
from tompion.spec.rrule.parse import mask_of, with_start_defaults

_UNITS = {"HOURLY": 3600, "MINUTELY": 60, "SECONDLY": 1}


def rrule_without(rule: Rrule, excluded: Exclusions) -> WallClock:
    """Return the wall times of a rule that are not excluded."""
    if not any(excluded):
        return rule
    every_day = tuple(times for days, times in excluded.calendars if times is not None and days.every_day)
    times = possible_times(rule)
    if times is None or without_times(times, every_day) is None:
        return NoWall(rule.wildcard)
    return AllowedWall(rule, every_second_without(excluded), times)


def possible_times(rule: Rrule) -> DayTimes | None:
    """Return the times of day at which a rule can occur on any day, or ``None`` if it has no possible time."""
    parts = with_start_defaults(rule.parts, rule.anchor)
    times = select_times(
        mask_of(min(second, 59) for second in parts.get("BYSECOND", range(60))),
        mask_of(parts.get("BYMINUTE", range(60))),
        mask_of(parts.get("BYHOUR", range(24))),
    )
    unit = _UNITS.get(rule.parts["FREQ"])
    if unit is None:
        return times
    # A sub-daily INTERVAL selects only periods with one remainder.
    common = gcd(unit * rule.parts.get("INTERVAL", 1), DAY)
    base = rule.anchor // unit * unit % common
    missed = bytes((second // unit * unit - base) % common != 0 for second in range(DAY))
    return without_times(times, (DenseTimes(missed),)) if 1 in missed else times
