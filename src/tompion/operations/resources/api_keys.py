"""API keys: create, list, revoke and look up. Also the secret of session cookies."""

from __future__ import annotations

from secrets import token_hex

from tompion.encoding.instant import When, datetime_ms
from tompion.errors import InvalidField, NotFound, display
from tompion.model.api_key import ApiKey, NewKey, key_hash, key_text, matches_hash, new_key_parts, read_key
from tompion.model.page import Page
from tompion.model.rows import KeyRow
from tompion.operations.context import OperationContext
from tompion.operations.idempotency import idempotent
from tompion.operations.instants import epoch_ms
from tompion.operations.paging import DEFAULT_PAGE, page_limit, page_name
from tompion.operations.schedules.repository import AuditEntry, audit_other
from tompion.operations.validation import check_name

ROLES = ("reader", "operator", "editor", "admin")


def create_key(context: OperationContext, name: str, *, role: str = "reader", expires_at: When | None = None) -> NewKey:
    """Create an API key for a namespace. Only this result has its secret."""
    check_name("name", name, context.settings)
    if role not in ROLES:
        raise InvalidField("role", f"{display(role)}; expected one of {', '.join(ROLES)}")
    expires_ms = None if expires_at is None else epoch_ms("expires_at", expires_at)
    if expires_ms is not None and expires_ms <= context.now_ms:
        raise InvalidField("expires_at", f"{datetime_ms(expires_ms).isoformat()} is in the past; choose a later time")
    parts = new_key_parts()
    row = KeyRow(
        key_id=parts.key_id,
        namespace=context.namespace,
        role=role,
        name=name,
        hash=key_hash(parts.secret),
        created_by=context.actor,
        created_ms=context.now_ms,
        expires_ms=expires_ms,
        revoked_ms=None,
    )
    context.transaction.api_key_insert(row)
    audit_other(context, AuditEntry("create_key", None, None, {"key_id": parts.key_id, "name": name, "role": role}))
    return NewKey(_view(row), key_text(parts))


def list_keys(context: OperationContext, *, limit: int = DEFAULT_PAGE, after: str | None = None) -> Page[ApiKey]:
    """Return the API keys of a namespace, without their secrets."""
    limit = page_limit(context, limit)
    rows = context.transaction.api_key_list(context.namespace, page_name(after), limit + 1)
    return Page(tuple(map(_view, rows[:limit])), rows[limit - 1].key_id if len(rows) > limit else None)


@idempotent(type(None))
def revoke_key(context: OperationContext, key_id: str, *, request_id: str | None = None) -> None:
    """Revoke an API key. It takes effect on all instances within seconds."""
    check_name("key_id", key_id, context.settings)
    if not context.transaction.api_key_revoke(context.namespace, key_id, context.now_ms):
        raise NotFound(f"there is no key {key_id!r}")
    audit_other(context, AuditEntry("revoke_key", request_id, None, {"key_id": key_id}))


def find_key(context: OperationContext, text: str) -> ApiKey | None:
    """Return the API key of a text, or ``None`` if it is unknown, revoked or expired."""
    parts = read_key(text)
    row = None if parts is None else context.transaction.api_key_get(parts.key_id)
    if parts is None or row is None or not matches_hash(parts.secret, row.hash):
        return None
    is_over = row.revoked_ms is not None or (row.expires_ms is not None and row.expires_ms <= context.now_ms)
    return None if is_over else _view(row)


def _view(row: KeyRow) -> ApiKey:
    return ApiKey(
        key_id=row.key_id,
        namespace=row.namespace,
        role=row.role,
        name=row.name,
        created_by=row.created_by,
        created_at=datetime_ms(row.created_ms),
        expires_at=None if row.expires_ms is None else datetime_ms(row.expires_ms),
        revoked_at=None if row.revoked_ms is None else datetime_ms(row.revoked_ms),
    )


SESSIONS = "sessions"


def session_secret(context: OperationContext) -> str:
    """Return the secret that signs session cookies. The first caller creates it."""
    return context.transaction.secret_get_or_create(SESSIONS, token_hex(32))
