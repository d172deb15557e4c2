"""Encoded slashes in names: ``/schedules/a%2Fb`` is the schedule ``a/b``.

Servers decode a path before it is routed. This middleware replaces ``%2F`` by a character that no name can have, and
:func:`restore_slashes` puts the slash back after routing.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from tompion.api.rest.problems import problem

SLASH_PLACEHOLDER = "\x00"


class EncodedSlashesMiddleware:
    """Replaces encoded slashes in paths by a placeholder."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on, with a rewritten path if it has encoded characters."""
        raw = scope.get("raw_path") or b""
        if scope["type"] == "http" and b"%" in raw:
            text = raw.partition(b"?")[0].decode("latin-1")
            if "%00" in text:
                response = problem(400, "invalid_input", "NUL characters in the path", retryable=False)
                await response(scope, receive, send)
                return
            path = text.replace("%2f", "%2F").replace("%2F", SLASH_PLACEHOLDER)
            scope = {**scope, "path": unquote(path)}
        await self._app(scope, receive, send)


def restore_slashes(text: str) -> str:
    """Return a path parameter with its slashes."""
    return text.replace(SLASH_PLACEHOLDER, "/")
