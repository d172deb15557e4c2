"""The cookie of whoever has signed in to the page: a key or a token, sealed, so that nobody but the service reads it.

It is shown to no script, sent to no other site, and worth what the key or token in it is worth: one that is revoked
or has expired lets nobody in.  What seals it is in the store: every instance opens the cookies of the others.
"""

from __future__ import annotations

import asyncio
from base64 import urlsafe_b64encode
from collections.abc import Callable
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from starlette.requests import HTTPConnection, Request
from starlette.responses import Response

from tompion.errors import InvalidField
from tompion.operations.resources.api_keys import session_secret
from tompion.operations.runner import OperationRunner

if TYPE_CHECKING:
    from cryptography.fernet import Fernet

NAME = "tompion_session"
LASTS_S = 12 * 3_600
MAX_COOKIE_CHARS = 4_000
"""What browsers keep of a cookie."""


def cookie_of(scope: Any) -> str | None:
    """Return the cookie that a request shows, sealed as it is."""
    return HTTPConnection(scope).cookies.get(NAME)


class SessionCookies:
    """Seals what somebody signs in with, and opens it again."""

    def __init__(self, runner: OperationRunner, now: Callable[[], float], *, over_tls: bool = False) -> None:
        """Take where the secret is kept, the time, and whether browsers come over TLS whatever it looks like here."""
        self._runner = runner
        self._now = now
        self._over_tls = over_tls
        self._seal: Fernet | None = None

    async def opened(self, request: Request) -> str | None:
        """Return what somebody has signed in with; of a cookie that is too old or not ours, nothing."""
        sealed = cookie_of(request.scope)
        if sealed is None:
            return None
        from cryptography.fernet import InvalidToken

        try:
            return (await self._sealing()).decrypt_at_time(sealed, LASTS_S, int(self._now())).decode()
        except (InvalidToken, ValueError):
            return ""

    async def give(self, request: Request, response: Response, credential: str) -> None:
        """Let an answer carry the cookie."""
        sealed = (await self._sealing()).encrypt_at_time(credential.encode(), int(self._now())).decode()
        if len(sealed) > MAX_COOKIE_CHARS:
            raise InvalidField("credential", "it is too long to be kept in a cookie; sign in with an API key")
        secure = self._over_tls or request.url.scheme == "https"
        response.set_cookie(NAME, sealed, max_age=LASTS_S, secure=secure, httponly=True, samesite="strict")

    async def _sealing(self) -> Fernet:
        if self._seal is None:
            from cryptography.fernet import Fernet

            asked = self._runner.send(session_secret, namespace="", actor="gate", writes=True, walled=False)
            secret = await asyncio.wrap_future(asked)
            self._seal = Fernet(urlsafe_b64encode(sha256(secret.encode()).digest()))
        return self._seal

    @staticmethod
    def take(response: Response) -> None:
        """Let an answer take the cookie away."""
        response.delete_cookie(NAME, httponly=True, samesite="strict")
