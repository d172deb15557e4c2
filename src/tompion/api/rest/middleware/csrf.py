"""Changes come from the page of this very service, or from no page at all.

A browser says where a request comes from: a page of another site must not change anything here, neither with the cookie
of whoever looks at it, nor on a machine where no cookie is needed.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from tompion.api.auth.session_cookie import NAME
from tompion.api.rest.problems import problem

HARMLESS = frozenset({"GET", "HEAD", "OPTIONS"})
OUR_OWN = frozenset({b"same-origin", b"none"})
"""What browsers say of a page of ours, and of a person who asks without any page."""
COOKIE = f"{NAME}=".encode()


class CsrfMiddleware:
    """Middleware that refuses changes from the pages of others."""

    def __init__(self, app: Any, *, public_url: str = "") -> None:
        """Take the application, and where else it is reached."""
        self._app = app
        self._public = urlsplit(public_url).netloc

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "http" and scope["method"] not in HARMLESS and (found := self._objection(scope)):
            await problem(403, "forbidden", found, retryable=False)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _objection(self, scope: Any) -> str | None:
        headers = dict(scope["headers"])
        origin, site = headers.get(b"origin"), headers.get(b"sec-fetch-site")
        if site is not None and site not in OUR_OWN:
            return "a page of another site may not change anything here (Sec-Fetch-Site)"
        if origin is not None and not self._is_ours(origin, headers.get(b"host", b"")):
            return "a page of another site may not change anything here (Origin)"
        by_cookie = COOKIE in headers.get(b"cookie", b"") and b"authorization" not in headers
        if by_cookie and origin is None and site is None:
            return "whoever signs in with a browser says where a change comes from (Origin); others show a key"
        return None

    def _is_ours(self, origin: bytes, host: bytes) -> bool:
        try:
            asked = urlsplit(origin.decode("latin-1"))
        except ValueError:
            return False
        named = asked.netloc.lower()
        return asked.scheme in ("http", "https") and named in {host.decode("latin-1").lower(), self._public.lower()}
