"""What a service takes from one caller: no body that is too large, and not too many requests; and what it sends along.

It stands before everything else, so that nobody pays for what is refused.
"""

from __future__ import annotations

from collections import OrderedDict
from hashlib import sha256
from typing import Any

from starlette.exceptions import HTTPException

from tompion.api.auth.authenticator import PEER
from tompion.api.auth.session_cookie import cookie_of
from tompion.api.rate_limit import REMEMBERED, RateLimiter
from tompion.api.rest.problems import HEADERS, problem

OVER_TLS = (b"strict-transport-security", b"max-age=31536000")
"""Tells browsers to come back with TLS only."""
WHO = "tompion.who"
"""Where the application says who it has believed to ask."""


class RequestLimitsMiddleware:
    """Middleware that refuses what is too much, and adds headers that keep browsers careful."""

    def __init__(self, app: Any, *, max_body_bytes: int, requests_per_s: int) -> None:
        """Take the application and its limits; 0 is none."""
        self._app = app
        self._max_body_bytes = max_body_bytes
        self._rates = RateLimiter(requests_per_s)
        self._actors: OrderedDict[str, str] = OrderedDict()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        send = _with_headers(send, over_tls=scope.get("scheme") == "https")
        if not self._rates.has_turn(self._who(scope)):
            detail = f"more than {self._rates.per_s} requests per second (requests_per_s)"
            await problem(429, "too_many_requests", detail, retryable=True)(scope, receive, send)
            return
        if not await self._fits(scope, receive, send):
            return
        believed: list[str] = []
        scope[WHO] = believed
        await self._app(scope, _bounded(receive, self._max_body_bytes), send)
        if self._rates.per_s and believed:
            self._remember(_credential(scope), believed[0])

    def _remember(self, shown: str, actor: str) -> None:
        """Remember whose a credential is: only who is believed has a bucket of their own, and not one for each.

        Whoever shows nothing is nobody in particular, even if they were let in: others show as much.
        """
        if not shown:
            return
        self._actors[shown] = actor
        if len(self._actors) > REMEMBERED:
            self._actors.popitem(last=False)

    def _who(self, scope: Any) -> str:
        """Return whose bucket a request takes from.

        Whoever shows what nobody has believed yet shares the bucket of their address: made up, it is worth nothing.
        """
        if not self._rates.per_s:
            return ""
        return self._actors.get(_credential(scope)) or str((scope.get("client") or ("",))[0])

    async def _fits(self, scope: Any, receive: Any, send: Any) -> bool:
        declared = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        if declared.isdigit() and int(declared) <= self._max_body_bytes:
            return True
        answer = problem(413, "too_large", f"more than {self._max_body_bytes} bytes (max_body_bytes)", retryable=False)
        await answer(scope, receive, send)
        return False


def _credential(scope: Any) -> str:
    """Return a hash of what a request shows, as the gate looks at it, or nothing.

    That is its ``Authorization``; without one the cookie of somebody who has signed in; or a certificate.
    """
    for name, value in scope["headers"]:
        if name == b"authorization":
            return _hash(b"header", value)
    if cookie := cookie_of(scope):
        return _hash(b"cookie", cookie.encode())
    peer = scope.get(PEER)
    return "" if peer is None else _hash(b"certificate", repr(peer).encode())


def _hash(kind: bytes, shown: bytes) -> str:
    return sha256(kind + b" " + shown).hexdigest()


def _bounded(receive: Any, most: int) -> Any:
    """Read a body whose length nobody has declared only so far."""
    seen = 0

    async def bounded() -> Any:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > most:
            raise HTTPException(413, f"more than {most} bytes (max_body_bytes)")
        return message

    return bounded


def _with_headers(send: Any, *, over_tls: bool) -> Any:
    added = (*HEADERS, OVER_TLS) if over_tls else HEADERS

    async def with_headers(message: Any) -> None:
        if message["type"] == "http.response.start":
            given = {name.lower() for name, _ in message["headers"]}
            message["headers"] = [*message["headers"], *(each for each in added if each[0] not in given)]
        await send(message)

    return with_headers
