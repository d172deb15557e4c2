"""Sends requests to a service as quickly as it responds, over persistent connections, in a process of its own.

``python -m bench.rest.load URL put|get REQUESTS CONNECTIONS`` prints how many were answered per second.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from contextlib import closing
from time import perf_counter
from urllib.parse import urlsplit

NAMES = 1_000
"""The number of schedules to request."""
END = b"\r\n\r\n"
DOCUMENT = json.dumps({"cron": "0 9 * * MON-FRI", "timezone": "Europe/Berlin", "function": "tasks:report"}).encode()


def request(kind: str, number: int) -> bytes:
    """Return a request, ready to be sent."""
    head = f"{kind.upper()} /api/v1/schedules/s{number % NAMES} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    if kind == "get":
        return f"{head}\r\n".encode()
    return f"{head}Content-Type: application/json\r\nContent-Length: {len(DOCUMENT)}\r\n\r\n".encode() + DOCUMENT


async def ask(host: str, port: int, requests: Iterator[bytes]) -> None:
    """Send requests over one connection, one after the other."""
    reader, writer = await asyncio.open_connection(host, port)
    with closing(writer):
        for request in requests:
            writer.write(request)
            head = (await reader.readuntil(END)).lower()
            if not head.startswith((b"http/1.1 200", b"http/1.1 201")):
                raise RuntimeError(head.partition(b"\r\n")[0].decode())
            length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
            await reader.readexactly(length)


async def rate(url: str, kind: str, requests: int, connections: int) -> float:
    """Return how many requests per second are answered."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    prepared = iter([request(kind, number) for number in range(requests)])
    begin = perf_counter()
    await asyncio.gather(*(ask(parts.hostname, parts.port, prepared) for _ in range(connections)))
    return requests / (perf_counter() - begin)


if __name__ == "__main__":
    print(asyncio.run(rate(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))))
