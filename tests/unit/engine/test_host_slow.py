"""A real engine in virtual time, on a store that takes its time."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

from foliot.clock import pause
from foliot.launch.base import Ended
from foliot.store.base import Store, Work
from tests.unit.engine.kit import World


class Slow(Store):
    """A store whose every transaction takes so many seconds."""

    works_beside = True

    def __init__(self, world: World) -> None:
        self._world = world
        self.seconds = 0.001

    def write(self, work: Work[Any]) -> Future[Any]:
        return self._later(self._world.store.write, work)

    def read(self, work: Work[Any]) -> Future[Any]:
        return self._later(self._world.store.read, work)

    def subscribe(self, wake: Callable[[], None]) -> Callable[[], None]:
        return self._world.store.subscribe(wake)

    def close(self) -> None:
        """It is the world's."""

    def _later(self, call: Callable[[Work[Any]], Future[Any]], work: Work[Any]) -> Future[Any]:
        future: Future[Any] = Future()

        def arrive() -> None:
            answer = call(work)
            error = answer.exception()
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(answer.result())

        self._world.loop.call_later(self.seconds, arrive)
        return future


@pytest.mark.parametrize("seconds", [1, 10, 20, 28])
def test_a_lease_is_not_lost_because_everything_takes_its_time(world: World, seconds: float) -> None:
    """One loop looked after runs, swept and prolonged the lease: four slow transactions were too many."""
    world.create(cron="1 8 * * *")
    world.plan = lambda _: (600.0, Ended())
    slow = Slow(world)

    async def story() -> None:
        await world.engine(store=slow).start()
        await pause(32)
        slow.seconds = seconds
        await world.engine().start()
        await pause(700)
        slow.seconds = 0.001

    world.run(story)
    assert [execution.launch.attempt for execution in world.executor.executions] == [1]
