"""Days from masks, compared with a walk over every date with the standard library."""

from __future__ import annotations

import calendar
import random
from collections.abc import Callable
from datetime import date, timedelta
from functools import cache
from typing import NamedTuple

import pytest

from tompion.spec.calendar.cron import CronRule, parse_cron
from tompion.spec.calendar.days import (
    ALL_MONTHS,
    ALL_WEEKDAYS,
    ALL_YEARS,
    EVERY_DAY,
    FIRST_DAY,
    HORIZON,
    MONTH_OF_DAY,
    MONTHS,
    Days,
    days_from_civil,
    select_days,
)

EPOCH = date(1970, 1, 1)
EVERY_DATE = 31


class Seen(NamedTuple):
    """One date according to the standard library. ``weekday`` 0 is Sunday."""

    year: int
    month: int
    day: int
    length: int
    weekday: int


Predicate = Callable[[Seen], bool]


@cache
def all_dates() -> tuple[date, ...]:
    """Every date that the tables reach: December 1969 to January 2201."""
    first, last = date(1969, 12, 1), date(2201, 1, 31)
    return tuple(first + timedelta(days=count) for count in range((last - first).days + 1))


@cache
def everything_seen() -> tuple[Seen, ...]:
    return tuple(
        Seen(day.year, day.month, day.day, calendar.monthrange(day.year, day.month)[1], day.isoweekday() % 7)
        for day in all_dates()
    )


def number(day: date) -> int:
    return (day - EPOCH).days


FIRST_NUMBER = number(date(1969, 12, 1))


@cache
def matching_days(text: str) -> list[int]:
    """The numbers of the days that the plain reading of a rule selects."""
    matches = RULES[text]
    return [FIRST_NUMBER + index for index, seen in enumerate(everything_seen()) if matches(seen)]


def days_of(text: str) -> Days:
    rule = parse_cron(text)
    assert isinstance(rule, CronRule)
    return rule.dates.days_for("")


# ---------------------------------------------------------------- the plain reading of each rule


def workday_near(day: Seen, wanted: int) -> bool:
    """Whether a date is the Monday-to-Friday nearest to the ``wanted``-th of its month, without leaving the month."""
    if not 1 <= wanted <= day.length:
        return False
    for step in (0, -1, 1, -2, 2):
        other = wanted + step
        if 1 <= other <= day.length and 1 <= (day.weekday + other - day.day) % 7 <= 5:
            return day.day == other
    raise AssertionError("no month is without workdays")


def nth(day: Seen, weekday: int, count: int) -> bool:
    return day.weekday == weekday and (day.day - 1) // 7 + 1 == count


def last(day: Seen, weekday: int) -> bool:
    return day.weekday == weekday and day.day + 7 > day.length


