"""Concurrent hints, outcomes and fires: no write is lost in any order."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pytest

from tests.conformance.operations.adaptive_schedules import hint, next_run, run_for
from tests.support.operations import SECONDS, Bench, Worker, at, open_transaction, when
from tompion.model.run import RunState
from tompion.operations.schedules import hints
from tompion.plan.outcome import Outcome
from tompion.store.base import Store
from tompion.store.postgres.driver import PostgresStore
from tompion.store.sqlite.driver import SqliteStore
from tompion.testing.clock import ManualClock

T = TypeVar("T")


def test_a_hint_during_a_run_is_used(bench: Bench) -> None:
    """Regression: the outcome overwrote the whole row as it was before the run, so the hint was lost."""
    bench.create(intervals="1m", adaptive=True)
    bench.go("08:01")
    worker = bench.worker()
    worker.tick()
    assert next_run(hint(bench, interval_ms=10_000)) is None
    bench.go("08:01:05")
    worker.settle()
    assert bench.get().next_run_at == when("08:01:10")
    assert len(bench.ask(hints.hints, "report").hints) == 1


def stored_state(bench: Bench) -> list[int | None]:
    return [None if row is None else row[0] for row in json.loads(bench.state().hints or "[null, null]")]


def settle_run(worker: Worker, state: RunState = RunState.SUCCESS) -> Outcome:
    row = worker.take()
    return Outcome(*row.id, row.attempt, state)


class Race(NamedTuple):
    """An adaptive schedule with a run in flight, a worker, and a second connection to the same store."""

    bench: Bench
    worker: Worker
    beside: Store

    def ask(self, operation: Callable[..., T], **fields: Any) -> Future[T]:
        """Send an operation on the second connection. It waits for the transaction that holds the schedule."""
        future = self.beside.write(lambda t: operation(self.bench.session(t), "report", **fields))
        assert not future.done()
        return future


@pytest.fixture(params=["sqlite", "postgres"])
def race(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> Iterator[Race]:
    """Two instances on one store."""

    def opened() -> Store:
        if request.param == "postgres":
            return PostgresStore(request.getfixturevalue("migrated_url"), clock=clock)
        return SqliteStore(tmp_path / "tompion.db", clock=clock)

    stores = (opened(), opened())
    bench = Bench(stores[0], clock)
    bench.create(intervals="1m", adaptive=True)
    bench.go("08:01")
    worker = bench.worker()
    worker.tick()
    bench.go("08:01:05")
    yield Race(bench, worker, stores[1])
    bench.prove()
    for store in stores:
        store.close()


def test_a_hint_waits_for_a_settle(race: Race) -> None:
    outcome = settle_run(race.worker, RunState.FAILED)
    with open_transaction(race.bench.store, lambda t: race.worker.settling.settle(t, [outcome])):
        hinting = race.ask(hints.hint, interval_ms=10_000)
    assert next_run(hinting.result(SECONDS)) == "08:01:10"
    state = race.bench.state()
    assert (stored_state(race.bench), state.failures, state.last_end_ms) == (
        [10_000, None],
        1,
        int(at("08:01:05") * 1000),
    )


def test_a_settle_waits_for_a_hint(race: Race) -> None:
    outcome = settle_run(race.worker, RunState.FAILED)
    fields: dict[str, Any] = {"interval_ms": 10_000, "at": when("08:01:07")}
    with open_transaction(race.bench.store, lambda t: hints.hint(race.bench.session(t), "report", **fields)):
        settling = race.beside.write(lambda t: race.worker.settling.settle(t, [outcome]))
        assert not settling.done()
    settling.result(SECONDS)
    assert (stored_state(race.bench), race.bench.state().failures) == ([10_000, int(at("08:01:07") * 1000)], 1)
    assert race.bench.get().next_run_at == when("08:01:07")


def test_a_hint_during_a_fire_is_not_consumed_by_it(race: Race) -> None:
    """The fire consumes a one-shot hint. The hint that waits for the lock stays for the next run."""
    race.worker.settle()
    hint(race.bench, at=when("08:01:10"))
    race.bench.go("08:01:10")
    with open_transaction(race.bench.store, lambda t: race.worker.firing.on_time(t, 10)):
        hinting = race.ask(hints.hint, at=when("08:01:20"))
    assert next_run(hinting.result(SECONDS)) is None
    assert stored_state(race.bench) == [None, int(at("08:01:20") * 1000)]
    assert race.bench.outcomes(source="hint") == ["08:01:10 ENQUEUED"]


def test_a_reset_during_a_settle_clears_its_failure(race: Race) -> None:
    """The reset waits for the settle that records a failure, and then clears that failure too."""
    outcome = settle_run(race.worker, RunState.FAILED)
    with open_transaction(race.bench.store, lambda t: race.worker.settling.settle(t, [outcome])):
        resetting = race.ask(hints.reset_failures)
    assert resetting.result(SECONDS).next_run_at == when("08:02")


def test_two_concurrent_hints_are_both_stored(race: Race) -> None:
    with open_transaction(race.bench.store, lambda t: hints.hint(race.bench.session(t), "report", interval_ms=10_000)):
        second = race.ask(hints.hint, at=when("08:01:30"))
    assert len(second.result(SECONDS).hints) == 2
    assert stored_state(race.bench) == [10_000, int(at("08:01:30") * 1000)]


def test_a_fire_skips_a_schedule_with_an_uncommitted_hint(postgres: Bench) -> None:
    """The hint moves the due run. A concurrent fire skips the locked state, and then sees the new time."""
    postgres.create(intervals="1m", adaptive=True)
    postgres.go("08:01")
    worker = postgres.worker()
    run_for(postgres, worker, "08:01:05")
    postgres.go("08:02")
    with open_transaction(postgres.store, lambda t: hints.hint(postgres.session(t), "report", interval_ms=90_000)):
        assert worker.on_time().claimed == 0
    assert worker.on_time().claimed == 0
    postgres.go("08:02:30")
    worker.tick()
    assert postgres.outcomes(source=None) == ["08:01 SUCCESS", "08:02:30 ENQUEUED"]
