"""Results as JSON responses: status, ``Location``, ``Link``, ``ETag`` and compression."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import Response

from tompion.api.rest.request_binding import signature_of
from tompion.contract.api_routes import PREFIX, Route
from tompion.contract.json import encode
from tompion.model.api_key import NewKey
from tompion.model.hint import Outlook
from tompion.model.insight import DeclareResult, ScheduleAck
from tompion.model.page import Page
from tompion.model.schedule import Backfill, Run, Schedule, Workflow
from tompion.model.spec import NamedCalendar
from tompion.model.worker import Worker

CREATED, NO_CONTENT, NOT_MODIFIED = 201, 204, 304
MIN_COMPRESSED_BYTES = 4_096
"""Smaller bodies are sent as they are. Compression would cost more than it saves."""
MAX_INLINE_BYTES = 64 * 1024
"""Larger bodies are compressed in a thread, because the event loop must not wait."""
COMPRESSION_LEVEL = 3
JSON = "application/json"


class Created(NamedTuple):
    """The result of an operation that has created what it returns, or has started a run that it does not return."""

    result: Any
    run_id: str | None = None


async def json_response(request: Request, route: Route, result: Any) -> Response:
    """Return the result of an operation as a response."""
    status, run_id = route.status, None
    if type(result) is Created:
        status, run_id, result = CREATED, result.run_id, result.result
    if result is None:
        return Response(status_code=NO_CONTENT)
    headers: dict[str, str] = {}
    if status == CREATED and (location := _location(request, result, run_id)) is not None:
        headers["Location"] = location
    if isinstance(result, Page) and result.next_page is not None:
        headers["Link"] = f'<{_next_page(request, route, str(result.next_page))}>; rel="next"'
    body = json_body(encode(result))
    if isinstance(result, Schedule):
        headers["ETag"] = f'"{result.conflict_token}-{_digest(body)}"'
    elif route.method == "GET":
        headers["ETag"] = etag_of(body)
    return await body_response(request, body, status, headers)


def json_body(data: Any) -> bytes:
    """Return JSON-ready data as the body of a response."""
    return json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


async def body_response(request: Request, body: bytes, status: int, headers: dict[str, str]) -> Response:
    """Return a JSON response, compressed if it is large, or 304 if the caller has the same body already."""
    etag = headers.get("ETag")
    if etag is not None and request.method in ("GET", "HEAD") and _has_current(request, etag):
        return Response(status_code=NOT_MODIFIED, headers={"ETag": etag})
    if len(body) >= MIN_COMPRESSED_BYTES:
        headers["Vary"] = "Accept-Encoding"
        if "gzip" in request.headers.get("accept-encoding", ""):
            headers["Content-Encoding"] = "gzip"
            if etag is not None:
                headers["ETag"] = f"W/{etag}"  # the same content in other bytes
            body = await _compress(body)
    return Response(body, status, headers, JSON)


def etag_of(body: bytes) -> str:
    """Return the ETag of a body."""
    return f'"{_digest(body)}"'


def _digest(body: bytes) -> str:
    return blake2b(body, digest_size=8).hexdigest()


def _has_current(request: Request, etag: str) -> bool:
    """Return whether ``If-None-Match`` names the current ETag. The comparison is weak, as RFC 9110 requires."""
    condition = request.headers.get("if-none-match")
    if condition is None:
        return False
    tags = [tag.strip().removeprefix("W/") for tag in condition.split(",")]
    return etag in tags or "*" in tags


async def _compress(body: bytes) -> bytes:
    if len(body) <= MAX_INLINE_BYTES:
        return gzip.compress(body, COMPRESSION_LEVEL, mtime=0)
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(None, lambda: gzip.compress(body, COMPRESSION_LEVEL, mtime=0))


# --- addresses --------------------------------------------------------------------------------------------------------


PATHS: Mapping[type, Callable[[Any], str]] = {
    Schedule: lambda schedule: f"{PREFIX}/schedules/{_quote(schedule.schedule_id)}",
    DeclareResult: lambda declared: f"{PREFIX}/schedules/{_quote(declared.schedule.schedule_id)}",
    ScheduleAck: lambda acknowledged: f"/schedules/{_quote(acknowledged.schedule_id)}",
    Outlook: lambda outlook: f"{PREFIX}/schedules/{_quote(outlook.schedule_id)}/hints",
    Run: lambda run: _run_path(run.run_id),
    Backfill: lambda backfill: f"{PREFIX}/backfills/{backfill.backfill_id}",
    Workflow: lambda workflow: f"{PREFIX}/workflows/{_quote(workflow.workflow_id)}",
    NamedCalendar: lambda calendar: f"{PREFIX}/calendars/{_quote(calendar.name)}",
    NewKey: lambda new: f"{PREFIX}/keys/{_quote(new.key.key_id)}",
    Worker: lambda worker: f"{PREFIX}/workers/{worker.worker_id}",
}
"""The path of each object that a request can create."""


def _location(request: Request, result: Any, run_id: str | None) -> str | None:
    """Return the path of a created object. Several objects have the path of their collection."""
    if run_id is not None:
        return _run_path(run_id) + _namespace_query(request)
    if isinstance(result, tuple):
        if len(result) != 1:
            return _path_of(request)
        result = result[0]
    path_of = PATHS.get(type(result))
    if path_of is None:
        return None
    return path_of(result) + _namespace_query(request)


def _run_path(run_id: str) -> str:
    return f"{PREFIX}/runs/{_quote(run_id)}"


def _namespace_query(request: Request) -> str:
    namespace = request.query_params.get("namespace")
    return f"?{urlencode({'namespace': namespace})}" if namespace else ""


def _next_page(request: Request, route: Route, cursor: str) -> str:
    name = "before" if "before" in signature_of(route.operation).parameters else "after"
    query = {**request.query_params, name: cursor}
    return f"{_path_of(request)}?{urlencode(query)}"


def _path_of(request: Request) -> str:
    raw = request.scope.get("raw_path")
    return quote(request.scope["path"]) if raw is None else raw.partition(b"?")[0].decode("latin-1")


def _quote(name: str) -> str:
    return quote(name, safe="")
