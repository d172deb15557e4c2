"""Options that describe a schedule: the usual fields as options, every field in a file or with ``--set``."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from tompion.cli import target_options
from tompion.cli.connection import drop_unset
from tompion.cli.options import milliseconds
from tompion.errors import InvalidField, InvalidInput, display

WHEN, WHAT, WHOLE = "When", "How", "Whole definition"


def _option(*names: str, panel: str, metavar: str, text: str) -> Any:
    return typer.Option(*names, metavar=metavar, help=text, rich_help_panel=panel, show_default=False)


Cron = Annotated[list[str] | None, _option("--cron", panel=WHEN, metavar="CRON", text="Cron string. Repeatable.")]
Every = Annotated[
    list[str] | None, _option("--every", panel=WHEN, metavar="DURATION", text="Interval: 15m, 1h/5m. Repeatable.")
]
Rrule = Annotated[list[str] | None, _option("--rrule", panel=WHEN, metavar="RULE", text="RRULE, FREQ=…. Repeatable.")]
At = Annotated[
    list[str] | None, _option("--at", panel=WHEN, metavar="TIME", text="Single run at this time. Repeatable.")
]
Zone = Annotated[str | None, _option("--timezone", "--tz", panel=WHEN, metavar="ZONE", text="IANA zone (UTC).")]
Exclude = Annotated[
    list[str] | None, _option("--exclude", panel=WHEN, metavar="DATE", text="Excluded date. Repeatable.")
]
Holidays = Annotated[
    list[str] | None,
    _option("--holidays", panel=WHEN, metavar="COUNTRY", text="Excluded holidays: DE, DE-BY. Repeatable."),
]
Calendar = Annotated[
    list[str] | None,
    _option("--exclude-calendar", panel=WHEN, metavar="NAME", text="Excluded named calendar. Repeatable."),
]
Start = Annotated[str | None, _option("--start", panel=WHEN, metavar="TIME", text="Earliest tick.")]
End = Annotated[str | None, _option("--end", panel=WHEN, metavar="TIME", text="Latest tick.")]
Jitter = Annotated[
    str | None, _option("--jitter-ms", panel=WHEN, metavar="MS", text="Maximum random delay: 30000 or 30s.")
]
Dialect = Annotated[str | None, _option("--dialect", panel=WHEN, metavar="NAME", text="tompion, quartz or temporal.")]

Function = Annotated[
    str | None,
    _option("--function", panel=target_options.PANEL, metavar="PATH", text="Function, such as tasks:report."),
]
Workflow = Annotated[
    str | None, _option("--workflow", panel=target_options.PANEL, metavar="ID", text="Stored workflow.")
]
WorkflowVersion = Annotated[
    int | None,
    _option("--workflow-version", panel=target_options.PANEL, metavar="N", text="Version of the workflow (newest)."),
]
Queue = Annotated[str | None, _option("--queue", panel=WHAT, metavar="NAME", text="Queue of the runs (default).")]
User = Annotated[str | None, _option("--user", panel=WHAT, metavar="ID", text="User that the runs belong to.")]
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
    str | None, _option("--catchup-window", panel=WHAT, metavar="DURATION", text="Maximum age of a missed tick.")
]
Concurrent = Annotated[
    int | None, _option("--max-concurrent", panel=WHAT, metavar="N", text="Maximum concurrent runs.")
]
Attempts = Annotated[int | None, _option("--max-attempts", panel=WHAT, metavar="N", text="Maximum attempts of a run.")]
RetryDelay = Annotated[
    str | None,
    _option("--retry-delay-ms", panel=WHAT, metavar="MS", text="Delay before the next attempt: 1000 or 30s."),
]
Execution = Annotated[
    str | None, _option("--max-execution-ms", panel=WHAT, metavar="MS", text="Timeout of a run: 60000 or 1m.")
]
OnFailure = Annotated[
    bool | None,
    typer.Option(
        "--pause-on-failure/--no-pause-on-failure",
        help="Pause after a failed run.",
        rich_help_panel=WHAT,
        show_default=False,
    ),
]
Paused = Annotated[
    bool | None,
    typer.Option("--paused/--not-paused", help="Paused from the start.", rich_help_panel=WHAT, show_default=False),
]
Label = Annotated[list[str] | None, _option("--label", panel=WHAT, metavar="NAME=VALUE", text="Label. Repeatable.")]
Payload = Annotated[str | None, _option("--payload", panel=WHAT, metavar="JSON", text="Payload of each run.")]
Description = Annotated[
    str | None, _option("--description", panel=WHAT, metavar="TEXT", text="Description for people.")
]

File = Annotated[
    str | None, _option("--file", "-f", panel=WHOLE, metavar="FILE", text="JSON, YAML or TOML file, - for stdin.")
]
Fields = Annotated[
    list[str] | None, _option("--set", panel=WHOLE, metavar="FIELD=JSON", text="Set any field. Repeatable.")
]


def timing_options(  # noqa: PLR0913 - each is an option
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
    """Return the fields of a spec."""
    exclusions = drop_unset(dates=exclude, holidays=holidays, named=exclude_calendar)
    return drop_unset(
        cron=_single(cron),
        intervals=_single(every),
        rrules=_single(rrule and [text.replace("\\n", "\n") for text in rrule]),
        times=_single(at),
        timezone=timezone,
        exclude=exclusions or None,
        start_at=start,
        end_at=end,
        jitter_ms=milliseconds(jitter_ms),
        dialect=dialect,
    )


def action_options(  # noqa: PLR0913 - each is an option
    function: Function = None,
    command: target_options.Command = None,
    http: target_options.Http = None,
    method: target_options.Method = None,
    header: target_options.Header = None,
    body: target_options.Body = None,
    secret: target_options.Secret = None,
    expect: target_options.Expect = None,
    celery: target_options.CeleryTask = None,
    arg: target_options.Argument = None,
    kwarg: target_options.KeywordArgument = None,
    workflow: Workflow = None,
    workflow_version: WorkflowVersion = None,
    queue: Queue = None,
    user: User = None,
    overlap: Overlap = None,
    catchup: CatchUp = None,
    catchup_window: Window = None,
    max_concurrent: Concurrent = None,
    max_attempts: Attempts = None,
    retry_delay_ms: RetryDelay = None,
    max_execution_ms: Execution = None,
    pause_on_failure: OnFailure = None,
    paused: Paused = None,
    label: Label = None,
    payload: Payload = None,
    description: Description = None,
) -> dict[str, Any]:
    """Return the fields of an action and of its policies."""
    fields = drop_unset(
        function=function,
        command=command,
        workflow_id=workflow,
        workflow_version=workflow_version,
        queue=queue,
        user_id=user,
        overlap_policy=overlap,
        catchup_policy=catchup,
        catchup_window=catchup_window,
        max_concurrent=max_concurrent,
        max_attempts=max_attempts,
        retry_delay_ms=milliseconds(retry_delay_ms),
        max_execution_ms=milliseconds(max_execution_ms),
        pause_on_failure=pause_on_failure,
        paused=paused,
        labels=dict(_parse_pair("--label", text) for text in label) if label else None,
        description=description,
    )
    fields |= target_options.http_fields(http, method, header, body, secret, expect)
    fields |= target_options.celery_fields(celery, arg, kwarg)
    if payload is not None:
        fields["payload"] = read_json("--payload", payload)
    return fields


def document_options(file: File = None, fields: Fields = None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the document in a file, and the fields of ``--set``."""
    document = {} if file is None else read_document(file)
    if not isinstance(document, dict):
        raise InvalidInput(f"--file: expected an object with fields, got a {type(document).__name__}")
    pairs = (_parse_pair("--set", text) for text in fields or [])
    return document, {name: read_json(f"--set {name}", value) for name, value in pairs}


