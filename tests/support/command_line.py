"""The API through the command line: each operation becomes an argv, and the output becomes its answer or error."""

from __future__ import annotations

import inspect
import io
import json
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from unittest.mock import patch

from tests.conformance.api.scenarios import REGISTRAR_STEPS, step
from tompion.cli.main import exit_code, main
from tompion.client.errors import error_of
from tompion.contract.json import decode
from tompion.contract.routes import ROUTES
from tompion.contract.stubs import OperationStub
from tompion.contract.sync_methods import SyncMethods

SCHEDULE = ("schedule_id",)
DEFINING = ("create", "upsert", "update", "patch", "preview", "diff")
COMMANDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "create": ("schedules create", SCHEDULE),
    "upsert": ("schedules put", SCHEDULE),
    "update": ("schedules update", SCHEDULE),
    "patch": ("schedules patch", SCHEDULE),
    "get": ("schedules get", SCHEDULE),
    "list_schedules": ("schedules list", ()),
    "count_schedules": ("schedules count", ()),
    "same_spec": ("schedules same-spec", SCHEDULE),
    "delete": ("schedules delete", SCHEDULE),
    "versions": ("schedules versions", SCHEDULE),
    "restore": ("schedules restore", (*SCHEDULE, "version")),
    "pause": ("schedules pause", SCHEDULE),
    "resume": ("schedules resume", SCHEDULE),
    "trigger": ("schedules trigger", SCHEDULE),
    "skip": ("schedules skip", SCHEDULE),
    "unskip": ("schedules unskip", SCHEDULE),
    "backfill": ("schedules backfill --no-wait", (*SCHEDULE, "start", "end")),
    "backfills": ("schedules backfills", SCHEDULE),
    "get_backfill": ("schedules get-backfill", ("backfill_id",)),
    "cancel_backfill": ("schedules cancel-backfill", ("backfill_id",)),
    "pause_matching": ("schedules pause --yes", ("schedule_ids",)),
    "resume_matching": ("schedules resume --yes", ("schedule_ids",)),
    "trigger_matching": ("schedules trigger --yes", ("schedule_ids",)),
    "hint": ("schedules hint", SCHEDULE),
    "hints": ("schedules hints", SCHEDULE),
    "clear_hints": ("schedules clear-hints", SCHEDULE),
    "reset_failures": ("schedules reset-failures", SCHEDULE),
    "runs": ("runs list", SCHEDULE),
    "recent_runs": ("runs list", ()),
    "upcoming": ("upcoming", ()),
    "stats": ("stats", ()),
    "diff": ("schedules diff", SCHEDULE),
    "forecast": ("forecast", ()),
    "problems": ("problems", ()),
    "verify_audit": ("audit --verify", ()),
    "list_notifications": ("notifications list", ()),
    "get_run": ("runs get", ("run_id",)),
    "cancel_run": ("runs cancel", ("run_id",)),
    "terminate_run": ("runs terminate", ("run_id",)),
    "retry_run": ("runs retry", ("run_id",)),
    "dropped_ranges": ("schedules dropped", SCHEDULE),
    "describe": ("schedules describe", SCHEDULE),
    "verify": ("schedules verify", SCHEDULE),
    "preview": ("schedules preview", ()),
    "put_workflow": ("workflows put", ("workflow_id",)),
    "get_workflow": ("workflows get", ("workflow_id",)),
    "list_workflows": ("workflows list", ()),
    "start_run": ("workflows start", ("workflow_id",)),
    "report_run": ("runs report", ("token", "event")),
    "create_key": ("keys create", ("name",)),
    "list_keys": ("keys list", ()),
    "revoke_key": ("keys revoke", ("key_id",)),
    "list_instances": ("instances list", ()),
    "list_queues": ("queues list", ()),
    "put_calendar": ("calendars put", ("name",)),
    "get_calendar": ("calendars get", ("name",)),
    "list_calendars": ("calendars list", ()),
}
OPTIONS = {
    "intervals": "every",
    "rrules": "rrule",
    "times": "at",
    "start_at": "start",
    "end_at": "end",
    "overlap_policy": "overlap",
    "catchup_policy": "catchup",
    "workflow_id": "workflow",
    "user_id": "user",
    "labels": "label",
    "paused_by": "by",
    "schedule_id": "id",
    "ranges": "range",
    "expires_at": "expires",
    "dates": "date",
    "everything": "all",
    "seconds": "for",
    "conflict_token": "token",
}
"""Parameters and fields whose option has another name."""
FIELDS = (
    "cron", "intervals", "rrules", "times", "timezone", "jitter_ms", "start_at", "end_at", "dialect", "function",
    "workflow_id", "workflow_version", "queue", "user_id", "overlap_policy", "catchup_policy", "catchup_window",
    "max_concurrent", "max_attempts", "retry_delay_ms", "max_execution_ms", "labels", "description", "schedule_id",
    "after", "count", "conflict_token", "request_id",
)  # fmt: skip
"""Fields of a definition that have an option of their own. The others use ``--set``."""
JSON_OPTIONS = ("payload", "result", "progress", "document")

