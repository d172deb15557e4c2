"""Races between a read and a write: another transaction changes the schedule in between."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.operations import FUNCTION, SECONDS, Bench, open_transaction, when
from tompion.errors import StaleToken
from tompion.model.run import RunState
from tompion.operations.schedules import control, crud
from tompion.plan.outcome import Outcome


def test_a_tick_uses_the_definition_at_the_lock(bench: Bench) -> None:
    """The cached definition changes before the worker locks the state: the new one decides."""
    bench.create(overlap_policy="allow")
    worker = bench.worker()
    bench.go("08:01")
    worker.tick()
    bench.go("08:02")
    assert bench.read(lambda t: t.work_due(t.now_ms(), t.now_ms())).on_time
    bench.ask(crud.patch, "report", function="tasks:other", payload=[2])
    worker.on_time()
    launch = worker.launch()
    assert (launch.action.function, launch.payload) == ("tasks:other", [2])
    assert bench.runs()[-1].definition_version == 2


def test_a_pause_before_the_lock_stops_the_tick(bench: Bench) -> None:
    """A worker reads that a tick is due. A pause commits before the worker writes: no run starts."""
    bench.create()
    worker = bench.worker()
    bench.go("08:01")
    assert bench.read(lambda t: t.work_due(t.now_ms(), t.now_ms())).on_time
    bench.pause()
    assert worker.on_time().launches == []
    assert bench.outcomes() == []


def test_a_delete_before_the_lock_stops_the_tick(bench: Bench) -> None:
    """A worker reads that a tick is due. A delete commits before the worker writes: no run starts."""
    bench.create()
    worker = bench.worker()
    bench.go("08:01:05")
    assert bench.read(lambda t: t.work_due(t.now_ms(), t.now_ms() - 9_000)).on_time
    bench.ask(crud.delete, "report")
    assert worker.on_time().launches == []
    assert bench.dropped_ranges() == ["08:01:04 1 deleted"]


def test_a_pause_waits_for_the_fire_transaction(postgres: Bench) -> None:
    """The fire transaction holds the lock on the state. A pause waits for it and sees the run that it started."""
    postgres.create()
    worker = postgres.worker()
    postgres.go("08:01")
    with open_transaction(postgres.store, lambda t: worker.firing.on_time(t, 10)):
        pausing = postgres.store.write(lambda t: control.pause(postgres.session(t), "report"))
        assert not pausing.done()
    assert pausing.result(SECONDS).in_flight == 1
    assert postgres.outcomes() == ["08:01 ENQUEUED"]
    postgres.go("08:02")
    assert worker.on_time().claimed == 0


def test_the_fire_transaction_skips_a_locked_state(postgres: Bench) -> None:
    """An uncommitted pause holds the lock. A worker skips the schedule, and afterwards no tick is due."""
    postgres.create()
    worker = postgres.worker()
    postgres.go("08:01")
    with open_transaction(postgres.store, lambda t: control.pause(postgres.session(t), "report")):
        assert worker.on_time().claimed == 0
    assert worker.on_time().claimed == 0
    assert postgres.outcomes() == []


def test_the_second_of_two_updates_with_one_token_is_stale(postgres: Bench) -> None:
    """Two callers update with the same token. The second gets ``StaleToken`` and changes nothing."""
    created = postgres.create()

    def change(description: str) -> Any:
        return lambda t: crud.patch(
            postgres.session(t), "report", conflict_token=created.conflict_token, description=description
        )

    with open_transaction(postgres.store, change("first")):
        second = postgres.store.write(change("second"))
    with pytest.raises(StaleToken):
        second.result(SECONDS)
    assert postgres.get().definition.description == "first"


def test_concurrent_upserts_create_one_schedule(postgres: Bench) -> None:
    """Two callers upsert the same id: one creates it, the other updates it."""

    def put(description: str) -> Any:
        return lambda t: crud.upsert(
            postgres.session(t), "report", cron="* * * * *", function=FUNCTION, description=description
        )

    with open_transaction(postgres.store, put("first")):
        second = postgres.store.write(put("second"))
    assert second.result(SECONDS).definition_version == 2
    assert postgres.get().definition.description == "second"


def test_concurrent_duplicates_of_a_request_start_one_run(postgres: Bench) -> None:
    """The same trigger arrives on two connections: one run, and both callers get the same answer."""
    postgres.create()

    def ask(t: Any) -> Any:
        return control.trigger(postgres.session(t), "report", request_id="r1")

    with open_transaction(postgres.store, ask):
        second = postgres.store.write(ask)
    assert second.result(SECONDS).run_id == postgres.runs()[0].run_id
    assert len(postgres.runs()) == 1


def test_a_concurrent_settle_and_fire_keep_the_counters(postgres: Bench) -> None:
    """A run ends while the next tick is decided. In either order the counters agree at the end."""
    postgres.create(overlap_policy="queue")
    worker = postgres.worker()
    postgres.go("08:01")
    worker.tick()
    postgres.go("08:02")
    with open_transaction(postgres.store, lambda t: worker.firing.on_time(t, 10)):
        row = worker.take()
        outcome = Outcome(*row.id, row.attempt, RunState.SUCCESS)
        settling = postgres.store.write(lambda t: worker.settling.settle(t, [outcome]))
        assert not settling.done()
    assert [row.nominal_s for row, _ in settling.result(SECONDS).launches] == [int(when("08:02").timestamp())]
    assert postgres.outcomes() == ["08:01 SUCCESS", "08:02 ENQUEUED"]
