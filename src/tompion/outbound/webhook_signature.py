"""Signatures by the Standard Webhooks scheme, with which a receiver verifies sender and time of a request.

A secret is ``whsec_`` followed by base64.  While a secret is being replaced there are two, and a request has a
signature of each, so that a receiver can switch at any time.
"""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Sequence
from hashlib import sha256

from tompion.errors import InvalidField

PREFIX = "whsec_"
MIN_SECRET_BYTES, MAX_SECRET_BYTES = 24, 64


def parse_secret(text: str) -> bytes:
    """Return the key of a secret. Error messages do not contain the secret."""
    try:
        key = base64.b64decode(text.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        raise InvalidField("secrets", f"expected {PREFIX} followed by base64") from None
    if not MIN_SECRET_BYTES <= len(key) <= MAX_SECRET_BYTES:
        raise InvalidField("secrets", f"expected {MIN_SECRET_BYTES} to {MAX_SECRET_BYTES} bytes, got {len(key)}")
    return key


def signature_headers(message_id: str, timestamp_s: int, body: bytes, keys: Sequence[bytes]) -> dict[str, str]:
    """Return the headers of a signed request."""
    content = b".".join((message_id.encode(), str(timestamp_s).encode(), body))
    signatures = [base64.b64encode(hmac.new(key, content, sha256).digest()).decode() for key in keys]
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp_s),
        "webhook-signature": " ".join(f"v1,{signature}" for signature in signatures),
    }
