"""Random cron expressions as users write them, and instants to compute their ticks from.

A peer's :class:`Syntax` limits the draws to the features that it supports. The weights follow real crontabs: mostly
plain values, ``*``, steps and weekday ranges, many hours of the night, and sometimes everything else.
``TOMPION_TEST_SEED`` draws other cases.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache

from tests.oracle.places import transitions
from tests.oracle.walk import DAY, HOUR

MONTHS = "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC".split()
WEEKDAYS = "SUN MON TUE WED THU FRI SAT".split()
SHORTHANDS = "@yearly @annually @monthly @weekly @daily @midnight @hourly".split()

ZONES: dict[str, tuple[int, ...]] = {
    "UTC": (2025,),
    "America/New_York": (2006, 2025, 2026),
    "America/Los_Angeles": (2025,),
    "Europe/Berlin": (2025, 2026, 2045),
    "Europe/London": (2025, 2026),
    "Europe/Dublin": (2025, 2026),  # winter time is the exception there: its DST is negative
    "Australia/Sydney": (2025, 2026),
    "Australia/Lord_Howe": (2008, 2025, 2026),  # half an hour
    "Pacific/Chatham": (2025, 2026),  # 12:45 ahead, at 02:45
    "America/Sao_Paulo": (2017, 2018),  # midnight does not exist
    "Asia/Beirut": (2022, 2025),  # the same, and 23:xx happens twice
    "Africa/Cairo": (2014, 2023, 2025),
    "America/St_Johns": (2006, 2010, 2025),  # at 00:01 until 2011
    "America/Nuuk": (2024, 2025),  # 23:00 to midnight is lost in 2024
    "Antarctica/Troll": (2024, 2025),  # two hours
    "Pacific/Apia": (2011,),  # no 30 December
    "Asia/Kathmandu": (1986,),  # a quarter of an hour
    "Asia/Kolkata": (2025,),
}
"""Zones, each with years that have unusual clock changes."""

FIRST_INSTANT = int(datetime(2000, 1, 1, tzinfo=UTC).timestamp())
LAST_INSTANT = int(datetime(2040, 1, 1, tzinfo=UTC).timestamp())
"""Range of the instants that are not near a transition."""


@dataclass(frozen=True)
class Syntax:
    """The features that a peer supports beyond five fields of numbers, names, lists, ranges and steps."""

    seconds: bool = False  # a sixth field, in front
    years: bool = False  # a seventh field, at the end
    wraps: bool = False  # FRI-MON, 22-2
    open_steps: bool = False  # 5/15
    last_day: bool = False  # L
    before_last_day: bool = False  # L-3
    last_workday: bool = False  # LW
    nearest_workday: bool = False  # 15W
    nth_weekday: bool = False  # 5#3, FRI#3
    last_weekday: bool = False  # 5L
    named_last_weekday: bool = False  # FRIL
    question: bool = False  # ?
    together: bool = False  # + before the weekday: both day fields must match
    shorthands: bool = False  # @daily


@dataclass(frozen=True)
class Place:
    """A zone, and an instant to start from."""

    zone: str
    instant: int


def expressions(rng: random.Random, syntax: Syntax, count: int) -> list[str]:
    """Return a number of different expressions."""
    texts: dict[str, None] = {}
    while len(texts) < count:
        texts[draw_expression(rng, syntax)] = None
    return list(texts)


def draw_expression(rng: random.Random, syntax: Syntax) -> str:
    """Return an expression with the fields seconds, minute, hour, day, month, weekday, year."""
    if syntax.shorthands and rng.random() < 0.003:
        return rng.choice(SHORTHANDS)
    minute, hour = draw_minute(rng, syntax), draw_hour(rng, syntax)
    days = draw_days(rng, syntax)
    month = draw_month(rng, syntax) if rng.random() < 0.3 else "*"
    fields = [minute, hour, days[0], month, days[1]]
    if syntax.seconds and rng.random() < 0.2:
        fields.insert(0, draw_second(rng, syntax))
        if syntax.years and rng.random() < 0.3:
            fields.append(draw_year(rng))
    return " ".join(fields)


# ---------------------------------------------------------------- fields


def pick(rng: random.Random, weighted: list[tuple[int, str]]) -> str:
    """Return one of the texts, drawn by weight."""
    return rng.choices([text for _, text in weighted], [weight for weight, _ in weighted])[0]


def any_case(rng: random.Random, name: str) -> str:
    """Return a name in upper, lower or title case, mostly in upper case."""
    return rng.choice((name, name, name.lower(), name.capitalize()))


def numbers(rng: random.Random, low: int, high: int, count: int) -> str:
    """Return a list of different numbers in order."""
    return ",".join(str(number) for number in sorted(rng.sample(range(low, high + 1), count)))


def span(rng: random.Random, low: int, high: int) -> str:
    """Return a range of at least two values."""
    first = rng.randrange(low, high)
    return f"{first}-{rng.randrange(first + 1, high + 1)}"


def wrapped_span(rng: random.Random, low: int, high: int) -> str:
    """Return a range that wraps around the end of the field."""
    first = rng.randrange(low + 1, high + 1)
    return f"{first}-{rng.randrange(low, first)}"


def draw_second(rng: random.Random, syntax: Syntax) -> str:
    """Return a seconds field, mostly 0."""
    forms = [
        (6, "0"),
        (3, "30"),
        (2, numbers(rng, 0, 59, 1)),
        (1, "*"),
        (2, "*/10"),
        (2, "*/30"),
        (1, "0,30"),
        (1, "5-10"),
    ]
    return pick(rng, [*forms, *([(1, "10/20")] if syntax.open_steps else [])])


def draw_minute(rng: random.Random, syntax: Syntax) -> str:
    """Return a minute field, mostly on the hour or every few minutes."""
    step = rng.choice((2, 3, 4, 5, 5, 6, 7, 10, 10, 12, 15, 15, 15, 20, 25, 30, 30, 45))
    forms = [
        (24, "0"),
        (8, "30"),
        (4, "15"),
        (10, numbers(rng, 0, 59, 1)),
        (5, "*"),
        (12, f"*/{step}"),
        (4, "0,30"),
        (3, numbers(rng, 0, 59, rng.randrange(2, 5))),
        (2, span(rng, 0, 59)),
        (2, f"{span(rng, 0, 59)}/{step}"),
        (1, f"0-59/{step}"),
        (1, f"{numbers(rng, 0, 29, 1)},{span(rng, 30, 59)}"),
        (1, f"{numbers(rng, 0, 59, 1)},*/{step}"),
    ]
    if syntax.open_steps:
        forms += [(2, f"{rng.randrange(30)}/{step}"), (2, f"0/{step}")]
    if syntax.wraps:
        forms += [(1, wrapped_span(rng, 0, 59))]
    return pick(rng, forms)


def draw_hour(rng: random.Random, syntax: Syntax) -> str:
    """Return an hour field, mostly at night, when clocks change and most jobs run."""
    step = rng.choice((2, 2, 3, 4, 5, 6, 8, 12))
    forms = [
        (14, "*"),
        (24, str(rng.randrange(4))),
        (8, numbers(rng, 4, 23, 1)),
        (7, f"*/{step}"),
        (3, "9-17"),
        (2, "0-3"),
        (3, span(rng, 0, 23)),
        (2, f"{span(rng, 0, 23)}/{step}"),
        (3, numbers(rng, 0, 3, 2)),
        (3, numbers(rng, 0, 23, rng.randrange(2, 5))),
        (1, f"{numbers(rng, 0, 11, 1)},{span(rng, 12, 23)}"),
    ]
    if syntax.open_steps:
        forms += [(2, f"{rng.randrange(12)}/{step}")]
    if syntax.wraps:
        forms += [(2, "22-2"), (1, wrapped_span(rng, 0, 23))]
    return pick(rng, forms)


def draw_days(rng: random.Random, syntax: Syntax) -> tuple[str, str]:
    """Return the day of month and the day of week, mostly only one of them restricted."""
    any_day = rng.choice(("*", "*", "*", "?")) if syntax.question else "*"
    kind = rng.choices(("neither", "date", "weekday", "both"), (10, 7, 9, 6))[0]
    if kind == "both" and rng.random() < 0.9:  # users who restrict both fields use plain values
        syntax = replace(syntax, last_day=False, nearest_workday=False, nth_weekday=False, last_weekday=False)
    month_day = draw_month_day(rng, syntax) if kind in ("date", "both") else any_day
    week_day = draw_week_day(rng, syntax) if kind in ("weekday", "both") else rng.choice(("*", any_day))
    if kind == "both" and syntax.together and rng.random() < 0.3:
        week_day = f"+{week_day}"
    return month_day, week_day


def draw_month_day(rng: random.Random, syntax: Syntax) -> str:
    """Return a day-of-month field."""
    forms = [
        (10, "1"),
        (5, "15"),
        (4, "1,15"),
        (6, numbers(rng, 1, 31, 1)),
        (3, numbers(rng, 28, 31, 1)),
        (2, numbers(rng, 1, 31, rng.randrange(2, 5))),
        (3, span(rng, 1, 31)),
        (2, "1-7"),
        (3, f"*/{rng.choice((2, 3, 5, 7, 10, 15))}"),
        (1, f"{span(rng, 1, 31)}/{rng.choice((2, 3))}"),
        (1, "1-31"),
    ]
    if syntax.open_steps:
        forms += [(2, f"{rng.randrange(1, 12)}/{rng.choice((2, 5, 7, 10))}")]
    if syntax.wraps:
        forms += [(1, wrapped_span(rng, 1, 31))]
    if syntax.last_day:
        forms += [(6, "L"), (1, f"{numbers(rng, 1, 28, 1)},L")]
    if syntax.before_last_day:
        forms += [(2, f"L-{rng.randrange(1, 10)}")]
    if syntax.last_workday:
        forms += [(3, "LW")]
    if syntax.nearest_workday:
        forms += [(3, f"{rng.choice((1, 15, rng.randrange(1, 32)))}W")]
    return pick(rng, forms)


def draw_month(rng: random.Random, syntax: Syntax) -> str:
    """Return months by number or by name."""
    first = rng.randrange(11)
    last = rng.randrange(first + 1, 12)
    forms = [
        (6, numbers(rng, 1, 12, 1)),
        (6, any_case(rng, rng.choice(MONTHS))),
        (3, f"*/{rng.choice((2, 3, 4, 6))}"),
        (3, rng.choice(("1,4,7,10", "3,6,9,12", "JAN,APR,JUL,OCT"))),
        (2, f"{any_case(rng, MONTHS[first])}-{any_case(rng, MONTHS[last])}"),
        (2, span(rng, 1, 12)),
        (1, f"{span(rng, 1, 12)}/2"),
        (1, f"{numbers(rng, 1, 4, 1)},{span(rng, 6, 12)}"),
    ]
    if syntax.open_steps:
        forms += [(1, f"{rng.randrange(1, 6)}/3")]
    if syntax.wraps:
        forms += [(2, f"{MONTHS[last]}-{MONTHS[first]}"), (1, wrapped_span(rng, 1, 12))]
    return pick(rng, forms)


def draw_week_day(rng: random.Random, syntax: Syntax) -> str:
    """Return weekdays by number or by name. 0 and 7 are both Sunday."""
    first = rng.randrange(6)
    last = rng.randrange(first + 1, 7)
    day = rng.randrange(7)
    written = rng.choice((str(day), any_case(rng, WEEKDAYS[day])))
    forms = [
        (8, "1-5"),
        (8, any_case(rng, "MON-FRI")),
        (6, str(rng.randrange(8))),
        (6, any_case(rng, WEEKDAYS[day])),
        (3, rng.choice(("0,6", "6,7", "SAT,SUN", "SUN,SAT"))),
        (3, rng.choice(("1,3,5", "MON,WED,FRI", "2,4", "Tue,Thu"))),
        (2, f"{WEEKDAYS[first]}-{WEEKDAYS[last]}"),
        (2, f"{first}-{last}"),
        (1, f"{rng.randrange(1, 6)}-7"),
        (1, f"*/{rng.choice((2, 3))}"),
        (1, "1-5/2"),
        (1, rng.choice(("0-6", "1-7"))),
    ]
    if syntax.open_steps:
        forms += [(1, f"{rng.randrange(1, 5)}/2")]
    if syntax.wraps:
        forms += [(2, f"{WEEKDAYS[last]}-{WEEKDAYS[first]}"), (1, wrapped_span(rng, 0, 6))]
    if syntax.nth_weekday:
        forms += [(5, f"{written}#{rng.randrange(1, 6)}"), (1, f"{day}#1,{day}#3")]
    if syntax.last_weekday:
        forms += [(4, f"{day}L")]
    if syntax.named_last_weekday:
        forms += [(2, f"{WEEKDAYS[day]}L")]
    return pick(rng, forms)


def draw_year(rng: random.Random) -> str:
    """Return years near those of the drawn instants."""
    return pick(
        rng, [(3, str(rng.randrange(2020, 2032))), (2, "2024-2030"), (1, "*"), (1, "2020-2040/2"), (1, "2025,2027")]
    )


# ---------------------------------------------------------------- places


@cache
def all_transitions() -> tuple[Place, ...]:
    """Return every change of an offset in the years of `ZONES`."""
    return tuple(
        Place(zone, instant) for zone, years in ZONES.items() for year in years for instant in transitions(zone, year)
    )


def draw_places(rng: random.Random, count: int, zones: frozenset[str] = frozenset(ZONES)) -> Iterator[Place]:
    """Yield a number of places, most of them close to a transition."""
    changes = [place for place in all_transitions() if place.zone in zones]
    names = sorted(zones)
    for _ in range(count):
        if changes and rng.random() < 0.7:
            change = rng.choice(changes)
            nudge = rng.choice(
                (rng.randrange(-30 * HOUR, 6 * HOUR), rng.randrange(-4 * HOUR, 4 * HOUR), rng.randrange(-2, 3))
            )
            yield Place(change.zone, round_off(rng, change.instant + nudge))
        else:
            yield Place(rng.choice(names), round_off(rng, rng.randrange(FIRST_INSTANT, LAST_INSTANT - DAY)))


def round_off(rng: random.Random, instant: int) -> int:
    """Return an instant rounded down, because most queries are at the ticks of a schedule."""
    return instant - instant % rng.choice((1, 60, 60, 900, 1800, HOUR))
