"""Whose certificate stands behind a connection, said as Python's own TLS says it."""

from __future__ import annotations

from typing import Any

from cryptography import x509
from cryptography.x509.oid import NameOID


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
