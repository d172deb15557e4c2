"""Keys with which somebody may ask from outside: ``flt_`` + an id that is no secret + ``_`` + 192 random bits.

Only a hash of the secret is kept.  It is a plain one: nobody guesses 192 bits, however fast they can hash.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from secrets import token_hex
from typing import NamedTuple

PREFIX = "flt"
_ID_BYTES, _SECRET_BYTES = 6, 24


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key as it is listed: everything but the secret."""

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
    """A key that was just made: ``secret`` is shown this once."""

    key: ApiKey
    secret: str


class Parts(NamedTuple):
    """A key, taken to pieces."""

    key_id: str
    secret: str


def new_parts() -> Parts:
    """Return a new id and a new secret."""
    return Parts(token_hex(_ID_BYTES), token_hex(_SECRET_BYTES))


def key_text(parts: Parts) -> str:
    """Return a key as people hand it on."""
    return f"{PREFIX}_{parts.key_id}_{parts.secret}"


def read_key(text: str) -> Parts | None:
    """Return the parts of a key, if a text has the form of one."""
    prefix, _, rest = text.partition("_")
    key_id, _, secret = rest.partition("_")
    right = prefix == PREFIX and len(key_id) == 2 * _ID_BYTES and len(secret) == 2 * _SECRET_BYTES
    return Parts(key_id, secret) if right and rest.isascii() else None


def hash_of(secret: str) -> str:
    """Return what is kept of a secret."""
    return sha256(secret.encode()).hexdigest()


def matches(secret: str, kept: str) -> bool:
    """Return whether a secret is the one that a hash was made of; how long that takes says nothing."""
    return hmac.compare_digest(hash_of(secret), kept)
