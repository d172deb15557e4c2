"""Purges by the sweep, concurrent with a create of the same id."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.operations import FUNCTION, SECONDS, Bench, Worker, open_transaction
from tests.support.waiting import wait_for_lock_waiters
from tompion.engine.steps import sweep
from tompion.errors import NotFound
from tompion.operations.schedules import control, crud
from tompion.operations.verify import schedule
from tompion.store.base import Transaction


def purged_schedule(bench: Bench) -> Worker:
    """A schedule that was deleted with purge during a run, which has ended: the next sweep purges it."""
    bench.create()
    worker = bench.worker()
    bench.go("08:01")
    worker.tick()
    bench.ask(crud.delete, "report", purge=True)
    worker.settle()
    bench.go("08:01:30")
    return worker


def create(bench: Bench, operation: Any = crud.create) -> Any:
    return lambda t: operation(bench.session(t), "report", cron="* * * * *", function=FUNCTION)


def assert_it_ticks(bench: Bench, worker: Worker) -> None:
    """Check that the schedule is active, has no history from before the purge, and fires its next tick."""
    bench.go("08:02")
    assert worker.tick() == ["08:02"]
    worker.settle()
    assert bench.outcomes() == ["08:02 SUCCESS"]
    worker.sweep()
    assert bench.outcomes() == ["08:02 SUCCESS"]
    assert bench.ask(schedule.verify, "report").ok


def test_a_sweep_purges_a_deleted_schedule(bench: Bench) -> None:
    worker = purged_schedule(bench)
    worker.sweep()
    with pytest.raises(NotFound):
        bench.get()
    bench.write(create(bench))
    assert_it_ticks(bench, worker)


def test_a_recreated_schedule_is_not_purged(bench: Bench) -> None:
    worker = purged_schedule(bench)
    bench.write(create(bench))
    worker.sweep()
    assert_it_ticks(bench, worker)


@pytest.mark.parametrize("operation", [crud.create, crud.upsert])
def test_a_sweep_waits_for_a_concurrent_create_and_checks_again(
    postgres: Bench, migrated_url: str, operation: Any
) -> None:
    """The sweep reads the schedule as closed, while an uncommitted transaction recreates it."""
    worker = purged_schedule(postgres)
    with open_transaction(postgres.store, create(postgres, operation)):
        sweeping = postgres.store.write(worker.sweeping.expire)
        wait_for_lock_waiters(migrated_url)
    sweeping.result(SECONDS)
    assert_it_ticks(postgres, worker)


def test_a_sweep_checks_again_after_it_has_the_lock(postgres: Bench) -> None:
    """Between the read and the lock of the sweep a create commits and the schedule runs."""
    worker = purged_schedule(postgres)
    begun: list[str] = []

    def expire(transaction: Transaction) -> None:
        look = transaction.schedule_list_purgeable

        def meanwhile(before_s: int, before_ms: int, limit: int) -> list[int]:
            rows = look(before_s, before_ms, limit)
            if not begun:
                assert rows
                postgres.write(create(postgres))
                begun.append(postgres.ask(control.trigger, "report").run_id)
            return rows

        transaction.schedule_list_purgeable = meanwhile  # type: ignore[method-assign]  # the same, and something happens meanwhile
        worker.sweeping.expire(transaction)

    postgres.write(expire)
    assert [run.run_id for run in postgres.runs(source="trigger")] == begun
    assert worker.rescue().claimed == postgres.state().in_flight == 1
    worker.settle()
    assert_it_ticks(postgres, worker)


@pytest.mark.parametrize("operation", [crud.create, crud.upsert])
def test_a_create_waits_for_the_sweep_and_starts_fresh(postgres: Bench, migrated_url: str, operation: Any) -> None:
    """The sweep has purged the schedule and not committed yet. The create makes a new schedule."""
    worker = purged_schedule(postgres)
    with open_transaction(postgres.store, worker.sweeping.expire):
        creating = postgres.store.write(create(postgres, operation))
        wait_for_lock_waiters(migrated_url)
    assert creating.result(SECONDS).definition_version == 1
    assert_it_ticks(postgres, worker)


def test_a_long_history_is_purged_in_steps(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: a purge was one transaction for any number of runs, and on SQLite nothing fired meanwhile.

    A create between two steps must not see half of the ticks, because verify would report the rest as missing.
    """
    monkeypatch.setattr(crud, "MAX_PURGED", 2)
    monkeypatch.setattr(sweep, "SWEEP_BATCH", 2)
    bench.create()
    worker = bench.worker()
    for minute in range(1, 8):
        bench.go(f"08:0{minute}")
        worker.tick()
        worker.settle()
    bench.go("08:07:30")
    bench.ask(crud.delete, "report", purge=True)
    assert len(bench.runs()) == 5
    assert bench.write(worker.sweeping.expire)
    assert len(bench.runs()) == 3
    bench.write(create(bench))
    assert bench.runs() == []
    assert bench.ask(schedule.verify, "report").ok
    bench.ask(crud.delete, "report", purge=True)
    with pytest.raises(NotFound):
        bench.get()
