"""Limits of the worker role, and the rows that a tenant transaction sees."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from psycopg import sql

from tests.support.databases import TENANT, WORKER, owner_url
from tests.support.operations import BEGIN, SECONDS, Bench
from tompion.config.settings import Settings
from tompion.errors import StoreError
from tompion.operations.context import OperationContext
from tompion.operations.resources import api_keys, workflows
from tompion.operations.runner import OperationRunner
from tompion.operations.schedules import control, crud
from tompion.store.base import Transaction
from tompion.store.postgres.driver import PostgresMigrator, PostgresStore
from tompion.store.postgres.row_security import SHARED, TENANT_ROWS
from tompion.store.sqlite.driver import SqliteStore
from tompion.testing.clock import ManualClock

NAMESPACES = ("a", "b")


def execute(transaction: Transaction, statement: str) -> list[tuple[object, ...]]:
    return Bench._execute(transaction, statement)


@pytest.fixture
def walled(migrated_url: str) -> Iterator[Bench]:
    """Two namespaces, each with something in every table that a tenant can fill."""
    store = PostgresStore(migrated_url, clock=ManualClock(BEGIN))
    bench = Bench(store, ManualClock(BEGIN))
    for name in NAMESPACES:
        bench.ask(crud.create, "report", cron="* * * * *", function="tasks:work", namespace=name)
        bench.ask(control.trigger, "report", namespace=name, request_id="once")
        bench.ask(workflows.put_workflow, "flow", {"function": "tasks:work"}, namespace=name)
        bench.ask(api_keys.create_key, "ci", namespace=name)
    yield bench
    store.close()


def seen(bench: Bench, namespace: str | None, statement: str) -> list[tuple[object, ...]]:
    """Return the rows of a statement without a namespace."""

    def look(transaction: Transaction) -> list[tuple[object, ...]]:
        if namespace is not None:
            transaction.restrict_to(namespace)
        return execute(transaction, statement)

    return bench.write(look)


def test_every_table_has_a_policy_or_is_shared(migrated_url: str) -> None:
    with psycopg.connect(migrated_url) as connection:
        rows = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = current_schema").fetchall()
    assert {name for (name,) in rows} == TENANT_ROWS.keys() | SHARED


def test_query_without_a_namespace_sees_only_own_rows(walled: Bench) -> None:
    for table in ("schedules", "audit", "workflows", "api_keys", "requests"):
        query = f"SELECT DISTINCT namespace FROM {table} ORDER BY 1"
        assert seen(walled, None, query) == [("a",), ("b",)], table
        assert seen(walled, "a", query) == [("a",)], table
        assert seen(walled, "unknown", query) == [], table
    for table in ("schedule_state", "schedule_versions", "schedule_runs"):
        query = f"SELECT count(*), count(DISTINCT schedule_key) FROM {table}"
        assert seen(walled, None, query) == [(2, 2)], table
        assert seen(walled, "b", query) == [(1, 1)], table
        assert seen(walled, "unknown", query) == [(0, 0)], table


def test_running_process_never_sees_an_empty_table_while_policies_are_replaced(
    walled: Bench, migrated_url: str
) -> None:
    """Statement by statement, as psql sends them, a worker found no runs between one wall and the next, and let go."""
    script = PostgresMigrator(owner_url(migrated_url)).roles(WORKER, TENANT)
    begun, commit = script.rstrip().removesuffix("COMMIT;"), b"COMMIT"
    assert len(begun) < len(script.rstrip())
    with (
        psycopg.connect(owner_url(migrated_url), autocommit=True) as administrator,
        psycopg.connect(migrated_url, autocommit=True) as worker,
    ):
        administrator.execute(begun.encode())
        worker.execute("SET lock_timeout = '10ms'")
        for table in TENANT_ROWS:
            with pytest.raises(psycopg.errors.LockNotAvailable):
                worker.execute(f"SELECT count(*) FROM {table}".encode())
        administrator.execute(commit)
        assert worker.execute("SELECT count(*) FROM schedule_runs").fetchall() == [(2,)]


def test_tenant_sees_nothing_before_a_namespace_is_set(walled: Bench) -> None:
    def look(transaction: Transaction) -> int:
        execute(transaction, f"SET LOCAL ROLE {TENANT}")
        return sum(len(execute(transaction, f"SELECT 1 FROM {table}")) for table in TENANT_ROWS if table != "secrets")

    assert walled.write(look) == 0


def test_tenant_cannot_change_or_create_rows_of_another_namespace(walled: Bench) -> None:
    changed = {
        "UPDATE schedules SET description = 'x' RETURNING namespace": [("a",)],
        "DELETE FROM schedule_state RETURNING 1": [(1,)],
        "DELETE FROM requests RETURNING namespace": [("a",)],
    }
    for statement, rows in changed.items():
        assert seen(walled, "a", statement) == rows
    for statement in (
        "UPDATE schedules SET namespace = 'b', schedule_id = 'moved'",
        "INSERT INTO workflows VALUES ('b', 'planted', 1, '{}', 0)",
        "INSERT INTO paused_targets VALUES ('b', 'queue', 'default', 'eve', NULL, 0)",
    ):
        with pytest.raises(StoreError, match="row-level security"):
            seen(walled, "a", statement)
    assert seen(walled, None, "SELECT count(*) FROM schedules WHERE namespace = 'b' AND description = 'x'") == [(0,)]


def test_tenant_role_ends_with_the_transaction(walled: Bench) -> None:
    seen(walled, "a", "SELECT 1")
    assert seen(walled, None, "SELECT current_user = session_user") == [(True,)]
    assert seen(walled, None, "SELECT count(*) FROM schedules") == [(2,)]


def test_operations_run_in_the_tenant_role(walled: Bench) -> None:
    """The operation does not filter by namespace. The runner switches to the tenant role, so it sees own rows only."""

    def forgetful(session: OperationContext) -> list[tuple[object, ...]]:
        return execute(session.transaction, "SELECT namespace FROM schedules")

    runner = OperationRunner(walled.store, Settings())
    for writes in (False, True):
        sent = runner.send(forgetful, namespace="a", actor="ann", writes=writes)
        assert sent.result(SECONDS) == [("a",)]
        unrestricted = runner.send(forgetful, namespace="a", actor="test", writes=writes, restricted=False)
        assert len(unrestricted.result(SECONDS)) == 2


def test_store_without_roles_has_no_row_security(migrated_url: str) -> None:
    store = PostgresStore(owner_url(migrated_url), clock=ManualClock(BEGIN))
    bench = Bench(store, ManualClock(BEGIN))
    bench.ask(crud.create, "report", cron="* * * * *", function="tasks:work", namespace="a")
    assert seen(bench, "b", "SELECT count(*) FROM schedules") == [(1,)]
    store.close()


FORBIDDEN = (
    "CREATE TABLE more (x int)",
    "ALTER TABLE schedules ADD COLUMN x int",
    "DROP TABLE audit",
    "DROP TRIGGER audit_append_only ON audit",
    "ALTER TABLE audit DISABLE TRIGGER USER",
    "CREATE OR REPLACE FUNCTION audit_reject_change() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
    "ALTER TABLE schedules DISABLE ROW LEVEL SECURITY",
    "DROP POLICY tompion_tenant ON schedules",
    "TRUNCATE schedules",
    "UPDATE audit SET actor = 'eve'",
    "UPDATE tompion_schema SET version = 99",
    "UPDATE secrets SET value = 'x'",
    "CREATE INDEX more ON schedule_state (cursor_s)",
)


def test_worker_role_cannot_change_tables(migrated_url: str) -> None:
    with psycopg.connect(migrated_url, autocommit=True) as connection:
        for statement in FORBIDDEN:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement.encode())


def test_tenant_cannot_change_the_audit(walled: Bench) -> None:
    for statement in ("UPDATE audit SET digest = 'x'", "DELETE FROM audit", "UPDATE audit_heads SET position = 0"):
        with pytest.raises(StoreError, match="permission denied"):
            seen(walled, "a", statement)
    assert seen(walled, "a", "SELECT count(*) FROM secrets WHERE name <> 'callbacks'") == [(0,)]


def test_names_resolve_in_the_schema_only(migrated_url: str) -> None:
    with psycopg.connect(migrated_url) as connection:
        assert connection.execute("SHOW search_path").fetchone() == ("public, pg_temp",)


def test_roles_script_is_repeatable_and_quotes_names(postgres_url: str) -> None:
    worker, tenant = 'wor"ker', "ten'ant"
    PostgresMigrator(postgres_url).up()
    script = PostgresMigrator(postgres_url).roles(worker, tenant)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        try:
            connection.execute(script.encode())
            connection.execute(script.encode())
            rows = connection.execute("SELECT count(*) FROM pg_roles WHERE rolname = ANY(%s)", [[worker, tenant]])
            assert rows.fetchone() == (2,)
        finally:
            both = sql.SQL(", ").join(map(sql.Identifier, (worker, tenant)))
            connection.execute(sql.SQL("DROP OWNED BY {}").format(both))
            connection.execute(sql.SQL("DROP ROLE {}").format(both))


def test_sqlite_has_no_roles() -> None:
    import sqlite3

    from tompion.store.sqlite.driver import SqliteMigrator

    with pytest.raises(StoreError, match="sqlite has no roles"):
        SqliteMigrator(sqlite3.connect(":memory:")).roles(WORKER, TENANT)


def test_enter_is_a_no_op_without_row_security() -> None:
    store = SqliteStore(inline=True)
    store.write(lambda transaction: transaction.restrict_to("a")).result(SECONDS)
    store.close()