RULES: dict[str, Predicate] = {
    "0 0 * * *": lambda day: day.day >= 1,
    "0 0 ? * ?": lambda day: day.day >= 1,
    "0 0 1 * *": lambda day: day.day == 1,
    "0 0 31 * *": lambda day: day.day == 31,
    "0 0 29 2 *": lambda day: (day.month, day.day) == (2, 29),
    "0 0 30 2 *": lambda day: (day.month, day.day) == (2, 30),
    "0 0 */2 * *": lambda day: day.day % 2 == 1,
    "0 0 28-3 * *": lambda day: day.day >= 28 or day.day <= 3,
    "0 0 * 11-2 *": lambda day: day.month in {11, 12, 1, 2},
    "0 0 L * *": lambda day: day.day == day.length,
    "0 0 L 2 *": lambda day: day.month == 2 and day.day == day.length,
    "0 0 L-1 * *": lambda day: day.day == day.length - 1,
    "0 0 L-3 * *": lambda day: day.day == day.length - 3,
    "0 0 L-27 * *": lambda day: day.day == day.length - 27,
    "0 0 L-28 * *": lambda day: day.day == day.length - 28,
    "0 0 L-30 * *": lambda day: day.day == day.length - 30,
    "0 0 LW * *": lambda day: workday_near(day, day.length),
    "0 0 L-2W * *": lambda day: workday_near(day, day.length - 2),
    "0 0 1W * *": lambda day: workday_near(day, 1),
    "0 0 15W * *": lambda day: workday_near(day, 15),
    "0 0 28W 2 *": lambda day: day.month == 2 and workday_near(day, 28),
    "0 0 29W * *": lambda day: workday_near(day, 29),
    "0 0 30W * *": lambda day: workday_near(day, 30),
    "0 0 31W * *": lambda day: workday_near(day, 31),
    "0 0 1W,L,10-12 * *": lambda day: workday_near(day, 1) or day.day == day.length or 10 <= day.day <= 12,
    "0 0 * * 1-5": lambda day: 1 <= day.weekday <= 5,
    "0 0 * * 7": lambda day: day.weekday == 0,
    "0 0 * * FRI-MON": lambda day: day.weekday in {5, 6, 0, 1},
    "0 0 * * 1#1": lambda day: nth(day, 1, 1),
    "0 0 * * 0#3": lambda day: nth(day, 0, 3),
    "0 0 * * SAT#5": lambda day: nth(day, 6, 5),
    "0 0 * * 5L": lambda day: last(day, 5),
    "0 0 * * 0L": lambda day: last(day, 0),
    "0 0 * * MONL,3#2,4": lambda day: last(day, 1) or nth(day, 3, 2) or day.weekday == 4,
    # both day fields restricted: either is enough, with + both are needed
    "0 0 13 * FRI": lambda day: day.day == 13 or day.weekday == 5,
    "0 0 13 * +FRI": lambda day: day.day == 13 and day.weekday == 5,
    "0 0 L * 1#1": lambda day: day.day == day.length or nth(day, 1, 1),
    "0 0 L * +5L": lambda day: day.day == day.length and last(day, 5),
    "0 0 LW * +FRI": lambda day: workday_near(day, day.length) and day.weekday == 5,
    "0 0 1-7 1,7 +TUE": lambda day: day.month in {1, 7} and day.day <= 7 and day.weekday == 2,
    # a field that begins with * is no restriction in the sense of that rule: both are needed
    "0 0 */2 * MON": lambda day: day.day % 2 == 1 and day.weekday == 1,
    "0 0 1-7 * */3": lambda day: day.day <= 7 and day.weekday in {0, 3, 6},
    "0 0 ? * FRI": lambda day: day.weekday == 5,
    "0 0 13 * ?": lambda day: day.day == 13,
    # years
    "0 0 0 29 2 ? 2000-2100/4": lambda day: (day.month, day.day) == (2, 29) and day.year in range(2000, 2101, 4),
    "0 0 0 1 * ? 1970": lambda day: day.day == 1 and day.year == 1970,
    "0 0 0 ? * MON#1 2199,2200": lambda day: nth(day, 1, 1) and day.year in {2199, 2200},
}


@pytest.mark.parametrize("text", RULES)
def test_masks_agree_with_a_walk_over_every_month_from_1970_to_2200(text: str) -> None:
    days = days_of(text)
    walked = dict.fromkeys(range(-1, MONTHS), 0)
    for day in matching_days(text):
        seen = everything_seen()[day - FIRST_NUMBER]
        walked[(seen.year - 1970) * 12 + seen.month - 1] |= 1 << seen.day - 1
    different = [month for month, mask in walked.items() if days.mask(month) != mask]
    assert [f"{1970 + month // 12}-{month % 12 + 1:02}" for month in different] == []


@pytest.mark.parametrize("text", RULES)
def test_next_and_prev_day_agree_with_a_walk(text: str) -> None:
    """The day after a match leads to the next one, and back again."""
    days = days_of(text)
    matches: list[int] = []
    at = days.next_day(FIRST_NUMBER)
    while at is not None and len(matches) <= len(all_dates()):
        matches.append(at)
        at = days.next_day(at + 1)
    assert matches == matching_days(text)
    back: list[int] = []
    at = days.prev_day(number(all_dates()[-1]))
    while at is not None and len(back) <= len(all_dates()):
        back.append(at)
        at = days.prev_day(at - 1)
    assert back == matching_days(text)[::-1]


