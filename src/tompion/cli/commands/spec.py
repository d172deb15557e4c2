"""``tompion next``, ``explain`` and ``lint``: examine a spec without a store."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tompion.cli.options import Output, milliseconds, parse_instant
from tompion.cli.output import console
from tompion.cli.output.formats import OutputFormat, print_data
from tompion.errors import InvalidSpec, display
from tompion.model.spec import Finding, NamedCalendar

if TYPE_CHECKING:
    from tompion.sdk.spec import Spec

MAX_TICKS = 100_000

Expressions = Annotated[
    list[str] | None,
    typer.Argument(metavar="CRON", help="Cron strings, quoted. Several make a union.", show_default=False),
]
Zone = Annotated[str | None, typer.Option("--tz", metavar="ZONE", help="IANA time zone (UTC).", show_default=False)]
Every = Annotated[
    list[str] | None, typer.Option("--every", metavar="DURATION", help="Interval: 15m, 1h30m/5m.", show_default=False)
]
Rrule = Annotated[
    list[str] | None, typer.Option("--rrule", metavar="RULE", help="RFC 5545 rule: FREQ=...", show_default=False)
]
At = Annotated[list[str] | None, typer.Option("--at", metavar="TIME", help="Single run, ISO 8601.", show_default=False)]
Exclude = Annotated[
    list[str] | None,
    typer.Option("--exclude", metavar="DATE", help="Excluded date: 2026-12-25.", show_default=False),
]
Holidays = Annotated[
    list[str] | None,
    typer.Option("--holidays", metavar="COUNTRY", help="Excluded public holidays: DE, DE-BY.", show_default=False),
]
Document = Annotated[
    str | None,
    typer.Option("--spec", metavar="FILE", help="Spec as a JSON file, - for stdin.", show_default=False),
]
Calendars = Annotated[
    list[str] | None,
    typer.Option("--calendar", metavar="NAME=FILE", help="Named calendar from an iCalendar file.", show_default=False),
]
Dialect = Annotated[str | None, typer.Option(metavar="NAME", help="tompion, quartz or temporal.", show_default=False)]
Gap = Annotated[
    str | None, typer.Option("--dst-gap", metavar="RULE", help="catch_up, skip or shift.", show_default=False)
]
Overlap = Annotated[
    str | None, typer.Option("--dst-overlap", metavar="RULE", help="auto, first, second or both.", show_default=False)
]
Profile = Annotated[
    str | None,
    typer.Option("--dst-profile", metavar="NAME", help="vixie, temporal, quartz or airflow.", show_default=False),
]
Start = Annotated[str | None, typer.Option("--start", metavar="TIME", help="Earliest tick.", show_default=False)]
End = Annotated[str | None, typer.Option("--end", metavar="TIME", help="Latest tick.", show_default=False)]
Jitter = Annotated[
    str | None,
    typer.Option("--jitter-ms", metavar="MS", help="Maximum random delay: 30000 or 30s.", show_default=False),
]
ScheduleId = Annotated[str, typer.Option("--id", metavar="ID", help="Id of the schedule, seeds H and jitter.")]
After = Annotated[
    str | None,
    typer.Option("--after", metavar="TIME", help="Start after this time (now).", show_default=False),
]


def next_command(  # noqa: PLR0913 - each is an option of the command
    expressions: Expressions = None,
    tz: Zone = None,
    count: Annotated[
        int, typer.Option("-n", "--count", metavar="N", min=1, max=MAX_TICKS, help="Number of ticks.")
    ] = 10,
    after: After = None,
    every: Every = None,
    rrule: Rrule = None,
    at: At = None,
    exclude: Exclude = None,
    holidays: Holidays = None,
    calendar: Calendars = None,
    start: Start = None,
    end: End = None,
    dialect: Dialect = None,
    dst_gap: Gap = None,
    dst_overlap: Overlap = None,
    dst_profile: Profile = None,
    jitter_ms: Jitter = None,
    schedule_id: ScheduleId = "",
    document: Document = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Show the next ticks of a spec, and how DST changes them.

    Example: tompion next "0 9 * * MON-FRI" --tz Europe/Berlin -n 5
    """
    spec = _spec(locals())
    ticks = spec.occurrences(
        count,
        parse_instant(after, "--after", zone=spec.zone_name),
        schedule_id=schedule_id,
        calendars=_calendars(calendar),
    )
    if output.is_data:
        print_data([console.tick_json(tick) for tick in ticks], output)
    elif ticks:
        console.tick_table(ticks, spec.zone_name, jitter=spec.jitter_ms > 0)
    else:
        console.paragraph("No ticks after that. 'tompion lint' shows the reason.")


