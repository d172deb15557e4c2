"""A server dies and another takes over: confirmed ticks are kept, and the others are decided once."""

from __future__ import annotations

from concurrent.futures import Future
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from tests.endurance.failover import Options, run
from tests.support.servers.postgres import CRASH_SAFE, PostgresServer
from tests.support.waiting import wait_until
from tompion.errors import StoreUnavailable
from tompion.store.base import Transaction
from tompion.store.postgres.driver import PostgresMigrator, PostgresStore

pytestmark = [pytest.mark.slow, pytest.mark.server]
SECONDS = 120
CANCEL = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"


def test_failover_loses_or_repeats_no_tick(tmp_path: Path) -> None:
    report = run(Options(seed=20_261, seconds=1, workers=2), tmp_path)
    assert not report.violations, "\n".join(report.lines())
    assert report.failovers == 1
    assert report.ticks > 50


def test_failover_without_synchronous_replication_is_detected(tmp_path: Path) -> None:
    """Replication is cut before the kill, so later launches are in no ledger, and the check must fail."""
    report = run(Options(seed=20_262, seconds=1, workers=2, careless=True), tmp_path)
    kinds = {text.partition(": ")[0] for text in report.violations}
    assert report.failovers == 1
    assert {"logged", "attempts"} <= kinds, "\n".join(report.lines())
    assert any("a launch that the ledger does not have" in text for text in report.violations)


def test_commit_without_standby_confirmation_is_not_confirmed() -> None:
    """An operator may cancel a commit that hangs because the standby is away.

    The server then responds COMMIT with a warning that the standby may not have it. Regression: Tompion treated that as
    success and launched ticks that a failover would have lost.
    """
    with PostgresServer(CRASH_SAFE) as server:
        url = server.create_database("lonely")
        PostgresMigrator(url).up()

        def join(transaction: Transaction) -> int:
            return transaction.instance_insert("lonely", "", 0, None)

        with closing(PostgresStore(url)) as store, psycopg.connect(server.url, autocommit=True) as admin:
            assert store.write(join).result(SECONDS) == 1
            admin.execute("ALTER SYSTEM SET synchronous_standby_names = 'missing'")
            admin.execute("SELECT pg_reload_conf()")
            answers: list[Future[int]] = []

            def hangs() -> bool:  # the server processes read the new setting one after the other
                if not answers or answers[-1].done():
                    answers.append(store.write(join))
                return bool(admin.execute(CANCEL).fetchall())

            assert wait_until(hangs)
            with pytest.raises(StoreUnavailable, match="no standby has confirmed"):
                answers[-1].result(SECONDS)
            assert store.read(lambda transaction: transaction.now_ms()).result(SECONDS) > 0
            admin.execute("ALTER SYSTEM RESET synchronous_standby_names")
            admin.execute("SELECT pg_reload_conf()")
            assert store.write(join).result(SECONDS) == len(answers) + 2
