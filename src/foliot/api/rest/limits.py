"""What a service takes from one caller: no body that is too large, and not too many requests; and what it sends along.

It stands before everything else, so that nobody pays for what is refused.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from hashlib import sha256
from typing import Any

from foliot.api.rest.problems import problem

HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cache-control", b"no-store"),
)
OVER_TLS = (b"strict-transport-security", b"max-age=31536000")
"""Tells browsers to come back with TLS only."""
REMEMBERED = 10_000
UNKNOWN = 401


class Limits:
    """Middleware that refuses what is too much, and adds headers that keep browsers careful."""

    def __init__(self, app: Any, *, max_body_bytes: int, requests_per_s: int) -> None:
        """Take the application and its limits; 0 is none."""
        self._app = app
        self._max_body_bytes = max_body_bytes
        self._rate = requests_per_s
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._believed: OrderedDict[str, None] = OrderedDict()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        send = _with_headers(send, over_tls=scope.get("scheme") == "https")
        if self._rate and not self._has_turn(scope):
            answer = problem(429, "too_many_requests", f"more than {self._rate} requests per second", retryable=True)
            answer.headers["Retry-After"] = "1"
            await answer(scope, receive, send)
            return
        if not await self._fits(scope, receive, send):
            return
        await self._app(
            scope, _bounded(receive, self._max_body_bytes), self._noting(scope, send) if self._rate else send
        )

    def _noting(self, scope: Any, send: Any) -> Any:
        """Remember a credential that was believed: only such a one has a bucket of its own."""
        shown = _credential(scope)

        async def noting(message: Any) -> None:
            if shown and message["type"] == "http.response.start" and message["status"] != UNKNOWN:
                self._believed[shown] = None
                if len(self._believed) > REMEMBERED:
                    self._believed.popitem(last=False)
            await send(message)

        return noting

    def _has_turn(self, scope: Any) -> bool:
        """Take one from the caller's bucket, which fills up as time passes; a second's worth fits into it.

        Whoever shows what nobody has believed yet shares the bucket of their address: made up, it is worth nothing.
        """
        shown = _credential(scope)
        who = shown if shown in self._believed else str((scope.get("client") or ("",))[0])
        now = asyncio.get_running_loop().time()
        left, since = self._buckets.pop(who, (float(self._rate), now))
        left = min(float(self._rate), left + (now - since) * self._rate)
        self._buckets[who] = (left - 1 if left >= 1 else left, now)
        if len(self._buckets) > REMEMBERED:
            self._buckets.popitem(last=False)
        return left >= 1

    async def _fits(self, scope: Any, receive: Any, send: Any) -> bool:
        declared = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        if declared.isdigit() and int(declared) <= self._max_body_bytes:
            return True
        answer = problem(413, "too_large", f"more than {self._max_body_bytes} bytes (max_body_bytes)", retryable=False)
        await answer(scope, receive, send)
        return False


def _credential(scope: Any) -> str:
    """Return a hash of what a request shows, or nothing."""
    shown = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
    return sha256(shown).hexdigest() if shown else ""


def _bounded(receive: Any, most: int) -> Any:
    """Read a body whose length nobody has declared only so far."""
    seen = 0

    async def bounded() -> Any:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        return {"type": "http.disconnect"} if seen > most else message

    return bounded


def _with_headers(send: Any, *, over_tls: bool) -> Any:
    added = (*HEADERS, OVER_TLS) if over_tls else HEADERS

    async def with_headers(message: Any) -> None:
        if message["type"] == "http.response.start":
            given = {name.lower() for name, _ in message["headers"]}
            message["headers"] = [*message["headers"], *(each for each in added if each[0] not in given)]
        await send(message)

    return with_headers