def explain_command(  # noqa: PLR0913 - each is an option of the command
    expressions: Expressions = None,
    tz: Zone = None,
    every: Every = None,
    rrule: Rrule = None,
    at: At = None,
    exclude: Exclude = None,
    holidays: Holidays = None,
    start: Start = None,
    end: End = None,
    dialect: Dialect = None,
    dst_gap: Gap = None,
    dst_overlap: Overlap = None,
    dst_profile: Profile = None,
    jitter_ms: Jitter = None,
    document: Document = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Explain a spec in plain English.

    Example: tompion explain "0 18 LW * *" --tz America/New_York
    """
    text = _spec(locals()).explain()
    if output.is_data:
        print_data({"explanation": text}, output)
    else:
        console.paragraph(text)


def lint_command(  # noqa: PLR0913 - each is an option of the command
    expressions: Expressions = None,
    tz: Zone = None,
    after: After = None,
    every: Every = None,
    rrule: Rrule = None,
    at: At = None,
    exclude: Exclude = None,
    holidays: Holidays = None,
    calendar: Calendars = None,
    start: Start = None,
    end: End = None,
    dialect: Dialect = None,
    dst_gap: Gap = None,
    dst_overlap: Overlap = None,
    dst_profile: Profile = None,
    jitter_ms: Jitter = None,
    schedule_id: ScheduleId = "",
    min_interval: Annotated[
        str | None,
        typer.Option(
            "--min-interval", metavar="DURATION", help="Warn about shorter intervals: 5m.", show_default=False
        ),
    ] = None,
    document: Document = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Find likely errors in a spec.

    Exits 1 if there is a warning or an error.

    Example: tompion lint "30 2 */7 * *" --tz Europe/Berlin
    """
    spec = _spec(locals())
    findings = spec.lint(
        now=parse_instant(after, "--after", zone=spec.zone_name),
        min_interval=min_interval,
        schedule_id=schedule_id,
        calendars=_calendars(calendar),
    )
    if output.is_data:
        print_data([_finding_json(finding) for finding in findings], output)
    elif findings:
        console.finding_lines(findings)
    else:
        console.paragraph("No findings.")
    if any(finding.severity != "info" for finding in findings):
        raise typer.Exit(1)


def _spec(options: dict[str, Any]) -> Spec:
    """Return the spec that the options describe. With ``--spec``, they change the spec in the file."""
    from tompion.sdk.spec import Spec  # here, because the help of a command needs no time engine

    words = options["expressions"] or []
    if len(words) > 1 and not any(" " in word.strip() or word.startswith("@") for word in words):
        raise InvalidSpec("several words, but no cron string", hint="quote the cron string: '0 9 * * MON-FRI'")
    values = {
        "cron": options["expressions"],
        "timezone": options["tz"],
        "intervals": options["every"],
        "rrules": options["rrule"] and [text.replace("\\n", "\n") for text in options["rrule"]],
        "times": options["at"],
        "start_at": options["start"],
        "end_at": options["end"],
        "jitter_ms": milliseconds(options["jitter_ms"]),
        "dialect": options["dialect"],
        "dst_gap": options["dst_gap"],
        "dst_overlap": options["dst_overlap"],
        "dst_profile": options["dst_profile"],
    }
    exclusions = {"dates": options["exclude"], "holidays": options["holidays"]}
    if any(exclusions.values()):
        values["exclude"] = {name: value for name, value in exclusions.items() if value}
    fields = {name: value for name, value in values.items() if value is not None and value != []}
    if options["document"] is not None:
        base = Spec.from_json(_read(options["document"])).to_dict()
        if "exclude" in base and "exclude" in fields:
            fields["exclude"] = _merge_exclusions(base["exclude"], fields["exclude"])
        fields = base | fields
    if not any(fields.get(name) for name in ("cron", "intervals", "rrules", "times", "calendars")):
        raise InvalidSpec("no spec given", expected="a cron string, --every, --rrule, --at or --spec")
    return Spec.from_dict(fields)


def _merge_exclusions(base: dict[str, Any], added: dict[str, Any]) -> dict[str, Any]:
    """Return the exclusions of the file and of the options."""
    return base | {name: [*base.get(name, []), *values] for name, values in added.items()}


def _calendars(options: list[str] | None) -> list[NamedCalendar]:
    calendars = []
    for option in options or []:
        name, equals, path = option.partition("=")
        if not equals or not name:
            raise InvalidSpec(f"--calendar {display(option)}", expected="NAME=FILE, such as company=days-off.ics")
        from tompion.sdk.spec import read_icalendar

        calendars.append(read_icalendar(name, _read(path)))
    return calendars


def _read(path: str) -> str:
    try:
        return sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidSpec(f"cannot read {path}: {error.strerror if isinstance(error, OSError) else error}") from None


def _finding_json(finding: Finding) -> dict[str, str]:
    return {
        "code": finding.code,
        "severity": finding.severity,
        "field": finding.field,
        "message": finding.message,
        "hint": finding.hint,
    }