ONE_SCHEDULE = ("upcoming", "list_notifications")
"""Lists with an optional schedule. In the commands that take a definition, the same parameter is the schedule's id."""
WITHOUT_A_COMMAND = (
    *REGISTRAR_STEPS,
    step("schedules.pause_matching"),
    step("schedules.summaries", ["s1", "missing", "s0"]),
    step("schedules.summaries", [""]),
)
"""Steps that no command can express: a selection is missing, or only the web UI has the operation."""


class CommandResult(NamedTuple):
    """The exit code and the output of a command."""

    code: int
    out: str
    err: str


def run(argv: list[str]) -> CommandResult:
    """Run the command in this process."""
    out, err = io.StringIO(), io.StringIO()
    code = 0
    with patch.object(sys, "argv", ["tompion", *argv]), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as exit_request:
            code = int(exit_request.code or 0)
    return CommandResult(code, out.getvalue(), err.getvalue())


class CommandLine(SyncMethods):
    """The methods of a service or a store, called through commands."""

    def __init__(self, *where: str) -> None:
        self._where = where

    def _run_operation(self, operation: OperationStub[..., Any], args: Any, kwargs: Any, *, writes: bool) -> Any:
        argv = command_words(operation, arguments(operation, args, kwargs), self._where)
        result = run(argv)
        if result.code in (0, 1) and not result.err:
            data = json.loads(result.out)
            kind = next(route.response for route in ROUTES if operation in (route.stub, route.if_match))
            return data if kind is None else decode(kind, data)
        problem = json.loads(result.err)
        error = error_of(problem["status"], result.err.encode())
        assert (result.code, result.out) == (exit_code(error), ""), argv
        raise error

    def close(self) -> None:
        """Do nothing, because every command opens and closes its own connection."""


def arguments(operation: Callable[..., Any], args: Any, kwargs: Any) -> dict[str, Any]:
    """Return the arguments of a call by name."""
    signature = inspect.signature(operation)
    named: dict[str, Any] = {}
    for name, value in list(signature.bind(None, *args, **kwargs).arguments.items())[1:]:
        named |= value if signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD else {name: value}
    return named


def command_words(operation: Callable[..., Any], fields: dict[str, Any], where: tuple[str, ...]) -> list[str]:
    """Return the words of the command for an operation."""
    name = operation.__name__
    command: str
    named: tuple[str, ...]
    if name == "history":
        command, named = ("schedules history", SCHEDULE) if fields.get("schedule_id") else ("audit", ())
    elif name in ("pause_target", "resume_target"):
        kind = "workflow" if fields.get("workflow_id") else "queue"
        command, named = f"{kind}s {name.partition('_')[0]}", ("workflow_id" if kind == "workflow" else "queue",)
    else:
        command, named = COMMANDS[name]
    if name == "put_calendar":
        fields |= fields.pop("calendar")
    positional = [word for key in named if fields.get(key) is not None for word in positional_words(fields.pop(key))]
    options = [word for field, value in fields.items() for word in option_words(name, field, value)]
    return [*command.split(), *options, *where, "-o", "json", "--", *positional]


def option_words(name: str, field: str, value: Any) -> list[str]:
    """Return the words for one option."""
    option = "schedule" if name in ONE_SCHEDULE and field == "schedule_id" else OPTIONS.get(field, field)
    flag = f"--{option.replace('_', '-')}"
    if field in JSON_OPTIONS:
        return [f"{flag}={json.dumps(value)}"]
    if field == "exclude" and set(value) == {"named"}:
        return [f"--exclude-calendar={calendar}" for calendar in value["named"]]
    if name in DEFINING and (field not in FIELDS or value is None):
        return [f"--set={field}={json.dumps(value, default=text_of)}"]
    if value is True:
        return [flag]
    if field == "labels":
        return [f"{flag}={key}={label}" for key, label in value.items()]
    if isinstance(value, list | tuple):
        return [f"{flag}={text_of(item)}" for item in value]
    return [f"{flag}={text_of(value)}"]


def positional_words(value: Any) -> list[str]:
    """Return the words for a positional argument."""
    return [text_of(item) for item in value] if isinstance(value, list) else [text_of(value)]


def text_of(value: Any) -> str:
    """Return a value as users write it on a command line."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, timedelta):
        return f"{value.total_seconds()}s"
    if isinstance(value, Mapping):
        return json.dumps(value)
    return "/".join(map(text_of, value)) if isinstance(value, list | tuple) else str(value)
