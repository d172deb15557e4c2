"""Traps around forgetting: a deleted schedule is purged by the sweep while somebody creates it anew."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.operations import FUNCTION, SECONDS, Bench, Worker, open_transaction
from tests.support.waiting import wait_for_waiting
from tompion.engine.steps import sweep
from tompion.errors import NotFound
from tompion.operations.schedules import control, crud
from tompion.operations.verify import schedule
from tompion.store.base import Transaction


def forgettable(bench: Bench) -> Worker:
    """A schedule that was deleted for good while it had a run, which has ended: the next sweep forgets it."""
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
    """The schedule lives, without the history that was to be forgotten, and its next tick runs."""
    bench.go("08:02")
    assert worker.tick() == ["08:02"]
    worker.settle()
    assert bench.outcomes() == ["08:02 SUCCESS"]
    worker.sweep()
    assert bench.outcomes() == ["08:02 SUCCESS"]
    assert bench.ask(schedule.verify, "report").ok


def test_a_sweep_forgets_what_was_deleted_for_good(bench: Bench) -> None:
    worker = forgettable(bench)
    worker.sweep()
    with pytest.raises(NotFound):
        bench.get()
    bench.write(create(bench))
    assert_it_ticks(bench, worker)


def test_what_was_created_anew_is_not_forgotten(bench: Bench) -> None:
    worker = forgettable(bench)
    bench.write(create(bench))
    worker.sweep()
    assert_it_ticks(bench, worker)


@pytest.mark.parametrize("operation", [crud.create, crud.upsert])
def test_a_sweep_waits_for_whoever_creates_and_looks_again(postgres: Bench, migrated_url: str, operation: Any) -> None:
    """The sweep has found the schedule closed; somebody who has not committed yet is about to open it."""
    worker = forgettable(postgres)
    with open_transaction(postgres.store, create(postgres, operation)):
        sweeping = postgres.store.write(worker.sweeping.expire)
        wait_for_waiting(migrated_url)
    sweeping.result(SECONDS)
    assert_it_ticks(postgres, worker)


def test_a_sweep_looks_again_at_what_was_created_before_it_could_lock(postgres: Bench) -> None:
    """Between its look and its lock somebody creates the schedule, commits and even has a run: there is no wait."""
    worker = forgettable(postgres)
    begun: list[str] = []

    def expire(transaction: Transaction) -> None:
        look = transaction.schedule_list_purgeable

        def meanwhile(before_s: int, before_ms: int, limit: int) -> list[int]:
            found = look(before_s, before_ms, limit)
            if not begun:
                assert found
                postgres.write(create(postgres))
                begun.append(postgres.ask(control.trigger, "report").run_id)
            return found

        transaction.schedule_list_purgeable = meanwhile  # type: ignore[method-assign]  # the same, and something happens meanwhile
        worker.sweeping.expire(transaction)

    postgres.write(expire)
    assert [run.run_id for run in postgres.runs(source="trigger")] == begun
    assert worker.rescue().claimed == postgres.state().in_flight == 1
    worker.settle()
    assert_it_ticks(postgres, worker)


@pytest.mark.parametrize("operation", [crud.create, crud.upsert])
def test_whoever_creates_waits_for_the_sweep_and_begins_anew(
    postgres: Bench, migrated_url: str, operation: Any
) -> None:
    """The sweep has forgotten the schedule and not committed yet; somebody creates it: it is a new one."""
    worker = forgettable(postgres)
    with open_transaction(postgres.store, worker.sweeping.expire):
        creating = postgres.store.write(create(postgres, operation))
        wait_for_waiting(migrated_url)
    assert creating.result(SECONDS).version == 1
    assert_it_ticks(postgres, worker)


def test_a_long_history_is_forgotten_in_steps(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A purge was one transaction, however many runs there were: on SQLite nothing fired for as long as that took.

    Whoever creates the schedule anew between two steps must not find it with half of its ticks: verify would miss them.
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
