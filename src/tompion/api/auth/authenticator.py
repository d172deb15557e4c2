"""Who asks, and what they may do.

Every route names the least role that may use it; one that names none is refused when the application is made.  A role
is held in a namespace, or in all of them.
"""

from __future__ import annotations

from base64 import b64decode
from typing import TYPE_CHECKING, Protocol

from starlette.requests import Request

from tompion.api.auth.api_key_cache import ApiKeyCache
from tompion.api.auth.principal import ANY_NAMESPACE, Principal
from tompion.api.auth.session_cookie import SessionCookies
from tompion.contract.roles import Role
from tompion.errors import Unauthenticated
from tompion.model.security import PREFIX

if TYPE_CHECKING:
    from tompion.api.auth.jwt import JwtVerifier
    from tompion.api.auth.mtls import CertificateVerifier


class Authenticator(Protocol):
    """Finds out who asks."""

    async def caller(self, request: Request) -> Principal:
        """Return who asks; raises :class:`~tompion.errors.Unauthenticated` for whoever cannot be believed."""

    async def believed(self, text: str) -> Principal:
        """Return whose key or token it is; raises :class:`~tompion.errors.Unauthenticated`."""


class OpenAuthenticator:
    """Lets everybody in, as whoever runs the service: for a service that only this machine can reach."""

    def __init__(self, actor: str = "local") -> None:
        """Take the name that stands in the audit."""
        self._caller = Principal(actor, {ANY_NAMESPACE: Role.ADMIN})

    async def caller(self, request: Request) -> Principal:
        """Return the one caller that there is."""
        return self._caller

    async def believed(self, text: str) -> Principal:
        """Return the one caller that there is."""
        return self._caller


MAX_BASIC_CHARS = 1_000


PEER = "tompion.peer"
"""Where the server puts the certificate of whoever is connected."""


class CredentialAuthenticator:
    """Lets in whoever shows what one of its parts believes."""

    def __init__(
        self,
        keys: ApiKeyCache,
        tokens: JwtVerifier | None = None,
        certificates: CertificateVerifier | None = None,
        cookies: SessionCookies | None = None,
    ) -> None:
        """Take who knows keys, tokens, certificates, and the cookies of those who have signed in."""
        self._cookies = cookies
        self._keys = keys
        self._tokens = tokens
        self._certificates = certificates

    async def caller(self, request: Request) -> Principal:
        """Return who asks."""
        shown = request.headers.getlist("authorization")
        if len(shown) > 1:
            raise Unauthenticated("there is more than one Authorization")
        if not shown and self._cookies is not None and (signed_in := await self._cookies.opened(request)) is not None:
            return await self.believed(signed_in)
        peer = request.scope.get(PEER)
        if not shown and self._certificates is not None and peer is not None:
            return self._certificates.caller(peer)
        scheme, _, text = shown[0].partition(" ") if shown else ("", "", "")
        if scheme.lower() == "basic":
            return await self._keys.caller_with(_password(text))
        return await self.believed(text if scheme.lower() == "bearer" else "")

    async def believed(self, text: str) -> Principal:
        """Return whose key or token it is."""
        if self._tokens is not None and text and not text.startswith(f"{PREFIX}_"):
            return await self._tokens.caller(text)
        return await self._keys.caller_with(text)


def _password(text: str) -> str:
    """Return the password of basic authentication, which is a key; the name does not matter."""
    try:
        return b64decode(text[:MAX_BASIC_CHARS], validate=True).decode().partition(":")[2]
    except ValueError:
        return ""
