"""API keys, callback tokens of runs, and web sessions.

An API key is ``tpn_``, a public id, ``_`` and 192 random bits. Only a plain hash of the secret is stored, which is
enough because 192 random bits cannot be guessed.
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


CALLBACKS = "callbacks"
"""Name of the callback secret in the store."""
_PARTS = 3


def signer(secret: str) -> Callable[[str], str]:
    """Return a function that makes a token of ``run_id.attempt``."""
    return lambda subject: f"{subject}.{_signature(secret, subject)}"


def read_token(secret: str, token: str) -> tuple[RunId, int] | None:
    """Return the run and the attempt of a callback token, or ``None`` if it is invalid."""
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
    """The caller, its roles by namespace, and the kind of service. An anonymous caller has no ``actor``.

    ``auth`` is ``open`` if no credentials are needed. ``signed_in`` is true if a session cookie authenticated the
    caller.
    """

    actor: str | None
    roles: Mapping[str, str]
    home: str
    auth: str
    signed_in: bool
    read_only: bool
    version: str
