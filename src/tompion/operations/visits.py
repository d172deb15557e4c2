"""What all instances of a service need to know of those who have signed in to its page."""

from __future__ import annotations

from secrets import token_hex

from tompion.operations.session import Session

SESSIONS = "sessions"


def session_secret(session: Session) -> str:
    """Return what seals the cookies of those who sign in; whoever asks first makes it up."""
    return session.transaction.secret(SESSIONS, token_hex(32))
