"""The compiler: shared forms, the dependence on the schedule's id, and the effective zone, dialect and bounds."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tompion
from tompion import InvalidSpec, NamedCalendar, Spec, Ticks, UnknownZone
from tompion.model.spec import SpecDocument
from tompion.spec.calendar.days import HORIZON
from tompion.spec.compiler import depends_on_schedule_id, zone_of

BERLIN = "Europe/Berlin"
Data = dict[str, Any]


def utc(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


def shown(ticks: Ticks, start: str, end: str) -> list[str]:
    return [f"{datetime.fromtimestamp(tick, UTC):%m-%d %H:%M}" for tick in ticks.between_epochs(utc(start), utc(end))]


# --- sharing ----------------------------------------------------------------------------------------------------

SAME: list[tuple[Spec, Spec]] = [
    (Spec(cron="0 9 * * *"), Spec(cron=["0 9 * * *"])),
    (Spec(intervals="90m"), Spec(intervals=5_400)),
    (Spec(cron="0 9 * * *", timezone=BERLIN), Spec.from_json('{"cron": "0 9 * * *", "timezone": "Europe/Berlin"}')),
    (Spec(calendars={"hour": 9}), Spec(calendars=[{"hour": [9]}])),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_equal_specs_share_one_compiled_form(one: Spec, other: Spec) -> None:
    assert one is not other
    assert tompion.compile_spec(one) is tompion.compile_spec(other) is one.compile()


def test_cron_string_is_compiled_once_per_zone() -> None:
    assert tompion.compile_spec("0 9 * * *", BERLIN) is tompion.compile_spec("0 9 * * *", BERLIN)
    assert tompion.compile_spec("0 9 * * *", BERLIN) is not tompion.compile_spec("0 9 * * *")


@pytest.mark.parametrize("difference", [{"timezone": BERLIN}, {"start_at": "2026-01-01"}, {"dst_gap": "skip"}])
def test_different_specs_do_not_share_a_compiled_form(difference: Data) -> None:
    assert tompion.compile_spec(Spec(cron="0 9 * * *", **difference)) is not tompion.compile_spec(
        Spec(cron="0 9 * * *")
    )


WITHOUT_H = ["0 9 * * *", "*/5 8-18 1,15 * MON-FRI", "@daily", "@every 5m"]
WITH_A_LETTER_H = ["0 9 * * THU", "0 9 1 MARCH *", "@hourly", "@monthly", "CRON_TZ=America/Chicago 0 9 * * *"]


@pytest.mark.parametrize("text", WITHOUT_H)
def test_spec_without_h_is_shared_by_all_schedules(text: str) -> None:
    assert tompion.compile_spec(Spec(cron=text), schedule_id="a") is tompion.compile_spec(
        Spec(cron=text), schedule_id="b"
    )
    assert tompion.compile_spec(text, schedule_id="a") is tompion.compile_spec(text, schedule_id="b")


@pytest.mark.parametrize("text", WITH_A_LETTER_H)
def test_letter_h_in_a_name_does_not_depend_on_the_id(text: str) -> None:
    """Regression: a hundred thousand schedules with ``@hourly`` were compiled a hundred thousand times."""
    assert not depends_on_schedule_id(Spec(cron=text))
    assert tompion.compile_spec(text, schedule_id="a") is tompion.compile_spec(text, schedule_id="b")


@pytest.mark.parametrize(
    "spec",
    [
        {"cron": "H H * * *"},
        {"cron": "H/15 * * * *"},
        {"cron": "h(0-29) 2 * * *"},
        {"calendars": {"hour": "H", "minute": "H"}},
        {"cron": "*/2 * * * *", "exclude": {"calendars": {"minute": "H(0-30)/2"}}},
    ],
)
def test_spec_with_h_depends_on_the_id_only(spec: Data) -> None:
    one, same, other = (
        tompion.compile_spec(Spec(**spec), schedule_id=name) for name in ("nightly", "nightly", "weekly")
    )
    assert one is same
    assert one is not other
    ticks = {
        name: list(tompion.compile_spec(Spec(**spec), schedule_id=name).between_epochs(0, 86_400))
        for name in "abcdefgh"
    }
    assert len({tuple(schedule_ticks) for schedule_ticks in ticks.values()}) > 1


def test_named_calendars_are_part_of_the_cache_key() -> None:
    spec = Spec(cron="0 9 * * *", exclude={"named": ["company"]})
    empty, full = NamedCalendar("company"), NamedCalendar("company", dates=("1970-01-01",))
    assert spec.compile(calendars=[empty]) is spec.compile(calendars={"company": empty})
    assert spec.compile(calendars=[empty]).next_epoch(0) == 9 * 3600
    assert spec.compile(calendars=[full]).next_epoch(0) == 33 * 3600


def test_unused_calendars_do_not_change_the_compiled_form() -> None:
    spec = Spec(cron="0 9 * * *")
    assert spec.compile(calendars=[NamedCalendar("company", dates=("1970-01-01",))]) is spec.compile()


def test_document_can_be_compiled_directly() -> None:
    assert tompion.compile_spec(SpecDocument(cron=("0 9 * * *",))).next_epoch(0) == 9 * 3600


# --- very many at once ------------------------------------------------------------------------------------------

SOME = ["0 9 * * *", "*/7 * * * *", "0 0 30 2 *", "@every 90m", "0 9 * * *"]


@given(st.lists(st.sampled_from(SOME), max_size=12), st.integers(-10, HORIZON + 10))
def test_next_many_equals_single_calls(texts: list[str], after: int) -> None:
    compiled = [tompion.compile_spec(text) for text in texts]
    assert tompion.next_many(compiled, after) == [ticks.next_epoch(after) for ticks in compiled]


def test_next_many_accepts_one_instant_per_spec() -> None:
    ticks = tompion.compile_spec("0 9 * * *")
    assert tompion.next_many([ticks, ticks, ticks], [0, 86_400, 0]) == [32_400, 118_800, 32_400]


def test_next_many_of_nothing_is_empty() -> None:
    assert tompion.next_many([], 0) == []


def test_next_many_rejects_a_wrong_number_of_instants() -> None:
    with pytest.raises(ValueError, match="zip"):
        tompion.next_many([tompion.compile_spec("0 9 * * *")], [0, 1])


def test_next_many_computes_a_shared_spec_once_per_instant() -> None:
    calls: Counter[int] = Counter()

    class Counted(Ticks):
        def next_epoch(self, after: int) -> int | None:
            calls[after] += 1
            return after + 1

    ticks = Counted()
    assert tompion.next_many([ticks] * 1_000, 5) == [6] * 1_000
    tompion.next_many([ticks] * 4, [7, 8, 7, 8])
    assert calls == {5: 1, 7: 1, 8: 1}


# --- zones ------------------------------------------------------------------------------------------------------


def test_zone_may_be_in_the_prefix_or_the_timezone_or_both() -> None:
    expected = utc("2026-07-01T07:00")
    for ticks in (
        tompion.compile_spec("0 9 * * *", BERLIN),
        tompion.compile_spec("CRON_TZ=Europe/Berlin 0 9 * * *"),
        tompion.compile_spec("TZ=Europe/Berlin 0 9 * * *", BERLIN),
        tompion.compile_spec(Spec(cron="0 9 * * *", timezone=BERLIN)),
        tompion.compile_spec(Spec(cron="CRON_TZ=Europe/Berlin 0 9 * * *", timezone=BERLIN)),
    ):
        assert ticks.next_epoch(utc("2026-07-01")) == expected


def test_different_zones_are_rejected() -> None:
    with pytest.raises(InvalidSpec, match="the prefix is Asia/Tokyo, but timezone is Europe/Berlin") as caught:
        Spec(cron=["0 9 * * *", "CRON_TZ=Asia/Tokyo 0 9 * * *"], timezone=BERLIN)
    assert caught.value.field == "cron[1]"
    assert caught.value.hint == "set the zone in one place"
    with pytest.raises(InvalidSpec, match="the prefix is Asia/Tokyo") as caught:
        tompion.compile_spec("CRON_TZ=Asia/Tokyo 0 9 * * *", BERLIN)
    assert caught.value.field == "cron"


def test_each_cron_string_may_have_its_own_zone() -> None:
    spec = Spec(cron=["CRON_TZ=Asia/Tokyo 0 9 * * *", "CRON_TZ=America/New_York 0 9 * * *", "0 9 * * *"])
    assert shown(spec.compile(), "2026-07-01", "2026-07-01T23:59") == ["07-01 00:00", "07-01 09:00", "07-01 13:00"]
    assert zone_of(spec).name == "UTC"


def test_spec_rejects_a_second_timezone() -> None:
    with pytest.raises(InvalidSpec, match="timezone is set twice") as caught:
        tompion.compile_spec(Spec(cron="0 9 * * *"), BERLIN)
    assert caught.value.field == "timezone"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"rrules": "DTSTART;TZID=Asia/Tokyo:20260101T090000\nRRULE:FREQ=DAILY"}, "DTSTART is in Asia/Tokyo"),
        ({"rrules": "DTSTART:20260101T090000Z\nRRULE:FREQ=DAILY", "timezone": BERLIN}, "DTSTART is in UTC"),
    ],
)
def test_rrule_with_another_zone_is_rejected_with_a_hint(spec: Data, message: str) -> None:
    with pytest.raises(InvalidSpec, match=message) as caught:
        Spec(**spec)
    assert caught.value.field == "rrules[0]"
    assert (caught.value.hint or "").startswith("set timezone=")


def test_unknown_zone_is_rejected_everywhere() -> None:
    for build in (
        lambda: tompion.compile_spec("0 9 * * *", "Mars/Base"),
        lambda: tompion.compile_spec("CRON_TZ=Mars/Base 0 9 * * *"),
        lambda: Spec(cron="0 9 * * *", timezone="Mars/Base"),
    ):
        with pytest.raises(UnknownZone, match="unknown time zone 'Mars/Base'"):
            build()


# --- dialects and profiles --------------------------------------------------------------------------------------

# 02:30 in Berlin: in the gap of 29 March it is 01:00Z (catch_up) or 01:30Z (shift), in the overlap 00:30Z or 01:30Z
PROFILES: list[tuple[Data, list[str], list[str]]] = [
    ({"cron": "30 2 * * *"}, ["03-29 01:00"], ["10-25 00:30"]),
    ({"cron": "0 30 2 * * ?", "dialect": "quartz"}, [], ["10-25 01:30"]),
    ({"cron": "30 2 * * *", "dialect": "temporal"}, [], ["10-25 00:30", "10-25 01:30"]),
    ({"cron": "30 2 * * *", "dst_profile": "airflow"}, ["03-29 01:30"], ["10-25 01:30"]),
    ({"cron": "30 2 * * *", "dialect": "temporal", "dst_profile": "vixie"}, ["03-29 01:00"], ["10-25 00:30"]),
    ({"cron": "0 30 2 * * ?", "dialect": "quartz", "dst_gap": "shift"}, ["03-29 01:30"], ["10-25 01:30"]),
    ({"cron": "30 2 * * *", "dst_overlap": "second"}, ["03-29 01:00"], ["10-25 01:30"]),
    ({"calendars": {"hour": 2, "minute": 30}}, ["03-29 01:00"], ["10-25 00:30"]),
    ({"calendars": {"hour": 2, "minute": 30}, "dialect": "temporal"}, [], ["10-25 00:30", "10-25 01:30"]),
    ({"rrules": "FREQ=DAILY;BYHOUR=2;BYMINUTE=30", "dst_profile": "quartz"}, [], ["10-25 01:30"]),
    ({"times": ["2026-03-29T02:30", "2026-10-25T02:30"]}, ["03-29 01:00"], ["10-25 00:30"]),
    ({"times": ["2026-03-29T02:30", "2026-10-25T02:30"], "dst_gap": "skip"}, [], ["10-25 00:30"]),
]


@pytest.mark.parametrize(("spec", "in_gap", "in_overlap"), PROFILES)
def test_dialect_profile_is_replaced_by_profile_and_overrides(
    spec: Data, in_gap: list[str], in_overlap: list[str]
) -> None:
    ticks = Spec(timezone=BERLIN, **spec).compile()
    assert shown(ticks, "2026-03-28T22:00", "2026-03-29T12:00") == in_gap
    assert shown(ticks, "2026-10-24T22:00", "2026-10-25T12:00") == in_overlap


def test_dialect_defines_weekday_numbers() -> None:
    tompion_monday = Spec(cron="0 9 * * 1").compile()
    quartz_sunday = Spec(cron="0 0 9 ? * 1", dialect="quartz").compile()
    assert shown(tompion_monday, "2026-06-01", "2026-06-07T23:59") == ["06-01 09:00"]
    assert shown(quartz_sunday, "2026-06-01", "2026-06-07T23:59") == ["06-07 09:00"]


# --- bounds and the range ---------------------------------------------------------------------------------------


def test_ticks_are_from_1970_up_to_2201() -> None:
    ticks = tompion.compile_spec("0 0 * * *")
    assert ticks.next_epoch(-(10**12)) == 0
    assert ticks.next_epoch(-1) == 0
    assert ticks.prev_epoch(0) is None
    assert ticks.prev_epoch(10**12) == HORIZON - 86_400
    assert ticks.next_epoch(HORIZON - 86_400) is None
    assert ticks.next_epoch(10**12) is None


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago", BERLIN])
@pytest.mark.parametrize(
    "source",
    [
        {"cron": "* * * * * *"},
        {"intervals": 1},
        {"rrules": "DTSTART:19691201T000000\nRRULE:FREQ=SECONDLY"},
        {"calendars": {"second": "*", "minute": "*", "hour": "*"}},
    ],
)
def test_first_and_last_second_of_the_range_fire_in_every_zone(source: Data, zone: str) -> None:
    ticks = Spec(timezone=zone, **source).compile()
    assert (ticks.next_epoch(-5), ticks.prev_epoch(HORIZON + 5)) == (0, HORIZON - 1)
    assert (ticks.next_epoch(HORIZON - 1), ticks.prev_epoch(0)) == (None, None)


@pytest.mark.parametrize(
    "source",
    [
        {"cron": "0 12 * * *"},
        {"intervals": "24h/12h"},
        {"rrules": "FREQ=DAILY;BYHOUR=12;BYMINUTE=0"},
        {"calendars": {"hour": 12}},
    ],
)
def test_start_and_end_are_inclusive_in_both_directions(source: Data) -> None:
    ticks = Spec(**source, start_at="2026-06-02T12:00Z", end_at="2026-06-04T12:00Z").compile()
    first, last = utc("2026-06-02T12:00"), utc("2026-06-04T12:00")
    assert (ticks.next_epoch(0), ticks.prev_epoch(HORIZON)) == (first, last)
    assert (ticks.next_epoch(first - 1), ticks.prev_epoch(last + 1)) == (first, last)
    assert (ticks.next_epoch(last - 1), ticks.prev_epoch(first + 1)) == (last, first)
    assert (ticks.next_epoch(last), ticks.prev_epoch(first)) == (None, None)
    assert list(ticks.between_epochs(0, HORIZON)) == [first, first + 86_400, last]


def test_between_includes_both_ends_and_is_empty_backwards() -> None:
    ticks = tompion.compile_spec("0 * * * *")
    assert list(ticks.between_epochs(3_600, 7_200)) == [3_600, 7_200]
    assert list(ticks.between_epochs(3_601, 7_199)) == []
    assert list(ticks.between_epochs(7_200, 3_600)) == []


def test_start_at_anchors_a_rule_without_dtstart() -> None:
    spec = Spec(rrules="FREQ=WEEKLY;INTERVAL=2;COUNT=2", start_at="2026-06-03T08:00", timezone=BERLIN)
    assert shown(spec.compile(), "2026-01-01", "2027-01-01") == ["06-03 06:00", "06-17 06:00"]


def test_instant_from_several_sources_is_one_tick() -> None:
    spec = Spec(
        cron=["0 9 * * *", "0 9 1 * *"],
        calendars={"hour": 9},
        intervals="24h/9h",
        times=["2026-06-01T09:00Z", "2026-06-01T09:00"],
        rrules="FREQ=DAILY;BYHOUR=9",
    )
    assert shown(spec.compile(), "2026-06-01", "2026-06-02T23:59") == ["06-01 09:00", "06-02 09:00"]


def test_spec_without_sources_has_no_ticks() -> None:
    ticks = Spec(timezone=BERLIN).compile()
    assert (ticks.next_epoch(0), ticks.prev_epoch(HORIZON), ticks.trace(0)) == (None, None, None)


def test_fixed_delay_counts_from_the_given_end() -> None:
    ticks = Spec(intervals={"every": "5m", "anchor": "completion"}).compile()
    assert [ticks.next_epoch(end) for end in (1_000, 1_001)] == [1_300, 1_301]
    assert ticks.prev_epoch(1_000) is None
    assert ticks.next_epoch(HORIZON - 300) is None
