"""Client certificates: ``[[certificate]]`` blocks, and who it is that shows one.

That the client CA has signed a certificate, and that it is valid now, TLS has checked.  Who it is stands in it: its
URIs come first, then its DNS names; its common name counts only if it has neither.  The first of these that a block
names says which roles there are.
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

URI, DNS, NAME = KINDS = ("uri", "dns", "cn")


Identity: TypeAlias = tuple[str, str]


class CertificateVerifier:
    """Says who shows a certificate."""

    def __init__(self, known: Mapping[Identity, Mapping[str, Role]], now: Callable[[], float]) -> None:
        """Take the roles of those who are known, and what tells the time."""
        self._known = known
        self._now = now

    def caller(self, shown: Mapping[str, Any]) -> Principal:
        """Return whose certificate it is, as ``SSLSocket.getpeercert`` describes it.

        A connection may outlive the certificate that it began with; then that is worth nothing any more.
        """
        if ssl.cert_time_to_seconds(shown["notAfter"]) <= self._now():
            raise Unauthenticated("this certificate has expired")
        for identity in identities(shown):
            if identity in self._known:
                return Principal(f"certificate {' '.join(identity)}", self._known[identity])
        raise Unauthenticated("nobody is known here by this certificate")


def identities(shown: Mapping[str, Any]) -> Iterator[Identity]:
    """Yield who somebody is by their certificate, what counts first first."""
    others: Sequence[tuple[str, str]] = shown.get("subjectAltName", ())
    uris = [(URI, value) for kind, value in others if kind == "URI"]
    names = [(DNS, value.lower()) for kind, value in others if kind == "DNS"]
    yield from (*uris, *names)
    if not uris and not names:
        common = [value for part in shown.get("subject", ()) for kind, value in part if kind == "commonName"]
        if len(common) == 1:
            yield NAME, common[0]


def read_certificates(blocks: Sequence[Mapping[str, Any]], path: str) -> dict[Identity, dict[str, Role]]:
    """Return the roles of those whom a file names; raises :class:`~tompion.errors.InvalidField`."""
    found: dict[Identity, dict[str, Role]] = {}
    for number, fields in enumerate(blocks, 1):
        block = Block(f"{path}: [[certificate]] number {number}", fields, (*KINDS, "roles"))
        given = block.given(*KINDS)
        if len(given) != 1:
            block.refuse(given[-1] if given else URI, f"expected exactly one of {', '.join(KINDS)}")
        kind, value = given[0], block.text(given[0])
        identity = (kind, value.lower() if kind == DNS else value)
        if identity in found:
            block.refuse(kind, f"{value!r} is there twice")
        found[identity] = block.roles("roles")
    return found


def described(pem: bytes) -> dict[str, Any]:
    """Return a certificate as ``SSLSocket.getpeercert`` describes one: its names, and when it ends."""
    certificate = x509.load_pem_x509_certificate(pem)
    common = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return {
        "subject": tuple((("commonName", str(each.value)),) for each in common),
        "subjectAltName": _other_names(certificate),
        "notAfter": f"{certificate.not_valid_after_utc:%b %d %H:%M:%S %Y} GMT",
    }


def _other_names(certificate: x509.Certificate) -> tuple[tuple[str, str], ...]:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return ()
    return (
        *(("URI", each) for each in names.get_values_for_type(x509.UniformResourceIdentifier)),
        *(("DNS", each) for each in names.get_values_for_type(x509.DNSName)),
    )
