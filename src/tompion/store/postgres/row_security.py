"""The roles of a database: who owns the tables, who uses them, and the wall between namespaces.

Every statement says by itself which namespace it is about.  The wall is for the one that does not: a transaction on
behalf of somebody becomes the tenant role, for which row-level security shows the rows of one namespace and no others.
"""

from __future__ import annotations

from importlib.resources import files

from psycopg import sql

from tompion.store.postgres.prepared import PACKAGE

_HERE = "namespace = current_setting('tompion.namespace', true)"
_SCHEDULE = "EXISTS (SELECT FROM {schema}.schedules AS s WHERE s.schedule_key = {table}.schedule_key)"

WALLS = {
    "schedules": _HERE,
    "schedule_versions": _SCHEDULE,
    "schedule_state": _SCHEDULE,
    "schedule_runs": _SCHEDULE,
    "dropped_ranges": _SCHEDULE,
    "backfills": _SCHEDULE,
    "calendars": _HERE,
    "calendar_uses": _HERE,
    "workflows": _HERE,
    "paused_targets": _HERE,
    "audit": _HERE,
    "audit_heads": _HERE,
    "requests": _HERE,
    "instances": f"namespace IS NULL OR {_HERE}",
    "search_attributes": _HERE,
    "api_keys": _HERE,
    "notifications": _HERE,
    "secrets": "name = 'callbacks'",
}
"""Which rows of each table a tenant sees."""
SHARED = frozenset({"tompion_schema", "notification_rates"})
"""Tables that no tenant has anything to do with."""
_OTHERS = frozenset({"audit", "audit_heads", "secrets"})
"""Tables whose rights stand in ``roles.sql``."""


def roles_script(*, database: str, schema: str, owner: str, worker: str, tenant: str) -> str:
    """Return the statements that make the roles of a migrated database, and the walls."""
    names = {"database": database, "schema": schema, "owner": owner, "worker": worker, "tenant": tenant}
    parts: dict[str, sql.Composable] = {name: sql.Identifier(value) for name, value in names.items()}
    parts |= {"worker_text": sql.Literal(worker), "tenant_text": sql.Literal(tenant)}
    script = files(PACKAGE).joinpath("roles.sql").read_text(encoding="utf-8")
    walls = (_wall(rows, {**parts, "table": sql.Identifier(schema, table)}) for table, rows in WALLS.items())
    rights = [sql.Identifier(schema, table) for table in WALLS if table not in _OTHERS]
    return "\n".join([_said(script, {**parts, "tables": sql.SQL(", ").join(rights)}), *walls, "COMMIT;"])


def _wall(rows: str, parts: dict[str, sql.Composable]) -> str:
    """Which rows of a table whom are shown."""
    return _said(
        "ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;\n"
        "DROP POLICY IF EXISTS tompion_worker ON {table};\n"
        "DROP POLICY IF EXISTS tompion_tenant ON {table};\n"
        "CREATE POLICY tompion_worker ON {table} TO {worker} USING (true);\n"
        f"CREATE POLICY tompion_tenant ON {{table}} TO {{tenant}} USING ({rows});\n",
        parts,
    )


def _said(text: str, parts: dict[str, sql.Composable]) -> str:
    return sql.SQL(text).format(**parts).as_string()
