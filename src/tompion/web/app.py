"""Serves the built web UI to browsers. All other clients get the API.

A request that accepts ``text/html`` comes from a browser: ``/schedules/report`` is the web UI for it, and JSON for
other clients. The content security policy allows only the files of the build and styles with the nonce of the response.
"""

from __future__ import annotations

import gzip
import mimetypes
from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from secrets import token_urlsafe
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.responses import HTMLResponse, PlainTextResponse, Response

BUILT = files("tompion.web").joinpath("static")
NONCE = "__TOMPION_NONCE__"
"""Placeholder in the built HTML for the nonce of each response."""
ASSETS = "/assets/"
API_PREFIXES = ("/api/", "/healthz", "/readyz", "/metrics", "/docs/errors")
NOT_BUILT = (
    "The web UI has not been built. The API is available at /api/v1. "
    "To build the web UI, run in a clone of the repository:\n\n"
    "    python hatch_build.py\n"
)
POLICY = "; ".join([
    "default-src 'none'",
    "script-src 'self'",
    f"style-src 'self' 'nonce-{NONCE}'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types default",
])  # fmt: skip
API_DOCS = "/docs/api"
API_DOCS_POLICY = POLICY.replace("trusted-types default", "trusted-types default dompurify")
"""The policy of the API documentation. Its Markdown goes through DOMPurify, which has a policy of its own."""
CACHE_IMMUTABLE, CACHE_ONE_DAY = "public, max-age=31536000, immutable", "public, max-age=86400"
MIN_COMPRESSED_BYTES = 1_000


def mount_ui(app: Starlette) -> None:
    """Serve the web UI at every path that a browser opens, behind the other middleware."""
    app.user_middleware.append(Middleware(WebUI, built=BUILT))


class WebUI:
    """Middleware that serves the built web UI in the folder ``built``."""

    def __init__(self, app: Any, *, built: Traversable) -> None:
        self._app = app
        self._built = built

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a browser, or pass the request to the application."""
        response = self._response(scope) if scope["type"] == "http" and scope["method"] in ("GET", "HEAD") else None
        await (self._app if response is None else response)(scope, receive, send)

    def _response(self, scope: Any) -> Response | None:
        """Return the response of the web UI, or ``None`` for a path of the API."""
        path: str = scope["path"]
        if path.startswith(API_PREFIXES):
            return None
        headers = Headers(scope=scope)
        if path.startswith(ASSETS):
            return _asset(self._built, path.removeprefix(ASSETS), compress="gzip" in headers.get("accept-encoding", ""))
        if path == "/favicon.svg":
            return _file(self._built, "favicon.svg", compress=False, cache=CACHE_ONE_DAY)
        if path == API_DOCS:
            return _page(self._built, "api-docs.html", API_DOCS_POLICY)
        is_browser = path == "/" or "text/html" in headers.get("accept", "")
        return _page(self._built, "index.html", POLICY) if is_browser else None


def _page(built: Traversable, name: str, policy: str) -> Response:
    page = built.joinpath(name)
    if not page.is_file():
        return PlainTextResponse(NOT_BUILT, 503)
    nonce = token_urlsafe(16)
    text = page.read_text(encoding="utf-8").replace(NONCE, nonce)
    return HTMLResponse(text, headers={"Content-Security-Policy": policy.replace(NONCE, nonce), "Vary": "Accept"})


def _asset(built: Traversable, name: str, *, compress: bool) -> Response:
    """Return a file of the build. Its name contains a hash of its content, so it never changes."""
    if "/" in name or name.startswith("."):
        return PlainTextResponse("file not found", 404)
    return _file(built.joinpath("assets"), name, compress=compress, cache=CACHE_IMMUTABLE)


def _file(folder: Traversable, name: str, *, compress: bool, cache: str) -> Response:
    file = folder.joinpath(name)
    if not file.is_file():
        return PlainTextResponse("file not found", 404)
    body, media_type = file.read_bytes(), mimetypes.guess_type(name)[0] or "application/octet-stream"
    headers = {"Vary": "Accept-Encoding", "Cache-Control": cache}
    if compress and len(body) >= MIN_COMPRESSED_BYTES:
        return Response(_compressed(body), headers={**headers, "Content-Encoding": "gzip"}, media_type=media_type)
    return Response(body, headers=headers, media_type=media_type)


@lru_cache(maxsize=256)
def _compressed(body: bytes) -> bytes:
    return gzip.compress(body, mtime=0)
