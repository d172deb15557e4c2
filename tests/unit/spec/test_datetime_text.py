"""Dates and times as users write them: their kinds, and their instants around clock changes."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from functools import cache
from importlib.resources import files
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tompion import InvalidSpec, Spec
from tompion.spec.datetime_text import Moment, first_instant, last_instant, moment_text, read_day, read_moment
from tompion.spec.zone.tables import load_zone

DAY = 86_400


def epoch(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp())


def iso(instant: int) -> str:
    return datetime.fromtimestamp(instant, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@cache
def judge(name: str) -> ZoneInfo:
    """The zone as the standard library reads it, from the same package."""
    with files("tzdata").joinpath("zoneinfo", *name.split("/")).open("rb") as file:
        return ZoneInfo.from_file(file, key=name)


# --- reading ----------------------------------------------------------------------------------------------------

KINDS = [
    ("2026-03-29", "day", "2026-03-29T00:00:00Z", False),
    ("2026-03-29T09:00", "wall", "2026-03-29T09:00:00Z", False),
    ("2026-03-29 09:00", "wall", "2026-03-29T09:00:00Z", False),
    ("2026-03-29T09:00:30", "wall", "2026-03-29T09:00:30Z", False),
    ("2026-03-29T00:00", "wall", "2026-03-29T00:00:00Z", False),
    ("2026-03-29T09:00Z", "instant", "2026-03-29T09:00:00Z", False),
    ("2026-03-29T09:00+02:00", "instant", "2026-03-29T07:00:00Z", False),
    ("2026-03-29T09:00-03:30", "instant", "2026-03-29T12:30:00Z", False),
    ("2026-03-29T09:00:00+00:00:30", "instant", "2026-03-29T08:59:30Z", False),
    ("2026-03-29T09:00:00.5", "wall", "2026-03-29T09:00:00Z", True),
    ("2026-03-29T09:00:00.000001Z", "instant", "2026-03-29T09:00:00Z", True),
    ("2026-03-29T09:00:00.000Z", "instant", "2026-03-29T09:00:00Z", False),
    ("1969-12-31T23:59:59.5Z", "instant", "1969-12-31T23:59:59Z", True),
    ("0001-01-01", "day", "0001-01-01T00:00:00Z", False),
    ("9999-12-31T23:59:59", "wall", "9999-12-31T23:59:59Z", False),
]


@pytest.mark.parametrize(("text", "kind", "as_utc", "fraction"), KINDS)
def test_moment_kind_depends_on_offset_and_time(text: str, kind: str, as_utc: str, fraction: bool) -> None:
    expected = int((datetime.fromisoformat(as_utc) - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(seconds=1))
    assert read_moment(text, field="start_at") == Moment(expected, kind, fraction)


NOT_MOMENTS = [
    "",
    "tomorrow",
    "29.03.2026",
    "2026-3-29",
    "2026-02-30",
    "2026-13-01",
    "2026-03-29T25:00",
    "2026-03-29T09:60",
    "2026-03-29T09:00:60",
    "2026-03-29T09:00+25:00",
    "2026-03-29Z",
    "2026-03-29T09:00 Europe/Berlin",
    "10000-01-01",
    "0000-01-01",
    "0001-01-01T00:00+14:00",
    "9999-12-31T23:59-12:00",
    "٢٠٢٦-٠٣-٢٩",
    "\ud800",
]


@pytest.mark.parametrize("text", NOT_MOMENTS)
def test_invalid_moment_is_rejected_with_examples(text: str) -> None:
    with pytest.raises(InvalidSpec, match="is not a date or time") as caught:
        read_moment(text, field="start_at")
    assert caught.value.field == "start_at"
    assert "2026-03-29T09:00+02:00" in (caught.value.expected or "")


@pytest.mark.parametrize("text", ["20260329", "2026-W13-7"])
def test_date_is_a_whole_day_in_every_spelling(text: str) -> None:
    """Regression: ``end_at="2026-03-29"`` kept that day's ticks, but ``end_at="20260329"`` dropped them."""
    assert read_moment(text, field="end_at").kind == "day"


@pytest.mark.parametrize(
    ("text", "day"), [("1970-01-01", 0), ("1970-01-02", 1), ("1969-12-31", -1), ("2000-03-01", 11_017)]
)
def test_day_counts_from_the_epoch(text: str, day: int) -> None:
    assert read_day(text, field="exclude.dates[0]") == day


@pytest.mark.parametrize("text", ["2026-12-25T00:00", "2026-12-25T00:00Z"])
def test_time_is_rejected_where_a_date_is_expected(text: str) -> None:
    with pytest.raises(InvalidSpec, match="is not a date;") as caught:
        read_day(text, field="exclude.dates[0]")
    assert caught.value.field == "exclude.dates[0]"


