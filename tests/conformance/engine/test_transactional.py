"""Runs that are rows of a user's table: the run and its row are committed in one transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import psycopg
import pytest

from tests.conformance.engine.kit import SECONDS, UNTIL_DUE_S
from tests.conformance.engine.users import OPTIONS, HookedStore, Scene, fail_once
from tests.support.waiting import wait_for_lock_waiters
from tompion.config.settings import Settings
from tompion.engine.steps import transactional
from tompion.operations.resources import targets
from tompion.operations.runs import callbacks, read
from tompion.operations.schedules import backfills, control

pytestmark = pytest.mark.server
CANARY = "canary-4711-hunter2"
REPORTED = {**OPTIONS, "done": "reported", "columns": {"key": "$token", "attempt": "$attempt"}}


def test_run_and_row_become_visible_together(scene: Scene) -> None:
    scene.workflow()
    scene.schedule(payload={"to": "me"})
    store = HookedStore(scene.store)
    seen: list[tuple[list[Any], list[Any]]] = []
    store.before_commit = store.after_commit = lambda: seen.append((scene.runs(), scene.jobs()))

    async def scenario() -> None:
        async with scene.engine(store):
            scene.clock.advance(UNTIL_DUE_S)
            await scene.wait_for_events("ended")

    asyncio.run(scenario())
    ((key, attempt),) = scene.jobs()
    assert seen == [([], []), ([("SUCCESS", None, 1)], [(key, attempt)])]
    (run,) = scene.call(read.runs, "report").items
    assert (run.idempotency_key, run.attempt, run.started_at) == (key, attempt, run.finished_at)
    assert scene.sql("SELECT body FROM jobs") == [({"to": "me"},)]
    assert [event.kind for event in scene.events] == ["launched", "ended"]
    assert scene.is_consistent()


def test_options_of_the_schedule_itself_are_executed_in_the_transaction(scene: Scene) -> None:
    scene.schedule(workflow_id=None, postgres=OPTIONS, payload={"to": "me"})
    store = HookedStore(scene.store)
    seen: list[tuple[list[Any], list[Any]]] = []
    store.before_commit = store.after_commit = lambda: seen.append((scene.runs(), scene.jobs()))

    async def scenario() -> None:
        async with scene.engine(store):
            scene.clock.advance(UNTIL_DUE_S)
            await scene.wait_for_events("ended")

    asyncio.run(scenario())
    ((key, attempt),) = scene.jobs()
    assert seen == [([], []), ([("SUCCESS", None, 1)], [(key, attempt)])]
    assert scene.sql("SELECT body FROM jobs") == [({"to": "me"},)]
    assert scene.is_consistent()


def test_rolled_back_transaction_leaves_neither_run_nor_row(scene: Scene) -> None:
    scene.workflow()
    scene.schedule()
    store = HookedStore(scene.store)
    fail = fail_once("the connection was lost before the commit")
    seen: list[tuple[list[Any], list[Any]]] = []

    def before_commit() -> None:
        seen.append((scene.runs(), scene.jobs()))
        fail()

    store.before_commit = before_commit

    async def scenario() -> None:
        async with scene.engine(store):
            scene.clock.advance(UNTIL_DUE_S)
            await scene.wait_for_events("ended")

    asyncio.run(scenario())
    assert seen == [([], []), ([], [])]
    assert scene.runs() == [("SUCCESS", None, 1)]
    assert len(scene.jobs()) == 1
    assert scene.is_consistent()


@pytest.mark.parametrize(("options", "state"), [(OPTIONS, "SUCCESS"), (REPORTED, "STARTED")])
def test_lost_commit_response_adds_no_second_row(scene: Scene, options: dict[str, Any], state: str) -> None:
    """The engine looks for runs that it has claimed without an answer. A run that has ended is not among them."""
    scene.workflow(options=options)
    scene.schedule(max_execution_ms=600_000)
    scene.schedule("next", cron="2 8 * * *")
    store = HookedStore(scene.store)
    store.after_commit = fail_once("the connection was lost before the response")

    async def scenario() -> None:
        async with scene.engine(store):
            scene.clock.advance(UNTIL_DUE_S)
            await scene.wait_for_events("warning")
            scene.clock.advance(60)
            await scene.wait_for_events("launched")

    asyncio.run(scenario())
    assert scene.runs() == [(state, None, 1), (state, None, 1)]
    assert [attempt for _, attempt in scene.jobs()] == [1, 1]
    assert scene.is_consistent("report", "next")


def test_engine_without_its_lease_adds_no_row(scene: Scene) -> None:
    scene.workflow()
    scene.schedule()

    async def scenario() -> tuple[int, int]:
        async with scene.engine() as engine:
            number = engine.context.number
            scene.store.write(lambda transaction: transaction.lease_end([number])).result(SECONDS)
            scene.clock.advance(UNTIL_DUE_S)
            await scene.wait_for_events("ended")
            return number, engine.context.number

    before, after = asyncio.run(scenario())
    assert before != after
    assert scene.runs() == [("SUCCESS", None, 1)]
    assert len(scene.jobs()) == 1


def test_two_engines_add_one_row_per_tick(scene: Scene) -> None:
    scene.workflow()
    names = [f"at-{number}" for number in range(30)]
    for name in names:
        scene.schedule(name)

    async def scenario() -> None:
        settings = Settings(tick_ms=50, fire_batch=4)
        async with scene.engine(settings=settings), scene.engine(settings=settings):
            scene.clock.advance(UNTIL_DUE_S)
            await scene.wait_for_events("ended", len(names))

    asyncio.run(scenario())
    assert scene.runs() == [("SUCCESS", None, 1)] * len(names)
    assert len({key for key, _ in scene.jobs()}) == len(scene.jobs()) == len(names)
    assert scene.is_consistent(*names)


def test_failed_call_is_retried_without_delaying_other_runs(scene: Scene) -> None:
    scene.workflow()
    scene.workflow("absent", {"table": "absent", "columns": {"key": "$key"}})
    for name in ("a", "b"):
        scene.schedule(name)
    scene.schedule("report", workflow_id="absent")

    async def scenario() -> None:
        async with scene.engine(configured={"tables": ["jobs", "absent"]}):
            scene.clock.advance(UNTIL_DUE_S)
            await scene.wait_for_events("ended", 2)
            await scene.wait_for_events("retried")
            scene.sql("CREATE TABLE absent (key text)")
            scene.clock.advance(0.1)
            await scene.wait_for_events("ended", 3)

    asyncio.run(scenario())
    assert sorted(scene.runs()) == [("SUCCESS", None, 1), ("SUCCESS", None, 1), ("SUCCESS", None, 2)]
    assert len(scene.jobs()) == 2
    assert len(scene.sql("SELECT key FROM absent")) == 1
    assert scene.errors() == [None] * 3
    assert scene.is_consistent("report", "a", "b")


def test_call_that_always_fails_fails_the_run(scene: Scene) -> None:
    scene.workflow(options={"table": "absent", "columns": {"key": "$key"}})
    scene.schedule()

    async def scenario() -> dict[str, int]:
        async with scene.engine(configured={"tables": ["absent"]}) as engine:
            scene.clock.advance(UNTIL_DUE_S)
            for attempt in (1, 2):
                await scene.wait_for_events("retried", attempt)
                scene.clock.advance(0.1 * attempt)
            await scene.wait_for_events("ended")
            return dict(engine.events.counts)

    counts = asyncio.run(scenario())
    assert scene.runs() == [("FAILED", "launch_failed", 3)]
    assert scene.errors() == ['PostgreSQL: relation "absent" does not exist (UndefinedTable (42P01))']
    assert counts["runs_failed_launch"] == 1
    assert scene.is_consistent()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"table": "schedule_runs", "columns": {"key": "$key"}}, "is not declared (executors.postgres"),
        ({"function": "pg_terminate_backend", "args": ["1"]}, "is not declared (executors.postgres"),
        ({"table": "jobs", "columns": {"key": "$colour"}}, "is not a placeholder"),
    ],
)
def test_rejected_options_fail_the_run_without_a_retry(scene: Scene, options: dict[str, Any], problem: str) -> None:
    scene.workflow(options=options)
    scene.schedule()

    async def scenario() -> None:
        async with scene.engine():
            scene.clock.advance(UNTIL_DUE_S)
            await scene.wait_for_events("ended")

    asyncio.run(scenario())
    assert scene.runs() == [("FAILED", "launch_failed", 1)]
    assert problem in scene.errors()[0]
    assert scene.is_consistent()


def _trigger(scene: Scene) -> int:
    scene.call(control.trigger, "report", payload={"by": "hand"})
    return 1


def _backfill(scene: Scene) -> int:
    scene.call(backfills.backfill, "report", "2027-01-10T00:00:00Z", "2027-01-13T00:00:00Z")
    return 3


def _catch_up(scene: Scene) -> int:
    scene.call(control.pause, "report")
    scene.clock.advance(3 * 86_400)
    scene.call(control.resume, "report")
    return 3


def _spread(scene: Scene) -> int:
    """Three runs start immediately, and three are planned and released at their times."""
    scene.schedule("spread", catchup_policy="spread", overlap_policy="queue")
    scene.clock.advance(3 * 86_400 - 3_600)
    return 6


@pytest.mark.parametrize("begin", [_trigger, _backfill, _catch_up, _spread])
@pytest.mark.parametrize("overlap", ["allow", "queue"])
def test_triggers_backfills_and_catch_up_add_one_row_per_run(
    scene: Scene, begin: Callable[[Scene], int], overlap: str
) -> None:
    scene.workflow()
    scene.schedule(catchup_policy="fire_immediately", overlap_policy=overlap)
    expected = begin(scene)

    async def scenario() -> None:
        async with scene.engine():
            if begin is _spread:
                await scene.wait_for_events("launched", 3)
                assert "PLANNED" in [state for state, _, _ in scene.runs()]
                scene.clock.advance(61)
            await scene.wait_for_events("ended", expected)

    asyncio.run(scenario())
    assert [state for state, _, _ in scene.runs()] == ["SUCCESS"] * expected
    assert len({key for key, _ in scene.jobs()}) == len(scene.jobs()) == expected
    assert scene.is_consistent()


@pytest.mark.parametrize("rounds", [transactional.MAX_ROUNDS, 3])
def test_queued_runs_are_executed_one_after_another(scene: Scene, monkeypatch: pytest.MonkeyPatch, rounds: int) -> None:
    """Ten runs wait and one may run. Each end starts the next one, in one transaction or in several."""
    monkeypatch.setattr(transactional, "MAX_ROUNDS", rounds)
    scene.workflow()
    scene.schedule(overlap_policy="queue")
    scene.call(targets.pause_target, workflow_id="flow")
    for _ in range(10):
        scene.call(control.trigger, "report", overlap="queue")
    scene.call(targets.resume_target, workflow_id="flow")
    store = HookedStore(scene.store)
    seen: list[int] = []
    store.after_commit = lambda: seen.append(len(scene.jobs()))

    async def scenario() -> None:
        async with scene.engine(store):
            await scene.wait_for_events("ended", 10)

    asyncio.run(scenario())
    assert len({key for key, _ in scene.jobs()}) == len(scene.jobs()) == 10
    assert [state for state, _, _ in scene.runs()] == ["SUCCESS"] * 10
    assert (seen[0] == 10) == (rounds > 10)
    assert scene.is_consistent()


def test_report_ends_a_run_and_starts_the_next(scene: Scene) -> None:
    scene.workflow(options=REPORTED)
    scene.schedule()

    async def scenario() -> None:
        async with scene.engine():
            scene.clock.advance(UNTIL_DUE_S)
            await scene.wait_for_events("launched")
            scene.call(control.trigger, "report", overlap="queue")
            assert [state for state, _, _ in scene.runs()] == ["STARTED", "BUFFERED"]
            scene.call(callbacks.report_run, scene.jobs()[0][0], "succeeded", result={"sent": 5})
            await scene.wait_for_events("launched", 2)
            assert [state for state, _, _ in scene.runs()] == ["SUCCESS", "STARTED"]
            scene.call(callbacks.report_run, scene.jobs()[1][0], "failed", error="no luck")
            await scene.wait_for_events("ended", 4)  # for each run: the launch, and the worker's report

    asyncio.run(scenario())
    assert scene.runs() == [("SUCCESS", None, 1), ("FAILED", None, 1)]
    assert len(scene.jobs()) == 2
    assert scene.is_consistent()


def test_reported_failure_is_retried(scene: Scene) -> None:
    scene.workflow(options=REPORTED)
    scene.schedule(max_attempts=2, retry_delay_ms=1_000)

    async def scenario() -> None:
        async with scene.engine():
            scene.clock.advance(UNTIL_DUE_S)
            await scene.wait_for_events("launched")
            scene.call(callbacks.report_run, scene.jobs()[0][0], "failed", error="no luck")
            await scene.wait_for_events("retried")
            scene.clock.advance(1)
            await scene.wait_for_events("launched", 2)
            scene.call(callbacks.report_run, scene.jobs()[1][0], "succeeded")
            await scene.wait_for_events("ended", 3)

    asyncio.run(scenario())
    assert scene.runs() == [("SUCCESS", None, 2)]
    assert [attempt for _, attempt in scene.jobs()] == [1, 2]
    assert scene.is_consistent()


def test_run_of_a_silent_target_fails_after_max_pickups(scene: Scene) -> None:
    scene.workflow(options=REPORTED)
    scene.schedule(max_execution_ms=600_000)

    async def scenario() -> None:
        async with scene.engine(settings=Settings(tick_ms=50, max_pickups=2)):
            scene.clock.advance(UNTIL_DUE_S)
            for times in (1, 2):
                await scene.wait_for_events("launched", times)
                scene.call(callbacks.report_run, scene.jobs()[-1][0], "started")
                scene.clock.advance(Settings().lock_ttl_ms / 1000 + 1)
            await scene.wait_for_events("ended", 3)

    asyncio.run(scenario())
    assert scene.runs() == [("FAILED", "worker_lost", 3)]
    assert [attempt for _, attempt in scene.jobs()] == [1, 2]
    assert scene.is_consistent()


def test_deadlock_with_another_session_loses_nothing(scene: Scene) -> None:
    """Another session locks the state first and the run second. One of the two restarts, and nothing is lost."""
    scene.workflow()
    scene.schedule(cron="0 0 1 1 *")
    scene.call(control.trigger, "report")

    def lock_run_second(connection: psycopg.Connection[Any]) -> None:
        wait_for_lock_waiters(scene.url)
        with suppress(psycopg.errors.DeadlockDetected):
            connection.execute("UPDATE schedule_runs SET progress = 'x'")

    async def scenario() -> None:
        with psycopg.connect(scene.url) as connection:
            connection.execute("SELECT * FROM schedule_state FOR UPDATE")
            async with scene.engine():
                await asyncio.to_thread(lock_run_second, connection)
                connection.rollback()
                await scene.wait_for_events("ended")

    asyncio.run(scenario())
    assert [state for state, _, _ in scene.runs()] == ["SUCCESS"]
    assert len(scene.jobs()) == 1
    assert scene.is_consistent()


def test_schedule_can_pin_the_version_of_its_workflow(scene: Scene) -> None:
    scene.workflow()
    scene.workflow(options={"table": "absent", "columns": {"key": "$key"}})
    scene.schedule(workflow_version=1)

    async def scenario() -> None:
        async with scene.engine():
            scene.clock.advance(UNTIL_DUE_S)
            await scene.wait_for_events("ended")

    asyncio.run(scenario())
    assert scene.runs() == [("SUCCESS", None, 1)]
    assert len(scene.jobs()) == 1


def test_new_document_applies_from_the_next_tick(scene: Scene) -> None:
    scene.sql("CREATE TABLE others (key text)")
    scene.workflow()
    scene.schedule(cron="1,2 8 * * *")

    async def scenario() -> None:
        async with scene.engine(configured={"tables": ["jobs", "others"]}):
            scene.clock.advance(UNTIL_DUE_S)
            await scene.wait_for_events("ended")
            scene.workflow(options={"table": "others", "columns": {"key": "$key"}})
            scene.clock.advance(60)
            await scene.wait_for_events("ended", 2)

    asyncio.run(scenario())
    assert (len(scene.jobs()), len(scene.sql("SELECT key FROM others"))) == (1, 1)


def test_secret_in_a_payload_is_in_no_error_event_or_log(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    scene.sql("CREATE TABLE strict (number integer)")
    scene.workflow(options={"table": "strict", "columns": {"number": "$payload"}})
    scene.schedule(payload={"secret": CANARY})

    async def scenario() -> None:
        async with scene.engine(configured={"tables": ["strict"]}, settings=Settings(tick_ms=50, launch_tries=1)):
            scene.clock.advance(UNTIL_DUE_S)
            await scene.wait_for_events("ended")

    asyncio.run(scenario())
    assert scene.runs() == [("FAILED", "launch_failed", 1)]
    assert "InvalidTextRepresentation (22P02)" in scene.errors()[0]
    texts = [*scene.errors(), *map(repr, scene.events), caplog.text, repr(scene.call(read.runs, "report"))]
    assert CANARY not in " ".join(texts)
