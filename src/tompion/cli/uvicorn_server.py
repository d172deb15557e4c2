"""Uvicorn server that ignores signals and closes event streams before it shuts down."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn


class UvicornServer(uvicorn.Server):
    """Uvicorn server that stops on an event: first the event streams end, then open requests complete."""

    async def serve_in_thread(self, stop: asyncio.Event, listening: socket.socket) -> None:
        """Serve in a thread with its own event loop until the event is set. A busy engine then delays no request."""
        watcher = asyncio.ensure_future(self._exit_after(stop))
        try:
            await asyncio.to_thread(asyncio.run, self.serve(sockets=[listening]))
        finally:
            self.should_exit = True
            watcher.cancel()

    async def serve_until(self, stop: asyncio.Event, listening: socket.socket) -> None:
        """Serve until the event is set, which may be before the start."""
        watcher = asyncio.ensure_future(self._exit_after(stop))
        try:
            await self.serve(sockets=[listening])
        finally:
            watcher.cancel()

    async def _exit_after(self, stop: asyncio.Event) -> None:
        await stop.wait()
        self.should_exit = True

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the process. A signal that arrives while handlers are replaced would be lost."""
        yield

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop listening, end event streams and complete open requests."""
        change_stream = getattr(getattr(self.config.app, "state", None), "change_stream", None)
        if change_stream is not None:
            change_stream.close()
        await super().shutdown(sockets)
