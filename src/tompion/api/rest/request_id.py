"""The id of a request: from the header ``X-Request-Id``, or generated. Responses, problems and logs have it."""

from __future__ import annotations

import re
from contextvars import ContextVar
from secrets import token_hex

HEADER = b"x-request-id"
ACCEPTED = re.compile(rb"[A-Za-z0-9._:+/=@-]{1,128}")
"""The ids that are accepted from a caller. They can be logged as they are."""

request_id: ContextVar[str] = ContextVar("tompion_request_id", default="")
"""The id of the current request, or an empty string outside of a request."""


def choose_request_id(headers: list[tuple[bytes, bytes]]) -> str:
    """Return the id that the caller has sent, or a new one."""
    for name, value in headers:
        if name == HEADER and ACCEPTED.fullmatch(value):
            return value.decode("ascii")
    return token_hex(8)
