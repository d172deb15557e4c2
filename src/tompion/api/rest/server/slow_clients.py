"""Protects against slow clients: a timeout for reading a request, and a limit of connections.

Each connection needs a file descriptor. A process without free descriptors can neither respond nor fire schedules.
"""

from __future__ import annotations

import asyncio
import resource
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

MAX_REQUEST_S = 30.0
"""The longest time from the first byte of a request, or from the connection, to its last byte."""
MAX_CONNECTIONS = 10_000
MIN_CONNECTIONS = 16


def connection_limit() -> int:
    """Return the limit of connections. Half of the file descriptors stay free for other uses."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MAX_CONNECTIONS if soft == resource.RLIM_INFINITY else min(MAX_CONNECTIONS, max(MIN_CONNECTIONS, soft // 2))


class SlowClientProtocol(H11Protocol):
    """A connection that is closed if its request does not arrive in time, or if there are too many connections."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in the base class
        """Start the timer, or close the connection if there are too many."""
        self._timer: asyncio.TimerHandle | None = None
        super().connection_made(transport)
        if len(self.connections) > connection_limit():
            transport.close()
            return
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Stop the timer when a request is complete, and start it when the next one begins."""
        super().data_received(data)
        if self.conn.their_state in (h11.IDLE, h11.SEND_BODY):
            if self._timer is None:
                self._start_timer()
        else:
            self._stop_timer()

    def _start_timer(self) -> None:
        self._timer = self.loop.call_later(MAX_REQUEST_S, self._time_out)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _time_out(self) -> None:
        """Close the connection, unless a response is being sent."""
        self._timer = None
        cycle: Any = self.cycle
        if cycle is None or cycle.response_complete or cycle.more_body:
            self.transport.close()
