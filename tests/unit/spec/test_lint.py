"""The linter: each code is reported where it should be, and only there, also around clock changes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tompion import Finding, NamedCalendar, Spec

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SUMMER = datetime(2026, 7, 1, tzinfo=UTC)
BERLIN = "Europe/Berlin"
HOLIDAYS = {"holidays": {"country": "DE", "last_year": 2036, "dates": ["2026-05-01"]}}
Data = dict[str, Any]

SEVERITIES = (
    dict.fromkeys("no-source never-fires no-more-ticks".split(), "error")
    | dict.fromkeys("either-day step-too-wide uneven-step dst-gap dst-overlap too-dense".split(), "warning")
    | dict.fromkeys("both-days short-months jitter-capped hash-without-id holidays-end rrule-anchor".split(), "info")
)


def findings(spec: Data, **options: Any) -> list[Finding]:
    return Spec(**spec).lint(**({"now": NOW} | options))


def messages(spec: Data, code: str, **options: Any) -> list[str]:
    return [finding.message for finding in findings(spec, **options) if finding.code == code]


def cron(text: str, **more: Any) -> Data:
    return {"cron": text, **more}


# --- what fires -------------------------------------------------------------------------------------------------

FIRES: list[tuple[str, str, Data, Data, str, str]] = [
    # code, field, spec, options, part of the message, part of the hint
    ("no-source", "spec", {}, {}, "it has no cron, calendar, interval, rrule or time", ""),
    ("never-fires", "spec", cron("0 0 30 2 *"), {}, "no date from 1970 to 2200 matches", "check day, month"),
    (
        "never-fires",
        "spec",
        cron("0 9 * * *", exclude={"calendars": [{}]}),
        {},
        "no date from 1970 to 2200 matches",
        "the exclusions remove every tick",
    ),
    (
        "no-more-ticks",
        "spec",
        cron("0 9 * * *", end_at="2025-06-01"),
        {},
        "never fires again; the last tick was 2025-06-01 09:00:00 UTC",
        "check end_at, times and year",
    ),
    ("no-more-ticks", "spec", {"times": "2025-12-31T23:59:59Z"}, {}, "the last tick was 2025-12-31 23:59:59", ""),
    ("no-more-ticks", "spec", cron("0 0 9 * * * 2025"), {}, "the last tick was 2025-12-31 09:00:00", ""),
    (
        "either-day",
        "cron",
        cron("0 0 13 * FRI"),
        {},
        "day of month '13' and day of week 'FRI' are both set: it fires when either matches",
        "write '+FRI' as the weekday to require both",
    ),
    ("either-day", "cron[1]", {"cron": ["0 9 * * *", "0 0 L * 1-5"]}, {}, "day of month 'L'", "'+1-5'"),
    ("both-days", "cron", cron("0 0 */2 * MON"), {}, "so it fires only when day of week 'MON' matches too", ""),
    ("short-months", "cron", cron("0 0 31 * *"), {}, "months without a day 31 are skipped", "write L for the last"),
    ("short-months", "calendars[0]", {"calendars": {"day_of_month": 30}}, {}, "a day 30", "write L"),
    (
        "step-too-wide",
        "cron.minute",
        cron("*/90 * * * *"),
        {},
        "'*/90' matches once an hour, not every 90 minutes",
        "for every 90 minutes write '@every 90m' or an interval",
    ),
    ("step-too-wide", "cron.hour", cron("0 */48 * * *"), {}, "matches once a day, not every 48 hours", "48h"),
    ("step-too-wide", "cron.day_of_month", cron("0 0 */40 * *"), {}, "once a month, not every 40 days", ""),
    ("step-too-wide", "cron.minute", cron("50/15 * * * *"), {}, "'50/15' matches once an hour", ""),
    (
        "uneven-step",
        "cron.minute",
        cron("*/7 * * * *"),
        {},
        "'*/7' is not every 7 minutes: it restarts each hour, and the last gap is 4 minutes",
        "for every 7 minutes write '@every 7m' or an interval",
    ),
    ("uneven-step", "cron.second", cron("*/7 * * * * *"), {}, "the last gap is 4 seconds", "7s"),
    ("uneven-step", "cron.hour", cron("0 */5 * * *"), {}, "the last gap is 4 hours", "@every 5h"),
    ("uneven-step", "cron.month", cron("0 0 1 */5 *"), {}, "the last gap is 2 months", ""),
    ("uneven-step", "cron.day_of_week", cron("0 0 * * */2"), {}, "the last gap is 1 day", ""),
    ("uneven-step", "cron.day_of_month", cron("0 0 */7 * *"), {}, "the last gap varies with its length", "INTERVAL=7"),
    ("uneven-step", "calendars[0].hour", {"calendars": {"hour": "*/7"}}, {}, "is not every 7 hours", ""),
    ("dst-gap", "cron", cron("30 2 * * *", timezone=BERLIN), {}, "02:30 does not exist", ""),
    ("dst-overlap", "cron", cron("30 2 * * *", timezone=BERLIN), {}, "02:30 occurs twice", ""),
    (
        "too-dense",
        "spec",
        cron("* * * * *"),
        {"min_interval": "5m"},
        "fires 1m apart (at 2026-01-01 00:01:00 UTC); the minimum is 5m",
        "",
    ),
    (
        "too-dense",
        "spec",
        {"cron": ["0 9 * * *", "1 9 1 3 *"]},
        {"min_interval": timedelta(minutes=5)},
        "fires 1m apart (at 2026-03-01 09:00:00 UTC)",
        "",
    ),
    ("jitter-capped", "jitter_ms", cron("* * * * *", jitter_ms=40_000), {}, "jitter of 40000 ms is reduced", ""),
    ("hash-without-id", "cron", cron("H H * * *"), {}, "H depends on the schedule's id", ""),
    ("hash-without-id", "cron", {"calendars": {"hour": "H"}}, {}, "H depends on the schedule's id", ""),
    ("holidays-end", "exclude.holidays", cron("0 9 * * *", exclude=HOLIDAYS), {}, "until the end of 2036", ""),
    ("rrule-anchor", "rrules[0]", {"rrules": "FREQ=WEEKLY"}, {}, "counted from Thursday, 1970-01-01", "DTSTART"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "field", "spec", "options", "message", "hint"), FIRES)
def test_finding_is_reported(code: str, field: str, spec: Data, options: Data, message: str, hint: str) -> None:
    reported = [finding for finding in findings(spec, **options) if finding.code == code]
    assert [(finding.severity, finding.field) for finding in reported] == [(SEVERITIES[code], field)]
    assert message in reported[0].message
    assert hint in reported[0].hint


QUIET: list[tuple[str, Data, Data]] = [
    ("no-source", {"times": "2027-01-01"}, {}),
    ("never-fires", cron("0 0 29 2 *"), {}),
    ("never-fires", {}, {}),
    ("no-more-ticks", cron("0 9 * * *", end_at="2026-01-01"), {}),
    ("no-more-ticks", cron("0 0 30 2 *"), {}),
    ("either-day", cron("0 0 13 * +FRI"), {}),
    ("either-day", cron("0 0 13 * *"), {}),
    ("either-day", cron("0 0 ? * FRI"), {}),
    ("either-day", cron("0 0 13 * FRI", dialect="temporal"), {}),
    ("either-day", {"calendars": {"day_of_month": 13, "day_of_week": "FRI"}}, {}),
    ("both-days", cron("0 0 */2 * *"), {}),
    ("both-days", cron("0 0 * * MON"), {}),
    ("both-days", cron("0 0 1-7 * +MON"), {}),
    ("short-months", cron("0 0 28 * *"), {}),
    ("short-months", cron("0 0 L * *"), {}),
    ("short-months", cron("0 0 * * *"), {}),
    ("short-months", cron("0 0 */2 * *"), {}),
    ("short-months", cron("0 0 1-31 * *"), {}),
    ("step-too-wide", cron("*/30 * * * *"), {}),
    ("step-too-wide", cron("30/15 * * * *"), {}),
    ("uneven-step", cron("*/15 */6 * */3 *"), {}),
    ("uneven-step", cron("*/7 9 * * *"), {}),
    ("uneven-step", cron("*/7 0 9 * * *"), {}),
    ("uneven-step", cron("3-50/7 * * * *"), {}),
    ("dst-gap", cron("30 2 * * *"), {}),
    ("dst-gap", cron("30 4 * * *", timezone=BERLIN), {}),
    ("dst-gap", cron("30 2 * * *", timezone="Asia/Tokyo"), {}),
    ("dst-gap", cron("30 2 * * MON", timezone=BERLIN), {}),
    ("dst-gap", cron("30 2 * * *", timezone=BERLIN, exclude={"dates": "2026-03-29"}), {}),
    ("dst-gap", cron("30 2 * * *", timezone=BERLIN, end_at="2026-03-28"), {}),
    ("dst-gap", {"intervals": "30m", "timezone": BERLIN}, {}),
    ("dst-gap", {"times": "2026-03-29T02:30Z", "timezone": BERLIN}, {}),
    ("dst-overlap", cron("30 2 * * *"), {}),
    ("dst-overlap", cron("30 4 * * *", timezone=BERLIN), {}),
    ("dst-overlap", {"intervals": "30m", "timezone": BERLIN}, {}),
    ("too-dense", cron("* * * * *"), {}),
    ("too-dense", cron("*/5 * * * *"), {"min_interval": "5m"}),
    ("too-dense", {"times": "2027-01-01"}, {"min_interval": "5m"}),
    ("jitter-capped", cron("* * * * *", jitter_ms=29_999), {}),
    ("jitter-capped", {"times": "2027-01-01", "jitter_ms": 3_600_000}, {}),
    ("hash-without-id", cron("H H * * *"), {"schedule_id": "nightly"}),
    ("hash-without-id", cron("0 9 * MARCH THU"), {}),
    ("hash-without-id", cron("@hourly"), {}),
    ("holidays-end", cron("0 9 * * *", exclude={"dates": "2026-05-01"}), {}),
    ("rrule-anchor", {"rrules": "DTSTART:20260101T090000\nRRULE:FREQ=DAILY"}, {}),
    ("rrule-anchor", {"rrules": "FREQ=DAILY", "start_at": "2026-01-01"}, {}),
]


@pytest.mark.parametrize(("code", "spec", "options"), QUIET)
def test_unremarkable_spec_has_no_such_finding(code: str, spec: Data, options: Data) -> None:
    assert code not in {finding.code for finding in findings(spec, **options)}


@pytest.mark.parametrize("code", SEVERITIES)
def test_every_code_has_a_positive_and_a_negative_case(code: str) -> None:
    assert code in {row[0] for row in FIRES}
    assert code in {row[0] for row in QUIET}


def test_all_codes_are_documented() -> None:
    seen = {finding.code for row in FIRES for finding in findings(row[2], **row[3])}
    assert seen == set(SEVERITIES)


def test_plain_spec_has_no_findings() -> None:
    assert findings(cron("0 9 * * MON-FRI", timezone=BERLIN)) == []


def test_most_severe_finding_comes_first() -> None:
    spec = cron("*/7 2 31 2 *", exclude=HOLIDAYS, timezone=BERLIN)
    grades = [finding.severity for finding in findings(spec | {"cron": ["*/7 * 31 2 *", "0 0 30 2 *"]})]
    assert grades == sorted(grades, key=["error", "warning", "info"].index)
    assert {"error", "warning", "info"} == set(grades)


def test_each_cron_string_is_checked() -> None:
    reported = findings({"cron": ["*/7 * * * *", "@every 5m", "0 9 * * *", "0 0 1 * MON"]})
    assert [finding.field for finding in reported] == ["cron[0].minute", "cron[3]"]


# --- clock changes ----------------------------------------------------------------------------------------------

GAP = "2026-03-29 in Europe/Berlin: 02:30 does not exist; "
OVERLAP = "2026-10-25 in Europe/Berlin: 02:30 occurs twice; "
POLICIES: list[tuple[Data, str, str]] = [
    ({}, "it fires at 03:00 instead", "it fires the first time only"),
    ({"dst_profile": "vixie"}, "it fires at 03:00 instead", "it fires the first time only"),
    ({"dst_profile": "temporal"}, "it is skipped that day", "it fires both times"),
    ({"dst_profile": "quartz"}, "it is skipped that day", "it fires the second time only"),
    ({"dst_profile": "airflow"}, "it fires at 03:30 instead", "it fires the second time only"),
    ({"dst_gap": "skip"}, "it is skipped that day", "it fires the first time only"),
    ({"dst_gap": "shift"}, "it fires at 03:30 instead", "it fires the first time only"),
    ({"dst_gap": "catch_up", "dst_profile": "quartz"}, "it fires at 03:00 instead", "it fires the second time only"),
    ({"dst_overlap": "both"}, "it fires at 03:00 instead", "it fires both times"),
    ({"dst_overlap": "second"}, "it fires at 03:00 instead", "it fires the second time only"),
    ({"dialect": "temporal"}, "it is skipped that day", "it fires both times"),
]


@pytest.mark.parametrize(("policy", "in_gap", "in_overlap"), POLICIES)
def test_each_dst_policy_is_reported(policy: Data, in_gap: str, in_overlap: str) -> None:
    reported = findings(cron("30 2 * * *", timezone=BERLIN, **policy))
    assert [finding.message for finding in reported] == [GAP + in_gap, OVERLAP + in_overlap]


SAME_RULE: list[Data] = [
    {"calendars": {"hour": 2, "minute": 30}},
    {"rrules": "DTSTART:20260101T023000\nRRULE:FREQ=DAILY"},
    {"times": ["2026-03-29T02:30", "2026-10-25T02:30"]},
    {"cron": "CRON_TZ=Europe/Berlin 30 2 * * *", "timezone": None},
    {"cron": "30 2 * 3 SUNL", "times": "2026-10-25T02:30"},
]


@pytest.mark.parametrize("source", SAME_RULE)
def test_each_source_kind_is_checked(source: Data) -> None:
    reported = findings({"timezone": BERLIN} | source)
    assert [finding.message for finding in reported] == [
        GAP + "it fires at 03:00 instead",
        OVERLAP + "it fires the first time only",
    ]


def test_only_the_next_two_clock_changes_are_checked() -> None:
    reported = [finding.message[:10] for finding in findings(cron("30 2 * * *", timezone=BERLIN), now=SUMMER)]
    assert reported == ["2026-10-25", "2027-03-28"]


OTHER_ZONES: list[tuple[str, str, Sequence[str]]] = [
    (
        "Australia/Lord_Howe",
        "45 1 * * *",
        ["2026-04-05 in Australia/Lord_Howe: 01:45 occurs twice; it fires the first time only"],
    ),
    (
        "Australia/Lord_Howe",
        "15 2 * * *",
        ["2026-10-04 in Australia/Lord_Howe: 02:15 does not exist; it fires at 02:30 instead"],
    ),
    (
        "Africa/Casablanca",
        "30 2 * * *",
        [
            "2026-02-15 in Africa/Casablanca: 02:30 occurs twice; it fires the first time only",
            "2026-03-22 in Africa/Casablanca: 02:30 does not exist; it fires at 03:00 instead",
        ],
    ),
    (
        "America/New_York",
        "30 1,2 * * *",
        [
            "2026-03-08 in America/New_York: 02:30 does not exist; it fires at 03:00 instead",
            "2026-11-01 in America/New_York: 01:30 occurs twice; it fires the first time only",
        ],
    ),
]


@pytest.mark.parametrize(("zone", "text", "expected"), OTHER_ZONES)
def test_clock_changes_depend_on_the_zone(zone: str, text: str, expected: Sequence[str]) -> None:
    assert [finding.message for finding in findings(cron(text, timezone=zone))] == list(expected)


def test_many_lost_times_are_shortened() -> None:
    [gap] = messages(cron("0,10,20,30,40,50 2 * * *", timezone=BERLIN, dst_gap="shift"), "dst-gap")
    assert "02:00, 02:10, 02:20, …" in gap
    assert gap.endswith("they fire 1h later, from 03:00 on")


def expected_in_gap(minutes: list[int], policy: str) -> str:
    """Results for lost times between 02:00 and 03:00, repeated from the reference page."""
    several = len(minutes) > 1
    if policy == "catch_up":
        return "they fire once, at 03:00, instead" if several else "it fires at 03:00 instead"
    first = f"03:{minutes[0]:02d}"
    return f"they fire 1h later, from {first} on" if several else f"it fires at {first} instead"


@given(
    minutes=st.sets(st.integers(0, 59), min_size=1, max_size=3).map(sorted),
    hours=st.sets(st.sampled_from([0, 2, 4, 5]), min_size=1).map(sorted),
    gap=st.sampled_from(["catch_up", "shift"]),
    overlap=st.sampled_from(["first", "second", "both"]),
)
def test_findings_agree_with_the_reference_page(minutes: list[int], hours: list[int], gap: Any, overlap: Any) -> None:
    text = f"{','.join(map(str, minutes))} {','.join(map(str, hours))} * * *"
    spec = Spec(cron=text, timezone=BERLIN, dst_gap=gap, dst_overlap=overlap)
    found_messages = {finding.code: finding.message for finding in spec.lint(now=NOW)}
    if 2 not in hours:
        assert found_messages == {}
        return
    named = ", ".join(f"02:{minute:02d}" for minute in minutes)
    one = len(minutes) == 1
    fires = "both times" if overlap == "both" else f"the {overlap} time only"
    assert found_messages == {
        "dst-gap": f"2026-03-29 in Europe/Berlin: {named} do{'es' if one else ''} not exist; "
        + expected_in_gap(minutes, gap),
        "dst-overlap": f"2026-10-25 in Europe/Berlin: {named} occur{'s' if one else ''} twice; "
        f"{'it fires' if one else 'they fire'} {fires}",
    }


ABSORBED = [
    ("0 0,2,3 * * *", "catch_up", "02:00 does not exist; it fires at 03:00 instead"),
    ("30 2,3 * * *", "shift", "02:30 does not exist; it fires at 03:30 instead"),
    ("0 1,2,3 * * *", "skip", "02:00 does not exist; it is skipped that day"),
    ("0 0,2,4 * * *", "skip", "02:00 does not exist; it is skipped that day"),
    ("0 1,2 * * *", "skip", "02:00 does not exist; it is skipped that day"),
]


@pytest.mark.parametrize(("text", "policy", "expected"), ABSORBED)
def test_lost_time_is_reported_if_another_tick_replaces_it(text: str, policy: str, expected: str) -> None:
    """Regression: of three lost times, one fell on a tick of the same rule or was skipped, and was not reported."""
    reported = messages(cron(text, timezone=BERLIN, dst_gap=policy), "dst-gap")
    assert reported == [f"2026-03-29 in Europe/Berlin: {expected}"]


# --- regressions ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["30 2,3 * * *", "0,30 2-3 * * *"])
def test_lost_time_is_reported_if_the_next_hour_fires_too(text: str) -> None:
    """Regression: 02:30 moved by an hour is 03:30, which ticks anyway, and the linter did not report it."""
    assert any("02:30" in message for message in messages(cron(text, timezone=BERLIN), "dst-gap"))


def test_lost_time_on_a_regular_tick_is_not_reported_as_skipped() -> None:
    [message] = messages({"cron": ["30 2 * * *", "0 3 * * *"], "timezone": BERLIN}, "dst-gap")
    assert "skipped" not in message


def test_excluded_day_has_no_clock_change_finding() -> None:
    """Regression: the linter promised a run at 03:00 on an excluded day."""
    spec = cron("30 2 * * *", timezone=BERLIN, exclude={"named": ["company"]})
    company = NamedCalendar("company", dates=("2026-03-29", "2026-10-25"))
    assert findings(spec, calendars=[company]) == []


def test_excluded_first_pass_does_not_enable_the_second() -> None:
    window = {"from": "2026-10-25T00:00Z", "to": "2026-10-25T01:00Z"}
    expected = messages(cron("30 2 * * *", timezone=BERLIN, exclude={"windows": window}), "dst-overlap")
    assert not any("second" in message for message in expected)


def test_clock_change_is_reported_once_for_its_zone() -> None:
    spec = {"cron": ["CRON_TZ=Europe/Berlin 30 2 * * *", "CRON_TZ=Europe/Paris 0 12 * * *"]}
    assert [finding.message for finding in findings(spec) if "Paris" in finding.message] == []


def test_hourly_ticks_in_both_passes_are_not_a_warning() -> None:
    """Regression: ``tompion lint "0 * * * *" --tz Europe/Berlin`` exited with 1."""
    assert {finding.severity for finding in findings(cron("0 * * * *", timezone=BERLIN))} <= {"info"}


def test_message_uses_the_plural_for_several_times() -> None:
    message = " ".join(finding.message for finding in findings(cron("0,20 2 * * *", timezone=BERLIN)))
    assert "02:20 do not exist" in message
    assert "02:20 occur twice" in message


@pytest.mark.parametrize("text", ["*/60 * * * *", "0 */24 * * *", "0 0 * * */7", "0 0 1 */12 *"])
def test_step_of_one_cycle_has_no_finding(text: str) -> None:
    """Regression: '*/24' was reported to match "once a day, not every 24 hours"."""
    assert messages(cron(text), "step-too-wide") == []


def test_article_before_hour_is_an() -> None:
    assert "once an hour" in messages(cron("*/90 * * * *"), "step-too-wide")[0]


@pytest.mark.parametrize("spec", [cron("0/7 * * * *"), cron("0-59/7 * * * *"), cron("0 0/7 * * * ?", dialect="quartz")])
def test_uneven_step_is_found_in_every_spelling(spec: Data) -> None:
    """``0/7`` is the usual spelling in Quartz."""
    assert len(messages(spec, "uneven-step")) == 1


@pytest.mark.parametrize("text", ["0 0 31 12 *", "0 0 30 1,3-12 *", "0 0 1,31 * *"])
def test_short_months_are_reported_only_if_skipped(text: str) -> None:
    assert messages(cron(text), "short-months") == []


def test_hint_offers_only_syntax_of_the_dialect() -> None:
    hints = [finding.hint for finding in findings(cron("0 0 31 * *", dialect="temporal"))]
    assert not any("write L" in hint for hint in hints)


def test_weekday_that_begins_with_a_star_is_reported() -> None:
    assert len(messages(cron("0 0 1-7 * */2"), "both-days")) == 1


def test_holidays_beyond_the_end_are_not_reported() -> None:
    assert messages(cron("0 9 * * *", exclude=HOLIDAYS, end_at="2030-01-01"), "holidays-end") == []


def test_h_in_an_exclusion_needs_an_id() -> None:
    assert len(messages(cron("0 * * * *", exclude={"calendars": {"hour": "H"}}), "hash-without-id")) == 1


@pytest.mark.parametrize(
    "spec",
    [
        {"times": "2026-06-01", "end_at": "2026-05-01"},
        {"cron": "0 9 1 1 *", "start_at": "2026-02-01", "end_at": "2026-11-30"},
    ],
)
def test_hint_names_bounds_that_leave_no_ticks(spec: Data) -> None:
    [finding] = findings(spec)
    assert finding.code == "never-fires"
    assert "end_at" in finding.hint


def test_source_that_never_fires_is_reported_by_index() -> None:
    """Regression: ``tompion lint "0 0 30 2 *" "0 9 * * *"`` had no finding."""
    reported = findings({"cron": ["0 0 30 2 *", "0 9 * * *"]})
    assert [(finding.code, finding.severity, finding.field) for finding in reported] == [
        ("never-fires", "warning", "cron[0]")
    ]


def test_fixed_delay_is_reported_as_dependent_on_runs() -> None:
    reported = findings({"intervals": {"every": "15m", "anchor": "completion"}})
    assert [finding.code for finding in reported] == ["after-completion"]
