"""How many requests are answered, how, and how long that takes; and, if somebody wants to hear of each, of each.

Of a request nothing is ever told but its method, its route and its address without the query.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tompion.model.metrics import OTHER, Metrics

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
GONE = 499
"""The status of a request whose caller did not wait for the answer."""


class AccessRecord(NamedTuple):
    """A request that was answered."""

    method: str
    path: str
    route: str
    status: int
    seconds: float


class AccessLogMiddleware:
    """Middleware that counts; it stands before everything else, so that what is refused counts, too."""

    def __init__(
        self,
        app: Any,
        *,
        tally: Metrics,
        routes: Mapping[Any, str],
        listener: Callable[[AccessRecord], None] | None = None,
    ) -> None:
        """Take the application, where to count, the routes by their endpoints, and who is told of each request."""
        self._app = app
        self._tally = tally
        self._routes = routes
        self._listener = listener

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on, and count how it was answered."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        loop = asyncio.get_running_loop()
        began, status = loop.time(), GONE

        async def watched(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            self._count(scope, status, loop.time() - began)

    def _count(self, scope: Any, status: int, seconds: float) -> None:
        method = scope["method"] if scope["method"] in METHODS else OTHER
        route = self._routes.get(scope.get("endpoint"), OTHER)
        self._tally.count("requests", 1, (method, route, str(status)))
        self._tally.observe("request", seconds, 1, (method, route))
        if self._listener is not None:
            self._listener(AccessRecord(method, scope["path"], route, status, seconds))
