"""Cron strings: the meaning of every syntax in every dialect, and the error for every invalid one."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice, pairwise

import pytest

import tompion
from tompion import InvalidSpec, Spec
from tompion.model.spec import Dialect, IntervalDocument
from tompion.spec.calendar.cron import MAX_TEXT_CHARS, SHORTHANDS, CronRule, parse_cron
from tompion.spec.calendar.days import DayRule
from tompion.spec.calendar.fields import Field

FIELDS = ("second", "minute", "hour", "day_of_month", "month", "day_of_week", "year")
BASE = {
    "tompion": ["0", "0", "0", "?", "*", "?", "*"],
    "quartz": ["0", "0", "0", "?", "*", "?", "*"],
    "temporal": ["0", "0", "0", "*", "*", "*", "*"],
}


def rule_of(text: str, dialect: Dialect = "tompion") -> CronRule:
    rule = parse_cron(text, dialect)
    assert isinstance(rule, CronRule)
    return rule


def field_of(name: str, text: str, dialect: Dialect = "tompion") -> Field:
    """One field, parsed inside a whole string of seven."""
    texts = list(BASE[dialect])
    texts[FIELDS.index(name)] = text
    if dialect == "quartz" and name not in {"day_of_month", "day_of_week"}:
        texts[5] = "*"
    elif dialect == "quartz" and text == "?":
        texts[3 if name == "day_of_week" else 5] = "*"
    field: Field = getattr(rule_of(" ".join(texts), dialect), name)
    return field


def values(field: Field, schedule_id: str = "") -> set[int]:
    mask = field.mask_for(schedule_id)
    assert mask >> field.kind.high - field.kind.low + 1 == 0, "a bit beyond the field's end"
    return {field.kind.low + bit for bit in range(mask.bit_length()) if mask >> bit & 1}


def ticks(text: str, after: str, count: int, dialect: Dialect = "tompion") -> list[str]:
    compiled = Spec(cron=text, dialect=dialect).compile()
    matches = compiled.between_epochs(int(datetime.fromisoformat(after + "+00:00").timestamp()) + 1, 1 << 40)
    return [f"{datetime.fromtimestamp(tick, UTC):%Y-%m-%d %H:%M:%S}" for tick in islice(matches, count)]


# ---------------------------------------------------------------- one field

NUMBERS: list[tuple[Dialect, str, str, set[int]]] = [
    ("tompion", "minute", "*", set(range(60))),
    ("tompion", "minute", "7", {7}),
    ("tompion", "minute", "07", {7}),
    ("tompion", "minute", "0007", {7}),
    ("tompion", "minute", "1,2,50", {1, 2, 50}),
    ("tompion", "minute", "50,1,1", {1, 50}),
    ("tompion", "minute", "10-13", {10, 11, 12, 13}),
    ("tompion", "minute", "10-10", {10}),
    ("tompion", "minute", "*/15", {0, 15, 30, 45}),
    ("tompion", "minute", "*/7", set(range(0, 60, 7))),
    ("tompion", "minute", "*/59", {0, 59}),
    ("tompion", "minute", "*/60", {0}),
    ("tompion", "minute", "*/9999", {0}),
    ("tompion", "minute", "5/20", {5, 25, 45}),
    ("tompion", "minute", "59/1", {59}),
    ("tompion", "minute", "10-20/5,3", {3, 10, 15, 20}),
    ("tompion", "minute", "10-21/5", {10, 15, 20}),
    ("tompion", "minute", "50-10/10", {50, 0, 10}),
    ("tompion", "minute", "55-4", {55, 56, 57, 58, 59, 0, 1, 2, 3, 4}),
    ("tompion", "second", "*/20", {0, 20, 40}),
    ("tompion", "hour", "22-2", {22, 23, 0, 1, 2}),
    ("tompion", "hour", "22-2/2", {22, 0, 2}),
    ("tompion", "hour", "21-2/2", {21, 23, 1}),
    ("tompion", "hour", "9-17", set(range(9, 18))),
    ("tompion", "hour", "*,5", set(range(24))),
    ("tompion", "day_of_month", "1,15,31", {1, 15, 31}),
    ("tompion", "day_of_month", "28-3", {28, 29, 30, 31, 1, 2, 3}),
    ("tompion", "day_of_month", "?", set(range(1, 32))),
    ("tompion", "month", "JAN", {1}),
    ("tompion", "month", "dec", {12}),
    ("tompion", "month", "September", {9}),
    ("tompion", "month", "NOV-FEB", {11, 12, 1, 2}),
    ("tompion", "month", "NOV-MAR/2", {11, 1, 3}),
    ("tompion", "month", "APR/3", {4, 7, 10}),
    ("tompion", "month", "mar,JUN,9", {3, 6, 9}),
    ("tompion", "month", "MAY-7", {5, 6, 7}),
    ("tompion", "day_of_week", "0", {0}),
    ("tompion", "day_of_week", "7", {0}),
    ("tompion", "day_of_week", "0,7", {0}),
    ("tompion", "day_of_week", "5-7", {5, 6, 0}),
    ("tompion", "day_of_week", "7-2", {0, 1, 2}),
    ("tompion", "day_of_week", "7-7", {0}),
    ("tompion", "day_of_week", "0-7", set(range(7))),
    ("tompion", "day_of_week", "1-7", set(range(7))),
    ("tompion", "day_of_week", "3-7/2", {3, 5, 0}),
    ("tompion", "day_of_week", "6-7/2", {6}),
    ("tompion", "day_of_week", "FRI-MON", {5, 6, 0, 1}),
    ("tompion", "day_of_week", "FRI-SUN", {5, 6, 0}),
    ("tompion", "day_of_week", "SAT-SUN", {6, 0}),
    ("tompion", "day_of_week", "SUN-SUN", {0}),
    ("tompion", "day_of_week", "fri-mon/2", {5, 0}),
    ("tompion", "day_of_week", "Monday", {1}),
    ("tompion", "day_of_week", "TUE/2", {2, 4, 6}),
    ("tompion", "day_of_week", "*/3", {0, 3, 6}),
    ("tompion", "year", "2026,2030-2032", {2026, 2030, 2031, 2032}),
    ("tompion", "year", "2190/4", {2190, 2194, 2198}),
    ("tompion", "year", "1970", {1970}),
    ("tompion", "year", "2200", {2200}),
    # quartz counts from Sunday = 1
    ("quartz", "day_of_week", "1", {0}),
    ("quartz", "day_of_week", "7", {6}),
    ("quartz", "day_of_week", "2-6", {1, 2, 3, 4, 5}),
    ("quartz", "day_of_week", "7-2", {6, 0, 1}),
    ("quartz", "day_of_week", "FRI-MON", {5, 6, 0, 1}),
    ("quartz", "day_of_week", "*/2", {0, 2, 4, 6}),
    ("quartz", "day_of_week", "2/2", {1, 3, 5}),
    ("quartz", "day_of_week", "L", {6}),
    ("quartz", "hour", "22-2", {22, 23, 0, 1, 2}),
    ("quartz", "minute", "/15", {0, 15, 30, 45}),
    ("quartz", "minute", "5/15", {5, 20, 35, 50}),
    # temporal takes any unambiguous beginning of a name, and never wraps
    ("temporal", "day_of_week", "0", {0}),
    ("temporal", "day_of_week", "7", {0}),
    ("temporal", "day_of_week", "5-7", {5, 6, 0}),
    ("temporal", "day_of_week", "mo", {1}),
    ("temporal", "day_of_week", "Thurs", {4}),
    ("temporal", "day_of_week", "tu-FRIDA", {2, 3, 4, 5}),
    ("temporal", "month", "sept", {9}),
    ("temporal", "month", "Febru-APR", {2, 3, 4}),
    ("temporal", "hour", "5/6", {5, 11, 17, 23}),
]


@pytest.mark.parametrize(("dialect", "name", "text", "expected"), NUMBERS)
def test_field_selects_values(dialect: Dialect, name: str, text: str, expected: set[int]) -> None:
    assert values(field_of(name, text, dialect)) == expected


DAY_RULES: list[tuple[Dialect, str, str, tuple[DayRule, ...]]] = [
    ("tompion", "day_of_month", "L", (DayRule("last", 0),)),
    ("tompion", "day_of_month", "l", (DayRule("last", 0),)),
    ("tompion", "day_of_month", "L-3", (DayRule("last", 3),)),
    ("tompion", "day_of_month", "L-30", (DayRule("last", 30),)),
    ("tompion", "day_of_month", "LW", (DayRule("last_workday", 0),)),
    ("tompion", "day_of_month", "15W", (DayRule("workday", 15),)),
    ("tompion", "day_of_month", "1w,L-2,20", (DayRule("workday", 1), DayRule("last", 2))),
    ("tompion", "day_of_week", "5#3", (DayRule("nth", 5, 3),)),
    ("tompion", "day_of_week", "7#1", (DayRule("nth", 0, 1),)),
    ("tompion", "day_of_week", "fri#5", (DayRule("nth", 5, 5),)),
    ("tompion", "day_of_week", "5L", (DayRule("last_weekday", 5),)),
    ("tompion", "day_of_week", "7L", (DayRule("last_weekday", 0),)),
    ("tompion", "day_of_week", "FRIL", (DayRule("last_weekday", 5),)),
    ("tompion", "day_of_week", "FridayL", (DayRule("last_weekday", 5),)),
    ("tompion", "day_of_week", "MON#1,3,SUNL", (DayRule("nth", 1, 1), DayRule("last_weekday", 0))),
    ("quartz", "day_of_week", "6#3", (DayRule("nth", 5, 3),)),
    ("quartz", "day_of_week", "6L", (DayRule("last_weekday", 5),)),
    ("quartz", "day_of_week", "1L", (DayRule("last_weekday", 0),)),
    ("quartz", "day_of_month", "L-3", (DayRule("last", 3),)),
    ("quartz", "day_of_month", "LW", (DayRule("last_workday", 0),)),
]


@pytest.mark.parametrize(("dialect", "name", "text", "expected"), DAY_RULES)
def test_day_rule_is_parsed(dialect: Dialect, name: str, text: str, expected: tuple[DayRule, ...]) -> None:
    assert field_of(name, text, dialect).rules == expected


HASHED = [
    ("minute", "H", 0, 59, 1),
    ("minute", "h", 0, 59, 1),
    ("hour", "H", 0, 23, 1),
    ("day_of_month", "H", 1, 28, 1),
    ("month", "H", 1, 12, 1),
    ("day_of_week", "H", 0, 6, 1),
    ("hour", "H(9-17)", 9, 17, 1),
    ("day_of_month", "H(29-31)", 29, 31, 1),
    ("day_of_week", "H(5-6)", 5, 6, 1),
    ("minute", "H(30-30)", 30, 30, 1),
    ("minute", "H/15", 0, 59, 4),
    ("minute", "H(0-29)/10", 0, 29, 3),
    ("hour", "H(8-19)/4", 8, 19, 3),
]


@pytest.mark.parametrize(("name", "text", "low", "high", "count"), HASHED)
def test_hashed_field_uses_its_whole_range(name: str, text: str, low: int, high: int, count: int) -> None:
    field, step = field_of(name, text), int(text.partition("/")[2] or 0)
    picked: set[int] = set()
    for schedule in range(2_000):
        matches = sorted(values(field, f"schedule-{schedule}"))
        assert len(matches) == count
        assert all(later - earlier == step for earlier, later in pairwise(matches))
        picked.update(matches)
    assert picked == set(range(low, high + 1))


def test_hashed_weekday_range_may_end_at_7() -> None:
    """Regression: ``H(5-7)`` selected weekday 7, which does not exist, so Sundays never fired."""
    matches = [values(field_of("day_of_week", "H(5-7)"), f"schedule-{number}") for number in range(50)]
    assert {next(iter(one)) for one in matches} == {5, 6, 0}


def test_hashed_field_adds_to_other_values() -> None:
    assert values(field_of("minute", "1,H(10-10),2"), "any") == {1, 2, 10}


# ---------------------------------------------------------------- whole strings

MEANINGS: list[tuple[Dialect, str, str, list[str]]] = [
    ("tompion", "30 9 * * *", "2026-01-01T10:00:00", ["2026-01-02 09:30:00", "2026-01-03 09:30:00"]),
    ("tompion", "15 30 9 * * *", "2026-01-01T09:30:14", ["2026-01-01 09:30:15", "2026-01-02 09:30:15"]),
    ("tompion", "0 0 0 1 1 ? 2030/10", "2026-01-01T00:00:00", ["2030-01-01 00:00:00", "2040-01-01 00:00:00"]),
    ("tompion", "  0\t0  1 * *\n", "2026-01-01T00:00:00", ["2026-02-01 00:00:00"]),
    ("tompion", "0 0 1 * * # rent, 5#3", "2026-01-01T00:00:00", ["2026-02-01 00:00:00"]),
    ("tompion", "0 0 * * 5#3 # third Friday", "2026-01-01T00:00:00", ["2026-01-16 00:00:00"]),
    ("tompion", "0 0 1 * *\t#x", "2026-01-01T00:00:00", ["2026-02-01 00:00:00"]),
    ("tompion", "CRON_TZ=Asia/Tokyo 0 9 * * *", "2026-01-01T00:00:00", ["2026-01-02 00:00:00"]),
    ("tompion", "TZ=Asia/Tokyo   0 9 * * *", "2026-01-01T00:00:00", ["2026-01-02 00:00:00"]),
    ("tompion", " CRON_TZ=America/New_York @daily # x", "2026-01-01T00:00:00", ["2026-01-01 05:00:00"]),
    ("tompion", "@yearly", "2026-01-01T00:00:00", ["2027-01-01 00:00:00"]),
    ("tompion", "@annually", "2026-06-01T00:00:00", ["2027-01-01 00:00:00"]),
    ("tompion", "@monthly", "2026-01-01T00:00:00", ["2026-02-01 00:00:00"]),
    ("tompion", "@weekly", "2026-01-01T00:00:00", ["2026-01-04 00:00:00", "2026-01-11 00:00:00"]),
    ("tompion", "@daily", "2026-01-01T00:00:00", ["2026-01-02 00:00:00"]),
    ("tompion", "@midnight", "2026-01-01T00:00:00", ["2026-01-02 00:00:00"]),
    ("tompion", "@hourly", "2026-01-01T00:00:00", ["2026-01-01 01:00:00"]),
    ("tompion", " @Hourly ", "2026-01-01T00:00:00", ["2026-01-01 01:00:00"]),
    ("tompion", "@every 90m", "2026-01-01T00:00:00", ["2026-01-01 01:30:00", "2026-01-01 03:00:00"]),
    ("tompion", "@every 1h/15m", "2026-01-01T00:00:00", ["2026-01-01 00:15:00", "2026-01-01 01:15:00"]),
    ("tompion", "@every   1d/6h # phase", "2026-01-01T00:00:00", ["2026-01-01 06:00:00"]),
    ("tompion", "0 0 13 * 5", "2026-01-10T00:00:00", ["2026-01-13 00:00:00", "2026-01-16 00:00:00"]),
    ("tompion", "0 0 13 * +5", "2026-01-10T00:00:00", ["2026-02-13 00:00:00", "2026-03-13 00:00:00"]),
    ("tompion", "0 0 0 13 * +FRI", "2026-01-10T00:00:00", ["2026-02-13 00:00:00"]),
    ("tompion", "0 0 0 13 * +FRI 2027", "2026-01-10T00:00:00", ["2027-08-13 00:00:00"]),
    ("tompion", "0 0 13 * +*", "2026-01-10T00:00:00", ["2026-01-13 00:00:00"]),
    ("tompion", "0 0 */10 * 5", "2026-01-10T00:00:00", ["2026-05-01 00:00:00"]),
    ("tompion", "0 0 ? * 5", "2026-01-10T00:00:00", ["2026-01-16 00:00:00"]),
    ("tompion", "0 0 L 2 *", "2026-01-10T00:00:00", ["2026-02-28 00:00:00", "2027-02-28 00:00:00"]),
    ("quartz", "0 0 12 ? * 2-6", "2026-01-02T12:00:00", ["2026-01-05 12:00:00"]),
    ("quartz", "0 0 12 1 * ?", "2026-01-02T12:00:00", ["2026-02-01 12:00:00"]),
    ("quartz", "0 0 12 ? * 6#3 2027", "2026-01-02T12:00:00", ["2027-01-15 12:00:00"]),
    ("quartz", "0 0/5 14 * * ?", "2026-01-02T14:50:00", ["2026-01-02 14:55:00", "2026-01-03 14:00:00"]),
    ("quartz", "0 0 12 ? * L", "2026-01-01T00:00:00", ["2026-01-03 12:00:00"]),
    ("temporal", "0 12 * * 1", "2026-01-01T00:00:00", ["2026-01-05 12:00:00"]),
    ("temporal", "0 12 1 1 * 2030", "2026-01-01T00:00:00", ["2030-01-01 12:00:00"]),
    ("temporal", "30 0 12 1 1 * 2030", "2026-01-01T00:00:00", ["2030-01-01 12:00:30"]),
    ("temporal", "0 0 13 * 5", "2026-01-10T00:00:00", ["2026-02-13 00:00:00"]),
    ("temporal", "0 0 * * 5#3", "2026-01-10T00:00:00", ["2026-01-16 00:00:00", "2026-01-23 00:00:00"]),
    ("temporal", "0 12 * * * # noon", "2026-01-01T00:00:00", ["2026-01-01 12:00:00"]),
    ("temporal", "CRON_TZ=Asia/Tokyo 0 9 * * *", "2026-01-01T00:00:00", ["2026-01-02 00:00:00"]),
    ("temporal", "@every 1h/15m", "2026-01-01T00:00:00", ["2026-01-01 00:15:00"]),
    ("temporal", "@weekly", "2026-01-01T00:00:00", ["2026-01-04 00:00:00"]),
]


@pytest.mark.parametrize(("dialect", "text", "after", "expected"), MEANINGS)
def test_cron_string_has_ticks(dialect: Dialect, text: str, after: str, expected: list[str]) -> None:
    assert ticks(text, after, len(expected), dialect) == expected


def test_every_shorthand_is_tested() -> None:
    assert set(SHORTHANDS) <= {text.strip().lower() for _dialect, text, *_ in MEANINGS}


def test_impossible_date_is_accepted_and_never_fires() -> None:
    for text in ("0 0 30 2 *", "0 0 31 4,6,9,11 *", "0 0 0 29 2 ? 2023", "0 0 L-30 2 *", "0 0 1-7 * +FRI#2"):
        compiled = tompion.compile_spec(text)
        assert compiled.next_epoch(0) is None
        assert compiled.prev_epoch(1 << 40) is None


def test_parsed_rule_has_its_zone_and_dst_class() -> None:
    assert rule_of("TZ=Asia/Tokyo 0 9 * * *").zone == "Asia/Tokyo"
    assert rule_of("0 9 * * *").zone is None
    assert not rule_of("0 9 * * *").wildcard
    assert not rule_of("0-59 9 * * *").wildcard
    assert not rule_of("0 0 9 * * *").wildcard
    assert not rule_of("H 9 * * *").wildcard
    assert rule_of("*/15 9 * * *").wildcard
    assert rule_of("0 */2 * * *").wildcard
    assert rule_of("* 0 9 * * *").wildcard
    assert not rule_of("9,*/15 9 * * *").wildcard


def test_every_shorthand_becomes_an_interval() -> None:
    assert parse_cron("@every 1h30m") == IntervalDocument(5400)
    assert parse_cron("@every 2h/30m") == IntervalDocument(7200, 1800)


# ---------------------------------------------------------------- errors

INVALID: list[tuple[Dialect, str, str, int | None, str]] = [
    # how many fields
    ("tompion", "", "cron", None, "'0 9 * * MON-FRI'"),
    ("tompion", "   ", "cron", None, "0 fields"),
    ("tompion", "# only a comment", "cron", None, "0 fields"),
    ("tompion", "*", "cron", 0, "1 field at"),
    ("tompion", "0 9 * *", "cron", 0, "5 (minute hour day month weekday)"),
    ("tompion", "0 0 9 * * * * *", "cron", 0, "8 fields"),
    ("tompion", "0 9 * * * 2026", "cron", 10, "write 7 fields (seconds first, year last), or dialect='temporal'"),
    ("tompion", "0 9 * * 2026 2026", "cron", 13, "6 fields ending in a year"),
    ("tompion", "0 9 * * * 2026-2030", "cron", 10, "6 fields ending in a year"),
    ("tompion", "TZ=UTC 0 9 * * * 2026", "cron", 17, "dialect='temporal'"),
    ("quartz", "0 12 * * ?", "cron", 0, "Quartz begins with seconds"),
    ("temporal", "0 9 * *", "cron", 0, "6 (year last)"),
    # a value out of its range
    ("tompion", "60 * * * *", "cron.minute", 0, "60 is out of range"),
    ("tompion", "0 24 * * *", "cron.hour", 2, "0 to 23"),
    ("tompion", "0 0 0 * *", "cron.day_of_month", 4, "1 to 31"),
    ("tompion", "0 0 32 * *", "cron.day_of_month", 4, "32 is out of range"),
    ("tompion", "0 0 1 13 *", "cron.month", 6, "1 to 12"),
    ("tompion", "0 0 1 0 *", "cron.month", 6, "1 to 12"),
    ("tompion", "0 0 * * 8", "cron.day_of_week", 8, "0 to 7"),
    ("tompion", "60 0 0 * * *", "cron.second", 0, "0 to 59"),
    ("tompion", "0 0 0 * * ? 1969", "cron.year", 12, "1970 to 2200"),
    ("tompion", "0 0 0 * * ? 2201", "cron.year", 12, "1970 to 2200"),
    ("tompion", "1,2,99 * * * *", "cron.minute", 4, "99 is out of range"),
    ("tompion", "10-99 * * * *", "cron.minute", 3, "99 is out of range"),
    ("tompion", "  0   99 * * *", "cron.hour", 6, "99 is out of range"),
    ("tompion", "CRON_TZ=UTC 0 99 * * *", "cron.hour", 14, "99 is out of range"),
    ("tompion", "0 0 99W * *", "cron.day_of_month", 4, "99 is out of range"),
    ("tompion", "0 0 * * +8", "cron.day_of_week", 9, "0 to 7"),
    ("tompion", "99999999999999999999 * * * *", "cron.minute", 0, "out of range"),
    ("quartz", "0 0 12 ? * 0", "cron.day_of_week", 11, "1 to 7"),
    ("quartz", "0 0 12 ? * 8", "cron.day_of_week", 11, "1 to 7"),
    # names
    ("tompion", "0 0 * FOO *", "cron.month", 6, "JAN to DEC"),
    ("tompion", "0 0 * * FOO", "cron.day_of_week", 8, "SUN to SAT"),
    ("tompion", "0 0 * JANU *", "cron.month", 6, "did you mean JAN?"),
    ("tompion", "0 0 * * TU", "cron.day_of_week", 8, "did you mean TUE?"),
    ("tompion", "0 0 * * MON-FIR", "cron.day_of_week", 12, "'FIR' is not the name of a weekday"),
    ("tompion", "MON * * * *", "cron.minute", 0, "'MON' is not a number"),
    ("tompion", "0 0 * MON *", "cron.month", 6, "'MON' is not the name of a month"),
    ("temporal", "0 0 * * M", "cron.day_of_week", 8, "not the name of a weekday"),
    ("temporal", "0 0 * JA *", "cron.month", 6, "did you mean JAN?"),
    # steps and ranges
    ("tompion", "*/0 * * * *", "cron.minute", 2, "step 0"),
    ("tompion", "*/ * * * *", "cron.minute", 2, "a whole number of 1 or more"),
    ("tompion", "*/x * * * *", "cron.minute", 2, "step 'x'"),
    ("tompion", "*/-5 * * * *", "cron.minute", 2, "step '-5'"),
    ("tompion", "*/1.5 * * * *", "cron.minute", 2, "a whole number"),
    ("tompion", "5/0 * * * *", "cron.minute", 2, "step 0"),
    ("tompion", "1,5-9/0 * * * *", "cron.minute", 6, "step 0"),
    ("tompion", "5/ * * * *", "cron.minute", 0, "cannot read '5/'"),
    ("tompion", "/5 * * * *", "cron.minute", 0, "cannot read '/5'"),
    ("tompion", "1-2-3 * * * *", "cron.minute", 0, "cannot read '1-2-3'"),
    ("tompion", "*-5 * * * *", "cron.minute", 0, "cannot read"),
    ("tompion", "-5 * * * *", "cron.minute", 0, "cannot read '-5'"),
    ("tompion", "5- * * * *", "cron.minute", 0, "cannot read '5-'"),
    ("tompion", "** * * * *", "cron.minute", 0, "cannot read '**'"),
    ("tompion", "0 0 * * 7/2", "cron.day_of_week", 8, "0 or SUN"),
    ("tompion", "0 0 0 * * ? 2030-2026", "cron.year", 12, "runs backwards"),
    ("quartz", "0 0/60 * * * ?", "cron.minute", 4, "at most 59"),
    ("temporal", "0 22-2 * * *", "cron.hour", 2, "write two ranges"),
    ("temporal", "0 0 * * FRI-MON", "cron.day_of_week", 8, "no wrap-around ranges"),
    # lists
    ("tompion", "1,,2 * * * *", "cron.minute", 2, "an empty element"),
    ("tompion", ",1 * * * *", "cron.minute", 0, "an empty element"),
    ("tompion", "1, * * * *", "cron.minute", 2, "a value between the commas"),
    ("tompion", "0 0 1,? * *", "cron.day_of_month", 6, "'?' alone"),
    ("tompion", "0 0 * * +", "cron.day_of_week", 9, "an empty element"),
    # day rules in the wrong place or out of range
    ("tompion", "? * * * *", "cron.minute", 0, "cannot read '?'"),
    ("tompion", "0 0 L-31 * *", "cron.day_of_month", 6, "L-1 to L-30"),
    ("tompion", "0 0 5#2 * *", "cron.day_of_month", 4, "cannot read '5#2'"),
    ("tompion", "0 0 * * L", "cron.day_of_week", 8, "5L or FRIL"),
    ("tompion", "0 0 * * L5", "cron.day_of_week", 8, "write 5L"),
    ("tompion", "0 0 * * 15W", "cron.day_of_week", 8, "W belongs to the day of the month"),
    ("tompion", "0 0 * * 5#0", "cron.day_of_week", 10, "#1 to #5"),
    ("tompion", "0 0 * * 5#6", "cron.day_of_week", 10, "#1 to #5"),
    ("tompion", "0 0 * * FRI#L", "cron.day_of_week", 12, "write FRIL for the last"),
    ("tompion", "0 0 * * 8#1", "cron.day_of_week", 8, "0 to 7"),
    ("tompion", "0 0 W * *", "cron.day_of_month", 4, "'W' is not a number"),
    ("tompion", "L * * * *", "cron.minute", 0, "'L' is not a number"),
    ("temporal", "0 0 L * *", "cron.day_of_month", 4, "'L'"),
    ("temporal", "0 0 ? * *", "cron.day_of_month", 4, "use dialect='tompion'"),
    ("temporal", "0 0 L-2 * *", "cron.day_of_month", 4, "L-2"),
    ("temporal", "0 0 15W * *", "cron.day_of_month", 4, "use dialect='tompion'"),
    ("quartz", "0 0 12 * * *", "cron", 7, "write '?' for the one that does not matter"),
    ("quartz", "0 0 12 1 * 2", "cron", 7, "exactly one of day of month and day of week"),
    ("quartz", "0 0 12 ? * ?", "cron", 7, "exactly one"),
    # hashes and random fields
    ("tompion", "H(5-2) * * * *", "cron.minute", 2, "runs backwards"),
    ("tompion", "H(0-60) * * * *", "cron.minute", 4, "60 is out of range"),
    ("tompion", "H/0 * * * *", "cron.minute", 2, "step 0"),
    ("tompion", "H/61 * * * *", "cron.minute", 2, "at most 60"),
    ("tompion", "H(0-9)/11 * * * *", "cron.minute", 7, "at most 10"),
    ("tompion", "0 0 0 * * ? H", "cron.year", 12, "one year only"),
    ("tompion", "0~30 * * * *", "cron.minute", 0, "use H"),
    ("tompion", "R * * * *", "cron.minute", 0, "'R'"),
    ("quartz", "0 H 12 * * ?", "cron.minute", 2, "'H' is not a number"),
    # shorthands
    ("tompion", "@reboot", "cron", 0, "trigger the schedule when your service starts"),
    ("tompion", "@fortnightly", "cron", 0, "@yearly"),
    ("tompion", " @daily 5", "cron", 1, "'@daily 5' is not a shorthand"),
    ("tompion", "@", "cron", 0, "is not a shorthand"),
    ("tompion", "@every", "cron", 0, "such as @every 1h30m"),
    ("tompion", "@every 1h 5m", "cron", 0, "one duration"),
    ("tompion", "@every 0s", "cron", 7, "1s or more"),
    ("tompion", "@every 1x", "cron.@every", 7, "not a duration"),
    ("tompion", "@every 1h30x", "cron.@every", 9, "not a duration"),
    ("tompion", "@every 500ms", "cron.@every", None, "whole seconds"),
    ("tompion", "@every 1h/", "cron.@every", 10, "not a duration"),
    ("tompion", "@every 1h/x", "cron.@every", 10, "not a duration"),
    ("tompion", "@every 1h/90m", "cron", 10, "less than the interval of 1h"),
    ("tompion", "TZ=UTC @every 1h", "cron", 0, "drop the prefix"),
    ("quartz", "@daily", "cron", 0, "Quartz has no @ names"),
    # zone prefixes
    ("tompion", "CRON_TZ= 0 9 * * *", "cron", 8, "a zone after '='"),
    ("quartz", "TZ=UTC 0 0 12 * * ?", "cron", 0, "set timezone instead"),
    # characters that are not plain text
    ("tompion", "0 9 * * *\0", "cron.day_of_week", 8, "cannot read"),
    ("tompion", "\0", "cron", 0, "1 field"),
    ("tompion", "٣ * * * *", "cron.minute", 0, "cannot read '٣'"),
    ("tompion", "*/² * * * *", "cron.minute", 2, "step '²'"),
    ("tompion", "１ * * * *", "cron.minute", 0, "cannot read"),
    ("tompion", "0 9 * * ＭＯＮ", "cron.day_of_week", 8, "cannot read"),
    ("tompion", "0 9 * * 🐢", "cron.day_of_week", 8, "cannot read"),
    ("tompion", "0 9 * * \ud800", "cron.day_of_week", 8, "cannot read"),
    ("tompion", "*" * 10_000, "cron", None, f"at most {MAX_TEXT_CHARS}"),
    ("tompion", "0 " * 400, "cron", 0, "400 fields"),
    ("tompion", "1," * 400 + "x * * * *", "cron.minute", 800, "'x' is not a number"),
]


@pytest.mark.parametrize(("dialect", "text", "field", "position", "fragment"), INVALID)
def test_error_has_field_and_position(
    dialect: Dialect, text: str, field: str, position: int | None, fragment: str
) -> None:
    with pytest.raises(InvalidSpec) as caught:
        parse_cron(text, dialect)
    error = caught.value
    assert (error.field, error.position, error.text) == (field, position, text)
    assert fragment in str(error)
    assert "\n" not in str(error)
    with pytest.raises(InvalidSpec):
        Spec(cron=text, dialect=dialect)


NEVER_SHORTENED = [
    ("0000059 * * * *", "minute", {59}),
    ("*/0000015 * * * *", "minute", {0, 15, 30, 45}),
    ("0 0 0 * * ? 0002026", "year", {2026}),
]


@pytest.mark.parametrize(("text", "name", "expected"), NEVER_SHORTENED)
def test_number_with_leading_zeros_is_accepted_or_rejected_as_a_whole(text: str, name: str, expected: set[int]) -> None:
    """Regression: only the first six digits were read, so 0000059 silently meant 5."""
    try:
        rule = rule_of(text)
    except InvalidSpec:
        return
    assert values(getattr(rule, name)) == expected


def test_nth_weekday_beyond_five_is_rejected() -> None:
    """Regression: only the first four digits were checked, so ``FRI#00015`` passed as ``#0001`` and never fired."""
    for text in ("0 0 * * FRI#15", "0 0 * * FRI#015", "0 0 * * FRI#00015", "0 0 * * FRI#0000000015"):
        with pytest.raises(InvalidSpec):
            parse_cron(text)


BACKWARDS: list[tuple[Dialect, str, int, int]] = [("tompion", "year", 2030, 2026), ("temporal", "hour", 22, 2)]


@pytest.mark.parametrize(("dialect", "name", "start", "end"), BACKWARDS)
def test_structured_range_wraps_only_where_text_may(dialect: Dialect, name: str, start: int, end: int) -> None:
    """Regression: ``{"start": 2030, "end": 2026}`` silently meant all years but three."""
    for calendar in ({name: f"{start}-{end}"}, {name: [{"start": start, "end": end}]}):
        with pytest.raises(InvalidSpec):
            Spec(calendars=[calendar], dialect=dialect)


def test_conflicting_zones_are_rejected() -> None:
    assert Spec(cron="TZ=Asia/Tokyo 0 9 * * *", timezone="Asia/Tokyo").next(0) == datetime(1970, 1, 2, tzinfo=UTC)
    with pytest.raises(InvalidSpec, match="set the zone in one place"):
        Spec(cron="TZ=Asia/Tokyo 0 9 * * *", timezone="Europe/Berlin")
    with pytest.raises(InvalidSpec, match="set the zone in one place"):
        tompion.compile_spec("TZ=Asia/Tokyo 0 9 * * *", "Europe/Berlin")
