"""Where to look: a zone and an instant around which something happens.

Transitions are found the slow way, by comparing the offsets that ``zoneinfo`` gives from one hour to the
next and then from one second to the next.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache

from tests.oracle.walk import DAY, HOUR, RANGE_END, Walk, all_zone_names, load_zone, offset_at, walk_days, walk_seconds

ANY_YEAR = range(1970, 2201)
TABULATED_NO_MORE = (2038, 2039, 2050, 2100, 2190, 2200)

REQUIRED = {
    "America/New_York": (1974, 1987, 2006, 2007, 2025, 2026),
    "Europe/Berlin": (1980, 1996, 2025, 2026),
    "Europe/London": (1971, 1995, 2025, 2026),
    "Europe/Dublin": (1971, 2018, 2025, 2026),
    "Australia/Lord_Howe": (1981, 1985, 2000, 2008, 2025, 2026),
    "Pacific/Chatham": (1975, 2007, 2025, 2026),
    "America/Sao_Paulo": (2018,),
    "Asia/Beirut": (1993, 2022, 2023, 2025),
    "Africa/Cairo": (2010, 2014, 2023, 2025),
    "Africa/Casablanca": (2008, 2012, 2018, 2025, 2026),
    "Antarctica/Troll": (2005, 2024, 2025, 2026),
    "Pacific/Apia": (2011,),
    "Asia/Kathmandu": (1986,),
    "Pacific/Kiritimati": (1994, 1995),
    "America/Nuuk": (2022, 2023, 2024, 2025),
    "America/Scoresbysund": (1981, 2023, 2024, 2025),
    "Asia/Gaza": (2011, 2012, 2014, 2021, 2025, 2060),
    "Pacific/Easter": (1982, 2014, 2019, 2025),
    "America/Santiago": (1990, 2014, 2019, 2025),
    "Antarctica/Casey": (2009, 2010, 2016, 2018, 2020, 2023),
    "Europe/Istanbul": (1985, 2011, 2014, 2016),
    "Asia/Pyongyang": (2015, 2018),
    "UTC": (1970, 2000, 2025, 2100, 2200),
}
"""Zones that every run visits, each with years in which its clocks did something worth seeing."""

LOST_A_DAY = ("Pacific/Apia", "Pacific/Kiritimati")
"""Of these the day is wanted that they left out when they crossed the date line."""

MORE = {
    "Africa/Monrovia": (1972,),  # a gap of 44 min 30 s
    "America/Caracas": (2007, 2016),
    "America/St_Johns": (1987, 1988, 2006, 2010),  # one minute past midnight, 1988 by two hours
    "America/Sao_Paulo": (1985, 2017, 2019),
    "Asia/Amman": (2012, 2013, 2022),
    "Asia/Colombo": (1996, 2006),
    "Asia/Kolkata": (2025,),
    "Asia/Tehran": (1977, 2008, 2022),
    "Australia/Adelaide": (2008, 2025),
    "Australia/Sydney": (2000, 2025),
    "Europe/Lisbon": (1992, 1996, 2025),
    "Europe/Moscow": (1981, 1991, 2010, 2011, 2014),
    "Europe/Volgograd": (2018, 2020),
    "Pacific/Apia": (2010, 2012, 2021),
    "Pacific/Enderbury": (1994, 1995),
    "Pacific/Fakaofo": (2011,),
    "Pacific/Kwajalein": (1993,),
    "Pacific/Norfolk": (2015, 2019, 2025),
    "Pacific/Tongatapu": (1999, 2016, 2017),
}

CALM_DAYS = (
    date(1970, 1, 1),
    date(1970, 1, 2),
    date(1972, 2, 29),
    date(1999, 12, 31),
    date(2000, 2, 29),
    date(2024, 2, 29),
    date(2025, 2, 28),
    date(2025, 12, 31),
    date(2026, 4, 30),
    date(2038, 1, 19),
    date(2100, 2, 28),
    date(2100, 3, 1),
    date(2196, 2, 29),
    date(2200, 12, 30),
    date(2200, 12, 31),
)
"""Days that are remarkable for the calendar: leap days, ends of months and years, both ends of the range."""

MIDDAY_ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "America/St_Johns")
"""Zones which have shown every wall time from 11:00 to 14:00 exactly once on every day since 1970."""


@dataclass(frozen=True)
class Place:
    """A zone, and the instant in the middle of what is to be walked there."""

    zone_name: str
    centre: int


def required_place(rng: random.Random, number: int) -> Place:
    """The required zones in an endless cycle, gaps and overlaps in turn."""
    zone_name, years = list(REQUIRED.items())[number % len(REQUIRED)]
    if zone_name in LOST_A_DAY:
        return place_in(rng, zone_name, years, lambda change: change == DAY)
    if number % 2 == 0:
        return place_in(rng, zone_name, years, lambda change: change > 0)
    return place_in(rng, zone_name, years, lambda change: change < 0)


def late_place(rng: random.Random) -> Place:
    """After the last tabulated transition, where only the rule at the end of the zone file is left."""
    year = rng.choice(TABULATED_NO_MORE)
    shuffled = rng.sample(list(REQUIRED), len(REQUIRED))
    return place_in(rng, next(name for name in shuffled if transitions(name, year)), [year])


def any_place(rng: random.Random) -> Place:
    """A well-known place, or any zone in any year."""
    if rng.random() < 0.5:
        return place_in(rng, *rng.choice([*REQUIRED.items(), *MORE.items()]))
    return place_in(rng, rng.choice(all_zone_names()), rng.sample(ANY_YEAR, 3))


def calm_place(rng: random.Random) -> Place:
    return Place(rng.choice(list(REQUIRED)), instant_of(rng.choice(CALM_DAYS)) + rng.randrange(DAY))


def place_in(rng: random.Random, zone_name: str, years: Sequence[int], wanted: Callable[[int], bool] = bool) -> Place:
    """A transition of the zone in one of the years, of the wanted kind if possible, otherwise any time."""
    zone = load_zone(zone_name)
    for wish in (wanted, bool):
        for year in rng.sample(years, len(years)):
            instants = [t for t in transitions(zone_name, year) if wish(offset_at(t, zone) - offset_at(t - 1, zone))]
            if instants:
                return Place(zone_name, rng.choice(instants))
    return Place(zone_name, instant_of(date(rng.choice(years), 1, 1)) + rng.randrange(365 * DAY))


def instant_of(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp())


@cache
def transitions(zone_name: str, year: int) -> list[int]:
    """The instants of a year (a day more on both sides) at which the zone's offset changes."""
    zone = load_zone(zone_name)
    step = HOUR
    instants = []
    for instant in range(instant_of(date(year, 1, 1)) - DAY, instant_of(date(year, 12, 31)) + 2 * DAY, step):
        if offset_at(instant, zone) != offset_at(instant + step, zone):
            seconds = range(instant + 1, instant + step + 1)
            instants += [second for second in seconds if offset_at(second, zone) != offset_at(second - 1, zone)]
    return instants


