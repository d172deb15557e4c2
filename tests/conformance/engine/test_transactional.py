"""Runs that are rows of a user's table: one transaction, one run, one row, whatever happens around it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import psycopg
import pytest

from tests.conformance.engine.kit import SECONDS, UNTIL_DUE_S
from tests.conformance.engine.users import OPTIONS, Scene, Tapped, once
from tests.support.waiting import wait_for_lock_waiters
from tompion.config.settings import Settings
from tompion.engine.steps import transactional
from tompion.operations.resources import targets
from tompion.operations.runs import callbacks, read
from tompion.operations.schedules import backfills, control

pytestmark = pytest.mark.server
CANARY = "canary-4711-hunter2"
REPORTED = {**OPTIONS, "done": "reported", "columns": {"key": "$token", "attempt": "$attempt"}}


def test_a_tick_is_a_run_and_a_row_and_nobody_sees_one_without_the_other(scene: Scene) -> None:
    scene.workflow()
    scene.schedule(payload={"to": "me"})
    store = Tapped(scene.store)
    seen: list[tuple[list[Any], list[Any]]] = []
    store.before_commit = store.after_commit = lambda: seen.append((scene.runs(), scene.jobs()))

    async def story() -> None:
        async with scene.engine(store):
            scene.clock.advance(UNTIL_DUE_S)
            await scene.told("ended")

    asyncio.run(story())
    ((key, attempt),) = scene.jobs()
    assert seen == [([], []), ([("SUCCESS", None, 1)], [(key, attempt)])]
    (run,) = scene.ask(read.runs, "report").items
    assert (run.key, run.attempt, run.started_at) == (key, attempt, run.finished_at)
    assert scene.sql("SELECT body FROM jobs") == [({"to": "me"},)]
    assert [event.kind for event in scene.events] == ["launched", "ended"]
    assert scene.is_whole()


def test_a_transaction_that_is_rolled_back_leaves_neither(scene: Scene) -> None:
    scene.workflow()
    scene.schedule()
    store = Tapped(scene.store)
    fail = once("the connection was lost before the commit")
    seen: list[tuple[list[Any], list[Any]]] = []

    def before_commit() -> None:
        seen.append((scene.runs(), scene.jobs()))
        fail()

    store.before_commit = before_commit

    async def story() -> None:
        async with scene.engine(store):
            scene.clock.advance(UNTIL_DUE_S)
            await scene.told("ended")

    asyncio.run(story())
    assert seen == [([], []), ([], [])]
    assert scene.runs() == [("SUCCESS", None, 1)]
    assert len(scene.jobs()) == 1
    assert scene.is_whole()


@pytest.mark.parametrize(("options", "state"), [(OPTIONS, "SUCCESS"), (REPORTED, "STARTED")])
def test_an_answer_that_is_lost_is_not_a_row_that_is_added_again(
    scene: Scene, options: dict[str, Any], state: str
) -> None:
    """The engine looks for what it holds without knowing it: a run that was carried out is held by nobody."""
    scene.workflow(options=options)
    scene.schedule(max_execution_ms=600_000)
    scene.schedule("next", cron="2 8 * * *")
    store = Tapped(scene.store)
    store.after_commit = once("the connection was lost before the answer came")

    async def story() -> None:
        async with scene.engine(store):
            scene.clock.advance(UNTIL_DUE_S)
            await scene.told("warning")
            scene.clock.advance(60)
            await scene.told("launched")

    asyncio.run(story())
    assert scene.runs() == [(state, None, 1), (state, None, 1)]
    assert [attempt for _, attempt in scene.jobs()] == [1, 1]
    assert scene.is_whole("report", "next")


def test_without_its_lease_an_engine_adds_nothing(scene: Scene) -> None:
    scene.workflow()
    scene.schedule()

    async def story() -> tuple[int, int]:
        async with scene.engine() as engine:
            number = engine.context.number
            scene.store.write(lambda transaction: transaction.lease_end([number])).result(SECONDS)
            scene.clock.advance(UNTIL_DUE_S)
            await scene.told("ended")
            return number, engine.context.number

    before, after = asyncio.run(story())
    assert before != after
    assert scene.runs() == [("SUCCESS", None, 1)]
    assert len(scene.jobs()) == 1


def test_two_engines_and_many_ticks(scene: Scene) -> None:
    scene.workflow()
    names = [f"at-{number}" for number in range(30)]
    for name in names:
        scene.schedule(name)

    async def story() -> None:
        settings = Settings(tick_ms=50, fire_batch=4)
        async with scene.engine(settings=settings), scene.engine(settings=settings):
            scene.clock.advance(UNTIL_DUE_S)
            await scene.told("ended", len(names))

    asyncio.run(story())
    assert scene.runs() == [("SUCCESS", None, 1)] * len(names)
    assert len({key for key, _ in scene.jobs()}) == len(scene.jobs()) == len(names)
    assert scene.is_whole(*names)


def test_a_call_that_fails_is_tried_again_and_no_other_run_waits_for_it(scene: Scene) -> None:
    scene.workflow()
    scene.workflow("absent", {"table": "absent", "columns": {"key": "$key"}})
    for name in ("a", "b"):
        scene.schedule(name)
    scene.schedule("report", workflow_id="absent")

    async def story() -> None:
        async with scene.engine(configured={"tables": ["jobs", "absent"]}):
            scene.clock.advance(UNTIL_DUE_S)
            await scene.told("ended", 2)
            await scene.told("retried")
            scene.sql("CREATE TABLE absent (key text)")
            scene.clock.advance(0.1)
            await scene.told("ended", 3)

    asyncio.run(story())
    assert sorted(scene.runs()) == [("SUCCESS", None, 1), ("SUCCESS", None, 1), ("SUCCESS", None, 2)]
    assert len(scene.jobs()) == 2
    assert len(scene.sql("SELECT key FROM absent")) == 1
    assert scene.errors() == [None] * 3
    assert scene.is_whole("report", "a", "b")


def test_a_call_that_always_fails_is_given_up(scene: Scene) -> None:
    scene.workflow(options={"table": "absent", "columns": {"key": "$key"}})
    scene.schedule(max_attempts=5)

    async def story() -> dict[str, int]:
        async with scene.engine(configured={"tables": ["absent"]}) as engine:
            scene.clock.advance(UNTIL_DUE_S)
            for tries in (1, 2):
                await scene.told("retried", tries)
                scene.clock.advance(0.1 * tries)
            await scene.told("ended")
            return dict(engine.events.counts)

    counts = asyncio.run(story())
    assert scene.runs() == [("FAILED", "launch_failed", 3)]
    assert scene.errors() == ['PostgreSQL: relation "absent" does not exist (UndefinedTable (42P01))']
    assert counts["runs_failed_launch"] == 1
    assert scene.is_whole()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"table": "schedule_runs", "columns": {"key": "$key"}}, "is not declared (executors.postgres"),
        ({"function": "pg_terminate_backend", "args": ["1"]}, "is not declared (executors.postgres"),
        ({"table": "jobs", "columns": {"key": "$colour"}}, "is not a placeholder"),
    ],
)
def test_what_is_refused_fails_at_once(scene: Scene, options: dict[str, Any], problem: str) -> None:
    scene.workflow(options=options)
    scene.schedule()

    async def story() -> None:
        async with scene.engine():
            scene.clock.advance(UNTIL_DUE_S)
            await scene.told("ended")

    asyncio.run(story())
    assert scene.runs() == [("FAILED", "launch_failed", 1)]
    assert problem in scene.errors()[0]
    assert scene.is_whole()


def _trigger(scene: Scene) -> int:
    scene.ask(control.trigger, "report", payload={"by": "hand"})
    return 1


def _backfill(scene: Scene) -> int:
    scene.ask(backfills.backfill, "report", "2027-01-10T00:00:00Z", "2027-01-13T00:00:00Z")
    return 3


def _catch_up(scene: Scene) -> int:
    scene.ask(control.pause, "report")
    scene.clock.advance(3 * 86_400)
    scene.ask(control.resume, "report")
    return 3


def _spread(scene: Scene) -> int:
    """Three at once, and three that are planned and released when their times come."""
    scene.schedule("spread", catchup_policy="spread", overlap_policy="queue")
    scene.clock.advance(3 * 86_400 - 3_600)
    return 6


@pytest.mark.parametrize("begin", [_trigger, _backfill, _catch_up, _spread])
@pytest.mark.parametrize("overlap", ["allow", "queue"])
def test_whatever_lets_a_run_begin(scene: Scene, begin: Callable[[Scene], int], overlap: str) -> None:
    scene.workflow()
    scene.schedule(catchup_policy="fire_immediately", overlap_policy=overlap)
    expected = begin(scene)

    async def story() -> None:
        async with scene.engine():
            if begin is _spread:
                await scene.told("launched", 3)
                assert "PLANNED" in [state for state, _, _ in scene.runs()]
                scene.clock.advance(61)
            await scene.told("ended", expected)

    asyncio.run(story())
    assert [state for state, _, _ in scene.runs()] == ["SUCCESS"] * expected
    assert len({key for key, _ in scene.jobs()}) == len(scene.jobs()) == expected
    assert scene.is_whole()


@pytest.mark.parametrize("rounds", [transactional.MAX_ROUNDS, 3])
def test_what_waits_for_a_slot_is_carried_out_one_after_another(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, rounds: int
) -> None:
    """Ten wait, one may run: each end lets the next begin, in one transaction, or in as many as it takes."""
    monkeypatch.setattr(transactional, "MAX_ROUNDS", rounds)
    scene.workflow()
    scene.schedule(overlap_policy="queue")
    scene.ask(targets.pause_target, workflow_id="flow")
    for _ in range(10):
        scene.ask(control.trigger, "report", overlap="queue")
    scene.ask(targets.resume_target, workflow_id="flow")
    store = Tapped(scene.store)
    seen: list[int] = []
    store.after_commit = lambda: seen.append(len(scene.jobs()))

    async def story() -> None:
        async with scene.engine(store):
            await scene.told("ended", 10)

    asyncio.run(story())
    assert len({key for key, _ in scene.jobs()}) == len(scene.jobs()) == 10
    assert [state for state, _, _ in scene.runs()] == ["SUCCESS"] * 10
    assert (seen[0] == 10) == (rounds > 10)
    assert scene.is_whole()


def test_a_run_that_is_done_when_it_is_reported_and_lets_the_next_begin(scene: Scene) -> None:
    scene.workflow(options=REPORTED)
    scene.schedule()

    async def story() -> None:
        async with scene.engine():
            scene.clock.advance(UNTIL_DUE_S)
            await scene.told("launched")
            scene.ask(control.trigger, "report", overlap="queue")
            assert [state for state, _, _ in scene.runs()] == ["STARTED", "BUFFERED"]
            scene.ask(callbacks.report_run, scene.jobs()[0][0], "succeeded", result={"sent": 5})
            await scene.told("launched", 2)
            assert [state for state, _, _ in scene.runs()] == ["SUCCESS", "STARTED"]
            scene.ask(callbacks.report_run, scene.jobs()[1][0], "failed", error="no luck")
            await scene.told("ended", 4)  # ours, and that of whoever executes it, of each

    asyncio.run(story())
    assert scene.runs() == [("SUCCESS", None, 1), ("FAILED", None, 1)]
    assert len(scene.jobs()) == 2
    assert scene.is_whole()


def test_a_reported_failure_is_tried_again_by_its_policy(scene: Scene) -> None:
    scene.workflow(options=REPORTED)
    scene.schedule(max_attempts=2, retry_delay_ms=1_000)

    async def story() -> None:
        async with scene.engine():
            scene.clock.advance(UNTIL_DUE_S)
            await scene.told("launched")
            scene.ask(callbacks.report_run, scene.jobs()[0][0], "failed", error="no luck")
            await scene.told("retried")
            scene.clock.advance(1)
            await scene.told("launched", 2)
            scene.ask(callbacks.report_run, scene.jobs()[1][0], "succeeded")
            await scene.told("ended", 3)

    asyncio.run(story())
    assert scene.runs() == [("SUCCESS", None, 2)]
    assert [attempt for _, attempt in scene.jobs()] == [1, 2]
    assert scene.is_whole()


def test_a_target_that_falls_silent_each_time_is_given_up(scene: Scene) -> None:
    scene.workflow(options=REPORTED)
    scene.schedule(max_execution_ms=600_000)

    async def story() -> None:
        async with scene.engine(settings=Settings(tick_ms=50, max_pickups=2)):
            scene.clock.advance(UNTIL_DUE_S)
            for times in (1, 2):
                await scene.told("launched", times)
                scene.ask(callbacks.report_run, scene.jobs()[-1][0], "started")
                scene.clock.advance(Settings().lock_ttl_ms / 1000 + 1)
            await scene.told("ended", 3)

    asyncio.run(story())
    assert scene.runs() == [("FAILED", "worker_lost", 3)]
    assert [attempt for _, attempt in scene.jobs()] == [1, 2]
    assert scene.is_whole()


def test_whoever_wants_the_dial_and_the_run_the_other_way_round(scene: Scene) -> None:
    """Somebody has the dial and wants the run that is being taken: one of the two begins anew, and nothing is lost."""
    scene.workflow()
    scene.schedule(cron="0 0 1 1 *")
    scene.ask(control.trigger, "report")

    def stand_in_the_way(connection: psycopg.Connection[Any]) -> None:
        wait_for_lock_waiters(scene.url)
        with suppress(psycopg.errors.DeadlockDetected):
            connection.execute("UPDATE schedule_runs SET progress = 'x'")

    async def story() -> None:
        with psycopg.connect(scene.url) as connection:
            connection.execute("SELECT * FROM schedule_state FOR UPDATE")
            async with scene.engine():
                await asyncio.to_thread(stand_in_the_way, connection)
                connection.rollback()
                await scene.told("ended")

    asyncio.run(story())
    assert [state for state, _, _ in scene.runs()] == ["SUCCESS"]
    assert len(scene.jobs()) == 1
    assert scene.is_whole()


def test_a_schedule_may_name_the_version_of_its_workflow(scene: Scene) -> None:
    scene.workflow()
    scene.workflow(options={"table": "absent", "columns": {"key": "$key"}})
    scene.schedule(workflow_version=1)

    async def story() -> None:
        async with scene.engine():
            scene.clock.advance(UNTIL_DUE_S)
            await scene.told("ended")

    asyncio.run(story())
    assert scene.runs() == [("SUCCESS", None, 1)]
    assert len(scene.jobs()) == 1


def test_a_new_document_counts_from_the_next_tick_on(scene: Scene) -> None:
    scene.sql("CREATE TABLE others (key text)")
    scene.workflow()
    scene.schedule(cron="1,2 8 * * *")

    async def story() -> None:
        async with scene.engine(configured={"tables": ["jobs", "others"]}):
            scene.clock.advance(UNTIL_DUE_S)
            await scene.told("ended")
            scene.workflow(options={"table": "others", "columns": {"key": "$key"}})
            scene.clock.advance(60)
            await scene.told("ended", 2)

    asyncio.run(story())
    assert (len(scene.jobs()), len(scene.sql("SELECT key FROM others"))) == (1, 1)


def test_a_secret_in_a_payload_is_in_no_error_event_or_log(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    scene.sql("CREATE TABLE strict (number integer)")
    scene.workflow(options={"table": "strict", "columns": {"number": "$payload"}})
    scene.schedule(payload={"secret": CANARY})

    async def story() -> None:
        async with scene.engine(configured={"tables": ["strict"]}, settings=Settings(tick_ms=50, launch_tries=1)):
            scene.clock.advance(UNTIL_DUE_S)
            await scene.told("ended")

    asyncio.run(story())
    assert scene.runs() == [("FAILED", "launch_failed", 1)]
    assert "InvalidTextRepresentation (22P02)" in scene.errors()[0]
    said = [*scene.errors(), *map(repr, scene.events), caplog.text, repr(scene.ask(read.runs, "report"))]
    assert CANARY not in " ".join(said)
