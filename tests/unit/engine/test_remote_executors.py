"""A real engine in virtual time, with remote runs: accepted, reported, silent, cancelled."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from tests.unit.engine.harness import EngineHarness, kill
from tompion.config.settings import Settings
from tompion.errors import InvalidField, LaunchRefused, StaleReport
from tompion.executors.base import Accepted, Completed, Executor, RunContext
from tompion.model.run import RunState
from tompion.model.worker import ReportAck
from tompion.operations.resources import workflows
from tompion.operations.runs import callbacks, read
from tompion.runtime.clock import pause


class Remote(Executor):
    """A target that accepts runs and records which of them it must end."""

    remote = True

    def __init__(self) -> None:
        self.taken: list[RunContext] = []
        self.end_calls: list[str] = []

    async def run(self, dag: Any, run_context: RunContext) -> Completed | Accepted:
        self.taken.append(run_context)
        return Accepted(f"job-{run_context.attempt}")

    async def cancel(self, dag: Any, run_context: RunContext, execution_id: str | None) -> bool:
        self.end_calls.append(f"cancel {execution_id}")
        return True

    async def terminate(self, dag: Any, run_context: RunContext, execution_id: str | None) -> None:
        self.end_calls.append(f"terminate {execution_id}")


class Followed(Remote):
    """An executor that follows its runs to their end."""

    def __init__(self) -> None:
        super().__init__()
        self.ended = asyncio.Event()

    async def run(self, dag: Any, run_context: RunContext) -> Completed:
        self.taken.append(run_context)
        await self.ended.wait()
        return Completed(RunState.CANCELLED)

    async def cancel(self, dag: Any, run_context: RunContext, execution_id: str | None) -> bool:
        self.ended.set()
        return await super().cancel(dag, run_context, execution_id)


@pytest.fixture
def target(harness: EngineHarness) -> Remote:
    remote = Remote()
    harness.executors["remote"] = remote
    harness.call(workflows.put_workflow, "flow", {"executor": "remote", "dag": {"steps": [1]}})
    return remote


def report(harness: EngineHarness, launch: RunContext, event: str, **fields: Any) -> ReportAck:
    heard: ReportAck = harness.call(callbacks.report_run, launch.token, event, **fields)
    return heard


def test_accepted_run_ends_with_the_report_of_its_target(harness: EngineHarness, target: Remote) -> None:
    harness.create(
        function=None, workflow_id="flow", overlap_policy="queue", cron="1,2 8 * * *", max_execution_ms=600_000
    )

    async def scenario() -> None:
        await harness.engine().start()
        await pause(100)
        assert harness.states() == ["08:01 STARTED", "08:02 BUFFERED"]
        assert harness.call(read.runs, "report").items[1].execution_id == "job-1"
        assert not report(harness, target.taken[0], "progress", progress={"percent": 50}).cancel_requested
        report(harness, target.taken[0], "succeeded", result={"rows": 3})
        await pause(1)
        assert harness.states() == ["08:01 SUCCESS", "08:02 STARTED"]
        report(harness, target.taken[1], "failed", error="no luck")
        await pause(1)

    harness.run(scenario)
    first = harness.call(read.runs, "report").items[1]
    assert (first.result, first.status) == ({"rows": 3}, "SUCCESS")
    assert harness.states()[1] == "08:02 FAILED"


def test_run_times_out_without_a_report(harness: EngineHarness, target: Remote) -> None:
    harness.create(function=None, workflow_id="flow", cron="1 8 * * *", max_attempts=2)

    async def scenario() -> None:
        await harness.engine().start()
        await pause(80)
        assert harness.states() == ["08:01 STARTED"]
        await pause(15)
        assert [launch.attempt for launch in target.taken] == [1, 2]
        with pytest.raises(StaleReport, match=r"attempt 1 of run .* is not the current one; the current attempt is 2"):
            report(harness, target.taken[0], "succeeded")
        report(harness, target.taken[1], "succeeded")
        await pause(1)

    harness.run(scenario)
    assert target.end_calls == ["cancel job-1"]
    assert len({launch.idempotency_key for launch in target.taken}) == 1
    assert harness.states() == ["08:01 SUCCESS"]


def test_run_is_launched_again_when_its_heartbeats_stop(harness: EngineHarness, target: Remote) -> None:
    """It is launched with the same key."""
    harness.create(function=None, workflow_id="flow", cron="1 8 * * *", max_execution_ms=1_800_000)

    async def scenario() -> None:
        await harness.engine().start()
        await pause(40)
        report(harness, target.taken[0], "started")
        for _ in range(4):
            await pause(100)
            report(harness, target.taken[0], "heartbeat")
        assert len(target.taken) == 1
        await pause(125)

    harness.run(scenario)
    assert [launch.attempt for launch in target.taken] == [1, 2]


def test_accepted_run_survives_its_engine(harness: EngineHarness, target: Remote) -> None:
    harness.create(function=None, workflow_id="flow", cron="1 8 * * *", max_execution_ms=1_800_000)

    async def scenario() -> None:
        first = harness.engine()
        await first.start()
        await pause(40)
        await kill(first)
        await harness.engine().start()
        await pause(600)
        report(harness, target.taken[0], "succeeded")
        await pause(2)

    harness.run(scenario)
    assert len(target.taken) == 1
    assert harness.states() == ["08:01 SUCCESS"]


@pytest.mark.parametrize(("overlap", "end"), [("cancel_other", "cancel job-1"), ("terminate_other", "terminate job-1")])
def test_next_tick_ends_a_run_at_its_target(harness: EngineHarness, target: Remote, overlap: str, end: str) -> None:
    harness.create(
        function=None, workflow_id="flow", cron="1,2 8 * * *", overlap_policy=overlap, max_execution_ms=1_800_000
    )

    async def scenario() -> None:
        await harness.engine().start()
        await pause(91)
        if overlap == "cancel_other":
            assert harness.states() == ["08:01 STARTED", "08:02 BUFFERED"]
            assert report(harness, target.taken[0], "heartbeat").cancel_requested
            report(harness, target.taken[0], "cancelled")
            await pause(1)
            assert harness.states() == ["08:01 CANCELLED", "08:02 STARTED"]
        else:
            assert harness.states() == ["08:01 TERMINATED superseded", "08:02 STARTED"]

    harness.run(scenario)
    assert target.end_calls == [end]


def test_followed_run_reports_its_own_end_after_a_cancellation(harness: EngineHarness, target: Remote) -> None:
    harness.executors["remote"] = followed = Followed()
    harness.create(function=None, workflow_id="flow", cron="1,2 8 * * *", overlap_policy="cancel_other")

    async def scenario() -> None:
        await harness.engine().start()
        await pause(93)

    harness.run(scenario)
    assert followed.end_calls == ["cancel None"]
    assert harness.states() == ["08:01 CANCELLED", "08:02 CANCELLED"]


def test_report_needs_the_token_of_its_run(harness: EngineHarness, target: Remote) -> None:
    harness.create(function=None, workflow_id="flow", cron="1 8 * * *")

    async def scenario() -> None:
        await harness.engine().start()
        await pause(40)

    harness.run(scenario)
    token = target.taken[0].token
    for forged in ("", "x", "1-2-3.1.abc", token[:-1] + "0" if token[-1] != "0" else token[:-1] + "1", token + "a"):
        with pytest.raises(InvalidField, match="token"):
            harness.call(callbacks.report_run, forged, "succeeded")
    with pytest.raises(InvalidField, match="event"):
        harness.call(callbacks.report_run, token, "exploded")
    harness.call(callbacks.report_run, token, "succeeded")
    with pytest.raises(StaleReport, match="reported already"):
        harness.call(callbacks.report_run, token, "failed")


def test_slots_are_limited_per_target(harness: EngineHarness) -> None:
    """Two targets, one of them slow: the other one does not wait, and no deadline runs while a run waits for a slot."""

    class SlowStore(Executor):
        max_active, max_per_target = 3, 2
        most = 0

        def __init__(self) -> None:
            self.active: list[str] = []

        def target(self, dag: Any, run_context: RunContext) -> str:
            return str(dag)

        async def run(self, dag: Any, run_context: RunContext) -> Completed:
            self.active.append(dag)
            self.most = max(self.most, self.active.count("slow"))
            assert len(self.active) <= self.max_active
            await pause(8 if dag == "slow" else 0)
            self.active.remove(dag)
            return Completed()

    harness.executors["slow"] = slow = SlowStore()
    for name in ("slow", "quick"):
        harness.call(workflows.put_workflow, name, {"executor": "slow", "dag": name})
    for number in range(6):
        harness.create(f"slow-{number}", function=None, workflow_id="slow", cron="1 8 * * *", max_execution_ms=9_000)
    harness.create("quick", function=None, workflow_id="quick", cron="1 8 * * *")

    async def scenario() -> None:
        await harness.engine().start()
        await pause(31)
        assert harness.states("quick") == ["08:01 SUCCESS"]
        await pause(30)

    harness.run(scenario)
    assert slow.most == 2
    assert {state for number in range(6) for state in harness.states(f"slow-{number}")} == {"08:01 SUCCESS"}


def test_refused_launch_is_not_retried(harness: EngineHarness) -> None:
    harness.create(cron="1 8 * * *")

    def refuse(_: RunContext) -> tuple[float, Completed]:
        raise LaunchRefused("never")

    harness.plan = refuse

    async def scenario() -> None:
        await harness.engine(Settings(launch_tries=3)).start()
        await pause(40)

    harness.run(scenario)
    assert len(harness.executor.executions) == 1
    assert harness.states() == ["08:01 FAILED launch_failed"]


def test_cancelled_run_may_clean_up(harness: EngineHarness) -> None:
    """Regression: it was cancelled again each second and could never finish its cleanup."""
    harness.create(cron="1,2 8 * * *", overlap_policy="cancel_other")
    tidied: list[int] = []

    async def tidy(dag: Any, run_context: RunContext) -> Completed:
        try:
            await pause(600)
        finally:
            await pause(5)
            tidied.append(run_context.run_at.minute)
        return Completed()

    harness.executor.run = tidy  # type: ignore[method-assign]  # another function in its place

    async def scenario() -> None:
        await harness.engine().start()
        await pause(100)
        assert tidied == [1]

    harness.run(scenario)
    assert harness.states()[0] == "08:01 CANCELLED cancel_requested"


def test_run_reports_progress_and_learns_that_it_is_not_wanted(harness: EngineHarness) -> None:
    """A synchronous function cannot be stopped. It can check whenever it reports its progress."""
    harness.create(cron="1,2 8 * * *", overlap_policy="cancel_other")
    heard: list[bool] = []

    async def work(dag: Any, run_context: RunContext) -> Completed:
        with suppress(asyncio.CancelledError):
            for percent in range(0, 100, 5):
                heard.append(run_context.progress({"percent": percent}))
                await pause(4)
        heard.append(run_context.should_continue)
        return Completed()

    harness.executor.run = work  # type: ignore[method-assign]  # another function in its place

    async def scenario() -> None:
        await harness.engine().start()
        await pause(47)
        assert harness.call(read.runs, "report").items[0].progress == {"percent": 20}
        await pause(50)

    harness.run(scenario)
    assert heard[:15] == [True] * 15
    assert False in heard[15:17]
