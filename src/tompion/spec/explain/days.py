"""Describes days in English: days of the month, weekdays, months and years, and how they restrict each other.

Cron strings, calendars and recurrence rules are all described here. Each has days of the month and weekdays as nouns
("the 15th", "the third Friday"). This module combines them, with OR or AND, and with their months.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tompion.spec.calendar.cron import CronRule
from tompion.spec.calendar.days import LAST_YEAR, DayRule
from tompion.spec.calendar.fields import MONTH_NAMES, WEEKDAY_NAMES, Item
from tompion.spec.explain.times import CHOSEN, Part, part_of
from tompion.spec.explain.words import MAX_LISTED, join_words, nth, numbers, ordinal, progression, runs

_MONTHS = tuple(name.capitalize() for name in MONTH_NAMES)
_WEEKDAYS = tuple(name.capitalize() for name in WEEKDAY_NAMES)
_WORKDAY = "the weekday (Monday to Friday) nearest"
_WORKDAY_WITHIN = "the weekday (Monday to Friday, in the same month) nearest"


class Dates(NamedTuple):
    """Days of a month as nouns that "of the month" can follow.

    ``single``: it is one day a month, and ``day`` its number if it has one. ``chosen``: it depends on the schedule's
    id.
    """

    nouns: tuple[str, ...]
    single: bool = False
    day: int | None = None
    chosen: bool = False
    of: str = ""  # what they are days of, if not of the month


class Weekdays(NamedTuple):
    """Weekdays: plain ones (0 for Sunday) and numbered ones as nouns that "of the month" can follow."""

    values: tuple[int, ...] = ()
    nouns: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    of: str = ""  # what the numbered ones are counted in, if not in the month


class Restriction(NamedTuple):
    """The matching days. ``None`` stands for all of them. With ``either``, a match of dates or weekdays is enough."""

    dates: Dates | None
    weekdays: Weekdays | None
    months: Part
    years: Part
    either: bool = False

    @property
    def every_day(self) -> bool:
        """True if neither dates nor weekdays restrict anything."""
        return self.dates is None and self.weekdays is None

    @property
    def nothing(self) -> bool:
        """True if every day of every year matches."""
        return self.every_day and self.months.full and self.years.full


def restriction_of(rule: CronRule) -> Restriction:
    """Return the restriction by the day fields of a rule."""
    month_day, weekday = part_of(rule.day_of_month), part_of(rule.day_of_week)
    dates = None if month_day.full else _dates(month_day, rule.day_of_month.rules)
    weekdays = None if weekday.full else _weekdays(weekday, rule.day_of_week.rules)
    if rule.either_day and (dates is None or weekdays is None):
        dates = weekdays = None
    return Restriction(dates, weekdays, part_of(rule.month), part_of(rule.year), rule.either_day)


def describe_days(days: Restriction) -> list[str]:
    """Return the clauses about matching days, an empty list if all days match."""
    months, years = _in_months(days.months), _in_years(days.years)
    if days.either and days.dates and days.weekdays:
        both = f"{_on_dates(days.dates, 'of the month')}{',' * days.dates.chosen} or {_on_a(days.weekdays)}"
        return [*_together(months, years, days), both]
    if days.dates is not None:
        return _with_dates(days, days.dates)
    if days.weekdays is None:
        return _together(months, years, days)
    if days.weekdays.nouns and not days.weekdays.values and not days.weekdays.choices and not days.weekdays.of:
        named = f"on {join_words(days.weekdays.nouns)} {_of_months(days.months)}"
        return [named, *_chosen_months(days.months), *years]
    return [_on_weekdays(days.weekdays), *_together(months, years, days)]


def _with_dates(days: Restriction, dates: Dates) -> list[str]:
    """Describe days of the month, with months, years and weekdays."""
    months, years = days.months, _in_years(days.years)
    if dates.of:
        text = _on_dates(dates, dates.of)
        rest = _together(_in_months(months), years, days)
    elif dates.day is not None and len(months.values) == 1 and not months.choices:
        text = f"on {dates.day} {_MONTHS[months.values[0] - 1]}"
        if len(days.years.values) == 1:
            text, years = f"{text} {days.years.values[0]}", []
        rest = years
    else:
        text = _on_dates(dates, _of_months(months))
        rest = [*_chosen_months(months), *years]
    if days.weekdays is not None:
        if dates.single and (months.full or len(months.values) <= 1):
            text += f" if it is {_a(days.weekdays)}"
        else:
            text += f", but only {_on_weekdays(days.weekdays)}"
    return [text, *rest]


# --- days of the month ------------------------------------------------------------------------------------------


def _dates(part: Part, rules: Sequence[DayRule]) -> Dates:
    nouns = [*(_rule_noun(rule) for rule in rules), *(_chosen_day(item) for item in part.choices)]
    return dates_of(part.values, nouns, chosen=bool(part.choices))


def dates_of(values: Sequence[int], nouns: Sequence[str], *, chosen: bool = False) -> Dates:
    """Return days of the month that are partly numbers, partly nouns."""
    single = len(values) + len(nouns) == 1
    plain = [f"the {ordinal(value)}" for value in values]
    if len(plain) > MAX_LISTED or (plain and not nouns):
        plain = [f"the {numbers(values, ordinal)}"]
    return Dates((*plain, *nouns), single, values[0] if single and values else None, chosen)


def _rule_noun(rule: DayRule) -> str:
    """Return the noun for ``L``, ``L-3``, ``LW``, ``L-3W`` or ``15W``."""
    if rule.kind == "workday":
        edge = rule.first == 1 or rule.first >= 28
        return f"{_WORKDAY_WITHIN if edge else _WORKDAY} the {ordinal(rule.first)}"
    if rule.kind == "last_workday":
        if not rule.first:
            return "the last weekday (Monday to Friday)"
        edge = rule.first >= 27
        return f"{_WORKDAY_WITHIN if edge else _WORKDAY} {_before_last(rule.first)}"
    return _before_last(rule.first) if rule.first else "the last day"


def _before_last(days: int) -> str:
    return "the day before the last day" if days == 1 else f"the {ordinal(days)} day before the last day"


def _chosen_day(item: Item) -> str:
    if item.step:
        limit = "" if item.last == 31 else f" up to the {ordinal(item.last)},"
        first, last = ordinal(item.first), ordinal(item.first + item.step - 1)
        return f"every {ordinal(item.step)} day{limit} beginning with one from the {first} to the {last}"
    return f"a day from the {ordinal(item.first)} to the {ordinal(item.last)}"


def _on_dates(dates: Dates, of: str) -> str:
    return f"on {join_words(dates.nouns)} {of}{f', {CHOSEN}' if dates.chosen else ''}"


# --- weekdays ---------------------------------------------------------------------------------------------------


def _weekdays(part: Part, rules: Sequence[DayRule]) -> Weekdays:
    nouns = [f"the {nth(rule.second) if rule.kind == 'nth' else 'last'} {_WEEKDAYS[rule.first]}" for rule in rules]
    choices = []
    for item in part.choices:
        days = [_WEEKDAYS[value % 7] for value in range(item.first, item.last + 1)]
        if item.step:
            begin = join_words(days[: item.step], "or")
            choices.append(f"every {ordinal(item.step)} day of the week from {begin} to {days[-1]}, {CHOSEN}")
        else:
            within = "" if len(days) == 7 else f" from {days[0]} to {days[-1]}"
            choices.append(f"a day of the week{within} {CHOSEN}")
    return Weekdays(part.values, tuple(nouns), tuple(choices))


def _week_run(values: Sequence[int]) -> tuple[str, str] | None:
    """Return the first and the last day of three or more neighbouring days."""
    ranges = runs(values, 7)
    if len(ranges) != 1 or ranges[0][1] - ranges[0][0] < 2:
        return None
    return _WEEKDAYS[ranges[0][0]], _WEEKDAYS[ranges[0][1] % 7]


def _from_monday(values: Sequence[int]) -> list[str]:
    return [_WEEKDAYS[value] for value in sorted(values, key=lambda value: (value + 6) % 7)]


def _on_weekdays(days: Weekdays) -> str:
    """Return ``Monday to Friday``, ``on Mondays and Fridays``, ``on the third Friday of the month``."""
    words = []
    if days.values:
        run = _week_run(days.values)
        listed = join_words(f"{day}s" for day in _from_monday(days.values))
        words.append(f"{run[0]} to {run[1]}" if run else f"on {listed}")
    if days.nouns:
        words.append(f"on {join_words(days.nouns)} {days.of or 'of the month'}")
    return join_words([*words, *(f"on {choice}" for choice in days.choices)])


def _on_a(days: Weekdays) -> str:
    """Return ``on a Friday``, ``on a Monday or Friday``, ``on any day from Monday to Friday``."""
    return f"on {_a(days).replace('a day from', 'any day from')}"


def _a(days: Weekdays) -> str:
    """Return ``a Friday``, ``a Monday or Friday``, ``a day from Monday to Friday``, ``the third Friday …``."""
    words = []
    if days.values:
        run = _week_run(days.values)
        words.append(f"a day from {run[0]} to {run[1]}" if run else f"a {join_words(_from_monday(days.values), 'or')}")
    if days.nouns:
        words.append(f"{join_words(days.nouns, 'or')} {days.of or 'of the month'}")
    return join_words([*words, *days.choices], "or")


# --- months and years -------------------------------------------------------------------------------------------


def _month_run(values: Sequence[int]) -> tuple[str, str] | None:
    ranges = runs([value - 1 for value in values], 12)
    if len(ranges) != 1 or ranges[0][1] - ranges[0][0] < 2:
        return None
    return _MONTHS[ranges[0][0]], _MONTHS[ranges[0][1] % 12]


def _of_months(months: Part) -> str:
    """Return ``of the month``, ``of January and July`` or ``of each month from March to October``."""
    if months.full or months.choices:
        return "of the month"
    run = _month_run(months.values)
    if run:
        return f"of each month from {run[0]} to {run[1]}"
    return f"of {join_words(_MONTHS[value - 1] for value in months.values)}"


def _in_months(months: Part) -> list[str]:
    """Return ``in January and July`` or ``from March to October``, an empty list for all months."""
    if months.full:
        return []
    if months.choices:
        return _chosen_months(months)
    run = _month_run(months.values)
    if run:
        return [f"from {run[0]} to {run[1]}"]
    return [f"in {join_words(_MONTHS[value - 1] for value in months.values)}"]


def _chosen_months(months: Part) -> list[str]:
    """Describe months that ``H`` chooses."""
    if not months.choices:
        return []
    words = [_MONTHS[value - 1] for value in months.values]
    for item in months.choices:
        first, last = _MONTHS[item.first - 1], _MONTHS[item.last - 1]
        if item.step:
            begin = join_words([_MONTHS[item.first - 1 + shift] for shift in range(item.step)], "or")
            words.append(f"every {ordinal(item.step)} month from {begin} to {last}, {CHOSEN}")
        else:
            within = "" if (item.first, item.last) == (1, 12) else f" from {first} to {last}"
            words.append(f"a month{within} {CHOSEN}")
    return [f"in {join_words(words)}"]


def _in_years(years: Part) -> list[str]:
    """Return ``in 2026 and 2028``, ``in the years 2026 to 2030`` or ``from 2026 on``, an empty list for all years."""
    if years.full:
        return []
    values = years.values
    if len(values) > 2 and progression(values) == 1:
        return [f"from {values[0]} on" if values[-1] == LAST_YEAR else f"in the years {values[0]} to {values[-1]}"]
    listed = numbers(values)
    return [f"in the years {listed}" if " to " in listed else f"in {listed}"]


def _together(months: list[str], years: list[str], days: Restriction) -> list[str]:
    """Return month and year as one clause where English has one: ``in January 2026``."""
    if months and len(days.years.values) == 1 and not days.months.choices:
        return [f"{months[0]} {days.years.values[0]}"]
    return [*months, *years]
