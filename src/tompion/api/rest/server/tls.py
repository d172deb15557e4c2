"""TLS: the client certificate of a connection, and the check of the server's files."""

from __future__ import annotations

import asyncio
import ssl
from typing import Any

from tompion.api.rest.credentials import PEER_CERTIFICATE
from tompion.api.rest.server.slow_clients import SlowClientProtocol
from tompion.errors import InvalidField


class ClientCertificateProtocol(SlowClientProtocol):
    """HTTP/1.1 that puts the verified client certificate into the ASGI scope."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in the base class
        """Keep the certificate for all requests of the connection."""
        super().connection_made(transport)
        tls = transport.get_extra_info("ssl_object")
        certificate = None if tls is None else tls.getpeercert()
        if certificate:
            self.app = _with_certificate(self.app, certificate)


def _with_certificate(app: Any, certificate: Any) -> Any:
    async def with_certificate(scope: Any, receive: Any, send: Any) -> None:
        await app({**scope, PEER_CERTIFICATE: certificate}, receive, send)

    return with_certificate


def check_tls_files(cert: str, key: str, client_ca: str) -> None:
    """Raise if a TLS file of the service cannot be used. The error names the setting."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(cert, key, password="")  # without a password, OpenSSL would prompt on the terminal
    except (OSError, ValueError) as error:
        raise InvalidField("tls_cert", f"{cert} and {key} cannot be used: {_reason(error)}") from None
    if client_ca:
        try:
            context.load_verify_locations(client_ca)
        except (OSError, ValueError) as error:
            raise InvalidField("tls_client_ca", f"{client_ca} cannot be used: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return (error.reason or "not a PEM file").lower().replace("_", " ")
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)
