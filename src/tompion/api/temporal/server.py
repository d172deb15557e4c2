"""The gRPC server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc

from tompion.api.auth.authenticator import Credentials
from tompion.api.auth.mtls import certificate_from_pem
from tompion.api.temporal.dispatcher import Dispatcher
from tompion.api.temporal.errors import GrpcError
from tompion.api.temporal.reflection import METHODS, reflect
from tompion.errors import InvalidField

STATUS_DETAILS = "grpc-status-details-bin"
MAX_MESSAGE_BYTES = 4 * 1024 * 1024
MAX_METADATA_BYTES = 16 * 1024
KEEPALIVE_OPTIONS = (("grpc.keepalive_permit_without_calls", 1), ("grpc.http2.max_ping_strikes", 0))
"""Allow keepalive pings without active calls. Temporal's SDKs ping every 30 s, which gRPC would reject with
``too_many_pings``."""
MAX_SHUTDOWN_S = 5.0
"""Active calls have this much time when the server stops."""
STATUS_CODES = {code.value[0]: code for code in grpc.StatusCode}


@dataclass(frozen=True, slots=True)
class GrpcTls:
    """The TLS files of the server. With ``client_ca``, clients must have a certificate that it has signed."""

    cert: str
    key: str
    client_ca: str = ""


class CallHandler(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpcio has no types
    """Passes every call to the dispatcher, which knows the methods."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher

    def service(self, details: Any) -> Any:
        """Return the handler of a call."""
        if details.method in METHODS:
            return grpc.stream_stream_rpc_method_handler(_reflect)

        async def handle(body: bytes, context: Any) -> bytes:
            try:
                return await self._dispatcher.dispatch(details.method, body, credentials_of(context))
            except GrpcError as error:
                await context.abort(STATUS_CODES[error.code], error.message, ((STATUS_DETAILS, error.status),))
                raise

        return grpc.unary_unary_rpc_method_handler(handle)


class TemporalServer:
    """Serves a dispatcher at an address ``host:port``. Port 0 is any free port."""

    def __init__(self, dispatcher: Dispatcher, address: str, tls: GrpcTls | None = None) -> None:
        host, _, port = address.rpartition(":")
        if not host or not port.isdecimal() or int(port) > 65_535:
            raise InvalidField("temporal_address", f"{address!r}; expected host:port, such as 127.0.0.1:7233")
        self._address = address
        self._host = host
        self._dispatcher = dispatcher
        self._tls = tls
        self._server: Any = None

    async def start(self) -> str:
        """Start to listen and return the address."""
        options = [
            ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
            ("grpc.max_metadata_size", MAX_METADATA_BYTES),
            ("grpc.so_reuseport", 0),
            *KEEPALIVE_OPTIONS,
        ]
        self._server = grpc.aio.server(handlers=(CallHandler(self._dispatcher),), options=options)
        try:
            if self._tls is None:
                port = self._server.add_insecure_port(self._address)
            else:
                port = self._server.add_secure_port(self._address, _server_credentials(self._tls))
        except RuntimeError:
            port = 0
        if not port:
            raise InvalidField("temporal_address", f"cannot listen on {self._address}")
        await self._server.start()
        return f"{self._host}:{port}"

    async def stop(self) -> None:
        """Stop after the active calls have completed."""
        await self._server.stop(MAX_SHUTDOWN_S)


async def _reflect(requests: AsyncIterator[bytes], _context: Any) -> AsyncIterator[bytes]:
    async for request in requests:
        yield reflect(request)


def credentials_of(context: Any) -> Credentials:
    """Return the credentials of a call: its metadata ``authorization`` and its verified client certificate."""
    values = [value for key, value in context.invocation_metadata() or () if key == "authorization"]
    certificates = context.auth_context().get("x509_pem_cert")
    return Credentials(
        authorization=tuple(value.decode("latin-1") if isinstance(value, bytes) else value for value in values),
        peer_certificate=certificate_from_pem(certificates[0]) if certificates else None,
    )


def _server_credentials(tls: GrpcTls) -> Any:
    authority = Path(tls.client_ca).read_bytes() if tls.client_ca else None
    pairs = [(Path(tls.key).read_bytes(), Path(tls.cert).read_bytes())]
    return grpc.ssl_server_credentials(pairs, authority, require_client_auth=authority is not None)
