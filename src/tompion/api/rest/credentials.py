"""The gate of a service that wants to know who asks: by an API key, a signed token, or a client certificate.

What a request shows by itself counts first: a certificate, which belongs to the connection, is looked at only if there
is no ``Authorization`` and nobody has signed in.  A key or token that is worth nothing is refused, whatever
certificate comes with it.
"""

from __future__ import annotations

from base64 import b64decode
from typing import TYPE_CHECKING

from starlette.requests import Request

from tompion.api.rest.cookies import Cookies
from tompion.api.rest.gate import Caller, Keys
from tompion.errors import Unauthenticated
from tompion.model.key import PREFIX

if TYPE_CHECKING:
    from tompion.api.rest.certificates import Certificates
    from tompion.api.rest.tokens import Tokens

LONGEST_BASIC = 1_000
PEER = "tompion.peer"
"""Where the server puts the certificate of whoever is connected."""


class CredentialGate:
    """Lets in whoever shows what one of its parts believes."""

    def __init__(
        self,
        keys: Keys,
        tokens: Tokens | None = None,
        certificates: Certificates | None = None,
        cookies: Cookies | None = None,
    ) -> None:
        """Take who knows keys, tokens, certificates, and the cookies of those who have signed in."""
        self._cookies = cookies
        self._keys = keys
        self._tokens = tokens
        self._certificates = certificates

    async def caller(self, request: Request) -> Caller:
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

    async def believed(self, text: str) -> Caller:
        """Return whose key or token it is."""
        if self._tokens is not None and text and not text.startswith(f"{PREFIX}_"):
            return await self._tokens.caller(text)
        return await self._keys.caller_with(text)


def _password(text: str) -> str:
    """Return the password of basic authentication, which is a key; the name does not matter."""
    try:
        return b64decode(text[:LONGEST_BASIC], validate=True).decode().partition(":")[2]
    except ValueError:
        return ""
