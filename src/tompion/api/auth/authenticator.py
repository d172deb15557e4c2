"""Authentication: from the credentials of a request to the principal that they belong to.

Nothing here depends on a transport. REST and gRPC build :class:`Credentials` from their own requests.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from tompion.api.auth.api_key_cache import ApiKeyCache
from tompion.api.auth.principal import ANY_NAMESPACE, Principal
from tompion.api.auth.session_cookie import SessionCookies
from tompion.contract.roles import Role
from tompion.errors import Unauthenticated
from tompion.model.api_key import PREFIX

if TYPE_CHECKING:
    from tompion.api.auth.jwt import JwtVerifier
    from tompion.api.auth.mtls import CertificateVerifier

MAX_BASIC_CHARS = 1_000


@dataclass(frozen=True, slots=True)
class Credentials:
    """The credentials of one request.

    ``authorization`` has the values of all ``Authorization`` headers. ``session_cookie`` is still encrypted.
    ``peer_certificate`` is the client certificate that TLS has verified, as ``SSLSocket.getpeercert`` describes it.
    """

    authorization: tuple[str, ...] = ()
    session_cookie: str | None = None
    peer_certificate: Mapping[str, Any] | None = None


class Authenticator(Protocol):
    """Finds the principal that credentials belong to."""

    async def authenticate(self, credentials: Credentials) -> Principal:
        """Return the caller. Raises :class:`~tompion.errors.Unauthenticated`."""

    async def authenticate_token(self, text: str) -> Principal:
        """Return the owner of an API key or JWT. Raises :class:`~tompion.errors.Unauthenticated`."""


class OpenAuthenticator:
    """Accepts every caller as an administrator, for a service that only this machine can reach.

    ``actor`` is the name in the audit.
    """

    def __init__(self, actor: str = "local") -> None:
        self._principal = Principal(actor, {ANY_NAMESPACE: Role.ADMIN})

    async def authenticate(self, credentials: Credentials) -> Principal:
        """Return the local administrator."""
        return self._principal

    async def authenticate_token(self, text: str) -> Principal:
        """Return the local administrator."""
        return self._principal


class CredentialAuthenticator:
    """Accepts API keys and, where configured, session cookies, client certificates and JWT.

    A request with an ``Authorization`` header is judged by that header alone. Without one, the session cookie comes
    before the client certificate.
    """

    def __init__(
        self,
        keys: ApiKeyCache,
        tokens: JwtVerifier | None = None,
        certificates: CertificateVerifier | None = None,
        cookies: SessionCookies | None = None,
    ) -> None:
        self._keys = keys
        self._tokens = tokens
        self._certificates = certificates
        self._cookies = cookies

    async def authenticate(self, credentials: Credentials) -> Principal:
        """Return the caller. Raises :class:`~tompion.errors.Unauthenticated`."""
        if len(credentials.authorization) > 1:
            raise Unauthenticated("more than one Authorization header")
        if credentials.authorization:
            return await self._authenticate_header(credentials.authorization[0])
        if self._cookies is not None and credentials.session_cookie is not None:
            return await self.authenticate_token(await self._cookies.decrypt(credentials.session_cookie) or "")
        if self._certificates is not None and credentials.peer_certificate is not None:
            return self._certificates.authenticate(credentials.peer_certificate)
        return await self.authenticate_token("")

    async def authenticate_token(self, text: str) -> Principal:
        """Return the owner of an API key or JWT. Raises :class:`~tompion.errors.Unauthenticated`."""
        if self._tokens is not None and text and not text.startswith(f"{PREFIX}_"):
            return await self._tokens.authenticate(text)
        return await self._keys.authenticate(text)

    async def _authenticate_header(self, value: str) -> Principal:
        scheme, _, text = value.partition(" ")
        if scheme.lower() == "basic":
            return await self._keys.authenticate(_basic_password(text))
        return await self.authenticate_token(text if scheme.lower() == "bearer" else "")


def _basic_password(text: str) -> str:
    """Return the password of basic authentication, which is an API key. The user name is ignored."""
    try:
        return b64decode(text[:MAX_BASIC_CHARS], validate=True).decode().partition(":")[2]
    except ValueError:
        return ""
