"""The public Spec class: built from plain values, checked at once, queried with datetimes, written as JSON."""

from __future__ import annotations

import copy
import dataclasses
import doctest
import inspect
import json
import pickle
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from importlib.resources import files
from typing import Any, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tompion
from tompion import Finding, InvalidInput, InvalidSpec, InvalidTime, LimitExceeded, NamedCalendar, Spec, Tick

BERLIN = "Europe/Berlin"
NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
DAILY = Spec(cron="0 12 * * *")


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


# --- made -------------------------------------------------------------------------------------------------------


def test_one_string_or_a_list_of_them() -> None:
    assert Spec(cron="0 9 * * *", rrules="FREQ=DAILY", times="2026-01-01") == Spec(
        cron=["0 9 * * *"], rrules=("FREQ=DAILY",), times=["2026-01-01"]
    )


def test_numbers_text_timedeltas_and_objects_for_intervals() -> None:
    specs = {
        Spec(intervals=5_400),
        Spec(intervals="90m"),
        Spec(intervals=timedelta(minutes=90)),
        Spec(intervals={"every": "1h30m"}),
        Spec(intervals=[{"every": 5_400, "offset": 0, "anchor": "epoch"}]),
    }
    assert len(specs) == 1


def test_dates_and_datetimes_for_moments() -> None:
    spec = Spec(
        times=[date(2026, 1, 1), datetime(2026, 1, 2, 9), datetime(2026, 1, 3, 9, tzinfo=UTC)],
        start_at=date(2026, 1, 1),
        end_at=datetime(2026, 1, 3, 10, tzinfo=timezone(timedelta(hours=1))),
        timezone=BERLIN,
    )
    assert (spec.times, spec.start_at, spec.end_at) == (
        ("2026-01-01", "2026-01-02T09:00:00", "2026-01-03T09:00:00+00:00"),
        "2026-01-01",
        "2026-01-03T10:00:00+01:00",
    )
    assert spec.upcoming(5, 0) == [utc("2025-12-31T23:00"), utc("2026-01-02T08:00"), utc("2026-01-03T09:00")]


@pytest.mark.parametrize(
    "arguments",
    [
        {"cron": "0 9 * *"},
        {"timezone": "Mars/Base"},
        {"intervals": 0},
        {"rrules": "FREQ=NEVER"},
        {"calendars": {"hour": 24}},
        {"exclude": {"windows": {"from": "2026-01-02", "to": "2026-01-01"}}},
        {"exclude": {"named": ["company"], "dates": ["x"]}},
        {"exclude": {"named": ["company"]}, "cron": "CRON_TZ=Mars/Base 0 9 * * *"},
        {"start_at": "2026-01-02", "end_at": "2026-01-01"},
        {"cron": "0 9 * * *", "dialect": "quartz"},
        {"cron": "CRON_TZ=Asia/Tokyo 0 9 * * *", "timezone": "UTC"},
    ],
)
def test_an_invalid_spec_is_rejected_by_the_constructor(arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidSpec):
        Spec(**arguments)


def test_every_argument_has_a_name() -> None:
    with pytest.raises(TypeError):
        Spec("0 9 * * *")  # type: ignore[call-arg]  # that is what is tested


def test_a_spec_is_frozen_and_can_be_a_key() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        DAILY.cron = ("* * * * *",)  # type: ignore[misc]  # that is what is tested
    assert {DAILY: "noon"}[Spec(cron=["0 12 * * *"])] == "noon"
    assert Spec(cron="0 12 * * *", timezone="UTC") != DAILY


def test_a_changed_copy_is_checked_like_a_new_one() -> None:
    changed = dataclasses.replace(DAILY, timezone=BERLIN)
    assert changed == Spec(cron="0 12 * * *", timezone=BERLIN)
    with pytest.raises(InvalidSpec):
        dataclasses.replace(DAILY, timezone="Mars/Base")


def test_a_spec_can_be_pickled() -> None:
    spec = Spec(cron="0 9 * * *", calendars={"hour": [9, 17]}, exclude={"dates": "2026-12-25"}, timezone=BERLIN)
    assert pickle.loads(pickle.dumps(spec)) == copy.deepcopy(spec) == spec  # noqa: S301 - pickled on this line


# --- queries ----------------------------------------------------------------------------------------------------

SECOND = timedelta(seconds=1)
HALF = timedelta(milliseconds=500)

