"""Intervals, fixed delays, one-shots, unions, bounds and windows: the sources that are not days × times."""

from __future__ import annotations

import random
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

import pytest

import tompion
from tompion import InvalidSpec, NamedCalendar, Spec, Ticks
from tompion.spec.calendar.days import DAY, HORIZON
from tompion.spec.calendar.wall_clock import NoWall
from tompion.spec.interval import AllowedTicks, FixedDelayTicks, InstantTicks, IntervalTicks, ListedWall
from tompion.spec.ticks import Trace
from tompion.spec.union import BoundedTicks, UnionTicks
from tompion.spec.zone.tables import load_zone

HOUR = 3600
GREENWICH = load_zone(None)


def utc(text: str) -> int:
    return int(datetime.fromisoformat(text + "+00:00").timestamp())


def shown(epochs: Iterable[int]) -> list[str]:
    return [f"{datetime.fromtimestamp(epoch, UTC):%Y-%m-%dT%H:%M:%S}".removesuffix(":00") for epoch in epochs]


def between(first: str, last: str, **spec: Any) -> list[str]:
    """The ticks from one instant to another. The search backwards must give the same."""
    ticks = Spec(**spec).compile()
    begin, end = utc(first), utc(last)
    instants = list(islice(ticks.between_epochs(begin, end), 1_000))
    back: list[int] = []
    tick = ticks.prev_epoch(end + 1)
    while tick is not None and tick >= begin:
        assert not back or tick < back[-1]
        back.append(tick)
        tick = ticks.prev_epoch(tick)
    assert back[::-1] == instants
    assert all(ticks.trace(tick) is not None for tick in instants)
    return shown(instants)


# ---------------------------------------------------------------- intervals


@pytest.mark.parametrize(
    ("every", "offset", "after", "expected"),
    [
        (60, 0, -1, 0),
        (60, 0, 0, 60),
        (60, 0, 59, 60),
        (60, 0, 60, 120),
        (60, 7, -1, 7),
        (60, 7, 6, 7),
        (60, 7, 7, 67),
        (1, 0, 41, 42),
        (7 * DAY, 0, 1, 7 * DAY),
        (60, 0, -(10**12), 0),
        (60, 59, -(10**12), 59),
        (60, 0, HORIZON - 61, HORIZON - 60),
        (60, 0, HORIZON - 60, None),
        (60, 0, HORIZON + 10**9, None),
        (10**18, 0, -1, 0),
        (10**18, 0, 0, None),
        (10**18, 5, 0, 5),
    ],
)
def test_interval_counts_from_the_epoch(every: int, offset: int, after: int, expected: int | None) -> None:
    assert IntervalTicks(every, offset, GREENWICH).next_epoch(after) == expected


@pytest.mark.parametrize(
    ("every", "offset", "before", "expected"),
    [
        (60, 0, 0, None),
        (60, 0, 1, 0),
        (60, 0, 60, 0),
        (60, 0, 61, 60),
        (60, 7, 7, None),
        (60, 7, 8, 7),
        (60, 0, -(10**12), None),
        (60, 0, HORIZON, HORIZON - 60),
        (60, 0, HORIZON + 10**9, HORIZON - 60),
        (60, 59, 10**18, HORIZON - 1),
        (10**18, 5, HORIZON, 5),
    ],
)
def test_interval_has_ticks_back_to_the_epoch(every: int, offset: int, before: int, expected: int | None) -> None:
    assert IntervalTicks(every, offset, GREENWICH).prev_epoch(before) == expected


def test_interval_agrees_with_its_definition() -> None:
    draw = random.Random(1)
    for _ in range(2_000):
        every = draw.choice((1, 7, 60, 90, 3600, 86_399, 604_800, 10**7))
        offset, after = draw.randrange(every), draw.randrange(HORIZON - 2 * every)
        ticks = IntervalTicks(every, offset, GREENWICH)
        tick = ticks.next_epoch(after)
        assert tick is not None
        assert after < tick <= after + every or (after < offset and tick == offset)
        assert (tick - offset) % every == 0
        assert ticks.prev_epoch(tick + 1) == tick


