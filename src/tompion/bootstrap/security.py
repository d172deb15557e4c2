"""How a service is secured, as a configuration wants it: who is believed, how it is addressed, and with which TLS."""

from __future__ import annotations

import asyncio
import os
import ssl
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tompion.config.loader import CERTIFICATE, ISSUER, REQUIRED, Config
from tompion.errors import InvalidField, display
from tompion.runtime.clock import Clock, SystemClock

if TYPE_CHECKING:
    import uvicorn
    from fastapi import FastAPI

    from tompion.api.auth.authenticator import Authenticator
    from tompion.api.auth.jwt import JwtVerifier
    from tompion.api.auth.mtls import CertificateVerifier
    from tompion.api.auth.session_cookie import SessionCookies
    from tompion.operations.runner import OperationRunner

GRACE_S = 5
"""How long requests that are being answered may take when the service ends."""


def gate_of(
    runner: OperationRunner, told: Config, clock: Clock | None = None, cookies: SessionCookies | None = None
) -> Authenticator:
    """Return what finds out who asks; a clock that is given also says how old fetched keys are."""
    from tompion.api.auth.api_key_cache import ApiKeyCache
    from tompion.api.auth.authenticator import CredentialAuthenticator, OpenAuthenticator

    return (
        CredentialAuthenticator(ApiKeyCache(runner), *_believed(told, clock), cookies)
        if _asks(told)
        else OpenAuthenticator()
    )


def cookies_of(runner: OperationRunner, told: Config, clock: Clock | None = None) -> SessionCookies | None:
    """Return what keeps those who sign in to the page; where nobody is asked who they are, nothing."""
    if not _asks(told):
        return None
    from tompion.api.auth.session_cookie import SessionCookies

    over_tls = str(told.get("public_url")).startswith("https://")
    return SessionCookies(runner, (clock or SystemClock()).now, over_tls=over_tls)


def hosts_of(told: Config) -> tuple[str, ...]:
    """Return the names by which a service may be addressed: those of loopback, its own, and those that it is told."""
    try:
        public = urlsplit(told.get("public_url")).hostname
    except ValueError:
        raise InvalidField("public_url", f"{display(told.get('public_url'))} is no URL") from None
    named = [told.get("host"), *([public] if public else []), *told.get("hosts")]
    for name in told.get("hosts"):
        if "*" in name.removeprefix("*.") and name != "*":
            raise InvalidField("hosts", f"{display(name)}: a star stands alone, or before a dot as in *.example.org")
        if not _is_ipv6(name.strip("[]")) and set(name) & set("/:@ "):
            raise InvalidField("hosts", f"{display(name)}: expected a name or an address, without a port")
    return ("127.0.0.1", "localhost", "[::1]", *(f"[{name}]" if _is_ipv6(name) else name for name in named))


def server_config(app: FastAPI, told: Config) -> uvicorn.Config:
    """Return how an application is served: in the clear, with TLS, or with TLS and certificates of clients."""
    import uvicorn

    from tompion.api.rest.server.slow_clients import SlowClientProtocol

    tls: dict[str, Any] = {"http": SlowClientProtocol}
    if told.get("tls_cert"):
        tls |= {"ssl_certfile": told.get("tls_cert"), "ssl_keyfile": told.get("tls_key")}
    if told.get("tls_client_ca"):
        from tompion.api.rest.server.tls import ClientCertificateProtocol

        demanded = ssl.CERT_REQUIRED if told.get("tls_client") == REQUIRED else ssl.CERT_OPTIONAL
        tls |= {"http": ClientCertificateProtocol, "ssl_ca_certs": told.get("tls_client_ca"), "ssl_cert_reqs": demanded}
    log_config = uvicorn.config.LOGGING_CONFIG if told.get("log_format") == "text" else None
    return uvicorn.Config(
        app,
        log_level="warning",
        log_config=log_config,
        timeout_graceful_shutdown=GRACE_S,
        server_header=False,  # nobody is told which server this is
        **tls,
    )


def check_exposure(told: Config) -> None:
    """Raise if others could reach a service that lets everybody in, or if what it is told of callers cannot be used."""
    host = told.get("host")
    if not _asks(told) and not _is_loopback(host):
        raise InvalidField(
            "host",
            f"{host}: only a loopback address such as 127.0.0.1, unless auth is '{REQUIRED}' (--auth {REQUIRED})",
        )
    temporal = told.get("temporal_address").rpartition(":")[0]
    if temporal and not _asks(told) and not _is_loopback(temporal.strip("[]")):
        raise InvalidField(
            "temporal_address", f"{temporal}: only a loopback address, unless auth is '{REQUIRED}' (--auth {REQUIRED})"
        )
    _refuse_useless(told)
    if told.get("tls_cert"):
        from tompion.api.rest.server.tls import check_tls_files

        check_tls_files(told.get("tls_cert"), told.get("tls_key"), told.get("tls_client_ca"))
    hosts_of(told)
    if _asks(told):
        _believed(told)


def _refuse_useless(told: Config) -> None:
    """Raise if a service is told whom to believe, and not to ask; or of certificates that nobody can show."""
    client_ca = told.get("tls_client_ca")
    given = {f"[[{ISSUER}]]": told.issuers, f"[[{CERTIFICATE}]]": told.certificates, "tls_client_ca": client_ca}
    useless = next((name for name, value in given.items() if value), None)
    if useless and not _asks(told):
        raise InvalidField("auth", f"{useless} is there, and nobody is asked who they are; set auth to '{REQUIRED}'")
    if bool(told.get("tls_cert")) != bool(told.get("tls_key")):
        raise InvalidField("tls_cert", "a certificate and its key, tls_key, come together")
    if client_ca and not told.get("tls_cert"):
        raise InvalidField("tls_client_ca", "clients show certificates over TLS only: tls_cert and tls_key")
    if told.certificates and not client_ca:
        raise InvalidField("tls_client_ca", f"[[{CERTIFICATE}]] is there, and nobody who signs certificates")


def _asks(told: Config) -> bool:
    return bool(told.get("auth") == REQUIRED)


def _believed(told: Config, clock: Clock | None = None) -> tuple[JwtVerifier | None, CertificateVerifier | None]:
    """Return who knows the tokens and the certificates that are believed."""
    from tompion.api.auth.issuers import read_issuers
    from tompion.api.auth.jwt import JwtVerifier
    from tompion.api.auth.mtls import CertificateVerifier, read_certificates

    path, now = str(told.path), (clock or SystemClock()).now
    elapsed = clock.now if clock else lambda: asyncio.get_running_loop().time()
    issuers = read_issuers(told.issuers, path, os.environ, elapsed)
    known = read_certificates(told.certificates, path)
    return (
        JwtVerifier(issuers, now) if issuers else None,
        CertificateVerifier(known, now) if told.get("tls_client_ca") else None,
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
