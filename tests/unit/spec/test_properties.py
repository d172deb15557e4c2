"""Properties of every spec, drawn at random and mostly around clock changes."""

from __future__ import annotations

import sys
from itertools import islice
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from tompion import Spec, Ticks
from tompion.model.spec import DST_GAPS, DST_OVERLAPS, DST_PROFILES
from tompion.spec.calendar.days import DAY, HORIZON
from tompion.spec.zone.tables import load_zone

Document = dict[str, Any]

ZONES = (
    "UTC America/New_York Europe/Berlin Europe/London Europe/Dublin Australia/Lord_Howe Pacific/Chatham Asia/Kathmandu "
    "America/Sao_Paulo Asia/Beirut Africa/Cairo Africa/Casablanca Antarctica/Troll Antarctica/Casey Antarctica/Vostok "
    "Pacific/Apia Pacific/Kiritimati America/Caracas Asia/Pyongyang Europe/Istanbul Africa/Monrovia America/Nuuk"
).split()

SECONDS = ["0", "0", "0", "59", "*/20", "30", "7,41"]
MINUTES = ["0", "30", "*", "*/15", "0,15,45", "50-10/5", "H", "59", "1-59/7"]
HOURS = ["*", "0", "1", "2", "3", "*/2", "23", "0-3", "22-2", "1,2,3", "9-17", "H(0-5)"]
DATES = ["*", "*", "*", "?", "1", "L", "LW", "15W", "1W,L-2", "*/2", "25-3", "29", "H"]
MONTHS = ["*", "*", "*", "3", "10,11", "NOV-FEB", "*/3", "2"]
WEEKDAYS = ["*", "*", "*", "?", "MON-FRI", "SUN", "FRI-MON", "0#1", "5L", "+SUN", "+1-5", "7"]
YEARS = ["*", "2020-2040", "*/2", "1970-2199/3"]
RRULES = [
    "FREQ=DAILY;BYHOUR=2;BYMINUTE=30",
    "FREQ=WEEKLY;BYDAY=SU,WE;BYHOUR=1,2,3",
    "FREQ=MONTHLY;BYDAY=-1SU;BYHOUR=2",
    "DTSTART:19700101T003000\nRRULE:FREQ=HOURLY;INTERVAL=5",
    "DTSTART:19700101T000700\nRRULE:FREQ=MINUTELY;INTERVAL=97",
    "FREQ=YEARLY;BYMONTH=3,10;BYDAY=-1SU;BYHOUR=2;BYSETPOS=1",
]

cron_strings = st.builds(
    lambda second, minute, hour, date, month, weekday, year: " ".join(
        [second, minute, hour, date, month, weekday, *([year] if year else [])]
    ),
    *(st.sampled_from(texts) for texts in (SECONDS, MINUTES, HOURS, DATES, MONTHS, WEEKDAYS, [None, None, *YEARS])),
)
calendars = st.fixed_dictionaries(
    {"hour": st.sampled_from(HOURS)},
    optional={
        "minute": st.sampled_from(MINUTES),
        "day_of_month": st.sampled_from(DATES[:-1]),
        "day_of_week": st.sampled_from([text for text in WEEKDAYS if "+" not in text]),
        "month": st.sampled_from(MONTHS),
    },
)
intervals = st.builds(
    lambda every, phase: {"every": every, "offset": phase % every},
    st.sampled_from([60, 97, 900, 3600, 7777, 86_400, 90_000]),
    st.integers(0, 100_000),
)
policies = st.fixed_dictionaries(
    {},
    optional={
        "dst_gap": st.sampled_from(DST_GAPS),
        "dst_overlap": st.sampled_from(DST_OVERLAPS),
        "dst_profile": st.sampled_from(DST_PROFILES),
    },
)


def iso(epoch: int, *, wall: bool = False) -> str:
    from tompion.encoding.instant import datetime_s, wall_datetime

    return (wall_datetime(epoch) if wall else datetime_s(epoch)).isoformat()


@st.composite
def instants(draw: st.DrawFn, zone: str) -> int:
    """An instant, usually within a day of a change of the zone's clocks."""
    starts = load_zone(zone).starts
    if starts and draw(st.integers(0, 3)) > 0:
        centre = starts[draw(st.integers(0, len(starts) - 1))]
        return centre + draw(st.sampled_from([0, 0, 1, -1, 3600, -3600, 1800])) + draw(st.integers(-DAY, DAY))
    return draw(st.integers(0, HORIZON - 40 * DAY))


