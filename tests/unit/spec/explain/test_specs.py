"""Whole specs in English: zones, unions, exclusions, bounds, jitter and what happens when the clocks change."""

from __future__ import annotations

import pytest

from tompion import Spec
from tompion.model.spec import ExcludeDocument, HolidaysDocument, SpecDocument
from tompion.spec.explain.specs import explain

BERLIN = "Europe/Berlin"
SKIPPED = "clocks go forward, times that do not exist are skipped"
CAUGHT_UP = "clocks go forward, times that do not exist fire once, right after the gap"
SHIFTED = "clocks go forward, times that do not exist move later by as much as the clocks do"
FIRST = "they go back, times that occur twice fire the first time only"
SECOND = "they go back, times that occur twice fire the second time only"
BOTH = "they go back, times that occur twice fire both times"

SPECS = [
    pytest.param(
        Spec(cron="0 9 * * MON-FRI", timezone=BERLIN),
        ["At 09:00, Monday to Friday, in Europe/Berlin time."],
        id="a zone",
    ),
    pytest.param(Spec(cron="0 9 * * MON-FRI"), ["At 09:00, Monday to Friday, in UTC."], id="no zone"),
    pytest.param(Spec(cron="*/15 * * * *"), ["Every 15 minutes."], id="a cadence needs no zone"),
    pytest.param(
        Spec(cron="*/15 * * * *", timezone=BERLIN),
        ["Every 15 minutes, in Europe/Berlin time."],
        id="a cadence of a zone",
    ),
    pytest.param(
        Spec(cron="CRON_TZ=Asia/Tokyo 0 9 * * *"),
        ["At 09:00 every day, in Asia/Tokyo time."],
        id="a zone in the string",
    ),
    pytest.param(
        Spec(cron=["0 9 * * *", "0 12 * * SUN"], intervals="90m/5m", timezone=BERLIN),
        [
            "Whenever one of these matches, in Europe/Berlin time:",
            "- At 09:00 every day.",
            "- At 12:00, on Sundays.",
            "- Every 90 minutes, counted from 00:05 UTC.",
        ],
        id="a union",
    ),
    pytest.param(
        Spec(cron=["CRON_TZ=Asia/Tokyo 0 9 * * *", "CRON_TZ=Europe/Berlin 0 9 * * *"], exclude={"dates": "2026-12-25"}),
        [
            "Whenever one of these matches:",
            "- At 09:00 every day, in Asia/Tokyo time.",
            "- At 09:00 every day, in Europe/Berlin time.",
            "Except on 2026-12-25, by each source's own clock.",
        ],
        id="a union of zones",
    ),
    pytest.param(
        Spec(intervals=["90m", "7h"]),
        [
            "Whenever one of these matches:",
            "- Every 90 minutes, counted from 00:00 UTC.",
            "- Every 7 hours, counted from 1970-01-01 00:00 UTC.",
        ],
        id="a union of intervals",
    ),
    pytest.param(
        Spec(calendars={"hour": "9", "day_of_week": "MON-FRI", "comment": "payroll"}, timezone=BERLIN),
        ["At 09:00, Monday to Friday, in Europe/Berlin time (payroll)."],
        id="a calendar",
    ),
    pytest.param(
        Spec(calendars={"hour": [{"start": 9, "end": 17, "step": 2}], "minute": 30, "day_of_month": [1, 15]}),
        ["Every 2 hours from 09:30 to 17:30, on the 1st and 15th of the month, in UTC."],
        id="a calendar of numbers and ranges",
    ),
    pytest.param(
        Spec(calendars=[{"hour": 9, "comment": "early\nshift"}, {"hour": "17"}]),
        ["Whenever one of these matches, in UTC:", "- At 09:00 every day (early shift).", "- At 17:00 every day."],
        id="two calendars",
    ),
    pytest.param(Spec(calendars={}), ["At 00:00 every day, in UTC."], id="a calendar without fields"),
    pytest.param(Spec(intervals="15m", timezone=BERLIN), ["Every 15 minutes."], id="an interval"),
    pytest.param(
        Spec(intervals={"every": "15m", "anchor": "completion"}),
        ["15 minutes after the previous run has ended."],
        id="a fixed delay",
    ),
    pytest.param(
        Spec(times="2026-03-29T09:00", timezone=BERLIN),
        ["Once, on 2026-03-29 at 09:00, in Europe/Berlin time."],
        id="a one-shot",
    ),
    pytest.param(Spec(times="2026-03-29"), ["Once, on 2026-03-29 at 00:00, in UTC."], id="a one-shot on a date"),
    pytest.param(
        Spec(times="2026-03-29T09:00:30+02:00", timezone=BERLIN),
        ["Once, on 2026-03-29 at 09:00:30 UTC+02:00."],
        id="an instant",
    ),
    pytest.param(
        Spec(times="2026-03-29T09:00Z", timezone=BERLIN), ["Once, on 2026-03-29 at 09:00 UTC."], id="an instant in UTC"
    ),
    pytest.param(
        Spec(times=["2026-04-01T10:00", "2026-03-29T09:00"], timezone=BERLIN),
        ["At 2026-03-29 09:00 and 2026-04-01 10:00, in Europe/Berlin time."],
        id="two one-shots",
    ),
    pytest.param(
        Spec(times=["2026-04-01T10:00", "2026-03-29T09:00Z"], timezone=BERLIN),
        [
            "Whenever one of these matches, in Europe/Berlin time:",
            "- Once, on 2026-04-01 at 10:00.",
            "- Once, on 2026-03-29 at 09:00 UTC.",
        ],
        id="wall times and instants",
    ),
    pytest.param(
        Spec(
            times=[
                "2026-03-01T09:00",
                "2026-03-02T09:00",
                "2026-03-03T09:00",
                "2026-03-04T09:00",
                "2026-03-05T09:00",
                "2026-03-06T09:00",
                "2026-03-07T09:00",
            ]
        ),
        ["At 2026-03-01 09:00, 2026-03-02 09:00, 2026-03-03 09:00 and 4 more times, in UTC."],
        id="many one-shots",
    ),
    pytest.param(
        Spec(cron="0 9 * * *", exclude={"calendars": [{"day_of_week": "SAT,SUN"}]}),
        ["At 09:00 every day, in UTC.", "Except on Saturdays and Sundays."],
        id="a weekend off",
    ),
    pytest.param(
        Spec(cron="0 9 * * *", exclude={"calendars": [{"month": 12, "day_of_month": "25", "comment": "Christmas"}]}),
        ["At 09:00 every day, in UTC.", "Except on 25 December (Christmas)."],
        id="Christmas off",
    ),
    pytest.param(
        Spec(cron="*/5 * * * *", exclude={"calendars": [{"hour": "12"}]}),
        ["Every 5 minutes, in UTC.", "Except from 12:00:00 to 12:59:59."],
        id="lunch off",
    ),
    pytest.param(
        Spec(cron="*/5 * * * *", exclude={"calendars": [{"hour": "12", "minute": "0-29", "day_of_week": "FRI"}]}),
        ["Every 5 minutes, in UTC.", "Except from 12:00:00 to 12:29:59, on Fridays."],
        id="half an hour off",
    ),
    pytest.param(
        Spec(cron="*/5 * * * *", exclude={"calendars": [{"hour": "22-6"}]}),
        ["Every 5 minutes, in UTC.", "Except from 22:00:00 to 06:59:59 the next day."],
        id="nights off",
    ),
    pytest.param(
        Spec(cron="*/5 * * * *", exclude={"calendars": [{"hour": "9", "minute": "30", "second": "0"}]}),
        ["Every 5 minutes, in UTC.", "Except at 09:30."],
        id="one time off",
    ),
    pytest.param(
        Spec(cron="* * * * *", exclude={"calendars": [{"minute": "*/7"}]}),
        ["Every minute, in UTC.", "Except in minutes 0, 7, 14, … 56 of every hour."],
        id="some minutes off",
    ),
    pytest.param(
        Spec(cron="0 9 * * *", exclude={"calendars": [{}]}),
        ["At 09:00 every day, in UTC.", "Except at all times, so it never fires."],
        id="everything off",
    ),
    pytest.param(
        Spec(cron="0 9 * * *", exclude={"dates": ["2026-12-26", "2026-12-25"]}),
        ["At 09:00 every day, in UTC.", "Except on 2026-12-25 and 2026-12-26."],
        id="two dates off",
    ),
    pytest.param(
        Spec(
            cron="0 9 * * *",
            exclude={
                "dates": [
                    "2026-12-20",
                    "2026-12-21",
                    "2026-12-22",
                    "2026-12-23",
                    "2026-12-24",
                    "2026-12-25",
                    "2026-12-26",
                ]
            },
        ),
        ["At 09:00 every day, in UTC.", "Except on 2026-12-20, 2026-12-21, 2026-12-22 and 4 more dates."],
        id="many dates off",
    ),
    pytest.param(
        Spec(intervals="15m", timezone=BERLIN, exclude={"dates": "2026-12-25"}),
        ["Every 15 minutes.", "Except on 2026-12-25, in Europe/Berlin time."],
        id="dates off an interval",
    ),
    pytest.param(
        Spec(
            cron="0 9 * * *",
            exclude={
                "windows": [
                    {"from": "2026-08-01", "to": "2026-08-14", "note": "summer"},
                    {"from": "2026-09-01T08:00", "to": "2026-09-01T10:00"},
                    {"from": "2026-10-01", "to": "2026-10-01"},
                ]
            },
        ),
        [
            "At 09:00 every day, in UTC.",
            (
                "Except from 2026-08-01 to the end of 2026-08-14 (summer), "
                "from 2026-09-01 08:00 until just before 2026-09-01 10:00 and on 2026-10-01."
            ),
        ],
        id="windows off",
    ),
    pytest.param(
        Spec(intervals="15m", exclude={"windows": {"from": "2026-09-01T08:00Z", "to": "2026-09-01T10:00Z"}}),
        ["Every 15 minutes.", "Except from 2026-09-01 08:00 UTC until just before 2026-09-01 10:00 UTC."],
        id="a window of instants off",
    ),
    pytest.param(
        Spec(
            cron="0 9 * * *",
            exclude={
                "holidays": {
                    "country": "DE",
                    "subdivision": "BY",
                    "first_year": 2026,
                    "last_year": 2030,
                    "dates": ["2026-01-01"],
                }
            },
        ),
        ["At 09:00 every day, in UTC.", "Except on public holidays of DE-BY (known for 2026 to 2030)."],
        id="holidays off",
    ),
    pytest.param(
        Spec(
            cron="0 9 * * *",
            exclude={"holidays": {"country": "FR", "first_year": 2026, "last_year": 2026, "dates": ["2026-07-14"]}},
        ),
        ["At 09:00 every day, in UTC.", "Except on public holidays of FR (known for 2026)."],
        id="holidays of a year off",
    ),
    pytest.param(
        Spec(cron="0 9 * * *", exclude={"named": "company"}),
        ["At 09:00 every day, in UTC.", 'Except the days and times in the named calendar "company".'],
        id="a named calendar off",
    ),
    pytest.param(
        Spec(cron="0 9 * * *", exclude={"named": ["company", "ops"]}),
        ["At 09:00 every day, in UTC.", 'Except the days and times in the named calendars "company" and "ops".'],
        id="named calendars off",
    ),
    pytest.param(
        Spec(cron="0 9 * * *", start_at="2026-01-01"),
        ["At 09:00 every day, in UTC.", "Not before 2026-01-01."],
        id="a start",
    ),
    pytest.param(
        Spec(cron="0 9 * * *", start_at="2026-01-01T09:00", end_at="2026-12-31"),
        ["At 09:00 every day, in UTC.", "Not before 2026-01-01 09:00 and not after 2026-12-31."],
        id="a start and an end",
    ),
    pytest.param(
        Spec(intervals="15m", end_at="2026-12-31T17:00+01:00", timezone=BERLIN),
        ["Every 15 minutes.", "Not after 2026-12-31 17:00 UTC+01:00."],
        id="an end as an instant",
    ),
    pytest.param(
        Spec(intervals="15m", end_at="2026-12-31T17:00", timezone=BERLIN),
        ["Every 15 minutes.", "Not after 2026-12-31 17:00, in Europe/Berlin time."],
        id="an end by the clock",
    ),
    pytest.param(
        Spec(rrules="FREQ=WEEKLY;COUNT=3", start_at="2026-01-05T08:00Z", timezone=BERLIN),
        [
            "At 09:00, on Mondays, only the first 3 occurrences from 2026-01-05 09:00 on, in Europe/Berlin time.",
            "Not before 2026-01-05 08:00 UTC.",
        ],
        id="a rule from the start",
    ),
    pytest.param(
        Spec(cron="*/5 * * * *", jitter_ms=30000),
        ["Every 5 minutes.", "Fire times are spread by up to ±30 s."],
        id="jitter",
    ),
    pytest.param(
        Spec(cron="*/5 * * * *", jitter_ms=1500, jitter_mode="delay"),
        ["Every 5 minutes.", "Fire times are delayed by up to 1.5 s."],
        id="jitter as delay",
    ),
    pytest.param(
        Spec(cron="30 2 * * *", timezone=BERLIN, dst_gap="skip"),
        ["At 02:30 every day, in Europe/Berlin time.", f"When {SKIPPED}; when {FIRST}."],
        id="gaps skipped",
    ),
    pytest.param(
        Spec(cron="30 2 * * *", timezone=BERLIN, dst_overlap="both"),
        ["At 02:30 every day, in Europe/Berlin time.", f"When {CAUGHT_UP}; when {BOTH}."],
        id="overlaps twice",
    ),
    pytest.param(
        Spec(cron="30 2 * * *", timezone=BERLIN, dst_profile="airflow"),
        ["At 02:30 every day, in Europe/Berlin time.", f"When {SHIFTED}; when {SECOND}."],
        id="a profile",
    ),
    pytest.param(
        Spec(cron=["30 2 * * *", "*/5 * * * *"], timezone=BERLIN, dst_profile="airflow"),
        [
            "Whenever one of these matches, in Europe/Berlin time:",
            "- At 02:30 every day.",
            "- Every 5 minutes.",
            f"For fixed times: when {SHIFTED}; when {SECOND}.",
            f"For times that recur (* in second, minute or hour; rules by the hour): when {SKIPPED}; when {BOTH}.",
        ],
        id="a profile with two classes",
    ),
    pytest.param(
        Spec(cron="*/5 * * * *", timezone=BERLIN, dst_profile="airflow"),
        ["Every 5 minutes, in Europe/Berlin time."],
        id="a profile that changes nothing",
    ),
    pytest.param(
        Spec(cron="30 2 * * *", timezone=BERLIN, dst_profile="vixie"),
        ["At 02:30 every day, in Europe/Berlin time."],
        id="the usual profile",
    ),
    pytest.param(Spec(cron="30 2 * * *", dst_gap="shift"), ["At 02:30 every day, in UTC."], id="no changes of clocks"),
    pytest.param(
        Spec(intervals="15m", timezone=BERLIN, dst_gap="shift"),
        ["Every 15 minutes."],
        id="an interval has no changes of clocks",
    ),
    pytest.param(
        Spec(cron="0 30 2 ? * *", timezone=BERLIN, dialect="quartz"),
        ["At 02:30 every day, in Europe/Berlin time."],
        id="a dialect's own profile",
    ),
    pytest.param(
        Spec(cron="0 30 2 ? * *", timezone=BERLIN, dialect="quartz", dst_profile="vixie"),
        ["At 02:30 every day, in Europe/Berlin time.", f"When {CAUGHT_UP}; when {FIRST}."],
        id="another profile than the dialect's",
    ),
    pytest.param(
        Spec(times="2026-10-25T02:30", timezone=BERLIN, dst_overlap="both"),
        ["On 2026-10-25 at 02:30, in Europe/Berlin time.", f"When {CAUGHT_UP}; when {BOTH}."],
        id="a one-shot that may come twice",
    ),
    pytest.param(Spec(), ["Never: the spec has no source of ticks."], id="nothing"),
    pytest.param(
        Spec(start_at="2026-01-01", exclude={"dates": "2026-12-25"}),
        ["Never: the spec has no source of ticks."],
        id="nothing but limits",
    ),
]