def test_date_error_does_not_suggest_a_time() -> None:
    """Regression: the error for ``exclude.dates`` suggested "2026-03-29T09:00", which was then rejected."""
    with pytest.raises(InvalidSpec) as caught:
        read_day("tomorrow", field="exclude.dates[0]")
    assert caught.value.expected == "a date such as 2026-12-25"


TEXTS: list[tuple[str | date, str]] = [
    ("2026-03-29 09:00", "2026-03-29 09:00"),
    (date(2026, 3, 29), "2026-03-29"),
    (datetime(2026, 3, 29, 9), "2026-03-29T09:00:00"),
    (datetime(2026, 3, 29, 9, tzinfo=UTC), "2026-03-29T09:00:00+00:00"),
    (datetime(2026, 3, 29, 9, tzinfo=timezone(timedelta(hours=-3.5))), "2026-03-29T09:00:00-03:30"),
    (datetime(2026, 3, 29, 9, tzinfo=judge("Europe/Berlin")), "2026-03-29T09:00:00+02:00"),
]


@pytest.mark.parametrize(("value", "text"), TEXTS)
def test_moment_text_keeps_text_unchanged(value: str | date, text: str) -> None:
    assert moment_text(value, field="times[0]") == text


def test_datetime_equals_its_text() -> None:
    wall, text = datetime(2026, 7, 1, 9), "2026-07-01T09:00:00"
    assert Spec(times=[wall], timezone="Asia/Tokyo") == Spec(times=[text], timezone="Asia/Tokyo")


@pytest.mark.parametrize("value", [5, 1.5, None, b"2026-03-29"])
def test_value_that_is_neither_text_nor_date_is_rejected(value: object) -> None:
    with pytest.raises(InvalidSpec, match="is not a date or time"):
        moment_text(value, field="start_at")  # type: ignore[arg-type]  # that is what is tested


# --- from moments to instants -----------------------------------------------------------------------------------

