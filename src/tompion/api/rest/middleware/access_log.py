"""Gives each request an id, counts and times it, and reports it to a listener.

A report has the id, the method, the route and the path of a request, and never its query.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tompion.api.rest.request_id import HEADER, choose_request_id, request_id
from tompion.runtime.metric_values import OTHER, Metrics

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
CLIENT_CLOSED_REQUEST = 499
"""The status of a request whose client disconnected before the response."""
INTERNAL_ERROR = 500


class AccessRecord(NamedTuple):
    """A finished request."""

    method: str
    path: str
    route: str
    status: int
    seconds: float
    request_id: str


class AccessLogMiddleware:
    """The outermost middleware, so that it also counts requests that other middleware refuses.

    ``paths`` has the path template of each endpoint.
    """

    def __init__(
        self,
        app: Any,
        *,
        metrics: Metrics,
        paths: Mapping[Any, str],
        on_request: Callable[[AccessRecord], None] | None = None,
    ) -> None:
        self._app = app
        self._metrics = metrics
        self._paths = paths
        self._on_request = on_request

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on, and count it with the status of its response."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        loop = asyncio.get_running_loop()
        began, status = loop.time(), CLIENT_CLOSED_REQUEST
        chosen_id = choose_request_id(scope["headers"])
        request_id.set(chosen_id)
        header = (HEADER, chosen_id.encode())

        async def send_and_record(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], header]
            await send(message)

        try:
            await self._app(scope, receive, send_and_record)
        except Exception as error:
            error.add_note(f"request id: {chosen_id}")  # the server logs the error with its notes
            status = INTERNAL_ERROR if status == CLIENT_CLOSED_REQUEST else status
            raise
        finally:
            self._count(scope, status, loop.time() - began, chosen_id)

    def _count(self, scope: Any, status: int, seconds: float, chosen_id: str) -> None:
        """Count and measure a request, and pass its record to the log."""
        method = scope["method"] if scope["method"] in METHODS else OTHER
        route = self._paths.get(scope.get("endpoint"), OTHER)
        self._metrics.count("requests", 1, (method, route, str(status)))
        self._metrics.observe("request", seconds, 1, (method, route))
        if self._on_request is not None:
            self._on_request(
                AccessRecord(
                    method=method,
                    path=scope["path"],
                    route=route,
                    status=status,
                    seconds=seconds,
                    request_id=chosen_id,
                )
            )