def test_interval_ignores_dst() -> None:
    everywhere = {
        tuple(
            between("2025-03-09T00:00:00", "2025-03-09T23:59:59", intervals="5h/1h", timezone=zone)
            + between("2025-11-02T00:00:00", "2025-11-02T23:59:59", intervals="5h/1h", timezone=zone)
        )
        for zone in ("UTC", "America/New_York", "Australia/Lord_Howe")
    }
    assert len(everywhere) == 1


def test_interval_does_not_depend_on_its_creation() -> None:
    """Intervals are anchored at the epoch, so a later start only removes ticks."""
    early = Spec(intervals="7h", start_at="2026-01-01T00:00:00Z").between(
        utc("2026-02-01T00:00"), utc("2026-02-08T00:00")
    )
    late = Spec(intervals="7h", start_at="2026-01-31T13:17:00Z").between(
        utc("2026-02-01T00:00"), utc("2026-02-08T00:00")
    )
    assert early == late
    assert all(moment.timestamp() % (7 * HOUR) == 0 for moment in early)


def test_interval_tick_has_its_wall_time() -> None:
    ticks = Spec(intervals="1h", timezone="Asia/Kathmandu").compile()
    noon = utc("2026-01-01T12:00:00")
    assert ticks.trace(noon) == Trace(noon + 5 * HOUR + 45 * 60, "")
    assert ticks.trace(noon + 1) is None


# ---------------------------------------------------------------- a fixed delay after completion


def test_fixed_delay_counts_from_the_end_of_the_previous_run() -> None:
    ticks = Spec(intervals=[{"every": "10m", "anchor": "completion"}]).compile()
    ended = utc("2026-01-01T12:03:17")
    assert ticks.next_epoch(ended) == ended + 600
    assert ticks.next_epoch(ended + 1) == ended + 601
    assert ticks.prev_epoch(ended) is None
    assert ticks.trace(ended) == Trace(ended, "")
    assert ticks.next_epoch(HORIZON - 600) is None
    assert ticks.next_epoch(HORIZON - 601) == HORIZON - 1


def test_fixed_delay_on_an_excluded_day_fires_after_it() -> None:
    """Regression: it fired 59 minutes and 59 seconds late, because the delay was added again after the exclusion."""
    spec = Spec(intervals=[{"every": "1h", "anchor": "completion"}], exclude={"dates": ["2026-12-25"]})
    assert spec.compile().next_epoch(utc("2026-12-24T23:30:00")) == utc("2026-12-26T00:00:00")
    assert spec.compile().next_epoch(utc("2026-12-24T22:30:00")) == utc("2026-12-24T23:30:00")


def test_fixed_delay_in_a_window_fires_after_it() -> None:
    window = {"from": "2026-01-01T12:00:00Z", "to": "2026-01-01T18:00:00Z"}
    spec = Spec(intervals=[{"every": "1h", "anchor": "completion"}], exclude={"windows": [window]})
    assert spec.compile().next_epoch(utc("2026-01-01T11:30:00")) == utc("2026-01-01T18:00:00")
    assert spec.compile().next_epoch(utc("2026-01-01T10:59:59")) == utc("2026-01-01T11:59:59")


def test_fixed_delay_fires_at_the_start() -> None:
    """Regression: with ``start_at`` the first tick came almost a whole delay after it."""
    start = utc("2026-01-01T00:00:00")
    ticks = Spec(intervals=[{"every": "1h", "anchor": "completion"}], start_at="2026-01-01T00:00:00Z").compile()
    assert ticks.next_epoch(start - DAY) in {start, start + HOUR}
    assert ticks.next_epoch(start) == start + HOUR


# ---------------------------------------------------------------- one-shots


def test_one_shots_with_an_offset_are_instants_in_any_zone() -> None:
    times = ["2026-03-29T02:30:00+02:00", "2026-03-29T00:30:00Z", "2026-01-01T00:00:00-05:00"]
    ticks = between("2026-01-01T00:00:00", "2026-12-31T00:00:00", times=times, timezone="Asia/Tokyo")
    assert ticks == ["2026-01-01T05:00", "2026-03-29T00:30"]


