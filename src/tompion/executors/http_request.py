"""The HTTP request of a run: method, body and headers, from the options of its workflow."""

from __future__ import annotations

import json
import string
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

from tompion.errors import LaunchRefused
from tompion.executors.base import RunContext
from tompion.executors.options import ExecutorEnv
from tompion.executors.queue_message import callback_info, run_message, run_metadata, trace_headers
from tompion.model.action_options import CONTENT_TYPE, HTTP_METHODS, header_problem

METHODS_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
"""The methods whose body is the run, unless the workflow has a body of its own."""
JSON_TYPE = "application/json"
_SAFE_CHARACTERS = "".join(sorted({*string.ascii_letters, *string.digits, *string.punctuation, " "} - {"%"}))


class HttpRequest(NamedTuple):
    """A request, without the URL and the signature."""

    method: str
    body: bytes
    headers: dict[str, str]


def build_request(dag: Any, run_context: RunContext, env: ExecutorEnv) -> HttpRequest:
    """Return the request of a run. Without a body of its own, a POST, PUT or PATCH carries the run as JSON."""
    method = run_context.options.get("method", "POST")
    if method not in HTTP_METHODS:
        raise LaunchRefused(f"the workflow's option method is not one of {', '.join(HTTP_METHODS)}")
    headers = {**read_headers(run_context.options), **trace_headers(run_context), **_metadata_headers(run_context)}
    if "body" not in run_context.options and method in METHODS_WITH_BODY:
        return HttpRequest(method, run_message(dag, run_context, env), {**headers, "Content-Type": JSON_TYPE})
    callback = callback_info(run_context, env)
    headers |= {_header_name(f"callback_{name}"): value for name, value in callback.items()}
    if "body" not in run_context.options:
        return HttpRequest(method, b"", headers)
    content_type, body = _own_body(run_context.options["body"])
    if not any(name.lower() == CONTENT_TYPE for name in headers):
        headers["Content-Type"] = content_type
    return HttpRequest(method, body, headers)


def read_headers(options: Mapping[str, Any]) -> dict[str, str]:
    """Return the headers that a workflow sets. Raises :class:`~tompion.errors.LaunchRefused` for invalid ones."""
    headers = options.get("headers", {})
    if not isinstance(headers, Mapping) or not all(isinstance(text, str) for pair in headers.items() for text in pair):
        raise LaunchRefused("the workflow's option headers is not an object of texts")
    for name, value in headers.items():
        problem = header_problem(name, value, has_body="body" in options)
        if problem is not None:
            raise LaunchRefused(f"the workflow's option headers: {problem}")
    return dict(headers)


def _own_body(body: Any) -> tuple[str, bytes]:
    if isinstance(body, str):
        return "text/plain; charset=utf-8", body.encode()
    return JSON_TYPE, json.dumps(body, ensure_ascii=False).encode()


def _metadata_headers(run_context: RunContext) -> dict[str, str]:
    """Return the headers that describe a run. Characters that a header cannot hold are percent-encoded."""
    values = run_metadata(run_context)
    key = values.pop("idempotency_key")
    return {
        "Idempotency-Key": key,
        **{_header_name(name): quote(value, safe=_SAFE_CHARACTERS) for name, value in values.items()},
    }


def _header_name(name: str) -> str:
    return "-".join(("Tompion", *(word.capitalize() for word in name.split("_"))))
