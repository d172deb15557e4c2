"""``tompion next``, ``explain`` and ``lint``: options, output, exit codes."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest

from tompion.cli.main import main
from tompion.sdk import spec

BERLIN = "Europe/Berlin"
SPRING = "2026-03-28T00:00Z"


class Result(NamedTuple):
    """Exit code and output of a command."""

    code: object
    out: str
    err: str


Run = Callable[..., Result]


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the variables that a developer may have set."""
    for name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "PYTHONIOENCODING"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def tompion(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command in this process, its output in a pipe."""

    def run(*arguments: str, stdin: str = "") -> Result:
        monkeypatch.setattr(sys, "argv", ["tompion", *arguments])
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        with pytest.raises(SystemExit) as caught:
            main()
        return Result(caught.value.code, *capsys.readouterr())

    return run


@pytest.fixture
def stopped_clock(monkeypatch: pytest.MonkeyPatch) -> datetime:
    moment = datetime(2026, 6, 1, 12, tzinfo=UTC)

    class Stopped:
        def now(self) -> float:
            return moment.timestamp()

    monkeypatch.setattr(spec, "SystemClock", Stopped)
    return moment


def table(result: Result) -> list[str]:
    """The lines of a successful answer, without padding."""
    assert (result.code, result.err) == (0, "")
    return [line.rstrip() for line in result.out.splitlines()]


def locals_of(result: Result) -> list[str]:
    """The local times of a successful JSON answer, to the minute."""
    assert (result.code, result.err) == (0, "")
    return [tick["local"][5:16] for tick in json.loads(result.out)]


# --- next -------------------------------------------------------------------------------------------------------


def test_next_shows_local_time_and_utc(tompion: Run) -> None:
    result = tompion("next", "0 9 * * MON-FRI", "--tz", BERLIN, "-n", "3", "--after", "2026-03-26T12:00Z")
    assert table(result) == [
        "Europe/Berlin               UTC",
        "Fri 2026-03-27 09:00 +01:00 2026-03-27 08:00Z",
        "Mon 2026-03-30 09:00 +02:00 2026-03-30 07:00Z",
        "Tue 2026-03-31 09:00 +02:00 2026-03-31 07:00Z",
    ]


def test_next_marks_ticks_that_dst_moved_with_the_reason(tompion: Run) -> None:
    result = tompion("next", "30 2 * * *", "--tz", BERLIN, "-n", "3", "--after", SPRING)
    assert table(result) == [
        "Europe/Berlin               UTC",
        "Sat 2026-03-28 02:30 +01:00 2026-03-28 01:30Z",
        "Sun 2026-03-29 03:00 +02:00 2026-03-29 01:00Z DST",
        "Mon 2026-03-30 02:30 +02:00 2026-03-30 00:30Z",
        "DST 2026-03-29: 02:30 does not exist that day (clocks go forward), so it fires at 03:00",
    ]


def test_next_marks_both_occurrences_of_a_repeated_time(tompion: Run) -> None:
    result = tompion(
        "next", "30 2 * * *", "--tz", BERLIN, "-n", "2", "--after", "2026-10-24T12:00Z", "--dst-overlap", "both"
    )
    assert table(result)[1:] == [
        "Sun 2026-10-25 02:30 +02:00 2026-10-25 00:30Z DST",
        "Sun 2026-10-25 02:30 +01:00 2026-10-25 01:30Z DST",
        "DST 2026-10-25: the first of two 02:30 that day (clocks go back)",
        "DST 2026-10-25: the second 02:30 of that day (clocks go back)",
    ]


def test_next_prints_seconds_if_a_tick_has_them(tompion: Run) -> None:
    assert table(tompion("next", "15 0 9 * * *", "-n", "1", "--after", SPRING)) == [
        "UTC",
        "Sat 2026-03-28 09:00:15 +00:00",
    ]


def test_next_as_json_has_the_documented_keys(tompion: Run) -> None:
    result = tompion("next", "30 2 * * *", "--tz", BERLIN, "-n", "2", "--after", SPRING, "-o", "json")
    assert json.loads(result.out) == [
        {
            "at": "2026-03-28T01:30:00+00:00",
            "local": "2026-03-28T02:30:00+01:00",
            "wall": "2026-03-28T02:30:00",
            "dst": None,
            "reason": None,
            "fire_at": "2026-03-28T01:30:00.000+00:00",
        },
        {
            "at": "2026-03-29T01:00:00+00:00",
            "local": "2026-03-29T03:00:00+02:00",
            "wall": "2026-03-29T02:30:00",
            "dst": "gap",
            "reason": "02:30 does not exist that day (clocks go forward), so it fires at 03:00",
            "fire_at": "2026-03-29T01:00:00.000+00:00",
        },
    ]


def test_next_prints_ten_ticks_from_now_by_default(tompion: Run, stopped_clock: datetime) -> None:
    output = locals_of(tompion("next", "0 12 * * *", "-o", "json"))
    assert output == [f"06-{day:02d}T12:00" for day in range(2, 12)]
    assert len(locals_of(tompion("next", "0 12 * * *", "--count", "37", "-o", "json"))) == 37


OPTIONS: list[tuple[list[str], list[str]]] = [
    # everything after 2026-03-28T00:00Z, three ticks
    (["0 9 * * *"], ["03-28T09:00", "03-29T09:00", "03-30T09:00"]),
    (["0 9 * * *", "0 12 * * *"], ["03-28T09:00", "03-28T12:00", "03-29T09:00"]),
    (["--every", "90m"], ["03-28T01:30", "03-28T03:00", "03-28T04:30"]),
    (["--every", "90m/5m"], ["03-28T00:05", "03-28T01:35", "03-28T03:05"]),
    (["--every", "24h", "--every", "24h/1h"], ["03-28T01:00", "03-29T00:00", "03-29T01:00"]),
    (["--rrule", "FREQ=DAILY;BYHOUR=7"], ["03-28T07:00", "03-29T07:00", "03-30T07:00"]),
    (["--rrule", r"DTSTART:20260101T080000\nFREQ=DAILY;INTERVAL=2"], ["03-28T08:00", "03-30T08:00", "04-01T08:00"]),
    (["--at", "2026-05-01T10:00", "--at", "2026-05-02T10:00+02:00"], ["05-01T10:00", "05-02T08:00"]),
    (["0 9 * * *", "--every", "24h", "--at", "2026-03-28T01:00"], ["03-28T01:00", "03-28T09:00", "03-29T00:00"]),
    (["0 9 * * *", "--tz", "Asia/Tokyo"], ["03-29T09:00", "03-30T09:00", "03-31T09:00"]),
    (["0 9 * * *", "--exclude", "2026-03-28"], ["03-29T09:00", "03-30T09:00", "03-31T09:00"]),
    (["@daily", "--exclude", "2026-03-29", "--exclude", "2026-03-30"], ["03-31T00:00", "04-01T00:00", "04-02T00:00"]),
    (["0 9 1 * *", "--holidays", "DE-BY"], ["04-01T09:00", "06-01T09:00", "07-01T09:00"]),
    (["0 9 * * *", "--start", "2026-04-01", "--end", "2026-04-02"], ["04-01T09:00", "04-02T09:00"]),
    (["0 0 9 ? * 1", "--dialect", "quartz"], ["03-29T09:00", "04-05T09:00", "04-12T09:00"]),
    (["30 2 * * *", "--tz", BERLIN, "--dst-gap", "skip"], ["03-28T02:30", "03-30T02:30", "03-31T02:30"]),
    (["30 2 * * *", "--tz", BERLIN, "--dst-profile", "airflow"], ["03-28T02:30", "03-29T03:30", "03-30T02:30"]),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "output"), OPTIONS)
def test_each_option_of_next(arguments: list[str], output: list[str], tompion: Run) -> None:
    assert locals_of(tompion("next", *arguments, "-n", "3", "--after", SPRING, "-o", "json")) == output


def test_holidays_may_be_given_more_than_once(tompion: Run) -> None:
    """6 April 2026 is a holiday in Germany, 4 May in England, 3 April in both."""
    holidays = ("--holidays", "DE", "--holidays", "GB-ENG")
    result = tompion("next", "0 9 3,4,6 4-5 *", *holidays, "-n", "3", "--after", SPRING, "-o", "json")
    assert locals_of(result) == ["04-04T09:00", "05-03T09:00", "05-06T09:00"]


def test_h_depends_on_the_id(tompion: Run) -> None:
    def output(name: str) -> list[str]:
        return locals_of(tompion("next", "H H * * *", "--id", name, "-n", "1", "--after", SPRING, "-o", "json"))

    assert output("nightly") == output("nightly")
    assert len({output(f"schedule-{number}")[0] for number in range(8)}) > 4


def test_jitter_shows_when_each_tick_fires(tompion: Run) -> None:
    arguments = ("next", "0 9 * * *", "--jitter-ms", "60000", "--id", "nightly", "-n", "2", "--after", SPRING)
    lines = table(tompion(*arguments))
    fires = [tick["fire_at"] for tick in json.loads(tompion(*arguments, "-o", "json").out)]
    assert lines[0].split()[-3:] == ["fires", "at", "(UTC)"]
    assert all(fire[11:23] in line for fire, line in zip(fires, lines[1:], strict=True))
    assert all(not fire.startswith(f"2026-03-{day}T09:00:00.000") for fire, day in zip(fires, (28, 29), strict=True))


def test_a_spec_without_upcoming_ticks_is_not_an_error(tompion: Run) -> None:
    assert tompion("next", "0 0 30 2 *") == (0, "No ticks after that. 'tompion lint' shows the reason.\n", "")
    assert tompion("next", "0 0 30 2 *", "-o", "json") == (0, "[]\n", "")


# --- a whole spec -----------------------------------------------------------------------------------------------

DOCUMENT = {"cron": "0 9 * * *", "timezone": BERLIN, "exclude": {"dates": ["2026-03-29"]}, "jitter_ms": 5_000}


@pytest.fixture
def document(tmp_path: Path) -> str:
    path = tmp_path / "spec.json"
    path.write_text(json.dumps(DOCUMENT), encoding="utf-8")
    return str(path)


def test_a_spec_can_be_a_file_or_standard_input(document: str, tompion: Run) -> None:
    from_file = tompion("next", "--spec", document, "-n", "2", "--after", SPRING, "-o", "json")
    from_pipe = tompion("next", "--spec", "-", "-n", "2", "--after", SPRING, "-o", "json", stdin=json.dumps(DOCUMENT))
    assert locals_of(from_file) == locals_of(from_pipe) == ["03-28T09:00", "03-30T09:00"]


def test_options_replace_fields_of_the_file_and_add_exclusions(document: str, tompion: Run) -> None:
    """Regression: ``--exclude`` with ``--spec`` silently dropped the exclusions of the file."""
    options = ("0 10 * * *", "--tz", "UTC", "--exclude", "2026-03-28")
    assert locals_of(tompion("next", "--spec", document, *options, "-n", "2", "--after", SPRING, "-o", "json")) == [
        "03-30T10:00",
        "03-31T10:00",
    ]


def test_a_named_calendar_comes_from_a_file(tmp_path: Path, tompion: Run) -> None:
    """Regression: a spec with a named calendar could be explained, but had no next ticks."""
    spec, file = tmp_path / "spec.json", tmp_path / "company.ics"
    spec.write_text('{"cron": "0 9 * * *", "exclude": {"named": ["company"]}}')
    file.write_text("BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:20260328\nEND:VEVENT\nEND:VCALENDAR\n")
    options = ("next", "--spec", str(spec), "-n", "1", "--after", SPRING, "-o", "json")
    assert locals_of(tompion(*options, "--calendar", f"company={file}")) == ["03-29T09:00"]
    assert tompion(*options).code == 2
    assert tompion(*options, "--calendar", "company").code == 2


def test_an_option_replaces_a_field_even_by_zero(document: str, tompion: Run) -> None:
    result = tompion("next", "--spec", document, "--jitter-ms", "0", "-n", "1", "--after", SPRING, "-o", "json")
    [tick] = json.loads(result.out)
    assert tick["fire_at"] == "2026-03-28T08:00:00.000+00:00"


# --- explain ----------------------------------------------------------------------------------------------------


def test_explain_prints_plain_english(tompion: Run) -> None:
    result = tompion("explain", "0 9 * * MON-FRI", "--tz", BERLIN)
    assert (result.code, result.err) == (0, "")
    assert "09:00" in result.out
    assert "Europe/Berlin" in result.out


def test_explain_as_json_has_the_same_text(tompion: Run) -> None:
    text = tompion("explain", "0 9 * * *", "0 12 1 * *", "--exclude", "2026-12-25").out
    data = json.loads(tompion("explain", "0 9 * * *", "0 12 1 * *", "--exclude", "2026-12-25", "-o", "json").out)
    assert list(data) == ["explanation"]
    assert data["explanation"].split() == text.split()


def test_explain_needs_no_calendar_to_name_it(tompion: Run) -> None:
    result = tompion("explain", "--spec", "-", stdin='{"cron": "0 9 * * *", "exclude": {"named": ["company"]}}')
    assert result.code == 0
    assert "company" in result.out


# --- lint -------------------------------------------------------------------------------------------------------


def test_lint_without_findings_exits_with_0(tompion: Run) -> None:
    assert tompion("lint", "0 9 * * MON-FRI") == (0, "No findings.\n", "")
    assert tompion("lint", "0 9 * * MON-FRI", "-o", "json") == (0, "[]\n", "")


@pytest.mark.parametrize(
    ("arguments", "code", "first"),
    [
        (["0 0 30 2 *"], 1, "error: never fires: no date from 1970 to 2200 matches [never-fires]"),
        (["0 0 13 * FRI"], 1, "warning: day of month '13' and day of week 'FRI' are both set"),
        (["0 0 31 * *"], 0, "info: months without a day 31 are skipped [short-months]"),
        (["H H * * *"], 0, "info: H depends on the schedule's id"),
        (["* * * * *", "--min-interval", "5m"], 1, "warning: fires 1m apart"),
        (["30 2 * * *", "--tz", BERLIN, "--after", SPRING], 1, "warning: 2026-03-29 in Europe/Berlin: 02:30 does not"),
    ],
)
def test_lint_exits_with_1_for_warnings_and_errors_only(
    arguments: list[str], code: int, first: str, tompion: Run
) -> None:
    result = tompion("lint", *arguments)
    assert (result.code, result.err) == (code, "")
    assert result.out.startswith(first)


def test_lint_shows_a_hint_below_its_finding(tompion: Run) -> None:
    assert tompion("lint", "*/7 * * * *").out.splitlines()[1:] == [
        "  hint: for every 7 minutes write '@every 7m' or an interval"
    ]


def test_lint_as_json_has_the_documented_keys_and_the_same_exit_code(tompion: Run) -> None:
    result = tompion("lint", "0 0 13 * FRI", "-o", "json")
    assert result.code == 1
    assert json.loads(result.out) == [
        {
            "code": "either-day",
            "severity": "warning",
            "field": "cron",
            "message": "day of month '13' and day of week 'FRI' are both set: it fires when either matches",
            "hint": "write '+FRI' as the weekday to require both",
        }
    ]


def test_lint_with_an_id_resolves_h(tompion: Run) -> None:
    assert tompion("lint", "H H * * *", "--id", "nightly", "--tz", "UTC").code == 0
    assert "hash-without-id" not in tompion("lint", "H H * * *", "--id", "nightly").out


# --- bad input --------------------------------------------------------------------------------------------------

BAD: list[tuple[list[str], str]] = [
    (["next"], "no spec given; expected a cron string, --every, --rrule, --at or --spec"),
    (["explain"], "no spec given"),
    (["lint"], "no spec given"),
    (["next", "61 * * * *"], "cron.minute: 61 is out of range at position 1 of '61 * * * *'; expected 0 to 59"),
    (["next", "0 9 * *"], "cron: 4 fields at position 1 of '0 9 * *'"),
    (["next", "0 9 * * FRY"], "did you mean FRI?"),
    (["next", "0 9 * * * 2026"], "write 7 fields (seconds first, year last), or dialect='temporal'"),
    (["next", ""], "cron: 0 fields"),
    (["next", "0 9\n* *"], "cron: 4 fields"),
    (["explain", "bogus"], "cron: 1 field"),
    (["lint", "bogus"], "cron: 1 field"),
    (["next", "0 9 * * *", "--tz", "Berlin"], "did you mean 'Europe/Berlin'?"),
    (["next", "0 9 * * *", "--tz", "Mars/Base"], "timezone: unknown time zone 'Mars/Base'"),
    (["next", "0 9 * * *", "--after", "soon"], "--after: 'soon' is not a time; expected 2h, tomorrow 9:00"),
    (["next", "0 9 * * *", "--after", "2026-W13"], "--after: '2026-W13' is not a time; expected 2h"),
    (
        ["next", "0 9 * * *", "--after", "9999-12-31T23:59:59-14:00"],
        "--after: '9999-12-31T23:59:59-14:00' is outside",
    ),
    (
        ["lint", "0 9 * * *", "--after", "0001-01-01T00:00:00+14:00"],
        "--after: '0001-01-01T00:00:00+14:00' is outside",
    ),
    (["next", "0 9 * * *", "--start", "9999-12-31T23:59:59-14:00"], "start_at: '9999-12-31T23:59:59-14:00' is not a"),
    (["next", "0 9 * * *", "--end", "9999-12-31T23:59:59-14:00"], "end_at: '9999-12-31T23:59:59-14:00' is not a"),
    (["lint", "0 9 * * *", "--after", "2026-03-29T9"], "expected 2h, tomorrow 9:00, 2026-03-29T09:00 or"),
    (["next", "0 9 * * *", "-n", "0"], "'-n' / '--count'"),
    (["next", "0 9 * * *", "-n", "100001"], "'-n' / '--count'"),
    (["next", "0 9 * * *", "-n", "ten"], "'-n' / '--count'"),
    (["next", "--every", "often"], "intervals[0].every: 'often' is not a duration"),
    (["next", "--every", "5m/9m"], "intervals[0].offset: '9m'; expected less than the interval"),
    (["next", "--rrule", "FREQ=NEVER"], "rrules: FREQ is 'NEVER' at position 6"),
    (["next", "--at", "noon"], "times[0]: 'noon' is not a date or time"),
    (["next", "0 9 * * *", "--exclude", "25.12.2026"], "exclude.dates[0]: '25.12.2026' is not a date"),
    (["next", "0 9 * * *", "--holidays", "XX"], "exclude.holidays[0]: no holidays are available for 'XX'"),
    (["next", "0 9 * * *", "--holidays", "DE-XX"], "DE has no subdivision 'XX'; expected one of BB, BE"),
    (["next", "0 9 * * *", "--start", "x"], "start_at: 'x' is not a date or time"),
    (["next", "0 9 * * *", "--start", "2026-02-01", "--end", "2026-01-01"], "end_at: 2026-01-01 is before start_at"),
    (["next", "0 9 * * *", "--dialect", "vixie"], "dialect: 'vixie'; expected one of tompion, quartz, temporal"),
    (["next", "0 9 * * *", "--dst-gap", "x"], "dst_gap: 'x'; expected one of catch_up, skip, shift"),
    (["next", "0 9 * * *", "--dst-overlap", "x"], "dst_overlap: 'x'; expected one of auto, first, second, both"),
    (["next", "0 9 * * *", "--dst-profile", "x"], "dst_profile: 'x'; expected one of vixie, temporal"),
    (["next", "0 9 * * *", "--jitter-ms", "-5"], "jitter_ms: -5; expected a whole number of milliseconds"),
    (["next", "0 9 * * *", "--jitter-ms", "soon"], "jitter_ms: 'soon' is not a duration"),
    (["lint", "0 9 * * *", "--min-interval", "x"], "min_interval: 'x' is not a duration"),
    (["next", "--spec", "no/such/file.json"], "cannot read no/such/file.json: No such file or directory"),
    (["next", "--spec", "."], "cannot read .: Is a directory"),
    (["next", "--spec", "-"], "not JSON"),
    (["next", "--frobnicate"], "No such option: --frobnicate"),
    (["next", "--tz"], "'--tz'"),
    (["nxt", "0 9 * * *"], "No such command 'nxt'"),
    (["--frobnicate"], "No such option: --frobnicate"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_bad_input_is_a_one_line_error_with_exit_code_2(arguments: list[str], message: str, tompion: Run) -> None:
    result = tompion(*arguments)
    assert (result.code, result.out) == (2, "")
    assert result.err.endswith("\n")
    assert len(result.err.splitlines()) == 1
    assert result.err.startswith("tompion: ")
    assert message in result.err


@pytest.mark.parametrize(
    ("stdin", "message"),
    [
        ("{", "not JSON: "),
        ("[]", "[] is not a spec; expected a JSON object"),
        ('{"crons": "0 9 * * *"}', "unknown field 'crons'"),
        ('{"cron": 5}', "cron: 5 is not a list"),
        ("{}", "no spec given"),
        ('{"cron": "0 9 * * *", "exclude": {"named": ["company"]}}', "exclude.named[0]: unknown calendar 'company'"),
    ],
)
def test_a_bad_spec_on_standard_input_is_a_one_line_error(stdin: str, message: str, tompion: Run) -> None:
    result = tompion("next", "--spec", "-", stdin=stdin)
    assert (result.code, result.out, len(result.err.splitlines())) == (2, "", 1)
    assert message in result.err


def test_a_binary_file_is_a_one_line_error(tmp_path: Path, tompion: Run) -> None:
    path = tmp_path / "spec.json"
    path.write_bytes(b"\xff\xfe{}")
    result = tompion("next", "--spec", str(path))
    assert (result.code, result.out, len(result.err.splitlines())) == (2, "", 1)
    assert "cannot read" in result.err


# --- regressions ------------------------------------------------------------------------------------------------


def test_no_arguments_print_the_help(tompion: Run) -> None:
    """Regression: ``tompion`` without arguments printed its help and then an empty error."""
    result = tompion()
    assert "Usage: tompion" in result.out
    assert result.err == ""


@pytest.mark.parametrize("option", ["--tz", "--start", "--end", "--dialect", "--dst-gap"])
def test_an_empty_value_is_rejected(option: str, tompion: Run) -> None:
    """Regression: ``--tz "$ZONE"`` with an unset variable silently used UTC."""
    assert tompion("next", "0 9 * * *", option, "").code == 2


def test_a_start_without_an_offset_is_in_the_zone_of_the_spec(tompion: Run) -> None:
    ticks = json.loads(
        tompion("next", "0 * * * *", "--tz", BERLIN, "-n", "1", "--after", "2026-06-01", "-o", "json").out
    )
    assert ticks[0]["at"] == "2026-05-31T23:00:00+00:00"


def test_the_header_names_the_zone_that_the_rows_are_in(tompion: Run) -> None:
    lines = table(tompion("next", "CRON_TZ=Europe/Berlin 0 9 * * *", "-n", "1", "--after", SPRING))
    assert lines[0].split()[0] == BERLIN


def test_a_fire_time_on_another_day_shows_its_date(tompion: Run) -> None:
    """With two hours of jitter the tick of 1 January, 23:00 "fires at 00:25"."""
    arguments = ("0 23 * * *", "--jitter-ms", "7200000", "--id", "a", "-n", "1", "--after", "2026-01-01T00:00Z")
    [tick] = json.loads(tompion("next", *arguments, "-o", "json").out)
    assert tick["fire_at"].startswith("2026-01-02T00:25")
    assert "01-02 00:25" in table(tompion("next", *arguments))[1]


def test_a_cron_string_without_quotes_is_recognised(tompion: Run) -> None:
    """Regression: the error was "1 field at position 1 of '0'"."""
    result = tompion("next", "0", "9", "*", "*", "MON-FRI")
    assert result.code == 2
    assert "quote" in result.err


# --- help -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("flag", ["-h", "--help"])
@pytest.mark.parametrize("command", ["next", "explain", "lint"])
def test_every_help_has_an_example(command: str, flag: str, tompion: Run) -> None:
    result = tompion(command, flag)
    assert (result.code, result.err) == (0, "")
    assert f"Usage: tompion {command}" in result.out
    assert f"Example: tompion {command} " in result.out
    assert max(map(len, result.out.splitlines())) <= 80


def test_the_help_lists_the_commands(tompion: Run) -> None:
    out = tompion("--help").out
    assert all(f" {command} " in out for command in ("next", "explain", "lint"))


def test_version_includes_the_time_zone_data(tompion: Run) -> None:
    result = tompion("--version")
    assert result.code == 0
    assert result.out == f"tompion 0.1.0 (time zone data {spec.TZDATA_VERSION})\n"
