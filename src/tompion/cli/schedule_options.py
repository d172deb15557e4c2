"""A schedule's definition on the command line: options for the usual fields, a file for all of them."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

from tompion.cli.connection import drop_unset
from tompion.errors import InvalidField, InvalidInput, display

WHEN, WHAT, WHOLE = "When", "What, and how", "All of it"


def _option(*names: str, panel: str, metavar: str, text: str) -> Any:
    return typer.Option(*names, metavar=metavar, help=text, rich_help_panel=panel, show_default=False)


Cron = Annotated[list[str] | None, _option("--cron", panel=WHEN, metavar="CRON", text="Cron string; repeatable.")]
Every = Annotated[
    list[str] | None, _option("--every", panel=WHEN, metavar="DURATION", text="Interval: 15m, 1h/5m; repeatable.")
]
Rrule = Annotated[list[str] | None, _option("--rrule", panel=WHEN, metavar="RULE", text="FREQ=…; repeatable.")]
At = Annotated[list[str] | None, _option("--at", panel=WHEN, metavar="TIME", text="One-shot; repeatable.")]
Zone = Annotated[str | None, _option("--timezone", "--tz", panel=WHEN, metavar="ZONE", text="IANA zone (UTC).")]
Exclude = Annotated[
    list[str] | None, _option("--exclude", panel=WHEN, metavar="DATE", text="A date to leave out; repeatable.")
]
Holidays = Annotated[
    list[str] | None, _option("--holidays", panel=WHEN, metavar="COUNTRY", text="Leave out DE, DE-BY; repeatable.")
]
Calendar = Annotated[
    list[str] | None,
    _option("--exclude-calendar", panel=WHEN, metavar="NAME", text="Leave out a named calendar; repeatable."),
]
Start = Annotated[str | None, _option("--start", panel=WHEN, metavar="TIME", text="First instant allowed.")]
End = Annotated[str | None, _option("--end", panel=WHEN, metavar="TIME", text="Last instant allowed.")]
Jitter = Annotated[int | None, _option("--jitter-ms", panel=WHEN, metavar="MS", text="Spread fire times.")]
Dialect = Annotated[str | None, _option("--dialect", panel=WHEN, metavar="NAME", text="tompion, quartz or temporal.")]

Function = Annotated[str | None, _option("--function", panel=WHAT, metavar="PATH", text="tasks:report")]
Workflow = Annotated[str | None, _option("--workflow", panel=WHAT, metavar="ID", text="A stored workflow.")]
WorkflowVersion = Annotated[
    int | None, _option("--workflow-version", panel=WHAT, metavar="N", text="That version of it (the newest).")
]
Queue = Annotated[str | None, _option("--queue", panel=WHAT, metavar="NAME", text="Who executes it (default).")]
User = Annotated[str | None, _option("--user", panel=WHAT, metavar="ID", text="On whose behalf.")]
Overlap = Annotated[
    str | None,
    _option(
        "--overlap",
        panel=WHAT,
        metavar="POLICY",
        text="skip, allow, queue, buffer_one, cancel_other or terminate_other.",
    ),
]
CatchUp = Annotated[
    str | None,
    _option("--catchup", panel=WHAT, metavar="POLICY", text="none, coalesce, fire_immediately or spread."),
]
Window = Annotated[
    str | None, _option("--catchup-window", panel=WHAT, metavar="DURATION", text="How old a missed tick may be.")
]
Concurrent = Annotated[int | None, _option("--max-concurrent", panel=WHAT, metavar="N", text="Runs at a time.")]
Attempts = Annotated[int | None, _option("--max-attempts", panel=WHAT, metavar="N", text="Tries of a run.")]
Execution = Annotated[
    int | None, _option("--max-execution-ms", panel=WHAT, metavar="MS", text="How long a run may take.")
]
OnFailure = Annotated[
    bool | None, typer.Option("--pause-on-failure/--no-pause-on-failure", rich_help_panel=WHAT, show_default=False)
]
Paused = Annotated[bool | None, typer.Option("--paused/--not-paused", rich_help_panel=WHAT, show_default=False)]
Label = Annotated[list[str] | None, _option("--label", panel=WHAT, metavar="NAME=VALUE", text="A label; repeatable.")]
Payload = Annotated[str | None, _option("--payload", panel=WHAT, metavar="JSON", text="What each run is given.")]
Description = Annotated[str | None, _option("--description", panel=WHAT, metavar="TEXT", text="For people.")]

File = Annotated[str | None, _option("--file", panel=WHOLE, metavar="FILE", text="JSON, or TOML; - is standard input.")]
Fields = Annotated[list[str] | None, _option("--set", panel=WHOLE, metavar="FIELD=JSON", text="Any field; repeatable.")]


def timing(  # noqa: PLR0913 - each is an option
    cron: Cron = None,
    every: Every = None,
    rrule: Rrule = None,
    at: At = None,
    timezone: Zone = None,
    exclude: Exclude = None,
    holidays: Holidays = None,
    exclude_calendar: Calendar = None,
    start: Start = None,
    end: End = None,
    jitter_ms: Jitter = None,
    dialect: Dialect = None,
) -> dict[str, Any]:
    """Read the fields of a spec."""
    left_out = drop_unset(dates=exclude, holidays=holidays, named=exclude_calendar)
    return drop_unset(
        cron=_one(cron),
        intervals=_one(every),
        rrules=_one(rrule and [text.replace("\\n", "\n") for text in rrule]),
        times=_one(at),
        timezone=timezone,
        exclude=left_out or None,
        start_at=start,
        end_at=end,
        jitter_ms=jitter_ms,
        dialect=dialect,
    )


def acting(  # noqa: PLR0913 - each is an option
    function: Function = None,
    workflow: Workflow = None,
    workflow_version: WorkflowVersion = None,
    queue: Queue = None,
    user: User = None,
    overlap: Overlap = None,
    catchup: CatchUp = None,
    catchup_window: Window = None,
    max_concurrent: Concurrent = None,
    max_attempts: Attempts = None,
    max_execution_ms: Execution = None,
    pause_on_failure: OnFailure = None,
    paused: Paused = None,
    label: Label = None,
    payload: Payload = None,
    description: Description = None,
) -> dict[str, Any]:
    """Read the fields of an action and of its policies."""
    fields = drop_unset(
        function=function,
        workflow_id=workflow,
        workflow_version=workflow_version,
        queue=queue,
        user_id=user,
        overlap_policy=overlap,
        catchup_policy=catchup,
        catchup_window=catchup_window,
        max_concurrent=max_concurrent,
        max_attempts=max_attempts,
        max_execution_ms=max_execution_ms,
        pause_on_failure=pause_on_failure,
        paused=paused,
        labels=dict(_pair("--label", text) for text in label) if label else None,
        description=description,
    )
    if payload is not None:
        fields["payload"] = read_json("--payload", payload)
    return fields


def whole(file: File = None, fields: Fields = None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read a file, and the fields that are set one by one."""
    document = {} if file is None else read_document(file)
    if not isinstance(document, dict):
        raise InvalidInput(f"--file: a {type(document).__name__} is not an object with fields")
    pairs = (_pair("--set", text) for text in fields or [])
    return document, {name: read_json(f"--set {name}", value) for name, value in pairs}