def definition_fields(
    document_and_fields: tuple[dict[str, Any], dict[str, Any]],
    timing: dict[str, Any],
    action: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the fields of a definition. Options win over the file, ``--set`` wins over both."""
    document, fields = document_and_fields
    if timing and isinstance(document.get("spec"), dict):
        document = {**document["spec"], **{name: value for name, value in document.items() if name != "spec"}}
    return {**document, **timing, **(action or {}), **fields}


def read_document(file: str) -> Any:
    """Return the content of a JSON, YAML or TOML file. Standard input can be any of them."""
    text = read_text(file)
    if file.endswith((".yaml", ".yml")):
        return _parse_yaml(file, text)
    if file.endswith(".toml"):
        return _parse_toml(file, text)
    try:
        return json.loads(text)
    except ValueError as error:
        if file == "-" and not text.lstrip().startswith(("{", "[")):
            return _parse_toml_or_yaml(text)
        raise InvalidInput(f"--file {file}: not JSON: {error}") from None


def read_text(file: str) -> str:
    """Return the text of a file. ``-`` is standard input."""
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InvalidInput(f"cannot read {file}: {reason}") from None


def read_json(option: str, text: str) -> Any:
    """Return the JSON value of an option."""
    try:
        return json.loads(text)
    except ValueError as error:
        quoted = json.dumps(text, ensure_ascii=False)
        raise InvalidInput(f"{option}: not JSON: {error}; quote a text: '{quoted}'") from None


def _parse_toml(file: str, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"--file {file}: not TOML: {error}") from None


def _parse_yaml(file: str, text: str) -> Any:
    """Return the content of a YAML document. Dates and times stay text, as in JSON."""
    import yaml  # type: ignore[import-untyped]  # it has no annotations

    class Loader(yaml.SafeLoader):  # type: ignore[misc]  # its base has no annotations
        yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {
            letter: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
            for letter, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
        }

    try:
        return Loader(text).get_single_data()
    except yaml.YAMLError as error:
        problem = " ".join(str(error).split())
        raise InvalidInput(f"--file {file}: not YAML: {problem}") from None


def _parse_toml_or_yaml(text: str) -> Any:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        content = _parse_yaml("-", text)
        if not isinstance(content, dict):
            raise InvalidInput(f"--file -: not JSON, YAML or TOML: {error}") from None
        return content


def _single(values: list[str] | None) -> str | list[str] | None:
    """Return a single value without its list, so that an error names it without an index."""
    return values[0] if values and len(values) == 1 else values


def _parse_pair(option: str, text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise InvalidField(option, f"{display(text)}; expected NAME=VALUE")
    return name, value
