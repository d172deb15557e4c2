"""Signatures by the Standard Webhooks scheme, with which a receiver verifies sender and time of a request.

A secret is ``whsec_`` followed by base64.  While a secret is being replaced there are two, and a request has a
signature of each, so that a receiver can switch at any time.
"""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from tompion.errors import InvalidField, InvalidInput

PREFIX = "whsec_"
MIN_SECRET_BYTES, MAX_SECRET_BYTES = 24, 64
MAX_SECRETS = 2
"""The number of secrets while one replaces the other."""


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


def read_keys(where: str, block: Mapping[str, Any], environment: Mapping[str, str]) -> tuple[bytes, ...]:
    """Return the keys of a block: one, or two while a secret is being replaced. ``where`` precedes the field."""
    if ("secret_env" in block) == ("secret_file" in block):
        raise InvalidField(
            f"{where}secret_env", "expected either secret_env, an environment variable, or secret_file, a file"
        )
    field = "secret_env" if "secret_env" in block else "secret_file"
    value = block[field]
    names = value if isinstance(value, list) else [value]
    if not 1 <= len(names) <= MAX_SECRETS or not all(isinstance(name, str) and name for name in names):
        raise InvalidField(f"{where}{field}", "expected one name, or two while the secret is being replaced")
    return tuple(_key(f"{where}{field}", field, name, environment) for name in names)


def _key(where: str, field: str, name: str, environment: Mapping[str, str]) -> bytes:
    """Return the signing key from an environment variable or a file."""
    if field == "secret_env":
        text = environment.get(name, "")
        if not text:
            raise InvalidField(where, f"the environment variable {name} is not set")
    else:
        try:
            text = Path(name).expanduser().read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            raise InvalidField(where, f"cannot read the file {name}") from None
    try:
        return parse_secret(text.strip())
    except InvalidInput as error:
        raise InvalidField(where, str(error)) from None
