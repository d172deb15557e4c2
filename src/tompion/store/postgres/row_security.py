"""Database roles and row-level security, which separates namespaces.

Every statement names its namespace. Row-level security protects against one that does not: a transaction on behalf of
a caller switches to the tenant role, which sees the rows of one namespace only.
"""

from __future__ import annotations

from importlib.resources import files

from psycopg import sql

from tompion.store.postgres.prepared import PACKAGE

_IN_NAMESPACE = "namespace = current_setting('tompion.namespace', true)"
_SCHEDULE = "EXISTS (SELECT FROM {schema}.schedules AS s WHERE s.schedule_key = {table}.schedule_key)"

TENANT_ROWS = {
    "schedules": _IN_NAMESPACE,
    "schedule_versions": _SCHEDULE,
    "schedule_state": _SCHEDULE,
    "schedule_runs": _SCHEDULE,
    "dropped_ranges": _SCHEDULE,
    "backfills": _SCHEDULE,
    "calendars": _IN_NAMESPACE,
    "calendar_uses": _IN_NAMESPACE,
    "workflows": _IN_NAMESPACE,
    "paused_targets": _IN_NAMESPACE,
    "audit": _IN_NAMESPACE,
    "audit_heads": _IN_NAMESPACE,
    "requests": _IN_NAMESPACE,
    "instances": f"namespace IS NULL OR {_IN_NAMESPACE}",
    "search_attributes": _IN_NAMESPACE,
    "api_keys": _IN_NAMESPACE,
    "notifications": _IN_NAMESPACE,
    "secrets": "name = 'callbacks'",
}
"""The rows of each table that a tenant sees."""
SHARED = frozenset({"tompion_schema", "notification_rates"})
"""Tables that no tenant may access."""
_GRANTED_IN_SCRIPT = frozenset({"audit", "audit_heads", "secrets"})
"""Tables whose grants are in ``roles.sql``."""


def roles_script(*, database: str, schema: str, owner: str, worker: str, tenant: str) -> str:
    """Return the script that creates the roles and policies of a migrated database."""
    names = {"database": database, "schema": schema, "owner": owner, "worker": worker, "tenant": tenant}
    parts: dict[str, sql.Composable] = {name: sql.Identifier(value) for name, value in names.items()}
    parts |= {"worker_text": sql.Literal(worker), "tenant_text": sql.Literal(tenant)}
    script = files(PACKAGE).joinpath("roles.sql").read_text(encoding="utf-8")
    policies = (_policy(rows, {**parts, "table": sql.Identifier(schema, table)}) for table, rows in TENANT_ROWS.items())
    rights = [sql.Identifier(schema, table) for table in TENANT_ROWS if table not in _GRANTED_IN_SCRIPT]
    return "\n".join([_format(script, {**parts, "tables": sql.SQL(", ").join(rights)}), *policies, "COMMIT;"])


def _policy(rows: str, parts: dict[str, sql.Composable]) -> str:
    """Return the policies of one table."""
    return _format(
        "ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;\n"
        "DROP POLICY IF EXISTS tompion_worker ON {table};\n"
        "DROP POLICY IF EXISTS tompion_tenant ON {table};\n"
        "CREATE POLICY tompion_worker ON {table} TO {worker} USING (true);\n"
        f"CREATE POLICY tompion_tenant ON {{table}} TO {{tenant}} USING ({rows});\n",
        parts,
    )


def _format(text: str, parts: dict[str, sql.Composable]) -> str:
    return sql.SQL(text).format(**parts).as_string()
