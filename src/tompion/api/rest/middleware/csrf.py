"""Protects against cross-site request forgery (CSRF).

A browser reports the origin of a request. A page of another site must not change anything here, neither with the
session cookie of a user nor on a machine where no cookie is needed.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from tompion.api.auth.session_cookie import COOKIE_NAME
from tompion.api.rest.problems import problem

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
TRUSTED_FETCH_SITES = frozenset({b"same-origin", b"none"})
"""Values of ``Sec-Fetch-Site`` for our own web UI, and for requests that no page has made."""
COOKIE = f"{COOKIE_NAME}=".encode()


class CsrfMiddleware:
    """Refuses changes that a page of another site requests. ``public_url`` is another origin of this service."""

    def __init__(self, app: Any, *, public_url: str = "") -> None:
        self._app = app
        self._public = urlsplit(public_url).netloc

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "http" and scope["method"] not in SAFE_METHODS and (reason := self._refusal(scope)):
            await problem(403, "forbidden", reason, retryable=False)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _refusal(self, scope: Any) -> str | None:
        headers = dict(scope["headers"])
        origin, site = headers.get(b"origin"), headers.get(b"sec-fetch-site")
        if site is not None and site not in TRUSTED_FETCH_SITES:
            return "cross-site request refused (Sec-Fetch-Site)"
        if origin is not None and not self._is_own_origin(origin, headers.get(b"host", b"")):
            return "cross-site request refused (Origin)"
        by_cookie = COOKIE in headers.get(b"cookie", b"") and b"authorization" not in headers
        if by_cookie and origin is None and site is None:
            return "a change with a session cookie needs the header Origin; programs send an API key instead"
        return None

    def _is_own_origin(self, origin: bytes, host: bytes) -> bool:
        try:
            url = urlsplit(origin.decode("latin-1"))
        except ValueError:
            return False
        own_hosts = {host.decode("latin-1").lower(), self._public.lower()}
        return url.scheme in ("http", "https") and url.netloc.lower() in own_hosts
