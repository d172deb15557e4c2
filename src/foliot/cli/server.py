"""The server of the service: uvicorn, which does not wait for streams that have no end of their own."""

from __future__ import annotations

import socket

import uvicorn


class Server(uvicorn.Server):
    """Ends the streams of live changes before it waits for whoever is being answered."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop listening, and end what is open."""
        live = getattr(getattr(self.config.app, "state", None), "live", None)
        if live is not None:
            live.close()
        await super().shutdown(sockets)