@pytest.mark.parametrize(("spec", "lines"), SPECS)
def test_spec_is_explained(spec: Spec, lines: list[str]) -> None:
    assert spec.explain().split("\n") == lines


def test_stored_spec_has_the_same_explanation() -> None:
    for row in SPECS:
        spec = row.values[0]
        assert isinstance(spec, Spec)
        assert Spec.from_json(spec.to_json()).explain() == spec.explain()


def test_holiday_years_default_to_the_years_of_the_dates() -> None:
    holidays = HolidaysDocument("DE", dates=("2026-01-01", "2027-01-01"))
    spec = SpecDocument(cron=("0 9 * * *",), exclude=ExcludeDocument(holidays=(holidays,)))
    assert explain(spec).endswith("\nExcept on public holidays of DE (known for 2026 to 2027).")


def test_holidays_without_dates_are_explained_as_empty() -> None:
    spec = SpecDocument(cron=("0 9 * * *",), exclude=ExcludeDocument(holidays=(HolidaysDocument("DE"),)))
    assert explain(spec).endswith("\nExcept on public holidays of DE (none is known).")


def test_removed_zone_is_still_named() -> None:
    spec = SpecDocument(cron=("0 9 * * *",), timezone="Mars/Olympus", dst_gap="skip", end_at="2026-12-31")
    assert explain(spec) == "At 09:00 every day, in Mars/Olympus time.\nNot after 2026-12-31."


def test_long_notes_are_truncated() -> None:
    text = Spec(calendars={"hour": 9, "comment": "very " * 40}).explain()
    assert text.startswith("At 09:00 every day, in UTC (very very")
    assert text.endswith("very…).")
    assert len(text) < 120
