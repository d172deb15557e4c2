"""Names with a slash in them: ``/schedules/a%2Fb`` is one name, not two parts of a path.

Servers decode a path before anybody can tell the two slashes apart.  Here the encoded ones are kept apart by a
character that no name may have, until the path has been taken to pieces.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from tompion.api.rest.problems import problem

STANDS_FOR_SLASH = "\x00"


class EncodedSlashesMiddleware:
    """Middleware that keeps encoded slashes apart."""

    def __init__(self, app: Any) -> None:
        """Take the application."""
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Rewrite the path of a request that needs it."""
        raw = scope.get("raw_path") or b""
        if scope["type"] == "http" and b"%" in raw:
            text = raw.partition(b"?")[0].decode("latin-1")
            if "%00" in text:
                answer = problem(400, "invalid_input", "a path has no NUL characters", retryable=False)
                await answer(scope, receive, send)
                return
            kept = text.replace("%2f", "%2F").replace("%2F", STANDS_FOR_SLASH)
            scope = {**scope, "path": unquote(kept)}
        await self._app(scope, receive, send)


def unslashed(text: str) -> str:
    """Return a part of a path as it was meant."""
    return text.replace(STANDS_FOR_SLASH, "/")
