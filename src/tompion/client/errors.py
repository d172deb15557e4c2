"""From a problem document to the error that it describes."""

from __future__ import annotations

import json
from typing import Any

from tompion import errors
from tompion.errors import InvalidField, InvalidSpec, StaleToken, StoreUnavailable, TompionError, TooManyRequests


def _errors_by_code(kind: type[TompionError]) -> dict[str, type[TompionError]]:
    kinds = {kind.code: kind}
    for subclass in kind.__subclasses__():
        kinds |= _errors_by_code(subclass)
    return kinds


ERRORS_BY_CODE = _errors_by_code(errors.TompionError)
PROXY_ERRORS = {429: TooManyRequests, 502: StoreUnavailable, 503: StoreUnavailable, 504: StoreUnavailable}
"""Errors for responses that are not problem documents. A proxy in front of the service has sent them."""
MAX_BODY_BYTES = 300


def error_of(status: int, body: bytes) -> TompionError:
    """Return the error that a response describes."""
    try:
        problem: Any = json.loads(body)
        kind, detail = ERRORS_BY_CODE.get(problem["code"], TompionError), str(problem["detail"])
    except (ValueError, KeyError, TypeError):
        text = body[:MAX_BODY_BYTES].decode(errors="replace").strip()
        return PROXY_ERRORS.get(status, TompionError)(f"the service responded with status {status}: {text}")
    if issubclass(kind, InvalidSpec):
        return kind(
            problem.get("problem", detail),
            field=problem.get("field"),
            position=problem.get("position"),
            expected=problem.get("expected"),
            hint=problem.get("hint"),
            text=problem.get("text"),
        )
    if kind is InvalidField and "problem" in problem:
        return InvalidField(str(problem.get("field")), problem["problem"])
    if kind is StaleToken and {"stale_token", "conflict_token"} <= set(problem):
        return StaleToken(problem["stale_token"], problem["conflict_token"])
    error = kind.__new__(kind)
    Exception.__init__(error, detail)
    return error
