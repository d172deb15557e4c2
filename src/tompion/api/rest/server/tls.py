"""TLS: the context that a service listens with, and whose certificate stands behind a connection."""

from __future__ import annotations

import asyncio
import ssl
from typing import Any

from tompion.api.auth.authenticator import PEER
from tompion.api.rest.server.slow_clients import SlowClientProtocol
from tompion.errors import InvalidField


class ClientCertificateProtocol(SlowClientProtocol):
    """HTTP/1.1 that tells the application which certificate the other side has shown, once TLS has checked it."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in the base class
        """Remember the certificate for every request of the connection."""
        super().connection_made(transport)
        tls = transport.get_extra_info("ssl_object")
        certificate = None if tls is None else tls.getpeercert()
        if certificate:
            self.app = _with_peer(self.app, certificate)


def _with_peer(app: Any, certificate: Any) -> Any:
    async def with_peer(scope: Any, receive: Any, send: Any) -> None:
        await app({**scope, PEER: certificate}, receive, send)

    return with_peer


def check_tls_files(cert: str, key: str, client_ca: str) -> None:
    """Raise if the files of a service's TLS cannot be used, naming the setting."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(cert, key, password="")  # without one, OpenSSL would ask whoever sits at the terminal
    except (OSError, ValueError) as error:
        raise InvalidField("tls_cert", f"{cert} and {key} cannot be used: {_said(error)}") from None
    if client_ca:
        try:
            context.load_verify_locations(client_ca)
        except (OSError, ValueError) as error:
            raise InvalidField("tls_client_ca", f"{client_ca} cannot be used: {_said(error)}") from None


def _said(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return (error.reason or "it is no PEM file").lower().replace("_", " ")
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)
