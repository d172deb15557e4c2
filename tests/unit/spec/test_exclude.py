"""Exclusions: each kind, on each kind of source, around clock changes, and their cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tompion import InvalidSpec, NamedCalendar, Spec, UnknownZone
from tompion.model.spec import WindowDocument
from tompion.spec.calendar.days import Days
from tompion.spec.calendar.wall_clock import Wall
from tompion.spec.interval import IntervalTicks
from tompion.spec.rrule.compiler import Rrule

BERLIN = "Europe/Berlin"
Exclude = dict[str, Any]


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def window(begin: str, end: str) -> dict[str, str]:
    return {"from": begin, "to": end}


def ticks(spec: Spec, start: str, end: str, calendars: tuple[NamedCalendar, ...] = ()) -> list[str]:
    """The ticks of a UTC range without year and seconds, computed forwards and backwards."""
    forwards = spec.between(utc(start), utc(end), calendars=calendars)
    assert backwards(spec, utc(start), utc(end), calendars) == forwards
    return [f"{tick:%m-%d %H:%M}" for tick in forwards]


def backwards(spec: Spec, start: datetime, end: datetime, calendars: tuple[NamedCalendar, ...]) -> list[datetime]:
    remaining: list[datetime] = []
    tick = spec.prev(end + timedelta(seconds=1), calendars=calendars)
    while tick is not None and tick >= start:
        remaining.insert(0, tick)
        tick = spec.prev(tick, calendars=calendars)
    return remaining


# --- each kind --------------------------------------------------------------------------------------------------

# 2026-06-01 is a Monday. The source fires at 09:00 and 15:00 every day.
KINDS: list[tuple[Exclude, list[str]]] = [
    ({"dates": ["2026-06-02"]}, ["1 9", "1 15", "3 9", "3 15"]),
    ({"dates": [date(2026, 6, 1), "2026-06-03"]}, ["2 9", "2 15"]),
    ({"calendars": [{"day_of_week": "TUE"}]}, ["1 9", "1 15", "3 9", "3 15"]),
    ({"calendars": [{"day_of_month": 2, "month": "JUN"}]}, ["1 9", "1 15", "3 9", "3 15"]),
    ({"calendars": [{"day_of_month": "2", "month": "JUL"}]}, ["1 9", "1 15", "2 9", "2 15", "3 9", "3 15"]),
    ({"calendars": [{"year": 2026}]}, []),
    ({"calendars": [{"year": 2027}]}, ["1 9", "1 15", "2 9", "2 15", "3 9", "3 15"]),
    ({"calendars": [{"hour": 15}]}, ["1 9", "2 9", "3 9"]),
    ({"calendars": [{"hour": "13-23", "day_of_week": "TUE"}]}, ["1 9", "1 15", "2 9", "3 9", "3 15"]),
    ({"calendars": [{"minute": 30}]}, ["1 9", "1 15", "2 9", "2 15", "3 9", "3 15"]),
    ({"calendars": [{"second": "1-59"}]}, ["1 9", "1 15", "2 9", "2 15", "3 9", "3 15"]),
    ({"calendars": [{}]}, []),
    ({"calendars": [{"day_of_week": "MON"}, {"hour": 9}]}, ["2 15", "3 15"]),
    ({"calendars": [{"day_of_week": 2, "hour": 9}, {"day_of_week": 2, "hour": 15}]}, ["1 9", "1 15", "3 9", "3 15"]),
    ({"windows": [window("2026-06-01T15:00", "2026-06-02T15:00")]}, ["1 9", "2 15", "3 9", "3 15"]),
    ({"windows": [window("2026-06-01T15:01", "2026-06-02T15:01")]}, ["1 9", "1 15", "3 9", "3 15"]),
    ({"windows": [window("2026-06-02", "2026-06-02")]}, ["1 9", "1 15", "3 9", "3 15"]),
    ({"windows": [window("2026-06-02", "2026-06-03T00:00")]}, ["1 9", "1 15", "3 9", "3 15"]),
    ({"windows": [window("2026-06-01", "2026-06-02"), window("2026-06-02", "2026-06-03T10:00")]}, ["3 15"]),
    ({"windows": [window("2026-06-01", "2026-06-03"), window("2026-06-02", "2026-06-02")]}, []),
    ({"windows": [window("1960-01-01", "2026-06-02")]}, ["3 9", "3 15"]),
    ({"holidays": [{"country": "DE", "dates": ["2026-06-02"]}]}, ["1 9", "1 15", "3 9", "3 15"]),
    ({"dates": "2026-06-01", "calendars": [{"hour": 9}], "windows": window("2026-06-03", "2026-06-03")}, ["2 15"]),
]  # fmt: skip

SOURCES: dict[str, dict[str, Any]] = {
    "cron": {"cron": "0 9,15 * * *"},
    "two crons": {"cron": ["0 9 * * *", "0 15 * * *"]},
    "calendar": {"calendars": {"hour": [9, 15]}},
    "rrule": {"rrules": "DTSTART:20260101T090000\nRRULE:FREQ=DAILY;BYHOUR=9,15"},
    "interval": {"intervals": ["24h/9h", "24h/15h"]},
    "instants": {"times": [f"2026-06-0{day}T{hour}:00Z" for day in (1, 2, 3) for hour in ("09", "15")]},
    "wall times": {"times": [f"2026-06-0{day}T{hour}:00" for day in (1, 2, 3) for hour in ("09", "15")]},
}


def can_fire(exclude: Exclude, source: str) -> bool:
    """An interval with one time a day that is always excluded never fires. Its cost is tested below."""
    return source != "interval" or not any(set(calendar) == {"hour"} for calendar in exclude.get("calendars", ()))


@pytest.mark.parametrize(
    ("exclude", "left", "source"),
    [(exclude, left, source) for exclude, left in KINDS for source in SOURCES if can_fire(exclude, source)],
)
def test_each_exclusion_kind_applies_to_each_source_kind(exclude: Exclude, left: list[str], source: str) -> None:
    spec = Spec(**SOURCES[source], exclude=exclude)
    remaining = spec.between(utc("2026-06-01"), utc("2026-06-03T23:59"))
    assert [f"{tick.day} {tick.hour}" for tick in remaining] == left
    assert backwards(spec, utc("2026-06-01"), utc("2026-06-03T23:59"), ()) == remaining


def test_fridays_after_13_are_excluded_and_other_days_are_not() -> None:
    spec = Spec(cron="0 12-14 * * *", exclude={"calendars": [{"day_of_week": "FRI", "hour": "13-23"}]})
    assert ticks(spec, "2026-06-04", "2026-06-06T23:59") == [
        "06-04 12:00", "06-04 13:00", "06-04 14:00", "06-05 12:00", "06-06 12:00", "06-06 13:00", "06-06 14:00",
    ]  # fmt: skip


@pytest.mark.parametrize(("field", "left"), [("second", 59 * 60), ("minute", 59 * 60), ("hour", 0)])
def test_omitted_time_fields_of_an_exclusion_match_everything(field: str, left: int) -> None:
    spec = Spec(cron="* * * * * *", exclude={"calendars": [{field: 0}]})
    assert len(spec.between(utc("2026-06-01T00:00:00"), utc("2026-06-01T00:59:59"))) == left


def test_weekday_numbers_of_an_exclusion_follow_the_dialect() -> None:
    tompion = Spec(cron="0 9 * * *", exclude={"calendars": [{"day_of_week": "1"}]})
    quartz = Spec(cron="0 0 9 * * ?", dialect="quartz", exclude={"calendars": [{"day_of_week": "1"}]})
    excluded = {}
    for name, spec in [("tompion", tompion), ("quartz", quartz)]:
        kept = {tick.strftime("%a") for tick in spec.between(utc("2026-06-01"), utc("2026-06-08"))}
        excluded[name] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"} - kept
    assert excluded == {"tompion": {"Mon"}, "quartz": {"Sun"}}


def test_h_in_an_exclusion_depends_on_the_schedule() -> None:
    spec = Spec(cron="0 * * * *", exclude={"calendars": [{"hour": "H"}]})
    missing = {}
    for name in ("nightly", "weekly"):
        kept = {tick.hour for tick in spec.between(utc("2026-06-01"), utc("2026-06-01T23:00"), schedule_id=name)}
        missing[name] = set(range(24)) - kept
    assert all(len(hours) == 1 for hours in missing.values())
    assert missing["nightly"] != missing["weekly"]


# --- named calendars --------------------------------------------------------------------------------------------

COMPANY = NamedCalendar(
    "company", dates=("2026-07-04",), windows=(WindowDocument("2026-07-06T10:00", "2026-07-06T12:00"),)
)


def test_named_calendar_without_a_zone_uses_the_zone_of_the_schedule() -> None:
    for zone in ("UTC", BERLIN, "Asia/Tokyo"):
        spec = Spec(cron="0 9,11 * * *", timezone=zone, exclude={"named": ["company"]})
        local = spec.occurrences(6, utc("2026-07-02T20:00"), calendars=[COMPANY])
        texts = [f"{tick.local:%d %H}" for tick in local]
        assert texts == ["03 09", "03 11", "05 09", "05 11", "06 09", "07 09"]


def test_named_calendar_with_a_zone_excludes_days_in_that_zone() -> None:
    """The fourth of July in New York lasts from 06:00 to 06:00 of the next day in Berlin."""
    there = NamedCalendar("us", dates=("2026-07-04",), timezone="America/New_York")
    spec = Spec(cron="0 5,6 * * *", timezone=BERLIN, exclude={"named": ["us"]})
    texts = [f"{tick.local:%d %H}" for tick in spec.occurrences(5, utc("2026-07-03T00:00"), calendars=[there])]
    assert texts == ["03 05", "03 06", "04 05", "05 06", "06 05"]


def test_window_of_a_named_calendar_is_in_its_own_zone() -> None:
    there = NamedCalendar(
        "us", windows=(WindowDocument("2026-07-04T00:00", "2026-07-04T01:00"),), timezone="America/New_York"
    )
    spec = Spec(cron="*/30 * * * *", exclude={"named": ["us"]})
    assert ticks(spec, "2026-07-04T03:30", "2026-07-04T05:00", (there,)) == ["07-04 03:30", "07-04 05:00"]


def test_unknown_calendar_is_rejected_with_the_known_names() -> None:
    spec = Spec(cron="0 9 * * *", exclude={"named": ["holidays", "company"]})
    with pytest.raises(InvalidSpec, match="unknown calendar 'company'") as caught:
        spec.next(0, calendars=[NamedCalendar("holidays")])
    assert caught.value.field == "exclude.named[1]"
    assert "(holidays)" in str(caught.value)
    with pytest.raises(InvalidSpec, match=r"unknown calendar 'holidays'.*no calendar was passed"):
        spec.next(0)


def test_calendar_that_the_spec_does_not_name_excludes_nothing() -> None:
    spec = Spec(cron="0 9 * * *")
    assert spec.next(utc("2026-07-04"), calendars=[COMPANY]) == utc("2026-07-04T09:00")


def test_new_version_of_a_named_calendar_applies_immediately() -> None:
    spec = Spec(cron="0 9 * * *", exclude={"named": ["company"]})
    moved = NamedCalendar("company", dates=("2026-07-05",), version=2)
    assert spec.next(utc("2026-07-04"), calendars=[COMPANY]) == utc("2026-07-05T09:00")
    assert spec.next(utc("2026-07-04"), calendars=[moved]) == utc("2026-07-04T09:00")


@pytest.mark.parametrize(
    ("calendar", "kind", "message"),
    [
        (NamedCalendar("company", dates=("4.7.",)), InvalidSpec, "calendar 'company': '4.7.' is not a date"),
        (NamedCalendar("company", timezone="Mars/Base"), UnknownZone, "unknown time zone 'Mars/Base'"),
        (NamedCalendar("company", windows=(WindowDocument("x", "y"),)), InvalidSpec, "calendar 'company'.from: 'x'"),
    ],
)
def test_error_names_an_invalid_named_calendar(calendar: NamedCalendar, kind: type[InvalidSpec], message: str) -> None:
    with pytest.raises(kind) as caught:
        Spec(cron="0 9 * * *", exclude={"named": ["company"]}).next(0, calendars=[calendar])
    assert message in str(caught.value)


# --- clock changes ----------------------------------------------------------------------------------------------


def berlin(exclude: Exclude, cron: str = "30 2 * * *", **more: Any) -> dict[str, Any]:
    return {"cron": cron, "timezone": BERLIN, "exclude": exclude, **more}


SPRING = ("2026-03-28T12:00", "2026-03-29T12:00")
AUTUMN = ("2026-10-24T12:00", "2026-10-25T12:00")

AROUND_CHANGES: list[tuple[str, dict[str, Any], tuple[str, str], list[str]]] = [
    ("without an exclusion it is caught up at 03:00", berlin({}), SPRING, ["03-29 01:00"]),
    ("the day is excluded, so nothing is caught up", berlin({"dates": ["2026-03-29"]}), SPRING, []),
    ("the hour that the rule names is excluded", berlin({"calendars": [{"hour": 2}]}), SPRING, []),
    ("the hour that it lands in is not what counts", berlin({"calendars": [{"hour": 3}]}), SPRING, ["03-29 01:00"]),
    (
        "one of two lost times is left",
        berlin({"calendars": [{"hour": 2, "minute": 0}]}, "0,30 2 * * *"),
        SPRING,
        ["03-29 01:00"],
    ),
    (
        "a shifted tick is judged by the time that the rule names",
        berlin({"calendars": [{"hour": 3}]}, dst_gap="shift"),
        SPRING,
        ["03-29 01:30"],
    ),
    (
        "a window is compared with the instant: it covers 03:00, where the tick lands",
        berlin({"windows": window("2026-03-29T03:00", "2026-03-29T03:30")}),
        SPRING,
        [],
    ),
    (
        "a window that begins in the gap begins after it",
        berlin({"windows": window("2026-03-29T02:45", "2026-03-29T03:15")}),
        SPRING,
        [],
    ),
    (
        "a window that ends in the gap ends at its end, and does not include it",
        berlin({"windows": window("2026-03-29T01:00", "2026-03-29T02:15")}),
        SPRING,
        ["03-29 01:00"],
    ),
    (
        "a date-only window lasts for all 25 hours",
        berlin({"windows": window("2026-10-25", "2026-10-25")}, "30 * * * *"),
        ("2026-10-24T21:00", "2026-10-25T23:59"),
        ["10-24 21:30", "10-25 23:30"],
    ),
    (
        "a window by instants covers one pass only",
        berlin({"windows": window("2026-10-25T00:00Z", "2026-10-25T01:00Z")}, dst_overlap="both"),
        AUTUMN,
        ["10-25 01:30"],
    ),
]


@pytest.mark.parametrize(
    ("spec", "bounds", "left"),
    [row[1:] for row in AROUND_CHANGES],
    ids=[row[0] for row in AROUND_CHANGES],
)
def test_exclusion_applies_around_a_clock_change(
    spec: dict[str, Any], bounds: tuple[str, str], left: list[str]
) -> None:
    assert ticks(Spec(**spec), *bounds) == left


def test_excluded_hour_is_excluded_in_both_passes() -> None:
    spec = Spec(**berlin({"calendars": [{"hour": 2}]}, "*/30 * * * *"))
    assert ticks(spec, "2026-10-24T23:00", "2026-10-25T02:00") == ["10-24 23:00", "10-24 23:30", "10-25 02:00"]


def test_interval_is_excluded_by_wall_time() -> None:
    """It has no zone. It is excluded at 02:xx in Berlin, which is one hour in summer and two in October."""
    spec = Spec(intervals="30m", timezone=BERLIN, exclude={"calendars": [{"hour": 2}]})
    assert ticks(spec, "2026-10-24T23:30", "2026-10-25T02:00") == ["10-24 23:30", "10-25 02:00"]
    assert ticks(spec, "2026-07-01T00:00", "2026-07-01T01:00") == ["07-01 01:00"]
    assert ticks(spec, "2026-03-29T00:30", "2026-03-29T01:00") == ["03-29 00:30", "03-29 01:00"]


# --- against brute force ----------------------------------------------------------------------------------------

HOURLY: dict[str, dict[str, Any]] = {
    "cron": {"cron": "0 * * * *"},
    "interval": {"intervals": "1h"},
    "rrule": {"rrules": "FREQ=HOURLY"},
}
HOURS = st.tuples(st.integers(0, 6), st.integers(0, 23), st.integers(0, 23)).filter(lambda part: part[1] <= part[2])
MOMENTS = st.builds(lambda hours: datetime(2026, 6, 1) + timedelta(hours=hours), st.integers(0, 24 * 20))


@settings(max_examples=40)
@given(
    dates=st.sets(st.dates(date(2026, 6, 1), date(2026, 6, 20)), max_size=8),
    parts=st.lists(HOURS, max_size=4),
    bounds=st.tuples(MOMENTS, MOMENTS).filter(lambda pair: pair[0] < pair[1]),
    source=st.sampled_from(["cron", "interval", "rrule"]),
)
def test_exclusions_agree_with_a_filter_over_all_hours(
    dates: set[date], parts: list[tuple[int, int, int]], bounds: tuple[datetime, datetime], source: str
) -> None:
    def excluded(moment: datetime) -> bool:
        weekday = (moment.weekday() + 1) % 7
        partly = any(weekday == day and first <= moment.hour <= last for day, first, last in parts)
        return moment.date() in dates or partly or bounds[0] <= moment < bounds[1]

    spec = Spec(
        **HOURLY[source],
        exclude={
            "dates": dates,
            "calendars": [{"day_of_week": str(day), "hour": f"{first}-{last}"} for day, first, last in parts],
            "windows": [{"from": bounds[0], "to": bounds[1]}],
        },
    )
    hours = [datetime(2026, 6, 1) + timedelta(hours=index) for index in range(24 * 20)]
    expected = [moment.replace(tzinfo=UTC) for moment in hours if not excluded(moment)]
    remaining = spec.between(hours[0].replace(tzinfo=UTC), hours[-1].replace(tzinfo=UTC))
    assert remaining == expected
    assert backwards(spec, hours[0].replace(tzinfo=UTC), hours[-1].replace(tzinfo=UTC), ()) == expected


# --- what it costs ----------------------------------------------------------------------------------------------


@pytest.fixture
def count_calls(monkeypatch: pytest.MonkeyPatch) -> Callable[[type, str], Counter[str]]:
    """Count the calls of a method of the engine. Steps are more stable than durations."""
    calls: Counter[str] = Counter()

    def watch(kind: type, name: str) -> Counter[str]:
        original = getattr(kind, name)

        def counted(*arguments: Any) -> Any:
            calls[name] += 1
            return original(*arguments)

        monkeypatch.setattr(kind, name, counted)
        return calls

    return watch


ONLY_DECEMBER_24 = [{"month": "1-11"}, {"month": 12, "day_of_month": "1-23,25-31"}]
EVERY_SECOND: dict[str, tuple[dict[str, Any], type, str]] = {
    "cron": ({"cron": "* * * * * *"}, Days, "next_day"),
    "calendar": ({"calendars": {"second": "*", "minute": "*", "hour": "*"}}, Days, "next_day"),
    "interval": ({"intervals": 1}, IntervalTicks, "next_epoch"),
    "rrule": ({"rrules": "FREQ=SECONDLY"}, Rrule, "next_local"),
}


@pytest.mark.parametrize("source", EVERY_SECOND)
def test_tick_per_second_on_one_day_a_year_costs_few_steps(
    source: str, count_calls: Callable[[type, str], Counter[str]]
) -> None:
    """There are thirty million excluded ticks between two results. A step for each would take a minute."""
    arguments, kind, method = EVERY_SECOND[source]
    compiled = Spec(**arguments, exclude={"calendars": ONLY_DECEMBER_24}).compile()
    calls = count_calls(kind, method)
    after = int(utc("2026-12-24T23:59:59").timestamp())
    assert compiled.next_epoch(after) == int(utc("2027-12-24").timestamp())
    assert 1 <= calls[method] <= 12


class TooManySteps(Exception):
    """Raised instead of waiting for minutes."""


def limit_calls(kind: type, method: str, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    original, calls = getattr(kind, method), 0

    def counted(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > limit:
            raise TooManySteps
        return original(*arguments)

    monkeypatch.setattr(kind, method, counted)


@pytest.mark.parametrize(
    ("arguments", "kind", "method"),
    [
        ({"intervals": "24h/15h", "exclude": {"calendars": [{"hour": 15}]}}, IntervalTicks, "next_epoch"),
        ({"intervals": "1h", "exclude": {"calendars": [{"minute": 0}]}}, IntervalTicks, "next_epoch"),
        ({"intervals": "2s", "exclude": {"calendars": [{"second": "*/2"}]}}, IntervalTicks, "next_epoch"),
        ({"rrules": "FREQ=HOURLY", "exclude": {"calendars": [{"minute": 0}]}}, Rrule, "next_local"),
        ({"rrules": "FREQ=DAILY", "exclude": {"calendars": [{"hour": 0}]}}, Rrule, "next_local"),
    ],
)
def test_fully_excluded_source_ends_in_bounded_steps(
    arguments: dict[str, Any], kind: type, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: an hourly interval minus minute 0 took 16 seconds to return None."""
    compiled = Spec(**arguments).compile()
    limit_calls(kind, method, 5_000, monkeypatch)
    assert compiled.next_epoch(int(utc("2026-06-01").timestamp())) is None