@st.composite
def exclusions(draw: st.DrawFn, near: int) -> Document:
    """Exclusions near an instant."""
    exclude: Document = {}
    if draw(st.booleans()):
        exclude["calendars"] = draw(st.lists(calendars, min_size=1, max_size=2))
    if draw(st.booleans()):
        exclude["dates"] = [iso(near + shift * DAY, wall=True)[:10] for shift in draw(st.sets(st.integers(-2, 9)))]
    if draw(st.booleans()):
        begin = near + draw(st.integers(-DAY, 3 * DAY))
        exclude["windows"] = [{"from": iso(begin), "to": iso(begin + draw(st.integers(1, 3 * DAY)))}]
    return exclude


@st.composite
def cases(draw: st.DrawFn, *, excluding: bool = True) -> tuple[Document, int]:
    """A spec of one to four sources, and an instant near its ticks."""
    zone = draw(st.sampled_from(ZONES))
    near = draw(instants(zone))
    spec: Document = {"timezone": zone, **draw(policies)}
    kinds = draw(
        st.lists(st.sampled_from("cron cron calendars intervals rrules times".split()), min_size=1, max_size=4)
    )
    for kind in kinds:
        source = {
            "cron": cron_strings,
            "calendars": calendars,
            "intervals": intervals,
            "rrules": st.sampled_from(RRULES),
            "times": st.builds(
                lambda shift, wall: iso(near + shift, wall=wall), st.integers(-DAY, 9 * DAY), st.booleans()
            ),
        }[kind]
        spec.setdefault(kind, []).append(draw(source))
    if excluding and draw(st.booleans()):
        spec["exclude"] = draw(exclusions(near))
    return spec, near


def compiled(spec: Document) -> Ticks:
    return Spec(**spec).compile(schedule_id="a schedule")


def walk(ticks: Ticks, after: int, count: int) -> list[int]:
    sequence: list[int] = []
    tick = ticks.next_epoch(after)
    while tick is not None and len(sequence) < count:
        sequence.append(tick)
        tick = ticks.next_epoch(tick)
    return sequence


def inside(ticks: Ticks, first: int, last: int) -> list[int]:
    """All ticks of a range. The properties below use at most a few hundred."""
    sequence = list(islice(ticks.between_epochs(first, last), 2_000))
    assert len(sequence) < 2_000
    return sequence


def span_of(ticks: Ticks, near: int, count: int = 60) -> tuple[int, int, list[int]]:
    """A span around an instant that holds at most ``count`` ticks, with the ticks in it."""
    first = max(near - DAY, 0)
    sequence = walk(ticks, first - 1, count)
    last = sequence[-1] if len(sequence) == count else min(first + 40 * DAY, HORIZON - 1)
    return first, last, [tick for tick in sequence if tick <= last]


quickly = settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


# ---------------------------------------------------------------- next and prev


