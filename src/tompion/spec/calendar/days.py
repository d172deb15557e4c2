"""Matching days, from one bit mask per month.

The days of a month that a rule selects depend on two things only: the weekday of the 1st and the length of the month.
That makes 7 × 4 = 28 *shapes*, so day-of-month, weekday, ``L``, ``W``, ``#`` and the AND/OR of both collapse to 28
masks when a rule is compiled (bit 0 = the 1st). With the twelve months side by side that is a table of 336 masks, in
which an excluded month is a row of zeros. Finding the next matching day is one lookup and one bit operation, whatever
the syntax was.

Days are counted from 1970-01-01, months from January 1970. The tables reach from December 1969 to January 2201, so
that every instant of the range has a wall time in every zone. December 1969 is at the *end* of each table, where day
``-1`` and month ``-1`` find it as negative indexes.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import accumulate, pairwise
from typing import NamedTuple

DAY = 86_400
FIRST_YEAR = 1970
LAST_YEAR = 2200
HORIZON = 7_289_654_400
"""The first instant after the range: 2201-01-01T00:00:00Z. No tick is at or after it."""

SHAPES = 28
ALL_MONTHS = (1 << 12) - 1
ALL_WEEKDAYS = (1 << 7) - 1
ALL_YEARS = (1 << (LAST_YEAR - FIRST_YEAR + 2)) - 1
"""Every year of the range, and 2201 for the hours in which eastern zones are already in it."""

INTERNED_RULES = 8_192
"""Number of distinct day rules whose tables are cached."""


def days_from_civil(year: int, month: int, day: int) -> int:
    """Return the number of days from 1970-01-01 to a date of the proleptic Gregorian calendar."""
    year -= month <= 2
    era, year_of_era = divmod(year, 400)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719_468


def _month_lengths() -> list[int]:
    starts = [days_from_civil(year, month, 1) for year in range(FIRST_YEAR, LAST_YEAR + 2) for month in range(1, 13)]
    last_needed = (LAST_YEAR + 1 - FIRST_YEAR) * 12 + 1
    return [after - before for before, after in pairwise(starts)][:last_needed]


_LENGTHS = _month_lengths()
MONTHS = len(_LENGTHS)
"""Number of months from January 1970 to January 2201. Month ``-1`` is December 1969."""

FIRST_DAY = (*accumulate(_LENGTHS[:-1], initial=0), -31)
MONTH_OF_DAY = tuple(month for month, length in [*enumerate(_LENGTHS), (-1, 31)] for _day in range(length))
END_DAY = len(MONTH_OF_DAY) - 31
"""The first day after the tables. The last 31 entries are December 1969."""
SHAPE: tuple[int, ...] = tuple(
    (month % 12) * SHAPES + (length - 28) * 7 + (first + 4) % 7
    for month, first, length in zip([*range(MONTHS), 11], FIRST_DAY, [*_LENGTHS, 31], strict=True)
)
"""For each month the row of a table that has its mask: month of the year, length, weekday of the 1st."""

_LENGTH_MASKS = tuple((1 << length) - 1 for length in (28, 29, 30, 31))
_WEEKLY = sum(1 << 7 * week for week in range(5))
_EVERY_DAY = tuple(mask for mask in _LENGTH_MASKS for _weekday in range(7))
_NO_DAY = (0,) * SHAPES


class DayRule(NamedTuple):
    """A day that no fixed bit can represent: ``kind`` with one or two numbers.

    ``last n`` (L, L-n) · ``last_workday n`` (LW, L-nW) · ``workday d`` (dW) · ``nth w n`` (w#n) ·
    ``last_weekday w`` (wL)
    """

    kind: str
    first: int = 0
    second: int = 0


class Days:
    """A set of days: a table of 336 masks, optionally in some years only, minus other sets and single dates.

    ``dates`` maps a month to the bits of its excluded days. ``plain`` is true if the table alone defines the set.
    """

    __slots__ = ("dates", "minus", "plain", "table", "years")

    def __init__(
        self,
        table: tuple[int, ...],
        years: int = ALL_YEARS,
        minus: tuple[Days, ...] = (),
        dates: dict[int, int] | None = None,
    ) -> None:
        self.table: tuple[int, ...] = table
        self.years: int = years
        self.minus: tuple[Days, ...] = minus
        self.dates: dict[int, int] = dates or {}
        self.plain: bool = years == ALL_YEARS and not minus and not dates

    @property
    def every_day(self) -> bool:
        """True if the set has every day."""
        return self.plain and (self.table is EVERY_DAY.table or self.table == EVERY_DAY.table)

    def mask(self, month: int) -> int:
        """Return the matching days of a month (counted from January 1970), bit 0 for the 1st."""
        mask = self.table[SHAPE[month]]
        if not mask or self.plain:
            return mask
        if month < 0 or not self.years >> month // 12 & 1:
            mask = 0 if self.years != ALL_YEARS else mask
        for other in self.minus:
            mask &= ~other.mask(month)
        return mask & ~self.dates.get(month, 0)

    def has(self, day: int) -> bool:
        """Return whether a day matches."""
        month = MONTH_OF_DAY[day]
        return bool(self.mask(month) >> day - FIRST_DAY[month] & 1)

    def next_day(self, day: int) -> int | None:
        """Return the first matching day at or after ``day``."""
        if day >= END_DAY:
            return None
        month = MONTH_OF_DAY[day]
        remaining_mask = self.mask(month) >> day - FIRST_DAY[month]
        if remaining_mask:
            return day + _lowest_bit(remaining_mask)
        later = self._month_from(month + 1)
        while later < MONTHS:
            if mask := self.mask(later):
                return FIRST_DAY[later] + _lowest_bit(mask)
            later = self._month_from(later + 1)
        return None

    def prev_day(self, day: int) -> int | None:
        """Return the last matching day at or before ``day``."""
        if day < -31:
            return None
        month = MONTH_OF_DAY[day]
        first = FIRST_DAY[month]
        earlier_mask = self.mask(month) & ((2 << day - first) - 1)
        if earlier_mask:
            return first + earlier_mask.bit_length() - 1
        earlier = self._month_until(month - 1)
        while earlier >= -1:
            if mask := self.mask(earlier):
                return FIRST_DAY[earlier] + mask.bit_length() - 1
            earlier = self._month_until(earlier - 1)
        return None

    def _month_from(self, month: int) -> int:
        """Return the first month, from this one on, of a year that matches."""
        if self.years == ALL_YEARS:
            return month
        remaining_years = self.years >> month // 12
        if remaining_years & 1:
            return month
        return (month // 12 + _lowest_bit(remaining_years)) * 12 if remaining_years else MONTHS

    def _month_until(self, month: int) -> int:
        """Return the last month, up to this one, of a year that matches."""
        if self.years == ALL_YEARS:
            return month
        earlier_years = self.years & (2 << month // 12) - 1 if month >= 0 else 0
        return min(month, earlier_years.bit_length() * 12 - 1) if earlier_years else -2

    def without(self, others: tuple[Days, ...], dates: frozenset[int]) -> Days:
        """Return these days minus other sets and single days."""
        if not others and not dates:
            return self
        by_month = dict(self.dates)
        for day in dates:
            if -31 <= day < END_DAY:
                month = MONTH_OF_DAY[day]
                by_month[month] = by_month.get(month, 0) | 1 << day - FIRST_DAY[month]
        table = self.table
        for other in others:
            if other.plain:  # its table is subtracted here, so nothing is left to do per month
                table = tuple(mine & ~theirs for mine, theirs in zip(table, other.table, strict=True))
        subtracted_per_month = tuple(other for other in others if not other.plain)
        return Days(table, self.years, self.minus + subtracted_per_month, by_month)


def _lowest_bit(mask: int) -> int:
    """Return the index of the lowest bit that is set."""
    return (mask & -mask).bit_length() - 1


EVERY_DAY = Days(_EVERY_DAY * 12)


@lru_cache(maxsize=INTERNED_RULES)
def select_days(  # noqa: PLR0913 - the fields that decide, which are the cache key
    days_of_month: int,
    month_rules: tuple[DayRule, ...],
    weekdays: int,
    weekday_rules: tuple[DayRule, ...],
    months: int,
    years: int,
    either: bool,
) -> Days:
    """Return the days that two day fields, a month and a year field select.

    ``days_of_month`` has bit 0 for the 1st, ``weekdays`` bit 0 for Sunday. With ``either`` a day matches if it
    satisfies one of the two day fields, otherwise it must satisfy both.
    """
    by_date = _date_masks(days_of_month, month_rules)
    by_weekday = _weekday_masks(weekdays, weekday_rules)
    if either:
        masks = tuple([one | other for one, other in zip(by_date, by_weekday, strict=True)])
    elif by_weekday is _EVERY_DAY:
        masks = by_date
    elif by_date is _EVERY_DAY:
        masks = by_weekday
    else:
        masks = tuple([one & other for one, other in zip(by_date, by_weekday, strict=True)])
    if months == ALL_MONTHS:
        return EVERY_DAY if masks is _EVERY_DAY and years == ALL_YEARS else Days(masks * 12, years)
    table: list[int] = []
    for month in range(12):
        table += masks if months >> month & 1 else _NO_DAY
    return Days(tuple(table), years)


def _date_masks(days_of_month: int, rules: tuple[DayRule, ...]) -> tuple[int, ...]:
    if days_of_month == _LENGTH_MASKS[3]:
        return _EVERY_DAY
    masks = [mask for limit in _LENGTH_MASKS for mask in [days_of_month & limit] * 7]
    return _with_rules(masks, rules)


def _weekday_masks(weekdays: int, rules: tuple[DayRule, ...]) -> tuple[int, ...]:
    if weekdays == ALL_WEEKDAYS:
        return _EVERY_DAY
    doubled = weekdays | weekdays << 7
    rows = [(doubled >> first & ALL_WEEKDAYS) * _WEEKLY for first in range(7)]
    return _with_rules([row & limit for limit in _LENGTH_MASKS for row in rows], rules)


def _with_rules(masks: list[int], rules: tuple[DayRule, ...]) -> tuple[int, ...]:
    for rule in rules:
        for shape in range(SHAPES):
            masks[shape] |= _rule_mask(rule, shape % 7, 28 + shape // 7)
    return tuple(masks)


def _rule_mask(rule: DayRule, weekday_of_first: int, length: int) -> int:
    """Return the one day (or none) that a rule selects in a month of a given shape."""
    kind, number, nth = rule
    if kind == "nth":
        day = 1 + (number - weekday_of_first) % 7 + 7 * (nth - 1)
    elif kind == "last_weekday":
        day = length - (weekday_of_first + length - 1 - number) % 7
    elif kind == "last":
        day = length - number
    else:
        day = number if kind == "workday" else length - number
        if 1 <= day <= length:
            day = _nearest_workday(day, weekday_of_first, length)
    return 1 << day - 1 if 1 <= day <= length else 0


def _nearest_workday(day: int, weekday_of_first: int, length: int) -> int:
    """Return the Monday-to-Friday day nearest to ``day`` inside the same month."""
    weekday = (weekday_of_first + day - 1) % 7
    if weekday == 6:
        return day - 1 if day > 1 else day + 2
    if weekday == 0:
        return day + 1 if day < length else day - 2
    return day