def definition(
    base: tuple[dict[str, Any], dict[str, Any]], timed: dict[str, Any], acted: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return the fields of a definition: a file's, replaced by options, replaced by what is set."""
    document, fields = base
    if timed and isinstance(document.get("spec"), dict):
        document = {**document["spec"], **{name: value for name, value in document.items() if name != "spec"}}
    return {**document, **timed, **(acted or {}), **fields}


def read_document(file: str) -> Any:
    """Return what a file says: JSON, or TOML if it is named so or is no JSON."""
    text = read_text(file)
    if file.endswith(".toml"):
        return _toml(file, text)
    try:
        return json.loads(text)
    except ValueError as error:
        if file == "-" and not text.lstrip().startswith(("{", "[")):
            return _toml(file, text)
        raise InvalidInput(f"--file {file}: not JSON: {error}") from None


def read_text(file: str) -> str:
    """Return a file's text; ``-`` is standard input."""
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise InvalidInput(f"cannot read {file}: {why}") from None


def read_json(option: str, text: str) -> Any:
    """Return the JSON of an option."""
    try:
        return json.loads(text)
    except ValueError as error:
        quoted = json.dumps(text, ensure_ascii=False)
        raise InvalidInput(f"{option}: not JSON: {error}; a text is written with its quotes: '{quoted}'") from None


def _toml(file: str, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"--file {file}: not TOML: {error}") from None


def _one(values: list[str] | None) -> str | list[str] | None:
    """Return a single value as it is, so that an error names it without a number."""
    return values[0] if values and len(values) == 1 else values


def _pair(option: str, text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise InvalidField(option, f"{display(text)}; expected NAME=VALUE")
    return name, value