WALL_TIMES = [
    ("Europe/Berlin", "2026-07-01T09:00:00", ["2026-07-01T07:00"]),
    ("Europe/Berlin", "2026-07-01", ["2026-06-30T22:00"]),
    ("Europe/Berlin", "2026-03-29T02:30:00", ["2026-03-29T01:00"]),  # lost: the first instant after the gap
    ("Europe/Berlin", "2026-10-25T02:30:00", ["2026-10-25T00:30"]),  # twice: the first
    (None, "2026-07-01T09:00:00", ["2026-07-01T09:00"]),
    ("Pacific/Apia", "2011-12-30T09:00:00", []),  # a day that did not exist
]


@pytest.mark.parametrize(("zone", "time", "expected"), WALL_TIMES)
def test_one_shots_without_an_offset_are_wall_times(zone: str | None, time: str, expected: list[str]) -> None:
    assert between("2000-01-01T00:00:00", "2100-01-01T00:00:00", times=time, timezone=zone) == expected


def test_one_shots_follow_the_dst_policy_of_fixed_sources() -> None:
    spec: dict[str, Any] = {"times": ["2026-03-29T02:30:00", "2026-10-25T02:30:00"], "timezone": "Europe/Berlin"}
    span = ("2026-01-01T00:00:00", "2026-12-31T00:00:00")
    assert between(*span, **spec, dst_gap="shift", dst_overlap="both") == [
        "2026-03-29T01:30",
        "2026-10-25T00:30",
        "2026-10-25T01:30",
    ]
    assert between(*span, **spec, dst_profile="quartz") == ["2026-10-25T01:30"]


def test_duplicate_one_shots_are_one_tick() -> None:
    times = ["2026-01-01T00:00:00Z", "2026-01-01T01:00:00+01:00", "2026-01-01", "1969-12-31T23:59:59Z"]
    ticks = Spec(times=[*times, "2201-01-01T00:00:00Z", "9999-12-31T00:00:00Z", "0001-01-01"]).compile()
    assert ticks.next_epoch(-(10**15)) == utc("2026-01-01T00:00:00")
    assert ticks.next_epoch(utc("2026-01-01T00:00:00")) is None
    assert ticks.prev_epoch(10**15) == utc("2026-01-01T00:00:00")
    assert ticks.prev_epoch(utc("2026-01-01T00:00:00")) is None


def test_datetimes_equal_their_text() -> None:
    aware = datetime(2026, 1, 1, 12, tzinfo=UTC)
    naive = datetime(2026, 1, 1, 12)
    spec = Spec(times=[aware, naive, naive.date()], timezone="Asia/Tokyo")
    assert spec.times == ("2026-01-01T12:00:00+00:00", "2026-01-01T12:00:00", "2026-01-01")
    assert spec.upcoming(9, 0) == [aware - timedelta(hours=21), aware - timedelta(hours=9), aware]


def test_one_shots_work_in_both_directions() -> None:
    wall = ListedWall((30, 10, 20, 10))
    assert [wall.next_local(at) for at in (0, 9, 10, 29, 30)] == [10, 10, 20, 30, None]
    assert [wall.prev_local(at) for at in (10, 11, 30, 31, 99)] == [None, 10, 20, 30, 30]
    instants = InstantTicks((30, 10, 20, 10), GREENWICH)
    assert [instants.next_epoch(at) for at in (-5, 10, 29, 30)] == [10, 20, 30, None]
    assert [instants.prev_epoch(at) for at in (10, 11, 31)] == [None, 10, 30]
    assert (instants.trace(20), instants.trace(21), instants.trace(99)) == (Trace(20, ""), None, None)


# ---------------------------------------------------------------- exclusions on what has no wall clock of its own


class Counting(Ticks):
    """Ticks that count their calls."""

    def __init__(self, inner: Ticks) -> None:
        self.inner, self.calls = inner, 0

    def next_epoch(self, after: int) -> int | None:
        self.calls += 1
        return self.inner.next_epoch(after)

    def prev_epoch(self, before: int) -> int | None:
        self.calls += 1
        return self.inner.prev_epoch(before)


def test_excluded_range_is_skipped_as_a_whole() -> None:
    """A tick each second, with one allowed second of the year, costs at most one step a day."""
    counting = Counting(IntervalTicks(1, 0, GREENWICH))
    ticks = AllowedTicks(counting, ListedWall((utc("2026-12-31T00:00:00"),)), load_zone("Europe/Berlin"))
    assert ticks.next_epoch(utc("2026-01-01T00:00:00")) == utc("2026-12-30T23:00:00")
    assert counting.calls <= 5
    counting.calls = 0
    assert ticks.prev_epoch(utc("2027-06-01T00:00:00")) == utc("2026-12-30T23:00:00")
    assert counting.calls <= 5


