"""An upgrade of the time zone data: exactly the schedules whose zone changed are replanned."""

from __future__ import annotations

import json

from tompion.config.settings import Settings
from tompion.engine.context import EngineContext
from tompion.engine.steps.result import Replanned
from tompion.engine.steps.tzdata_replan import ReplanStep, report_replanned
from tompion.engine.telemetry.events import EngineEvents, Event
from tompion.model.verification import Verification
from tompion.operations.context import OperationContext
from tompion.operations.schedules import crud
from tompion.operations.verify.schedule import verify
from tompion.store.base import Transaction
from tompion.store.sqlite.driver import SqliteStore
from tompion.testing.clock import ManualClock

NOON = 1_784_116_800.0  # 2026-07-15T12:00:00Z
NINE = 1_784_185_200  # 07:00Z the next day: 09:00 in Berlin


def create(transaction: Transaction) -> None:
    session = OperationContext(transaction, Settings())
    for name, zone in (("berlin", "Europe/Berlin"), ("tokyo", "Asia/Tokyo"), ("utc", None)):
        crud.create(session, name, cron="0 9 * * *", timezone=zone, function="tasks:report")


def test_only_schedules_of_a_changed_zone_are_replanned() -> None:
    store = SqliteStore(clock=ManualClock(NOON), inline=True)
    events: list[Event] = []
    replanning = ReplanStep(EngineContext(Settings(), EngineEvents(events.append)))
    store.write(create).result()
    assert store.read(replanning.outdated).result() == []

    def pretend(transaction: Transaction) -> None:
        """The schedule was planned when Berlin was an hour further east."""
        (row,) = [row for row in transaction.schedule_list_by_key([1, 2, 3]).values() if row.schedule_id == "berlin"]
        transaction.schedule_update(row._replace(zones="Europe/Berlin:older"))
        state = transaction.state_lock([row.schedule_key])[row.schedule_key]
        assert state.next_nominal_s == NINE
        transaction.state_update([state._replace(next_nominal_s=NINE - 3600, next_fire_ms=(NINE - 3600) * 1000)])

    store.write(pretend).result()
    assert store.read(replanning.outdated).result() == ["Europe/Berlin:older"]
    moved = store.write(lambda transaction: replanning.replan_some(transaction, "Europe/Berlin:older")).result()
    assert moved == [Replanned("berlin", NINE - 3600, NINE)]
    report_replanned(EngineEvents(events.append), moved)
    assert [event.text for event in events] == [
        "new time zone data: next tick 2026-07-16 06:00:00Z → 2026-07-16 07:00:00Z"
    ]
    assert store.write(lambda transaction: replanning.replan_some(transaction, "Europe/Berlin:older")).result() == []
    assert store.read(replanning.outdated).result() == []
    (change,) = store.read(lambda transaction: transaction.audit_list("default", "berlin", 1 << 60, 1)).result()
    assert (change.actor, change.operation) == ("tompion", "zone_data")
    assert json.loads(change.after or "{}")["next_nominal_s"] == [NINE - 3600, NINE]
    store.close()


def test_runs_are_verified_with_the_zone_data_of_their_time() -> None:
    clock = ManualClock(NOON)
    store = SqliteStore(clock=clock, inline=True)
    instance = EngineContext(Settings(), EngineEvents())
    store.write(create).result()

    def old_tick(transaction: Transaction) -> None:
        """A run at 08:00 by the old zone data, which is replaced on the next day."""
        (row,) = [row for row in transaction.schedule_list_by_key([1, 2, 3]).values() if row.schedule_id == "berlin"]
        transaction.schedule_update(row._replace(zones="Europe/Berlin:older"))
        state = transaction.state_lock([row.schedule_key])[row.schedule_key]
        transaction.run_insert_fast([(row.schedule_key, NINE - 3600, 1, (NINE - 3600) * 1000, 1, NINE * 1000, None)])
        transaction.run_finish_fast([(row.schedule_key, NINE - 3600, 0, 1, None, NINE * 1000)])
        transaction.state_update([state._replace(cursor_s=NINE, starts=1, successes=1)])

    store.write(old_tick).result()
    clock.set(float(NINE + 60))

    def verified() -> Verification:
        return store.read(lambda transaction: verify(OperationContext(transaction, Settings()), "berlin")).result()

    assert not verified().ok
    store.write(lambda transaction: ReplanStep(instance).replan_some(transaction, "Europe/Berlin:older")).result()
    assert (verified().problems, verified().unchecked) == ((), 1)
    store.close()
