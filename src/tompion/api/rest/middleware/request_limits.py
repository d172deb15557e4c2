"""Limits the size and the rate of requests, and adds security headers to responses.

It runs before authentication, so a refused request costs little.
"""

from __future__ import annotations

from collections import OrderedDict
from hashlib import sha256
from typing import Any

from starlette.exceptions import HTTPException

from tompion.api.rate_limit import MAX_BUCKETS, RateLimiter
from tompion.api.rest.credentials import PEER_CERTIFICATE, session_cookie_of
from tompion.api.rest.problems import SECURITY_HEADERS, problem

HSTS_HEADER = (b"strict-transport-security", b"max-age=31536000")
AUTHENTICATED_ACTORS = "tompion.authenticated_actors"
"""The key of a list in the ASGI scope. The endpoint adds the name of the authenticated caller."""


class RequestLimitsMiddleware:
    """Refuses bodies that are too large and callers that send too many requests. A rate of 0 is no limit."""

    def __init__(self, app: Any, *, max_body_bytes: int, requests_per_s: int) -> None:
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
        if not self._rates.take(self._bucket(scope)):
            detail = f"more than {self._rates.per_s} requests per second (requests_per_s)"
            await problem(429, "too_many_requests", detail, retryable=True)(scope, receive, send)
            return
        if not await self._check_declared_length(scope, receive, send):
            return
        actors: list[str] = []
        scope[AUTHENTICATED_ACTORS] = actors
        await self._app(scope, _limited_receive(receive, self._max_body_bytes), send)
        if self._rates.per_s and actors:
            self._remember(_credential_hash(scope), actors[0])

    def _remember(self, credential: str, actor: str) -> None:
        """Remember the actor of a credential, so that all credentials of one actor share a bucket.

        Requests without credentials stay in the bucket of their address, even if the service is open.
        """
        if not credential:
            return
        self._actors[credential] = actor
        if len(self._actors) > MAX_BUCKETS:
            self._actors.popitem(last=False)

    def _bucket(self, scope: Any) -> str:
        """Return the bucket of a request: the actor of its credential, or its address.

        A credential that has never been accepted does not get a bucket, because a caller could invent any number.
        """
        if not self._rates.per_s:
            return ""
        return self._actors.get(_credential_hash(scope)) or str((scope.get("client") or ("",))[0])

    async def _check_declared_length(self, scope: Any, receive: Any, send: Any) -> bool:
        declared = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        if declared.isdigit() and int(declared) <= self._max_body_bytes:
            return True
        detail = f"more than {self._max_body_bytes} bytes (max_body_bytes)"
        await problem(413, "too_large", detail, retryable=False)(scope, receive, send)
        return False


def _credential_hash(scope: Any) -> str:
    """Return a hash of the credential that the authenticator will use, or an empty string."""
    for name, value in scope["headers"]:
        if name == b"authorization":
            return _hash(b"header", value)
    if cookie := session_cookie_of(scope):
        return _hash(b"cookie", cookie.encode())
    certificate = scope.get(PEER_CERTIFICATE)
    return "" if certificate is None else _hash(b"certificate", repr(certificate).encode())


def _hash(kind: bytes, value: bytes) -> str:
    return sha256(kind + b" " + value).hexdigest()


def _limited_receive(receive: Any, max_bytes: int) -> Any:
    """Return a ``receive`` that refuses a body above the limit, even if its length was not declared."""
    size = 0

    async def limited() -> Any:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > max_bytes:
            raise HTTPException(413, f"more than {max_bytes} bytes (max_body_bytes)")
        return message

    return limited


def _with_headers(send: Any, *, over_tls: bool) -> Any:
    added = (*SECURITY_HEADERS, HSTS_HEADER) if over_tls else SECURITY_HEADERS

    async def with_headers(message: Any) -> None:
        if message["type"] == "http.response.start":
            names = {name.lower() for name, _ in message["headers"]}
            message["headers"] = [*message["headers"], *(header for header in added if header[0] not in names)]
        await send(message)

    return with_headers