@quickly
@given(cases(), st.data())
def test_next_is_later_and_constant_up_to_its_result(case: tuple[Document, int], data: st.DataObject) -> None:
    spec, near = case
    ticks = compiled(spec)
    tick = ticks.next_epoch(near)
    if tick is None:
        event("no tick left")
        assert ticks.next_epoch(near + data.draw(st.integers(0, HORIZON))) is None
        return
    assert near < tick < HORIZON
    for instant in (tick - 1, near + (tick - near) // 2, data.draw(st.integers(near, tick - 1))):
        assert ticks.next_epoch(instant) == tick
    before = ticks.prev_epoch(tick)
    assert before is None or before <= near


@quickly
@given(cases(), st.data())
def test_prev_is_earlier_and_constant_down_to_its_result(case: tuple[Document, int], data: st.DataObject) -> None:
    spec, near = case
    ticks = compiled(spec)
    tick = ticks.prev_epoch(near)
    if tick is None:
        event("no tick before")
        assert ticks.next_epoch(-1) is None or ticks.next_epoch(-1) >= near  # type: ignore[operator]  # None is ruled out
        return
    assert 0 <= tick < near
    for instant in (tick + 1, near - (near - tick) // 2, data.draw(st.integers(tick + 1, near))):
        assert ticks.prev_epoch(instant) == tick
    after = ticks.next_epoch(tick)
    assert after is None or after >= near


@quickly
@given(cases())
def test_prev_and_next_are_inverse_on_ticks(case: tuple[Document, int]) -> None:
    spec, near = case
    ticks = compiled(spec)
    sequence = walk(ticks, near - DAY, 25)
    for earlier, later in zip(sequence, sequence[1:], strict=False):  # noqa: RUF007 - one tick is allowed to be alone
        assert ticks.prev_epoch(later) == earlier
        assert ticks.next_epoch(earlier) == later
        assert ticks.prev_epoch(later + 1) == later
    assert all(ticks.trace(tick) is not None for tick in sequence)
    assert all(
        ticks.trace(tick + 1) is None for tick in sequence if tick + 1 not in sequence[1:] and tick != sequence[-1]
    )


@quickly
@given(cases(), st.data())
def test_sequence_is_the_same_from_any_point_between(case: tuple[Document, int], data: st.DataObject) -> None:
    spec, near = case
    ticks = compiled(spec)
    sequence = walk(ticks, near - DAY, 20)
    if len(sequence) < 2:
        return
    index = data.draw(st.integers(0, len(sequence) - 2))
    instant = data.draw(st.integers(sequence[index], sequence[index + 1] - 1))
    assert walk(ticks, instant, len(sequence) - index - 1) == sequence[index + 1 :]


@quickly
@given(cases())
def test_between_equals_repeated_next(case: tuple[Document, int]) -> None:
    spec, near = case
    ticks = compiled(spec)
    sequence = walk(ticks, near, 12)
    if not sequence:
        return
    assert list(ticks.between_epochs(sequence[0], sequence[-1])) == sequence
    assert list(ticks.between_epochs(sequence[0] + 1, sequence[-1] - 1)) == [
        tick for tick in sequence if sequence[0] < tick < sequence[-1]
    ]
    assert [
        int(moment.timestamp()) for moment in Spec(**spec).between(sequence[0], sequence[-1], schedule_id="a schedule")
    ] == sequence


@quickly
@given(cases())
def test_every_tick_is_between_1970_and_2200(case: tuple[Document, int]) -> None:
    ticks = compiled(case[0])
    for instant in (-(10**15), -1, 0, HORIZON - 1, HORIZON, HORIZON + DAY, 10**15):
        for tick in (ticks.next_epoch(instant), ticks.prev_epoch(instant)):
            assert tick is None or 0 <= tick < HORIZON
    assert ticks.next_epoch(HORIZON - 1) is None
    assert ticks.next_epoch(10**15) is None
    assert ticks.prev_epoch(0) is None
    assert ticks.prev_epoch(-(10**15)) is None
    assert ticks.next_epoch(-(10**15)) == ticks.next_epoch(-1)
    assert ticks.prev_epoch(10**15) == ticks.prev_epoch(HORIZON)


# ---------------------------------------------------------------- how parts make a whole


@quickly
@given(cases(excluding=False))
def test_a_union_is_the_sorted_set_of_its_parts(case: tuple[Document, int]) -> None:
    spec, near = case
    kinds = ("cron", "calendars", "intervals", "rrules", "times")
    rest = {name: value for name, value in spec.items() if name not in kinds}
    parts = [compiled({kind: [source], **rest}) for kind in kinds for source in spec.get(kind, [])]
    first, last, whole = span_of(compiled(spec), near)
    assert whole == sorted({tick for part in parts for tick in inside(part, first, last)})


@quickly
@given(cases(excluding=False), st.data())
def test_exclusions_only_remove(case: tuple[Document, int], data: st.DataObject) -> None:
    spec, near = case
    first, last, before = span_of(compiled(spec), near)
    exclude = data.draw(exclusions(near))
    after = inside(compiled({**spec, "exclude": exclude}), first, last)
    assert set(after) <= set(before)
    event(f"removed {'none' if after == before else 'some' if after else 'all'}")
    if set(exclude) == {"windows"}:  # a window defines them exactly
        begin, end = (load_moment(exclude["windows"][0][name]) for name in ("from", "to"))
        assert after == [tick for tick in before if not begin <= tick < end]


def load_moment(text: str) -> int:
    from tompion.spec.datetime_text import read_moment

    return read_moment(text, field="test").seconds


@quickly
@given(cases(), st.data())
def test_bounds_only_clip(case: tuple[Document, int], data: st.DataObject) -> None:
    spec, near = case
    if any(text.startswith("FREQ") for text in spec.get("rrules", ())):
        del spec["rrules"]  # without DTSTART, start_at is what such a rule counts from
    first, last, whole = span_of(compiled(spec), near)
    edges = sorted(data.draw(st.integers(first, last)) for _ in range(2))
    if len(whole) > 1 and data.draw(st.integers(0, 1)) > 0:
        edges = [whole[0], whole[-1]]
    start, end = edges
    clipped = compiled({**spec, "start_at": iso(start), "end_at": iso(end)})
    assert walk(clipped, -1, 100) == [tick for tick in whole if start <= tick <= end]
    assert clipped.prev_epoch(HORIZON) == max((tick for tick in whole if start <= tick <= end), default=None)


@quickly
@given(cases())
def test_dst_policies_differ_only_as_documented(case: tuple[Document, int]) -> None:
    """``both`` is ``first`` plus ``second``. ``skip`` lacks what ``catch_up`` and ``shift`` add."""
    spec, near = case
    first, last, _ticks = span_of(compiled({**spec, "dst_overlap": "both", "dst_gap": "shift"}), near)

    def ticks(**policy: str) -> set[int]:
        return set(inside(compiled({**spec, **policy}), first, last))

    for gap in DST_GAPS:
        passes = [ticks(dst_gap=gap, dst_overlap=overlap) for overlap in ("first", "second", "both")]
        assert passes[0] | passes[1] == passes[2]
    for overlap in ("first", "second", "both"):
        skipped, caught_up, shifted = (ticks(dst_gap=gap, dst_overlap=overlap) for gap in ("skip", "catch_up", "shift"))
        assert skipped <= caught_up
        assert skipped <= shifted


# ---------------------------------------------------------------- a pure function of the spec


def clear_caches() -> None:
    for name, module in list(sys.modules.items()):
        if name.startswith("tompion."):
            for value in list(vars(module).values()):
                if hasattr(value, "cache_clear") and value is not load_zone:
                    value.cache_clear()


@settings(quickly, max_examples=25)
@given(cases())
def test_recompiled_spec_has_the_same_ticks(case: tuple[Document, int]) -> None:
    spec, near = case
    before = compiled(spec)
    ticks = walk(before, near - DAY, 30)
    clear_caches()
    again = compiled(spec)
    assert again is not before
    assert walk(again, near - DAY, 30) == ticks
    read_again = Spec.from_json(Spec(**spec).to_json())
    assert read_again == Spec(**spec)
    assert walk(read_again.compile(schedule_id="a schedule"), near - DAY, 30) == ticks


@quickly
@given(cases(), st.data())
def test_order_of_calls_does_not_change_results(case: tuple[Document, int], data: st.DataObject) -> None:
    """No state is kept between calls: results do not depend on their order."""
    spec, near = case
    questions = data.draw(st.lists(st.integers(near - 9 * DAY, near + 9 * DAY), min_size=2, max_size=8))
    shuffled = data.draw(st.permutations(questions))
    ticks = compiled(spec)
    answers = {instant: (ticks.next_epoch(instant), ticks.prev_epoch(instant)) for instant in questions}
    assert {instant: (ticks.next_epoch(instant), ticks.prev_epoch(instant)) for instant in shuffled} == answers


@pytest.mark.parametrize("text", ["0 0 30 2 *", "0 0 0 29 2 ? 2023", "0 0 31 2,4,6,9,11 *", "0 0 L-30 2 *"])
@pytest.mark.parametrize("zone", ["UTC", "Pacific/Apia", "Africa/Casablanca"])
def test_impossible_spec_has_no_tick_from_any_instant(text: str, zone: str) -> None:
    ticks = Spec(cron=text, timezone=zone).compile()
    for instant in range(0, HORIZON, 997 * DAY):
        assert ticks.next_epoch(instant) is None
        assert ticks.prev_epoch(instant) is None