SAME_INSTANT: list[datetime | int | float] = [
    NOON,
    NOON.astimezone(timezone(timedelta(hours=14))),
    int(NOON.timestamp()),
    NOON.timestamp(),
]


@pytest.mark.parametrize("when", SAME_INSTANT)
def test_an_instant_may_be_an_aware_datetime_or_seconds(when: datetime | float) -> None:
    assert DAILY.next(when) == NOON + timedelta(days=1)
    assert DAILY.prev(when) == NOON - timedelta(days=1)
    assert DAILY.between(when, when) == [NOON]
    assert DAILY.upcoming(1, when) == [NOON + timedelta(days=1)]
    assert [tick.at for tick in DAILY.occurrences(1, when)] == [NOON + timedelta(days=1)]


@pytest.mark.parametrize("as_seconds", [False, True])
def test_a_fraction_of_a_second_is_neither_lost_nor_rounded(as_seconds: bool) -> None:
    """At 12:00:00.5 the tick of 12:00:00 is in the past."""

    def at(moment: datetime) -> datetime | float:
        return moment.timestamp() if as_seconds else moment

    assert DAILY.next(at(NOON - HALF)) == NOON
    assert DAILY.next(at(NOON + HALF)) == NOON + timedelta(days=1)
    assert DAILY.prev(at(NOON + HALF)) == NOON
    assert DAILY.prev(at(NOON - HALF)) == NOON - timedelta(days=1)
    assert DAILY.between(at(NOON - HALF), at(NOON + HALF)) == [NOON]
    assert DAILY.between(at(NOON + HALF), at(NOON + SECOND)) == []
    assert DAILY.between(at(NOON - SECOND), at(NOON - HALF)) == []


def test_a_fraction_before_the_epoch_rounds_the_same_way() -> None:
    assert Spec(intervals=1).next(-0.5) == datetime(1970, 1, 1, tzinfo=UTC)


def test_results_are_aware_and_in_utc() -> None:
    answer = Spec(cron="0 9 * * *", timezone=BERLIN).next(NOON)
    assert answer is not None
    assert answer.tzinfo is UTC


QUESTIONS: list[Callable[[Any], object]] = [
    DAILY.next,
    DAILY.prev,
    lambda when: DAILY.between(when, NOON),
    lambda when: DAILY.between(NOON, when),
    lambda when: DAILY.upcoming(1, when),
    lambda when: DAILY.occurrences(1, when),
    lambda when: DAILY.lint(now=when),
]


@pytest.mark.parametrize("ask", QUESTIONS)
def test_a_naive_datetime_is_rejected(ask: Callable[[Any], object]) -> None:
    with pytest.raises(InvalidTime, match="2026-06-01T12:00:00 has no time zone: pass an aware datetime, or seconds"):
        ask(datetime(2026, 6, 1, 12))


@pytest.mark.parametrize("ask", QUESTIONS)
@pytest.mark.parametrize("when", ["2026-06-01", True, date(2026, 6, 1), [], 1j, 10**400])
def test_a_value_that_is_not_an_instant_is_rejected(ask: Callable[[Any], object], when: object) -> None:
    with pytest.raises(InvalidTime, match="is not an instant: pass an aware datetime, or seconds since the epoch"):
        ask(when)


@pytest.mark.parametrize("ask", QUESTIONS[:2])
@pytest.mark.parametrize("when", [float("nan"), float("inf"), float("-inf")])
def test_nan_and_infinity_are_not_instants(ask: Callable[[Any], object], when: float) -> None:
    with pytest.raises(InvalidTime):
        ask(when)


def test_upcoming_returns_fewer_ticks_if_the_spec_ends() -> None:
    spec = Spec(times=["2026-06-01T12:00Z", "2026-06-02T12:00Z"])
    assert spec.upcoming(5, 0) == [NOON, NOON + timedelta(days=1)]
    assert spec.upcoming(1, 0) == [NOON]
    assert spec.upcoming(0, 0) == []
    assert spec.upcoming(5, NOON + timedelta(days=1)) == []
    assert spec.next(NOON + timedelta(days=1)) is None
    assert spec.prev(NOON) is None


def test_a_negative_count_is_rejected() -> None:
    with pytest.raises(InvalidInput):
        DAILY.upcoming(-1, NOON)


