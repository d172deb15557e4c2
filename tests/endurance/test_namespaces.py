"""A hundred thousand tenants: the cost of a request depends on the rows of its own tenant."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.endurance.tenants import multiply, postpone
from tests.support.servers.postgres import PostgresServer
from tests.support.waiting import wait_until
from tompion import AsyncTompion, Tompion
from tompion.api.metrics import COUNTERS, HISTOGRAMS
from tompion.config.settings import Settings
from tompion.operations.insight.stats import store_backlog
from tompion.runtime.clock import pause
from tompion.store.postgres.driver import PostgresMigrator
from tompion.store.sqlite.driver import SqliteStore

pytestmark = [pytest.mark.slow, pytest.mark.server]
TENANTS = 100_000
FEWER = 20_000
"""On PostgreSQL: enough for a plan that reads everything to be seen."""
DUE = 2_000
WORK = "tests.endurance.test_namespaces:work"
SECONDS = 120
READ = "SELECT relname, coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) FROM pg_stat_user_tables"
OTHERS = """
SELECT pid FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""
QUESTIONS: dict[str, Callable[[Tompion], Any]] = {
    "list": lambda tompion: tompion.schedules.list(),
    "search": lambda tompion: tompion.schedules.list(text="jo"),
    "deleted": lambda tompion: tompion.schedules.list(status="closed"),
    "get": lambda tompion: tompion.get("job"),
    "describe": lambda tompion: tompion.describe("job"),
    "stats": lambda tompion: tompion.stats(),
    "runs": lambda tompion: tompion.runs.recent(),
    "upcoming": lambda tompion: tompion.upcoming(seconds=86_400),
    "forecast": lambda tompion: tompion.forecast(),
    "problems": lambda tompion: tompion.problems(),
    "queues": lambda tompion: tompion.queues.list(),
    "history": lambda tompion: tompion.audit.list(everything=True),
    "notifications": lambda tompion: tompion.notifications.list(),
    "workflows": lambda tompion: tompion.workflows.list(),
    "calendars": lambda tompion: tompion.calendars.list(),
    "keys": lambda tompion: tompion.keys.list(),
    "verify": lambda tompion: tompion.schedules.verify("job"),
    "trigger": lambda tompion: tompion.trigger("job"),
    "create": lambda tompion: tompion.create("other", cron="@daily", function=WORK),
    "patch": lambda tompion: tompion.patch("job", payload={"n": 1}),
    "pause": lambda tompion: tompion.pause("job"),
}


def work() -> None:
    """Do nothing."""


def create_tenants(url: str, count: int) -> None:
    with Tompion(url, engine=False, namespace="tenant-1") as tompion:
        tompion.create("job", cron="* * * * * *", function=WORK)
    multiply(url, count)
    postpone(url, DUE)


def steps(path: Path, namespace: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Return the number of SQLite steps, in hundreds, of each query."""
    taken = [0]
    connect = SqliteStore._connect

    def counting(store: SqliteStore) -> Any:
        connection = connect(store)

        def count() -> int:
            taken[0] += 1
            return 0

        connection.set_progress_handler(count, 100)
        return connection

    monkeypatch.setattr(SqliteStore, "_connect", counting)
    steps = {}
    with Tompion(f"sqlite:///{path}", engine=False, namespace=namespace) as tompion:
        for name, ask in QUESTIONS.items():
            taken[0] = 0
            ask(tompion)
            steps[name] = taken[0]
    return steps


async def fire(url: str) -> dict[str, set[str]]:
    """Let an engine fire the due ticks of many tenants, and return the namespaces in its metrics, by metric."""
    async with AsyncTompion(url, namespace="tenant-1") as tompion:
        tally = tompion._runner.metrics
        async with asyncio.timeout(SECONDS):
            while tally.counts["runs_settled"] < DUE:
                await pause(0.02)
        store = await asyncio.wrap_future(tompion._runner.send(store_backlog, namespace="", actor="", writes=False))
        assert store.instances == 1
        entries = [*COUNTERS.values(), *HISTOGRAMS.values()]
        labelled = {entry.key: entry.labels for entry in entries if "namespace" in entry.labels}
        return {
            name: {
                values[labels.index("namespace")] for values in [*tally.counts_by_label(name), *tally.histograms(name)]
            }
            for name, labels in labelled.items()
        }


def assert_few_namespaces(names: dict[str, set[str]]) -> None:
    """Check that the metrics have a bounded number of namespaces, and one for all others."""
    most = Settings().max_metric_namespaces + 1
    assert {name: len(namespaces) for name, namespaces in names.items() if len(namespaces) > most} == {}
    assert any("other" in name for name in names.values())


def test_tenant_cost_depends_on_its_own_rows_on_sqlite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = tmp_path / "few.db", tmp_path / "many.db"
    create_tenants(f"sqlite:///{few}", 10)
    create_tenants(f"sqlite:///{many}", TENANTS)
    alone = steps(few, "tenant-7", monkeypatch)
    among = steps(many, f"tenant-{TENANTS - 3}", monkeypatch)
    assert {name: (alone[name], count) for name, count in among.items() if count > 2 * alone[name] + 20} == {}
    assert_few_namespaces(asyncio.run(fire(f"sqlite:///{many}")))


def rows_read(url: str, namespace: str) -> dict[str, int]:
    """Return the number of rows of each table that PostgreSQL reads for all queries."""
    with closing(psycopg.connect(url, autocommit=True)) as server:

        def no_other_session() -> bool:  # a session is still counted while it closes
            return not server.execute(OTHERS).fetchall()

        assert wait_until(no_other_session)
        before: dict[str, int] = dict(server.execute(READ).fetchall())
        with Tompion(url, engine=False, namespace=namespace) as tompion:
            for ask in QUESTIONS.values():
                ask(tompion)
        assert wait_until(no_other_session)
        after: dict[str, int] = dict(server.execute(READ).fetchall())
    return {name: count - before[name] for name, count in after.items()}


def test_tenant_cost_depends_on_its_own_rows_on_postgresql(postgres_url: str, postgres_server: PostgresServer) -> None:
    name = f"few_{uuid.uuid4().hex}"
    few = postgres_server.create_database(name)
    for url, count in ((few, 10), (postgres_url, FEWER)):
        PostgresMigrator(url).up()
        create_tenants(url, count)
    alone = rows_read(few, "tenant-7")
    postgres_server.drop_database(name)
    among = rows_read(postgres_url, f"tenant-{FEWER - 3}")
    assert among["schedule_state"] > 0, "nothing was counted"
    assert {table: (alone[table], count) for table, count in among.items() if count > alone[table] + 20} == {}
    assert_few_namespaces(asyncio.run(fire(postgres_url)))
