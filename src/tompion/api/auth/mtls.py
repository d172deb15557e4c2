"""Client certificates: the ``[[certificate]]`` blocks, and the principal that a certificate belongs to.

TLS has verified the certificate's signature and validity before. Its URIs are tried first, then its DNS names. The
common name is used only if the certificate has neither. The first name with a block gives the roles.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from cryptography import x509
from cryptography.x509.oid import NameOID

from tompion.api.auth.config_blocks import Block
from tompion.api.auth.principal import Principal
from tompion.contract.roles import Role
from tompion.errors import Unauthenticated

URI, DNS, COMMON_NAME = KINDS = ("uri", "dns", "cn")
Identity: TypeAlias = tuple[str, str]


class CertificateVerifier:
    """Finds the principal of a client certificate by the names in it."""

    def __init__(self, roles: Mapping[Identity, Mapping[str, Role]], now: Callable[[], float]) -> None:
        self._roles = roles
        self._now = now

    def authenticate(self, certificate: Mapping[str, Any]) -> Principal:
        """Return the owner of a certificate that ``SSLSocket.getpeercert`` describes.

        A connection can outlive the certificate that it began with, so the end is checked again.
        """
        if ssl.cert_time_to_seconds(certificate["notAfter"]) <= self._now():
            raise Unauthenticated("the client certificate has expired")
        for identity in identities(certificate):
            if identity in self._roles:
                return Principal(f"certificate {' '.join(identity)}", self._roles[identity])
        raise Unauthenticated("no [[certificate]] block names this client certificate")


def identities(certificate: Mapping[str, Any]) -> Iterator[Identity]:
    """Yield the names in a certificate in the order in which they are tried."""
    alternatives: Sequence[tuple[str, str]] = certificate.get("subjectAltName", ())
    uris = [(URI, value) for kind, value in alternatives if kind == "URI"]
    names = [(DNS, value.lower()) for kind, value in alternatives if kind == "DNS"]
    yield from (*uris, *names)
    if not uris and not names:
        common = [value for part in certificate.get("subject", ()) for kind, value in part if kind == "commonName"]
        if len(common) == 1:
            yield COMMON_NAME, common[0]


def read_certificates(blocks: Sequence[Mapping[str, Any]], path: str) -> dict[Identity, dict[str, Role]]:
    """Return the roles of each identity in a file. Raises :class:`~tompion.errors.InvalidField`."""
    roles: dict[Identity, dict[str, Role]] = {}
    for number, fields in enumerate(blocks, 1):
        block = Block(f"{path}: [[certificate]] number {number}", fields, (*KINDS, "roles"))
        kinds = block.present(*KINDS)
        if len(kinds) != 1:
            block.refuse(kinds[-1] if kinds else URI, f"expected exactly one of {', '.join(KINDS)}")
        kind, value = kinds[0], block.text(kinds[0])
        identity = (kind, value.lower() if kind == DNS else value)
        if identity in roles:
            block.refuse(kind, f"{value!r} is used twice")
        roles[identity] = block.roles("roles")
    return roles


def certificate_from_pem(pem: bytes) -> dict[str, Any]:
    """Return the names and the end of a certificate in the form of ``SSLSocket.getpeercert``."""
    certificate = x509.load_pem_x509_certificate(pem)
    common = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return {
        "subject": tuple((("commonName", str(attribute.value)),) for attribute in common),
        "subjectAltName": _alternative_names(certificate),
        "notAfter": f"{certificate.not_valid_after_utc:%b %d %H:%M:%S %Y} GMT",
    }


def _alternative_names(certificate: x509.Certificate) -> tuple[tuple[str, str], ...]:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return ()
    return (
        *(("URI", uri) for uri in names.get_values_for_type(x509.UniformResourceIdentifier)),
        *(("DNS", name) for name in names.get_values_for_type(x509.DNSName)),
    )
