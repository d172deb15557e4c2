"""The cookie of whoever has signed in to the page: a key or a token, sealed, so that nobody but the service reads it.

It is shown to no script, sent to no other site, and worth what the key or token in it is worth: one that is revoked
or has expired lets nobody in.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Callable
from hashlib import sha256

from cryptography.fernet import Fernet, InvalidToken
from starlette.requests import Request
from starlette.responses import Response

from foliot.errors import InvalidField

NAME = "foliot_session"
LASTS_S = 12 * 3_600
LONGEST = 4_000
"""What browsers keep of a cookie."""


class Cookies:
    """Seals what somebody signs in with, and opens it again."""

    def __init__(self, now: Callable[[], float], secret: bytes = b"", *, over_tls: bool = False) -> None:
        """Take the time, and what all instances of a service know; without it, only this process opens its cookies."""
        self._fernet = Fernet(urlsafe_b64encode(sha256(secret).digest()) if secret else Fernet.generate_key())
        self._now = now
        self._over_tls = over_tls

    def opened(self, request: Request) -> str | None:
        """Return what somebody has signed in with; of a cookie that is too old or not ours, nothing."""
        sealed = request.cookies.get(NAME)
        if sealed is None:
            return None
        try:
            return self._fernet.decrypt_at_time(sealed, LASTS_S, int(self._now())).decode()
        except (InvalidToken, ValueError):
            return ""

    def give(self, request: Request, response: Response, credential: str) -> None:
        """Let an answer carry the cookie."""
        sealed = self._fernet.encrypt_at_time(credential.encode(), int(self._now())).decode()
        if len(sealed) > LONGEST:
            raise InvalidField("credential", "it is too long to be kept in a cookie; sign in with an API key")
        secure = self._over_tls or request.url.scheme == "https"
        response.set_cookie(NAME, sealed, max_age=LASTS_S, secure=secure, httponly=True, samesite="strict")

    @staticmethod
    def take(response: Response) -> None:
        """Let an answer take the cookie away."""
        response.delete_cookie(NAME, httponly=True, samesite="strict")
