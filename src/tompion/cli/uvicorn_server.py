"""The server of the service: uvicorn, which takes no signals, and waits for nothing that has no end of its own."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn


class UvicornServer(uvicorn.Server):
    """Ends when it is told to: first the streams of live changes, then whoever is being answered."""

    async def serve_until(self, asked: asyncio.Event, listening: socket.socket) -> None:
        """Serve until the event is set; one that is set already counts, too."""
        watching = asyncio.ensure_future(self._end_after(asked))
        try:
            await self.serve(sockets=[listening])
        finally:
            watching.cancel()

    async def _end_after(self, asked: asyncio.Event) -> None:
        await asked.wait()
        self.should_exit = True

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals to the process: one that comes while handlers change hands would be lost."""
        yield

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop listening, and end what is open."""
        live = getattr(getattr(self.config.app, "state", None), "change_stream", None)
        if live is not None:
            live.close()
        await super().shutdown(sockets)
