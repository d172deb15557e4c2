"""Callback tokens: a target presents one to report the result of an attempt."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from hashlib import sha256

from tompion.model.run import RunId

CALLBACKS = "callbacks"
"""Name of the callback secret in the store."""
_PARTS = 3


def signer(secret: str) -> Callable[[str], str]:
    """Return a function that returns the token of ``run_id.attempt``."""
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
