"""API keys: made, listed, revoked; and whether one that is shown is worth anything."""

from __future__ import annotations

from secrets import token_hex

from tompion.errors import InvalidField, NotFound, shown
from tompion.model.page import Page
from tompion.model.rows import KeyRow
from tompion.model.security import ApiKey, NewKey, hash_of, key_text, matches, new_parts, read_key
from tompion.operations.context import OperationContext
from tompion.operations.idempotency import once
from tompion.operations.instants import When, epoch_ms
from tompion.operations.paging import DEFAULT_PAGE, page_limit, page_name
from tompion.operations.schedules.repository import AuditEntry, audit_other
from tompion.operations.validation import check_name
from tompion.operations.views import at_ms

ROLES = ("reader", "operator", "editor", "admin")


def create_key(session: OperationContext, name: str, *, role: str = "reader", expires_at: When | None = None) -> NewKey:
    """Make a key for a namespace; its secret is shown in this answer and never again."""
    check_name("name", name, session.settings)
    if role not in ROLES:
        raise InvalidField("role", f"{shown(role)}; expected one of {', '.join(ROLES)}")
    expires_ms = None if expires_at is None else epoch_ms("expires_at", expires_at)
    if expires_ms is not None and expires_ms <= session.now_ms:
        raise InvalidField("expires_at", f"{at_ms(expires_ms).isoformat()} is over already")
    parts = new_parts()
    row = KeyRow(
        parts.key_id,
        session.namespace,
        role,
        name,
        hash_of(parts.secret),
        session.actor,
        session.now_ms,
        expires_ms,
        None,
    )
    session.transaction.insert_key(row)
    audit_other(session, AuditEntry("create_key", None, None, {"key_id": parts.key_id, "name": name, "role": role}))
    return NewKey(_view(row), key_text(parts))


def list_keys(session: OperationContext, *, limit: int = DEFAULT_PAGE, after: str | None = None) -> Page[ApiKey]:
    """Return the keys of a namespace, without their secrets."""
    limit = page_limit(session, limit)
    rows = session.transaction.keys_page(session.namespace, page_name(after), limit + 1)
    return Page(tuple(map(_view, rows[:limit])), rows[limit - 1].key_id if len(rows) > limit else None)


@once(bool)
def revoke_key(session: OperationContext, key_id: str, *, request_id: str | None = None) -> bool:
    """Let a key be worth nothing from now on; every instance knows within seconds."""
    check_name("key_id", key_id, session.settings)
    if not session.transaction.revoke_key(session.namespace, key_id, session.now_ms):
        raise NotFound(f"there is no key {key_id!r}")
    audit_other(session, AuditEntry("revoke_key", request_id, None, {"key_id": key_id}))
    return True


def find_key(session: OperationContext, text: str) -> ApiKey | None:
    """Return the key that somebody shows, if it is one of ours and is worth something now."""
    parts = read_key(text)
    row = None if parts is None else session.transaction.key_by_id(parts.key_id)
    if parts is None or row is None or not matches(parts.secret, row.hash):
        return None
    over = row.revoked_ms is not None or (row.expires_ms is not None and row.expires_ms <= session.now_ms)
    return None if over else _view(row)


def _view(row: KeyRow) -> ApiKey:
    return ApiKey(
        key_id=row.key_id,
        namespace=row.namespace,
        role=row.role,
        name=row.name,
        created_by=row.created_by,
        created_at=at_ms(row.created_ms),
        expires_at=None if row.expires_ms is None else at_ms(row.expires_ms),
        revoked_at=None if row.revoked_ms is None else at_ms(row.revoked_ms),
    )


SESSIONS = "sessions"


def session_secret(session: OperationContext) -> str:
    """Return what seals the cookies of those who sign in; whoever asks first makes it up."""
    return session.transaction.secret(SESSIONS, token_hex(32))