BY_WEEKDAY = {"calendars": [{"day_of_week": "0-3", "second": 0}, {"day_of_week": "4-6", "second": 0}]}


@pytest.mark.parametrize(
    ("source", "kind", "method"),
    [({"intervals": "1m"}, IntervalTicks, "next_epoch"), ({"rrules": "FREQ=MINUTELY"}, Rrule, "next_local")],
)
def test_source_excluded_by_weekday_costs_a_step_a_day(
    source: dict[str, Any], kind: type, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: second 0 on some weekdays and second 0 excluded on the others took a quarter of an hour."""
    compiled = Spec(**source, exclude=BY_WEEKDAY).compile()
    limit_calls(kind, method, 2_000, monkeypatch)
    assert compiled.next_epoch(int(utc("2199-01-01").timestamp())) is None


def test_partial_exclusion_costs_a_step_a_day(count_calls: Callable[[type, str], Counter[str]]) -> None:
    """Every second, but on the days 1 to 30 of a month never: 31 January to 31 March is 59 days further."""
    exclude = {"calendars": [{"day_of_month": "1-30", "hour": "0-11"}, {"day_of_month": "1-30", "hour": "12-23"}]}
    compiled = Spec(cron="* * * * * *", exclude=exclude).compile()
    calls = count_calls(Wall, "times_on")
    after = int(utc("2026-01-31T23:59:59").timestamp())
    assert compiled.next_epoch(after) == int(utc("2026-03-31").timestamp())
    assert 59 <= calls["times_on"] <= 70


def test_always_excluded_spec_ends_in_a_step_a_month(
    count_calls: Callable[[type, str], Counter[str]],
) -> None:
    exclude = {"calendars": [{"year": "1970-2100"}, {"year": "2101-2200"}]}
    compiled = Spec(cron="* * * * * *", exclude=exclude).compile()
    calls = count_calls(Days, "mask")
    assert compiled.next_epoch(0) is None
    assert calls["mask"] <= 40_000


@pytest.mark.parametrize("source", EVERY_SECOND)
def test_adjacent_windows_are_skipped_as_one(source: str, count_calls: Callable[[type, str], Counter[str]]) -> None:
    arguments, kind, method = EVERY_SECOND[source]
    begin = datetime(2026, 6, 1)
    edges = [begin + timedelta(hours=index) for index in range(2_001)]
    windows = [{"from": edges[index], "to": edges[index + 1]} for index in range(2_000)]
    compiled = Spec(**arguments, exclude={"windows": windows}).compile()
    calls = count_calls(kind, method)
    assert compiled.next_epoch(int(utc("2026-05-31T23:59:59").timestamp())) == int(
        edges[-1].replace(tzinfo=UTC).timestamp()
    )
    assert calls[method] <= 6
