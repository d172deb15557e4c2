"""HTTP/1.1 that does not wait for ever, and not for everybody: whoever only holds a connection open gets none.

A connection costs a descriptor, and a process that has no more of them can neither answer nor fire.
"""

from __future__ import annotations

import asyncio
import resource
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

WHOLE_REQUEST_S = 30.0
"""How long a request may take to arrive, from the first byte, or from the connection, to the last."""
MAX_CONNECTIONS = 10_000


def most_connections() -> int:
    """Return how many connections a process may have: half of its descriptors are for everything else."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MAX_CONNECTIONS if soft == resource.RLIM_INFINITY else min(MAX_CONNECTIONS, max(16, soft // 2))


class SlowClientProtocol(H11Protocol):
    """A connection that ends if its request does not arrive in time, or if there are too many others."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in the base class
        """Begin to wait, unless there is no room."""
        self._waiting: asyncio.TimerHandle | None = None
        super().connection_made(transport)
        if len(self.connections) > most_connections():
            transport.close()
            return
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what has arrived; a request that is whole is waited for no longer, and one that begins is."""
        super().data_received(data)
        if self.conn.their_state in (h11.IDLE, h11.SEND_BODY):
            if self._waiting is None:
                self._wait()
        else:
            self._stop_waiting()

    def _wait(self) -> None:
        self._waiting = self.loop.call_later(WHOLE_REQUEST_S, self._give_up)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _give_up(self) -> None:
        """End a connection on which nobody waits for an answer."""
        self._waiting = None
        answering: Any = self.cycle
        if answering is None or answering.response_complete or answering.more_body:
            self.transport.close()
