"""A TCP proxy that misbehaves on demand, to put network faults between a worker and its database.

    with TcpProxy("127.0.0.1", server.port) as proxy:
        url = proxy.reroute(server.url)
        proxy.cut()

The proxy lives in a thread of its own. Each command returns when it has taken effect.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections.abc import Coroutine
from typing import Self, TypeVar
from urllib.parse import urlsplit, urlunsplit

from tests.support.servers import LOOPBACK, free_port

SECONDS_TO_OBEY = 120
CHUNK = 65_536
CHUNKS_ON_THE_WAY = 64

Result = TypeVar("Result")


class TcpProxy:
    """Forwards every connection to its own port to the target, unless a fault is set. Use as a context manager."""

    def __init__(self, target_host: str, target_port: int) -> None:
        self.port = 0
        self._target = (target_host, target_port)
        self._latency = 0.0
        self._links: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._live()), name="tcp-proxy", daemon=True)
        self._started = threading.Event()

    def __enter__(self) -> Self:
        self._thread.start()
        self._started.wait(SECONDS_TO_OBEY)
        self._do(self._listen())
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(SECONDS_TO_OBEY)

    @property
    def connections(self) -> int:
        """The number of connected clients, including those in a black hole."""
        return len(self._links)

    def reroute(self, url: str) -> str:
        """Return the URL that leads through this proxy."""
        parts = urlsplit(url)
        user, at, _ = parts.netloc.rpartition("@")
        return urlunsplit(parts._replace(netloc=f"{user}{at}{LOOPBACK}:{self.port}"))

    def cut(self) -> None:
        """Drop all connections now, with a reset to both sides. New connections are accepted."""
        self._do(self._cut())

    def refuse(self, refusing: bool = True) -> None:
        """Close the port, so that new connections are refused. Existing connections stay open."""
        self._do(self._stop_listening() if refusing else self._listen())

    def blackhole(self, swallowing: bool = True) -> None:
        """Accept and keep connections but forward nothing, not even that a side has closed or died.

        Data that was sent meanwhile arrives afterwards, as after a network failure with TCP retransmission.
        """
        self._do(self._set_open(not swallowing))

    def latency(self, seconds: float) -> None:
        """Delay the data in each direction from now on."""
        self._do(self._set_latency(seconds))

    # --- in the thread of the proxy -----------------------------------------------------------------------------

    async def _live(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._over = asyncio.Event()
        self._open = asyncio.Event()
        self._open.set()
        self._listener: asyncio.Server | None = None
        self._started.set()
        await self._over.wait()
        await self._stop_listening()
        await self._cut()

    def _do(self, command: Coroutine[object, object, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(command, self._loop).result(SECONDS_TO_OBEY)

    async def _listen(self) -> None:
        while self._listener is None:
            port = self.port or free_port()
            try:
                self._listener = await asyncio.start_server(self._accept, LOOPBACK, port)
                self.port = port
            except OSError:
                if self.port:  # clients know the port
                    raise

    async def _stop_listening(self) -> None:
        if self._listener is not None:
            self._listener.close()  # without waiting, because newer Pythons would wait for the connections too
            self._listener = None

    async def _set_open(self, is_open: bool) -> None:
        if is_open:
            self._open.set()
        else:
            self._open.clear()

    async def _set_latency(self, seconds: float) -> None:
        self._latency = seconds

    async def _cut(self) -> None:
        links = list(self._links)
        for link in links:
            link.cancel()
        await asyncio.gather(*links, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        link = asyncio.ensure_future(self._link(reader, writer))
        self._links.add(link)
        link.add_done_callback(self._links.discard)
        link.add_done_callback(lambda _: reset(writer))  # a link that is cut before its first step has no other end

    async def _link(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one client, from the connection to the target until both sides have closed or one has failed."""
        writers = [writer]
        try:
            await self._open.wait()
            far_reader, far_writer = await asyncio.open_connection(*self._target)
            writers.append(far_writer)
            async with asyncio.TaskGroup() as group:
                for source, sink in ((reader, far_writer), (far_reader, writer)):
                    on_the_way: asyncio.Queue[tuple[float, bytes | None]] = asyncio.Queue(CHUNKS_ON_THE_WAY)
                    group.create_task(self._receive(source, on_the_way))
                    group.create_task(self._deliver(on_the_way, sink))
            for item in writers:
                item.close()
                await item.wait_closed()
        except* OSError:
            pass  # the other side is closed below
        finally:
            for entry in writers:
                reset(entry)

    async def _receive(
        self, source: asyncio.StreamReader, on_the_way: asyncio.Queue[tuple[float, bytes | None]]
    ) -> None:
        """Read until the end, an empty chunk, or a failure, None. Both are delayed like data."""
        chunk: bytes | None = b"?"
        while chunk:
            try:
                chunk = await source.read(CHUNK)
            except OSError:
                chunk = None
            await on_the_way.put((self._loop.time() + self._latency, chunk))

    async def _deliver(self, on_the_way: asyncio.Queue[tuple[float, bytes | None]], sink: asyncio.StreamWriter) -> None:
        while True:
            due, chunk = await on_the_way.get()
            await asyncio.sleep(max(0.0, due - self._loop.time()))
            await self._open.wait()
            if chunk is None:
                raise ConnectionResetError
            if not chunk:
                sink.write_eof()
                return
            sink.write(chunk)
            await sink.drain()


def reset(writer: asyncio.StreamWriter) -> None:
    """Reset a connection at once, even if it has undelivered data."""
    transport = writer.transport
    connection = transport.get_extra_info("socket")
    if connection is not None and connection.fileno() >= 0:
        at_once = struct.pack("ii", 1, 0)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)
    transport.abort()
