"""``tompion next``, ``explain`` and ``lint``: look at a spec without a service."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from tompion.cli.options import parse_instant
from tompion.cli.output import console
from tompion.errors import InvalidSpec, display
from tompion.model.spec import Finding, NamedCalendar
from tompion.sdk.spec import Spec, read_icalendar

MAX_TICKS = 100_000

Expressions = Annotated[
    list[str] | None,
    typer.Argument(metavar="CRON", help="Cron strings, quoted; several make a union.", show_default=False),
]
Zone = Annotated[
    str | None, typer.Option("--tz", metavar="ZONE", help="IANA time zone; default UTC.", show_default=False)
]
Every = Annotated[
    list[str] | None, typer.Option("--every", metavar="DURATION", help="Interval: 15m, 1h30m/5m.", show_default=False)
]
Rrule = Annotated[
    list[str] | None, typer.Option("--rrule", metavar="RULE", help="RFC 5545 rule: FREQ=...", show_default=False)
]
At = Annotated[list[str] | None, typer.Option("--at", metavar="TIME", help="One-shot, ISO 8601.", show_default=False)]
Exclude = Annotated[
    list[str] | None,
    typer.Option("--exclude", metavar="DATE", help="Date to leave out: 2026-12-25.", show_default=False),
]
Holidays = Annotated[
    list[str] | None,
    typer.Option("--holidays", metavar="COUNTRY", help="Leave out public holidays: DE, DE-BY.", show_default=False),
]
Document = Annotated[
    str | None,
    typer.Option("--spec", metavar="FILE", help="A whole spec as JSON: a file, or - for stdin.", show_default=False),
]
Calendars = Annotated[
    list[str] | None,
    typer.Option(
        "--calendar", metavar="NAME=FILE", help="A named calendar, from an iCalendar file.", show_default=False
    ),
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
Start = Annotated[
    str | None, typer.Option("--start", metavar="TIME", help="First instant allowed.", show_default=False)
]
End = Annotated[str | None, typer.Option("--end", metavar="TIME", help="Last instant allowed.", show_default=False)]
Jitter = Annotated[int | None, typer.Option("--jitter-ms", metavar="MS", help="Spread fire times.", show_default=False)]
ScheduleId = Annotated[str, typer.Option("--id", metavar="ID", help="The schedule's id, which H and jitter hash.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
After = Annotated[
    str | None,
    typer.Option(
        "--after", metavar="TIME", help="Begin after this instant, with offset; default now.", show_default=False
    ),
]


def next_command(  # noqa: PLR0913 - each is an option of the command
    expressions: Expressions = None,
    tz: Zone = None,
    count: Annotated[
        int, typer.Option("-n", "--count", metavar="N", min=1, max=MAX_TICKS, help="How many ticks.")
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
    as_json: Json = False,
) -> None:
    """Show the next ticks: local time, UTC, and what DST does to them.

    Example: tompion next "0 9 * * MON-FRI" --tz Europe/Berlin -n 5
    """
    spec = _spec(locals())
    ticks = spec.occurrences(
        count, parse_instant(after, "--after"), schedule_id=schedule_id, calendars=_calendars(calendar)
    )
    if as_json:
        console.print_json([console.tick_json(tick) for tick in ticks])
    elif ticks:
        console.tick_table(ticks, spec.zone_name, jitter=spec.jitter_ms > 0)
    else:
        console.paragraph("no ticks after that; 'tompion lint' says why")


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
    as_json: Json = False,
) -> None:
    """Say in plain English when a spec fires.

    Example: tompion explain "0 18 LW * *" --tz America/New_York
    """
    text = _spec(locals()).explain()
    if as_json:
        console.print_json({"explanation": text})
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
        typer.Option("--min-interval", metavar="DURATION", help="Warn if denser than this: 5m.", show_default=False),
    ] = None,
    document: Document = None,
    as_json: Json = False,
) -> None:
    """Point out what may not be meant.  Exits 1 if there is a warning or an error.

    Example: tompion lint "30 2 */7 * *" --tz Europe/Berlin
    """
    spec = _spec(locals())
    findings = spec.lint(
        now=parse_instant(after, "--after"),
        min_interval=min_interval,
        schedule_id=schedule_id,
        calendars=_calendars(calendar),
    )
    if as_json:
        console.print_json([_finding_json(finding) for finding in findings])
    elif findings:
        console.finding_lines(findings)
    else:
        console.paragraph("nothing to say")
    if any(finding.severity != "info" for finding in findings):
        raise typer.Exit(1)


def _spec(options: dict[str, Any]) -> Spec:
    """Build the spec that the options describe; ``--spec`` gives a base that they add to."""
    words = options["expressions"] or []
    if len(words) > 1 and not any(" " in word.strip() or word.startswith("@") for word in words):
        raise InvalidSpec("several words, none of them a cron string", hint="quote it as one: '0 9 * * MON-FRI'")
    named = {
        "cron": options["expressions"],
        "timezone": options["tz"],
        "intervals": options["every"],
        "rrules": options["rrule"] and [text.replace("\\n", "\n") for text in options["rrule"]],
        "times": options["at"],
        "start_at": options["start"],
        "end_at": options["end"],
        "jitter_ms": options["jitter_ms"],
        "dialect": options["dialect"],
        "dst_gap": options["dst_gap"],
        "dst_overlap": options["dst_overlap"],
        "dst_profile": options["dst_profile"],
    }
    excluded = {"dates": options["exclude"], "holidays": options["holidays"]}
    if any(excluded.values()):
        named["exclude"] = {name: value for name, value in excluded.items() if value}
    drop_unset = {name: value for name, value in named.items() if value is not None and value != []}
    if options["document"] is not None:
        base = Spec.from_json(_read(options["document"])).to_dict()
        if "exclude" in base and "exclude" in drop_unset:
            drop_unset["exclude"] = _merged(base["exclude"], drop_unset["exclude"])
        drop_unset = base | drop_unset
    if not any(drop_unset.get(name) for name in ("cron", "intervals", "rrules", "times", "calendars")):
        raise InvalidSpec("nothing to look at", expected="a cron string, --every, --rrule, --at or --spec")
    return Spec.from_dict(drop_unset)


def _merged(base: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """Return what both exclude: an option adds to what the file says."""
    return base | {name: [*base.get(name, []), *values] for name, values in more.items()}


def _calendars(options: list[str] | None) -> list[NamedCalendar]:
    calendars = []
    for option in options or []:
        name, equals, path = option.partition("=")
        if not equals or not name:
            raise InvalidSpec(f"--calendar {display(option)}", expected="NAME=FILE, such as company=days-off.ics")
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
