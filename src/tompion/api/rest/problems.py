"""Errors as problem+json: a stable code, the field, and the way out; one table says with which status."""

from __future__ import annotations

import json
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Match

from tompion.contract.json import encode_error, problem_document
from tompion.contract.json import status_of as plain_status
from tompion.errors import NotFound, StaleToken, TompionError

MEDIA_TYPE = "application/problem+json"
PRECONDITION_FAILED = 412
NOT_ALLOWED = 405
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"),
)
"""What keeps browsers careful, with every answer; the page has a policy of its own."""
TOLD = {401: {"WWW-Authenticate": "Bearer"}, 429: {"Retry-After": "1"}, 503: {"Retry-After": "1"}}
"""What some problems say in a header as well."""
REFUSED = {404: "not_found", 405: "method_not_allowed", 413: "too_large", 415: "unsupported_media_type"}


def status_of(error: TompionError, request: Request | None = None) -> int:
    """Return the status of an error; a token that came as ``If-Match`` is a precondition."""
    condition = None if request is None else request.headers.get("if-match")
    if isinstance(error, StaleToken) and condition is not None:
        return PRECONDITION_FAILED
    if isinstance(error, NotFound) and condition == "*" and request is not None and request.method == "PUT":
        return PRECONDITION_FAILED  # without the condition it would have been made
    return plain_status(error)


class ProblemResponse(JSONResponse):
    """A problem; it may repeat what no encoding can hold, such as half of a surrogate pair, so that is escaped."""

    def render(self, content: Any) -> bytes:
        """Return it in ASCII."""
        return json.dumps(content, separators=(",", ":")).encode()


def problem(status: int, code: str, detail: str, **more: Any) -> JSONResponse:
    """Return an answer that says what is wrong."""
    body = {**problem_document(status, code, detail), **more}
    return ProblemResponse(body, status, media_type=MEDIA_TYPE, headers=TOLD.get(status))


async def answer_error(request: Request, error: Exception) -> JSONResponse:
    """Answer what Tompion itself raises."""
    assert isinstance(error, TompionError)
    return problem(**{**encode_error(error), "status": status_of(error, request)})


async def answer_refusal(request: Request, error: Exception) -> JSONResponse:
    """Answer an unknown address or method in the same form."""
    assert isinstance(error, HTTPException)
    answer = problem(error.status_code, REFUSED.get(error.status_code, "refused"), str(error.detail), retryable=False)
    answer.headers.update(error.headers or {})
    if error.status_code == NOT_ALLOWED:
        answer.headers["Allow"] = ", ".join(_allowed(request))
    return answer


def _allowed(request: Request) -> list[str]:
    """Return the methods of an address, which may be those of several routes."""
    routes = [route for route in request.app.routes if route.matches(request.scope)[0] is not Match.NONE]
    return sorted({method for route in routes for method in route.methods or ()})


async def answer_nobody(_request: Request, _error: Exception) -> Response:
    """Answer whoever has gone in the middle of a request."""
    return Response(status_code=400)


async def answer_mistake(_request: Request, _error: Exception) -> JSONResponse:
    """Answer a mistake of our own, of which nobody outside learns more than that it is one."""
    detail = "the service has made a mistake; its log says more"
    answer = problem(500, "internal_error", detail, retryable=False)
    answer.headers.update({name.decode(): value.decode() for name, value in HEADERS})  # nobody else adds them here
    return answer
