"""Security of a service from its configuration: authentication, host names, exposure and TLS."""

from __future__ import annotations

import asyncio
import os
import ssl
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tompion.config.schema import AUTH_REQUIRED, CERTIFICATE, CLIENT_CERTIFICATE_REQUIRED, ISSUER, Config
from tompion.errors import InvalidField, display
from tompion.runtime.clock import Clock, SystemClock

if TYPE_CHECKING:
    import uvicorn
    from starlette.applications import Starlette

    from tompion.api.auth.authenticator import Authenticator
    from tompion.api.auth.jwt import JwtVerifier
    from tompion.api.auth.mtls import CertificateVerifier
    from tompion.api.auth.session_cookie import SessionCookies
    from tompion.operations.runner import OperationRunner

MAX_SHUTDOWN_S = 5
"""Time that open requests have to complete when the service stops."""


def build_authenticator(
    runner: OperationRunner, config: Config, clock: Clock | None = None, cookies: SessionCookies | None = None
) -> Authenticator:
    """Return the authenticator. A clock that is passed also measures the age of fetched keys."""
    from tompion.api.auth.api_key_cache import ApiKeyCache
    from tompion.api.auth.authenticator import CredentialAuthenticator, OpenAuthenticator

    if not _requires_credentials(config):
        return OpenAuthenticator()
    return CredentialAuthenticator(ApiKeyCache(runner), *_build_verifiers(config, clock), cookies)


def build_session_cookies(runner: OperationRunner, config: Config, clock: Clock | None = None) -> SessionCookies | None:
    """Return the sessions of the web UI, or ``None`` if the service needs no credentials."""
    if not _requires_credentials(config):
        return None
    from tompion.api.auth.session_cookie import SessionCookies

    over_tls = config.public_url.startswith("https://")
    return SessionCookies(runner, (clock or SystemClock()).now, over_tls=over_tls)


def allowed_hosts(config: Config) -> tuple[str, ...]:
    """Return the host names that a request may have: loopback, the service's own and the configured ones."""
    try:
        public_host = urlsplit(config.public_url).hostname
    except ValueError:
        raise InvalidField("public_url", f"{display(config.public_url)} is not a URL") from None
    for name in config.hosts:
        if "*" in name.removeprefix("*.") and name != "*":
            raise InvalidField("hosts", f"{display(name)}: use * alone, or before a dot as in *.example.org")
        if not _is_ipv6(name.strip("[]")) and set(name) & set("/:@ "):
            raise InvalidField("hosts", f"{display(name)}: expected a name or an address, without a port")
    names = [config.host, *([public_host] if public_host else []), *config.hosts]
    return ("127.0.0.1", "localhost", "[::1]", *(f"[{name}]" if _is_ipv6(name) else name for name in names))


def server_config(app: Starlette, config: Config) -> uvicorn.Config:
    """Return the server's configuration: plain HTTP, TLS, or TLS with client certificates."""
    import uvicorn

    from tompion.api.rest.server.slow_clients import SlowClientProtocol

    options: dict[str, Any] = {"http": SlowClientProtocol}
    if config.tls_cert:
        options |= {"ssl_certfile": config.tls_cert, "ssl_keyfile": config.tls_key}
    if config.tls_client_ca:
        from tompion.api.rest.server.tls import ClientCertificateProtocol

        is_required = config.tls_client == CLIENT_CERTIFICATE_REQUIRED
        options |= {
            "http": ClientCertificateProtocol,
            "ssl_ca_certs": config.tls_client_ca,
            "ssl_cert_reqs": ssl.CERT_REQUIRED if is_required else ssl.CERT_OPTIONAL,
        }
    return uvicorn.Config(
        app,
        log_level="warning",
        log_config=None,  # the log of the process prints what uvicorn logs
        timeout_graceful_shutdown=MAX_SHUTDOWN_S,
        server_header=False,  # do not reveal the server's software
        **options,
    )


def check_exposure(config: Config) -> None:
    """Raise if an open service would be reachable from other machines, or if the security options are inconsistent."""
    required = f"unless auth is '{AUTH_REQUIRED}' (--auth {AUTH_REQUIRED})"
    if not _requires_credentials(config):
        if not _is_loopback(config.host):
            raise InvalidField("host", f"{config.host}: only a loopback address such as 127.0.0.1, {required}")
        temporal_host = config.temporal_address.rpartition(":")[0]
        if temporal_host and not _is_loopback(temporal_host.strip("[]")):
            raise InvalidField("temporal_address", f"{temporal_host}: only a loopback address, {required}")
    _check_consistency(config)
    if config.tls_cert:
        from tompion.api.rest.server.tls import check_tls_files

        check_tls_files(config.tls_cert, config.tls_key, config.tls_client_ca)
    allowed_hosts(config)
    if _requires_credentials(config):
        _build_verifiers(config)


def _check_consistency(config: Config) -> None:
    """Raise if a credential is configured that the service would never check."""
    credentials = {
        f"[[{ISSUER}]]": config.issuers,
        f"[[{CERTIFICATE}]]": config.certificates,
        "tls_client_ca": config.tls_client_ca,
    }
    unused = next((name for name, value in credentials.items() if value), None)
    if unused and not _requires_credentials(config):
        raise InvalidField("auth", f"{unused} is set, but no credentials are checked; set auth to '{AUTH_REQUIRED}'")
    if bool(config.tls_cert) != bool(config.tls_key):
        raise InvalidField("tls_cert", "tls_cert and tls_key must be set together")
    if config.tls_client_ca and not config.tls_cert:
        raise InvalidField("tls_client_ca", "client certificates need TLS; set tls_cert and tls_key")
    if config.certificates and not config.tls_client_ca:
        raise InvalidField("tls_client_ca", f"[[{CERTIFICATE}]] is set, but no authority that signs certificates")


def _requires_credentials(config: Config) -> bool:
    return config.auth == AUTH_REQUIRED


def _build_verifiers(
    config: Config, clock: Clock | None = None
) -> tuple[JwtVerifier | None, CertificateVerifier | None]:
    """Return the verifiers of tokens and of client certificates."""
    from tompion.api.auth.issuers import read_issuers
    from tompion.api.auth.jwt import JwtVerifier
    from tompion.api.auth.mtls import CertificateVerifier, read_certificates

    path, now = str(config.path), (clock or SystemClock()).now
    elapsed = clock.now if clock else lambda: asyncio.get_running_loop().time()
    issuers = read_issuers(config.issuers, path, os.environ, elapsed)
    certificates = read_certificates(config.certificates, path)
    return (
        JwtVerifier(issuers, now) if issuers else None,
        CertificateVerifier(certificates, now) if config.tls_client_ca else None,
    )


def _is_ipv6(host: str) -> bool:
    try:
        return ip_address(host).version == 6
    except ValueError:
        return False


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
