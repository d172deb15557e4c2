"""The gRPC server: it listens, and hands each call to the door as bytes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc

from tompion.api.auth.mtls import described
from tompion.api.temporal.dispatcher import Dispatcher
from tompion.api.temporal.errors import GrpcError
from tompion.api.temporal.reflection import METHODS, reflected
from tompion.errors import InvalidField

DETAILS = "grpc-status-details-bin"
MAX_MESSAGE_BYTES = 4 * 1024 * 1024
MAX_METADATA_BYTES = 16 * 1024
ALIVE = (("grpc.keepalive_permit_without_calls", 1), ("grpc.http2.max_ping_strikes", 0))
"""Clients may ask whether we are there, calls or not: Temporal's SDKs do every 30 s, which gRPC takes for an abuse."""
GRACE_S = 5.0
"""How long calls that are being answered may take when the server ends."""
CODES = {code.value[0]: code for code in grpc.StatusCode}


@dataclass(frozen=True, slots=True)
class GrpcTls:
    """The files of a server's TLS; with ``client_ca``, whoever connects shows a certificate that it has signed."""

    cert: str
    key: str
    client_ca: str = ""


class CallHandler(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpcio has no types
    """Takes every call, whatever its name: the door says which there are."""

    def __init__(self, door: Dispatcher) -> None:
        """Take the door."""
        self._door = door

    def service(self, details: Any) -> Any:
        """Return who answers a call."""
        if details.method in METHODS:
            return grpc.stream_stream_rpc_method_handler(_reflect)

        async def answer(body: bytes, context: Any) -> bytes:
            said = tuple(context.invocation_metadata() or ())
            try:
                return await self._door.answer(details.method, body, said, _peer(context))
            except GrpcError as refused:
                await context.abort(CODES[refused.code], refused.message, ((DETAILS, refused.status),))
                raise

        return grpc.unary_unary_rpc_method_handler(answer)


class TemporalServer:
    """A door that listens."""

    def __init__(self, door: Dispatcher, address: str, tls: GrpcTls | None = None) -> None:
        """Take where to listen: a host and a port, of which 0 is any free one."""
        host, _, port = address.rpartition(":")
        if not host or not port.isdecimal() or int(port) > 65_535:
            raise InvalidField("temporal_address", f"{address!r}; expected host:port, such as 127.0.0.1:7233")
        self._address = address
        self._host = host
        self._door = door
        self._tls = tls
        self._server: Any = None

    async def start(self) -> str:
        """Listen; return the address."""
        options = [
            ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
            ("grpc.max_metadata_size", MAX_METADATA_BYTES),
            ("grpc.so_reuseport", 0),
            *ALIVE,
        ]
        self._server = grpc.aio.server(handlers=(CallHandler(self._door),), options=options)
        try:
            if self._tls is None:
                port = self._server.add_insecure_port(self._address)
            else:
                port = self._server.add_secure_port(self._address, _credentials(self._tls))
        except RuntimeError:
            port = 0
        if not port:
            raise InvalidField("temporal_address", f"cannot listen on {self._address}")
        await self._server.start()
        return f"{self._host}:{port}"

    async def stop(self) -> None:
        """End, after the calls that are being answered."""
        await self._server.stop(GRACE_S)


async def _reflect(questions: AsyncIterator[bytes], _context: Any) -> AsyncIterator[bytes]:
    async for question in questions:
        yield reflected(question)


def _peer(context: Any) -> Mapping[str, Any] | None:
    shown = context.auth_context().get("x509_pem_cert")
    return described(shown[0]) if shown else None


def _credentials(tls: GrpcTls) -> Any:
    authority = Path(tls.client_ca).read_bytes() if tls.client_ca else None
    pairs = [(Path(tls.key).read_bytes(), Path(tls.cert).read_bytes())]
    return grpc.ssl_server_credentials(pairs, authority, require_client_auth=authority is not None)