def test_the_default_start_is_now(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stopped:
        def now(self) -> float:
            return NOON.timestamp() - 0.5

    monkeypatch.setattr("tompion.sdk.spec.SystemClock", Stopped)
    assert DAILY.upcoming(1) == [NOON]
    assert [tick.at for tick in DAILY.occurrences(1)] == [NOON]
    assert "no-more-ticks" not in {finding.code for finding in Spec(times=[NOON]).lint()}


def test_between_raises_beyond_its_limit() -> None:
    spec = Spec(cron="* * * * * *")
    assert len(spec.between(NOON, NOON + 99 * SECOND, limit=100)) == 100
    with pytest.raises(LimitExceeded, match=r"more than 100 ticks between .*: use a larger limit= or a shorter range"):
        spec.between(NOON, NOON + 100 * SECOND, limit=100)
    with pytest.raises(LimitExceeded, match="more than 100000 ticks"):
        spec.between(NOON, NOON + timedelta(days=365))


def test_between_is_empty_if_the_end_is_before_the_start() -> None:
    assert DAILY.between(NOON + timedelta(days=3), NOON) == []


def test_named_calendars_may_be_a_list_or_a_mapping() -> None:
    spec = Spec(cron="0 12 * * *", exclude={"named": ["company"]})
    company = NamedCalendar("company", dates=("2026-06-02",))
    for calendars in ([company], {"company": company}, (company, NamedCalendar("other"))):
        assert spec.next(NOON, calendars=calendars) == NOON + timedelta(days=2)
        assert spec.prev(NOON + timedelta(days=2), calendars=calendars) == NOON
        assert spec.upcoming(1, NOON, calendars=calendars) == [NOON + timedelta(days=2)]
    with pytest.raises(InvalidSpec, match="unknown calendar 'company'"):
        spec.next(NOON)


def test_the_schedule_id_seeds_h() -> None:
    spec = Spec(cron="H H * * *")
    assert spec.next(NOON, schedule_id="nightly") == spec.next(NOON, schedule_id="nightly")
    assert len({spec.next(NOON, schedule_id=f"schedule-{number}") for number in range(20)}) > 10


def test_a_spec_can_be_explained_and_linted() -> None:
    assert "12:00" in DAILY.explain()
    [finding] = Spec(cron="* * * * *").lint(now=NOON, min_interval="5m")
    assert isinstance(finding, Finding)
    assert finding.code == "too-dense"
    with pytest.raises(InvalidSpec, match="min_interval: 'often' is not a duration"):
        DAILY.lint(min_interval="often")


# --- ticks with all there is to say about them ------------------------------------------------------------------


def tick(spec: Spec, after: str) -> Tick:
    return spec.occurrences(1, utc(after))[0]


MOVED: list[tuple[dict[str, Any], str, str, str, str, str, str]] = [
    # spec, after, at, local, wall, moved, reason
    ({}, "2026-03-27T12:00", "03-28 01:30", "03-28 02:30", "03-28 02:30", "", ""),
    (
        {},
        "2026-03-28T12:00",
        "03-29 01:00",
        "03-29 03:00",
        "03-29 02:30",
        "gap",
        "02:30 does not exist that day (clocks go forward), so it fires at 03:00",
    ),
    (
        {"dst_gap": "shift"},
        "2026-03-28T12:00",
        "03-29 01:30",
        "03-29 03:30",
        "03-29 02:30",
        "gap",
        "02:30 does not exist that day (clocks go forward), so it fires at 03:30",
    ),
    (
        {},
        "2026-10-24T12:00",
        "10-25 00:30",
        "10-25 02:30",
        "10-25 02:30",
        "first_pass",
        "the first of two 02:30 that day (clocks go back)",
    ),
    (
        {"dst_overlap": "second"},
        "2026-10-24T12:00",
        "10-25 01:30",
        "10-25 02:30",
        "10-25 02:30",
        "second_pass",
        "the second 02:30 of that day (clocks go back)",
    ),
]


@pytest.mark.parametrize(("policy", "after", "at", "local", "wall", "moved", "reason"), MOVED)
def test_a_tick_has_its_dst_adjustment(
    policy: dict[str, Any], after: str, at: str, local: str, wall: str, moved: str, reason: str
) -> None:
    result = tick(Spec(cron="30 2 * * *", timezone=BERLIN, **policy), after)
    output = [f"{moment:%m-%d %H:%M}" for moment in (result.at, result.local, result.wall)]
    assert output == [at, local, wall]
    assert (result.dst_adjustment, result.reason) == (moved, reason)
    assert result.local == result.at
    assert result.wall.tzinfo is None


def test_a_dst_reason_has_seconds_if_needed() -> None:
    assert "02:30:15 does not exist" in tick(Spec(cron="15 30 2 * * *", timezone=BERLIN), "2026-03-28T12:00").reason


def test_the_fire_time_is_the_tick_without_jitter_and_near_it_with() -> None:
    assert tick(DAILY, "2026-06-01").fire_at == NOON
    spec = Spec(cron="0 12 * * *", jitter_ms=60_000)
    fires = {name: spec.occurrences(1, utc("2026-06-01"), schedule_id=name)[0].fire_at for name in "abcdefgh"}
    assert len(set(fires.values())) == 8
    assert all(abs(fire - NOON) <= timedelta(minutes=1) for fire in fires.values())
    assert any(fire < NOON for fire in fires.values())


def test_delaying_jitter_never_fires_early_and_no_jitter_fires_before_the_start() -> None:
    late = Spec(cron="0 12 * * *", jitter_ms=60_000, jitter_mode="delay")
    started = Spec(cron="0 12 * * *", jitter_ms=60_000, start_at=NOON)
    for spec in (late, started):
        fires = [spec.occurrences(1, utc("2026-06-01"), schedule_id=str(number))[0].fire_at for number in range(50)]
        assert NOON <= min(fires) <= max(fires) <= NOON + timedelta(minutes=1)
        assert len(set(fires)) > 10


def test_wall_and_local_differ_only_where_a_clock_change_moved_the_tick() -> None:
    spec = Spec(cron=["CRON_TZ=Asia/Tokyo 0 9 * * *", "CRON_TZ=Europe/Berlin 0 9 * * *"])
    for result in spec.occurrences(2, NOON):
        assert result.wall == result.local.replace(tzinfo=None)


# --- JSON -------------------------------------------------------------------------------------------------------

CRONS = st.sampled_from(
    ["0 9 * * *", "H H(0-7) * * *", "*/5 8-18 * * MON-FRI", "0 0 L * +FRI", "@every 90m/5m", "0 18 LW * * # x"]
)
RRULES = st.sampled_from(["FREQ=DAILY", "DTSTART:20260105T090000\nRRULE:FREQ=WEEKLY;BYDAY=MO"])
RANGES = st.builds(
    lambda first, width, step: {"start": first, "end": min(first + width, 23), "step": step},
    st.integers(0, 23),
    st.integers(0, 23),
    st.integers(1, 9),
)
HOURS = st.integers(0, 23) | st.lists(st.integers(0, 23) | RANGES, min_size=1, max_size=3) | st.just("9-17/2,H")
CALENDARS = st.fixed_dictionaries(
    {},
    optional={
        "hour": HOURS,
        "second": HOURS,
        "minute": st.sampled_from(["*/7", "0", 5]),
        "day_of_month": st.sampled_from(["L-2", "15W", 31]),
        "month": st.sampled_from(["JAN,MAR", 2]),
        "year": st.sampled_from(["2026-2030", 2027]),
        "day_of_week": st.sampled_from(["MON#1", "FRIL", "0-5"]),
        "comment": st.text(max_size=10),
    },
)
INTERVALS = st.integers(1, 10**9).flatmap(
    lambda every: st.builds(lambda offset: {"every": every, "offset": offset}, st.integers(0, every - 1))
)
DATES = st.dates(date(1970, 1, 2), date(2199, 1, 1))
WALLS = st.datetimes(datetime(1970, 1, 2), datetime(2199, 1, 1)).map(
    lambda moment: moment.replace(microsecond=0, fold=0)
)
WINDOWS = st.builds(
    lambda begin, days, note: {"from": begin, "to": begin + timedelta(days=days), "note": note},
    DATES,
    st.integers(0, 30),
    st.text(max_size=5),
)
EXCLUDE = st.fixed_dictionaries(
    {},
    optional={
        "calendars": st.lists(CALENDARS, max_size=2),
        "dates": st.lists(DATES, max_size=3),
        "windows": st.lists(WINDOWS, max_size=3),
        "holidays": st.just({"country": "DE", "subdivision": "BY", "dates": ["2026-05-01"], "source": "by hand"}),
        "named": st.lists(st.text(max_size=5), max_size=2),
    },
)
RICH = st.fixed_dictionaries(
    {},
    optional={
        "cron": st.lists(CRONS, max_size=3),
        "calendars": st.lists(CALENDARS, max_size=2),
        "intervals": st.lists(INTERVALS, max_size=2),
        "rrules": st.lists(RRULES, max_size=2),
        "times": st.lists(DATES | WALLS, max_size=3),
        "exclude": EXCLUDE,
        "timezone": st.sampled_from([BERLIN, "UTC", "Australia/Lord_Howe"]),
        "start_at": st.dates(date(1970, 1, 2), date(2030, 1, 1)),
        "end_at": st.datetimes(datetime(2031, 1, 1), datetime(2199, 1, 1), timezones=st.just(UTC)),
        "jitter_ms": st.integers(0, 10**9),
        "jitter_mode": st.sampled_from(["symmetric", "delay"]),
        "dst_gap": st.sampled_from(["catch_up", "skip", "shift"]),
        "dst_overlap": st.sampled_from(["auto", "first", "second", "both"]),
        "dst_profile": st.sampled_from(["vixie", "temporal", "quartz", "airflow"]),
    },
)


@settings(max_examples=150)
@given(RICH)
def test_a_spec_equals_itself_after_a_json_round_trip(arguments: dict[str, Any]) -> None:
    spec = Spec(**arguments)
    again = Spec.from_json(spec.to_json())
    assert again == spec
    assert hash(again) == hash(spec)
    assert again.to_json() == spec.to_json()
    assert Spec.from_dict(json.loads(json.dumps(spec.to_dict()))) == spec


def test_default_values_are_not_written() -> None:
    assert Spec().to_dict() == {}
    assert DAILY.to_json() == '{"cron": ["0 12 * * *"]}'


def test_null_is_the_same_as_a_missing_field() -> None:
    nulls: dict[str, None] = dict.fromkeys(Spec.__dataclass_fields__)
    assert Spec.from_dict(nulls) == Spec()
    assert Spec.from_json('{"cron": "0 12 * * *", "timezone": null, "exclude": null}') == DAILY


def test_json_keeps_non_ascii_text_of_a_spec() -> None:
    spec = Spec(calendars={"comment": "Frühschicht"})
    assert "Frühschicht" in spec.to_json()


# --- what is public ---------------------------------------------------------------------------------------------


def test_the_example_of_the_class_runs() -> None:
    [example] = doctest.DocTestFinder(recurse=False).find(Spec, "Spec")
    assert len(example.examples) >= 3
    assert doctest.DocTestRunner().run(example).failed == 0


@pytest.mark.parametrize("name", tompion.__all__)
def test_every_public_name_exists_and_is_documented(name: str) -> None:
    assert (getattr(tompion, name).__doc__ or "").strip()


def test_a_star_import_gives_the_public_names_only() -> None:
    names: dict[str, Any] = {}
    exec("from tompion import *", names)  # noqa: S102 - a star cannot be written inside a function
    assert set(names) - {"__builtins__"} == set(tompion.__all__)
    assert tompion.__all__ == sorted(tompion.__all__)


def public_functions() -> list[tuple[str, Any]]:
    result = []
    for name in tompion.__all__:
        value = getattr(tompion, name)
        if inspect.isclass(value):
            members = inspect.getmembers(value, inspect.isroutine)
            own = [(key, member) for key, member in members if not key.startswith("_") and key in vars(value)]
            result += [(f"{name}.{key}", member) for key, member in own]
        else:
            result.append((name, value))
    return result


@pytest.mark.parametrize(("name", "function"), public_functions())
def test_every_public_function_is_typed(name: str, function: Any) -> None:
    function = getattr(function, "__func__", function)
    hints = get_type_hints(function)
    code = inspect.unwrap(function).__code__  # the signature of some methods shows the fields of a schedule instead
    keywords = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + keywords]
    parameters = [key for key in names if key not in ("self", "cls")]
    assert set(hints) == {*parameters, "return"}, name


def test_the_package_has_a_py_typed_marker() -> None:
    assert files("tompion").joinpath("py.typed").is_file()


def test_a_fold_that_iso_text_cannot_express_is_rejected() -> None:
    """Regression: the second 02:30 of that night was stored as "02:30", and ran as the first."""
    second = datetime(2026, 10, 25, 2, 30, fold=1)
    with pytest.raises(InvalidSpec, match="fold"):
        Spec(times=[second], timezone="Europe/Berlin")


def test_a_duplicate_json_key_is_rejected() -> None:
    with pytest.raises(InvalidSpec, match="duplicate key 'cron'"):
        Spec.from_json('{"cron": "0 9 * * *", "cron": "0 10 * * *"}')
