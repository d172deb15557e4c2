"""An HTTP target that answers every request at once and does nothing else, so that whoever asks is the slower one.

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
        """Nothing was said yet."""
        self._said = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember whom to answer."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer whatever has been asked in full."""
        self._said += data
        while (end := self._said.find(END)) >= 0:
            head = self._said[:end].lower()
            length = int(head.partition(LENGTH)[2].partition(b"\r\n")[0] or b"0")
            if len(self._said) < end + len(END) + length:
                return
            self._said = self._said[end + len(END) + length :]
            self._transport.write(ANSWER)


async def serve() -> None:
    """Serve until somebody ends this process."""
    server = await asyncio.get_running_loop().create_server(Target, HOST, 0, backlog=4_096)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve())
