"""Recurrence rules compared with dateutil, with the RFC's examples, and with brute force where dateutil is wrong.

dateutil walks from DTSTART, so each drawn rule is compared over the first years after its DTSTART only. It is not used
where it departs from the RFC:

* BYWEEKNO at the edges of a year: it uses the wrong year's number of weeks, and does not support -52 and -53 there
* BYSETPOS in the week of DTSTART: it counts from DTSTART instead of from the beginning of the week
* BYDAY with numbered and plain weekdays together: it requires a day to be both
* UNTIL with a date: it ends at the first second of that day
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from itertools import islice
from types import SimpleNamespace

import dateutil.rrule
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tompion.errors import InvalidSpec
from tompion.spec.calendar.days import DAY, HORIZON, MONTHS
from tompion.spec.rrule import grid
from tompion.spec.rrule.compiler import CEILING, parse_rrule
from tompion.spec.rrule.days import RuleDays

EPOCH = datetime(1970, 1, 1)
SEED = 5545
FREQUENCIES = ("YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY", "SECONDLY")
SUB_DAILY = FREQUENCIES[4:]
WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
# How many rules are drawn, for how many years, and for how many of their times: dateutil looks at every single period.
RULES = dict(zip(FREQUENCIES, (400, 400, 400, 400, 300, 200, 80), strict=True))
YEARS = dict(zip(FREQUENCIES, (30, 10, 5, 3, 1, 1, 0), strict=True))
MAX_OCCURRENCES = dict(zip(FREQUENCIES, (25, 25, 25, 25, 6, 6, 3), strict=True))


def wall(text: str | datetime) -> int:
    moment = datetime.fromisoformat(text) if isinstance(text, str) else text
    return (moment - EPOCH) // timedelta(seconds=1)


def text_of(local: int | None) -> str | None:
    return None if local is None else (EPOCH + timedelta(seconds=local)).isoformat()


def walk(step: Callable[[int], int | None], at: int) -> Iterator[int]:
    local = step(at)
    while local is not None:
        yield local
        local = step(local)


def occurrences(text: str, start: str, count: int) -> list[str | None]:
    rule = parse_rrule(text, start=wall(start))
    return [text_of(local) for local in islice(walk(rule.next_local, wall(start) - 1), count)]


# --- rules drawn at random --------------------------------------------------------------------------------------


def numbers(draw: random.Random, pool: list[int], most: int) -> str:
    return ",".join(str(number) for number in draw.sample(pool, draw.randint(1, min(most, len(pool)))))


def both_ways(low: int, high: int) -> list[int]:
    return [*range(-high, -low + 1), *range(low, high + 1)]


def draw_weekdays(draw: random.Random, frequency: str, parts: list[str]) -> str:
    if frequency in {"YEARLY", "MONTHLY"} and not any("BYWEEKNO" in part for part in parts) and draw.random() < 0.5:
        in_year = frequency == "YEARLY" and not any("BYMONTH=" in part for part in parts)
        most = 53 if in_year else 5
        return ",".join(f"{draw.choice(both_ways(1, most))}{draw.choice(WEEKDAYS)}" for _ in range(draw.randint(1, 3)))
    return ",".join(draw.sample(WEEKDAYS, draw.randint(1, 5)))


def draw_rule(draw: random.Random, frequency: str) -> str:
    """Return a rule that the RFC allows and dateutil gets right."""
    parts = [f"FREQ={frequency}"]
    if draw.random() < 0.6:
        parts.append(f"INTERVAL={draw.choice([1, 2, 3, 4, 5, 6, 7, 10, 12, 13, 14, 15, 20, 30, 45, 60, 90, 100])}")
    if draw.random() < 0.3:
        parts.append("BYMONTH=" + numbers(draw, list(range(1, 13)), 6))
    if frequency != "WEEKLY" and draw.random() < 0.25:
        parts.append("BYMONTHDAY=" + numbers(draw, both_ways(1, 31), 8))
    if frequency in {"YEARLY", *SUB_DAILY} and draw.random() < 0.15:
        parts.append("BYYEARDAY=" + numbers(draw, both_ways(1, 366), 90))
    if frequency == "YEARLY" and draw.random() < 0.2:
        parts.append("BYWEEKNO=" + numbers(draw, both_ways(2, 51), 6))
    if draw.random() < 0.4:
        parts.append("BYDAY=" + draw_weekdays(draw, frequency, parts))
    for name, size, share in (("BYHOUR", 24, 0.3), ("BYMINUTE", 60, 0.3), ("BYSECOND", 60, 0.25)):
        if draw.random() < share:
            parts.append(f"{name}=" + numbers(draw, list(range(size)), 6))
    # A position that no period has makes dateutil search every period, so short ones have one time at least.
    if len(parts) > 2 and "BY" in parts[-1] and draw.random() < 0.3:
        most = 1 if frequency in SUB_DAILY else draw.choice([2, 2, 8])
        parts.append("BYSETPOS=" + numbers(draw, both_ways(1, most), 3))
    if draw.random() < 0.3:
        parts.append("WKST=" + draw.choice(WEEKDAYS))
    return ";".join(parts)


def draw_start(draw: random.Random) -> datetime:
    return datetime(1995, 1, 1) + timedelta(seconds=draw.randrange(45 * 365 * DAY))


def judged(text: str, start: datetime, last_year: int, count: int, monkeypatch: pytest.MonkeyPatch) -> list[int] | None:
    """Return the occurrences of dateutil until the end of a year, ``None`` for an empty rule."""
    with monkeypatch.context() as patched:
        patched.setattr(dateutil.rrule, "datetime", SimpleNamespace(**vars(dt) | {"MAXYEAR": last_year}))
        try:
            moments = islice(iter(dateutil.rrule.rrulestr(text, dtstart=start)), count)
            return [wall(moment) for moment in moments if moment.year <= last_year]
        except ValueError:
            return None


@pytest.mark.parametrize("frequency", FREQUENCIES)
def test_drawn_rules_agree_with_dateutil(frequency: str, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(f"{SEED} {frequency}")
    for _ in range(RULES[frequency]):
        text, start = draw_rule(draw, frequency), draw_start(draw)
        last_year = start.year + YEARS[frequency]
        expected = judged(text, start, last_year, MAX_OCCURRENCES[frequency], monkeypatch)
        assert_agreement(text, wall(start), expected, wall(f"{last_year + 1}-01-01"), draw)
        if frequency in SUB_DAILY:
            with monkeypatch.context() as patched:  # no leaps: every meeting of grid and clock is computed
                patched.setattr(grid, "MAX_LEAPS", 0)
                assert_agreement(text, wall(start), expected, wall(f"{last_year + 1}-01-01"), draw)


def assert_agreement(text: str, start: int, expected: list[int] | None, end: int, draw: random.Random) -> None:
    """Compare a rule with what was expected of it before ``end``, in both directions and from anywhere."""
    context = f"seed {SEED}: {text} from {text_of(start)}"
    rule, begin = parse_rrule(text, start=start), start - 1
    if "WEEKLY" in text and "BYSETPOS" in text:
        begin = start + 7 * DAY
        expected = [local for local in expected or () if local > begin]
    elif expected:
        assert rule.prev_local(expected[0]) is None, context
    if not expected:
        match = rule.next_local(begin)
        assert match is None or (match >= end and expected is not None), context
        return
    assert list(islice(walk(rule.next_local, begin), len(expected))) == expected, context
    assert list(islice(walk(rule.prev_local, expected[-1] + 1), len(expected))) == expected[::-1], context
    for _ in range(5):
        probe = draw.randrange(begin, expected[-1])
        assert rule.next_local(probe) == next(local for local in expected if local > probe), f"{context} at {probe}"
        earlier = [local for local in expected if local < probe]
        assert not earlier or rule.prev_local(probe) == earlier[-1], f"{context} at {probe}"


@pytest.mark.parametrize("week_start", WEEKDAYS)
def test_week_numbers_agree_with_counting(week_start: str) -> None:
    """A week belongs to the year that has four of its days. In ISO 8601 weeks begin on Monday."""
    first = WEEKDAYS.index(week_start)

    def week(day: date) -> tuple[int, int]:
        fourth = day + timedelta(days=3 - (day.weekday() - first) % 7)
        return fourth.year, (fourth.timetuple().tm_yday - 1) // 7 + 1

    days = [date(1994, 1, 1) + timedelta(days=index) for index in range(17 * 366)]
    numbered = {day: week(day) for day in days}
    last = dict(sorted(numbered.values()))  # the number that a year has last is its largest
    assert week_start != "MO" or all(day.isocalendar()[:2] == numbered[day] for day in days)
    for wanted in (1, 2, 20, 51, 52, 53, -1, -2, -26, -51, -52, -53):
        rule = parse_rrule(f"FREQ=YEARLY;BYWEEKNO={wanted};WKST={week_start};UNTIL=20091231", start=wall("1996-01-01"))
        expected = [day for day, (year, number) in numbered.items() if wanted in {number, number - last[year] - 1}]
        days = [date(1970, 1, 1) + timedelta(days=local // DAY) for local in walk(rule.next_local, 0)]
        assert days == [day for day in expected if 1996 <= day.year <= 2009], (wanted, week_start)


def test_steps_to_clock_agree_with_brute_force() -> None:
    draw = random.Random(SEED)
    for case in range(60):
        sizes = (24, 60, 60)[: draw.randint(1, 3)]
        clock = tuple(draw.choice([draw.randrange(1, 1 << size), 1 << size // 3, (1 << size) - 1]) for size in sizes)
        weekdays = draw.choice([0b1111111, 0b1, 0b10100, 0b1111110])
        step = draw.randint(1, 30_000) * (60 if len(sizes) == 3 else 1)
        unit = (3600, 60, 1)[len(sizes) - 1]

        def allowed(period: int, clock: tuple[int, ...] = clock, weekdays: int = weekdays, unit: int = unit) -> bool:
            reading = EPOCH + timedelta(seconds=period * unit)
            values = (reading.hour, reading.minute, reading.second)
            on_time = all(mask >> value & 1 for mask, value in zip(clock, values, strict=False))
            return on_time and bool(weekdays >> reading.weekday() & 1)

        begin, tries = draw.randrange(7 * DAY // unit), min(7 * DAY // unit, 10_080)
        expected = next((k for k in range(tries) if allowed(begin + k * step)), None)
        steps = grid._steps_to_clock(begin, step, weekdays, clock)
        beyond = len(sizes) == 3 and expected is None and steps is not None and steps >= tries
        assert steps == expected or beyond, case  # of seconds, the search above stops before the end of the week


# --- the RFC's examples, and what follows from its text ---------------------------------------------------------

# rule, and the days on which it fires, the first of them its DTSTART unless it has one
EXAMPLES: list[tuple[str, str]] = [
    ("FREQ=DAILY;COUNT=10", "1997-09-02 1997-09-03 1997-09-04 1997-09-05 1997-09-06 1997-09-07"),
    ("FREQ=DAILY;INTERVAL=10;COUNT=5", "1997-09-02 1997-09-12 1997-09-22 1997-10-02 1997-10-12"),
    ("FREQ=DAILY;BYMONTH=1", "1998-01-30 1998-01-31 1999-01-01 1999-01-02"),
    ("FREQ=WEEKLY;INTERVAL=2;WKST=SU;BYDAY=MO,WE,FR", "1997-09-01 1997-09-03 1997-09-05 1997-09-15"),
    ("FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,SU;WKST=MO", "1997-08-05 1997-08-10 1997-08-19 1997-08-24"),
    ("FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,SU;WKST=SU", "1997-08-05 1997-08-17 1997-08-19 1997-08-31"),
    ("DTSTART:20260902T090000\nRRULE:FREQ=WEEKLY;BYDAY=FR", "2026-09-04 2026-09-11"),
    ("DTSTART:20260902T090000\nRRULE:FREQ=WEEKLY;BYDAY=MO,WE,FR;BYSETPOS=1", "2026-09-07 2026-09-14"),
    ("FREQ=MONTHLY", "2026-01-31 2026-03-31 2026-05-31"),
    ("FREQ=MONTHLY;BYDAY=1FR", "1997-09-05 1997-10-03 1997-11-07 1997-12-05 1998-01-02"),
    ("FREQ=MONTHLY;INTERVAL=2;BYDAY=1SU,-1SU", "1997-09-07 1997-09-28 1997-11-02 1997-11-30"),
    ("FREQ=MONTHLY;BYDAY=2TU,SU;BYMONTH=9", "1997-09-07 1997-09-09 1997-09-14 1997-09-21 1997-09-28"),
    ("FREQ=MONTHLY;BYMONTHDAY=-3", "1997-09-28 1997-10-29 1997-11-28 1997-12-29 1998-01-29 1998-02-26"),
    ("FREQ=MONTHLY;BYMONTHDAY=1,-1", "1997-09-30 1997-10-01 1997-10-31 1997-11-01 1997-11-30"),
    ("FREQ=MONTHLY;BYMONTHDAY=15,30", "2007-01-15 2007-01-30 2007-02-15 2007-03-15 2007-03-30"),
    ("FREQ=MONTHLY;INTERVAL=18;BYMONTHDAY=10,11", "1997-09-10 1997-09-11 1999-03-10 1999-03-11"),
    ("DTSTART:19970902T090000\nRRULE:FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13", "1998-02-13 1998-03-13 1998-11-13"),
    ("FREQ=MONTHLY;BYDAY=SA;BYMONTHDAY=7,8,9,10,11,12,13", "1997-09-13 1997-10-11 1997-11-08 1997-12-13"),
    ("FREQ=MONTHLY;BYDAY=TU,WE,TH;BYSETPOS=3", "1997-09-04 1997-10-07 1997-11-06"),
    ("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-2", "1997-09-29 1997-10-30 1997-11-27 1997-12-30"),
    ("FREQ=YEARLY", "2092-02-29 2096-02-29 2104-02-29"),
    ("FREQ=YEARLY;BYMONTH=6,7", "1997-06-10 1997-07-10 1998-06-10 1998-07-10"),
    ("FREQ=YEARLY;BYMONTH=2,3;BYMONTHDAY=-31", "2026-03-01 2027-03-01"),
    ("FREQ=YEARLY;INTERVAL=3;BYYEARDAY=1,100,200", "1997-01-01 1997-04-10 1997-07-19 2000-01-01 2000-04-09"),
    ("FREQ=YEARLY;BYDAY=20MO", "1997-05-19 1998-05-18 1999-05-17"),
    ("FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO", "1997-05-12 1998-05-11 1999-05-17"),
    ("FREQ=YEARLY;BYWEEKNO=1,-1;BYDAY=TU", "2024-01-02 2024-12-24 2024-12-31 2025-12-23 2025-12-30"),
    ("FREQ=YEARLY;INTERVAL=4;BYMONTH=11;BYDAY=TU;BYMONTHDAY=2,3,4,5,6,7,8", "1996-11-05 2000-11-07 2004-11-02"),
]


@pytest.mark.parametrize(("rule", "days"), EXAMPLES)
def test_examples(rule: str, days: str) -> None:
    expected = [f"{day}T09:00:00" for day in days.split()]
    assert occurrences(rule, expected[0], len(expected)) == expected


TIMED: list[tuple[str, str, str]] = [
    ("FREQ=HOURLY;INTERVAL=3;UNTIL=19970902T170000", "1997-09-02T09:00:00", "09:00:00 12:00:00 15:00:00"),
    ("FREQ=MINUTELY;INTERVAL=90;COUNT=4", "1997-09-02T09:00:00", "09:00:00 10:30:00 12:00:00 13:30:00"),
    ("FREQ=MINUTELY;INTERVAL=20;BYHOUR=9,16", "1997-09-02T09:00:00", "09:00:00 09:20:00 09:40:00 16:00:00"),
    ("FREQ=DAILY;BYHOUR=9,16;BYMINUTE=0,20,40", "1997-09-02T09:00:00", "09:00:00 09:20:00 09:40:00 16:00:00"),
    ("FREQ=DAILY;BYHOUR=8,12,20;BYSETPOS=-1,1", "1997-09-02T07:00:00", "08:00:00 20:00:00"),
    ("FREQ=HOURLY;BYMINUTE=0,10,50;BYSETPOS=2", "1997-09-02T09:30:30", "10:10:30 11:10:30"),
    ("FREQ=SECONDLY;INTERVAL=20;BYMINUTE=5", "1997-09-02T09:00:10", "09:05:10 09:05:30 09:05:50 10:05:10"),
    ("FREQ=DAILY;BYSECOND=60", "1997-09-02T09:30:00", "09:30:59"),
    ("FREQ=WEEKLY;BYDAY=TU;BYHOUR=1,2,3;BYSETPOS=2", "1997-09-02T00:00:00", "02:00:00"),
]


@pytest.mark.parametrize(("rule", "start", "times"), TIMED)
def test_times_of_day(rule: str, start: str, times: str) -> None:
    expected = [f"{start[:10]}T{time}" for time in times.split()]
    assert occurrences(rule, start, len(expected)) == expected


# --- beginning and end ------------------------------------------------------------------------------------------


def test_dtstart_precedes_the_given_start() -> None:
    written = parse_rrule("DTSTART:20260101T090000\nRRULE:FREQ=DAILY", start=wall("2030-01-01"))
    anchored = parse_rrule("FREQ=DAILY", start=wall("2030-01-01T07:30:00"))
    neither = parse_rrule("RRULE:FREQ=WEEKLY")
    assert (text_of(written.next_local(0)), written.anchored) == ("2026-01-01T09:00:00", True)
    assert (text_of(anchored.next_local(0)), anchored.anchored) == ("2030-01-01T07:30:00", True)
    assert (text_of(neither.next_local(0)), neither.anchored) == ("1970-01-08T00:00:00", False)
    assert neither.anchor == 0


@pytest.mark.parametrize(
    ("line", "timezone"),
    [
        ("DTSTART:20260101T090000", None),
        ("DTSTART:20260101T090000Z", "UTC"),
        ("dtstart;tzid=Europe/Berlin:20260101t090000", "Europe/Berlin"),
        ('DTSTART;TZID="America/New_York";VALUE=DATE-TIME:20260101T090000', "America/New_York"),
    ],
)
def test_dtstart_sets_the_zone(line: str, timezone: str | None) -> None:
    rule = parse_rrule(f"  {line}\r\n\n  rrule:freq=daily\n")
    assert (rule.timezone, text_of(rule.anchor)) == (timezone, "2026-01-01T09:00:00")


def test_start_before_1970_keeps_the_rhythm() -> None:
    rule = parse_rrule("DTSTART:19000101T000000\nRRULE:FREQ=YEARLY;INTERVAL=9")
    assert text_of(rule.next_local(wall("2026-06-01"))) == "2035-01-01T00:00:00"
    assert rule.prev_local(wall("1971-01-01")) is None


def test_no_occurrence_is_outside_of_the_range() -> None:
    rule = parse_rrule("FREQ=DAILY;BYHOUR=12")
    assert rule.next_local(CEILING) is None
    assert text_of(rule.next_local(HORIZON - DAY)) == "2200-12-31T12:00:00"
    assert text_of(rule.prev_local(10**12)) == "2201-01-02T12:00:00"
    assert text_of(rule.next_local(-(10**12))) == "1970-01-01T12:00:00"
    assert parse_rrule("DTSTART:99990101T000000\nRRULE:FREQ=DAILY;COUNT=3").next_local(0) is None


def test_count_ends_the_rule_in_both_directions() -> None:
    rule = parse_rrule("DTSTART:20260101T090000\nRRULE:FREQ=MONTHLY;BYMONTHDAY=31;COUNT=3")
    locals_ = list(walk(rule.next_local, 0))
    assert [text_of(local) for local in locals_] == [
        "2026-01-31T09:00:00",
        "2026-03-31T09:00:00",
        "2026-05-31T09:00:00",
    ]
    assert list(walk(rule.prev_local, 10**12)) == locals_[::-1]
    assert parse_rrule("FREQ=YEARLY;COUNT=100000", start=0).next_local(wall("2199-06-01")) == wall("2200-01-01")
    assert parse_rrule("FREQ=SECONDLY;INTERVAL=7;COUNT=1000", start=wall("2026-01-01")).prev_local(10**10) == (
        wall("2026-01-01") + 999 * 7
    )


@pytest.mark.parametrize(
    ("until", "last"),
    [
        ("20260110T090000", "2026-01-10T09:00:00"),
        ("20260110T085959", "2026-01-09T09:00:00"),
        ("20260110", "2026-01-10T09:00:00"),  # a date includes its whole day
        ("20260110T080000Z", "2026-01-10T09:00:00"),
        ("20260110T075959Z", "2026-01-09T09:00:00"),
        ("20251231", None),
    ],
)
def test_until_is_inclusive(until: str, last: str | None) -> None:
    start = wall("2026-01-01T09:00:00")
    rule = parse_rrule(f"FREQ=DAILY;UNTIL={until}", start=start, to_local=lambda epoch: epoch + 3600)
    assert rule.next_local(start if last is None else wall(last)) is None
    assert text_of(rule.prev_local(10**10)) == last  # a search without a result keeps the state


def test_parts_are_kept_as_written() -> None:
    rule = parse_rrule("freq=monthly;byday=-1fr,2mo,2mo;bymonth=3,1;until=20300101t000000z;wkst=su;BYSETPOS=1,-1")
    assert rule.parts == {
        "FREQ": "MONTHLY",
        "BYDAY": ((-1, "FR"), (2, "MO")),
        "BYMONTH": (1, 3),
        "UNTIL": "20300101T000000Z",
        "WKST": "SU",
        "BYSETPOS": (-1, 1),
    }
    assert [parse_rrule(f"FREQ={name}").wildcard for name in FREQUENCIES] == [False] * 4 + [True] * 3


# --- rules that never fire --------------------------------------------------------------------------------------

IMPOSSIBLE = [
    "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30",
    "FREQ=YEARLY;BYMONTH=4;BYYEARDAY=1",
    "FREQ=YEARLY;INTERVAL=4;BYMONTH=2;BYMONTHDAY=29",
    "FREQ=YEARLY;BYDAY=1MO;BYSETPOS=2",
    "FREQ=MONTHLY;INTERVAL=12;BYMONTH=3",
    "FREQ=MONTHLY;BYDAY=6MO",
    "FREQ=MONTHLY;BYDAY=MO;BYSETPOS=6",
    "FREQ=WEEKLY;BYDAY=MO;BYSETPOS=2",
    "FREQ=DAILY;INTERVAL=7;BYDAY=MO",
    "FREQ=DAILY;BYHOUR=1,2;BYSETPOS=3",
    "FREQ=HOURLY;INTERVAL=24;BYHOUR=5",
    "FREQ=HOURLY;INTERVAL=168;BYDAY=MO",
    "FREQ=HOURLY;BYMINUTE=1;BYSETPOS=-2",
    "FREQ=MINUTELY;INTERVAL=7;BYMONTH=2;BYMONTHDAY=30",
    "FREQ=MINUTELY;INTERVAL=2;BYMINUTE=1,3,5",
    "FREQ=SECONDLY;INTERVAL=86400;BYHOUR=5",
    "FREQ=SECONDLY;INTERVAL=999999999;BYMONTH=3",
    "FREQ=SECONDLY;INTERVAL=1009;BYHOUR=5;BYMINUTE=0;BYSECOND=0;BYMONTH=2;BYMONTHDAY=29",
    "FREQ=SECONDLY;INTERVAL=604814;BYDAY=MO;BYHOUR=0;BYMINUTE=0;BYSECOND=1,3,5",
]


@pytest.mark.parametrize("text", IMPOSSIBLE)
def test_impossible_rule_ends_in_bounded_time(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The search checks each month of the range at most once, and takes no step per tick."""
    looks = count_calls(RuleDays, "mask", monkeypatch)
    meetings = count_calls(grid.Grid, "first_from", monkeypatch)
    tuesday = wall("2026-09-01T00:00:00")
    assert parse_rrule(text, start=tuesday).next_local(tuesday) is None
    assert parse_rrule(text, start=tuesday).prev_local(HORIZON) in {None, tuesday}
    assert (len(looks) <= 5 * MONTHS, len(meetings) <= 300) == (True, True)


