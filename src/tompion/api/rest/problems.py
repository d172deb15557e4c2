"""Errors as problem documents (RFC 9457): a stable code, the field, and what to do."""

from __future__ import annotations

import json
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Match

from tompion.api.rest.request_id import request_id
from tompion.contract.json import encode_error, problem_document, status_of
from tompion.errors import NotFound, StaleToken, TompionError

MEDIA_TYPE = "application/problem+json"
PRECONDITION_FAILED = 412
METHOD_NOT_ALLOWED = 405
SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"),
)
"""Headers of every response. The web UI replaces the content security policy with its own."""
STATUS_HEADERS = {401: {"WWW-Authenticate": "Bearer"}, 429: {"Retry-After": "1"}, 503: {"Retry-After": "1"}}
HTTP_ERROR_CODES = {404: "not_found", 405: "method_not_allowed", 413: "too_large", 415: "unsupported_media_type"}
INTERNAL_ERROR = "internal error; see the server log"


def response_status(error: TompionError, request: Request) -> int:
    """Return the status of an error. A failed ``If-Match`` condition is 412."""
    condition = request.headers.get("if-match")
    if isinstance(error, StaleToken) and condition is not None:
        return PRECONDITION_FAILED
    if isinstance(error, NotFound) and condition == "*" and request.method == "PUT":
        return PRECONDITION_FAILED  # without the condition, the PUT would have created the schedule
    return status_of(error)


class ProblemResponse(JSONResponse):
    """A problem document in ASCII, because it can repeat text that UTF-8 cannot encode, such as a lone surrogate."""

    def render(self, content: Any) -> bytes:
        """Return the body."""
        return json.dumps(content, separators=(",", ":")).encode()


def problem(status: int, code: str, detail: str, **members: Any) -> JSONResponse:
    """Return the response for a problem."""
    body = {**problem_document(status, code, detail), **members, "request_id": request_id.get()}
    return ProblemResponse(body, status, media_type=MEDIA_TYPE, headers=STATUS_HEADERS.get(status))


async def error_response(request: Request, error: Exception) -> JSONResponse:
    """Return the response for an error of Tompion."""
    assert isinstance(error, TompionError)
    return problem(**{**encode_error(error), "status": response_status(error, request)})


async def http_error_response(request: Request, error: Exception) -> JSONResponse:
    """Return the response for an unknown path or method."""
    assert isinstance(error, HTTPException)
    code = HTTP_ERROR_CODES.get(error.status_code, "refused")
    response = problem(error.status_code, code, str(error.detail), retryable=False)
    response.headers.update(error.headers or {})
    if error.status_code == METHOD_NOT_ALLOWED:
        response.headers["Allow"] = ", ".join(_allowed_methods(request))
    return response


def _allowed_methods(request: Request) -> list[str]:
    """Return the methods of all routes with the path of a request."""
    routes = [route for route in request.app.routes if route.matches(request.scope)[0] is not Match.NONE]
    return sorted({method for route in routes for method in route.methods or ()})


async def disconnect_response(_request: Request, _error: Exception) -> Response:
    """Return the response for a client that disconnected while it sent its request."""
    return Response(status_code=400)


async def internal_error_response(_request: Request, _error: Exception) -> JSONResponse:
    """Return the response for an unexpected error. It does not reveal the error."""
    response = problem(500, "internal_error", INTERNAL_ERROR, retryable=False)
    # This handler runs outside the middleware that adds the headers to the other responses.
    response.headers.update({name.decode(): value.decode() for name, value in SECURITY_HEADERS})
    response.headers["X-Request-Id"] = request_id.get()
    return response
