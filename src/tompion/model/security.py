"""Keys with which somebody may ask from outside: ``flt_`` + an id that is no secret + ``_`` + 192 random bits.

Only a hash of the secret is kept.  It is a plain one: nobody guesses 192 bits, however fast they can hash.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from secrets import token_hex
from typing import NamedTuple

from tompion.model.run import RunId

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


class KeyParts(NamedTuple):
    """A key, taken to pieces."""

    key_id: str
    secret: str


def new_key_parts() -> KeyParts:
    """Return a new id and a new secret."""
    return KeyParts(token_hex(_ID_BYTES), token_hex(_SECRET_BYTES))


def key_text(parts: KeyParts) -> str:
    """Return a key as people hand it on."""
    return f"{PREFIX}_{parts.key_id}_{parts.secret}"


def read_key(text: str) -> KeyParts | None:
    """Return the parts of a key, if a text has the form of one."""
    prefix, _, rest = text.partition("_")
    key_id, _, secret = rest.partition("_")
    right = prefix == PREFIX and len(key_id) == 2 * _ID_BYTES and len(secret) == 2 * _SECRET_BYTES
    return KeyParts(key_id, secret) if right and rest.isascii() else None


def key_hash(secret: str) -> str:
    """Return what is kept of a secret."""
    return sha256(secret.encode()).hexdigest()


def matches_hash(secret: str, kept: str) -> bool:
    """Return whether a secret is the one that a hash was made of; how long that takes says nothing."""
    return hmac.compare_digest(key_hash(secret), kept)


CALLBACKS = "callbacks"
"""What the secret is called in the store."""


_PARTS = 3


def signer(secret: str) -> Callable[[str], str]:
    """Return what makes a token of ``run_id.attempt``."""
    return lambda subject: f"{subject}.{_signature(secret, subject)}"


def read_token(secret: str, token: str) -> tuple[RunId, int] | None:
    """Return the run and the attempt that a token is about; nothing if it is not one of ours."""
    parts = token.split(".")
    if len(parts) != _PARTS or not token.isascii():
        return None
    if not hmac.compare_digest(parts[2], _signature(secret, f"{parts[0]}.{parts[1]}")):
        return None
    schedule_key, nominal_s, origin = map(int, parts[0].rsplit("-", 2))
    return RunId(schedule_key, nominal_s, origin), int(parts[1])


def _signature(secret: str, subject: str) -> str:
    return hmac.new(secret.encode(), subject.encode(), sha256).hexdigest()[:40]


@dataclass(frozen=True, slots=True)
class WebSession:
    """Who asks, what they may do, by namespace, and what kind of service this is; nobody has no ``actor``.

    ``auth`` is ``open`` if everybody is let in; ``signed_in`` says that a cookie was what let somebody in.
    """

    actor: str | None
    roles: Mapping[str, str]
    home: str
    auth: str
    signed_in: bool
    read_only: bool
    version: str
