"""Reading a spec from loose data: every field, every invalid value, and its error."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tompion import InvalidSpec, Spec, UnknownZone
from tompion.model.spec import CalendarDocument, IntervalDocument, Range, WindowDocument
from tompion.spec.document import FIELDS, MAX_DATES, MAX_JITTER_MS, MAX_SOURCES, document_json, read_document, read_spec

Data = dict[str, Any]


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text + "+00:00")


def excluding(**exclude: Any) -> Data:
    return {"cron": "0 9 * * *", "exclude": exclude}


# --- bad input --------------------------------------------------------------------------------------------------

# the input, the field that the error names, and a part of its message
BAD: list[tuple[Data, str, str]] = [
    ({"cron": 5}, "cron", "5 is not a list; expected one value or a list"),
    ({"cron": {"minute": 5}}, "cron", "is not a list; expected one value or a list"),
    ({"cron": b"0 9 * * *"}, "cron", "expected one value or a list"),
    ({"cron": True}, "cron", "True is not a list"),
    ({"cron": ["0 9 * * *", 5]}, "cron[1]", "5 is not text"),
    ({"cron": [["0 9 * * *"]]}, "cron[0]", "is not text"),
    ({"cron": [None]}, "cron[0]", "None is not text"),
    ({"cron": ""}, "cron", "0 fields"),
    ({"cron": "0 9 * *"}, "cron", "4 fields"),
    ({"cron": "61 * * * *"}, "cron.minute", "61 is out of range at position 1 of '61 * * * *'; expected 0 to 59"),
    ({"cron": "0 9 * * FRY"}, "cron.day_of_week", "did you mean FRI?"),
    ({"cron": "0 9 * * * 2026"}, "cron", "6 fields ending in a year"),
    ({"cron": "@reboot"}, "cron", "@reboot is not a time"),
    ({"cron": "CRON_TZ=Mars/Base 0 9 * * *"}, "timezone", "unknown time zone 'Mars/Base'"),
    ({"cron": "x" * 1_001}, "cron", "1001 characters"),
    ({"calendars": 5}, "calendars", "expected one value or a list"),
    ({"calendars": "hour=9"}, "calendars", "'hour=9' is not a list"),
    ({"calendars": [5]}, "calendars[0]", "5 is not a calendar; expected an object with calendar fields"),
    ({"calendars": {"hours": 9}}, "calendars[0]", "unknown field 'hours'; expected second, minute, hour"),
    ({"calendars": {5: 9}}, "calendars[0]", "unknown field '5'"),
    ({"calendars": {"hour": 24}}, "calendars[0].hour[0]", "24 is out of range; expected 0 to 23"),
    ({"calendars": {"hour": -1}}, "calendars[0].hour[0]", "-1 is out of range"),
    ({"calendars": {"hour": "24"}}, "calendars[0].hour", "24 is out of range at position 1 of '24'"),
    ({"calendars": {"hour": 9.5}}, "calendars[0].hour", "9.5 is not a field; expected text, a number, or a list"),
    ({"calendars": {"hour": True}}, "calendars[0].hour", "True is not a field"),
    ({"calendars": {"hour": []}}, "calendars[0].hour", "[] is not a field"),
    ({"calendars": {"hour": [True]}}, "calendars[0].hour[0]", "True is not a range"),
    ({"calendars": {"hour": [9, "x"]}}, "calendars[0].hour[1]", "'x' is not a range; expected {start, end, step}"),
    ({"calendars": {"hour": {"end": 5}}}, "calendars[0].hour[0]", "is not a range"),
    ({"calendars": {"hour": {"start": 1, "stop": 5}}}, "calendars[0].hour[0]", "is not a range"),
    ({"calendars": {"hour": {"start": 1, "end": "5"}}}, "calendars[0].hour[0].end", "'5' is not a whole number"),
    ({"calendars": {"hour": {"start": 1, "end": 5, "step": 0}}}, "calendars[0].hour[0].step", "step 0"),
    ({"calendars": {"hour": [1] * 101}}, "calendars[0].hour", "1 to 100 ranges"),
    ({"calendars": {"day_of_week": "*" * 1_001}}, "calendars[0].day_of_week", "1001 characters; expected at most"),
    ({"calendars": [{}, {"comment": 5}]}, "calendars[1].comment", "not text"),
    ({"intervals": {}}, "intervals[0]", "{} is not an interval; expected {every, offset, anchor} or '15m/5m'"),
    ({"intervals": {"ever": "5m"}}, "intervals[0]", "is not an interval"),
    ({"intervals": {"every": "5m", "phase": 5}}, "intervals[0]", "is not an interval"),
    ({"intervals": 1.5}, "intervals", "1.5 is not a list"),
    ({"intervals": [1.5]}, "intervals[0]", "1.5 is not an interval"),
    ({"intervals": True}, "intervals[0]", "True is not an interval"),
    ({"intervals": "5x"}, "intervals[0].every", "'5x' is not a duration"),
    ({"intervals": ["5m", "0s"]}, "intervals[1].every", "'0s'; expected 1s or more"),
    ({"intervals": -60}, "intervals[0].every", "-60; expected 1s or more"),
    ({"intervals": {"every": "500ms"}}, "intervals[0].every", "not a whole number of seconds"),
    ({"intervals": {"every": None}}, "intervals[0].every", "is not a duration"),
    ({"intervals": "15m/x"}, "intervals[0].offset", "'x' is not a duration"),
    ({"intervals": "15m/15m"}, "intervals[0].offset", "'15m'; expected less than the interval"),
    ({"intervals": {"every": 60, "offset": -1}}, "intervals[0].offset", "-1; expected less than the interval"),
    ({"intervals": {"every": 60, "anchor": "start"}}, "intervals[0].anchor", "'start'; expected epoch or completion"),
    (
        {"intervals": {"every": 60, "offset": 5, "anchor": "completion"}},
        "intervals[0].offset",
        "an offset after completion; expected no offset",
    ),
    ({"rrules": 5}, "rrules", "expected one value or a list"),
    ({"rrules": [5]}, "rrules[0]", "5 is not text"),
    ({"rrules": "FREQ=NEVER"}, "rrules", "FREQ is 'NEVER' at position 6 of 'FREQ=NEVER'"),
    ({"rrules": ""}, "rrules", "the rule is missing"),
    ({"times": 5}, "times", "5 is not a list"),
    ({"times": ["2026-01-01", 5]}, "times[1]", "5 is not a date or time"),
    ({"times": "soon"}, "times[0]", "'soon' is not a date or time; expected an ISO 8601 date or time"),
    ({"times": "2026-01-01T00:00:00.5"}, "times[0]", "is not a whole second; expected whole seconds"),
    ({"exclude": 5}, "exclude", "5 is not an object; expected an object with calendars, dates, windows, holidays"),
    ({"exclude": ["2026-12-25"]}, "exclude", "is not an object"),
    (excluding(date="2026-12-25"), "exclude", "unknown field 'date'; expected one of calendars, dates"),
    (excluding(calendars="x"), "exclude.calendars", "'x' is not a list"),
    (excluding(calendars=[{}, {"hour": "24"}]), "exclude.calendars[1].hour", "24 is out of range"),
    (excluding(dates=5), "exclude.dates", "5 is not a list"),
    (excluding(dates="25.12.2026"), "exclude.dates[0]", "'25.12.2026' is not a date"),
    (excluding(dates=["2026-12-25T00:00"]), "exclude.dates[0]", "is not a date; expected a date such as 2026-12-25"),
    (excluding(windows="2026-12-25"), "exclude.windows", "is not a list"),
    (excluding(windows=[{"from": "2026-12-25"}]), "exclude.windows[0]", "is not a window; expected {from, to, note}"),
    (excluding(windows={"from": "2026-12-25", "to": "x"}), "exclude.windows[0].to", "'x' is not a date or time"),
    (excluding(windows={"from": 5, "to": "2026-12-25"}), "exclude.windows[0].from", "5 is not a date or time"),
    (
        excluding(windows={"from": "2026-12-25", "to": "2026-12-26", "note": 5}),
        "exclude.windows[0].note",
        "5 is not text",
    ),
    (
        excluding(windows={"from": "2026-12-26", "to": "2026-12-25"}),
        "exclude.windows[0]",
        "ends at 2026-12-25, before it begins at 2026-12-26; expected from before to",
    ),
    (excluding(windows={"from": "2026-12-26T09:00", "to": "2026-12-26T09:00"}), "exclude.windows[0]", "from before to"),
    (excluding(holidays=5), "exclude.holidays", "5 is not a list"),
    (excluding(holidays=[5]), "exclude.holidays[0]", "expected {country, subdivision} or 'DE-BY'"),
    (excluding(named=5), "exclude.named", "5 is not a list"),
    (excluding(named=[5]), "exclude.named[0]", "5 is not text"),
    ({"timezone": 5}, "timezone", "5 is not text"),
    ({"timezone": ""}, "timezone", "unknown time zone ''"),
    ({"timezone": "Europe/Belrin"}, "timezone", "did you mean 'Europe/Berlin'?"),
    ({"timezone": "CEST"}, "timezone", "expected an IANA name such as 'Europe/Berlin'"),
    ({"timezone": "+02:00"}, "timezone", "unknown time zone '+02:00'"),
    ({"start_at": 5}, "start_at", "5 is not a date or time; expected ISO text or a datetime"),
    ({"start_at": ""}, "start_at", "'' is not a date or time"),
    ({"end_at": "noon"}, "end_at", "'noon' is not a date or time"),
    ({"end_at": True}, "end_at", "True is not a date or time"),
    ({"start_at": "2026-01-02", "end_at": "2026-01-01"}, "end_at", "2026-01-01 is before start_at 2026-01-02"),
    ({"jitter_ms": -1}, "jitter_ms", "-1; expected a whole number of milliseconds from 0 to"),
    ({"jitter_ms": MAX_JITTER_MS + 1}, "jitter_ms", "expected a whole number of milliseconds"),
    ({"jitter_ms": 1.5}, "jitter_ms", "1.5; expected"),
    ({"jitter_ms": "5"}, "jitter_ms", "'5' has no unit"),
    ({"jitter_ms": True}, "jitter_ms", "True; expected"),
    ({"jitter_mode": "both"}, "jitter_mode", "'both'; expected one of symmetric, delay, temporal"),
    ({"jitter_seed": 7}, "jitter_seed", "7 is not text"),
    ({"dst_gap": "ignore"}, "dst_gap", "'ignore'; expected one of catch_up, skip, shift"),
    ({"dst_overlap": []}, "dst_overlap", "[]; expected one of auto, first, second, both"),
    ({"dst_profile": "cron"}, "dst_profile", "'cron'; expected one of vixie, temporal, quartz, airflow"),
    ({"dialect": "TOMPION"}, "dialect", "'TOMPION'; expected one of tompion, quartz, temporal"),
]


@pytest.mark.parametrize(("data", "field", "message"), BAD)
def test_invalid_value_is_rejected_with_field_and_expectation(data: Data, field: str, message: str) -> None:
    with pytest.raises(InvalidSpec) as caught:
        Spec.from_dict(data)
    assert caught.value.field == field
    assert message in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_every_field_has_an_invalid_value_case() -> None:
    assert {field.partition("[")[0].partition(".")[0] for _data, field, _message in BAD} == set(FIELDS)
    assert len(BAD) >= 60


def test_date_error_does_not_suggest_a_time() -> None:
    """Regression: the error for ``--exclude x`` suggested "2026-03-29T09:00", which was then rejected."""
    with pytest.raises(InvalidSpec) as caught:
        Spec.from_dict(excluding(dates="x"))
    assert caught.value.expected == "a date such as 2026-12-25"


@pytest.mark.parametrize("name", ["crons", "Cron", "tz", "", "cron ", 5])
def test_unknown_field_is_rejected_with_the_known_ones(name: object) -> None:
    with pytest.raises(InvalidSpec, match="unknown field") as caught:
        Spec.from_dict({name: 1})  # type: ignore[dict-item]  # JSON has text keys, Python has all
    assert repr(str(name)) in str(caught.value)
    assert all(field in (caught.value.expected or "") for field in FIELDS)


@pytest.mark.parametrize("data", [None, [], "cron", 5, [("cron", "0 9 * * *")]])
def test_value_that_is_not_an_object_is_rejected(data: Any) -> None:
    with pytest.raises(InvalidSpec, match="is not a spec; expected a JSON object"):
        Spec.from_dict(data)


@pytest.mark.parametrize("text", ["", "{", "{'cron': 1}", "nul", '{"cron": "0 9 * * *"', "\ufeff{}", "[" * 100_000])
def test_invalid_json_is_rejected(text: str) -> None:
    with pytest.raises(InvalidSpec, match=r"^not JSON: "):
        Spec.from_json(text)


def test_long_value_is_shortened_in_the_message() -> None:
    with pytest.raises(InvalidSpec) as caught:
        Spec.from_dict({"cron": {"x" * 500: 1}, "timezone": "UTC"})
    assert len(str(caught.value)) < 200


def test_long_zone_name_is_shortened_in_the_message() -> None:
    """Regression: a megabyte in ``timezone`` was a megabyte of error message in every log."""
    with pytest.raises(UnknownZone) as caught:
        Spec.from_dict({"timezone": "Europe/" * 1_000})
    assert len(str(caught.value)) < 300


# --- limits -----------------------------------------------------------------------------------------------------

LIMITS: list[tuple[Callable[[int], Data], str, int]] = [
    (lambda count: {"cron": ["0 9 * * *"] * count}, "cron", MAX_SOURCES),
    (lambda count: {"calendars": [{}] * count}, "calendars", MAX_SOURCES),
    (lambda count: {"intervals": ["5m"] * count}, "intervals", MAX_SOURCES),
    (lambda count: {"rrules": ["FREQ=DAILY"] * count}, "rrules", MAX_SOURCES),
    (lambda count: {"times": ["2026-01-01"] * count}, "times", MAX_DATES),
    (lambda count: {"exclude": {"calendars": [{}] * count}}, "exclude.calendars", MAX_SOURCES),
    (lambda count: {"exclude": {"dates": ["2026-01-01"] * count}}, "exclude.dates", MAX_DATES),
    (lambda count: {"exclude": {"named": ["x"] * count}}, "exclude.named", MAX_SOURCES),
    (
        lambda count: {"exclude": {"windows": [{"from": "2026-01-01", "to": "2026-01-01"}] * count}},
        "exclude.windows",
        MAX_DATES,
    ),
    (
        lambda count: {"exclude": {"holidays": [{"country": "DE", "dates": []}] * count}},
        "exclude.holidays",
        MAX_SOURCES,
    ),
]


@pytest.mark.parametrize(("build", "field", "limit"), LIMITS, ids=[field for _build, field, _limit in LIMITS])
def test_list_length_is_limited(build: Callable[[int], Data], field: str, limit: int) -> None:
    read_document(build(limit))
    with pytest.raises(InvalidSpec, match=f"{limit + 1} elements; expected at most {limit}") as caught:
        read_document(build(limit + 1))
    assert caught.value.field == field


def test_jitter_is_accepted_up_to_its_limit() -> None:
    assert Spec(cron="@yearly", jitter_ms=MAX_JITTER_MS).jitter_ms == 366 * 86_400_000


# --- fixed delays -----------------------------------------------------------------------------------------------

AFTER_COMPLETION = {"every": "5m", "anchor": "completion"}


@pytest.mark.parametrize(
    "beside",
    [
        {"cron": "0 9 * * *"},
        {"calendars": {}},
        {"rrules": "FREQ=DAILY"},
        {"times": "2026-01-01"},
        {"intervals": [AFTER_COMPLETION, "5m"]},
        {"intervals": [AFTER_COMPLETION, AFTER_COMPLETION]},
    ],
)
def test_fixed_delay_is_rejected_with_any_other_source(beside: Data) -> None:
    with pytest.raises(
        InvalidSpec, match=r"a fixed delay .* with other sources; expected it as the only source"
    ) as caught:
        Spec.from_dict({"intervals": AFTER_COMPLETION} | beside)
    assert caught.value.field == "intervals"
    assert caught.value.hint == "use two schedules"


def test_fixed_delay_may_have_exclusions_and_bounds() -> None:
    spec = Spec(intervals=AFTER_COMPLETION, exclude={"dates": "2026-06-01"}, start_at="2026-05-01", end_at="2026-06-30")
    assert spec.next(utc("2026-05-31T23:50")) == utc("2026-05-31T23:55")
    late = spec.next(utc("2026-05-31T23:58"))
    assert late is not None
    assert late.date() == date(2026, 6, 2)
    assert spec.next(utc("2026-06-30T23:58")) is None


@pytest.mark.parametrize("exclude", [{"dates": "2026-06-01"}, {"windows": {"from": "2026-06-01", "to": "2026-06-01"}}])
def test_fixed_delay_in_an_exclusion_fires_after_it(exclude: Data) -> None:
    """Regression: a run due at 00:03 of an excluded day came at 00:04:59 of the next day."""
    spec = Spec(intervals=AFTER_COMPLETION, exclude=exclude)
    assert spec.next(utc("2026-05-31T23:58")) == utc("2026-06-02T00:00")


# --- good input -------------------------------------------------------------------------------------------------

SAME: list[tuple[Data, Data]] = [
    ({"cron": "0 9 * * *"}, {"cron": ["0 9 * * *"]}),
    ({"cron": ("0 9 * * *",)}, {"cron": ["0 9 * * *"]}),
    ({"calendars": {"hour": 9}}, {"calendars": [CalendarDocument(hour=(Range(9, 9),))]}),
    ({"calendars": {"hour": [9, {"start": 12}]}}, {"calendars": {"hour": [Range(9, 9), Range(12, 12)]}}),
    ({"calendars": {"hour": " 9 ", "minute": None}}, {"calendars": {"hour": "9"}}),
    ({"intervals": "90m/5m"}, {"intervals": [{"every": 5_400, "offset": "300s"}]}),
    ({"intervals": timedelta(minutes=90)}, {"intervals": ["1h30m"]}),
    ({"intervals": 60}, {"intervals": IntervalDocument(60)}),
    ({"intervals": {"every": "60", "offset": None, "anchor": None}}, {"intervals": "1m"}),
    ({"times": date(2026, 1, 1)}, {"times": ["2026-01-01"]}),
    (excluding(dates=date(2026, 1, 1)), excluding(dates=["2026-01-01"])),
    (
        excluding(windows={"from": "2026-01-01", "to": "2026-01-02"}),
        excluding(windows=[WindowDocument("2026-01-01", "2026-01-02")]),
    ),
    (excluding(dates=None, calendars=[], windows=(), holidays=None, named=None), {"cron": "0 9 * * *"}),
    (excluding(named="company"), excluding(named=["company"])),
    ({"cron": "0 9 * * *", "timezone": None, "start_at": None, "dst_gap": None}, {"cron": "0 9 * * *"}),
    ({"cron": [], "times": []}, {}),
]


@pytest.mark.parametrize(("loose", "strict"), SAME)
def test_equal_spellings_give_equal_documents(loose: Data, strict: Data) -> None:
    assert Spec.from_dict(loose) == Spec.from_dict(strict)


def test_list_may_be_any_iterable() -> None:
    crons = ["0 9 * * *", "0 12 * * *"]
    assert Spec(cron=(text for text in crons)) == Spec(cron=dict.fromkeys(crons).keys()) == Spec(cron=crons)


def test_defaults_are_not_written() -> None:
    assert document_json(read_spec({})) == {}
    assert document_json(read_spec({"cron": "0 9 * * *", "dst_overlap": "auto", "jitter_ms": 0})) == {
        "cron": ["0 9 * * *"]
    }


def test_written_document_is_plain_json() -> None:
    data = {
        "cron": ["0 9 * * *"],
        "calendars": [{"hour": [{"start": 9, "end": 17, "step": 2}], "day_of_week": "MON-FRI", "comment": "office"}],
        "intervals": [{"every": "1h30m", "offset": "5m"}],
        "exclude": {"windows": [{"from": "2026-01-01", "to": "2026-01-02", "note": "freeze"}], "named": ["company"]},
        "dst_gap": "skip",
    }
    assert json.loads(json.dumps(document_json(read_spec(data)))) == data


# --- anything at all --------------------------------------------------------------------------------------------

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=10,
)
WORDS = st.sampled_from(
    ["0 9 * * *", "@every 5m", "FREQ=DAILY", "2026-03-29", "2026-03-29T02:30", "15m/5m", "9-17", "H", "L", "UTC",
     "Europe/Berlin", "completion", "epoch", "quartz", "skip", "first", "delay", "", "*", "1d", "x"]
)  # fmt: skip
KEYS = st.sampled_from(
    [*FIELDS, "second", "minute", "hour", "day_of_month", "month", "year", "day_of_week", "comment", "every", "offset",
     "anchor", "dates", "windows", "named", "from", "to", "note", "start", "end", "step"]
)  # fmt: skip
PLAUSIBLE = st.recursive(
    SCALARS | WORDS | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(FIELDS), JSON | PLAUSIBLE, max_size=5) | JSON)
def test_any_data_gives_a_spec_or_invalid_spec(data: Any) -> None:
    try:
        spec = Spec.from_dict(data)
    except InvalidSpec as error:
        assert len(str(error).splitlines()) == 1  # noqa: PT017 - both outcomes are right, each has its own check
    else:
        assert Spec.from_json(spec.to_json()) == spec


@given(st.text(max_size=40) | JSON.map(json.dumps))
def test_any_text_gives_a_spec_or_invalid_spec(text: str) -> None:
    try:
        Spec.from_json(text)
    except InvalidSpec:
        return


# --- regressions ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [{"intervals": [IntervalDocument(0)]}, {"exclude": {"windows": [WindowDocument(1, 2)]}}],  # type: ignore[arg-type]  # wrong on purpose
)
def test_model_document_is_checked_like_data(data: Data) -> None:
    """Regression: a model object was not checked, and an interval of 0 seconds was a ZeroDivisionError."""
    with pytest.raises(InvalidSpec):
        Spec.from_dict(data)


def test_error_names_the_start_of_a_range() -> None:
    with pytest.raises(InvalidSpec) as caught:
        Spec.from_dict({"calendars": {"hour": {"start": "1"}}})
    assert caught.value.field == "calendars[0].hour[0].start"


def test_offset_beyond_the_interval_is_rejected_in_a_document() -> None:
    with pytest.raises(InvalidSpec):
        Spec(intervals=[IntervalDocument(60, 90)])


def test_longest_interval_round_trips() -> None:
    """Regression: any int was accepted as ``every``, but the stored text of 10¹² days or more could not be read."""
    try:
        spec = Spec(intervals=10**20)
    except InvalidSpec:
        return  # a named limit is as good
    assert Spec.from_json(spec.to_json()) == spec


@pytest.mark.parametrize("name", ["jitter_ms", "intervals", "timezone"])
def test_number_too_long_to_print_is_rejected(name: str) -> None:
    with pytest.raises(InvalidSpec):
        Spec.from_dict({name: -(10**5_000)})


def test_deep_nesting_is_rejected_without_recursion_error() -> None:
    """Regression: JSON nested almost as deeply as the stack allows was parsed, and then broke its error message."""
    for depth in range(500, sys.getrecursionlimit()):
        with pytest.raises(InvalidSpec):
            Spec.from_json('{"cron": ' + "[" * depth + "]" * depth + "}")


@pytest.mark.parametrize(
    "data",
    [
        {"intervals": {"every": "15m", "offset": []}},
        {"intervals": {"every": "15m", "anchor": 0}},
        {"intervals": "15m/"},
        {"exclude": {"dates": 0}},
        {"exclude": {"named": {}}},
    ],
)
def test_falsy_invalid_value_is_rejected(data: Data) -> None:
    with pytest.raises(InvalidSpec):
        Spec.from_dict(data)


@pytest.mark.parametrize("bounds", [{"start_at": "2300-01-01"}, {"end_at": "1960-01-01"}])
def test_error_names_the_bound_that_is_out_of_range(bounds: Data) -> None:
    """Regression: ``start_at="2300-01-01"`` was rejected with "end_at: None is before start_at 2300-01-01"."""
    with pytest.raises(InvalidSpec) as caught:
        Spec(cron="0 9 * * *", **bounds)
    assert "None" not in str(caught.value)


def test_interval_in_cron_equals_interval_in_intervals() -> None:
    """Regression: ``15m/20m`` was rejected in ``intervals`` and silently read as ``15m/5m`` after ``@every``."""
    accepted = []
    for data in ({"intervals": "15m/20m"}, {"cron": "@every 15m/20m"}):
        try:
            Spec.from_dict(data)
        except InvalidSpec:
            accepted.append(False)
        else:
            accepted.append(True)
    assert accepted[0] == accepted[1]


def test_error_in_one_of_several_cron_strings_has_its_index() -> None:
    with pytest.raises(InvalidSpec) as caught:
        Spec(cron=["0 9 * * *", "0 99 * * *"])
    assert caught.value.field == "cron[1].hour"
