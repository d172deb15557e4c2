"""The how-tos about operations: several instances, backup and restore, upgrades, and an application."""

from __future__ import annotations

import asyncio
import importlib
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.documentation.pages import blocks, commands, page_environment, run, soon, write_files
from tests.support.servers.postgres import PostgresServer, find_binaries
from tompion import Tompion

TASKS = "def note():\n    return 1\n"
SHOWN_HOST = "db.example.org"
SECONDS = 120


def shell(page: str, block: int = 0) -> list[str]:
    """Return the commands of one ``sh`` block of a page."""
    return commands([item.text for item in blocks(page) if item.language == "sh"][block])


def wait_for_successes(store: str, schedule_id: str, count: int) -> list[str]:
    """Wait for a number of successful runs and return their keys."""
    with Tompion(store, engine=False) as tompion:
        keys: list[str] = []

        def enough() -> bool:
            page = tompion.runs.list(schedule_id, status="SUCCESS", limit=1_000)
            keys[:] = [run.idempotency_key for run in page.items]
            return len(keys) >= count

        assert soon(enough), keys
        return keys


# --- several instances --------------------------------------------------------------------------------------------

INSTANCES = "how-to/several-instances-on-postgresql.md"


@contextmanager
def process(command: str, home: Path) -> Iterator[subprocess.Popen[str]]:
    """Run a command of ours in the background, and kill it in the end."""
    words = [sys.executable, "-m", *command.split()]
    with subprocess.Popen(words, cwd=home, stdout=subprocess.PIPE, text=True, env=page_environment()) as started:
        try:
            yield started
        finally:
            started.kill()


@pytest.mark.server
def test_several_instances_share_a_database_with_a_restricted_role(
    tmp_path: Path, postgres_server: PostgresServer, postgres_url: str
) -> None:
    (tmp_path / "tasks.py").write_text(TASKS)
    database = postgres_url.rpartition("/")[2]
    host = f"127.0.0.1:{postgres_server.port}"
    (roles,) = [block.text for block in blocks(INSTANCES) if block.language == "sql"]

    def here(command: str) -> str:
        return command.replace(SHOWN_HOST, host).removesuffix("/tompion") + f"/{database}"

    with psycopg.connect(postgres_url, autocommit=True) as root:
        root.execute(roles.encode())
        try:
            migrate, status = (here(command) for command in shell(INSTANCES, 0))
            assert run(migrate, tmp_path).startswith("applied 0001")
            assert "missing" not in run(status, tmp_path)
            walls, _as_administrator = shell(INSTANCES, 1)
            root.execute(run(here(walls.partition(" >")[0]), tmp_path).encode())
            (start,) = (here(command) for command in shell(INSTANCES, 2))
            store = start.rpartition(" ")[2]
            with Tompion(store, engine=False) as tompion:
                tompion.create("notes", cron="* * * * * *", function="tasks:note")
            with process(start, tmp_path) as first, process(start, tmp_path) as second:
                wait_for_successes(store, "notes", 2)
                assert _connections(root) <= 2 * 9
                first.send_signal(signal.SIGKILL)
                before = len(wait_for_successes(store, "notes", 2))
                wait_for_successes(store, "notes", before + 2)
                second.send_signal(signal.SIGTERM)
                assert second.wait(SECONDS) == 0
            (verify,) = (here(command) for command in shell(INSTANCES, 4))
            assert "each accounted for exactly once\n" in run(verify, tmp_path)
        finally:
            for role in ("tompion_worker", "tompion_tenant", "tompion_owner"):
                root.execute(f"DROP OWNED BY {role}".encode())
                root.execute(f"DROP ROLE {role}".encode())


def _connections(root: psycopg.Connection[Any]) -> int:
    query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND usename = 'tompion_worker'"
    return int(root.execute(query).fetchall()[0][0])


# --- backups ------------------------------------------------------------------------------------------------------

BACKUP = "how-to/backup-and-restore.md"


def test_a_sqlite_file_is_backed_up_and_restored(home: Path) -> None:
    """Runs between the backup and the loss run again, with the same keys."""
    assert write_files(BACKUP, home) == ["back_up.py"]
    (home / "notes.py").write_text(TASKS)
    store = f"sqlite:///{home / 'tompion.db'}"
    with Tompion(store) as tompion:
        tompion.create("notes", cron="* * * * * *", function="notes:note", catchup_policy="all", overlap_policy="queue")
        saved = wait_for_successes(store, "notes", 2)
        run("python back_up.py", home)  # while others write
        lost = set(wait_for_successes(store, "notes", len(saved) + 3)) - set(saved)
    for path in home.glob("tompion.db*"):
        path.unlink()
    (home / "backup.db").rename(home / "tompion.db")
    status, verify = shell(BACKUP, 0)
    assert "missing" not in run(status, home)
    assert "each accounted for exactly once\n" in run(verify, home)
    with Tompion(store):
        again = set(wait_for_successes(store, "notes", len(saved) + len(lost)))
    assert len(again & lost) >= 2
    assert "each accounted for exactly once\n" in run(verify, home)


@pytest.mark.server
def test_a_database_is_dumped_and_restored(home: Path, postgres_server: PostgresServer, postgres_url: str) -> None:
    (home / "notes.py").write_text(TASKS)
    run(f"tompion migrate up --store {postgres_url}", home)
    with Tompion(postgres_url) as tompion:
        tompion.create("notes", cron="* * * * * *", function="notes:note")
        wait_for_successes(postgres_url, "notes", 2)
    restored = postgres_server.create_database("tompion_restored")
    there = "postgresql://tompion_owner@db.example.org/tompion"
    tools = {name: [str(find_binaries() / name)] for name in ("pg_dump", "pg_restore")}
    try:
        here = [line.replace(f"{there}_restored", restored).replace(there, postgres_url) for line in shell(BACKUP, 1)]
        outputs = [run(command, home, tools) for command in here]
        assert "each accounted for exactly once\n" in outputs[-1]
        with Tompion(restored, engine=False) as tompion:
            assert len(tompion.runs.list("notes", status="SUCCESS").items) >= 2
    finally:
        postgres_server.drop_database("tompion_restored")


# --- upgrades -----------------------------------------------------------------------------------------------------


def test_the_upgrade_steps_work(tmp_path: Path) -> None:
    with Tompion(f"sqlite:///{tmp_path / 'tompion.db'}", engine=False):
        pass
    version, status = shell("how-to/upgrade.md")
    assert "time zone data" in run(version, tmp_path)
    assert "applied" in run(status, tmp_path)
    assert run("tompion migrate up", tmp_path) == "Nothing to do.\n"


# --- in an application --------------------------------------------------------------------------------------------


def test_an_application_with_tests_works(home: Path) -> None:
    assert write_files("how-to/in-fastapi.md", home) == ["shop.py", "test_shop.py"]
    tests, shop = importlib.import_module("test_shop"), importlib.import_module("shop")
    tests.test_reports_are_sent_on_workdays()
    tests.test_a_report_that_was_missed_is_sent_once()
    shop.sent.clear()

    async def run_app() -> tuple[dict[str, str], list[dict[str, Any]]]:
        async with shop.app.router.lifespan_context(shop.app):
            run = await shop.send_now()
            responses = [await shop.reports()]
            while responses[-1][0]["status"] != "SUCCESS" and len(responses) < 10_000:
                responses.append(await shop.reports())
            return run, responses[-1]

    run_id, (report,) = asyncio.run(run_app())
    assert run_id["run"]
    assert report["result"] == shop.sent[0]
