"""From a problem that a service answers with to the error that it is."""

from __future__ import annotations

import json
from typing import Any

from tompion import errors
from tompion.errors import InvalidField, InvalidSpec, StaleToken, StoreUnavailable, TompionError, TooManyRequests


def _kinds(kind: type[TompionError]) -> dict[str, type[TompionError]]:
    found = {kind.code: kind}
    for below in kind.__subclasses__():
        found |= _kinds(below)
    return found


KINDS = _kinds(errors.TompionError)
BARE = {429: TooManyRequests, 502: StoreUnavailable, 503: StoreUnavailable, 504: StoreUnavailable}
"""What an answer means that is no problem of ours: somebody between us and the service gives it."""
MAX_BODY_BYTES = 300


def error_of(status: int, body: bytes) -> TompionError:
    """Return the error that an answer tells of."""
    try:
        said: Any = json.loads(body)
        kind, detail = KINDS[said["code"]], str(said["detail"])
    except (ValueError, KeyError, TypeError):
        text = body[:MAX_BODY_BYTES].decode(errors="replace").strip()
        return BARE.get(status, TompionError)(f"the service answers {status}: {text}")
    if issubclass(kind, InvalidSpec):
        return kind(
            said.get("problem", detail),
            field=said.get("field"),
            position=said.get("position"),
            expected=said.get("expected"),
            hint=said.get("hint"),
            text=said.get("text"),
        )
    if kind is InvalidField and "problem" in said:
        return InvalidField(str(said.get("field")), said["problem"])
    if kind is StaleToken and {"given", "token"} <= set(said):
        return StaleToken(said["given"], said["token"])
    error = kind.__new__(kind)
    Exception.__init__(error, detail)
    return error
