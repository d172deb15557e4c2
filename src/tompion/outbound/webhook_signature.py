"""Signatures by the Standard Webhooks scheme: who receives a request can tell that we have sent it, and when.

A secret is text that begins with ``whsec_`` and goes on in base64.  While it is being replaced there are two, and a
request carries a signature of each: receivers may change theirs at any time in between.
"""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Sequence
from hashlib import sha256

from tompion.errors import InvalidField

PREFIX = "whsec_"
LEAST_BYTES, MOST_BYTES = 24, 64


def read_secret(text: str) -> bytes:
    """Return the key of a secret; the text itself is never shown."""
    try:
        key = base64.b64decode(text.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        raise InvalidField("secrets", f"a secret is {PREFIX} and base64") from None
    if not LEAST_BYTES <= len(key) <= MOST_BYTES:
        raise InvalidField("secrets", f"a secret has {LEAST_BYTES} to {MOST_BYTES} bytes, this one has {len(key)}")
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
