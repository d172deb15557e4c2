"""Serving the page: what the build has made, to browsers; everybody else is answered by the API.

Whether somebody wants the page shows in what they accept: a browser that opens an address names ``text/html``.
``/schedules/report`` is the page for it, and JSON for everybody else.  No script or style from elsewhere is ever
run: the policy allows the files of the build, and the styles that carry the number of this very answer.
"""

from __future__ import annotations

import gzip
import mimetypes
from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from secrets import token_urlsafe
from typing import Any

from fastapi import FastAPI
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.responses import HTMLResponse, PlainTextResponse, Response

BUILT = files("tompion.web").joinpath("static")
NONCE = "__TOMPION_NONCE__"
"""What stands in the built page for the number that each answer has of its own."""
ASSETS = "/assets/"
FOR_MACHINES = ("/api/", "/healthz", "/readyz", "/metrics")
NOT_BUILT = (
    "The page has not been built. The API is there: /api/v1. To build the page, run in a clone of the repository:\n\n"
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
FOR_EVER, FOR_A_DAY = "public, max-age=31536000, immutable", "public, max-age=86400"
SHORTEST_COMPRESSED = 1_000


def mount_ui(app: FastAPI) -> None:
    """Serve the page at every address that a browser opens, behind everything that guards the service."""
    app.user_middleware.append(Middleware(Pages, built=BUILT))


class Pages:
    """Middleware that answers browsers with the page, and with its files."""

    def __init__(self, app: Any, *, built: Traversable) -> None:
        """Take the application, and where the built page is."""
        self._app = app
        self._built = built

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a browser; pass on everything else."""
        answer = self._answer(scope) if scope["type"] == "http" and scope["method"] in ("GET", "HEAD") else None
        await (self._app if answer is None else answer)(scope, receive, send)

    def _answer(self, scope: Any) -> Response | None:
        path: str = scope["path"]
        if path.startswith(FOR_MACHINES):
            return None
        headers = Headers(scope=scope)
        if path.startswith(ASSETS):
            return _asset(self._built, path.removeprefix(ASSETS), zipped="gzip" in headers.get("accept-encoding", ""))
        if path == "/favicon.svg":
            return _file(self._built, "favicon.svg", zipped=False, kept=FOR_A_DAY)
        wanted = path == "/" or "text/html" in headers.get("accept", "")
        return _page(self._built) if wanted else None


def _page(built: Traversable) -> Response:
    index = built.joinpath("index.html")
    if not index.is_file():
        return PlainTextResponse(NOT_BUILT, 503)
    nonce = token_urlsafe(16)
    text = index.read_text(encoding="utf-8").replace(NONCE, nonce)
    return HTMLResponse(text, headers={"Content-Security-Policy": POLICY.replace(NONCE, nonce), "Vary": "Accept"})


def _asset(built: Traversable, name: str, *, zipped: bool) -> Response:
    """Return a file whose name says what is in it, which can be kept for ever."""
    if "/" in name or name.startswith("."):
        return PlainTextResponse("there is no such file", 404)
    return _file(built.joinpath("assets"), name, zipped=zipped, kept=FOR_EVER)


def _file(folder: Traversable, name: str, *, zipped: bool, kept: str) -> Response:
    found = folder.joinpath(name)
    if not found.is_file():
        return PlainTextResponse("there is no such file", 404)
    body, kind = found.read_bytes(), mimetypes.guess_type(name)[0] or "application/octet-stream"
    headers = {"Vary": "Accept-Encoding", "Cache-Control": kept}
    if zipped and len(body) >= SHORTEST_COMPRESSED:
        return Response(_zipped(body), headers={**headers, "Content-Encoding": "gzip"}, media_type=kind)
    return Response(body, headers=headers, media_type=kind)


@lru_cache(maxsize=256)
def _zipped(body: bytes) -> bytes:
    return gzip.compress(body, mtime=0)
