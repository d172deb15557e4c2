"""Traps between a read and a write: what was true when somebody looked is not true when he writes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.operations import FUNCTION, SECONDS, Bench, open_transaction, when
from tompion.errors import StaleToken
from tompion.model.run import RunState
from tompion.operations.schedules import control, crud
from tompion.plan.outcome import Outcome


def test_a_definition_changed_between_read_and_write(bench: Bench) -> None:
    """A worker knows the rule by heart; it changes before the worker locks the dial: the new one decides."""
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
    assert bench.runs()[-1].version == 2


def test_a_pause_between_read_and_write(bench: Bench) -> None:
    """A worker has seen that a tick is due; somebody pauses before it writes: nothing starts."""
    bench.create()
    worker = bench.worker()
    bench.go("08:01")
    assert bench.read(lambda t: t.work_due(t.now_ms(), t.now_ms())).on_time
    bench.pause()
    assert worker.on_time().launches == []
    assert bench.outcomes() == []


def test_a_delete_between_read_and_write(bench: Bench) -> None:
    """The same with a delete: the tick was due, nobody had decided it, and nothing starts."""
    bench.create()
    worker = bench.worker()
    bench.go("08:01:05")
    assert bench.read(lambda t: t.work_due(t.now_ms(), t.now_ms() - 9_000)).on_time
    bench.ask(crud.delete, "report")
    assert worker.on_time().launches == []
    assert bench.dropped_ranges() == ["08:01:04 1 deleted"]


def test_a_pause_waits_for_the_fire_transaction(postgres: Bench) -> None:
    """The fire transaction holds the dial; a pause that comes meanwhile waits, and then sees what was started."""
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


def test_the_fire_transaction_passes_over_a_pause_in_progress(postgres: Bench) -> None:
    """A pause holds the dial and has not committed; a worker passes over it, and afterwards nothing is due."""
    postgres.create()
    worker = postgres.worker()
    postgres.go("08:01")
    with open_transaction(postgres.store, lambda t: control.pause(postgres.session(t), "report")):
        assert worker.on_time().claimed == 0
    assert worker.on_time().claimed == 0
    assert postgres.outcomes() == []


def test_an_update_that_waits_for_another(postgres: Bench) -> None:
    """Two people change what they have read under the same token: the second is told, and changes nothing."""
    created = postgres.create()

    def change(description: str) -> Any:
        return lambda t: crud.patch(postgres.session(t), "report", token=created.token, description=description)

    with open_transaction(postgres.store, change("first")):
        second = postgres.store.write(change("second"))
    with pytest.raises(StaleToken):
        second.result(SECONDS)
    assert postgres.get().definition.description == "first"


def test_two_creators_of_one_id(postgres: Bench) -> None:
    """Two people create the same id at once with upsert: one creates, the other changes what is there."""

    def put(description: str) -> Any:
        return lambda t: crud.upsert(
            postgres.session(t), "report", cron="* * * * *", function=FUNCTION, description=description
        )

    with open_transaction(postgres.store, put("first")):
        second = postgres.store.write(put("second"))
    assert second.result(SECONDS).version == 2
    assert postgres.get().definition.description == "second"


def test_one_request_sent_twice_at_once(postgres: Bench) -> None:
    """The same trigger arrives twice on two connections: one run, and both get the same answer."""
    postgres.create()

    def ask(t: Any) -> Any:
        return control.trigger(postgres.session(t), "report", request_id="r1")

    with open_transaction(postgres.store, ask):
        second = postgres.store.write(ask)
    assert second.result(SECONDS).run_id == postgres.runs()[0].run_id
    assert len(postgres.runs()) == 1


def test_a_settle_and_a_fire_at_once(postgres: Bench) -> None:
    """A run ends while the next tick is being decided: whichever is first, the counts agree in the end."""
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
