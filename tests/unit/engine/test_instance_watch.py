"""A real engine in virtual time: other instances whose process has ended, and those that only seem to have."""

from __future__ import annotations

from concurrent.futures import Future

from tests.unit.engine.harness import EngineHarness, kill
from tompion.executors.base import Completed
from tompion.runtime.clock import pause
from tompion.testing.faults import Fault, FaultyStore, InjectedFault

TAKEOVER_S = 5.0


class PresenceStore(FaultyStore):
    """A store that knows which processes have ended: those of the instances in ``absent``."""

    def __init__(self, harness: EngineHarness) -> None:
        super().__init__(harness.store, lambda _: InjectedFault(Fault.NONE), lambda: None)
        self.absent: set[int] = set()
        self.lost: set[int] = set()

    @property
    def knows_presence(self) -> bool:
        return True

    def is_present(self, instance_id: int) -> bool:
        return instance_id not in self.lost

    def find_absent(self, own_id: int) -> Future[dict[int, int]]:
        return self._store.read(
            lambda transaction: {
                lease.instance_id: lease.heartbeat_ms
                for lease in transaction.lease_list_valid(transaction.now_ms(), own_id)
                if lease.instance_id in self.absent
            }
        )


def test_runs_of_a_dead_process_are_taken_over_within_five_seconds(harness: EngineHarness) -> None:
    harness.create(cron="1 8 * * *")
    harness.plan = lambda launch: (600.0 if launch.attempt == 1 else 1.0, Completed())
    store = PresenceStore(harness)

    async def scenario() -> None:
        dead = harness.engine(store=store)
        await dead.start()
        await pause(40)
        survivor = harness.engine(store=store)
        await survivor.start()
        await kill(dead)
        store.absent.add(dead.context.number)
        await pause(TAKEOVER_S)
        assert survivor.events.counts["instances_found_dead"] == 1

    harness.run(scenario)
    assert [execution.launch.attempt for execution in harness.executor.executions] == [1, 2]
    assert harness.launched_at()[1] < 40 + TAKEOVER_S
    assert any("has ended: its runs are taken over" in event.text for event in harness.events)


def test_process_that_lost_its_connection_renews_its_lease_and_keeps_its_runs(harness: EngineHarness) -> None:
    """It cannot lock again, so it sends heartbeats until it can."""
    harness.create(cron="1 8 * * *")
    harness.plan = lambda _: (300.0, Completed())
    store = PresenceStore(harness)

    async def scenario() -> None:
        cut_off, other = harness.engine(store=store), harness.engine(store=store)
        await cut_off.start()
        await pause(31)
        await other.start()
        number = cut_off.context.number
        store.absent.add(number)
        store.lost.add(number)
        await pause(400)
        assert (cut_off.context.number, other.events.counts["instances_found_dead"]) == (number, 0)

    harness.run(scenario)
    assert len(harness.executor.executions) == 1
    assert harness.states() == ["08:01 SUCCESS"]


def test_process_that_locks_again_in_time_keeps_its_runs(harness: EngineHarness) -> None:
    harness.create(cron="1 8 * * *")
    harness.plan = lambda _: (100.0, Completed())
    store = PresenceStore(harness)

    async def scenario() -> None:
        reconnected, other = harness.engine(store=store), harness.engine(store=store)
        await reconnected.start()
        await pause(31)
        await other.start()
        for _ in range(20):
            store.absent.add(reconnected.context.number)
            await pause(1.5)
            store.absent.clear()
            await pause(1.5)
        assert other.events.counts["instances_found_dead"] == 0
        assert len(harness.executor.executions) == 1

    harness.run(scenario)