def test_search_ends_if_nothing_is_allowed() -> None:
    ticks = AllowedTicks(IntervalTicks(1, 0, GREENWICH), NoWall(wildcard=True), load_zone("Europe/Berlin"))
    assert ticks.next_epoch(utc("2026-01-01T00:00:00")) is None
    assert ticks.prev_epoch(utc("2026-01-01T00:00:00")) is None
    assert ticks.trace(0) is None


EVERY_SECOND: list[dict[str, Any]] = [
    {"cron": "* * * * * *"},
    {"intervals": "1s"},
    {"rrules": "DTSTART:20260101T000000\nRRULE:FREQ=SECONDLY"},
    {"times": [f"2026-01-02T00:{minute:02}:{second:02}" for minute in range(5, 25) for second in (0, 59)]},
]


@pytest.mark.parametrize("source", EVERY_SECOND)
@pytest.mark.parametrize(
    "exclude",
    [
        {"calendars": [{"minute": "10-19"}]},
        {"calendars": [{"minute": "10-19", "day_of_month": 2}]},
        {"windows": [{"from": "2026-01-02T00:10:00", "to": "2026-01-02T00:20:00"}]},
    ],
)
def test_seconds_next_to_an_exclusion_are_allowed(source: dict[str, Any], exclude: dict[str, Any]) -> None:
    ticks = Spec(**source, exclude=exclude).compile()
    last, first = utc("2026-01-02T00:09:59"), utc("2026-01-02T00:20:00")
    for instant in (last, last + 1, first - 1):
        assert ticks.next_epoch(instant) == first
    for instant in (first, first - 1, last + 1):
        assert ticks.prev_epoch(instant) == last


def test_interval_is_excluded_by_its_wall_time() -> None:
    """Half past two in Berlin comes twice on 2026-10-25: both instants are inside the excluded hour."""
    ticks = between(
        "2026-10-24T23:00:00",
        "2026-10-25T02:30:00",
        intervals="30m",
        timezone="Europe/Berlin",
        exclude={"calendars": [{"hour": 2}]},
    )
    assert ticks == ["2026-10-24T23:00", "2026-10-24T23:30", "2026-10-25T02:00", "2026-10-25T02:30"]


def test_skip_does_not_cross_a_clock_change() -> None:
    """In the night of the gap, 03:00 comes an hour earlier in real time."""
    spec = Spec(intervals="30m", timezone="Europe/Berlin", exclude={"calendars": [{"hour": "0-2"}]}).compile()
    assert spec.next_epoch(utc("2026-03-28T23:00:00")) == utc("2026-03-29T01:00:00")
    spec = Spec(intervals="30m", timezone="Europe/Berlin", exclude={"calendars": [{"hour": "2-5"}]}).compile()
    assert spec.prev_epoch(utc("2026-03-29T04:00:00")) == utc("2026-03-29T00:30:00")


def test_lost_wall_time_removes_no_interval_tick() -> None:
    exclude = {"calendars": [{"hour": 2, "day_of_month": 29, "month": 3}]}
    span = ("2026-03-29T00:00:00", "2026-03-29T02:00:00")
    assert between(*span, intervals="1h", timezone="Europe/Berlin", exclude=exclude) == [
        "2026-03-29T00:00",
        "2026-03-29T01:00",
        "2026-03-29T02:00",
    ]


# ---------------------------------------------------------------- unions


def test_union_has_each_instant_once() -> None:
    ticks = between(
        "2026-01-01T00:00:00",
        "2026-01-01T06:00:00",
        cron=["0 */2 * * *", "0 4 * * *"],
        intervals=["3h"],
        times=["2026-01-01T04:00:00Z", "2026-01-01T05:00:00"],
        calendars=[{"hour": 6}],
        rrules=["FREQ=DAILY;BYHOUR=5;BYMINUTE=30;BYSECOND=0"],
    )
    assert [text.partition("T")[2] for text in ticks] == ["00:00", "02:00", "03:00", "04:00", "05:00", "05:30", "06:00"]