def test_impossible_rule_is_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = parse_rrule("FREQ=DAILY;INTERVAL=7;BYDAY=MO", start=wall("2026-09-01"))
    assert rule.next_local(0) is None
    looks = count_calls(RuleDays, "mask", monkeypatch)
    assert rule.next_local(wall("2030-01-01")) is None
    assert rule.prev_local(wall("2030-01-01")) is None
    assert not looks


def count_calls(kind: type, name: str, monkeypatch: pytest.MonkeyPatch) -> list[None]:
    calls: list[None] = []
    original: Callable[..., object] = getattr(kind, name)

    def counted(*arguments: object) -> object:
        calls.append(None)
        return original(*arguments)

    monkeypatch.setattr(kind, name, counted)
    return calls


# --- properties -------------------------------------------------------------------------------------------------


@given(seed=st.integers(0, 10**6), frequency=st.sampled_from(FREQUENCIES), probe=st.integers(-2 * DAY, HORIZON))
def test_next_and_prev_have_the_same_order(seed: int, frequency: str, probe: int) -> None:
    draw = random.Random(seed)
    text, start = draw_rule(draw, frequency), wall(draw_start(draw))
    later = parse_rrule(text, start=start).next_local(probe)
    rule = parse_rrule(text, start=start)
    earlier = rule.prev_local(probe)
    assert earlier is None or start <= earlier < probe
    if later is None:
        return
    assert later > probe
    assert later >= start
    assert rule.next_local(later - 1) == later
    assert rule.next_local(draw.randrange(probe, later)) == later
    at_probe = rule.next_local(probe - 1) == probe
    assert rule.prev_local(later) == (probe if at_probe else earlier)


broken_rules = st.builds(
    lambda seed, frequency, at, noise: (rule := draw_rule(random.Random(seed), frequency))[:at] + noise + rule[at:],
    st.integers(0, 10**6),
    st.sampled_from(FREQUENCIES),
    st.integers(0, 60),
    st.text(";,=:-+0Z\nMß", max_size=2),
)


@given(st.text(max_size=60) | st.text("FREQDAILYMONTHWKSBUCP=;,:-+0123456789\n TZ", max_size=60) | broken_rules)
def test_any_text_gives_a_rule_or_invalid_spec(text: str) -> None:
    error = refusal(text)
    assert error is None or (error.field == "rrules" and error.position in range(len(text) + 1) and error.expected)


def refusal(text: str) -> InvalidSpec | None:
    try:
        parse_rrule(text, start=0).next_local(0)
    except InvalidSpec as error:
        return error
    return None
