"""A real engine in virtual time, with runs that go on elsewhere: accepted, reported, silent, cancelled."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from tests.unit.engine.kit import World, die
from tompion.config.settings import Settings
from tompion.errors import InvalidField, LaunchRefused, StaleReport
from tompion.executors.base import Accepted, Completed, Executor, RunContext
from tompion.model.run import RunState
from tompion.operations.resources import workflows
from tompion.operations.runs import callbacks, read
from tompion.runtime.clock import pause


class Remote(Executor):
    """A target that keeps what it is given, and remembers who was told to end."""

    remote = True

    def __init__(self) -> None:
        self.taken: list[RunContext] = []
        self.asked: list[str] = []

    async def run(self, dag: Any, meta: RunContext) -> Completed | Accepted:
        self.taken.append(meta)
        return Accepted(f"job-{meta.attempt}")

    async def cancel(self, dag: Any, meta: RunContext, execution_id: str | None) -> bool:
        self.asked.append(f"cancel {execution_id}")
        return True

    async def terminate(self, dag: Any, meta: RunContext, execution_id: str | None) -> None:
        self.asked.append(f"terminate {execution_id}")


class Followed(Remote):
    """One whose runs are followed to their end."""

    def __init__(self) -> None:
        super().__init__()
        self.ended = asyncio.Event()

    async def run(self, dag: Any, meta: RunContext) -> Completed:
        self.taken.append(meta)
        await self.ended.wait()
        return Completed(RunState.CANCELLED)

    async def cancel(self, dag: Any, meta: RunContext, execution_id: str | None) -> bool:
        self.ended.set()
        return await super().cancel(dag, meta, execution_id)


@pytest.fixture
def target(world: World) -> Remote:
    remote = Remote()
    world.executors["remote"] = remote
    world.ask(workflows.put_workflow, "flow", {"executor": "remote", "dag": {"steps": [1]}})
    return remote


def say(world: World, launch: RunContext, event: str, **given: Any) -> callbacks.ReportAck:
    heard: callbacks.ReportAck = world.ask(callbacks.report_run, launch.token, event, **given)
    return heard


def test_a_run_is_left_to_its_target_and_ends_when_that_says_so(world: World, target: Remote) -> None:
    world.create(
        function=None, workflow_id="flow", overlap_policy="queue", cron="1,2 8 * * *", max_execution_ms=600_000
    )

    async def story() -> None:
        await world.engine().start()
        await pause(100)
        assert world.states() == ["08:01 STARTED", "08:02 BUFFERED"]
        assert world.ask(read.runs, "report").items[1].execution_id == "job-1"
        assert not say(world, target.taken[0], "progress", progress={"percent": 50}).cancel_requested
        say(world, target.taken[0], "succeeded", result={"rows": 3})
        await pause(1)
        assert world.states() == ["08:01 SUCCESS", "08:02 STARTED"]
        say(world, target.taken[1], "failed", error="no luck")
        await pause(1)

    world.run(story)
    first = world.ask(read.runs, "report").items[1]
    assert (first.result, first.state) == ({"rows": 3}, "SUCCESS")
    assert world.states()[1] == "08:02 FAILED"


def test_a_target_that_says_nothing_is_too_late_after_a_minute(world: World, target: Remote) -> None:
    world.create(function=None, workflow_id="flow", cron="1 8 * * *", max_attempts=2)

    async def story() -> None:
        await world.engine().start()
        await pause(80)
        assert world.states() == ["08:01 STARTED"]
        await pause(15)
        assert [launch.attempt for launch in target.taken] == [1, 2]
        with pytest.raises(StaleReport, match=r"attempt 1 of run .* is not the current one; the current attempt is 2"):
            say(world, target.taken[0], "succeeded")
        say(world, target.taken[1], "succeeded")
        await pause(1)

    world.run(story)
    assert target.asked == ["cancel job-1"]
    assert len({launch.key for launch in target.taken}) == 1
    assert world.states() == ["08:01 SUCCESS"]


def test_a_target_that_was_heard_and_falls_silent_is_replaced(world: World, target: Remote) -> None:
    """It sent heartbeats and no longer does: the run is launched again, under the same key."""
    world.create(function=None, workflow_id="flow", cron="1 8 * * *", max_execution_ms=3_600_000)

    async def story() -> None:
        await world.engine().start()
        await pause(40)
        say(world, target.taken[0], "started")
        for _ in range(4):
            await pause(100)
            say(world, target.taken[0], "heartbeat")
        assert len(target.taken) == 1
        await pause(125)

    world.run(story)
    assert [launch.attempt for launch in target.taken] == [1, 2]


def test_an_engine_that_dies_leaves_the_run_to_its_target(world: World, target: Remote) -> None:
    world.create(function=None, workflow_id="flow", cron="1 8 * * *", max_execution_ms=3_600_000)

    async def story() -> None:
        first = world.engine()
        await first.start()
        await pause(40)
        await die(first)
        await world.engine().start()
        await pause(600)
        say(world, target.taken[0], "succeeded")
        await pause(2)

    world.run(story)
    assert len(target.taken) == 1
    assert world.states() == ["08:01 SUCCESS"]


@pytest.mark.parametrize(
    ("overlap", "asked"), [("cancel_other", "cancel job-1"), ("terminate_other", "terminate job-1")]
)
def test_the_next_tick_ends_a_run_at_its_target(world: World, target: Remote, overlap: str, asked: str) -> None:
    world.create(
        function=None, workflow_id="flow", cron="1,2 8 * * *", overlap_policy=overlap, max_execution_ms=3_600_000
    )

    async def story() -> None:
        await world.engine().start()
        await pause(91)
        if overlap == "cancel_other":
            assert world.states() == ["08:01 STARTED", "08:02 BUFFERED"]
            assert say(world, target.taken[0], "heartbeat").cancel_requested
            say(world, target.taken[0], "cancelled")
            await pause(1)
            assert world.states() == ["08:01 CANCELLED", "08:02 STARTED"]
        else:
            assert world.states() == ["08:01 TERMINATED superseded", "08:02 STARTED"]

    world.run(story)
    assert target.asked == [asked]


def test_a_run_that_is_followed_is_asked_and_says_how_it_ended(world: World, target: Remote) -> None:
    world.executors["remote"] = followed = Followed()
    world.create(function=None, workflow_id="flow", cron="1,2 8 * * *", overlap_policy="cancel_other")

    async def story() -> None:
        await world.engine().start()
        await pause(93)

    world.run(story)
    assert followed.asked == ["cancel None"]
    assert world.states() == ["08:01 CANCELLED", "08:02 CANCELLED"]


def test_only_the_token_of_a_run_speaks_for_it(world: World, target: Remote) -> None:
    world.create(function=None, workflow_id="flow", cron="1 8 * * *")

    async def story() -> None:
        await world.engine().start()
        await pause(40)

    world.run(story)
    token = target.taken[0].token
    for forged in ("", "x", "1-2-3.1.abc", token[:-1] + "0" if token[-1] != "0" else token[:-1] + "1", token + "a"):
        with pytest.raises(InvalidField, match="token"):
            world.ask(callbacks.report_run, forged, "succeeded")
    with pytest.raises(InvalidField, match="event"):
        world.ask(callbacks.report_run, token, "exploded")
    world.ask(callbacks.report_run, token, "succeeded")
    with pytest.raises(StaleReport, match="reported already"):
        world.ask(callbacks.report_run, token, "failed")


def test_room_is_bounded_by_target(world: World) -> None:
    """Two targets, one of them slow: the other one does not wait, and no deadline runs while there is no room."""

    class Slow(Executor):
        max_active, max_per_target = 3, 2
        most = 0

        def __init__(self) -> None:
            self.active: list[str] = []

        def target(self, dag: Any, meta: RunContext) -> str:
            return str(dag)

        async def run(self, dag: Any, meta: RunContext) -> Completed:
            self.active.append(dag)
            self.most = max(self.most, self.active.count("slow"))
            assert len(self.active) <= self.max_active
            await pause(8 if dag == "slow" else 0)
            self.active.remove(dag)
            return Completed()

    world.executors["slow"] = slow = Slow()
    for name in ("slow", "quick"):
        world.ask(workflows.put_workflow, name, {"executor": "slow", "dag": name})
    for number in range(6):
        world.create(f"slow-{number}", function=None, workflow_id="slow", cron="1 8 * * *", max_execution_ms=9_000)
    world.create("quick", function=None, workflow_id="quick", cron="1 8 * * *")

    async def story() -> None:
        await world.engine().start()
        await pause(31)
        assert world.states("quick") == ["08:01 SUCCESS"]
        await pause(30)

    world.run(story)
    assert slow.most == 2
    assert {state for number in range(6) for state in world.states(f"slow-{number}")} == {"08:01 SUCCESS"}


def test_a_launch_that_is_refused_is_not_tried_again(world: World) -> None:
    world.create(cron="1 8 * * *")

    def refuse(_: RunContext) -> tuple[float, Completed]:
        raise LaunchRefused("never")

    world.plan = refuse

    async def story() -> None:
        await world.engine(Settings(launch_tries=3)).start()
        await pause(40)

    world.run(story)
    assert len(world.executor.executions) == 1
    assert world.states() == ["08:01 FAILED launch_failed"]


def test_a_run_that_is_cancelled_may_tidy_up(world: World) -> None:
    """It was cancelled anew each second, and never got to the end of its tidying."""
    world.create(cron="1,2 8 * * *", overlap_policy="cancel_other")
    tidied: list[int] = []

    async def tidy(dag: Any, meta: RunContext) -> Completed:
        try:
            await pause(600)
        finally:
            await pause(5)
            tidied.append(meta.scheduled_for.minute)
        return Completed()

    world.executor.run = tidy  # type: ignore[method-assign]  # another function in its place

    async def story() -> None:
        await world.engine().start()
        await pause(100)
        assert tidied == [1]

    world.run(story)
    assert world.states()[0] == "08:01 CANCELLED cancel_requested"


def test_a_run_says_how_far_it_is_and_hears_that_it_is_not_wanted(world: World) -> None:
    """A synchronous function cannot be stopped; it may look, each time it says how far it is."""
    world.create(cron="1,2 8 * * *", overlap_policy="cancel_other")
    heard: list[bool] = []

    async def work(dag: Any, meta: RunContext) -> Completed:
        with suppress(asyncio.CancelledError):
            for percent in range(0, 100, 5):
                heard.append(meta.progress({"percent": percent}))
                await pause(4)
        heard.append(meta.is_wanted)
        return Completed()

    world.executor.run = work  # type: ignore[method-assign]  # another function in its place

    async def story() -> None:
        await world.engine().start()
        await pause(47)
        assert world.ask(read.runs, "report").items[0].progress == {"percent": 20}
        await pause(50)

    world.run(story)
    assert heard[:15] == [True] * 15
    assert False in heard[15:17]
