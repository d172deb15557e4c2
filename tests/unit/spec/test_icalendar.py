"""Importing iCalendar files: files of common programs, and errors of damaged files."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tompion import InvalidSpec, NamedCalendar, Spec, read_icalendar
from tompion.model.spec import WindowDocument
from tompion.spec import icalendar
from tompion.spec.icalendar import YEARS_AHEAD
from tompion.spec.zone.tables import TZDATA_VERSION


def calendar(*events: str, newline: str = "\r\n") -> str:
    """A file with one event per argument. Each argument has the properties, one per line."""
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//test//EN"]
    for event in events:
        lines += ["BEGIN:VEVENT", *event.split("\n"), "END:VEVENT"]
    return newline.join([*lines, "END:VCALENDAR", ""])


def read(*events: str) -> NamedCalendar:
    return read_icalendar("company", calendar(*events))


def window(begin: str, end: str, note: str = "") -> WindowDocument:
    return WindowDocument(begin, end, note)


# --- all-day events ---------------------------------------------------------------------------------------------

DAYS: list[tuple[str, list[str]]] = [
    ("DTSTART;VALUE=DATE:20261225", ["2026-12-25"]),
    ("DTSTART:20261225", ["2026-12-25"]),
    ("dtstart;value=date:20261225", ["2026-12-25"]),
    ("DTSTART;VALUE=DATE:20261225\nDTEND;VALUE=DATE:20261226", ["2026-12-25"]),
    ("DTSTART;VALUE=DATE:20261225\nDTEND;VALUE=DATE:20261225", ["2026-12-25"]),
    ("DTSTART;VALUE=DATE:20261224\nDTEND;VALUE=DATE:20261227", ["2026-12-24", "2026-12-25", "2026-12-26"]),
    ("DTSTART;VALUE=DATE:20261231\nDURATION:P2D", ["2026-12-31", "2027-01-01"]),
    ("DTSTART;VALUE=DATE:20261231\nDURATION:P1W", [f"2026-12-{31}", *(f"2027-01-0{day}" for day in range(1, 7))]),
    ("DTSTART;VALUE=DATE:20240228\nDTEND;VALUE=DATE:20240302", ["2024-02-28", "2024-02-29", "2024-03-01"]),
    (
        "DTSTART;VALUE=DATE:20261225\nRRULE:FREQ=YEARLY;COUNT=3",
        ["2026-12-25", "2027-12-25", "2028-12-25"],
    ),
    (
        "DTSTART;VALUE=DATE:20260105\nRRULE:FREQ=WEEKLY;UNTIL=20260119\nEXDATE;VALUE=DATE:20260112",
        ["2026-01-05", "2026-01-19"],
    ),
    (
        "DTSTART;VALUE=DATE:20260105\nRRULE:FREQ=DAILY;COUNT=4\nEXDATE;VALUE=DATE:20260105,20260107\nEXDATE:20260108",
        ["2026-01-06"],
    ),
    (
        "DTSTART;VALUE=DATE:20260105\nDURATION:P2D\nRRULE:FREQ=WEEKLY;COUNT=2",
        ["2026-01-05", "2026-01-06", "2026-01-12", "2026-01-13"],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("event", "dates"), DAYS)
def test_all_day_event_becomes_dates(event: str, dates: list[str]) -> None:
    assert read(event) == NamedCalendar("company", tuple(dates))


def test_dates_are_sorted_and_unique() -> None:
    imported = read("DTSTART:20261226", "DTSTART:20261225\nDURATION:P2D", "DTSTART:20261224")
    assert imported.dates == ("2026-12-24", "2026-12-25", "2026-12-26")


# --- events with times ------------------------------------------------------------------------------------------

TIMED: list[tuple[str, list[WindowDocument]]] = [
    (
        "DTSTART:20260701T090000Z\nDTEND:20260701T103000Z",
        [window("2026-07-01T09:00:00+00:00", "2026-07-01T10:30:00+00:00")],
    ),
    (
        "DTSTART;TZID=Europe/Berlin:20260701T090000\nDTEND;TZID=Europe/Berlin:20260701T103000",
        [window("2026-07-01T07:00:00+00:00", "2026-07-01T08:30:00+00:00")],
    ),
    (
        'DTSTART;TZID="Europe/Berlin":20260701T090000\nDURATION:PT1H30M',
        [window("2026-07-01T07:00:00+00:00", "2026-07-01T08:30:00+00:00")],
    ),
    ("DTSTART:20260701T090000\nDURATION:PT15M", [window("2026-07-01T09:00:00", "2026-07-01T09:15:00")]),
    ("DTSTART:20260701T230000\nDTEND:20260703T010000", [window("2026-07-01T23:00:00", "2026-07-03T01:00:00")]),
    # a point in time has no length to exclude
    ("DTSTART:20260701T090000Z", []),
    ("DTSTART:20260701T090000Z\nDTEND:20260701T090000Z", []),
    # 60 is a leap second
    ("DTSTART:20260701T235960Z\nDURATION:PT1S", [window("2026-07-01T23:59:59+00:00", "2026-07-02T00:00:00+00:00")]),
    # a wall time in a gap is the instant after it
    (
        "DTSTART;TZID=Europe/Berlin:20260329T023000\nDURATION:PT2H",
        [window("2026-03-29T01:00:00+00:00", "2026-03-29T02:30:00+00:00")],
    ),
    # each occurrence has the offset of its own day
    (
        "DTSTART;TZID=Europe/Berlin:20260328T090000\nDURATION:PT1H\nRRULE:FREQ=DAILY;COUNT=2",
        [
            window("2026-03-28T08:00:00+00:00", "2026-03-28T09:00:00+00:00"),
            window("2026-03-29T07:00:00+00:00", "2026-03-29T08:00:00+00:00"),
        ],
    ),
    (
        "DTSTART;TZID=Asia/Tokyo:20260105T170000\nDURATION:PT1H\nRRULE:FREQ=DAILY;COUNT=3\nEXDATE;TZID=Asia/Tokyo:20260106T170000",
        [
            window("2026-01-05T08:00:00+00:00", "2026-01-05T09:00:00+00:00"),
            window("2026-01-07T08:00:00+00:00", "2026-01-07T09:00:00+00:00"),
        ],
    ),
]


@pytest.mark.parametrize(("event", "windows"), TIMED)
def test_event_with_times_becomes_windows(event: str, windows: list[WindowDocument]) -> None:
    imported = read(event)
    assert (list(imported.windows), imported.dates) == (windows, ())


def test_times_without_a_zone_use_the_given_zone() -> None:
    imported = read_icalendar("company", calendar("DTSTART:20260701T090000\nDURATION:PT1H"), timezone="Asia/Tokyo")
    assert (imported.timezone, imported.windows) == (
        "Asia/Tokyo",
        (window("2026-07-01T09:00:00", "2026-07-01T10:00:00"),),
    )


def test_summary_becomes_the_note_without_escapes() -> None:
    imported = read("SUMMARY:Freeze\\, all teams\\; really \\\\o/\nDTSTART:20260701T090000\nDURATION:PT1H")
    assert imported.windows[0].note == r"Freeze, all teams; really \o/"


def test_recurring_event_is_expanded_for_ten_years() -> None:
    imported = read("DTSTART;VALUE=DATE:20201225\nRRULE:FREQ=YEARLY")
    last = int(TZDATA_VERSION[:4]) + YEARS_AHEAD
    assert imported.dates == tuple(f"{year}-12-25" for year in range(2020, last + 1))


def test_last_year_can_be_set() -> None:
    text = calendar("DTSTART;VALUE=DATE:20201225\nRRULE:FREQ=YEARLY")
    assert read_icalendar("company", text, last_year=2022).dates == ("2020-12-25", "2021-12-25", "2022-12-25")


# --- the shape of files -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("newline", ["\r\n", "\n", "\r"])
def test_any_line_ends_are_accepted(newline: str) -> None:
    text = calendar("DTSTART;VALUE=DATE:20261225", newline=newline)
    assert read_icalendar("company", text).dates == ("2026-12-25",)


@pytest.mark.parametrize("space", [" ", "\t"])
def test_folded_line_is_joined(space: str) -> None:
    folded = f"DTSTA\n{space}RT;VALUE=DA\n{space}TE:2026\n{space}1225"
    assert read(folded).dates == ("2026-12-25",)


def test_other_components_are_ignored() -> None:
    """Time zones, to-dos and alarms carry the same properties as events."""
    lines = (
        ["BEGIN:VCALENDAR", "BEGIN:VTIMEZONE", "TZID:Europe/Berlin", "BEGIN:STANDARD", "DTSTART:19701025T030000",
         "RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10", "END:STANDARD", "END:VTIMEZONE",
         "BEGIN:VTODO", "DTSTART:20260101", "END:VTODO",
         "BEGIN:VEVENT", "DTSTART:20261225", "BEGIN:VALARM", "TRIGGER:-PT15M", "DURATION:P3D", "DTSTART:20300101",
         "END:VALARM", "SUMMARY:Christmas", "END:VEVENT", "END:VCALENDAR"]
    )  # fmt: skip
    assert read_icalendar("company", "\n".join(lines)) == NamedCalendar("company", ("2026-12-25",))


@pytest.mark.parametrize("status", ["STATUS:CANCELLED", "status:cancelled"])
def test_cancelled_event_is_ignored(status: str) -> None:
    assert read(f"DTSTART:20261225\n{status}", "DTSTART:20261226\nSTATUS:CONFIRMED").dates == ("2026-12-26",)


def test_other_properties_with_quotes_and_colons_are_ignored() -> None:
    noise = 'ATTENDEE;CN="Doe: John; Jr";ROLE=CHAIR:mailto:doe@example.org\nDESCRIPTION:a:b;c\nX-EMPTY:'
    assert read(f"{noise}\nDTSTART:20261225").dates == ("2026-12-25",)


def test_file_without_events_excludes_nothing() -> None:
    assert read() == NamedCalendar("company")


def test_imported_calendar_can_be_excluded_by_name() -> None:
    imported = read("DTSTART:20261225", "DTSTART;TZID=Europe/Berlin:20261228T080000\nDURATION:PT2H")
    spec = Spec(cron="0 9 * * *", timezone="Europe/Berlin", exclude={"named": ["company"]})
    days = [tick.day for tick in spec.upcoming(4, datetime(2026, 12, 24, tzinfo=UTC), calendars=[imported])]
    assert days == [24, 26, 27, 29]


# --- damaged files ----------------------------------------------------------------------------------------------

DAMAGED: list[tuple[str, str]] = [
    ("", "line 1: no BEGIN:VCALENDAR"),
    ("\r\n\r\n", "line 1: no BEGIN:VCALENDAR"),
    ("DTSTART:20260101", "line 1: no BEGIN:VCALENDAR"),
    ("<html>", "line 1: '<html>' is not a property"),
    ("BEGIN:VCALENDAR\r\n\r\nnonsense\r\n", "line 3: 'nonsense' is not a property"),
    ("BEGIN:VCALENDAR\nX:1\n 2\n 3\nnonsense", "line 5: 'nonsense' is not a property"),
    (calendar("SUMMARY:no start"), "line 4: an event without DTSTART"),
    (calendar("DTSTART:20261225\nX"), "line 6: 'X' is not a property"),
    (calendar("DTSTART:soon"), "line 5: 'soon' is not a date or time"),
    (calendar("DTSTART:2026-12-25"), "line 5: '2026-12-25' is not a date or time"),
    (calendar("DTSTART:20261325"), "line 5: '20261325' is not a date or time"),
    (calendar("DTSTART:20260100"), "line 5: '20260100' is not a date or time"),
    (calendar("DTSTART:20260101T250000"), "line 5: '20260101T250000' is not a date or time"),
    (calendar("DTSTART:20260101T090000\nDTEND:x"), "line 6: 'x' is not a date or time"),
    (calendar("DTSTART:20260101T090000\nDURATION:long"), "line 6: DURATION: 'long' is not a duration"),
    (calendar("DTSTART;TZID=Mars/Base:20260101T090000"), "line 5: timezone: unknown time zone 'Mars/Base'"),
    (calendar("DTSTART:20260101\nRRULE:FREQ=NEVER"), "line 4: RRULE: FREQ is 'NEVER'"),
    (calendar("DTSTART:20260101\nRRULE:FREQ=DAILY;COUNT=2\nEXDATE:x"), "line 7: 'x' is not a date or time"),
]


@pytest.mark.parametrize(("text", "message"), DAMAGED)
def test_invalid_file_is_rejected_with_the_line(text: str, message: str) -> None:
    with pytest.raises(InvalidSpec) as caught:
        read_icalendar("company", text)
    assert caught.value.field == "icalendar"
    assert str(caught.value).startswith(f"icalendar: {message}")


@pytest.mark.parametrize(
    "event",
    [
        "DTSTART:20260101\nRRULE:FREQ=DAILY",
        "DTSTART:20260101T000000\nDURATION:PT1M\nRRULE:FREQ=HOURLY",
        "DTSTART:20260101\nDURATION:P999W",
    ],
)
def test_file_with_too_many_dates_is_rejected(event: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(icalendar, "MAX_EVENTS", 100)
    with pytest.raises(InvalidSpec, match="line 4: more than 100 dates"):
        read(event)


PROPERTIES = st.sampled_from(
    ["BEGIN:VCALENDAR", "BEGIN:VEVENT", "END:VEVENT", "BEGIN:VALARM", "END:VALARM", "END:VCALENDAR", "STATUS:CANCELLED",
     "DTSTART:20260101", "DTSTART;TZID=Europe/Berlin:20260329T023000", "DTEND:20260105", "DTEND:20260105T120000Z",
     "DURATION:PT90M", "RRULE:FREQ=YEARLY", "RRULE:FREQ=MONTHLY;BYDAY=-1FR", "EXDATE:20260101", "SUMMARY:x", " folded",
     "DTSTART;VALUE=DATE:20261225", "", "DTSTART;TZID=:20260101T000000", "RRULE:"]
)  # fmt: skip


@given(
    st.text(max_size=60)
    | st.lists(PROPERTIES | st.text(max_size=20), max_size=12).map("\r\n".join)
    | st.lists(PROPERTIES, max_size=6).map(lambda lines: calendar("\n".join(lines) or "X:1"))
)
def test_any_text_gives_a_calendar_or_invalid_spec(text: str) -> None:
    try:
        imported = read_icalendar("company", text)
    except InvalidSpec as error:
        assert len(str(error).splitlines()) == 1  # noqa: PT017 - both outcomes are right, each has its own check
    else:
        Spec(cron="0 9 * * *", exclude={"named": ["company"]}).compile(calendars=[imported])


# --- regressions ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("day", ["20260231", "20260229", "20260431"])
def test_nonexistent_day_is_rejected(day: str) -> None:
    """Regression: 31 February became 3 March, and the wrong day was silently excluded."""
    with pytest.raises(InvalidSpec):
        read(f"DTSTART;VALUE=DATE:{day}")


@pytest.mark.parametrize(
    "event",
    [
        "DTSTART;VALUE=DATE:00000101",
        "DTSTART:00000101T000000\nDURATION:PT1H",
        "DTSTART:99991231T235959\nDURATION:PT1H",
        "DTSTART:20260101T000000\nDURATION:P999999999W",
        "DTSTART;TZID=Asia/Tokyo:00010101T000000\nDURATION:PT1H",
    ],
)
def test_event_outside_a_calendar_is_rejected(event: str) -> None:
    with pytest.raises(InvalidSpec):
        read(event)


def test_event_may_start_and_end_in_different_zones() -> None:
    """Regression: 09:00 in Berlin to 09:00 UTC, two hours in summer, was treated as empty and dropped."""
    imported = read("DTSTART;TZID=Europe/Berlin:20260701T090000\nDTEND:20260701T090000Z")
    assert imported.windows == (window("2026-07-01T07:00:00+00:00", "2026-07-01T09:00:00+00:00"),)


def test_exception_in_utc_removes_an_occurrence_in_a_zone() -> None:
    event = (
        "DTSTART;TZID=Europe/Berlin:20260105T090000\nDURATION:PT1H\nRRULE:FREQ=DAILY;COUNT=3\nEXDATE:20260106T080000Z"
    )
    assert [window.begin[:10] for window in read(event).windows] == ["2026-01-05", "2026-01-07"]


def test_until_in_utc_includes_the_occurrence_at_that_instant() -> None:
    """Regression: RFC 5545 requires UNTIL in UTC if DTSTART names a zone. In Tokyo the last occurrence was lost."""
    event = "DTSTART;TZID=Asia/Tokyo:20260101T050000\nDURATION:PT1H\nRRULE:FREQ=DAILY;UNTIL=20260102T200000Z"
    assert len(read(event).windows) == 3


def test_truncated_file_is_rejected() -> None:
    """Regression: a truncated download silently lost its last event."""
    with pytest.raises(InvalidSpec):
        read_icalendar("company", "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nDTSTART:20261225\r\n")


def test_line_folded_after_a_space_keeps_the_space() -> None:
    imported = read("SUMMARY:Company \n holiday\nDTSTART:20260701T090000\nDURATION:PT1H")
    assert imported.windows[0].note == "Company holiday"


@pytest.mark.parametrize(
    "noise",
    [
        'ATTENDEE;MEMBER="mailto:a@example.org","mailto:b@example.org":mailto:c@example.org\nDTSTART:20261225',
        "DTSTART:20261225T000000\nDURATION:+P1D",
    ],
)
def test_forms_that_the_rfc_allows_are_accepted(noise: str) -> None:
    assert len(read(noise).dates) + len(read(noise).windows) == 1


def test_byte_order_mark_is_ignored() -> None:
    assert read_icalendar("company", "\ufeff" + calendar("DTSTART:20261225")).dates == ("2026-12-25",)


class TooManySteps(Exception):
    """Raised instead of waiting for minutes."""


@pytest.mark.parametrize("event", ["DTSTART:20260101T000000", "DTSTART;VALUE=DATE:20260101"])
def test_event_every_second_is_rejected(event: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: every second for ten years took 300 million steps, and events without a length had no limit."""
    original, steps = icalendar._add, 0

    def counted(*arguments: object) -> None:
        nonlocal steps
        steps += 1
        if steps > 2 * icalendar.MAX_EVENTS:
            raise TooManySteps
        original(*arguments)  # type: ignore[arg-type]  # passed on as they came

    monkeypatch.setattr(icalendar, "_add", counted)
    with pytest.raises(InvalidSpec):
        read(f"{event}\nRRULE:FREQ=SECONDLY")


@pytest.mark.parametrize(
    ("exception", "dates"),
    [
        ("DTSTART;VALUE=DATE:20260110", ["2026-01-01", "2026-01-03", "2026-01-10"]),
        ("DTSTART;VALUE=DATE:20260102\nSTATUS:CANCELLED", ["2026-01-01", "2026-01-03"]),
    ],
)
def test_moved_or_cancelled_occurrence_is_removed_from_the_series(exception: str, dates: list[str]) -> None:
    """Calendar programs write a changed occurrence of a series as a separate event."""
    series = "UID:1\nDTSTART;VALUE=DATE:20260101\nRRULE:FREQ=DAILY;COUNT=3"
    imported = read(series, f"UID:1\nRECURRENCE-ID;VALUE=DATE:20260102\n{exception}")
    assert list(imported.dates) == dates


def test_additional_dates_are_read() -> None:
    assert read("DTSTART;VALUE=DATE:20260101\nRDATE;VALUE=DATE:20260105,20260107").dates == (
        "2026-01-01",
        "2026-01-05",
        "2026-01-07",
    )


def test_folded_first_line_is_line_1() -> None:
    with pytest.raises(InvalidSpec) as caught:
        read_icalendar("company", " nonsense")
    assert "line 1" in str(caught.value)
