"""An HTTP server for tests that stops without delay."""

from __future__ import annotations

import asyncio
import socket

import uvicorn

from tompion.cli.uvicorn_server import UvicornServer

PAUSE_S = 0.001


class _WithoutPauses(uvicorn.Server):
    """uvicorn looks every tenth of a second whether it should stop, and then waits for another one.

    Hundreds of tests start a server each, so that these pauses took minutes. The server waits for the same events.
    """

    _stop: asyncio.Event | None = None
    _loop: asyncio.AbstractEventLoop

    def stop(self) -> None:
        """Make the server stop, from any thread."""
        self.should_exit = True
        if self._stop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)

    async def main_loop(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        counter = 0
        while not await self.on_tick(counter):
            counter += 1
            try:
                await asyncio.wait_for(self._stop.wait(), 0.1)
            except TimeoutError:
                continue

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        while self.server_state.connections or self.server_state.tasks:  # noqa: ASYNC110 - there is no event for it
            await asyncio.sleep(PAUSE_S)
        for server in self.servers:
            await server.wait_closed()


class PromptServer(UvicornServer, _WithoutPauses):
    """The server of the service, which stops without delay."""
