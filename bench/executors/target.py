"""An HTTP target that answers every request at once and does nothing else, so that the client is the bottleneck.

``python -m bench.executors.target`` prints its port.
"""

from __future__ import annotations

import asyncio
import sys

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
LENGTH = b"\r\ncontent-length: "
END = b"\r\n\r\n"
HOST = "127.0.0.1"


class Target(asyncio.Protocol):
    """One connection."""

    def __init__(self) -> None:
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport for responses."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Respond to every complete request."""
        self._buffer += data
        while (end := self._buffer.find(END)) >= 0:
            head = self._buffer[:end].lower()
            length = int(head.partition(LENGTH)[2].partition(b"\r\n")[0] or b"0")
            if len(self._buffer) < end + len(END) + length:
                return
            self._buffer = self._buffer[end + len(END) + length :]
            self._transport.write(ANSWER)


async def serve() -> None:
    """Serve until the process is killed."""
    server = await asyncio.get_running_loop().create_server(Target, HOST, 0, backlog=4_096)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve())
