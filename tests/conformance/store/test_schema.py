"""Both dialects have the same statements and tables, and migrations are safe."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import psycopg
import pytest
from psycopg.pq import ExecStatus

from tests.conformance.store.conftest import SECONDS
from tests.support.databases import owner_url
from tests.support.rows import state
from tompion.errors import SchemaOutdated, SchemaTooNew, StoreError, StoreUnavailable
from tompion.model.backfill import BackfillRow
from tompion.model.notification import NotificationRow
from tompion.model.rows import AuditRow, CalendarRow, InstanceRow, ScheduleRow, VersionRow, WorkflowRow
from tompion.model.run import RunRow
from tompion.model.schedule_state import DroppedRange, ScheduleState
from tompion.store.postgres.driver import PostgresMigrator, PostgresStore
from tompion.store.postgres.prepared import load_statements
from tompion.store.sql_loader import load_queries
from tompion.store.sqlite.driver import APPLICATION_ID, SqliteMigrator, SqliteStore, check_own_database

SQLITE, POSTGRES = "tompion.store.sqlite", "tompion.store.postgres"
ONLY_IN_ONE = {"numbers", "tompion_schema", "sqlite_sequence"}
ROWS: dict[str, tuple[str, ...]] = {
    "schedules": ScheduleRow._fields,
    "schedule_versions": VersionRow._fields,
    "schedule_state": ScheduleState._fields,
    "schedule_runs": ("run_number", *RunRow._fields),
    "dropped_ranges": DroppedRange._fields,
    "backfills": tuple("only_what" if field == "only" else field for field in BackfillRow._fields),
    "calendars": CalendarRow._fields,
    "workflows": WorkflowRow._fields,
    "audit": AuditRow._fields,
    "instances": InstanceRow._fields,
    "notifications": ("notification_number", *NotificationRow._fields),
}
Columns = dict[str, list[tuple[str, str, bool]]]


@pytest.fixture
def sqlite_connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(tmp_path / "migrated.db", isolation_level=None)
    SqliteMigrator(connection).up()
    yield connection
    connection.close()


def sqlite_columns(connection: sqlite3.Connection) -> Columns:
    columns: Columns = {}
    tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
    for (table,) in tables:
        info = connection.execute('SELECT name, type, "notnull" OR pk FROM pragma_table_info(?)', [table])
        columns[table] = [(name, kind.lower(), bool(required)) for name, kind, required in info]
    return columns


def postgres_columns(url: str) -> Columns:
    columns: Columns = {}
    types = {"bigint": "integer", "boolean": "integer"}
    with psycopg.connect(url) as connection:
        for table, name, kind, nullable in connection.execute(
            "SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns "
            "WHERE table_schema = current_schema ORDER BY table_name, ordinal_position"
        ):
            columns.setdefault(table, []).append((name, types.get(kind, str(kind)), nullable == "NO"))
    return columns


def test_both_dialects_have_the_same_statements() -> None:
    assert load_queries(SQLITE).keys() == load_queries(POSTGRES).keys()


def test_both_dialects_have_the_same_tables(sqlite_connection: sqlite3.Connection, migrated_url: str) -> None:
    sqlite, postgres = sqlite_columns(sqlite_connection), postgres_columns(migrated_url)
    assert sqlite.keys() - ONLY_IN_ONE == postgres.keys() - ONLY_IN_ONE
    for table in sqlite.keys() - ONLY_IN_ONE:
        assert sqlite[table] == postgres[table], table


def test_tables_match_the_row_classes(migrated_url: str) -> None:
    columns = postgres_columns(migrated_url)
    assert {table: tuple(name for name, _kind, _required in columns[table]) for table in ROWS} == ROWS


def test_both_dialects_have_the_same_named_indexes(sqlite_connection: sqlite3.Connection, migrated_url: str) -> None:
    query = "SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL"
    ours = {name for (name,) in sqlite_connection.execute(query)}
    with psycopg.connect(migrated_url) as connection:
        names = connection.execute("SELECT indexname FROM pg_indexes WHERE schemaname = current_schema").fetchall()
    assert ours == {name for (name,) in names if not re.search("_(pkey|key|row)$", name)}


@pytest.mark.parametrize("name", sorted(load_queries(SQLITE)))
def test_each_statement_can_be_prepared_by_sqlite(name: str, sqlite_connection: sqlite3.Connection) -> None:
    text = load_queries(SQLITE)[name]
    names = dict.fromkeys(name or number for name, number in re.findall(r":([a-z_]+)|\?(\d+)", text))
    sqlite_connection.execute(f"EXPLAIN {text}", names or [None] * text.count("?"))


@pytest.mark.parametrize(
    "name",
    [
        "schedule_count_by_status",
        "schedule_count_in_status",
        "schedule_count_open",
        "schedule_list_unhealthy",
        "state_count_fires_by_bucket",
        "state_count_fires_by_spec",
    ],
)
def test_query_over_a_namespace_uses_a_covering_index(name: str, sqlite_connection: sqlite3.Connection) -> None:
    """Regression: each was read in the order of the ids, three times as slow with 100,000 schedules."""
    text = load_queries(SQLITE)[name]
    named = dict.fromkeys(re.findall(r":([a-z_]+)", text))
    steps = [row[3] for row in sqlite_connection.execute(f"EXPLAIN QUERY PLAN {text}", named)]
    assert any("COVERING INDEX schedules_state (namespace=?" in step for step in steps)
    assert not [step for step in steps if re.match(r"SCAN (schedules|schedule_state|d|s|v)\b", step)], steps


def test_list_by_rare_status_uses_the_status_index(sqlite_connection: sqlite3.Connection) -> None:
    """Regression: a list of 200 paused schedules read all 100,000 in the order of their ids."""
    text = load_queries(SQLITE)["schedule_list_rare"]
    named = dict.fromkeys(re.findall(r":([a-z_]+)", text))
    steps = [row[3] for row in sqlite_connection.execute(f"EXPLAIN QUERY PLAN {text}", named)]
    assert steps[0] == "SEARCH s USING INDEX schedules_state (namespace=? AND state=?)", steps


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("state_list_upcoming_in_namespace", "SEARCH d USING COVERING INDEX schedule_state_due"),
        ("run_list_recent", "SEARCH r USING INTEGER PRIMARY KEY"),
        ("run_list_latest_decided", "SEARCH r USING INTEGER PRIMARY KEY"),
        ("dropped_range_list_latest", "SEARCH t USING INDEX dropped_ranges_age"),
        ("run_count_missed", "SEARCH t USING INDEX dropped_ranges_age"),
        ("run_claim_remote", "SEARCH r USING INDEX schedule_runs_due"),
        ("run_claim_remote_suspect", "SEARCH r USING INDEX schedule_runs_due"),
        ("queue_list_waiting", "SEARCH r USING INDEX schedule_runs_due"),
        ("queue_list_held", "SCAN r USING INDEX schedule_runs_queued"),
        ("run_list_held_for_target", "SCAN r USING INDEX schedule_runs_queued"),
        ("backlog_count", "SCAN schedules USING INDEX schedules_paused"),
    ],
)
def test_query_by_time_does_not_scan_the_namespace(
    name: str, first: str, sqlite_connection: sqlite3.Connection
) -> None:
    """Regression: SQLite began with the namespace and read the whole history of every schedule."""
    text = load_queries(SQLITE)[name]
    named = dict.fromkeys(re.findall(r":([a-z_]+)", text))
    steps = [row[3] for row in sqlite_connection.execute(f"EXPLAIN QUERY PLAN {text}", named)]
    assert any(step.startswith(first) for step in steps), steps
    assert not [step for step in steps if "(namespace=?" in step], steps


def test_each_statement_can_be_prepared_by_postgres(migrated_url: str) -> None:
    with psycopg.connect(migrated_url) as connection:
        for name, statement in load_statements().items():
            numbers: dict[str, int] = {}

            def numbered(match: re.Match[str], numbers: dict[str, int] = numbers) -> str:
                return f"${numbers.setdefault(match[1] or str(match.start()), len(numbers) + 1)}"

            text = re.sub(r"%(?:\((\w+)\))?s", numbered, statement.text.decode())
            result = connection.pgconn.prepare(name.encode(), text.encode())
            assert result.status == ExecStatus.COMMAND_OK, (name, result.error_message)


def test_unmigrated_postgres_is_rejected_and_not_changed(postgres_url: str) -> None:
    with pytest.raises(SchemaOutdated, match="migrate up"):
        PostgresStore(postgres_url)
    assert postgres_columns(postgres_url) == {}
    migrator = PostgresMigrator(postgres_url)
    assert [(migration.number, migration.applied) for migration in migrator.status()] == [(1, False), (2, False)]
    assert migrator.up() == ["0001_first", "0002_zone_tables"]
    assert migrator.up() == []
    assert [migration.applied for migration in migrator.status()] == [True, True]
    assert migrator.sql() == ""
    PostgresStore(postgres_url).close()


def test_postgres_script_can_be_run_by_hand(postgres_url: str) -> None:
    migrator = PostgresMigrator(postgres_url)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(migrator.sql().encode())
    assert migrator.version() == 2


def test_sqlite_script_can_be_run_by_hand(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "x.db", isolation_level=None)
    connection.executescript(SqliteMigrator(connection).sql())
    assert SqliteMigrator(connection).version() == 2
    connection.close()


def test_newer_postgres_schema_is_rejected(migrated_url: str) -> None:
    with psycopg.connect(owner_url(migrated_url)) as connection:
        connection.execute("UPDATE tompion_schema SET version = 99")
    with pytest.raises(SchemaTooNew):
        PostgresStore(migrated_url)
    with pytest.raises(SchemaTooNew):
        PostgresMigrator(owner_url(migrated_url)).up()
    assert PostgresMigrator(migrated_url).version() == 99


def test_newer_sqlite_schema_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    connection = sqlite3.connect(path)
    connection.executescript(f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = 99")
    with pytest.raises(SchemaTooNew):
        SqliteStore(path)
    assert connection.execute("SELECT count(*) FROM sqlite_schema").fetchone() == (0,)
    connection.close()


@pytest.mark.parametrize("script", ["CREATE TABLE schedules (name TEXT)", "PRAGMA user_version = 1"])
def test_sqlite_file_of_another_program_is_rejected_and_not_changed(script: str, tmp_path: Path) -> None:
    """Not even its journal mode is changed."""
    path = tmp_path / "x.db"
    connection = sqlite3.connect(path)
    connection.executescript(script)
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="is not a Tompion store"):
        SqliteStore(path)
    assert (path.read_bytes(), list(tmp_path.iterdir())) == (before, [path])


def test_sqlite_file_has_the_application_id(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    for _ in range(2):
        SqliteStore(path).close()
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    connection.close()


def test_concurrent_creators_of_a_sqlite_file_all_succeed(tmp_path: Path) -> None:
    """Application id, version and tables are read at one moment, because another process may be creating the file."""
    together = Barrier(4)

    def migrate(path: Path) -> None:
        connection = sqlite3.connect(path, timeout=SECONDS, isolation_level=None)
        together.wait(SECONDS)
        check_own_database(connection, str(path))
        SqliteMigrator(connection).up()
        check_own_database(connection, str(path))
        connection.close()

    with ThreadPoolExecutor(4) as threads:
        for number in range(10):
            for future in [threads.submit(migrate, tmp_path / f"{number}.db") for _ in range(4)]:
                future.result(SECONDS)


def test_concurrent_migrators_apply_each_migration_once(postgres_url: str) -> None:
    together = Barrier(4)

    def migrate() -> list[str]:
        migrator = PostgresMigrator(postgres_url)
        together.wait(SECONDS)
        return migrator.up()

    with ThreadPoolExecutor(4) as threads:
        done = [future.result(SECONDS) for future in [threads.submit(migrate) for _ in range(4)]]
    assert sorted(name for names in done for name in names) == ["0001_first", "0002_zone_tables"]


def test_failed_migration_is_rolled_back(postgres_url: str) -> None:
    migrator = PostgresMigrator(postgres_url)
    number, name, script = migrator.migrations[0]
    migrator.migrations = ((number, name, script + "\nSELECT 1/0;"),)
    with pytest.raises(StoreError):
        migrator.up()
    assert postgres_columns(postgres_url) == {}


def test_search_path_selects_the_schema(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA mine")
    url = f"{postgres_url}?options=-csearch_path%3Dmine"
    PostgresMigrator(url).up()
    assert postgres_columns(postgres_url) == {}
    store = PostgresStore(url)
    store.write(lambda t: t.state_insert(state(1))).result(SECONDS)
    assert store.read(lambda t: t.state_get([1])).result(SECONDS) == {1: state(1)}
    store.close()


def test_unreachable_postgres_is_unavailable(postgres_url: str) -> None:
    with pytest.raises(StoreUnavailable):
        PostgresStore("postgresql://postgres@127.0.0.1:1/none")
    with pytest.raises(StoreError):
        PostgresStore("postgresql://postgres@127.0.0.1/none?nonsense=1")
