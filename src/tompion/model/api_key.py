"""API keys: their text, their parts and the hash that is stored.

A key is ``tpn_``, a public id, ``_`` and 192 random bits. Only a plain hash of the secret is stored, which is
enough because 192 random bits cannot be guessed.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from secrets import token_hex
from typing import NamedTuple

PREFIX = "tpn"
_ID_BYTES, _SECRET_BYTES = 6, 24


@dataclass(frozen=True, slots=True)
class ApiKey:
    """An API key without its secret."""

    key_id: str
    namespace: str
    role: str
    name: str
    created_by: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True)
class NewKey:
    """A new API key. ``secret`` is returned only once."""

    key: ApiKey
    secret: str


class KeyParts(NamedTuple):
    """The id and the secret of an API key."""

    key_id: str
    secret: str


def new_key_parts() -> KeyParts:
    """Return a new id and a new secret."""
    return KeyParts(key_id=token_hex(_ID_BYTES), secret=token_hex(_SECRET_BYTES))


def key_text(parts: KeyParts) -> str:
    """Return the text form of a key."""
    return f"{PREFIX}_{parts.key_id}_{parts.secret}"


def read_key(text: str) -> KeyParts | None:
    """Return the parts of a key, or ``None`` if the text is not one."""
    prefix, _, rest = text.partition("_")
    key_id, _, secret = rest.partition("_")
    is_key = prefix == PREFIX and len(key_id) == 2 * _ID_BYTES and len(secret) == 2 * _SECRET_BYTES
    return KeyParts(key_id=key_id, secret=secret) if is_key and rest.isascii() else None


def key_hash(secret: str) -> str:
    """Return the hash of a secret that is stored."""
    return sha256(secret.encode()).hexdigest()


def matches_hash(secret: str, stored_hash: str) -> bool:
    """Return whether a secret has a hash, in constant time."""
    return hmac.compare_digest(key_hash(secret), stored_hash)