INSTANTS = [
    # zone, moment, first instant not before it, last instant not after it
    ("UTC", "2026-03-29T09:00", "2026-03-29T09:00:00Z", "2026-03-29T09:00:00Z"),
    ("Asia/Tokyo", "2026-03-29T09:00", "2026-03-29T00:00:00Z", "2026-03-29T00:00:00Z"),
    # an instant needs no zone
    ("Asia/Tokyo", "2026-03-29T09:00Z", "2026-03-29T09:00:00Z", "2026-03-29T09:00:00Z"),
    # a fraction lies between two seconds
    ("UTC", "2026-03-29T09:00:00.5Z", "2026-03-29T09:00:01Z", "2026-03-29T09:00:00Z"),
    ("Asia/Tokyo", "2026-03-29T09:00:00.5", "2026-03-29T00:00:01Z", "2026-03-29T00:00:00Z"),
    # gap, Berlin 2026: 02:00 to 03:00 do not exist, both ends become the instant after them
    ("Europe/Berlin", "2026-03-29T02:30", "2026-03-29T01:00:00Z", "2026-03-29T01:00:00Z"),
    ("Europe/Berlin", "2026-03-29T02:00", "2026-03-29T01:00:00Z", "2026-03-29T01:00:00Z"),
    ("Europe/Berlin", "2026-03-29T01:59:59", "2026-03-29T00:59:59Z", "2026-03-29T00:59:59Z"),
    ("Europe/Berlin", "2026-03-29T03:00", "2026-03-29T01:00:00Z", "2026-03-29T01:00:00Z"),
    # overlap, Berlin 2026: 02:30 comes twice, and bounds are inclusive
    ("Europe/Berlin", "2026-10-25T02:30", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"),
    ("Europe/Berlin", "2026-10-25T02:00", "2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z"),
    ("Europe/Berlin", "2026-10-25T03:00", "2026-10-25T02:00:00Z", "2026-10-25T02:00:00Z"),
    # half-hour change, Lord Howe 2026
    ("Australia/Lord_Howe", "2026-04-05T01:45", "2026-04-04T14:45:00Z", "2026-04-04T15:15:00Z"),
    ("Australia/Lord_Howe", "2026-10-04T02:15", "2026-10-03T15:30:00Z", "2026-10-03T15:30:00Z"),
    # the gap swallows midnight, Sao Paulo 2018
    ("America/Sao_Paulo", "2018-11-04T00:30", "2018-11-04T03:00:00Z", "2018-11-04T03:00:00Z"),
    # a whole day is lost, Apia 2011
    ("Pacific/Apia", "2011-12-30T12:00", "2011-12-30T10:00:00Z", "2011-12-30T10:00:00Z"),
    # before and after the tables
    ("Europe/Berlin", "0001-01-01T00:00", "0000-12-31T23:00:00Z", "0000-12-31T23:00:00Z"),
    # a day lasts until its last second, however many hours it has
    ("Europe/Berlin", "2026-03-29", "2026-03-28T23:00:00Z", "2026-03-29T21:59:59Z"),
    ("Europe/Berlin", "2026-10-25", "2026-10-24T22:00:00Z", "2026-10-25T22:59:59Z"),
    ("America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00:00Z", "2018-11-05T01:59:59Z"),
    ("America/Sao_Paulo", "2018-11-03", "2018-11-03T03:00:00Z", "2018-11-04T02:59:59Z"),
    # midnight comes twice, Sao Paulo 2018: the day ends where its second 23:59:59 ends
    ("America/Sao_Paulo", "2018-02-17", "2018-02-17T02:00:00Z", "2018-02-18T02:59:59Z"),
    ("UTC", "2026-03-29", "2026-03-29T00:00:00Z", "2026-03-29T23:59:59Z"),
]


@pytest.mark.parametrize(("zone", "text", "first", "last"), INSTANTS)
def test_bound_covers_the_first_and_last_instant_of_a_wall_time(zone: str, text: str, first: str, last: str) -> None:
    moment, table = read_moment(text, field="x"), load_zone(zone)
    texts = tuple(seconds_text(instant(moment, table)) for instant in (first_instant, last_instant))
    assert texts == (first, last)


def seconds_text(instant: int) -> str:
    """Like :func:`iso`, and able to name the year before the first one of :mod:`datetime`."""
    if instant < epoch("0001-01-01T00:00Z"):
        day, second = divmod(instant - epoch("0001-01-01T00:00Z"), DAY)
        assert day == -1
        return f"0000-12-31T{second // 3600:02d}:{second % 3600 // 60:02d}:{second % 60:02d}Z"
    return iso(instant)


ZONES = [
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "Pacific/Chatham",
    "Africa/Casablanca",
    "Asia/Beirut",
]
NEAR_CHANGES = st.builds(
    lambda year, month, minutes: datetime(year, month, 1) + timedelta(minutes=minutes),
    st.integers(2020, 2100),
    st.sampled_from([2, 3, 4, 9, 10, 11]),
    st.integers(0, 31 * 24 * 60),
)


@given(st.sampled_from(ZONES), NEAR_CHANGES)
def test_instants_of_a_wall_time_agree_with_zoneinfo(name: str, wall: datetime) -> None:
    passes = [wall.replace(tzinfo=judge(name), fold=fold) for fold in (0, 1)]
    texts = [
        int(moment.timestamp())
        for moment in passes
        if moment.astimezone(UTC).astimezone(judge(name)).replace(tzinfo=None) == wall
    ]
    moment = read_moment(wall.isoformat(), field="x")
    instants = [first_instant(moment, load_zone(name)), last_instant(moment, load_zone(name))]
    if texts:
        assert instants == [min(texts), max(texts)]
    else:  # in a gap both are its end: the first instant whose wall time is later
        gap_end = instants[0]
        assert instants == [gap_end, gap_end]
        before, after = (datetime.fromtimestamp(gap_end - back, judge(name)).replace(tzinfo=None) for back in (1, 0))
        assert before < wall < after


# --- as the bounds of a spec ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bounds", "first", "last"),
    [
        ({"start_at": "2026-06-01T12:00Z", "end_at": "2026-06-03T12:00Z"}, 1, 3),
        ({"start_at": "2026-06-01T12:00:00.5Z", "end_at": "2026-06-03T11:59:59.9Z"}, 2, 2),
        ({"start_at": "2026-06-01", "end_at": "2026-06-03"}, 1, 3),
        ({"start_at": "2026-06-01T12:00:01Z", "end_at": "2026-06-03T11:59:59Z"}, 2, 2),
        ({"start_at": date(2026, 6, 2), "end_at": date(2026, 6, 2)}, 2, 2),
        ({"start_at": datetime(2026, 6, 2, 12), "end_at": datetime(2026, 6, 2, 12, tzinfo=UTC)}, 2, 2),
    ],
)
def test_bounds_are_inclusive_and_an_end_date_includes_its_day(
    bounds: dict[str, str | date], first: int, last: int
) -> None:
    spec = Spec(cron="0 12 * * *", **bounds)  # type: ignore[arg-type]  # the keys are parameters
    days = [tick.day for tick in spec.between(epoch("2026-01-01T00:00Z"), epoch("2027-01-01T00:00Z"))]
    assert days == list(range(first, last + 1))


def test_naive_bound_is_in_the_zone_of_the_spec() -> None:
    spec = Spec(cron="0 9 * * *", timezone="Asia/Tokyo", start_at="2026-06-02T09:00", end_at="2026-06-02T09:00")
    assert spec.between(0, epoch("2027-01-01T00:00Z")) == [datetime(2026, 6, 2, 0, tzinfo=UTC)]
