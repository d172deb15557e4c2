"""A real engine in virtual time, on SQLite: what its loops do with each other."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from tests.support.rows import run
from tests.unit.engine.kit import BEGIN, LoopClock, World, die
from tompion.config.settings import Settings
from tompion.errors import LaunchError
from tompion.executors.base import Completed, RunContext
from tompion.model.run import RunState
from tompion.operations.resources import workflows
from tompion.operations.runs import read
from tompion.operations.schedules import backfills, control, crud
from tompion.runtime.clock import pause
from tompion.store.base import FAR_S


def test_ticks_are_launched_on_the_second(world: World) -> None:
    world.create()

    async def story() -> None:
        await world.engine().start()
        await pause(200)

    world.run(story)
    assert world.states() == ["08:01 SUCCESS", "08:02 SUCCESS", "08:03 SUCCESS"]
    assert world.launched_at() == pytest.approx([30, 90, 150], abs=0.01)


@pytest.mark.parametrize("lease_s", [60, 120])
def test_a_long_run_stays_with_its_worker(world: World, lease_s: int) -> None:
    """A run of ten minutes, a lease of one or two, and a second engine that would love to have it."""
    world.create(cron="1 8 * * *")
    world.plan = lambda _: (600.0, Completed())
    settings = Settings(lock_ttl_ms=lease_s * 1000, heartbeat_ms=30_000)

    async def story() -> None:
        await world.engine(settings).start()
        await world.engine(settings).start()
        await pause(700)

    world.run(story)
    (execution,) = world.executor.executions
    assert execution.launch.attempt == 1
    assert world.states() == ["08:01 SUCCESS"]


def test_who_was_silent_for_too_long_joins_again(world: World) -> None:
    """It beats no more, so another takes over what it held; it notices, lets go, and goes on as somebody new."""
    world.create(cron="1,6 8 * * *")
    world.plan = lambda launch: (
        200.0 if launch.attempt == 1 and launch.scheduled_for.minute == 1 else 1.0,
        Completed(),
    )

    async def silence() -> int:
        return 1

    async def story() -> None:
        cut_off = world.engine()
        await cut_off.start()
        number = cut_off.context.number
        await pause(31)
        cut_off.lease.renew = silence  # type: ignore[method-assign]  # it is cut off
        assert cut_off.launcher.active
        successor = world.engine()
        await successor.start()
        await pause(60)
        assert cut_off.launcher.active
        await pause(60)
        await successor.stop()  # or it would be chance who of the two fires next
        world.create("other", cron="* * * * *")
        await pause(60)
        assert cut_off.context.number > number + 1
        assert not cut_off.launcher.active
        await pause(200)

    world.run(story)
    assert world.states() == ["08:01 SUCCESS", "08:06 SUCCESS"]
    first, second = [each for each in world.executor.executions if each.launch.scheduled_for.minute == 1][:2]
    assert (first.launch.attempt, second.launch.attempt) == (1, 2)
    assert first.launch.key == second.launch.key
    assert 149 <= second.at - BEGIN <= 151
    assert any("registers again" in str(event) for event in world.events)


def test_a_run_is_known_to_be_executing(world: World) -> None:
    world.create(cron="1 8 * * *")
    world.plan = lambda _: (600.0, Completed())

    async def story() -> None:
        await world.engine().start()
        await pause(32)
        assert world.states() == ["08:01 STARTED"]

    world.run(story)


def test_a_run_that_takes_too_long_has_timed_out(world: World) -> None:
    world.create(max_execution_ms=5_000, overlap_policy="allow")
    world.plan = lambda _: (600.0, Completed())

    async def story() -> None:
        await world.engine().start()
        await pause(40)

    world.run(story)
    assert world.states() == ["08:01 TIMED_OUT"]
    assert "max_execution_ms (5000)" in world.ask(read.runs, "report").items[0].error


def test_a_function_that_will_not_be_cancelled_has_timed_out_all_the_same(world: World) -> None:
    world.create(max_execution_ms=5_000, overlap_policy="allow")

    async def stubborn(dag: Any, meta: RunContext) -> Completed:
        try:
            await pause(600)
        except asyncio.CancelledError:
            await pause(1)
        return Completed(result='"done"')

    world.executor.run = stubborn  # type: ignore[method-assign]  # another function in its place

    async def story() -> None:
        await world.engine().start()
        await pause(40)

    world.run(story)
    assert world.states() == ["08:01 TIMED_OUT"]


def test_a_function_that_never_minds_its_deadline_is_given_up(world: World) -> None:
    """Its slot is free seconds after the deadline; what it returns an hour later changes nothing."""
    world.create(max_execution_ms=5_000, overlap_policy="skip", cron="1,2 8 * * *")
    ended: list[str] = []

    async def deaf(dag: Any, meta: RunContext) -> Completed:
        until = world.loop.time() + (90 if meta.scheduled_for.minute == 1 else 1)
        while world.loop.time() < until:
            with suppress(asyncio.CancelledError):
                await pause(until - world.loop.time())
        ended.append(f"{meta.scheduled_for:%H:%M}")
        return Completed()

    world.executor.run = deaf  # type: ignore[method-assign]  # another function in its place
    engine = world.engine()

    async def story() -> None:
        await engine.start()
        await pause(45)
        assert world.states() == ["08:01 TIMED_OUT"]
        assert ended == []
        await pause(90)

    world.run(story)
    assert ended == ["08:02", "08:01"]
    assert world.states() == ["08:01 TIMED_OUT", "08:02 SUCCESS"]
    assert (engine.events.counts["runs_given_up"], engine.events.counts["stale_writes_rejected"]) == (1, 0)


def test_a_launch_that_cannot_begin_is_tried_three_times(world: World) -> None:
    world.create(max_attempts=5)

    def refuse(_: RunContext) -> tuple[float, Completed]:
        raise LaunchError("no such function")

    world.plan = refuse

    async def story() -> None:
        await world.engine().start()
        await pause(50)

    world.run(story)
    assert world.states() == ["08:01 FAILED launch_failed"]
    assert world.launched_at() == pytest.approx([30, 30.1, 30.3], abs=0.01)


def test_a_workflow_that_is_missing(world: World) -> None:
    world.ask(crud.create, "report", cron="* * * * *", workflow_id="nothing")
    world.ask(crud.create, "other", cron="* * * * *", workflow_id="strange")
    world.ask(workflows.put_workflow, "strange", {"executor": "teleport"})

    async def story() -> None:
        await world.engine().start()
        await pause(50)

    world.run(story)
    assert world.states() == world.states("other") == ["08:01 FAILED launch_failed"]
    assert "there is no workflow 'nothing'" in world.ask(read.runs, "report").items[0].error
    assert "no executor 'teleport'" in world.ask(read.runs, "other").items[0].error


def test_an_executor_that_breaks_its_contract(world: World) -> None:
    """Whatever it raises, and whatever is in the message, the run has failed and the engine goes on."""
    world.create(cron="1-2 8 * * *")
    known: dict[str, tuple[float, Completed]] = {}
    world.plan = lambda launch: known[f"odd \x00 \udc80 {launch.attempt}"]

    async def story() -> None:
        await world.engine().start()
        await pause(100)

    world.run(story)
    assert world.states() == ["08:01 FAILED", "08:02 FAILED"]
    error = world.ask(read.runs, "report").items[0].error
    assert "\x00" not in error
    assert error.startswith("KeyError")


def test_cancel_other_cancels_what_is_executed(world: World) -> None:
    world.create(overlap_policy="cancel_other", cron="1-2 8 * * *")
    world.plan = lambda launch: (600.0 if launch.scheduled_for.minute == 1 else 1.0, Completed())

    async def story() -> None:
        await world.engine().start()
        await pause(100)

    world.run(story)
    assert world.states() == ["08:01 CANCELLED cancel_requested", "08:02 SUCCESS"]


def test_a_trigger_that_terminates_reaches_another_engine(world: World) -> None:
    """The engine that executes the run learns of its end within a second, and its outcome is not written."""
    world.create(cron="1 8 * * *")
    world.plan = lambda launch: (600.0 if launch.source == "schedule" else 1.0, Completed())

    async def story() -> None:
        engine = world.engine()
        await engine.start()
        await pause(40)
        world.ask(control.trigger, "report", overlap="terminate_other")
        await pause(3)
        assert len(engine.launcher.active) == 0

    world.run(story)
    assert sorted(state.split()[1] for state in world.states()) == ["SUCCESS", "TERMINATED"]


def test_a_storm_obeys_the_rate_and_lets_on_time_ticks_through(world: World) -> None:
    """Twenty schedules missed an hour; ten starts a second are allowed, and the minute is on time all the same."""
    for number in range(20):
        world.create(f"late-{number}", catchup_policy="fire_immediately", overlap_policy="allow")
    world.loop.pass_time(3_600)
    world.create("fresh")
    started: dict[str, float] = {}

    async def story() -> None:
        await world.engine(Settings(catchup_rate_per_s=10)).start()
        await pause(45)
        started.update({each.launch.schedule_id: each.at for each in world.executor.executions})

    world.run(story)
    assert started["fresh"] == pytest.approx(BEGIN + 3_630, abs=0.05)
    caught_up = [each.at for each in world.executor.executions if each.launch.schedule_id != "fresh"]
    missed = [at for at in caught_up if at < BEGIN + 3_629]
    assert 10 * 28 <= len(missed) <= 10 * 31
    for second in range(3_600, 3_629):
        within = [at for at in missed if BEGIN + second + 1 <= at < BEGIN + second + 2]
        assert len(within) <= 12


def test_a_clock_that_is_wrong_fires_nothing(world: World) -> None:
    """The host's clock is two minutes off the database's: it says so and waits until the clock is set."""
    world.create()
    wrong = LoopClock(world.loop)
    wrong.off = 120.0

    async def story() -> None:
        await world.engine(clock=wrong).start()
        await pause(40)
        assert world.executor.executions == []
        wrong.off = 0.0
        await pause(10)

    world.run(story)
    assert world.states() == ["08:01 SUCCESS"]
    assert any("differs from the database's" in event.text for event in world.events)


def test_a_backfill_with_queue_does_not_wait_between_its_runs(world: World) -> None:
    world.create(cron="0 * * * *")
    world.ask(backfills.backfill, "report", BEGIN - 86_400 * 2, BEGIN - 3_600)

    async def story() -> None:
        await world.engine().start()
        await pause(10)

    world.run(story)
    assert len(world.executor.executions) == 47
    assert world.ask(backfills.backfills, "report")[0].state == "DONE"


def test_a_stop_hands_back_what_it_executes(world: World) -> None:
    """The next engine has it at once, under the same key, and does not wait for the lease."""
    world.create(cron="1 8 * * *")
    world.plan = lambda launch: (600.0 if launch.attempt == 1 else 0.0, Completed())

    async def story() -> None:
        first = world.engine()
        await first.start()
        await pause(40)
        await first.stop(5)
        await world.engine().start()
        await pause(1)

    world.run(story)
    first, second = (each.launch for each in world.executor.executions)
    assert (first.key, first.attempt, second.attempt) == (second.key, 1, 2)
    assert world.states() == ["08:01 SUCCESS"]


def test_a_stop_hands_back_what_its_last_outcome_sets_free(world: World) -> None:
    """A run ends while the engine is stopping; the one that waited behind it is for another engine, at once."""
    world.create(cron="1-2 8 * * *", overlap_policy="queue")
    world.plan = lambda launch: (65.0 if launch.scheduled_for.minute == 1 else 0.0, Completed())

    async def story() -> None:
        first = world.engine()
        await first.start()
        await pause(92)
        await first.stop(10)
        assert len(world.executor.executions) == 1
        assert first.launcher.active == {}
        await world.engine().start()
        await pause(1)

    world.run(story)
    assert world.states() == ["08:01 SUCCESS", "08:02 SUCCESS"]


def test_a_worker_that_dies_again_and_again_is_the_runs_fault(world: World) -> None:
    """Picked up ten times, and each time the worker was lost: it has failed, and says so."""
    world.create(cron="1 8 * * *")
    world.plan = lambda _: (1e6, Completed())

    async def story() -> None:
        for _ in range(11):
            engine = world.engine()
            await engine.start()
            await pause(200)  # the lease of the one before, and a while
            await die(engine)
        await world.engine().start()
        await pause(130)

    world.run(story)
    assert world.states() == ["08:01 FAILED worker_lost"]
    assert len(world.executor.executions) == 10


def test_a_run_that_was_handed_back_again_and_again_is_nobodys_fault(world: World) -> None:
    """Twelve deploys in a row: each stops gracefully and hands the run on, and none of them is lost."""
    world.create(cron="1 8 * * *")
    world.plan = lambda launch: (1e6 if launch.attempt < 12 else 1.0, Completed())

    async def story() -> None:
        for _ in range(12):
            engine = world.engine()
            await engine.start()
            await pause(40)
            await engine.stop(0)

    world.run(story)
    assert world.states() == ["08:01 SUCCESS"]


def test_what_waits_for_its_retry_gives_way(world: World) -> None:
    """Under cancel_other nobody executes it, so there is nobody to ask: it is over, and its slot is free at once."""
    world.create(overlap_policy="cancel_other", max_attempts=3, retry_delay_ms=3_600_000, cron="1,2 8 * * *")
    world.plan = lambda launch: (
        0.0,
        Completed(RunState.FAILED if launch.scheduled_for.minute == 1 else RunState.SUCCESS),
    )

    async def story() -> None:
        await world.engine().start()
        await pause(91)

    world.run(story)
    assert world.states() == ["08:01 CANCELLED superseded", "08:02 SUCCESS"]
    assert world.ask(crud.get, "report").in_flight == 0
    assert world.launched_at()[1] < 90.5


def test_nothing_is_tried_again_after_a_delete(world: World) -> None:
    world.create(max_attempts=3, retry_delay_ms=30_000, cron="1 8 * * *")
    world.plan = lambda _: (0.0, Completed(RunState.FAILED))

    async def story() -> None:
        await world.engine().start()
        await pause(40)
        assert world.ask(crud.delete, "report").in_flight == 0
        await pause(120)

    world.run(story)
    assert len(world.executor.executions) == 1
    assert world.states() == ["08:01 CANCELLED deleted"]


def test_a_run_that_has_begun_is_tried_again_during_a_pause(world: World) -> None:
    """A pause keeps ticks from starting; a run that has begun is brought to its end."""
    world.create(max_attempts=3, retry_delay_ms=30_000)
    world.plan = lambda launch: (0.0, Completed(RunState.SUCCESS if launch.attempt == 2 else RunState.FAILED))

    async def story() -> None:
        await world.engine().start()
        await pause(40)
        world.ask(control.pause, "report")
        await pause(120)

    world.run(story)
    assert world.states() == ["08:01 SUCCESS"]


def test_a_sweep_forgets_all_that_is_too_old_and_stumbles_over_nothing(world: World) -> None:
    """Old runs that are still open, more of them than one batch, keep no later one from being forgotten."""
    world.create(cron="1 8 * * *")
    still_open = [run(2, at, decided_ms=at, due_ms=None) for at in range(1, 1_501)]
    over = [run(2, at, decided_ms=at, due_ms=None, state="SUCCESS", finished_ms=at) for at in range(1_501, 4_000)]
    world.store.write(lambda t: t.run_insert([*still_open, *over])).result()

    async def story() -> None:
        await world.engine().start()
        await pause(1)

    world.run(story)
    rows = world.store.read(lambda t: t.run_list_page(2, (FAR_S, 0), 10_000)).result()
    assert [row.nominal_s for row in rows] == list(range(1_500, 0, -1))


def test_events_tell_the_story(world: World) -> None:
    world.create(pause_on_failure=True)
    world.plan = lambda _: (0.0, Completed(RunState.FAILED, error="no luck\nline 2"))

    async def story() -> None:
        await world.engine().start()
        await pause(40)

    world.run(story)
    kinds = [(event.kind, event.schedule_id) for event in world.events]
    assert kinds == [("launched", "report"), ("ended", "report"), ("paused", "report")]
    assert world.events[1].text == "FAILED: no luck"


def test_a_failed_run_is_tried_again_when_its_delay_is_over(world: World) -> None:
    """Its old owner took it for one of its own and renewed a lease that nobody had: it was never tried again."""
    world.create(cron="1 8 * * *", max_attempts=3, retry_delay_ms=5_000)
    world.plan = lambda launch: (
        0.0,
        Completed() if launch.attempt == 3 else Completed(RunState.FAILED, error="not yet"),
    )

    async def story() -> None:
        await world.engine().start()
        await pause(60)

    world.run(story)
    assert world.states() == ["08:01 SUCCESS"]
    assert [execution.launch.attempt for execution in world.executor.executions] == [1, 2, 3]
    assert len({execution.launch.key for execution in world.executor.executions}) == 1
    first, second, third = (execution.at for execution in world.executor.executions)
    assert 5 <= second - first < 6
    assert 10 <= third - second < 11


def test_a_listener_that_fails_stops_nobody(world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.create()
    world.plan = lambda _: (0.0, Completed(RunState.FAILED, error=""))

    async def story() -> None:
        engine = world.engine()
        engine.events.listener = lambda event: print(event.missing)  # type: ignore[attr-defined]  # noqa: T201 - it fails
        await engine.start()
        await pause(100)
        assert engine.events.counts["unexpected_errors"] == 0

    world.run(story)
    assert world.states() == ["08:01 FAILED", "08:02 FAILED"]
    assert "the listener failed" in caplog.text


def test_an_error_without_words(world: World) -> None:
    world.create(pause_on_failure=True)
    world.plan = lambda _: (0.0, Completed(RunState.FAILED, error=""))

    async def story() -> None:
        engine = world.engine()
        await engine.start()
        await pause(40)
        assert engine.events.counts["unexpected_errors"] == 0

    world.run(story)
    assert [event.text for event in world.events][1:] == ["FAILED", "paused after a failed run (FAILED): no message"]


def test_a_stop_that_is_asked_for_twice(world: World) -> None:
    async def story() -> None:
        engine = world.engine()
        await engine.start()
        await engine.stop()
        await engine.stop()

    world.run(story)
