"""Plain requests: a handwritten table maps every operation to a request, and responses stay JSON.

The clients and the service share the table of routes, so an error in it would be on both sides and not be detected.
Nothing here reads that table.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from dataclasses import asdict, is_dataclass
from datetime import date, datetime, timedelta
from typing import Any
from urllib.parse import quote, urlencode

from tests.support.service import Http, Response
from tompion.contract.json import encode, encode_error
from tompion.contract.stubs import OperationStub
from tompion.contract.sync_methods import SyncMethods
from tompion.errors import TompionError

V1, ONE = "/api/v1", "/api/v1/schedules/{schedule_id}"
REQUESTS = {
    "list_schedules": f"GET {V1}/schedules",
    "count_schedules": f"GET {V1}/schedules:count",
    "create": f"POST {V1}/schedules",
    "get": f"GET {ONE}",
    "upsert": f"PUT {ONE}",
    "update": f"PUT {ONE}",
    "patch": f"PATCH {ONE}",
    "delete": f"DELETE {ONE}",
    "describe": f"GET {ONE}/describe",
    "pause": f"POST {ONE}/pause",
    "resume": f"POST {ONE}/resume",
    "trigger": f"POST {ONE}/trigger",
    "skip": f"POST {ONE}/skip",
    "unskip": f"POST {ONE}/unskip",
    "backfills": f"GET {ONE}/backfills",
    "backfill": f"POST {ONE}/backfills",
    "get_backfill": f"GET {V1}/backfills/{{backfill_id}}",
    "cancel_backfill": f"POST {V1}/backfills/{{backfill_id}}/cancel",
    "hints": f"GET {ONE}/hints",
    "hint": f"POST {ONE}/hints",
    "clear_hints": f"DELETE {ONE}/hints",
    "reset_failures": f"POST {ONE}/reset-failures",
    "versions": f"GET {ONE}/versions",
    "restore": f"POST {ONE}/versions/{{version}}/restore",
    "runs": f"GET {ONE}/runs",
    "dropped_ranges": f"GET {ONE}/dropped",
    "same_spec": f"GET {ONE}/same-spec",
    "verify": f"GET {ONE}/verify",
    "diff": f"POST {ONE}/diff",
    "recent_runs": f"GET {V1}/runs",
    "get_run": f"GET {V1}/runs/{{run_id}}",
    "cancel_run": f"POST {V1}/runs/{{run_id}}/cancel",
    "terminate_run": f"POST {V1}/runs/{{run_id}}/terminate",
    "retry_run": f"POST {V1}/runs/{{run_id}}/retry",
    "report_run": f"POST {V1}/callbacks",
    "preview": f"POST {V1}/preview",
    "summaries": f"POST {V1}/schedules:summaries",
    "forecast": f"GET {V1}/forecast",
    "problems": f"GET {V1}/problems",
    "upcoming": f"GET {V1}/upcoming",
    "stats": f"GET {V1}/stats",
    "pause_matching": f"POST {V1}/bulk/pause",
    "resume_matching": f"POST {V1}/bulk/resume",
    "trigger_matching": f"POST {V1}/bulk/trigger",
    "verify_audit": f"GET {V1}/audit/verify",
    "list_workflows": f"GET {V1}/workflows",
    "get_workflow": f"GET {V1}/workflows/{{workflow_id}}",
    "put_workflow": f"PUT {V1}/workflows/{{workflow_id}}",
    "start_run": f"POST {V1}/workflows/{{workflow_id}}/runs",
    "pause_target": f"POST {V1}/targets/pause",
    "resume_target": f"POST {V1}/targets/resume",
    "list_queues": f"GET {V1}/queues",
    "list_instances": f"GET {V1}/instances",
    "list_notifications": f"GET {V1}/notifications",
    "list_calendars": f"GET {V1}/calendars",
    "get_calendar": f"GET {V1}/calendars/{{name}}",
    "put_calendar": f"PUT {V1}/calendars/{{name}}",
    "create_key": f"POST {V1}/keys",
    "list_keys": f"GET {V1}/keys",
    "revoke_key": f"DELETE {V1}/keys/{{key_id}}",
    "upsert_schedule": "POST /schedules/upsert",
    "pause_schedule": "POST /schedules/pause",
    "get_schedule": "GET /schedules/{schedule_id}",
    "delete_schedule": "DELETE /schedules/{schedule_id}",
    "launch_run": "POST /run-launcher/start",
    "list_cron": "GET /api/cron",
    "pause_cron": "POST /api/cron/{name}/pause",
    "resume_cron": "POST /api/cron/{name}/resume",
    "trigger_cron": "POST /api/cron/{name}/trigger",
}
WHOLE = {"put_workflow": "document", "put_calendar": "calendar"}
"""Operations whose body is one argument as a whole."""


class PlainRequests(SyncMethods):
    """Requests as a reader of docs/reference/rest.md would write them. Errors are returned as JSON too."""

    def __init__(self, http: Http) -> None:
        self._http = http

    def _run_operation(self, operation: OperationStub[..., Any], args: Any, kwargs: Any, *, writes: bool = True) -> Any:
        return json_of(self.send(operation, *args, **kwargs))

    def send(self, operation: Callable[..., Any], *args: Any, **kwargs: Any) -> Response:
        """Send the request for an operation."""
        name = operation.__name__
        named = arguments(operation, args, kwargs)
        method, path = request_line(name, named)
        headers = {}
        if (request_id := named.pop("request_id", None)) is not None:
            headers["Idempotency_Key"] = request_id
        if (token := named.pop("conflict_token", None)) is not None:
            headers["If_Match"] = f'"{token}"'
        if name == "update":
            headers.setdefault("If_Match", "*")
        if method in ("GET", "DELETE"):
            query = urlencode({key: written(value) for key, value in named.items() if value is not None})
            return self._http(method, f"{path}?{query}" if query else path, **headers)
        if method == "PATCH":
            headers["Content_Type"] = "application/merge-patch+json"
        body = json.dumps(named[WHOLE[name]] if name in WHOLE else named, default=written).encode()
        return self._http(method, path, body, **headers)


def arguments(operation: Callable[..., Any], args: Any, kwargs: Any) -> dict[str, Any]:
    """Return the arguments of a call by name."""
    bound = inspect.signature(operation).bind(None, *args, **kwargs)
    named = dict(list(bound.arguments.items())[1:])
    for name, parameter in inspect.signature(operation).parameters.items():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            named |= named.pop(name, {})
    return named


def request_line(name: str, named: dict[str, Any]) -> tuple[str, str]:
    """Return the method and the path, with its parameters filled in."""
    if name == "history":
        line = f"GET {ONE}/history" if named.get("schedule_id") else f"GET {V1}/audit"
    else:
        line = REQUESTS[name]
    method, _, path = line.partition(" ")
    for key in ("schedule_id", "backfill_id", "version", "run_id", "workflow_id", "name", "key_id"):
        if f"{{{key}}}" in path:
            value = named["calendar"]["name"] if name == "put_calendar" else named.pop(key)
            path = path.replace(f"{{{key}}}", quote(str(value), safe=""))
    return method, path


def written(value: Any) -> Any:
    """Return a value as in JSON or in a query."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, timedelta):
        return f"{value.total_seconds()}s"
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


def json_of(answer: Response) -> Any:
    """Return the JSON of a response. A problem is without its status, which only HTTP has."""
    if answer.status == 204:
        return None
    body = answer.json
    if answer.status >= 400:
        assert answer.headers["content-type"] == "application/problem+json"
        assert body.pop("status") == answer.status
        assert body.pop("request_id") == answer.headers["x-request-id"]
    return body


def as_json(method: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the result of an operation without an interface, as JSON."""
    try:
        return json.loads(json.dumps(encode(method(*args, **kwargs))))
    except TompionError as error:
        problem = json.loads(json.dumps(encode_error(error)))
        del problem["status"]
        return problem
