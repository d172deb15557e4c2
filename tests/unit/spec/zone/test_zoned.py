"""Unusual clock changes by zone and year, with the exact instants.

The instants are computed by hand from the published rules of each zone, not by the engine. Each row is checked
forwards, backwards and from the middle.
"""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice, pairwise, product
from typing import Any

import pytest

from tompion import Spec, Ticks
from tompion.model.spec import DIALECTS, DST_PROFILES, Dialect
from tompion.spec.ticks import Trace


def utc(text: str) -> int:
    return int(datetime.fromisoformat(text + "+00:00").timestamp())


def shown(epoch: int) -> str:
    text = f"{datetime.fromtimestamp(epoch, UTC):%Y-%m-%dT%H:%M:%S}"
    return text.removesuffix(":00")


def forwards(ticks: Ticks, first: int, last: int) -> list[str]:
    return [shown(tick) for tick in islice(ticks.between_epochs(first, last), 1_000)]


def backwards(ticks: Ticks, first: int, last: int) -> list[str]:
    backwards, tick = [], ticks.prev_epoch(last + 1)
    while tick is not None and first <= tick <= last:
        backwards.append(shown(tick))
        last, tick = tick - 1, ticks.prev_epoch(tick)
    return backwards[::-1]


def check(ticks: Ticks, expected: list[str], first: int, last: int) -> None:
    """The ticks from ``first`` to ``last`` are these: forwards, backwards and from anywhere between two of them."""
    assert forwards(ticks, first, last) == expected
    assert backwards(ticks, first, last) == expected
    for before, after in pairwise([utc(text) for text in expected]):
        for instant in {before, (before + after) // 2, after - 1}:
            assert ticks.next_epoch(instant) == after
        for instant in {before + 1, (before + after + 1) // 2, after}:
            assert ticks.prev_epoch(instant) == before
    for text in expected:
        assert ticks.trace(utc(text)) is not None
        assert ticks.trace(utc(text) - 1) is None or shown(utc(text) - 1) in expected


def row(case: str, zone: str, spec: str | dict[str, Any], days: str, expected: str) -> Any:
    """A case: ``days`` are the first and the last day (UTC, both whole), ``expected`` the ticks between."""
    return pytest.param(zone, spec, days, expected.split(), id=case)


HOURS_OF_BERLIN = "23:45 00:00 00:15 00:30 00:45 01:00 01:15 01:30 01:45 02:00 02:15 02:30 02:45 03:00".split()

ZONES = [
    # America/New_York: 2025-03-09 02:00 → 03:00 at 07:00Z, 2025-11-02 02:00 → 01:00 at 06:00Z
    row("New_York 2025: half past two is lost, and comes at three", "America/New_York", "30 2 * * *",
        "2025-03-08 2025-03-10", "2025-03-08T07:30 2025-03-09T07:00 2025-03-10T06:30"),
    row("New_York 2025: several lost times and the regular one at three are one", "America/New_York",
        "0,20,40 2,3 9 3 *", "2025-03-09 2025-03-09", "2025-03-09T07:00 2025-03-09T07:20 2025-03-09T07:40"),
    row("New_York 2025: quarter hours of the lost hour stay lost", "America/New_York", "*/15 2 * * *",
        "2025-03-09 2025-03-10", "2025-03-10T06:00 2025-03-10T06:15 2025-03-10T06:30 2025-03-10T06:45"),
    row("New_York 2025: the last second before the gap and the first after it", "America/New_York",
        "0,59 0,59 1,3 9 3 *", "2025-03-09 2025-03-09",
        "2025-03-09T06:00 2025-03-09T06:00:59 2025-03-09T06:59 2025-03-09T06:59:59 "
        "2025-03-09T07:00 2025-03-09T07:00:59 2025-03-09T07:59 2025-03-09T07:59:59"),
    row("New_York 2025: a weekly job of the lost hour does not lose its week", "America/New_York", "30 2 * * SUN",
        "2025-03-01 2025-03-16", "2025-03-02T07:30 2025-03-09T07:00 2025-03-16T06:30"),
    row("New_York 2025: half past one comes once, the first time", "America/New_York", "30 1 * * *",
        "2025-11-01 2025-11-03", "2025-11-01T05:30 2025-11-02T05:30 2025-11-03T06:30"),
    row("New_York 2025: every half hour of the hour that comes twice", "America/New_York", "*/30 1 2 11 *",
        "2025-11-02 2025-11-02", "2025-11-02T05:00 2025-11-02T05:30 2025-11-02T06:00 2025-11-02T06:30"),
    row("New_York 2025: two o'clock is after the repeated hour", "America/New_York", "0 1,2 2 11 *",
        "2025-11-02 2025-11-02", "2025-11-02T05:00 2025-11-02T07:00"),
    # Europe/Berlin: 2025-03-30 02:00 → 03:00 at 01:00Z, 2025-10-26 03:00 → 02:00 at 01:00Z
    row("Berlin 2025: gap", "Europe/Berlin", "30 2 * * *", "2025-03-29 2025-03-31",
        "2025-03-29T01:30 2025-03-30T01:00 2025-03-31T00:30"),
    row("Berlin 2025: overlap", "Europe/Berlin", "30 2 * * *", "2025-10-25 2025-10-27",
        "2025-10-25T00:30 2025-10-26T00:30 2025-10-27T01:30"),
    row("Berlin 2025: the hour before and the hour after are nothing special", "Europe/Berlin", "30 1,3 26 10 *",
        "2025-10-25 2025-10-26", "2025-10-25T23:30 2025-10-26T02:30"),
    # Europe/London and Dublin have the same clocks. In Dublin winter is the exception (negative DST).
    row("London 2025: gap", "Europe/London", "30 1 * * *", "2025-03-29 2025-03-31",
        "2025-03-29T01:30 2025-03-30T01:00 2025-03-31T00:30"),
    row("London 2025: overlap", "Europe/London", "30 1 * * *", "2025-10-25 2025-10-27",
        "2025-10-25T00:30 2025-10-26T00:30 2025-10-27T01:30"),
    row("Dublin 2025: gap, although summer is standard time", "Europe/Dublin", "30 1 * * *", "2025-03-29 2025-03-31",
        "2025-03-29T01:30 2025-03-30T01:00 2025-03-31T00:30"),
    row("Dublin 2025: overlap, although winter is the exception", "Europe/Dublin", "30 1 * * *",
        "2025-10-25 2025-10-27", "2025-10-25T00:30 2025-10-26T00:30 2025-10-27T01:30"),
    # Australia/Lord_Howe moves by half an hour: 02:00 → 02:30 at 15:30Z, 02:00 → 01:30 at 15:00Z
    row("Lord_Howe 2025: a gap of half an hour", "Australia/Lord_Howe", "15 2 * * *", "2025-10-03 2025-10-05",
        "2025-10-03T15:45 2025-10-04T15:30 2025-10-05T15:15"),
    row("Lord_Howe 2025: shifted by half an hour", "Australia/Lord_Howe", {"cron": "15 2 * * *", "dst_gap": "shift"},
        "2025-10-03 2025-10-05", "2025-10-03T15:45 2025-10-04T15:45 2025-10-05T15:15"),
    row("Lord_Howe 2025: an overlap of half an hour", "Australia/Lord_Howe", "45 1 * * *", "2025-04-04 2025-04-06",
        "2025-04-04T14:45 2025-04-05T14:45 2025-04-06T15:15"),
    row("Lord_Howe 2025: the hours of the wall clock, not of Greenwich", "Australia/Lord_Howe", "0 1-3 6 4 *",
        "2025-04-05 2025-04-05", "2025-04-05T14:00 2025-04-05T15:30 2025-04-05T16:30"),
    row("Lord_Howe 2025: on the hour, the lost two o'clock is skipped", "Australia/Lord_Howe", "0 */1 5 10 *",
        "2025-10-04 2025-10-04", "2025-10-04T13:30 2025-10-04T14:30 2025-10-04T16:00 2025-10-04T17:00 "
        "2025-10-04T18:00 2025-10-04T19:00 2025-10-04T20:00 2025-10-04T21:00 2025-10-04T22:00 2025-10-04T23:00"),
    # Pacific/Chatham: 02:45 → 03:45 at 14:00Z, 03:45 → 02:45 at 14:00Z
    row("Chatham 2025: a gap that begins at a quarter to three", "Pacific/Chatham", "0 3 * * *",
        "2025-09-26 2025-09-28", "2025-09-26T14:15 2025-09-27T14:00 2025-09-28T13:15"),
    row("Chatham 2025: an overlap that ends at a quarter to four", "Pacific/Chatham", "0 3 * * *",
        "2025-04-04 2025-04-06", "2025-04-04T13:15 2025-04-05T13:15 2025-04-06T14:15"),
    row("Chatham 2025: both threes", "Pacific/Chatham", {"cron": "0 3 6 4 *", "dst_overlap": "both"},
        "2025-04-05 2025-04-06", "2025-04-05T13:15 2025-04-05T14:15"),
    # gaps at midnight
    row("Sao_Paulo 2018: there is no midnight", "America/Sao_Paulo", "0 0 * * *", "2018-11-03 2018-11-05",
        "2018-11-03T03:00 2018-11-04T03:00 2018-11-05T02:00"),
    row("Sao_Paulo 2018: a weekly job half an hour after the lost midnight", "America/Sao_Paulo", "30 0 * * 0",
        "2018-10-28 2018-11-11", "2018-10-28T03:30 2018-11-04T03:00 2018-11-11T02:30"),
    row("Sao_Paulo 2018: the overlap goes back into the day before", "America/Sao_Paulo", "30 23 * * *",
        "2018-02-17 2018-02-19", "2018-02-17T01:30 2018-02-18T01:30 2018-02-19T02:30"),
    row("Sao_Paulo 2018: midnight itself is not repeated", "America/Sao_Paulo", "0 0 * * *", "2018-02-17 2018-02-19",
        "2018-02-17T02:00 2018-02-18T03:00 2018-02-19T03:00"),
    row("Beirut 2025: there is no midnight", "Asia/Beirut", "0 0 * * *", "2025-03-28 2025-03-30",
        "2025-03-28T22:00 2025-03-29T22:00 2025-03-30T21:00"),
    row("Beirut 2025: eleven at night comes twice", "Asia/Beirut", "15 23 * * *", "2025-10-24 2025-10-26",
        "2025-10-24T20:15 2025-10-25T20:15 2025-10-26T21:15"),
    row("Cairo 2025: no Friday is without its midnight job", "Africa/Cairo", "0 0 * * 5", "2025-04-17 2025-05-01",
        "2025-04-17T22:00 2025-04-24T22:00 2025-05-01T21:00"),
    row("Cairo 2025: every two hours, midnight is skipped", "Africa/Cairo", "0 */2 25 4 *", "2025-04-24 2025-04-24",
        "2025-04-24T23:00"),
    row("Nuuk 2025: the last hour of a Saturday is lost", "America/Nuuk", "30 23 * * *", "2025-03-29 2025-03-31",
        "2025-03-29T01:30 2025-03-30T01:00 2025-03-31T00:30"),
    # Africa/Casablanca goes back to winter time for Ramadan
    row("Casablanca 2025: the overlap before Ramadan", "Africa/Casablanca", "30 2 * * *", "2025-02-22 2025-02-24",
        "2025-02-22T01:30 2025-02-23T01:30 2025-02-24T02:30"),
    row("Casablanca 2025: the gap after Ramadan", "Africa/Casablanca", "30 2 * * *", "2025-04-05 2025-04-07",
        "2025-04-05T02:30 2025-04-06T02:00 2025-04-07T01:30"),
    # Antarctica/Troll moves by two hours: 01:00 → 03:00 at 01:00Z, 03:00 → 01:00 at 01:00Z
    row("Troll 2025: two lost hours are one tick", "Antarctica/Troll", "30 1,2 * * *", "2025-03-29 2025-03-31",
        "2025-03-29T01:30 2025-03-29T02:30 2025-03-30T01:00 2025-03-30T23:30 2025-03-31T00:30 2025-03-31T23:30"),
    row("Troll 2025: shifted by two hours", "Antarctica/Troll", {"cron": "30 1,2 30 3 *", "dst_gap": "shift"},
        "2025-03-30 2025-03-30", "2025-03-30T01:30 2025-03-30T02:30"),
    row("Troll 2025: the first of two passes of two hours", "Antarctica/Troll", "30 1,2 26 10 *",
        "2025-10-25 2025-10-26", "2025-10-25T23:30 2025-10-26T00:30"),
    row("Troll 2025: the second of two passes of two hours", "Antarctica/Troll",
        {"cron": "30 1,2 26 10 *", "dst_overlap": "second"}, "2025-10-25 2025-10-26",
        "2025-10-26T01:30 2025-10-26T02:30"),
    # Antarctica/Casey: three hours, the longest that counts as DST: 2009-10-18 02:00 → 05:00 at 18:00Z
    row("Casey 2009: three lost hours are still DST", "Antarctica/Casey", "30 4 * * *", "2009-10-16 2009-10-18",
        "2009-10-16T20:30 2009-10-17T18:00 2009-10-18T17:30"),
    # lost days
    row("Apia 2011: the 30th of December never was", "Pacific/Apia", "0 9 * * *", "2011-12-28 2011-12-31",
        "2011-12-28T19:00 2011-12-29T19:00 2011-12-30T19:00 2011-12-31T19:00"),
    row("Apia 2011: a yearly job of the lost day waits for the next year", "Pacific/Apia", "0 9 30 12 *",
        "2010-01-01 2013-01-01", "2010-12-30T19:00 2012-12-29T19:00"),
    row("Apia 2011: a Friday was lost", "Pacific/Apia", "0 9 * * 5", "2011-12-23 2012-01-05",
        "2011-12-23T19:00 2012-01-05T19:00"),
    row("Apia 2011: not even by shifting", "Pacific/Apia", {"cron": "0 9 30 12 *", "dst_gap": "shift"},
        "2011-01-01 2012-06-01", ""),
    row("Apia 2011: every six hours, across the date line", "Pacific/Apia", "0 */6 * * *", "2011-12-30 2011-12-30",
        "2011-12-30T04:00 2011-12-30T10:00 2011-12-30T16:00 2011-12-30T22:00"),
    row("Kiritimati 1994: there was no last day of the year", "Pacific/Kiritimati", "0 0 31 12 *",
        "1993-01-01 1996-01-01", "1993-12-31T10:00 1995-12-30T10:00"),
    row("Kiritimati 1995: the new year began a day early", "Pacific/Kiritimati", "0 0 1 1 *",
        "1993-06-01 1995-06-01", "1994-01-01T10:00 1994-12-31T10:00"),
    # odd widths
    row("Kathmandu 1986: a gap of a quarter of an hour", "Asia/Kathmandu", "5 0 * * *", "1985-12-30 1986-01-01",
        "1985-12-30T18:35 1985-12-31T18:30 1986-01-01T18:20"),
    row("Monrovia 1972: a gap of forty-four minutes and a half", "Africa/Monrovia", "0 0 * * *",
        "1972-01-06 1972-01-08", "1972-01-06T00:44:30 1972-01-07T00:44:30 1972-01-08T00:00"),
    row("Vostok 1994: seven hours came twice", "Antarctica/Vostok", "0 20 * * *", "1994-01-30 1994-02-01",
        "1994-01-30T13:00 1994-01-31T13:00 1994-02-01T20:00"),
    row("Vostok 1994: seven hours that were lost are no DST", "Antarctica/Vostok", "0 3 * * *",
        "1994-10-31 1994-11-02", "1994-10-31T03:00 1994-11-01T20:00 1994-11-02T20:00"),
    row("Caracas 2007: back by half an hour", "America/Caracas", "45 2 * * *", "2007-12-08 2007-12-10",
        "2007-12-08T06:45 2007-12-09T06:45 2007-12-10T07:15"),
    row("Caracas 2016: forward by half an hour", "America/Caracas", "45 2 * * *", "2016-04-30 2016-05-02",
        "2016-04-30T07:15 2016-05-01T07:00 2016-05-02T06:45"),
    row("Pyongyang 2015: back by half an hour at midnight", "Asia/Pyongyang", "45 23 * * *", "2015-08-13 2015-08-15",
        "2015-08-13T14:45 2015-08-14T14:45 2015-08-15T15:15"),
    row("Pyongyang 2018: forward by half an hour before midnight", "Asia/Pyongyang", "45 23 * * *",
        "2018-05-03 2018-05-05", "2018-05-03T15:15 2018-05-04T15:00 2018-05-05T14:45"),
    row("Istanbul 2016: the last summer time began", "Europe/Istanbul", "30 3 * * *", "2016-03-26 2016-03-28",
        "2016-03-26T01:30 2016-03-27T01:00 2016-03-28T00:30"),
    row("Istanbul 2016: and never ended", "Europe/Istanbul", "30 3 * * *", "2016-10-29 2016-10-31",
        "2016-10-29T00:30 2016-10-30T00:30 2016-10-31T00:30"),
    # after the last tabulated change the footer's rule applies
    row("New_York 2038: gap", "America/New_York", "30 2 * * *", "2038-03-13 2038-03-15",
        "2038-03-13T07:30 2038-03-14T07:00 2038-03-15T06:30"),
    row("New_York 2038: overlap", "America/New_York", "30 1 * * *", "2038-11-06 2038-11-08",
        "2038-11-06T05:30 2038-11-07T05:30 2038-11-08T06:30"),
    row("Berlin 2100: gap, in a year that is no leap year", "Europe/Berlin", "30 2 * * *", "2100-03-27 2100-03-29",
        "2100-03-27T01:30 2100-03-28T01:00 2100-03-29T00:30"),
    row("Sydney 2199: gap", "Australia/Sydney", "30 2 * * *", "2199-10-04 2199-10-06",
        "2199-10-04T16:30 2199-10-05T16:00 2199-10-06T15:30"),
    row("New_York 2199: overlap", "America/New_York", "30 1 * * *", "2199-11-02 2199-11-04",
        "2199-11-02T05:30 2199-11-03T05:30 2199-11-04T06:30"),
]  # fmt: skip


@pytest.mark.parametrize(("zone", "spec", "days", "expected"), ZONES)
def test_dst_oddities_by_zone(zone: str, spec: str | dict[str, Any], days: str, expected: list[str]) -> None:
    begin, end = days.split()
    options = {"cron": spec} if isinstance(spec, str) else spec
    compiled = Spec(timezone=zone, **options).compile()
    check(compiled, expected, utc(begin + "T00:00:00"), utc(end + "T23:59:59"))


def test_berlin_2025_profiles_differ_in_the_repeated_hours() -> None:
    """The night in which Temporal's server returned 01:45, 02:00, 02:15, 03:30 and no more of the repeated hour."""
    compiled = Spec(cron="*/15 * * * *", timezone="Europe/Berlin").compile()
    days = ["2025-10-25T"] + ["2025-10-26T"] * 13
    expected = [day + hour for day, hour in zip(days, HOURS_OF_BERLIN, strict=True)]
    check(compiled, expected, utc("2025-10-25T23:40:00"), utc("2025-10-26T03:00:00"))


@pytest.mark.parametrize("text", ["0 9 30 * *", "0 9 * * 5", "0 9 * * *", "30 0 31 12 *"])
def test_apia_2011_lost_day_is_skipped(text: str) -> None:
    """robfig/cron never returned here, and Temporal returned its own argument."""
    compiled = Spec(cron=text, timezone="Pacific/Apia").compile()
    tick = utc("2011-12-01T00:00:00")
    for _ in range(40):
        later = compiled.next_epoch(tick)
        assert later is not None
        assert later > tick
        tick = later
    assert tick > utc("2012-01-01T00:00:00")


EDGES = [
    ("UTC", "* * * * * *", "1970-01-01T00:00:00", "2200-12-31T23:59:59"),
    ("UTC", "0 0 1 1 *", "1970-01-01T00:00:00", "2200-01-01T00:00:00"),
    # west of Greenwich it is still 1969 when the range begins, and still 2200 when it has ended
    ("America/New_York", "0 19 31 12 *", "1970-01-01T00:00:00", "2200-01-01T00:00:00"),
    ("America/New_York", "59 59 18 31 12 ?", "1970-12-31T23:59:59", "2200-12-31T23:59:59"),
    ("Pacific/Pago_Pago", "0 13 31 12 *", "1970-01-01T00:00:00", "2200-01-01T00:00:00"),
    # east of Greenwich it is 2201 before the range ends
    ("Asia/Tokyo", "0 0 1 1 *", "1970-12-31T15:00:00", "2200-12-31T15:00:00"),
    ("Asia/Tokyo", "0 0 0 1 1 ? 2200", "2199-12-31T15:00:00", "2199-12-31T15:00:00"),
    ("Pacific/Kiritimati", "59 59 13 1 1 ?", "1970-01-02T00:39:59", "2200-12-31T23:59:59"),
]


@pytest.mark.parametrize(("zone", "text", "first", "last"), EDGES)
def test_first_and_last_tick_of_the_range(zone: str, text: str, first: str, last: str) -> None:
    """From 1970-01-01T00:00:00Z up to the last second of 2200, in UTC, in every zone."""
    compiled = Spec(cron=text, timezone=zone).compile()
    assert compiled.next_epoch(-1) == compiled.next_epoch(-(10**12)) == utc(first)
    assert compiled.prev_epoch(utc("2201-01-01T00:00:00")) == compiled.prev_epoch(10**12) == utc(last)
    assert compiled.prev_epoch(utc(first)) is None
    assert compiled.next_epoch(utc(last)) is None


# ---------------------------------------------------------------- policies

FIXED_GAP, WILDCARD_GAP = "30 2 9 3 *", "*/30 2 9 3 *"
FIXED_OVERLAP, WILDCARD_OVERLAP = "30 1 2 11 *", "*/30 1 2 11 *"
GAPS = {
    (FIXED_GAP, "catch_up"): ["07:00"],
    (FIXED_GAP, "skip"): [],
    (FIXED_GAP, "shift"): ["07:30"],
    (WILDCARD_GAP, "catch_up"): ["07:00"],
    (WILDCARD_GAP, "skip"): [],
    (WILDCARD_GAP, "shift"): ["07:00", "07:30"],
}
OVERLAPS = {
    (FIXED_OVERLAP, "first"): ["05:30"],
    (FIXED_OVERLAP, "second"): ["06:30"],
    (FIXED_OVERLAP, "both"): ["05:30", "06:30"],
    (WILDCARD_OVERLAP, "first"): ["05:00", "05:30"],
    (WILDCARD_OVERLAP, "second"): ["06:00", "06:30"],
    (WILDCARD_OVERLAP, "both"): ["05:00", "05:30", "06:00", "06:30"],
}
PROFILES = {  # profile: fixed gap, fixed overlap, wildcard gap, wildcard overlap
    "vixie": ("catch_up", "first", "skip", "both"),
    "temporal": ("skip", "both", "skip", "both"),
    "quartz": ("skip", "second", "skip", "second"),
    "airflow": ("shift", "second", "skip", "both"),
}


def check_new_york_2025(text: str, expected: list[str], **options: Any) -> None:
    compiled = Spec(cron=text, timezone="America/New_York", **options).compile()
    day = "2025-03-09" if " 3 *" in text else "2025-11-02"
    first, last = utc(f"{day}T00:00:00"), utc(f"{day}T23:59:59")
    check(compiled, [f"{day}T{hour}" for hour in expected], first, last)


@pytest.mark.parametrize(("gap", "overlap"), list(product(["catch_up", "skip", "shift"], ["first", "second", "both"])))
def test_overrides_apply_to_both_classes_independently(gap: str, overlap: str) -> None:
    for profile in (None, *DST_PROFILES):
        options = {"dst_gap": gap, "dst_overlap": overlap, "dst_profile": profile}
        for text in (FIXED_GAP, WILDCARD_GAP):
            check_new_york_2025(text, GAPS[text, gap], **options)
        for text in (FIXED_OVERLAP, WILDCARD_OVERLAP):
            check_new_york_2025(text, OVERLAPS[text, overlap], **options)


@pytest.mark.parametrize("profile", DST_PROFILES)
def test_profile_has_a_rule_for_each_class(profile: str) -> None:
    fixed_gap, fixed_overlap, wildcard_gap, wildcard_overlap = PROFILES[profile]
    for options in ({"dst_profile": profile}, {"dst_profile": profile, "dst_overlap": "auto"}):
        check_new_york_2025(FIXED_GAP, GAPS[FIXED_GAP, fixed_gap], **options)
        check_new_york_2025(WILDCARD_GAP, GAPS[WILDCARD_GAP, wildcard_gap], **options)
        check_new_york_2025(FIXED_OVERLAP, OVERLAPS[FIXED_OVERLAP, fixed_overlap], **options)
        check_new_york_2025(WILDCARD_OVERLAP, OVERLAPS[WILDCARD_OVERLAP, wildcard_overlap], **options)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_dialect_has_its_own_profile_by_default(dialect: Dialect) -> None:
    gap, overlap = {
        "tompion": (FIXED_GAP, FIXED_OVERLAP),
        "temporal": (FIXED_GAP, FIXED_OVERLAP),
        "quartz": ("0 30 2 9 3 ?", "0 30 1 2 11 ?"),
    }[dialect]
    own = PROFILES[{"tompion": "vixie"}.get(dialect, dialect)]
    choices: list[tuple[Any, tuple[str, ...]]] = [(None, own), *PROFILES.items()]
    for profile, schedules in choices:
        compiled = Spec(
            cron=[gap, overlap],
            timezone="America/New_York",
            dialect=dialect,
            dst_profile=profile,
        ).compile()
        for day, hours in (
            ("2025-03-09", GAPS[FIXED_GAP, schedules[0]]),
            ("2025-11-02", OVERLAPS[FIXED_OVERLAP, schedules[1]]),
        ):
            expected = [f"{day}T{hour}" for hour in hours]
            check(compiled, expected, utc(f"{day}T00:00:00"), utc(f"{day}T23:59:59"))


CLASSES: list[tuple[dict[str, Any], bool]] = [
    ({"calendars": [{"hour": 2, "minute": 30}]}, False),
    ({"calendars": [{"hour": 2, "minute": "*/30"}]}, True),
    ({"calendars": [{"hour": 2, "minute": [{"start": 0, "end": 59, "step": 30}]}]}, True),
    ({"calendars": [{"hour": 2, "minute": [{"start": 1, "end": 59}]}]}, False),
    ({"calendars": [{"hour": 2, "minute": [30, {"start": 0, "end": 59}]}]}, False),
    ({"calendars": [{"hour": [{"start": 0, "end": 23}], "minute": 30}]}, True),
    ({"times": ["2025-03-09T02:30:00"]}, False),
    ({"rrules": ["DTSTART:20250301T023000\nRRULE:FREQ=DAILY"]}, False),
    ({"rrules": ["DTSTART:20250301T023000\nRRULE:FREQ=HOURLY;INTERVAL=24"]}, True),
    ({"cron": "30 2 * * *"}, False),
    ({"cron": "0-59/30 2 * * *"}, False),
    ({"cron": "H 2 * * *"}, False),
    ({"cron": "30 */2 * * *"}, True),
    ({"cron": "*/5 30 2 * * *"}, True),
]


@pytest.mark.parametrize(("sources", "wildcard"), CLASSES)
def test_each_source_kind_has_its_dst_class(sources: dict[str, Any], wildcard: bool) -> None:
    """A fixed source catches up at 07:00Z in New York on 2025-03-09. A wildcard source skips the lost times."""
    lost_hour = Spec(timezone="America/New_York", **sources).compile()
    at_three = utc("2025-03-09T07:00:00")
    assert list(lost_hour.between_epochs(at_three, at_three)) == ([] if wildcard else [at_three])


EXCLUDED: list[tuple[str, dict[str, Any], list[str]]] = [
    ("the lost time is excluded", {"calendars": [{"hour": 2}]}, []),
    ("the time it would move to is excluded", {"calendars": [{"hour": 3}]}, ["07:00"]),
    ("one of two lost times is excluded", {"calendars": [{"hour": 2, "minute": 15}]}, ["07:00"]),
    ("the day is excluded", {"dates": ["2025-03-09"]}, []),
    (
        "the instant it moves to is blacked out",
        {"windows": [{"from": "2025-03-09T07:00:00Z", "to": "2025-03-09T07:00:01Z"}]},
        [],
    ),
    (
        "a blackout from the lost hour to the first second after it",
        {"windows": [{"from": "2025-03-09T02:00:00", "to": "2025-03-09T03:00:01"}]},
        [],
    ),
]


@pytest.mark.parametrize(("case", "exclude", "expected"), EXCLUDED)
def test_exclusion_uses_the_wall_time_of_the_rule(case: str, exclude: dict[str, Any], expected: list[str]) -> None:
    check_new_york_2025("15,45 2 9 3 *", expected, exclude=exclude)


# ---------------------------------------------------------------- traces

TRACES = [
    ("30 2 * * *", {}, "2025-03-09T07:00", "2025-03-09T02:30", "gap"),
    ("20,40 2 * * *", {}, "2025-03-09T07:00", "2025-03-09T02:20", "gap"),
    ("0 2,3 * * *", {}, "2025-03-09T07:00", "2025-03-09T03:00", ""),
    ("30 2 * * *", {"dst_gap": "shift"}, "2025-03-09T07:30", "2025-03-09T02:30", "gap"),
    ("*/30 2 * * *", {"dst_gap": "shift"}, "2025-03-09T07:00", "2025-03-09T02:00", "gap"),
    ("30 2 * * *", {}, "2025-03-10T06:30", "2025-03-10T02:30", ""),
    ("30 1 * * *", {}, "2025-11-02T05:30", "2025-11-02T01:30", "first_pass"),
    ("*/30 1 * * *", {}, "2025-11-02T05:00", "2025-11-02T01:00", "first_pass"),
    ("*/30 1 * * *", {}, "2025-11-02T06:00", "2025-11-02T01:00", "second_pass"),
    ("30 1 * * *", {"dst_overlap": "second"}, "2025-11-02T06:30", "2025-11-02T01:30", "second_pass"),
    ("0 2 * * *", {}, "2025-11-02T07:00", "2025-11-02T02:00", ""),
    ("59 0 * * *", {}, "2025-11-02T04:59", "2025-11-02T00:59", ""),
]  # fmt: skip


@pytest.mark.parametrize(("text", "options", "tick", "wall", "moved"), TRACES)
def test_trace_has_the_wall_time_and_dst_adjustment(
    text: str, options: dict[str, Any], tick: str, wall: str, moved: str
) -> None:
    spec = Spec(cron=text, timezone="America/New_York", **options)
    assert spec.compile().trace(utc(tick)) == Trace(utc(wall), moved)
    shown_tick = spec.occurrences(1, utc(tick) - 1)[0]
    assert (shown_tick.wall, shown_tick.dst_adjustment) == (datetime.fromisoformat(wall), moved)
    assert bool(shown_tick.reason) == bool(moved)


def test_reason_is_a_sentence() -> None:
    spec = Spec(cron=["30 2 * * *", "*/30 1 2 11 *"], timezone="America/New_York")
    assert spec.occurrences(1, utc("2025-03-09T06:00:00"))[0].reason == (
        "02:30 does not exist that day (clocks go forward), so it fires at 03:00"
    )
    passes = spec.occurrences(3, utc("2025-11-02T05:00:00"))
    assert passes[0].reason == "the first of two 01:30 that day (clocks go back)"
    assert passes[1].reason == "the second 01:00 of that day (clocks go back)"


@pytest.mark.parametrize(
    "instant", ["2025-03-09T07:30:00", "2025-03-09T07:00:01", "2025-03-09T06:59:59", "2025-11-02T06:30:00"]
)
def test_instant_that_is_not_a_tick_has_no_trace(instant: str) -> None:
    compiled = Spec(cron=["30 2 * * *", "30 1 * * *"], timezone="America/New_York").compile()
    assert compiled.trace(utc(instant)) is None