@pytest.mark.parametrize("text", ["0 0 L-2W * *", "0 0 * * SAT#5", "0 0 29 2 *", "0 0 13 * +FRI", "0 0 */2 * MON"])
def test_next_day_is_constant_up_to_its_result(text: str) -> None:
    days, draw = days_of(text), random.Random(text)
    for _ in range(60):
        start = draw.randrange(0, number(date(2190, 1, 1)))
        after = days.next_day(start)
        assert after is not None
        assert {days.next_day(day) for day in range(start, after + 1)} == {after}
        before = days.prev_day(start - 1)
        assert before is None or days.next_day(before + 1) == after
        assert not any(days.has(day) for day in range(start, after))


# ---------------------------------------------------------------- dates and their numbers


def test_days_from_civil_agrees_with_datetime_on_every_day_of_the_range() -> None:
    for day in all_dates():
        assert days_from_civil(day.year, day.month, day.day) == number(day)


@pytest.mark.parametrize(
    "day", [date.min, date(1, 3, 1), date(1600, 2, 29), date(1900, 3, 1), date(2400, 2, 29), date.max]
)
def test_days_from_civil_agrees_with_datetime_far_away(day: date) -> None:
    assert days_from_civil(day.year, day.month, day.day) == number(day)


def test_tables_have_the_month_of_every_day() -> None:
    for day in all_dates():
        month = MONTH_OF_DAY[number(day)]
        assert month == (day.year - 1970) * 12 + day.month - 1
        assert FIRST_DAY[month] == number(day.replace(day=1))


def test_range_ends_with_the_year_2200() -> None:
    assert number(date(2201, 1, 1)) * 86_400 == HORIZON


# ---------------------------------------------------------------- sets of days


def test_no_day_matches_beyond_the_tables() -> None:
    final = number(all_dates()[-1])
    assert EVERY_DAY.next_day(final) == final
    assert EVERY_DAY.next_day(final + 1) is None
    assert EVERY_DAY.next_day(10**9) is None
    assert EVERY_DAY.prev_day(-31) == -31
    assert EVERY_DAY.prev_day(-32) is None
    assert EVERY_DAY.prev_day(-(10**9)) is None


def test_without_removes_other_days() -> None:
    weekdays, last_days = days_of("0 0 * * 1-5"), days_of("0 0 L * *")
    thirteenth_of_2026 = days_of("0 0 0 13 * ? 2026")
    christmas = number(date(2026, 12, 25))
    left = weekdays.without((last_days, thirteenth_of_2026), frozenset({christmas}))
    for day in all_dates():
        expected = (
            day.weekday() < 5
            and day.day != calendar.monthrange(day.year, day.month)[1]
            and not (day.year == 2026 and day.day == 13)
            and number(day) != christmas
        )
        assert left.has(number(day)) == expected, day


def test_without_can_be_applied_twice() -> None:
    new_year, christmas = number(date(2026, 1, 1)), number(date(2026, 12, 25))
    left = EVERY_DAY.without((), frozenset({new_year})).without((), frozenset({christmas, new_year + 1}))
    assert [day for day in range(new_year - 1, christmas + 2) if not left.has(day)] == [
        new_year,
        new_year + 1,
        christmas,
    ]


def test_without_ignores_days_outside_the_tables() -> None:
    left = EVERY_DAY.without((), frozenset({-1000, 10**7}))
    assert all(left.mask(month) == EVERY_DAY.mask(month) for month in range(-1, MONTHS))


def test_without_every_day_is_empty_in_bounded_time() -> None:
    nothing = EVERY_DAY.without((EVERY_DAY,), frozenset())
    assert nothing.next_day(0) is None
    assert nothing.prev_day(10_000) is None


def test_equal_selections_share_one_table() -> None:
    arguments = (1, (), ALL_WEEKDAYS, (), ALL_MONTHS, ALL_YEARS, False)
    assert select_days(*arguments) is select_days(*arguments)
    every = select_days((1 << EVERY_DATE) - 1, (), ALL_WEEKDAYS, (), ALL_MONTHS, ALL_YEARS, False)
    assert every is EVERY_DAY
    assert every.every_day
    assert not select_days(*arguments).every_day
