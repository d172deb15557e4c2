"""The credentials of an HTTP request."""

from __future__ import annotations

from typing import Any

from starlette.requests import HTTPConnection, Request

from tompion.api.auth.authenticator import Credentials
from tompion.api.auth.session_cookie import COOKIE_NAME

PEER_CERTIFICATE = "tompion.peer_certificate"
"""The key of the verified client certificate in the ASGI scope."""


def credentials_of(request: Request) -> Credentials:
    """Return the credentials of a request."""
    return Credentials(
        authorization=tuple(request.headers.getlist("authorization")),
        session_cookie=session_cookie_of(request.scope),
        peer_certificate=request.scope.get(PEER_CERTIFICATE),
    )


def session_cookie_of(scope: Any) -> str | None:
    """Return the encrypted session cookie of a request."""
    return HTTPConnection(scope).cookies.get(COOKIE_NAME)