def test_empty_union_has_no_ticks() -> None:
    for ticks in (UnionTicks(()), Spec().compile()):
        assert ticks.next_epoch(0) is None
        assert ticks.prev_epoch(HORIZON) is None
        assert ticks.trace(0) is None


def test_sources_of_one_spec_may_have_different_zones() -> None:
    ticks = between(
        "2026-01-01T00:00:00", "2026-01-01T23:59:59", cron=["TZ=Asia/Tokyo 0 9 * * *", "TZ=America/New_York 0 9 * * *"]
    )
    assert ticks == ["2026-01-01T00:00", "2026-01-01T14:00"]


def test_direct_tick_precedes_a_moved_tick() -> None:
    spec = Spec(cron=["30 2 * * *", "0 3 * * *"], timezone="Europe/Berlin")
    at_three = utc("2026-03-29T01:00:00")
    assert spec.compile().trace(at_three) == Trace(at_three + 2 * HOUR, "")


# ---------------------------------------------------------------- bounds and windows

BOUNDS: list[tuple[dict[str, Any], list[str]]] = [
    ({"start_at": "2026-01-02T00:00:00Z", "end_at": "2026-01-04T00:00:00Z"}, ["02", "03", "04"]),
    ({"start_at": "2026-01-02T00:00:01Z", "end_at": "2026-01-03T23:59:59Z"}, ["03"]),
    ({"start_at": "2026-01-02T00:00:00.000001Z", "end_at": "2026-01-04T00:00:00.5Z"}, ["03", "04"]),
    ({"start_at": "2026-01-02", "end_at": "2026-01-04"}, ["02", "03", "04"]),
    ({"start_at": "2026-01-03T00:00:00Z", "end_at": "2026-01-03T00:00:00Z"}, ["03"]),
    ({"end_at": "2026-01-01"}, ["01"]),
    ({"start_at": "2026-01-05"}, ["05"]),
    ({"start_at": "1960-01-01", "end_at": "9999-12-31"}, ["01", "02", "03", "04", "05"]),
]


@pytest.mark.parametrize(("bounds", "expected"), BOUNDS)
def test_bounds_are_inclusive(bounds: dict[str, Any], expected: list[str]) -> None:
    ticks = between("2026-01-01T00:00:00", "2026-01-05T00:00:00", cron="0 0 * * *", **bounds)
    assert ticks == [f"2026-01-{day}T00:00" for day in expected]


def test_bounds_without_an_offset_are_wall_times() -> None:
    ticks = between(
        "2025-01-01T00:00:00",
        "2027-01-01T00:00:00",
        cron="0 * * * *",
        timezone="Asia/Tokyo",
        start_at="2026-01-01T09:00:00",
        end_at="2026-01-01T10:00:00",
    )
    assert ticks == ["2026-01-01T00:00", "2026-01-01T01:00"]


def test_end_date_includes_a_25_hour_day() -> None:
    ticks = between(
        "2026-10-24T22:00:00", "2026-10-27T00:00:00", cron="0 */1 * * *", timezone="Europe/Berlin", end_at="2026-10-25"
    )
    assert len(ticks) == 25
    assert ticks[-1] == "2026-10-25T22:00"


def test_end_before_the_start_is_rejected() -> None:
    with pytest.raises(InvalidSpec, match="is before start_at") as caught:
        Spec(cron="0 0 * * *", start_at="2026-01-02", end_at="2026-01-01")
    assert caught.value.field == "end_at"


WINDOWS = [
    ([("2026-01-02T00:00:00", "2026-01-04T00:00:00")], ["01", "04", "05"]),
    ([("2026-01-02", "2026-01-03")], ["01", "04", "05"]),
    ([("2026-01-02", "2026-01-02")], ["01", "03", "04", "05"]),
    ([("2026-01-02T00:00:00Z", "2026-01-02T00:00:01Z")], ["01", "03", "04", "05"]),
    ([("2026-01-01T23:59:59Z", "2026-01-02T00:00:00Z")], ["01", "02", "03", "04", "05"]),
    ([("2026-01-02", "2026-01-03"), ("2026-01-03", "2026-01-04")], ["01", "05"]),
    ([("2026-01-04", "2026-01-04"), ("2026-01-02", "2026-01-02")], ["01", "03", "05"]),
    ([("2026-01-02", "2026-01-04"), ("2026-01-03", "2026-01-03")], ["01", "05"]),
    ([("2020-01-01", "2030-01-01")], []),
    ([("0001-01-01", "2026-01-03"), ("2026-01-05", "9999-12-31")], ["04"]),
]


