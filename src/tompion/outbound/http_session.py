"""Connections to places outside, each to an address that the guard has looked at."""

from __future__ import annotations

import asyncio
import socket

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from tompion.errors import LaunchError
from tompion.model.codec import truncate
from tompion.outbound.ssrf_guard import Guard

CONNECT_S = 10.0


def open_session(guard: Guard) -> aiohttp.ClientSession:
    """Return what sends requests: no cookies, no proxies of the environment, no address that is not allowed."""
    connector = aiohttp.TCPConnector(
        resolver=_Resolver(guard), limit=0, limit_per_host=0, use_dns_cache=False, keepalive_timeout=30
    )
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S),
        trust_env=False,
        auto_decompress=False,
    )


async def read_start(answer: aiohttp.ClientResponse, limit: int) -> str:
    """Read no more of an answer than is kept; the connection of a longer one is not used again."""
    if answer.content_length is not None and answer.content_length <= limit:
        return (await answer.read()).decode(errors="replace")
    read = bytearray()
    while len(read) <= limit:
        chunk = await answer.content.read(limit + 1 - len(read))
        if not chunk:
            return read.decode(errors="replace")
        read += chunk
    answer.close()
    return truncate(read.decode(errors="replace"), limit)


class _Resolver(AbstractResolver):
    """Resolves names once, and gives only addresses that may be connected to."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, family=family)
        except OSError:
            raise LaunchError(f"the host {host!r} has no address") from None
        addresses = self._guard.checked(list(dict.fromkeys(str(each[4][0]) for each in found)), port)
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
            for address in addresses
        ]

    async def close(self) -> None:
        """Nothing is kept."""
