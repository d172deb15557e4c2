"""Errors as problem+json: a stable code, the field, and the way out; one table says with which status."""

from __future__ import annotations

from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse

from foliot import wire
from foliot.errors import FoliotError, StaleToken

MEDIA_TYPE = "application/problem+json"
PRECONDITION_FAILED = 412
REFUSED = {404: "not_found", 405: "method_not_allowed", 413: "too_large", 415: "unsupported_media_type"}


def status_of(error: FoliotError, request: Request | None = None) -> int:
    """Return the status of an error; a token that came as ``If-Match`` is a precondition."""
    if isinstance(error, StaleToken) and request is not None and "if-match" in request.headers:
        return PRECONDITION_FAILED
    return wire.status_of(error)


def problem(status: int, code: str, detail: str, **more: Any) -> JSONResponse:
    """Return an answer that says what is wrong."""
    body = {**wire.problem_document(status, code, detail), **more}
    headers = {"Retry-After": "1"} if status == 503 else {"WWW-Authenticate": "Bearer"} if status == 401 else None
    return JSONResponse(body, status, media_type=MEDIA_TYPE, headers=headers)


async def answer_error(request: Request, error: Exception) -> JSONResponse:
    """Answer what Foliot itself raises."""
    assert isinstance(error, FoliotError)
    return problem(**{**wire.encode_error(error), "status": status_of(error, request)})


async def answer_refusal(_request: Request, error: Exception) -> JSONResponse:
    """Answer an unknown address or method in the same form."""
    assert isinstance(error, HTTPException)
    answer = problem(error.status_code, REFUSED.get(error.status_code, "refused"), str(error.detail), retryable=False)
    answer.headers.update(error.headers or {})
    return answer


async def answer_mistake(_request: Request, _error: Exception) -> JSONResponse:
    """Answer a mistake of our own, of which nobody outside learns more than that it is one."""
    detail = "the service has made a mistake; its log says more"
    return problem(500, "internal_error", detail, retryable=False)
