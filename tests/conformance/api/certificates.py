"""Certificates of clients, with names of any kind, and a service that knows who signs them."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tests.support.service import Http, Served, runner_of
from tompion.config.loader import load
from tompion.runtime.clock import SystemClock
from tompion.store.sqlite.driver import SqliteStore
from tompion.testing.clock import ManualClock

FILE = """
auth = "required"

[[certificate]]
uri = "spiffe://example.org/robot"
roles = { default = "editor" }

[[certificate]]
dns = "Reader.example.org"
roles = { default = "reader", reports = "operator" }

[[certificate]]
cn = "ann"
roles = { "*" = "admin" }
"""


class Authority:
    """A certificate authority."""

    def __init__(self) -> None:
        self.ca = trustme.CA()

    def issue(
        self,
        directory: Path,
        *,
        uris: tuple[str, ...] = (),
        names: tuple[str, ...] = (),
        common: str | None = None,
        ends_in: timedelta = timedelta(days=1),
        usage: x509.ObjectIdentifier = ExtendedKeyUsageOID.CLIENT_AUTH,
    ) -> Path:
        """A certificate and its key in one file."""
        signing: Any = load_pem_private_key(self.ca.private_key_pem.bytes(), None)
        above = x509.load_pem_x509_certificate(self.ca.cert_pem.bytes())
        key, now = ec.generate_private_key(ec.SECP256R1()), datetime.fromtimestamp(SystemClock().now(), UTC)
        subject = [x509.NameAttribute(NameOID.COMMON_NAME, common)] if common else []
        others = [*map(x509.UniformResourceIdentifier, uris), *map(x509.DNSName, names)]
        built = (
            x509.CertificateBuilder()
            .subject_name(x509.Name(subject))
            .issuer_name(above.subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=10))
            .not_valid_after(now + ends_in)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        )
        if others:
            built = built.add_extension(x509.SubjectAlternativeName(others), critical=not subject)
        certificate = built.sign(signing, hashes.SHA256())
        path = directory / f"{certificate.serial_number}.pem"
        private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        path.write_bytes(private + certificate.public_bytes(Encoding.PEM))
        return path


class TlsService:
    """A service with TLS, the authority that it believes, and one that it does not."""

    def __init__(self, directory: Path, **flags: object) -> None:
        self.directory = directory
        self.authority, self.stranger = Authority(), Authority()
        self._server = trustme.CA()
        here = self._server.issue_cert("127.0.0.1", "localhost")
        here.cert_chain_pems[0].write_to_path(directory / "cert.pem")
        here.private_key_pem.write_to_path(directory / "key.pem")
        self.server_ca = directory / "server.pem"
        self._server.cert_pem.write_to_path(self.server_ca)
        self.authority.ca.cert_pem.write_to_path(directory / "clients.pem")
        (directory / "tompion.toml").write_text(FILE)
        files = {"tls_cert": "cert.pem", "tls_key": "key.pem", "tls_client_ca": "clients.pem"}
        options = {**{name: str(directory / file) for name, file in files.items()}, **flags}
        self.config = load({}, options, str(directory / "tompion.toml"))
        self.clock = ManualClock(SystemClock().now())
        self.store = SqliteStore(clock=self.clock)
        self.runner = runner_of(self.store)
        self.served = Served(self.runner, self.config, self.clock)
        self.url = self.served.url

    def context(self, certificate: Path | None = None) -> ssl.SSLContext:
        """TLS that believes the service, and shows it a certificate."""
        context = ssl.create_default_context()
        self._server.configure_trust(context)
        if certificate is not None:
            context.load_cert_chain(certificate)
        return context

    def issue(self, **names: Any) -> ssl.SSLContext:
        """TLS with a certificate of the authority that the service believes."""
        return self.context(self.authority.issue(self.directory, **names))

    @contextmanager
    def http(self, context: ssl.SSLContext) -> Iterator[Http]:
        http = Http(self.url, context)
        try:
            yield http
        finally:
            http.close()

    def close(self) -> None:
        self.served.close()
        self.store.close()


@contextmanager
def tls_service(directory: Path, **flags: object) -> Iterator[TlsService]:
    service = TlsService(directory, **flags)
    try:
        yield service
    finally:
        service.close()
