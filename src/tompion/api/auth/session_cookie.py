"""Session cookies of the web UI: an encrypted API key or JWT.

``api/rest/session_endpoints.py`` sets the cookie so that scripts cannot read it and browsers send it to no other site.
It is valid for as long as the key or token in it. The encryption key is in the store, so every instance can decrypt the
cookies of the others.
"""

from __future__ import annotations

import asyncio
from base64 import urlsafe_b64encode
from collections.abc import Callable
from hashlib import sha256
from typing import TYPE_CHECKING

from tompion.errors import InvalidField
from tompion.operations.resources.api_keys import session_secret
from tompion.operations.runner import OperationRunner

if TYPE_CHECKING:
    from cryptography.fernet import Fernet

COOKIE_NAME = "tompion_session"
MAX_SESSION_S = 12 * 3_600
MAX_COOKIE_CHARS = 4_000
"""Browsers drop longer cookies."""


class SessionCookies:
    """Encrypts and decrypts the credential in a session cookie.

    ``over_tls`` is true if browsers always connect over TLS, even if a proxy terminates it.
    """

    def __init__(self, runner: OperationRunner, now: Callable[[], float], *, over_tls: bool = False) -> None:
        self.over_tls = over_tls
        self._runner = runner
        self._now = now
        self._fernet: Fernet | None = None

    async def encrypt(self, credential: str) -> str:
        """Return the value of the cookie. Raises :class:`~tompion.errors.InvalidField` if it would be too long."""
        value = (await self._load_fernet()).encrypt_at_time(credential.encode(), int(self._now())).decode()
        if len(value) > MAX_COOKIE_CHARS:
            raise InvalidField("credential", "too long for a cookie; sign in with an API key")
        return value

    async def decrypt(self, value: str) -> str | None:
        """Return the credential in a cookie. Returns ``None`` if it has expired or this service did not encrypt it."""
        from cryptography.fernet import InvalidToken

        try:
            return (await self._load_fernet()).decrypt_at_time(value, MAX_SESSION_S, int(self._now())).decode()
        except (InvalidToken, ValueError):
            return None

    async def _load_fernet(self) -> Fernet:
        if self._fernet is None:
            from cryptography.fernet import Fernet

            future = self._runner.send(session_secret, namespace="", actor="auth", writes=True, restricted=False)
            secret = await asyncio.wrap_future(future)
            self._fernet = Fernet(urlsafe_b64encode(sha256(secret.encode()).digest()))
        return self._fernet
