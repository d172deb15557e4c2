"""What whoever executes a run elsewhere shows when it reports: which run, which attempt, and that we said so.

A token is worth nothing for another run, or another attempt at the same one.  Nothing is stored for it: whoever knows
the secret of the store can tell whether it is genuine.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from hashlib import sha256

from tompion.model.run import RunId

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
