"""The days that a recurrence rule selects, as one bit mask per month."""

from __future__ import annotations

from calendar import isleap
from datetime import date
from functools import lru_cache

from tompion.spec.calendar.days import ALL_WEEKDAYS, DAY, MONTH_OF_DAY, Days, days_from_civil
from tompion.spec.rrule.parse import (
    EPOCH_ORDINAL,
    SUB_DAILY,
    WEEKDAYS,
    RruleParts,
    mask_of,
    nth_mask,
    positions_mask,
    week_of,
)

_MONTH_STARTS = (
    (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365),
    (0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335, 366),
)
_REPEATED_WEEKLY = sum(1 << 7 * week for week in range(6))


@lru_cache(maxsize=512)
def _year(year: int) -> tuple[int, int, tuple[int, ...]]:
    """Return the day of 1 January, the kind of year, and the starts of its months. Years count from 1970.

    Two years of a kind start on the same weekday and have their leap years in the same places.
    """
    year += 1970
    first = days_from_civil(year, 1, 1)
    kind = (first + 3) % 7 << 3 | isleap(year) << 2 | isleap(year - 1) << 1 | isleap(year + 1)
    return first, kind, _MONTH_STARTS[isleap(year)]


def first_day(month: int) -> int:
    """Return the first day of a month. Months count from January 1970, days from its first."""
    first, _, starts = _year(month // 12)
    return first + starts[month % 12]


class RuleDays(Days):
    """The days that a rule selects. Months are counted from January 1970, as in the base class."""

    __slots__ = (
        "_block",
        "_interval",
        "_kinds",
        "_masks",
        "_nth",
        "_origin",
        "_parts",
        "_weekdays",
        "_width",
        "min_days",
    )

    def __init__(self, parts: RruleParts, anchor: int) -> None:
        super().__init__(())
        self._parts = parts
        self.min_days: int = 0
        """A month with fewer selected days counts as empty, because BYSETPOS would select nothing in it."""
        by_day = [(nth, WEEKDAYS.index(name)) for nth, name in parts.get("BYDAY", ())]
        self._weekdays = mask_of(weekday for nth, weekday in by_day if not nth)
        self._nth = tuple((nth, weekday) for nth, weekday in by_day if nth)
        self._masks: dict[int, int] = {}
        self._kinds = -1 if "BYWEEKNO" in parts else ~3  # only weeks depend on the years before and after
        frequency = parts["FREQ"]
        self._interval = 1 if frequency in SUB_DAILY else parts.get("INTERVAL", 1)
        # YEARLY and MONTHLY select every _interval-th block of _block months, WEEKLY and DAILY of _width days.
        self._block = {"YEARLY": 12, "MONTHLY": 1}.get(frequency, 0)
        self._width = 7 if frequency == "WEEKLY" else 1
        day = anchor // DAY
        start = date.fromordinal(day + EPOCH_ORDINAL)
        if self._block:
            self._origin = ((start.year - 1970) * 12 + start.month - 1) // self._block
        else:
            self._origin = week_of(day, parts) if frequency == "WEEKLY" else day

    def mask(self, month: int) -> int:
        """Return the selected days of a month, bit 0 for the 1st."""
        year, index = divmod(month, 12)
        first, kind, starts = _year(year)
        blocks = -1  # all days
        if self._interval > 1 and self._block:
            if (month // self._block - self._origin) % self._interval:
                return 0
        elif self._interval > 1:
            cycle = self._interval * self._width
            offset = (self._origin - first - starts[index]) % cycle
            if 31 <= offset <= cycle - self._width:  # the month is between two blocks
                return 0
            blocks = _blocks(self._width, cycle, offset)
        key = (kind & self._kinds) * 12 + index
        mask = self._masks.get(key)
        if mask is None:
            mask = self._masks[key] = self._evaluate(kind, index)
        return mask & blocks

    def span(self, first: int, length: int) -> int:
        """Return the selected days among ``length`` days from ``first`` on, bit 0 for the first of them."""
        mask = 0
        month = MONTH_OF_DAY[first]
        while (shift := first_day(month) - first) < length:
            mask |= self.mask(month) << shift if shift >= 0 else self.mask(month) >> -shift
            month += 1
        return mask & (1 << length) - 1

    def _evaluate(self, kind: int, month: int) -> int:
        """Return the days that the BY… parts select in a month (0 for January) of a kind of year, without INTERVAL."""
        parts = self._parts
        if "BYMONTH" in parts and month + 1 not in parts["BYMONTH"]:
            return 0
        starts = _MONTH_STARTS[kind >> 2 & 1]
        start, length = starts[month], starts[month + 1] - starts[month]
        weekday = ((kind >> 3) + start) % 7
        mask = (1 << length) - 1
        if "BYMONTHDAY" in parts:
            mask &= positions_mask(parts["BYMONTHDAY"], length)
        if "BYYEARDAY" in parts:
            mask &= positions_mask(parts["BYYEARDAY"], starts[12]) >> start
        if "BYDAY" in parts:
            in_year = parts["FREQ"] == "YEARLY" and "BYMONTH" not in parts
            first, size, skipped = (kind >> 3, starts[12], start) if in_year else (weekday, length, 0)
            mask &= self._weekdays * _REPEATED_WEEKLY >> weekday | nth_mask(self._nth, first, size) >> skipped
        if "BYWEEKNO" in parts and mask:
            mask &= self._weeks(kind, start, length)
        return mask if mask.bit_count() >= self.min_days else 0

    def _weeks(self, kind: int, start: int, length: int) -> int:
        """Return the days of a month in the weeks of BYWEEKNO.

        A week belongs to the year of its fourth day. It is week n if that is the n-th such day of the year.
        """
        wanted, week_start = self._parts["BYWEEKNO"], WEEKDAYS.index(self._parts.get("WKST", "MO"))
        sizes = [365 + (kind >> bit & 1) for bit in (1, 2, 0)]  # the year before, this one, the year after
        offsets = (-sizes[0], 0, sizes[1])
        mask = 0
        earliest = start - 7 + (week_start + 3 - (kind >> 3) - start) % 7
        for fourth in range(earliest, start + length + 3, 7):
            year = 0 if fourth < 0 else 1 if fourth < sizes[1] else 2
            number, first = divmod(fourth - offsets[year], 7)
            weeks = (sizes[year] - 1 - first) // 7 + 1
            if number + 1 in wanted or number - weeks in wanted:
                mask |= ALL_WEEKDAYS << fourth - start + 7
        return mask >> 10  # 3 days from the beginning of a week to its fourth, and 7 to avoid a negative shift


@lru_cache(maxsize=1_024)
def _blocks(width: int, cycle: int, offset: int) -> int:
    """Return a month of bits in which a block of ``width`` ones begins at ``offset`` and every ``cycle`` bits."""
    block = (1 << width) - 1
    mask = block >> cycle - offset  # the block that began before the month
    for start in range(offset, 31, cycle):
        mask |= block << start
    return mask
