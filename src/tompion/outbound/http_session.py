"""HTTP sessions that connect only to addresses that the SSRF guard has checked."""

from __future__ import annotations

import asyncio
import socket

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from tompion.encoding.bounded_text import truncate
from tompion.errors import TargetUnreachable
from tompion.outbound.ssrf_guard import SsrfGuard

CONNECT_TIMEOUT_S = 10.0


def open_session(guard: SsrfGuard) -> aiohttp.ClientSession:
    """Return a session without cookies and without proxies of the environment, restricted to allowed addresses."""
    connector = aiohttp.TCPConnector(
        resolver=_Resolver(guard), limit=0, limit_per_host=0, use_dns_cache=False, keepalive_timeout=30
    )
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_S),
        trust_env=False,
        auto_decompress=False,
    )


async def read_start(response: aiohttp.ClientResponse, limit: int) -> str:
    """Return the start of a response. The connection of a longer one is closed."""
    if response.content_length is not None and response.content_length <= limit:
        return (await response.read()).decode(errors="replace")
    body = bytearray()
    while len(body) <= limit:
        chunk = await response.content.read(limit + 1 - len(body))
        if not chunk:
            return body.decode(errors="replace")
        body += chunk
    response.close()
    return truncate(body.decode(errors="replace"), limit)


class _Resolver(AbstractResolver):
    """Resolves a name once and returns its addresses if the guard allows all of them."""

    def __init__(self, guard: SsrfGuard) -> None:
        self._guard = guard

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        loop = asyncio.get_running_loop()
        try:
            entries = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, family=family)
        except OSError:
            raise TargetUnreachable(f"the host {host!r} has no address") from None
        addresses = self._guard.check_all(list(dict.fromkeys(str(entry[4][0]) for entry in entries)), port)
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
        """Do nothing, because the resolver has no resources."""