@pytest.mark.parametrize(("windows", "expected"), WINDOWS)
def test_window_includes_its_beginning_and_not_its_end(windows: list[tuple[str, str]], expected: list[str]) -> None:
    exclude = {"windows": [{"from": begin, "to": end} for begin, end in windows]}
    ticks = between("2026-01-01T00:00:00", "2026-01-05T00:00:00", cron="0 0 * * *", exclude=exclude)
    assert ticks == [f"2026-01-{day}T00:00" for day in expected]


def test_date_is_a_whole_day_in_both_iso_spellings() -> None:
    """Regression: ``20260103`` was read as its midnight, so a window up to it did not include that day."""
    windows = [{"from": "20260102", "to": "20260103"}]
    try:
        spec = Spec(cron="0 12 * * *", exclude={"windows": windows})
    except InvalidSpec:
        return
    assert spec.next(utc("2026-01-02T00:00:00")) == datetime(2026, 1, 4, 12, tzinfo=UTC)


def test_window_that_ends_before_it_begins_is_rejected() -> None:
    with pytest.raises(InvalidSpec, match="before it begins") as caught:
        Spec(cron="0 0 * * *", exclude={"windows": [{"from": "2026-01-02", "to": "2026-01-01"}]})
    assert caught.value.field == "exclude.windows[0]"


def test_window_inside_a_gap_is_empty() -> None:
    """Every night from two to three is excluded. In the night of the gap the window is empty, which is not an error."""
    window = {"from": "2026-03-29T02:00:00", "to": "2026-03-29T03:00:00"}
    spec = Spec(cron="0 3 * * *", timezone="Europe/Berlin", exclude={"windows": [window]})
    assert spec.next(utc("2026-03-29T00:00:00")) == datetime(2026, 3, 29, 1, tzinfo=UTC)


def test_overlapping_windows_are_merged() -> None:
    counting = Counting(IntervalTicks(1, 0, GREENWICH))
    windows = [(second, second + 10) for second in range(100, 10_000, 5)]
    ticks = BoundedTicks(counting, 0, HORIZON, windows)
    assert ticks.next_epoch(99) == 10_005
    assert ticks.prev_epoch(10_005) == 99
    assert counting.calls <= 4


def test_named_calendars_are_passed_by_name() -> None:
    spec = Spec(cron="0 0 * * *", exclude={"named": ["company"]})
    handed = [NamedCalendar("other", ("2026-01-01",)), NamedCalendar("company", ("2026-01-02", "2026-01-03"))]
    assert spec.next(utc("2026-01-01T00:00:00"), calendars=handed) == datetime(2026, 1, 4, tzinfo=UTC)
    with pytest.raises(InvalidSpec, match="unknown calendar 'company'"):
        spec.next(0)


def test_day_of_a_named_calendar_is_in_its_own_zone() -> None:
    spec = Spec(cron="0 */6 * * *", exclude={"named": ["tokyo"]})
    tokyo = NamedCalendar("tokyo", ("2026-01-02",), timezone="Asia/Tokyo")
    ticks = spec.between(utc("2026-01-01T12:00:00"), utc("2026-01-02T18:00:00"), calendars=[tokyo])
    assert [moment.isoformat()[:16] for moment in ticks] == ["2026-01-01T12:00", "2026-01-02T18:00"]


def test_many_specs_are_computed_at_once() -> None:
    one, other = tompion.compile_spec("0 9 * * *"), tompion.compile_spec("0 10 * * *")
    assert tompion.next_many([one, other, one], 0) == [9 * HOUR, 10 * HOUR, 9 * HOUR]
    assert tompion.next_many([one, one], [0, 9 * HOUR]) == [9 * HOUR, DAY + 9 * HOUR]
    assert tompion.next_many([FixedDelayTicks(5, GREENWICH)], HORIZON) == [None]
    with pytest.raises(ValueError, match="zip"):
        tompion.next_many([one], [1, 2])