def walk_around(place: Place, rng: random.Random) -> Walk:
    """Walk about two days with the place somewhere near the middle."""
    before = rng.randrange(18 * HOUR, 30 * HOUR)
    after = rng.randrange(18 * HOUR, 30 * HOUR)
    return walk_seconds(place.zone_name, place.centre - before, place.centre + after)


def walk_years(rng: random.Random) -> Walk:
    """Walk every day of some years, sometimes of all years, looking at one to three times of the day."""
    zone_name = rng.choice(MIDDAY_ZONES)
    hours = range(24) if zone_name == "UTC" else range(11, 14)
    seconds_of_day = [rng.choice(hours) * HOUR + rng.choice((0, 30, rng.randrange(60))) * 60 for _ in range(3)]
    if rng.random() < 0.1:
        return walk_days("UTC", date(1969, 12, 31), date(2201, 1, 2), seconds_of_day[:1])
    first_day = date(1970, 1, 1) + timedelta(days=rng.randrange(RANGE_END // DAY - 400))
    years = rng.choice((1, 2, 3, 4, 6, 9))
    last_day = min(first_day + timedelta(days=365 * years), date(2200, 12, 31))
    return walk_days(zone_name, first_day, last_day, set(seconds_of_day[: rng.randrange(1, 4)]))
